//! The crate as its user sees it.

#![expect(
    clippy::unwrap_used,
    reason = "clippy knows tests by their attribute, not the functions that they share"
)]

mod http;
mod lines;
mod memory;
#[cfg(unix)]
mod stdio;
