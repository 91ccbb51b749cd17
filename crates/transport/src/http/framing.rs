//! What the headers of a message say of its body's end, and of the connection's.
//!
//! What follows from it differs for requests and answers, and is decided there.
//!
//! Specification: RFC 9112, sections 6 and 9.3.

/// What the headers that were looked at have said.
#[derive(Debug, Default)]
pub(super) struct Framing {
    pub(super) length: Option<u64>,
    pub(super) coding: Option<Coding>,
    /// It is the last message of its connection.
    pub(super) closes: bool,
    /// It is not the last one, where it would be otherwise.
    pub(super) keeps: bool,
}

/// How a body is packed for its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    /// In chunks.
    Chunks,
    /// In some other way, and then in chunks.
    PackedChunks,
    /// So that nothing in it says where it ends.
    Packed,
}

impl Framing {
    /// Looks at a header.
    ///
    /// # Errors
    /// When two readers could read it in two ways.
    pub(super) fn note(&mut self, name: &str, value: &[u8]) -> Result<(), &'static str> {
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
        // Their lengths tell nearly all others apart from these.
        match name.len() {
            14 if is("content-length") => {
                let length = read_length(value).ok_or("its length is no number")?;
                if self.length.is_some_and(|other| other != length) {
                    return Err("it has two lengths");
                }
                self.length = Some(length);
            }
            17 if is("transfer-encoding") => {
                for coding in list(value) {
                    let is_chunks = coding.eq_ignore_ascii_case(b"chunked");
                    self.coding = Some(match (is_chunks, self.coding) {
                        (true, None) => Coding::Chunks,
                        (true, Some(_)) => Coding::PackedChunks,
                        (false, _) => Coding::Packed,
                    });
                }
            }
            10 if is("connection") => {
                for option in list(value) {
                    self.closes |= option.eq_ignore_ascii_case(b"close");
                    self.keeps |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

fn read_length(value: &[u8]) -> Option<u64> {
    let is_plain = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let digits = std::str::from_utf8(value).ok().filter(|_| is_plain)?;
    digits.parse().ok()
}

/// Does a head end in what came after the first `looked_at` bytes?
pub(super) fn ends_within(buffer: &[u8], looked_at: usize) -> bool {
    let new = buffer
        .get(looked_at.saturating_sub(3)..)
        .unwrap_or_default();
    new.windows(2).any(|pair| pair == b"\n\n") || new.windows(3).any(|three| three == b"\n\r\n")
}
