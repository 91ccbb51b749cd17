//! The official conformance suite against the example server `everything`.
//!
//! Each scenario is one check. It passes when it was really exercised: something succeeded,
//! nothing failed, warned or was skipped. The suite itself is more lenient, so its own verdict
//! and exit code are not asked for. What a result is worth is in `verdict.rs`; the client is in
//! `client.rs`, the gateway in `gateway.rs`.

pub(super) mod client;
pub(super) mod gateway;
mod verdict;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::interop::clients::LISTENING;
use crate::interop::conformance::verdict::{Check, judge, read_checks, requirements};
use crate::interop::script::{record, two_at_once};
use crate::process::{self, Show};
use crate::report::{self, Outcome};
use crate::tools::{self, Suite};
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace) -> Outcome {
    let suite = match prepare(workspace) {
        Ok(suite) => suite,
        Err(reason) => return Outcome::failed(reason),
    };
    // The suite mostly waits, so the longest run has the others beside it.
    let (all, required) = SELECTIONS.split_at(1);
    two_at_once(
        || serve_and_run(workspace, &suite, all),
        || serve_and_run(workspace, &suite, required),
    )
}

/// These runs, one after the other, against a server of their own.
fn serve_and_run(workspace: &Workspace, suite: &Suite, selections: &[Selection]) -> Outcome {
    let mut outcome = Outcome::default();
    let mut command = Command::new(workspace.binary(SERVER));
    command.args(["--http", "0"]);
    let served = process::with_server(&mut command, LISTENING, |url| {
        for selection in selections {
            let folder = workspace.target.join("conformance").join(selection.name);
            let name = format!("conformance {}", selection.name);
            let ran = selection.run(suite, &name, url, &folder, &[], &mut outcome);
            outcome.failures.extend(ran.err());
        }
    });
    outcome.failures.extend(served.err());
    outcome
}

fn prepare(workspace: &Workspace) -> Result<Suite, String> {
    workspace.build_examples()?;
    tools::conformance(workspace)
}

/// One run of the suite, and how many scenarios it must have.
struct Selection {
    name: &'static str,
    option: &'static str,
    /// Those that a revision requires; or all, for a run without requirements.
    required: usize,
    /// Those that the suite runs as well: extensions, and what it has added since.
    further: usize,
}

const SELECTIONS: &[Selection] = &[
    Selection {
        name: "all",
        option: "--suite",
        required: 65,
        further: 0,
    },
    Selection {
        name: "2025-11-25",
        option: "--requirements",
        required: 30,
        further: 3,
    },
    Selection {
        name: "2026-07-28",
        option: "--requirements",
        required: 37,
        further: 13,
    },
];

impl Selection {
    fn run(
        &self,
        suite: &Suite,
        title: &str,
        url: &str,
        folder: &Path,
        exceptions: &[&str],
        outcome: &mut Outcome,
    ) -> Result<(), String> {
        // It is not there the first time.
        let _ = fs::remove_dir_all(folder);
        let [program, script] = &suite.words;
        let mut command = Command::new(program);
        command.arg(script).args(["server", "--url", url]);
        command.args([self.option, self.name, "-o"]).arg(folder);
        if !exceptions.is_empty() {
            // Some of them fail by waiting.
            command.args(["--timeout", "10000"]);
        }
        let finished = process::run_bounded(&mut command, Show::Beginning(PROGRESS), RUN_LIMIT)?;
        let scenarios = read_results(folder).map_err(|reason| {
            let last: Vec<&str> = finished
                .stdout
                .iter()
                .rev()
                .take(3)
                .map(String::as_str)
                .collect();
            format!(
                "{title}: {reason}; the suite {}, and printed {last:?}",
                finished.ending
            )
        })?;
        for (name, checks) in &scenarios {
            let mut verdict = judge(name, checks);
            if exceptions.contains(&name.as_str()) {
                verdict = match verdict {
                    Ok(()) => Err("it passes, and needs no exception any more".to_owned()),
                    Err(_) => continue,
                };
            }
            record(outcome, &format!("{title}: {name}"), verdict);
        }
        self.count(suite, title, &scenarios)
    }

    /// A scenario that is not there has not passed, however many others have.
    fn count(&self, suite: &Suite, title: &str, ran: &Scenarios) -> Result<(), String> {
        let wanted = self.required + self.further;
        if ran.len() != wanted {
            return Err(format!("{title}: {} scenarios, not {wanted}", ran.len()));
        }
        let mut required = ran.len();
        if self.option == "--requirements" {
            let file = suite.requirements.join(format!("{}.yaml", self.name));
            let text = fs::read_to_string(&file)
                .map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
            let names = requirements(&text, "server");
            if let Some(missing) = names.iter().find(|name| !ran.contains_key(**name)) {
                return Err(format!("{title}: {missing} did not run"));
            }
            required = names.len();
        }
        if required != self.required {
            return Err(format!(
                "{title}: {required} are required, not {}",
                self.required
            ));
        }
        report::line(&format!(
            "{title}: {required} required scenarios, {} further",
            self.further
        ));
        Ok(())
    }
}

/// The checks of each scenario.
type Scenarios = BTreeMap<String, Vec<Check>>;

/// Reads `<folder>/server-<scenario>-<time>/checks.json` for every scenario.
fn read_results(folder: &Path) -> Result<Scenarios, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("no results: {error}"))?;
    let mut scenarios = Scenarios::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let Some(name) = path
            .file_name()
            .and_then(|name| scenario_of(name.to_str()?))
        else {
            return Err(format!("{} is named like no result", path.display()));
        };
        // A scenario that was begun and not ended has a folder and no checks.
        let text = fs::read_to_string(path.join("checks.json")).unwrap_or_default();
        let checks = read_checks(&text).unwrap_or_else(|| vec![Check::unreadable()]);
        if scenarios.insert(name.to_owned(), checks).is_some() {
            return Err(format!("{name} ran twice"));
        }
    }
    Ok(scenarios)
}

fn scenario_of(folder: &str) -> Option<&str> {
    let rest = folder.strip_prefix("server-")?;
    let (name, time) = rest.split_at_checked(rest.len().checked_sub(TIME.len())?)?;
    (time.starts_with("-2") && time.ends_with('Z')).then_some(name)
}

const SERVER: &str = "everything";
/// How the suite ends the name of a folder.
const TIME: &str = "-2026-11-15T13-03-24-659Z";
/// How a line begins that tells which scenario is next.
const PROGRESS: &str = "=== Running scenario";
/// The longest run takes 15 s with a quick server.
const RUN_LIMIT: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_for_its_scenario_and_the_time() {
        let folder = format!("server-server-sse-polling{TIME}");
        assert_eq!(scenario_of(&folder), Some("server-sse-polling"));
        assert_eq!(scenario_of("server-ping"), None);
    }
}
