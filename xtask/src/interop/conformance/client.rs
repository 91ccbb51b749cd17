//! The official conformance suite against our client, `conformance-client`.
//!
//! Each scenario is one run of the suite and one check, strictly: nothing failed, warned or was
//! skipped, the client ended well, and in time. Run all at once, the suite looks at less.
//!
//! Scenarios of authorization are left out as long as the client has no login: see [`LEFT_OUT`].

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::interop::conformance::verdict::{Check, judge, read_checks, requirements};
use crate::interop::script::{record, two_at_once};
use crate::process::{self, Show};
use crate::report::{self, Outcome};
use crate::tools::{self, Suite};
use crate::workspace::Workspace;

pub(in crate::interop) fn run(workspace: &Workspace) -> Outcome {
    let runs = match Runs::prepare(workspace) {
        Ok(runs) => runs,
        Err(reason) => return Outcome::failed(reason),
    };
    let (some, others) = SCENARIOS.split_at(SCENARIOS.len() / 2);
    let mut outcome = two_at_once(|| runs.run(some), || runs.run(others));
    for revision in ["2025-11-25", "2026-07-28"] {
        outcome.failures.extend(runs.count(revision).err());
    }
    outcome
}

/// What all runs need.
struct Runs {
    suite: Suite,
    client: String,
    folder: PathBuf,
}

impl Runs {
    fn prepare(workspace: &Workspace) -> Result<Self, String> {
        workspace.build_interop()?;
        let client = workspace.binary("conformance-client").display().to_string();
        if client.contains(' ') {
            return Err(format!(
                "the suite cannot run {client}: it has a space in it"
            ));
        }
        Ok(Self {
            suite: tools::conformance(workspace)?,
            client,
            folder: workspace.target.join("conformance").join("client"),
        })
    }

    fn run(&self, scenarios: &[(&str, &str)]) -> Outcome {
        let mut outcome = Outcome::default();
        for (revision, scenario) in scenarios {
            let name = format!("conformance client {revision}: {scenario}");
            record(&mut outcome, &name, self.play(revision, scenario));
        }
        outcome
    }

    /// One run of the suite.
    fn play(&self, revision: &str, scenario: &str) -> Result<(), String> {
        let folder = self.folder.join(revision).join(scenario);
        // It is not there the first time.
        let _ = fs::remove_dir_all(&folder);
        let [program, script] = &self.suite.words;
        let mut command = Command::new(program);
        command
            .arg(script)
            .args(["client", "--command", &self.client]);
        command.args(["--scenario", scenario, "--spec-version", revision]);
        command.args(["--force", "-o"]).arg(&folder);
        let finished = process::run_bounded(&mut command, Show::Nothing, RUN_LIMIT)?;
        judge(scenario, &checks(&folder))?;
        finished
            .check("the suite")
            .map_err(|reason| format!("{reason}; see {}", folder.display()))
    }

    /// A scenario that the suite requires and that is not in our list has not passed.
    fn count(&self, revision: &str) -> Result<(), String> {
        let file = self.suite.requirements.join(format!("{revision}.yaml"));
        let text = fs::read_to_string(&file)
            .map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
        let required = requirements(&text, "client");
        let (left_out, wanted): (Vec<&str>, Vec<&str>) = required
            .into_iter()
            .partition(|name| name.starts_with(LEFT_OUT));
        let missing = missing(revision, &wanted);
        if wanted.is_empty() || !missing.is_empty() {
            return Err(format!(
                "conformance client {revision}: {missing:?} did not run"
            ));
        }
        report::line(&format!(
            "conformance client {revision}: {} of {} required scenarios; {} begin with {LEFT_OUT} and are left out",
            wanted.len(),
            wanted.len() + left_out.len(),
            left_out.len()
        ));
        Ok(())
    }
}

fn missing<'a>(revision: &str, wanted: &[&'a str]) -> Vec<&'a str> {
    let runs = |name: &&&str| SCENARIOS.contains(&(revision, name));
    wanted.iter().filter(|name| !runs(name)).copied().collect()
}

/// The checks of the one scenario in a folder of results.
fn checks(folder: &Path) -> Vec<Check> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let texts =
        entries.filter_map(|entry| fs::read_to_string(entry.path().join("checks.json")).ok());
    let read: Vec<Vec<Check>> = texts.filter_map(|text| read_checks(&text)).collect();
    match read.into_iter().next() {
        Some(checks) => checks,
        None => vec![Check::unreadable()],
    }
}

/// Every scenario that is played, in which revision.
const SCENARIOS: &[(&str, &str)] = &[
    ("2025-06-18", "initialize"),
    ("2025-06-18", "tools_call"),
    ("2025-11-25", "initialize"),
    ("2025-11-25", "tools_call"),
    ("2025-11-25", "elicitation-sep1034-client-defaults"),
    ("2025-11-25", "sse-retry"),
    ("2025-11-25", "json-schema-2020-12-preservation"),
    ("2025-11-25", "sep-2640-client-no-prefetch"),
    ("2025-11-25", "sep-2640-client-verify-digest"),
    ("2025-11-25", "sep-2640-client-verify-size"),
    ("2025-11-25", "sep-2640-client-verify-frontmatter"),
    ("2026-07-28", "tools_call"),
    ("2026-07-28", "request-metadata"),
    ("2026-07-28", "sep-2322-client-request-state"),
    ("2026-07-28", "http-standard-headers"),
    ("2026-07-28", "http-custom-headers"),
    ("2026-07-28", "http-invalid-tool-headers"),
    ("2026-07-28", "json-schema-ref-no-deref"),
    ("2026-07-28", "json-schema-2020-12-preservation"),
    ("2026-07-28", "sep-2640-client-no-prefetch"),
    ("2026-07-28", "sep-2640-client-verify-digest"),
    ("2026-07-28", "sep-2640-client-verify-size"),
    ("2026-07-28", "sep-2640-client-verify-frontmatter"),
];

/// How the names begin of scenarios that want a login: the client has credentials to hand over,
/// but nobody who gets them yet.
const LEFT_OUT: &str = "auth/";
/// The client gives up after 20 s by itself; the suite cannot make it.
const RUN_LIMIT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_required_scenario_that_is_not_played_is_missing() {
        assert_eq!(missing("2025-11-25", &["initialize", "new"]), ["new"]);
        // Another revision does not stand for this one.
        assert_eq!(missing("2026-07-28", &["initialize"]), ["initialize"]);
    }
}
