//! What the Model Context Protocol says, in every revision, and nothing else.
//!
//! No I/O, no async, no clock: bytes and times come in, bytes and events go out.
//! Read in this order:

pub mod framing;
pub mod method;
mod payload;
pub mod revision;
pub mod uri_template;

pub use method::Method;
pub use payload::RawJson;
pub use revision::{Era, Revision};
