//! Tries every mutant of a package: `cargo xtask mutants` says which, this program says what came of each.
//!
//! `cargo mutants` builds the tests anew for each of its mutants and runs them all, which takes a day for the
//! packages that matter. Here all of them are built once ([`build`]), each behind a switch
//! ([`switch`]), and each meets only those tests that come to it ([`suite`]). The mutants
//! are those of `cargo mutants`, and what is said of one is the same; what cannot be
//! switched is named, so that `cargo mutants` itself can try it.

mod build;
mod mutant;
mod suite;
mod switch;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

use serde_json::{Value, json};

use build::Build;
use mutant::Mutant;
use suite::Outcome;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match Options::read(&words).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::from(2)
        }
    }
}

/// What is tried. All of it comes from `cargo xtask mutants`.
struct Options {
    /// A copy that may be changed.
    workspace: PathBuf,
    target: PathBuf,
    package: String,
    folder: String,
    /// What `cargo mutants --list --json` said.
    list: PathBuf,
    /// A line of JSON for each that was tried. What is in it already is not tried again.
    results: PathBuf,
    /// Only those with this in their names.
    only: Option<String>,
}

impl Options {
    fn read(words: &[String]) -> Result<Self, String> {
        let mut given = BTreeMap::new();
        for pair in words.chunks(2) {
            if let [name, value] = pair {
                given.insert(name.trim_start_matches('-').to_owned(), value.clone());
            }
        }
        let mut word = |name: &str| {
            given
                .remove(name)
                .ok_or_else(|| format!("--{name} is missing"))
        };
        Ok(Self {
            workspace: word("workspace")?.into(),
            target: word("target")?.into(),
            package: word("package")?,
            folder: word("folder")?,
            list: word("list")?.into(),
            results: word("results")?.into(),
            only: word("only").ok(),
        })
    }
}

fn run(options: &Options) -> Result<(), String> {
    let unreadable = |error: std::io::Error| format!("{}: {error}", options.list.display());
    let mutants = mutant::read(&fs::read_to_string(&options.list).map_err(unreadable)?)?;
    let build = Build {
        workspace: &options.workspace,
        target: &options.target,
        package: &options.package,
        folder: &options.folder,
    };
    let built = build.run(&mutants)?;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let folder = options.workspace.join(&options.folder);
    let tests = suite::learn(&built.programs, &folder, threads)?;
    eprintln!(
        "{} mutants, {} of them switched, {} tests",
        mutants.len(),
        built.switched.len(),
        tests.len()
    );
    let known = fs::read_to_string(&options.results).unwrap_or_default();
    let known: BTreeSet<String> = known
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|line| Some(line["name"].as_str()?.to_owned()))
        .collect();
    let results = File::options()
        .create(true)
        .append(true)
        .open(&options.results);
    let results = results.map_err(|error| format!("{}: {error}", options.results.display()))?;
    let results = Mutex::new(results);
    let wanted = |mutant: &Mutant| {
        let is_meant = |only: &String| mutant.name.contains(only.as_str());
        options.only.as_ref().is_none_or(is_meant) && !known.contains(&mutant.name)
    };
    let chosen: Vec<(usize, &Mutant)> = mutants
        .iter()
        .enumerate()
        .filter(|(_, mutant)| wanted(mutant))
        .collect();
    let failures = suite::each(&chosen, threads, |place, &(number, mutant)| {
        let (what, by) = if built.switched.contains(&number) {
            match suite::try_one(&tests, number, &folder)? {
                Outcome::Noticed(by) => ("noticed", json!(by)),
                Outcome::Hung(by) => ("hung", json!(by)),
                Outcome::Survived(0) => ("unreached", Value::Null),
                Outcome::Survived(tests) => ("survived", json!(tests)),
            }
        } else if built.refused.contains(&number) {
            ("no code", Value::Null)
        } else {
            ("not switched", Value::Null)
        };
        let line = json!({"name": mutant.name, "outcome": what, "by": by});
        let mut results = results.lock().map_err(|error| error.to_string())?;
        writeln!(results, "{line}").map_err(|error| error.to_string())?;
        if place % 100 == 99 {
            eprintln!("{} of {}", place + 1, chosen.len());
        }
        Ok::<(), String>(())
    });
    failures.into_iter().collect()
}
