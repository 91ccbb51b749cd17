//! Reads the counts out of what `cargo test` prints.
//!
//! Only the line that ends each test program is read; the names of failed tests are on the
//! screen already.

use crate::report::{Outcome, Skip};

/// Adds up every `test result:` line. A line that cannot be read is a failure, so that a new
/// wording of the test harness cannot pass for zero tests.
pub(crate) fn count(lines: &[String]) -> Outcome {
    let mut outcome = Outcome::default();
    for line in lines {
        let Some(text) = line.strip_prefix("test result: ") else {
            continue;
        };
        let (Some(passed), Some(failed), Some(ignored)) = (
            number_before(text, "passed"),
            number_before(text, "failed"),
            number_before(text, "ignored"),
        ) else {
            outcome.failures.push(format!("unreadable line: {line}"));
            continue;
        };
        outcome.passed += passed;
        outcome
            .failures
            .extend((0..failed).map(|_| "a test, see above".to_owned()));
        outcome.skips.extend((0..ignored).map(|_| Skip {
            reason: "a test marked `ignore`, see above".to_owned(),
            permitted: false,
        }));
    }
    outcome
}

/// `12` for `passed` in `ok. 12 passed; 0 failed`.
fn number_before(text: &str, word: &str) -> Option<usize> {
    let (before, _) = text.split_once(&format!(" {word}"))?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], passed: usize, failed: usize, skipped: usize) {
        let lines: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
        let outcome = count(&lines);
        let counts = (outcome.passed, outcome.failures.len(), outcome.skips.len());
        assert_eq!(counts, (passed, failed, skipped));
    }

    #[test]
    fn results_are_added_up() {
        const GOOD: &str = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s";
        const BAD: &str = "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s";
        check(&["running 13 tests", GOOD], 12, 0, 1);
        check(&[GOOD, "", BAD], 15, 2, 1);
        check(&["test a ... ok"], 0, 0, 0);
    }

    #[test]
    fn a_wording_nobody_knows_is_a_failure() {
        check(&["test result: all is well"], 0, 1, 0);
    }
}
