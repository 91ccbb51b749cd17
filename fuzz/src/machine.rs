//! The machines against a peer, users and handlers that do anything.
//!
//! The models, and with them what must hold, are those of the simulation in the tests of
//! `switchboard-protocol`: each call has one outcome, and none stays; each request is answered
//! once; nothing comes after a cancel, after the last word of a stream, after the end; clocks,
//! questions and calls stay within their limits; no value reaches another call than its own.
//! There a seed decides what happens, here the bytes do, one after another: a byte more or less
//! is a step more or less, and what follows stays as it was.

#[path = "../../crates/protocol/tests/it/simulation/client.rs"]
mod client;
#[path = "../../crates/protocol/tests/it/simulation/pair.rs"]
mod pair;
mod random;
#[path = "../../crates/protocol/tests/it/simulation/server.rs"]
mod server;

use std::sync::LazyLock;

use bytes::Bytes;
use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::{Frame, Limits, Malformed};
use switchboard_protocol::machine::client::ClientConfig;
use switchboard_protocol::machine::server::ServerConfig;

use random::Random;

/// A client keeps its promises to its user, whatever a server does.
pub fn client_machine(data: &[u8]) {
    static SETUPS: LazyLock<client::Setups> = LazyLock::new(client::setups);
    client::run(&SETUPS, Random::new(data), &mut Trace);
}

/// A server keeps its promises to its handlers, whatever clients do.
pub fn server_machine(data: &[u8]) {
    static SETUPS: LazyLock<server::Setups> = LazyLock::new(server::setups);
    server::run(&SETUPS, Random::new(data), &mut Trace);
}

/// Every call of a client gets what its handler at the server gave.
pub fn machine_pair(data: &[u8]) {
    static SETUPS: LazyLock<Vec<(ClientConfig, ServerConfig)>> = LazyLock::new(pair::setups);
    pair::run(&SETUPS, Random::new(data), &mut Trace);
}

/// What happened in a run. A finding is an input, which can be run again; so nothing is noted.
struct Trace;

impl Trace {
    fn note(&mut self, _what: impl FnOnce() -> String) {}
}

fn frame(text: &str) -> Result<Frame, Malformed> {
    Frame::read(&Bytes::copy_from_slice(text.as_bytes()), &Limits::default())
}

fn payload(text: &str) -> Payload {
    Payload::parse(Bytes::copy_from_slice(text.as_bytes()), &Limits::default()).expect("valid JSON")
}
