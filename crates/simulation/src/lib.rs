//! Clients, a gateway and servers in one process, on a clock and a network that a seed decides.
//!
//! The real client library, the real gateway and hub, and real servers run in one thread on a clock
//! that stands still. What they say to each other passes through wires that the schedule of a seed
//! holds back, lets through in pieces, stalls and cuts, while it crashes servers, changes the
//! configuration and lets time pass. What must be true of every call is checked all the time and at
//! the end. The same seed is the same run.
//!
//! 1. [`run`] (`schedule`): what happens, and what must be true
//! 2. `world`: all that there is; `wire`: a connection; `conversation`: what may be said on one
//! 3. `server`, `user`: who works, and who calls and is asked; `ledger`: what is true of calls
//! 4. `chance`, `trace`: what is rolled, and what happened; `panics`: what must not have

mod chance;
mod conversation;
mod ledger;
mod panics;
mod schedule;
mod server;
mod trace;
mod user;
mod wire;
mod world;

pub use schedule::{Run, run};
