//! The example programs as clients see them: real processes, real pipes and sockets.

#![expect(
    clippy::unwrap_used,
    reason = "clippy does not count the helpers of integration tests as tests"
)]

mod process;
mod tasks;
