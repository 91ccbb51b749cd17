//! One message per line, as on stdio.
//!
//! Finds lines and bounds them. That a line is UTF-8 and JSON is not checked
//! here: the parser does it on its own pass and reports a line that is not.
//!
//! Specification: basic/transports, stdio.

use bytes::{Buf, Bytes, BytesMut};

use super::buffer::Buffer;
use super::{BYTE_ORDER_MARK, DEFAULT_LIMIT, PREFIX_KEPT, append_without_line_breaks};
use crate::jsonrpc::{Frame, Limits, Malformed};

/// What stood on a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Line {
    /// The line without its end and without a byte order mark. It shares the
    /// decoder's buffer: whoever keeps a short one for long copies it.
    Text(Bytes),
    /// The line is longer than the limit. Said once, as soon as the limit is
    /// passed, for the line may never end; what else comes of it is dropped.
    Oversized {
        /// How it begins, at most [`PREFIX_KEPT`] bytes.
        prefix: Bytes,
        /// The limit it passed.
        limit: usize,
    },
}

impl Line {
    /// Reads the messages that the line holds.
    ///
    /// # Errors
    /// When it holds none: text that is no message, or more than the limit.
    pub fn read(&self, limits: &Limits) -> Result<Frame, Malformed> {
        match self {
            Self::Text(text) => Frame::read(text, limits),
            Self::Oversized { prefix, limit } => Err(Malformed::too_large(prefix, *limit)),
        }
    }
}

/// Cuts a stream of bytes into lines.
///
/// A line ends with LF or CR LF. Blank lines are passed over, and so is a byte
/// order mark at the start of a line. The lines are the same however the bytes
/// were cut into pieces.
///
/// ```
/// use switchboard_protocol::framing::{Line, LineDecoder};
///
/// let mut decoder = LineDecoder::new();
/// decoder.push(b"{\"id\":");
/// assert_eq!(decoder.next_line(), None);
/// decoder.push(b"1}\r\n\n");
/// assert_eq!(decoder.next_line(), Some(Line::Text("{\"id\":1}".into())));
/// assert_eq!(decoder.next_line(), None);
/// ```
#[derive(Debug)]
pub struct LineDecoder {
    buffer: Buffer,
    limit: usize,
    /// The rest of a line that was reported as oversized is still to come.
    skipping: bool,
}

impl LineDecoder {
    /// A decoder that takes lines up to [`DEFAULT_LIMIT`].
    pub fn new() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }

    /// A decoder that takes lines up to `limit` bytes, the line feed not counted.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            buffer: Buffer::new(BytesMut::new()),
            limit,
            skipping: false,
        }
    }

    /// The buffer with room for a read, for a reader that appends to it.
    ///
    /// Take all lines out between two reads: what is here is held in memory.
    pub fn buffer_mut(&mut self) -> &mut BytesMut {
        self.buffer.spare(self.limit)
    }

    /// Does a part of the work of making room for the next read, and says whether that was all.
    ///
    /// For a reader whom others wait for: what has come of a large line is copied to where it has more room.
    /// [`buffer_mut`](Self::buffer_mut) does the rest at once.
    pub fn make_room(&mut self) -> bool {
        self.buffer.make_room(self.limit)
    }

    /// Is more of that work to be done?
    pub const fn is_moving(&self) -> bool {
        self.buffer.is_moving()
    }

    /// Appends bytes that stand elsewhere. Take all lines out afterwards.
    pub fn push(&mut self, chunk: &[u8]) {
        self.buffer.push(chunk, self.limit);
    }

    /// The next line, if its end has come.
    pub fn next_line(&mut self) -> Option<Line> {
        loop {
            let Some(end) = self.buffer.find(|bytes| memchr::memchr(b'\n', bytes)) else {
                return self.wait();
            };
            if self.skipping {
                self.skipping = false;
                self.buffer.skip(end + 1);
            } else if end > self.limit {
                let line = self.oversized();
                self.buffer.skip(end + 1);
                return Some(line);
            } else if let Some(line) = text(self.buffer.take(end + 1)) {
                return Some(line);
            }
        }
    }

    /// The next line when no more bytes will come, so that the last one needs no
    /// end. Call it until it gives `None`.
    pub fn finish(&mut self) -> Option<Line> {
        if let Some(line) = self.next_line() {
            return Some(line);
        }
        self.skipping = false;
        let rest = self.buffer.take(self.buffer.len());
        self.buffer.shrink();
        text(rest)
    }

    /// How many bytes are held or ready to be filled.
    pub fn allocated(&self) -> usize {
        self.buffer.allocated()
    }

    /// No line feed has come yet.
    fn wait(&mut self) -> Option<Line> {
        let mut report = None;
        if !self.skipping && self.buffer.len() > self.limit {
            report = Some(self.oversized());
            self.skipping = true;
        }
        if self.skipping {
            self.buffer.clear();
        }
        self.buffer.shrink();
        report
    }

    fn oversized(&self) -> Line {
        Line::Oversized {
            prefix: self.buffer.copy_prefix(PREFIX_KEPT.min(self.limit)),
            limit: self.limit,
        }
    }
}

impl Default for LineDecoder {
    fn default() -> Self {
        Self::new()
    }
}

/// Appends a message as one line.
///
/// Raw line breaks in it become spaces: JSON that is passed on as it came may
/// have them between its tokens, and on stdio each would end the message.
pub fn write_line(message: &[u8], out: &mut Vec<u8>) {
    append_without_line_breaks(message, out);
    out.push(b'\n');
}

/// The line without what is no part of its text; `None` if nothing is left.
#[inline(always)]
fn text(mut line: Bytes) -> Option<Line> {
    let mut end = line.len();
    if line.last() == Some(&b'\n') {
        end -= 1;
    }
    if line.get(..end).and_then(<[u8]>::last) == Some(&b'\r') {
        end -= 1;
    }
    line.truncate(end);
    if line.first().is_some_and(u8::is_ascii_graphic) {
        return Some(Line::Text(line));
    }
    unusual_text(line)
}

#[cold]
fn unusual_text(mut line: Bytes) -> Option<Line> {
    if line.starts_with(BYTE_ORDER_MARK) {
        line.advance(BYTE_ORDER_MARK.len());
    }
    let is_blank = line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
    (!is_blank).then_some(Line::Text(line))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(limit: usize, chunks: &[&[u8]]) -> Vec<Line> {
        let mut decoder = LineDecoder::with_limit(limit);
        let mut lines = Vec::new();
        for chunk in chunks {
            decoder.push(chunk);
            lines.extend(std::iter::from_fn(|| decoder.next_line()));
        }
        lines.extend(std::iter::from_fn(|| decoder.finish()));
        lines
    }

    /// Lines as text; an oversized one as `!` and its prefix.
    fn check(limit: usize, chunks: &[&[u8]], expected: &[&str]) {
        let lines: Vec<String> = decode(limit, chunks)
            .into_iter()
            .map(|line| match line {
                Line::Text(text) => String::from_utf8_lossy(&text).into_owned(),
                Line::Oversized { prefix, .. } => format!("!{}", String::from_utf8_lossy(&prefix)),
            })
            .collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn lines_end_with_a_line_feed_and_perhaps_a_carriage_return() {
        check(9, &[b"a\nb\r\nc\n"], &["a", "b", "c"]);
        check(9, &[b"a", b"\r", b"\n", b"b\n"], &["a", "b"]);
        check(9, &[b"a\rb\n"], &["a\rb"]);
    }

    #[test]
    fn blank_lines_are_passed_over() {
        check(9, &[b"\n\r\n \t\n\r\r\na\n\n"], &["a"]);
        check(9, &[b"\xEF\xBB\xBF\n\xEF\xBB\xBF"], &[]);
    }

    #[test]
    fn a_byte_order_mark_is_passed_over_at_the_start_of_any_line() {
        check(9, &[b"\xEF", b"\xBB", b"\xBFa\n"], &["a"]);
        check(9, &[b"a\n\xEF\xBB\xBFb\n"], &["a", "b"]);
        check(9, &[b"a\xEF\xBB\xBF\n"], &["a\u{feff}"]);
    }

    #[test]
    fn a_last_line_without_an_end_is_delivered() {
        check(9, &[b"a\nb"], &["a", "b"]);
        check(9, &[b"a\nb\r"], &["a", "b"]);
        check(9, &[b""], &[]);
    }

    #[test]
    fn an_oversized_line_is_reported_once_and_the_stream_goes_on() {
        check(3, &[b"abc\nabcd\nef\n"], &["abc", "!abc", "ef"]);
        check(3, &[b"ab", b"cd", b"efgh", b"i\nj\n"], &["!abc", "j"]);
        check(3, &[b"abcd"], &["!abc"]);
        check(3, &[b"abcd", b"\n\nabcd\n"], &["!abc", "!abc"]);
        check(0, &[b"\na\n\n"], &["!"]);
    }

    #[test]
    fn an_oversized_line_is_reported_before_its_end() {
        let mut decoder = LineDecoder::with_limit(3);
        decoder.push(b"abcd");
        assert!(matches!(
            decoder.next_line(),
            Some(Line::Oversized { limit: 3, .. })
        ));
        decoder.push(b"more of it");
        assert_eq!(decoder.next_line(), None);
        assert_eq!(decoder.finish(), None);
    }

    #[test]
    fn an_endless_line_holds_no_more_than_twice_the_limit() {
        let limit = 1 << 20;
        let mut decoder = LineDecoder::with_limit(limit);
        let mut reports = 0;
        for _ in 0..1024 {
            let buffer = decoder.buffer_mut();
            buffer.resize(buffer.len() + 8192, b'a');
            reports += usize::from(decoder.next_line().is_some());
            assert!(decoder.allocated() <= limit + 64 * 1024);
        }
        assert_eq!(reports, 1);
        assert!(decoder.allocated() <= 256 * 1024);
    }

    #[test]
    fn the_buffer_is_small_again_after_a_large_line() {
        let mut decoder = LineDecoder::new();
        decoder.push(&vec![b'a'; 4 << 20]);
        assert_eq!(decoder.next_line(), None);
        assert!(decoder.allocated() >= 4 << 20);
        decoder.push(b"\nnext");
        assert!(matches!(decoder.next_line(), Some(Line::Text(text)) if text.len() == 4 << 20));
        assert_eq!(decoder.next_line(), None);
        assert!(decoder.allocated() <= 256 * 1024);
        decoder.push(b"\n");
        assert_eq!(decoder.next_line(), Some(Line::Text("next".into())));
    }

    #[test]
    fn a_large_line_is_moved_to_more_room_in_steps() {
        let text: Vec<u8> = (0..3_u32 << 20)
            .map(|place| b'a' + (place % 23) as u8)
            .collect();
        let mut decoder = LineDecoder::new();
        let mut more = 0;
        for piece in text.chunks(4096) {
            while !decoder.make_room() {
                more += 1;
                assert!(decoder.is_moving());
                // What is left and what it goes to.
                assert_eq!(decoder.allocated(), 5 << 20);
                assert_eq!(decoder.next_line(), None);
            }
            assert!(!decoder.is_moving());
            let buffer = decoder.buffer_mut();
            assert!(buffer.capacity() - buffer.len() >= piece.len());
            buffer.extend_from_slice(piece);
            assert_eq!(decoder.next_line(), None);
        }
        // From 1 MiB to 4 MiB in four.
        assert_eq!(more, 3);
        decoder.push(b"\n");
        assert_eq!(decoder.next_line(), Some(Line::Text(text.into())));
    }

    #[test]
    fn a_move_that_has_begun_loses_nothing_that_comes_meanwhile() {
        for added in ["", "b", "\nb"] {
            let text = "a".repeat(1 << 20);
            let mut decoder = LineDecoder::new();
            decoder.push(text.as_bytes());
            assert!(!decoder.make_room());
            decoder.push(added.as_bytes());
            let mut lines: Vec<Line> = std::iter::from_fn(|| decoder.next_line()).collect();
            while !decoder.make_room() {}
            decoder.push(b"\n");
            lines.extend(std::iter::from_fn(|| decoder.next_line()));
            let text = text + added;
            let expected = text
                .split('\n')
                .map(|line| Line::Text(line.to_owned().into()));
            assert_eq!(lines, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn small_lines_share_one_buffer() {
        let mut decoder = LineDecoder::new();
        decoder.push(b"first\n");
        let start = decoder.next_line().map(|line| match line {
            Line::Text(text) => text.as_ptr() as usize,
            Line::Oversized { .. } => 0,
        });
        for _ in 0..100_000 {
            decoder.push(b"{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}\n");
            let Some(Line::Text(text)) = decoder.next_line() else {
                panic!("a line has come");
            };
            let place = text.as_ptr() as usize;
            assert!(start.is_some_and(|start| (start..start + 64 * 1024).contains(&place)));
        }
    }

    #[test]
    fn a_message_is_written_on_one_line() {
        let mut out = Vec::new();
        write_line(b"{\r\n  \"a\": \"\\n\"\n}", &mut out);
        write_line(b"\n", &mut out);
        assert_eq!(out, b"{    \"a\": \"\\n\" }\n \n");
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_the_pieces(
            bytes in proptest::collection::vec(prop_oneof![
                Just(b'\n'), Just(b'\r'), Just(0xEF), Just(0xBB), Just(0xBF), Just(b' '), any::<u8>(),
            ], 0..200),
            sizes in proptest::collection::vec(1_usize..9, 1..9),
            limit in 0_usize..20,
        ) {
            let mut rest = bytes.as_slice();
            let mut chunks = Vec::new();
            for size in sizes.iter().cycle() {
                if rest.is_empty() { break; }
                let (chunk, after) = rest.split_at(rest.len().min(*size));
                chunks.push(chunk);
                rest = after;
            }
            prop_assert_eq!(decode(limit, &chunks), decode(limit, &[&bytes]));
        }

        #[test]
        fn what_is_written_is_read_back(messages in proptest::collection::vec("[!-~é]{1,40}", 0..9)) {
            let mut out = Vec::new();
            for message in &messages {
                write_line(message.as_bytes(), &mut out);
            }
            let expected: Vec<Line> = messages.into_iter().map(|text| Line::Text(text.into())).collect();
            prop_assert_eq!(decode(DEFAULT_LIMIT, &[&out]), expected);
        }
    }
}
