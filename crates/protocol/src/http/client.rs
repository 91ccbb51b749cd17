//! What a client sends over HTTP, and what it makes of the answer.
//!
//! - `sending`: the headers of each kind of request
//! - `answer`: the answer to an ordinary request, and when to try again
//! - `redirect`: where an answer may send us
//!
//! Which era the server speaks is for [`machine::client`](crate::machine::client) to find out:
//! [`AnswerError::lane_end`] says what it needs to hear. Repeating, waiting and opening
//! streams is for the transport and the hub.
//!
//! Specification: basic/transports of each revision.

mod answer;
mod redirect;
mod sending;

pub use answer::{
    Answer, AnswerError, Ending, RetryAfter, Sent, read_answer, read_ending, read_stream,
};
pub use redirect::{RedirectError, follow_redirect};
pub use sending::{
    Unsendable, ending_headers, handshake_headers, old_post_headers, opening_headers,
    stateless_headers, stream_headers,
};
