//! What the Model Context Protocol says, in every revision, and nothing else.
//!
//! No I/O, no async, no clock: bytes and times come in, bytes and events go out.
//! Read in this order:
//!
//! 1. [`jsonrpc`]: the envelope of a message; [`Payload`]: what stays text inside it;
//!    [`json_string`]: strings in that text
//! 2. [`method`]: the one table of methods; [`revision`]: what each revision has or lacks
//! 3. [`types`]: every object, a file per feature; [`uri_template`]: for resources
//! 4. [`machine`]: both sides of a connection; [`envelope`]: the context of a stateless request
//! 5. [`framing`]: messages in bytes, for stdio and event streams; [`http`]: headers and status
//! 6. [`Refusals`]: how often limits were reached

pub mod envelope;
pub mod framing;
pub mod http;
pub mod json_string;
mod json_writer;
pub mod jsonrpc;
pub mod machine;
mod marks;
pub mod method;
mod payload;
mod plain_result;
mod refusals;
pub mod revision;
mod scan;
pub mod types;
pub mod uri_template;

pub use method::Method;
pub use payload::{Payload, RawJson};
pub use refusals::Refusals;
pub use revision::{Era, Revision};
pub use scan::Fault;
