//! Servers that misbehave, each in one way.
//!
//! - `role`: which defect, in which eras, and when
//! - `honest`: what a correct small server answers; every misbehaving one is this plus a defect
//! - `message`: the messages that both write
//! - [`stdio`]: as a child process on its standard streams
//! - [`http`]: on a loopback port, in threads of the test itself
//!
//! Plain threads and the standard library only: a defect of our own transports cannot hide one
//! of the client. The honest tools are `echo`, `add`, `slow` and `defect`; calling `defect` sets
//! off what is wrong, calling the others shows that everything else goes on.

mod honest;
pub mod http;
mod message;
mod role;
// The test harness prints on stdout; only a shell can put that elsewhere.
#[cfg(unix)]
pub mod stdio;

pub use role::{Eras, Role};
