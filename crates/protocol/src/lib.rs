//! What the Model Context Protocol says, in every revision, and nothing else.
//!
//! No I/O, no async, no clock: bytes and times come in, bytes and events go out.
//! Read in this order:

pub mod envelope;
pub mod framing;
pub mod http;
pub mod jsonrpc;
pub mod machine;
pub mod method;
mod payload;
pub mod revision;
mod scan;
pub mod types;
pub mod uri_template;

pub use method::Method;
pub use payload::{Payload, RawJson};
pub use revision::{Era, Revision};
pub use scan::Fault;
