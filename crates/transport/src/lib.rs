//! Moves messages of the Model Context Protocol. It knows none of its methods.
//!
//! What a message means is for `switchboard-protocol`, whom it is for is for those who use this:
//! `switchboard-server`, and with the feature `connect` whoever is a client.
//!
//! 1. [`stdio`]: the standard streams without blocking; [`memory`]: a pipe within a process
//! 2. [`lines`]: messages on a pipe, a line each
//! 3. [`http`]: an endpoint of Streamable HTTP; its module `client`, with the feature `connect`,
//!    asks such endpoints, with what `credentials` prove
//! 4. `process`, with the feature `connect`: servers that are started as child processes;
//!    `Escaped`: what a peer wrote, safe to print
//! 5. [`watch`]: a value that changes, and those who wait for that; [`turn`]: how long one task may go on;
//!    [`calendar`]: days as dates

pub mod calendar;
#[cfg(feature = "connect")]
pub mod credentials;
#[cfg(feature = "connect")]
mod escape;
pub mod http;
pub mod lines;
pub mod memory;
#[cfg(feature = "connect")]
pub mod process;
pub mod stdio;
pub mod turn;
pub mod watch;

#[cfg(feature = "connect")]
pub use escape::Escaped;
