//! Runs many schedules: `--seed S`, `--seeds N [--from S]`, `--for SECONDS`, `--steps N`.

#![expect(
    clippy::print_stdout,
    reason = "a program for whoever looks for faults; nothing speaks a protocol on its output"
)]

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use switchboard_simulation::{Run, run};
use switchboard_testkit::span;

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(reason) => {
            println!("error: {reason}\n{HELP}");
            return ExitCode::from(2);
        }
    };
    if let Some(seed) = options.seed {
        let run = run(seed, options.steps, true);
        for line in &run.lines {
            println!("{line}");
        }
        println!(
            "seed {seed}: {} steps, digest {:016x}",
            run.steps, run.digest
        );
        return verdict(&run);
    }
    let began = Instant::now();
    let next = AtomicU64::new(options.from);
    let steps = AtomicU64::new(0);
    let done = AtomicU64::new(0);
    let failed = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    let until = options.time.map(|time| began + time);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let is_late = until.is_some_and(|until| Instant::now() >= until);
                    let is_enough = options
                        .seeds
                        .is_some_and(|most| seed >= options.from + most);
                    if is_late || is_enough || is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    let mut run = switchboard_simulation::run(seed, options.steps, false);
                    if seed.is_multiple_of(AGAIN) {
                        let again = switchboard_simulation::run(seed, options.steps, false);
                        if again.digest != run.digest {
                            run.violations
                                .push("it was another run the second time".to_owned());
                        }
                    }
                    steps.fetch_add(run.steps, Ordering::Relaxed);
                    done.fetch_add(1, Ordering::Relaxed);
                    if !run.violations.is_empty() {
                        println!("seed {seed}: {}", run.violations.join("; "));
                        let count = failed.fetch_add(1, Ordering::Relaxed) + 1;
                        if count >= options.failures {
                            is_over.store(true, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    let (steps, done, failed) = (steps.into_inner(), done.into_inner(), failed.into_inner());
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{done} seeds, {steps} steps in {seconds:.1} s: {:.0} seeds and {:.0} steps a second; {failed} failed",
        done as f64 / seconds,
        steps as f64 / seconds,
    );
    match failed {
        0 => ExitCode::SUCCESS,
        _ => {
            println!(
                "replay one with: cargo xtask simulate --seed <seed> --steps {}",
                options.steps
            );
            ExitCode::FAILURE
        }
    }
}

fn verdict(run: &Run) -> ExitCode {
    match run.violations.as_slice() {
        [] => ExitCode::SUCCESS,
        violations => {
            println!("violated: {}", violations.join("; "));
            ExitCode::FAILURE
        }
    }
}

struct Options {
    seed: Option<u64>,
    seeds: Option<u64>,
    from: u64,
    time: Option<Duration>,
    steps: u64,
    /// After so many the rest is not run.
    failures: u64,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            seed: None,
            seeds: None,
            from: 0,
            time: None,
            steps: 100,
            failures: 10,
        };
        while let Some(word) = words.next() {
            let value = words
                .next()
                .ok_or_else(|| format!("{word} wants a value"))?;
            let number = || {
                value
                    .parse::<u64>()
                    .map_err(|error| format!("{word} {value}: {error}"))
            };
            match word.as_str() {
                "--seed" => options.seed = Some(number()?),
                "--seeds" => options.seeds = Some(number()?),
                "--from" => options.from = number()?,
                "--steps" => options.steps = number()?,
                "--failures" => options.failures = number()?,
                "--for" => options.time = Some(span::read(&value)?),
                _ => return Err(format!("unknown word {word}")),
            }
        }
        if options.seeds.is_none() && options.time.is_none() && options.seed.is_none() {
            options.seeds = Some(2_000);
        }
        Ok(options)
    }
}

/// One in so many is run twice: the same seed is the same run.
const AGAIN: u64 = 64;

const HELP: &str = "\
--seed S       one schedule, with all that happens
--seeds N      so many, from the one that --from says (0)
--for TIME     as many as there is time for: 90s, 15m, 1h
--steps N      about so many steps of each (100)
--failures N   stops after so many that fail (10)";
