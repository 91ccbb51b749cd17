//! One check after the other, each with a line of its own, whatever became of the one before.

use std::future::Future;
use std::time::Duration;

use crate::report::Report;

/// The checks, and which of them are wanted.
#[derive(Debug)]
pub(crate) struct Course {
    report: Report,
    names: Vec<String>,
}

impl Course {
    /// Checks whose names contain one of these; all of them if there is none.
    pub(crate) fn new(names: Vec<String>) -> Self {
        Self {
            report: Report::default(),
            names,
        }
    }

    /// Makes a check, if it is wanted, and prints what came of it.
    pub(crate) async fn check(
        &mut self,
        subject: &str,
        what: &str,
        check: impl Future<Output = Result<(), String>>,
    ) {
        let name = format!("{subject}: {what}");
        let is_wanted = |wanted: &String| name.contains(wanted);
        if !self.names.is_empty() && !self.names.iter().any(is_wanted) {
            return;
        }
        let outcome = tokio::time::timeout(LIMIT, check).await;
        let outcome = outcome.unwrap_or_else(|_| Err(format!("not done within {LIMIT:?}")));
        self.report.check(name, outcome);
    }

    pub(crate) const fn has_failed(&self) -> bool {
        self.report.has_failed()
    }
}

// The slowest waits for a token to end, or for another device.
const LIMIT: Duration = Duration::from_secs(60);
