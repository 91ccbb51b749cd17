//! HTTP, from both sides of a connection.

#[path = "../../crates/transport/src/http/chunks.rs"]
mod chunks;
pub(crate) mod client;
mod endpoint;
#[path = "../../crates/transport/src/http/framing.rs"]
mod framing;
mod request;

pub use client::http_answer;
pub use endpoint::http_endpoint;
pub use request::http_request;
