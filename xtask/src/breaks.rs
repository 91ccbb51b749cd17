//! `cargo xtask breaks`: does a test notice when the code is broken?
//!
//! Each break is a place and what stands there instead. It is made in a copy of the workspace, one
//! at a time, and the tests of its package run: at least one has to fail. What a break is worth is
//! shown by the same tests without it, which run first and must pass.

mod list;

use std::time::Duration;

use self::list::{BREAKS, Break};
use crate::copy::Copy;
use crate::libtest;
use crate::process::{self, Finished, Show};
use crate::report::{self, Outcome};
use crate::workspace::Workspace;

/// Makes these breaks, or all of them.
pub(crate) fn run(workspace: &Workspace, names: &[&str]) -> Outcome {
    match chosen(names).and_then(|chosen| try_all(workspace, &chosen)) {
        Ok(outcome) => outcome,
        Err(reason) => Outcome::failed(reason),
    }
}

fn chosen(names: &[&str]) -> Result<Vec<&'static Break>, String> {
    if names.is_empty() {
        return Ok(BREAKS.iter().collect());
    }
    let find = |name: &&str| {
        let found = BREAKS.iter().find(|known| known.name == *name);
        found.ok_or_else(|| {
            let all: Vec<&str> = BREAKS.iter().map(|known| known.name).collect();
            format!("no break is called {name}; there are: {}", all.join(", "))
        })
    };
    names.iter().map(find).collect()
}

fn try_all(workspace: &Workspace, chosen: &[&Break]) -> Result<Outcome, String> {
    let copy = Copy::make(workspace, "breaks")?;
    // All of them, before hours are spent on some.
    for broken in chosen {
        broken.apply(&copy.read(broken.file)?)?;
    }
    let mut outcome = Outcome::default();
    let mut whole: Vec<Suite> = chosen.iter().map(|broken| broken.suite).collect();
    whole.sort_unstable();
    whole.dedup();
    for suite in whole {
        report::progress(&format!("without a break: {}", suite.words().join(" ")));
        let counted = libtest::count(&test(&copy, suite)?.stdout);
        if counted.passed == 0 || !counted.failures.is_empty() {
            let suite = suite.words().join(" ");
            let failures = counted.failures.join(", ");
            return Err(format!(
                "cargo test {suite} fails without a break: {failures}"
            ));
        }
    }
    let mut rows = vec![
        "| break | what is done | what notices |".to_owned(),
        "|---|---|---|".to_owned(),
    ];
    for broken in chosen {
        report::progress(&format!("{}: {}", broken.name, broken.what));
        let noticed = notice(&copy, broken)?;
        let who = noticed.as_deref().unwrap_or("**nothing**");
        rows.push(format!("| `{}` | {} | {who} |", broken.name, broken.what));
        match noticed {
            Some(_) => outcome.passed += 1,
            None => {
                let name = broken.name;
                outcome.failures.push(format!("{name}: no test notices it"));
            }
        }
    }
    report::line(&rows.join("\n"));
    Ok(outcome)
}

/// Which test fails with this break, if one does.
fn notice(copy: &Copy, broken: &Break) -> Result<Option<String>, String> {
    let text = copy.read(broken.file)?;
    copy.write(broken.file, &broken.apply(&text)?)?;
    let finished = test(copy, broken.suite);
    copy.write(broken.file, &text)?;
    let finished = finished?;
    if finished.succeeded {
        return Ok(None);
    }
    let counted = libtest::count(&finished.stdout);
    let failed: Vec<&str> = counted
        .failures
        .iter()
        .filter_map(|line| line.strip_prefix("test "))
        .collect();
    match failed.as_slice() {
        [] if finished
            .stdout
            .iter()
            .any(|line| line.starts_with("running ")) =>
        {
            // Whatever hangs has not passed.
            Ok(Some(format!("the tests: they {}", finished.ending)))
        }
        [] => Err(format!(
            "{}: it does not compile with this break",
            broken.name
        )),
        [first] => Ok(Some(format!("`{first}`"))),
        [first, others @ ..] => Ok(Some(format!("`{first}` and {} more", others.len()))),
    }
}

fn test(copy: &Copy, suite: Suite) -> Result<Finished, String> {
    // Built first, which may take its time.
    let mut command = copy.cargo();
    command.arg("test").args(suite.words()).arg("--no-run");
    process::run(&mut command, Show::Nothing)?;
    let mut command = copy.cargo();
    command.arg("test").args(suite.words());
    process::run_bounded(&mut command, Show::Nothing, LONGEST)
}

/// Which tests are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Suite {
    package: &'static str,
    /// What their names have in common.
    filter: &'static str,
}

impl Suite {
    fn words(self) -> Vec<&'static str> {
        let mut words = vec![
            "--package",
            self.package,
            "--all-features",
            "--lib",
            "--tests",
        ];
        if !self.filter.is_empty() {
            words.extend(["--", self.filter]);
        }
        words
    }
}

// The tests of a package take seconds.
const LONGEST: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_break_fits_the_code() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for broken in BREAKS {
            let text = fs::read_to_string(root.join(broken.file)).unwrap();
            let changed = broken.apply(&text).unwrap();
            assert_ne!(changed, text, "{}", broken.name);
        }
    }

    #[test]
    fn every_break_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = BREAKS.iter().map(|broken| broken.name).collect();
        assert_eq!(names.len(), BREAKS.len());
        assert!(chosen(&["no-such-break"]).unwrap_err().contains("no break"));
    }
}
