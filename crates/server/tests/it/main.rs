//! The crate as its user sees it: servers made with the public API, clients that write bytes.
//!
//! 1. `pipe_client`, `http_client`: clients that know no protocol; `peer`: either of them
//! 2. `fixture`: the server that most tests talk to
//! 3. everything else: tests, by subject

#![expect(
    clippy::unwrap_used,
    reason = "clippy knows tests by their attribute, not the functions that they share"
)]

mod fixture;
mod http_client;
mod peer;
mod pipe_client;

mod access;
mod asking;
mod context;
mod hostile;
mod limits;
mod long;
mod offers;
#[cfg(unix)]
mod process;
mod races;
mod review;
mod sessions;
mod soak;
mod stateless;
mod tasks;
mod tasks_client;
mod tasks_experimental;
mod tasks_http;
mod tasks_store;
mod wire;
