//! A body of chunks, and how parts are taken of what was read.
//!
//! What two readers could read in two ways is refused. Trailers say nothing to us.
//!
//! Specification: RFC 9112, section 7.1.

use std::error::Error;

use bytes::{Buf, Bytes, BytesMut};
use httparse::Status;

/// Where in a body of chunks we are.
#[derive(Debug, Default)]
pub(super) enum Chunks {
    /// Before the line that says how large the next one is.
    #[default]
    Size,
    /// Within one.
    Data(u64),
    /// Before the end of line after one.
    DataEnd,
    /// Within the trailers, which say nothing to us; how much of them has come.
    Trailers(usize),
}

/// Why a body has no next part.
pub(super) type PartError = Box<dyn Error + Send + Sync>;

/// What can be done with what is there.
pub(super) enum Step {
    Part(Bytes),
    End,
    /// More must be read first.
    Wait,
}

impl Chunks {
    /// Goes as far as what was read goes.
    pub(super) fn step(&mut self, buffer: &mut BytesMut) -> Result<Step, PartError> {
        loop {
            match self {
                // What has no digits would be taken for the last chunk.
                Self::Size if buffer.first().is_some_and(|byte| !byte.is_ascii_hexdigit()) => {
                    return Err("a chunk has no size".into());
                }
                Self::Size => match httparse::parse_chunk_size(buffer) {
                    Ok(Status::Complete((length, size))) if length <= LONGEST_LINE => {
                        // Some readers end a line at a line feed alone, others go on.
                        let end = buffer.iter().position(|byte| *byte == b'\n');
                        if end.is_none_or(|end| end + 1 < length) {
                            return Err("a chunk has a line feed before its data".into());
                        }
                        buffer.advance(length);
                        *self = match size {
                            0 => Self::Trailers(0),
                            size => Self::Data(size),
                        };
                    }
                    Ok(Status::Partial) if buffer.len() < LONGEST_LINE => return Ok(Step::Wait),
                    Ok(_) => return Err("the line before a chunk is too long".into()),
                    Err(error) => return Err(error.to_string().into()),
                },
                Self::Data(0) => *self = Self::DataEnd,
                Self::Data(left) => return Ok(take(buffer, left)),
                Self::DataEnd => match buffer.get(..2) {
                    Some(b"\r\n") => {
                        buffer.advance(2);
                        *self = Self::Size;
                    }
                    None if b"\r\n".starts_with(buffer) => return Ok(Step::Wait),
                    _ => return Err("a chunk is longer than it says".into()),
                },
                Self::Trailers(seen) => {
                    let Some(end) = buffer.iter().position(|byte| *byte == b'\n') else {
                        return match seen.saturating_add(buffer.len()) < LONGEST_TRAILERS {
                            true => Ok(Step::Wait),
                            false => Err("the trailers are too long".into()),
                        };
                    };
                    // Some readers end a line at a line feed alone, others go on.
                    let line = buffer.get(..end).and_then(|line| line.strip_suffix(b"\r"));
                    let is_last = line
                        .ok_or("a trailer ends in a line feed alone")?
                        .is_empty();
                    buffer.advance(end + 1);
                    if is_last {
                        return Ok(Step::End);
                    }
                    *seen = seen.saturating_add(end + 1);
                    if *seen >= LONGEST_TRAILERS {
                        return Err("the trailers are too long".into());
                    }
                }
            }
        }
    }
}

/// Takes what is there of what is left.
pub(super) fn take(buffer: &mut BytesMut, left: &mut u64) -> Step {
    let count = usize::try_from(*left)
        .unwrap_or(usize::MAX)
        .min(buffer.len());
    if count == 0 {
        return Step::Wait;
    }
    *left = left.saturating_sub(count as u64);
    Step::Part(match count <= LARGEST_COPY {
        // The buffer stays whole, and serves the next answer as well.
        true => {
            let part = Bytes::copy_from_slice(buffer.get(..count).unwrap_or_default());
            buffer.advance(count);
            part
        }
        false => buffer.split_to(count).freeze(),
    })
}

const LARGEST_COPY: usize = 4096;

// A number and an extension nobody uses.
const LONGEST_LINE: usize = 1024;

const LONGEST_TRAILERS: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// All parts of a body that comes in pieces of this size, and what is left behind it.
    fn read(text: &str, size: usize) -> Result<Option<(String, usize)>, PartError> {
        let mut chunks = Chunks::default();
        let mut buffer = BytesMut::new();
        let mut whole = String::new();
        let mut pieces = text.as_bytes().chunks(size);
        loop {
            match chunks.step(&mut buffer)? {
                Step::Part(part) => whole.push_str(std::str::from_utf8(&part)?),
                Step::End => {
                    let rest = buffer.len() + pieces.map(<[u8]>::len).sum::<usize>();
                    return Ok(Some((whole, rest)));
                }
                Step::Wait => match pieces.next() {
                    Some(piece) => buffer.extend_from_slice(piece),
                    None => return Ok(None),
                },
            }
        }
    }

    #[test]
    fn chunks_are_joined_however_they_come() {
        let text = "3\r\nabc\r\n00A;x=\"y\"\r\n0123456789\r\n0\r\nx: y\r\n\r\nrest";
        for size in 1..text.len() {
            let (whole, rest) = read(text, size).unwrap().unwrap();
            assert_eq!((whole.as_str(), rest), ("abc0123456789", 4), "{size}");
            for cut in 0..text.len() - 4 {
                assert!(read(&text[..cut], size).unwrap().is_none(), "{cut}");
            }
        }
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        let long = format!("1;{}\r\na\r\n0\r\n\r\n", "x".repeat(2000));
        let trailers = format!("0\r\n{}\r\n", "x: y\r\n".repeat(4000));
        for text in [
            "x\r\n",
            "-1\r\n",
            "\r\n\r\n",
            ";x\r\n\r\n",
            "1;x\ny\r\na\r\n0\r\n\r\n",
            " 0\r\n\r\n",
            "3\r\nabcd\r\n",
            "1\r\na\n0\r\n\r\n",
            "0\r\n\n",
            "0\r\nx: y\n\r\n",
            "fffffffffffffffff\r\n",
            &long,
            &trailers,
        ] {
            for size in [1, 7, 100_000] {
                assert!(read(text, size).is_err(), "{size} {:?}", &text[..4]);
            }
        }
    }
}
