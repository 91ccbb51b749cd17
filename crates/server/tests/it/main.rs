//! The server as its users see it: public API on one side, raw messages on the other.
#![expect(
    clippy::unwrap_used,
    reason = "what a helper unwraps fails the test that it helps"
)]

mod tasks;
mod tasks_client;
mod tasks_experimental;
mod tasks_http;
mod tasks_store;
