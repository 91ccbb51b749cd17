//! What a command prints: a heading per step, what ran, a table, one last line.
//!
//! This is the only file of the package that prints. It runs nothing itself.

use std::io;
use std::time::{Duration, Instant};

/// What a step found out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Single checks that passed inside the step; the step itself is counted by [`Report`].
    pub(crate) passed: usize,
    /// Why single checks, or the step itself, did not pass.
    pub(crate) failures: Vec<String>,
    /// What did not run.
    pub(crate) skips: Vec<Skip>,
    /// Why the step has nothing to do on this machine. It is then not counted at all.
    pub(crate) not_applicable: Option<String>,
}

/// One check that did not run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Skip {
    pub(crate) reason: String,
    /// Whether the run may still succeed.
    pub(crate) permitted: bool,
}

impl Outcome {
    /// The step did what it should; it has no single checks to count.
    pub(crate) fn passed() -> Self {
        Self::default()
    }

    /// The step as a whole did not pass.
    pub(crate) fn failed(reason: impl Into<String>) -> Self {
        Self {
            failures: vec![reason.into()],
            ..Self::default()
        }
    }

    /// There is nothing to do here, for a reason that is nobody's fault.
    pub(crate) fn not_applicable(reason: impl Into<String>) -> Self {
        Self {
            not_applicable: Some(reason.into()),
            ..Self::default()
        }
    }

    /// Counts what another part of the same step found.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failures.extend(other.failures);
        self.skips.extend(other.skips);
    }

    fn has_passed(&self) -> bool {
        let all_permitted = self.skips.iter().all(|skip| skip.permitted);
        self.failures.is_empty() && all_permitted && self.not_applicable.is_none()
    }

    fn word(&self) -> &'static str {
        if self.has_passed() {
            "ok"
        } else if !self.failures.is_empty() {
            "FAILED"
        } else if self.not_applicable.is_some() {
            "n/a"
        } else {
            "SKIPPED"
        }
    }
}

impl From<Result<(), String>> for Outcome {
    fn from(result: Result<(), String>) -> Self {
        match result {
            Ok(()) => Self::passed(),
            Err(reason) => Self::failed(reason),
        }
    }
}

/// All steps of one command, in the order they ran.
#[derive(Debug, Default)]
pub(crate) struct Report {
    steps: Vec<(&'static str, Duration, Outcome)>,
}

impl Report {
    /// Runs one step between its heading and its time. A failure does not stop the next one.
    pub(crate) fn step(&mut self, name: &'static str, body: impl FnOnce() -> Outcome) {
        line(&format!("\n== {name}"));
        let started = Instant::now();
        let outcome = body();
        let took = started.elapsed();
        line(&format!(
            "== {name}: {} in {:.1} s",
            outcome.word(),
            took.as_secs_f64()
        ));
        self.steps.push((name, took, outcome));
    }

    /// Prints the table and the last line; says whether the run succeeded.
    pub(crate) fn finish(&self) -> bool {
        line("\n== summary");
        for (name, took, outcome) in &self.steps {
            line(&row(name, *took, outcome));
            for failure in &outcome.failures {
                line(&format!("    failed: {failure}"));
            }
            for skip in &outcome.skips {
                let verdict = if skip.permitted { "skipped" } else { "SKIPPED" };
                line(&format!("    {verdict}: {}", skip.reason));
            }
            if let Some(reason) = &outcome.not_applicable {
                line(&format!("    not applicable: {reason}"));
            }
        }
        let total = self.total();
        line(&format!(
            "{} passed, {} failed, {} skipped",
            total.passed, total.failed, total.skipped
        ));
        total.failed == 0 && total.forbidden == 0
    }

    /// Single checks and steps together.
    fn total(&self) -> Total {
        let mut total = Total::default();
        for (_, _, outcome) in &self.steps {
            total.passed += outcome.passed;
            total.failed += outcome.failures.len();
            total.skipped += outcome.skips.len();
            total.forbidden += outcome.skips.iter().filter(|skip| !skip.permitted).count();
            // One that did not pass is among its failures or its skips already.
            if outcome.has_passed() {
                total.passed += 1;
            }
        }
        total
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Total {
    passed: usize,
    failed: usize,
    skipped: usize,
    forbidden: usize,
}

/// Prints one line, or several, at once. Nothing but tabs and line ends keeps control over the terminal.
pub(crate) fn line(text: &str) {
    print(&mut io::stdout().lock(), text);
}

/// The same for what only tells how far a long command is, on stderr.
pub(crate) fn progress(text: &str) {
    print(&mut io::stderr().lock(), text);
}

fn print(to: &mut impl io::Write, text: &str) {
    let mut safe = String::with_capacity(text.len() + 1);
    for character in text.chars() {
        if character.is_control() && !matches!(character, '\n' | '\t') {
            safe.extend(character.escape_default());
        } else {
            safe.push(character);
        }
    }
    safe.push('\n');
    // Whoever stopped reading misses the rest; the exit code still tells.
    let _ = to.write_all(safe.as_bytes()).and_then(|()| to.flush());
}

fn row(name: &str, took: Duration, outcome: &Outcome) -> String {
    format!(
        "{name:<14} {:<8} {:>7.1} s {:>6} passed {:>4} failed {:>4} skipped",
        outcome.word(),
        took.as_secs_f64(),
        outcome.passed,
        outcome.failures.len(),
        outcome.skips.len(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total_of(outcomes: Vec<Outcome>) -> Total {
        let steps = outcomes
            .into_iter()
            .map(|outcome| ("step", Duration::ZERO, outcome))
            .collect();
        Report { steps }.total()
    }

    fn skipped(permitted: bool) -> Outcome {
        Outcome {
            skips: vec![Skip {
                reason: "no schemas".to_owned(),
                permitted,
            }],
            ..Outcome::default()
        }
    }

    #[test]
    fn a_step_counts_beside_its_tests() {
        let tests = Outcome {
            passed: 7,
            ..Outcome::default()
        };
        let total = total_of(vec![Outcome::passed(), tests]);
        assert_eq!((total.passed, total.failed, total.skipped), (9, 0, 0));
    }

    #[test]
    fn a_failing_step_counts_once() {
        let total = total_of(vec![Outcome::failed("clippy")]);
        assert_eq!((total.passed, total.failed), (0, 1));
    }

    #[test]
    fn only_a_permitted_skip_lets_the_run_succeed() {
        assert_eq!(total_of(vec![skipped(true)]).forbidden, 0);
        assert_eq!(total_of(vec![skipped(false)]).forbidden, 1);
    }

    #[test]
    fn a_step_with_nothing_to_do_is_not_counted() {
        let total = total_of(vec![Outcome::not_applicable("no such toolchain")]);
        assert_eq!(total, Total::default());
    }
}
