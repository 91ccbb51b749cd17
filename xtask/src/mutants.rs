//! `cargo xtask mutants`: every mutant of a package that `cargo mutants` knows, against its tests.
//!
//! How they are tried is in the package `switchboard-mutants`; here it gets a copy of the workspace and the list,
//! and what survives is held against what is [explained](EXPLAINED).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::copy::Copy;
use crate::process::{self, Show};
use crate::report::{self, Outcome};
use crate::workspace::Workspace;

/// Tries them all, or those with some text in their names.
pub(crate) fn run(workspace: &Workspace, words: &[&str]) -> Outcome {
    Options::read(words)
        .and_then(|options| options.run(workspace))
        .unwrap_or_else(Outcome::failed)
}

struct Options<'a> {
    package: &'a str,
    only: Option<&'a str>,
    /// What was tried before is tried again.
    is_new: bool,
    /// What cannot be switched is tried by `cargo mutants`, one build for each.
    with_rest: bool,
}

impl<'a> Options<'a> {
    fn read(words: &[&'a str]) -> Result<Self, String> {
        let [package, options @ ..] = words else {
            return Err("say which package: protocol, hub".to_owned());
        };
        let mut read = Self {
            package,
            only: None,
            is_new: true,
            with_rest: false,
        };
        let mut options = options.iter();
        while let Some(option) = options.next() {
            match *option {
                "--only" => read.only = Some(options.next().ok_or("--only what?")?),
                "--resume" => read.is_new = false,
                "--rest" => read.with_rest = true,
                other => {
                    return Err(format!(
                        "{other} is no option: --only TEXT, --resume, --rest"
                    ));
                }
            }
        }
        Ok(read)
    }

    fn run(&self, workspace: &Workspace) -> Result<Outcome, String> {
        let package = format!("switchboard-{}", self.package);
        if workspace.package(&package).is_none() {
            return Err(format!("no package is called {package}"));
        }
        let copy = Copy::make(workspace, "mutants")?;
        let place = workspace.target.join("mutants");
        let list = place.join(format!("{}.json", self.package));
        let listed = list_of(&copy, &package)?;
        fs::write(&list, &listed).map_err(|error| unusable(&list, &error))?;
        let results = place.join(format!("{}.results", self.package));
        if self.is_new && results.exists() {
            fs::remove_file(&results).map_err(|error| unusable(&results, &error))?;
        }
        let mut command = workspace.cargo();
        command.args([
            "run",
            "--release",
            "--quiet",
            "--manifest-path",
            MANIFEST,
            "--",
        ]);
        command.arg("--workspace").arg(copy.folder());
        command.arg("--target").arg(copy.target());
        command.args(["--package", &package, "--folder"]);
        command.arg(format!("crates/{}", self.package));
        command
            .arg("--list")
            .arg(&list)
            .arg("--results")
            .arg(&results);
        if let Some(only) = self.only {
            command.args(["--only", only]);
        }
        process::run(&mut command, Show::All)?.check("the trial of mutants")?;
        if self.with_rest {
            self.try_rest(workspace, &package, &results)?;
        }
        let tried = fs::read_to_string(&results).map_err(|error| unusable(&results, &error))?;
        let explained = workspace
            .root
            .join(EXPLAINED)
            .join(format!("{}.txt", self.package));
        let explained = fs::read_to_string(explained).unwrap_or_default();
        // What was tried of code that is another since says nothing of this one.
        let listed: Value = serde_json::from_str(&listed).unwrap_or_default();
        let names = listed.as_array().into_iter().flatten();
        let names: BTreeSet<&str> = names.filter_map(|mutant| mutant["name"].as_str()).collect();
        let tried = tried.lines().filter(|line| {
            let line: Value = serde_json::from_str(line).unwrap_or_default();
            line["name"]
                .as_str()
                .is_some_and(|name| names.contains(name))
        });
        let tried: Vec<&str> = tried.collect();
        Ok(judge(&tried.join("\n"), &explained, self.only.is_none()))
    }

    /// What cannot be switched, by `cargo mutants` itself.
    fn try_rest(&self, workspace: &Workspace, package: &str, results: &Path) -> Result<(), String> {
        let tried = fs::read_to_string(results).map_err(|error| unusable(results, &error))?;
        let left: Vec<String> = lines(&tried)
            .filter(|(_, outcome)| outcome == NOT_SWITCHED)
            .map(|(name, _)| name)
            .collect();
        let mut command = workspace.cargo();
        command.args([
            "mutants",
            "--package",
            package,
            "--all-features",
            "--no-shuffle",
        ]);
        let place = workspace.target.join("mutants").join("rest");
        command.arg("--output").arg(&place);
        for name in &left {
            command.arg("--re").arg(format!("^{}$", escaped(name)));
        }
        command.args(["--", "--lib", "--tests"]);
        // It ends badly if one survives, which is said below.
        process::run(&mut command, Show::All)?;
        let mut text = tried;
        for (file, outcome) in [
            ("caught", "noticed"),
            ("timeout", "hung"),
            ("missed", "survived"),
            ("unviable", "no code"),
        ] {
            let file = place.join("mutants.out").join(format!("{file}.txt"));
            for name in fs::read_to_string(file).unwrap_or_default().lines() {
                let line = serde_json::json!({"name": name, "outcome": outcome});
                text.push_str(&format!("{line}\n"));
            }
        }
        fs::write(results, text).map_err(|error| unusable(results, &error))
    }
}

/// What `cargo mutants` says that there is.
fn list_of(copy: &Copy, package: &str) -> Result<String, String> {
    let mut command = copy.cargo();
    command.args([
        "mutants",
        "--list",
        "--json",
        "--package",
        package,
        "--all-features",
    ]);
    let listed = process::run(&mut command, Show::Nothing)?;
    let hint = "cargo mutants (is it installed? `cargo install --locked cargo-mutants`)";
    listed.check(hint)?;
    Ok(listed.stdout.join("\n"))
}

/// Each mutant that was tried and what came of it; the last word counts.
fn lines(tried: &str) -> impl Iterator<Item = (String, String)> {
    let mut all = BTreeMap::new();
    for line in tried.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        if let (Some(name), Some(outcome)) = (line["name"].as_str(), line["outcome"].as_str()) {
            all.insert(name.to_owned(), outcome.to_owned());
        }
    }
    all.into_iter()
}

/// What survives must be explained, and what is explained must survive.
fn judge(tried: &str, explained: &str, is_all: bool) -> Outcome {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for line in explained.lines().filter(|line| !line.starts_with('#')) {
        if let Some((name, _)) = line.split_once('\t') {
            *left.entry(name).or_default() += 1;
        }
    }
    let mut outcome = Outcome::default();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (name, what) in lines(tried) {
        let place = without_place(&name);
        let what = match what.as_str() {
            "survived" | "unreached" => match left.get_mut(place.as_str()) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    "survives, explained".to_owned()
                }
                _ => {
                    outcome.failures.push(format!("{name}: {what}"));
                    what
                }
            },
            _ => what,
        };
        *counts.entry(what).or_default() += 1;
    }
    if is_all {
        let vain = left.into_iter().filter(|(_, count)| *count > 0);
        let vain = vain.map(|(name, _)| format!("{name}: explained, but it does not survive"));
        outcome.failures.extend(vain);
    }
    outcome.passed = ["noticed", "hung"]
        .iter()
        .filter_map(|what| counts.get(*what))
        .sum();
    for (what, count) in counts {
        report::line(&format!("{count:6} {what}"));
    }
    outcome
}

/// The name of a mutant without line and column, which change with everything above them.
fn without_place(name: &str) -> String {
    let mut parts = name.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(file), Some(_), Some(_), Some(what)) => format!("{file}:{what}"),
        _ => name.to_owned(),
    }
}

/// As a regular expression that means just this.
fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len() * 2);
    for letter in name.chars() {
        if !letter.is_alphanumeric() && letter != ' ' {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

fn unusable(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Why what survives does: a file for each package, a line for each mutant, its name and the reason with
/// a tab in between.
const EXPLAINED: &str = "mutants/explained";

/// Where the package is that tries them.
pub(crate) const MANIFEST: &str = "mutants/Cargo.toml";

const NOT_SWITCHED: &str = "not switched";

#[cfg(test)]
mod tests {
    use super::*;

    const TRIED: &str = r#"{"name": "a.rs:1:2: replace + with - in f", "outcome": "noticed"}
{"name": "a.rs:3:4: replace + with * in f", "outcome": "survived"}
{"name": "a.rs:5:6: replace + with * in f", "outcome": "unreached"}
{"name": "a.rs:7:8: replace f with ()", "outcome": "not switched"}
{"name": "a.rs:7:8: replace f with ()", "outcome": "hung"}"#;

    fn check(explained: &str, failures: &[&str]) {
        let outcome = judge(TRIED, explained, true);
        assert_eq!(
            (outcome.passed, outcome.failures.as_slice()),
            (2, &*owned(failures))
        );
    }

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn what_survives_is_explained_each_time_and_nothing_else_is() {
        let one = "a.rs: replace + with * in f\tit is one either way\n";
        check(&one.repeat(2), &[]);
        check(one, &["a.rs:5:6: replace + with * in f: unreached"]);
        let vain = "a.rs: replace + with * in f: explained, but it does not survive";
        check(&one.repeat(3), &[vain]);
    }

    #[test]
    fn a_name_is_meant_as_it_is() {
        assert_eq!(escaped("a.rs:1: f -> [u8]"), r"a\.rs\:1\: f \-\> \[u8\]");
    }
}
