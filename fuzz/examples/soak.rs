//! Runs one target many times: `soak <target> <runs> [seed]`.
//!
//! On a finding it prints the input and stops, so that the input can be stored in
//! the corpus. It is an example rather than a binary because cargo-fuzz takes
//! every binary for a target of libFuzzer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

use switchboard_fuzz::{Mutator, TARGETS, seeds};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let runs = arguments.next().and_then(|runs| runs.parse::<u64>().ok());
    let seed = arguments
        .next()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0x50AC);
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    let (Some((_, target)), Some(runs)) = (target, runs) else {
        eprintln!("usage: soak <target> <runs> [seed]");
        eprintln!(
            "targets: {}",
            TARGETS
                .iter()
                .map(|(name, _)| *name)
                .collect::<Vec<_>>()
                .join(" ")
        );
        return ExitCode::from(2);
    };
    let stored = match seeds(&name) {
        Ok(stored) => stored,
        Err(error) => {
            eprintln!("error: no corpus for {name}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut mutator = Mutator::new(stored, seed);
    let start = Instant::now();
    for run in 0..runs {
        let input = mutator.next_input();
        if catch_unwind(AssertUnwindSafe(|| target(input))).is_err() {
            println!(
                "{name}: finding in run {run}: b\"{}\"",
                input.escape_ascii()
            );
            return ExitCode::FAILURE;
        }
    }
    println!(
        "{name}: {runs} executions, no finding, {:.0} s",
        start.elapsed().as_secs_f64()
    );
    ExitCode::SUCCESS
}
