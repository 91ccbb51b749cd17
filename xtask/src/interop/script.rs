//! Runs a foreign script or program, and counts what it printed.
//!
//! A script prints one line per check, as `interop/report.mjs` describes.

use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::process::{self, Show};
use crate::report::{self, Outcome, Skip};

/// Two things that have nothing to do with each other, at the same time; what both found.
pub(super) fn two_at_once(
    one: impl FnOnce() -> Outcome + Send,
    other: impl FnOnce() -> Outcome,
) -> Outcome {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let mut outcome = other();
        outcome.add(
            one.join()
                .unwrap_or_else(|_| Outcome::failed("a panic, see above")),
        );
        outcome
    })
}

/// Runs a script that prints one line per check.
pub(super) fn run_script(outcome: &mut Outcome, name: &str, command: &mut Command) {
    let finished = match process::run_bounded(command, Show::All, SCRIPT_LIMIT) {
        Ok(finished) => finished,
        Err(reason) => return outcome.failures.push(reason),
    };
    let found = read_checks(&finished.stdout);
    let silent = found.passed == 0 && found.failures.is_empty();
    // A script that died half-way has passed what it printed, and failed all the same.
    if found.failures.is_empty() {
        outcome.failures.extend(finished.check(name).err());
        if silent && finished.succeeded {
            outcome.failures.push(format!("{name} checked nothing"));
        }
    }
    outcome.add(found);
}

fn read_checks(lines: &[String]) -> Outcome {
    let mut found = Outcome::default();
    for line in lines {
        if line.starts_with("ok ") {
            found.passed += 1;
        } else if let Some(failure) = line.strip_prefix("FAILED ") {
            found.failures.push(failure.to_owned());
        } else if let Some(reason) = line.strip_prefix("skipped ") {
            found.skips.push(Skip {
                reason: reason.to_owned(),
                permitted: false,
            });
        }
    }
    found
}

/// The JSON that a program prints.
pub(super) fn answer_of(command: &mut Command) -> Result<Value, String> {
    let finished = process::run_bounded(command, Show::OnlyErrors, SCRIPT_LIMIT)?;
    let printed = finished.stdout.join("\n");
    if !finished.succeeded {
        return Err(format!("{}, and printed {printed:?}", finished.ending));
    }
    serde_json::from_str(&printed).map_err(|error| format!("no JSON but {printed:?}: {error}"))
}

pub(super) fn record(outcome: &mut Outcome, name: &str, verdict: Result<(), String>) {
    match verdict {
        Ok(()) => {
            report::line(&format!("ok {name}"));
            outcome.passed += 1;
        }
        Err(reason) => {
            report::line(&format!("FAILED {name}: {reason}"));
            outcome.failures.push(format!("{name}: {reason}"));
        }
    }
}

/// The slowest script needs half a minute on a quiet machine.
const SCRIPT_LIMIT: Duration = Duration::from_secs(240);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_check_only_by_its_first_word() {
        let lines = [
            "ok ping",
            "FAILED close: gone",
            "skipped ask: no such tool",
            "hello",
            "okay",
        ];
        let lines: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
        let found = read_checks(&lines);
        assert_eq!(found.passed, 1);
        assert_eq!(found.failures, ["close: gone"]);
        assert_eq!(found.skips.len(), 1);
    }
}
