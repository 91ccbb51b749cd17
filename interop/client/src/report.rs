//! The line that a check prints, and an error in one. Only this file prints.

use std::error::Error;
use std::fmt::Display;

/// What was found so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    failed: bool,
}

impl Report {
    /// Prints what came of a check.
    pub(crate) fn check(&mut self, name: impl Display, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => line(&format!("ok {name}")),
            Err(reason) => {
                self.failed = true;
                let words: Vec<&str> = reason.split_whitespace().collect();
                line(&format!("FAILED {name}: {}", words.join(" ")));
            }
        }
    }

    pub(crate) const fn has_failed(&self) -> bool {
        self.failed
    }
}

/// An error with its causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

#[expect(
    clippy::print_stdout,
    reason = "the lines are what this program is for"
)]
pub(crate) fn line(text: &str) {
    println!("{text}");
}
