//! Reads the counts out of what `cargo test` prints.
//!
//! The line that ends each test program is what counts. The names of failed and ignored tests
//! are read as well, for the summary, and given up if they do not add up.

use crate::report::{Outcome, Skip};

/// Adds up every `test result:` line. A line that cannot be read is a failure, so that a new
/// wording of the test harness cannot pass for zero tests.
pub(crate) fn count(lines: &[String]) -> Outcome {
    let mut outcome = Outcome::default();
    let (mut failed, mut ignored) = (0, 0);
    for line in lines {
        let Some(text) = line.strip_prefix("test result: ") else {
            continue;
        };
        let numbers = ["passed", "failed", "ignored"].map(|word| number_before(text, word));
        if let [Some(good), Some(bad), Some(left_out)] = numbers {
            outcome.passed += good;
            failed += bad;
            ignored += left_out;
        } else {
            outcome.failures.push(format!("unreadable line: {line}"));
        }
    }
    outcome.failures.extend(names(lines, "FAILED", failed));
    let ignored = names(lines, "ignored", ignored).into_iter();
    outcome.skips.extend(ignored.map(|name| Skip {
        reason: format!("{name}: marked `ignore`"),
        permitted: false,
    }));
    outcome
}

/// The tests that ended with this word; there must be so many.
fn names(lines: &[String], word: &str, count: usize) -> Vec<String> {
    let named = lines.iter().filter_map(|line| {
        let (name, ending) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
        // An ignored test may say why, after a comma.
        let ending = ending.split(',').next()?;
        (ending == word).then(|| format!("test {name}"))
    });
    let named: Vec<String> = named.collect();
    if named.len() == count {
        named
    } else {
        vec!["a test, see above".to_owned(); count]
    }
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
    fn a_failed_test_is_named() {
        let lines = [
            "test framing::a_long_line ... FAILED",
            "test framing::a_slow_one ... ignored, takes an hour",
            "test result: FAILED. 0 passed; 1 failed; 1 ignored; 0 measured",
        ];
        let outcome = count(&lines.map(str::to_owned));
        assert_eq!(outcome.failures, ["test framing::a_long_line"]);
        assert!(
            outcome.skips[0]
                .reason
                .starts_with("test framing::a_slow_one")
        );
    }

    #[test]
    fn a_wording_nobody_knows_is_a_failure() {
        check(&["test result: all is well"], 0, 1, 0);
    }
}
