//! The machines under many random interleavings, each watched at every step. In `fuzz/` the same
//! models are led by bytes in place of a seed.
//!
//! A run is a seed. `SWITCHBOARD_SIMULATION_RUNS` says how many runs there are in all;
//! `SWITCHBOARD_SIMULATION_SEED=NAME:SEED` plays a single one again, as a failure asks for.

mod client;
mod pair;
mod random;
mod server;

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::{Frame, Limits, Malformed};

use random::Random;

#[test]
fn a_client_keeps_its_promises_to_its_user_whatever_a_server_does() {
    let setups = client::setups();
    campaign("client", 45, |seed, trace| {
        client::run(&setups, Random::new(seed), trace)
    });
}

#[test]
fn a_server_keeps_its_promises_to_its_handlers_whatever_clients_do() {
    let setups = server::setups();
    campaign("server", 45, |seed, trace| {
        server::run(&setups, Random::new(seed), trace)
    });
}

#[test]
fn every_call_of_a_client_gets_what_its_handler_at_the_server_gave() {
    let setups = pair::setups();
    campaign("pair", 10, |seed, trace| {
        pair::run(&setups, Random::new(seed), trace)
    });
}

/// What happened in a run, told only when it is asked for.
#[derive(Debug)]
pub(crate) struct Trace(Option<Vec<String>>);

impl Trace {
    pub(crate) fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.0 {
            lines.push(what());
        }
    }
}

/// Plays this share of all runs, in percent.
fn campaign(name: &str, share: u64, run: impl Fn(u64, &mut Trace)) {
    let play = |seed: u64| {
        let quiet = || run(seed, &mut Trace(None));
        if catch_unwind(AssertUnwindSafe(quiet)).is_ok() {
            return;
        }
        let mut trace = Trace(Some(Vec::new()));
        let told = catch_unwind(AssertUnwindSafe(|| run(seed, &mut trace)));
        let lines = trace.0.unwrap_or_default().join("\n");
        let problem = told.err().map(|panic| match panic.downcast::<String>() {
            Ok(text) => *text,
            Err(other) => other
                .downcast::<&str>()
                .map_or_else(|_| String::new(), |text| (*text).to_owned()),
        });
        panic!(
            "{lines}\n{}\nplay it again with SWITCHBOARD_SIMULATION_SEED={name}:{seed}",
            problem.unwrap_or_else(|| "the second time it went well".to_owned())
        );
    };
    if let Ok(wanted) = std::env::var("SWITCHBOARD_SIMULATION_SEED") {
        if let Some((of, seed)) = wanted.split_once(':')
            && of == name
        {
            play(seed.parse().expect("NAME:SEED, a number"));
        }
        return;
    }
    let runs: u64 = std::env::var("SWITCHBOARD_SIMULATION_RUNS")
        .map_or(DEFAULT_RUNS, |runs| runs.parse().expect("a number of runs"));
    for seed in 0..runs * share / 100 {
        play(seed);
    }
}

pub(crate) fn frame(text: &str) -> Result<Frame, Malformed> {
    Frame::read(&Bytes::copy_from_slice(text.as_bytes()), &Limits::default())
}

pub(crate) fn payload(text: &str) -> Payload {
    Payload::parse(Bytes::copy_from_slice(text.as_bytes()), &Limits::default()).expect("valid JSON")
}

const DEFAULT_RUNS: u64 = 100_000;
