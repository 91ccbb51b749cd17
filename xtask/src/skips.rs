//! Tests that could not run, as they tell it themselves.
//!
//! The test harness has no word for "could not run", so such a test appends one line
//! `<cause>: <test>: <reason>` to the file named by `$SWITCHBOARD_SKIPS`, if it is set, and
//! returns. The check sets the variable and counts the lines.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::report::{Outcome, Skip};
use crate::workspace::Workspace;

/// The variable that names the file.
pub(crate) const VARIABLE: &str = "SWITCHBOARD_SKIPS";

/// An empty file for the tests of one step.
pub(crate) fn prepare(workspace: &Workspace) -> Result<PathBuf, String> {
    let path = workspace.target.join("skipped-tests.txt");
    fs::write(&path, "")
        .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
    Ok(path)
}

/// Moves the tests that told us they could not run from the passed to the skipped.
pub(crate) fn account(outcome: &mut Outcome, file: &Path, workspace: &Workspace) {
    let told = match fs::read_to_string(file) {
        Ok(told) => told,
        Err(error) => {
            let failure = format!("{} cannot be read: {error}", file.display());
            outcome.failures.push(failure);
            return;
        }
    };
    let skips = skips(&told, schemas_exist(workspace));
    outcome.passed = outcome.passed.saturating_sub(skips.len());
    outcome.skips.extend(skips);
}

fn skips(told: &str, schemas_exist: bool) -> Vec<Skip> {
    let lines = told.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| Skip {
            reason: line.to_owned(),
            // The official schemas are not ours to give away, so whoever has none may do without.
            permitted: !schemas_exist && line.starts_with(NO_SCHEMAS),
        })
        .collect()
}

/// Whether the official schemas are where the tests look for them.
fn schemas_exist(workspace: &Workspace) -> bool {
    let beside = workspace.root.join("../shared/spec/schema").is_dir();
    let named = env::var_os("SWITCHBOARD_SPEC").is_some_and(|path| Path::new(&path).is_dir());
    beside || named
}

/// The one cause that lets a run succeed, and only where there are no schemas.
const NO_SCHEMAS: &str = "no-official-schemas: ";

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, schemas_exist: bool, permitted: bool) {
        let skips = skips(line, schemas_exist);
        assert_eq!(skips.len(), 1);
        assert_eq!(skips[0].permitted, permitted);
    }

    #[test]
    fn missing_schemas_are_excused_only_where_they_are_missing() {
        const LINE: &str = "no-official-schemas: every_type_is_valid: neither folder exists\n";
        check(LINE, false, true);
        check(LINE, true, false);
    }

    #[test]
    fn any_other_cause_is_not_excused() {
        check("no-network: a_peer_answers: offline", false, false);
    }
}
