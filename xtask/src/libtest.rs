//! Reads the counts out of what `cargo test` prints.
//!
//! The line that ends each test program is what counts. The names of failed and ignored tests
//! are read as well, for the summary, and given up if they do not add up. What only looks like
//! a test, because the tests start it as a process of its own, does not count as passed.

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
    let helpers = named(lines, "ok").filter(|name| HELPERS.contains(name));
    outcome.passed = outcome.passed.saturating_sub(helpers.count());
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
    let named: Vec<String> = named(lines, word)
        .map(|name| format!("test {name}"))
        .collect();
    if named.len() == count {
        named
    } else {
        vec!["a test, see above".to_owned(); count]
    }
}

/// The names of the tests that ended with this word.
fn named<'a>(lines: &'a [String], word: &str) -> impl Iterator<Item = &'a str> {
    lines.iter().filter_map(move |line| {
        let (name, ending) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
        // An ignored test may say why, after a comma.
        let ending = ending.split(',').next()?;
        (ending == word).then_some(name)
    })
}

/// `12` for `passed` in `ok. 12 passed; 0 failed`.
fn number_before(text: &str, word: &str) -> Option<usize> {
    let (before, _) = text.split_once(&format!(" {word}"))?;
    before.rsplit(' ').next()?.parse().ok()
}

/// What the tests start as processes of their own. To the harness they are tests, which pass
/// because nobody has told them what to do.
const HELPERS: &[&str] = &[
    "child::misbehaves",
    "child::serves",
    "churn::the_process",
    "cycles::the_cycles",
    "ending::the_victim",
    "faulty::stdio::tests::the_process",
    "many_processes::a_process_with_a_login",
    "process::the_process",
    "process_host::the_host",
    "processes::a_process_of_these_tests",
    "server::the_process",
    "soak::the_process",
    "stdio::the_process",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

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
    fn what_is_no_test_has_not_passed() {
        let lines = [
            "test soak::the_process ... ok",
            "test soak::calls_leave_nothing_behind ... ok",
            "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured",
        ];
        check(&lines, 1, 0, 0);
    }

    #[test]
    fn everything_that_says_it_is_no_test_is_known() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        let mut found = BTreeSet::new();
        collect(&crates, &mut found);
        let known = HELPERS.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(found, known);
    }

    /// The functions below a folder whose comment says so, by the names that they have as tests.
    fn collect(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
                continue;
            }
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let mut lines = text.lines();
            while lines.any(|line| line.starts_with("/// Not a test by itself")) {
                let name = lines.find_map(|line| line.split_once("fn ")?.1.split('(').next());
                found.insert(format!("{}::{}", module(&path), name.unwrap()));
            }
        }
    }

    /// The path of a file's module: behind `src`, or behind the program of the tests.
    fn module(path: &Path) -> String {
        let words: Vec<&str> = path.iter().filter_map(|word| word.to_str()).collect();
        let start = words.iter().rposition(|word| ["src", "it"].contains(word));
        let words = &words[start.unwrap() + 1..];
        words.join("::").trim_end_matches(".rs").to_owned()
    }

    #[test]
    fn a_wording_nobody_knows_is_a_failure() {
        check(&["test result: all is well"], 0, 1, 0);
    }
}
