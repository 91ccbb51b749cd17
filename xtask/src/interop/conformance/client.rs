//! The official conformance suite against our client, `conformance-client`.
//!
//! Each scenario is one run of the suite and one check, strictly: nothing failed, warned or was
//! skipped, the client ended well, and in time. Run all at once, the suite looks at less.

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
    outcome.failures.extend(runs.check_list().err());
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
        judge(scenario, &checks(&folder, scenario))?;
        finished
            .check("the suite")
            .map_err(|reason| format!("{reason}; see {}", folder.display()))
    }

    /// Every scenario that the suite has is played, in every revision it is for.
    fn check_list(&self) -> Result<(), String> {
        let [program, script] = &self.suite.words;
        let mut command = Command::new(program);
        command.arg(script).args(["list", "--client"]);
        let listed = process::run_bounded(&mut command, Show::Nothing, RUN_LIMIT)?;
        listed.check("the suite's list")?;
        let listed = read_list(&listed.stdout)?;
        let (unplayed, names) = (unplayed(&listed), listed.len());
        if names == 0 || !unplayed.is_empty() {
            return Err(format!(
                "conformance client: {unplayed:?} of {names} not played"
            ));
        }
        report::line(&format!("conformance client: all {names} scenarios played"));
        Ok(())
    }

    /// A scenario that the suite requires and that is not in our list has not passed.
    fn count(&self, revision: &str) -> Result<(), String> {
        let file = self.suite.requirements.join(format!("{revision}.yaml"));
        let text = fs::read_to_string(&file)
            .map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
        let required = requirements(&text, "client");
        let missing = missing(revision, &required);
        if required.is_empty() || !missing.is_empty() {
            return Err(format!(
                "conformance client {revision}: {missing:?} did not run"
            ));
        }
        let played = SCENARIOS.iter().filter(|(of, _)| *of == revision).count();
        report::line(&format!(
            "conformance client {revision}: {} required scenarios, {played} played",
            required.len(),
        ));
        Ok(())
    }
}

/// A scenario as the suite lists it, and the revisions that it is for.
#[derive(Debug, PartialEq, Eq)]
struct Listed<'a> {
    name: &'a str,
    /// Without any, it is for an extension.
    revisions: Vec<&'a str>,
}

/// Reads the suite's list: a heading, then `  - name [revision,revision]` for each scenario. A
/// line that is written otherwise is an error, so that no scenario is missed for its form.
fn read_list(lines: &[String]) -> Result<Vec<Listed<'_>>, String> {
    let mut listed = Vec::new();
    for line in lines {
        let is_heading = line.ends_with(':') && !line.trim_start().starts_with('-');
        if line.trim().is_empty() || is_heading {
            continue;
        }
        let scenario = Listed::read(line);
        listed.push(scenario.ok_or_else(|| format!("the suite lists {line:?}, which is no name"))?);
    }
    Ok(listed)
}

impl<'a> Listed<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (name, revisions) = line
            .trim()
            .strip_prefix("- ")?
            .strip_suffix(']')?
            .split_once(" [")?;
        let revisions = match revisions {
            "extension" => Vec::new(),
            revisions => revisions.split(',').map(str::trim).collect(),
        };
        let is_date = |text: &&str| {
            let digits = text.split('-').map(str::len);
            digits.eq([4, 2, 2]) && text.starts_with("20")
        };
        let is_named = !name.is_empty() && !name.contains(char::is_whitespace);
        (is_named && revisions.iter().all(is_date)).then_some(Self { name, revisions })
    }
}

/// What the suite lists and we do not play, as `revision name`; an extension is to be played in
/// any revision.
fn unplayed(listed: &[Listed<'_>]) -> Vec<String> {
    let mut unplayed = Vec::new();
    for Listed { name, revisions } in listed {
        for revision in revisions {
            if !SCENARIOS.contains(&(revision, name)) {
                unplayed.push(format!("{revision} {name}"));
            }
        }
        if revisions.is_empty() && !SCENARIOS.iter().any(|(_, own)| own == name) {
            unplayed.push(format!("extension {name}"));
        }
    }
    unplayed
}

fn missing<'a>(revision: &str, wanted: &[&'a str]) -> Vec<&'a str> {
    let runs = |name: &&&str| SCENARIOS.contains(&(revision, name));
    wanted.iter().filter(|name| !runs(name)).copied().collect()
}

/// The checks of the one scenario in a folder of results. A slash in its name is a folder.
fn checks(folder: &Path, scenario: &str) -> Vec<Check> {
    let group = scenario.rsplit_once('/').map_or("", |(group, _)| group);
    let entries = fs::read_dir(folder.join(group))
        .into_iter()
        .flatten()
        .flatten();
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
    ("2025-03-26", "auth/2025-03-26-oauth-metadata-backcompat"),
    ("2025-03-26", "auth/2025-03-26-oauth-endpoint-fallback"),
    ("2025-06-18", "initialize"),
    ("2025-06-18", "tools_call"),
    ("2025-06-18", "auth/token-endpoint-auth-basic"),
    ("2025-06-18", "auth/token-endpoint-auth-post"),
    ("2025-06-18", "auth/token-endpoint-auth-none"),
    ("2025-11-25", "initialize"),
    ("2025-11-25", "tools_call"),
    ("2025-11-25", "elicitation-sep1034-client-defaults"),
    ("2025-11-25", "sse-retry"),
    ("2025-11-25", "json-schema-2020-12-preservation"),
    ("2025-11-25", "sep-2640-client-no-prefetch"),
    ("2025-11-25", "sep-2640-client-verify-digest"),
    ("2025-11-25", "sep-2640-client-verify-size"),
    ("2025-11-25", "sep-2640-client-verify-frontmatter"),
    ("2025-11-25", "auth/metadata-default"),
    ("2025-11-25", "auth/metadata-var1"),
    ("2025-11-25", "auth/metadata-var2"),
    ("2025-11-25", "auth/metadata-var3"),
    ("2025-11-25", "auth/basic-cimd"),
    ("2025-11-25", "auth/scope-from-www-authenticate"),
    ("2025-11-25", "auth/scope-from-scopes-supported"),
    ("2025-11-25", "auth/scope-omitted-when-undefined"),
    ("2025-11-25", "auth/scope-step-up"),
    ("2025-11-25", "auth/scope-retry-limit"),
    ("2025-11-25", "auth/token-endpoint-auth-basic"),
    ("2025-11-25", "auth/token-endpoint-auth-post"),
    ("2025-11-25", "auth/token-endpoint-auth-none"),
    ("2025-11-25", "auth/pre-registration"),
    ("2025-11-25", "auth/client-credentials-jwt"),
    ("2025-11-25", "auth/client-credentials-basic"),
    ("2025-11-25", "auth/enterprise-managed-authorization"),
    ("2025-11-25", "auth/dpop"),
    ("2025-11-25", "auth/dpop-nonce"),
    ("2025-11-25", "auth/wif-jwt-bearer"),
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
    ("2026-07-28", "auth/metadata-default"),
    ("2026-07-28", "auth/metadata-var1"),
    ("2026-07-28", "auth/metadata-var2"),
    ("2026-07-28", "auth/metadata-var3"),
    ("2026-07-28", "auth/basic-cimd"),
    ("2026-07-28", "auth/scope-from-www-authenticate"),
    ("2026-07-28", "auth/scope-from-scopes-supported"),
    ("2026-07-28", "auth/scope-omitted-when-undefined"),
    ("2026-07-28", "auth/scope-step-up"),
    ("2026-07-28", "auth/scope-retry-limit"),
    ("2026-07-28", "auth/token-endpoint-auth-basic"),
    ("2026-07-28", "auth/token-endpoint-auth-post"),
    ("2026-07-28", "auth/token-endpoint-auth-none"),
    ("2026-07-28", "auth/pre-registration"),
    ("2026-07-28", "auth/resource-mismatch"),
    ("2026-07-28", "auth/offline-access-scope"),
    ("2026-07-28", "auth/offline-access-not-supported"),
    ("2026-07-28", "auth/authorization-server-migration"),
    ("2026-07-28", "auth/iss-supported"),
    ("2026-07-28", "auth/iss-not-advertised"),
    ("2026-07-28", "auth/iss-supported-missing"),
    ("2026-07-28", "auth/iss-wrong-issuer"),
    ("2026-07-28", "auth/iss-unexpected"),
    ("2026-07-28", "auth/iss-normalized"),
    ("2026-07-28", "auth/metadata-issuer-mismatch"),
    ("2026-07-28", "auth/client-credentials-jwt"),
    ("2026-07-28", "auth/client-credentials-basic"),
    ("2026-07-28", "auth/enterprise-managed-authorization"),
    ("2026-07-28", "auth/dpop"),
    ("2026-07-28", "auth/dpop-nonce"),
    ("2026-07-28", "auth/wif-jwt-bearer"),
];

/// The client gives up after 20 s by itself; the suite cannot make it.
const RUN_LIMIT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_scenario_that_is_not_played_is_told() {
        let lines = [
            "Client scenarios (test against a client):",
            "  - initialize [2025-06-18,2025-11-25]",
            "  - auth/dpop [extension]",
            "",
            "  - tools_call [2024-11-05,2026-07-28]",
            "  - new [extension]",
        ];
        let lines = lines.map(str::to_owned);
        let listed = read_list(&lines).unwrap();
        assert_eq!(listed.len(), 4);
        assert_eq!(
            unplayed(&listed),
            ["2024-11-05 tools_call", "extension new"]
        );
    }

    #[test]
    fn a_line_of_another_form_is_no_list() {
        for line in [
            "  - new",
            "  - new:",
            "  - new []",
            "  - new [draft]",
            "  - new [2025-06-18",
            "  * new [2025-06-18]",
            "  -  [2025-06-18]",
            "  new [2025-06-18]",
            "  - new [2025-06-18] (slow)",
        ] {
            let lines = ["Scenarios:".to_owned(), line.to_owned()];
            let error = read_list(&lines).unwrap_err();
            assert!(error.contains("new") || error.contains("[2025"), "{error}");
        }
    }

    #[test]
    fn a_required_scenario_that_is_not_played_is_missing() {
        assert_eq!(missing("2025-11-25", &["initialize", "new"]), ["new"]);
        // Another revision does not stand for this one.
        assert_eq!(missing("2026-07-28", &["initialize"]), ["initialize"]);
    }
}
