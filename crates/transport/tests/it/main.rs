//! The crate as its user sees it.

#![expect(
    clippy::unwrap_used,
    reason = "clippy knows tests by their attribute, not the functions that they share"
)]

mod http;
#[cfg(feature = "connect")]
mod http_client;
mod lines;
mod memory;
#[cfg(all(feature = "connect", target_os = "linux"))]
mod process;
#[cfg(all(feature = "connect", target_os = "linux"))]
mod process_end;
#[cfg(all(feature = "connect", target_os = "linux"))]
mod process_host;
#[cfg(unix)]
mod stdio;
