//! The state machines of both sides, pure: what happened goes in, what must happen next comes out.
//!
//! A driver owns the wires and the clock. It calls `handle(now, input, &mut out)`
//! for everything that happens, does what is appended to `out`, and sends
//! `Tick` when `deadline()` is reached. Nothing here waits, sends or reads a clock.
//!
//! [`client`] is the side that connects, [`server`] the side that serves.
//! `pending` holds the calls we made, `serving` the calls we were given:
//! between them every call gets exactly one outcome. `declared` says what may be asked of
//! whom, `rounds` what `input_required` asks for.

mod allowance;
pub mod client;
mod counted;
mod declared;
mod pending;
mod rounds;
pub mod server;
mod serving;
mod table;

/// Which stream of a connection a message travels on.
///
/// A pipe has one. Over HTTP each POST has its own, and the driver numbers them;
/// the shared one is what belongs to no request (the GET stream).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lane(pub u64);

impl Lane {
    /// The stream that belongs to no request. On a pipe, the only one.
    pub const SHARED: Self = Self(0);
}

/// What kind of transport a machine is connected to, as far as the protocol cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// One stream each way: stdio, a socket, memory.
    Pipe,
    /// HTTP: a stream per request.
    Http,
}

/// A time for tests, from which they go on by themselves.
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any time will do")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}
