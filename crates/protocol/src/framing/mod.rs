//! Where one message ends and the next begins.
//!
//! [`mod@line`] is what stdio uses, [`event_stream`] what HTTP uses. Both take bytes
//! in any pieces, hold a bounded amount of them and give out slices of their
//! buffer. Neither looks into a message: whether it is UTF-8 and JSON is found
//! out by whoever parses it, in the same pass.

mod buffer;
pub mod event_stream;
pub mod line;

pub use event_stream::{Event, EventDecoder, EventId, EventIdError, EventStreamError};
pub use event_stream::{write_comment, write_event};
pub use line::{Line, LineDecoder, write_line};

/// The largest message that is taken unless somebody says otherwise.
///
/// Results carry images and files, so it is generous.
pub const DEFAULT_LIMIT: usize = 16 * 1024 * 1024;

/// How much of a message over the limit is kept for the report.
///
/// Enough to find the id of most answers, so that their caller can be told.
pub const PREFIX_KEPT: usize = 4 * 1024;

/// Appends text with every CR and LF as a space.
///
/// JSON escapes them inside strings, so a raw one can only stand between tokens,
/// where a space means the same.
pub(crate) fn append_without_line_breaks(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    let mut start = 0;
    for at in memchr::memchr2_iter(b'\r', b'\n', text) {
        out.extend_from_slice(text.get(start..at).unwrap_or_default());
        out.push(b' ');
        start = at + 1;
    }
    out.extend_from_slice(text.get(start..).unwrap_or_default());
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
