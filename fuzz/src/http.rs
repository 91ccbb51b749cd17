//! HTTP, from both sides of a connection.

pub(crate) mod client;
mod endpoint;

pub use client::http_answer;
pub use endpoint::http_endpoint;
