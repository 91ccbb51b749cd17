//! No crate in two versions, outside of tests.
//!
//! The exceptions are those of `deny.toml`, with their reasons, so that they are listed once.
//! cargo-deny looks at them too, in the step `deny`; this step shows who stands on what, and
//! notices an exception that is not needed any more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::process::{self, Show};
use crate::report::{self, Outcome};
use crate::workspace::Workspace;

/// Every crate of the tree in one version, but for the exceptions; and these needed.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    match find_faults(workspace) {
        Ok(faults) => Outcome {
            failures: faults,
            ..Outcome::default()
        },
        Err(reason) => Outcome::failed(reason),
    }
}

fn find_faults(workspace: &Workspace) -> Result<Vec<String>, String> {
    let path = workspace.root.join(EXCEPTIONS);
    let text = fs::read_to_string(path).map_err(|error| format!("{EXCEPTIONS}: {error}"))?;
    let exceptions: Vec<Exception<'_>> = text.lines().filter_map(Exception::read).collect();
    let mut command = workspace.cargo();
    command.args(["tree", "--workspace", "--duplicates", "-e", "no-dev"]);
    // What another platform or a feature brings counts as well, as it does for cargo-deny.
    command.args(["--all-features", "--target", "all", "--depth", "1"]);
    let tree = process::run(&mut command, Show::OnlyErrors)?;
    tree.check("cargo tree")?;
    let faults = faults(&tree.stdout, &exceptions);
    if !faults.is_empty() {
        tree.stdout.iter().for_each(|line| report::line(line));
    }
    Ok(faults)
}

/// A version that may be there beside another: `{ crate = "syn@2", reason = "…" }`.
#[derive(Debug, PartialEq, Eq)]
struct Exception<'a> {
    name: &'a str,
    version: &'a str,
}

impl<'a> Exception<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (_, rest) = line.trim().strip_prefix('{')?.split_once("crate = \"")?;
        let (named, _) = rest.split_once('"')?;
        let (name, version) = named.split_once('@')?;
        Some(Self { name, version })
    }

    /// `2` and `2.0` are any `2.0.x`.
    fn covers(&self, name: &str, version: &str) -> bool {
        let rest = version.strip_prefix(self.version);
        name == self.name && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

fn faults(tree: &[String], exceptions: &[Exception<'_>]) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    // Those in two versions begin a line; those who stand on them are drawn below.
    for line in tree {
        let mut words = line.split(' ');
        if let (Some(name), Some(version)) = (words.next(), words.next())
            && let Some(version) = version.strip_prefix('v')
        {
            versions.entry(name).or_default().insert(version);
        }
    }
    let mut faults = Vec::new();
    for exception in exceptions {
        let found = versions.get(exception.name);
        let mut found = found.into_iter().flatten();
        if !found.any(|version| exception.covers(exception.name, version)) {
            let Exception { name, version } = exception;
            faults.push(format!(
                "{name}@{version} is no duplicate, see {EXCEPTIONS}"
            ));
        }
    }
    for (name, versions) in &versions {
        let is_excepted = |version: &str| exceptions.iter().any(|e| e.covers(name, version));
        let rest: Vec<&str> = versions
            .iter()
            .copied()
            .filter(|v| !is_excepted(v))
            .collect();
        if rest.len() > 1 {
            faults.push(format!("{name} is there as {}", rest.join(" and ")));
        }
    }
    faults
}

const EXCEPTIONS: &str = "deny.toml";

#[cfg(test)]
mod tests {
    use super::*;

    fn check(exceptions: &[&str], wanted: &[&str]) {
        let tree = ["syn v2.0.119", "└── strum_macros v0.28.0", "", "syn v3.0.9"];
        let tree: Vec<String> = tree.into_iter().map(str::to_owned).collect();
        let exceptions: Vec<_> = exceptions
            .iter()
            .filter_map(|e| Exception::read(e))
            .collect();
        let faults = faults(&tree, &exceptions);
        assert_eq!(faults.len(), wanted.len(), "{faults:?}");
        for (fault, wanted) in faults.iter().zip(wanted) {
            assert!(fault.contains(wanted), "{fault}");
        }
    }

    #[test]
    fn two_versions_are_a_fault() {
        check(&[], &["syn is there as 2.0.119 and 3.0.9"]);
    }

    #[test]
    fn an_exception_excuses_its_version() {
        check(&[r#"    { crate = "syn@2", reason = "why" },"#], &[]);
        check(
            &[r#"{ crate = "syn@2.0.1", reason = "why" },"#],
            &["is no dup", "syn is"],
        );
    }

    #[test]
    fn an_exception_that_is_not_needed_is_a_fault() {
        let lines = [r#"{ crate = "syn@2" },"#, r#"{ crate = "rand@0.8" },"#];
        check(&lines, &["rand@0.8 is no duplicate"]);
    }
}
