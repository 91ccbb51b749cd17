//! `cargo xtask check`: the steps, in the order in which they are most useful to whoever waits.
//!
//! Each step is a function from the workspace to what it found. Counting and printing are
//! `report.rs`.

use std::process::Command;

use crate::fuzz::MANIFEST as FUZZ_MANIFEST;
use crate::mutants::MANIFEST as MUTANTS_MANIFEST;
use crate::process::{self, Show};
use crate::report::{self, Outcome, Report};
use crate::workspace::{Package, Workspace};
use crate::{
    budget, deny, duplicates, fault_matrix, interop, libtest, simulate, skips, soak, tools,
};

/// One thing the check looks at.
pub(crate) struct Step {
    name: &'static str,
    run: fn(&Workspace) -> Outcome,
}

const STEPS: &[Step] = &[
    step("format", format),
    step("clippy", clippy),
    step("tests", tests),
    step("doc-tests", doc_tests),
    step("docs", docs),
    step("examples", examples),
    step("deny", deny::run),
    step("budgets", budget::run),
    step("duplicates", duplicates::run),
    step("fault-matrix", fault_matrix::run),
    step("msrv", oldest_rust),
    step("fuzz", fuzz),
    step("fuzz-nightly", fuzz_nightly),
    step("mutants", mutants),
    step("simulate", simulate::check),
    step("soak", soak::check),
    step("interop", interop::run),
];

const fn step(name: &'static str, run: fn(&Workspace) -> Outcome) -> Step {
    Step { name, run }
}

/// The steps of these names, or all of them for no name.
pub(crate) fn select(names: &[&str]) -> Result<Vec<&'static Step>, String> {
    if names.is_empty() {
        return Ok(STEPS.iter().collect());
    }
    let known = |name: &&str| STEPS.iter().find(|step| step.name == *name);
    let unknown = |name: &&str| {
        let steps: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        format!("no step named {name}; there are {}", steps.join(", "))
    };
    names
        .iter()
        .map(|name| known(name).ok_or_else(|| unknown(name)))
        .collect()
}

/// Runs the steps one after the other; a failure does not stop the next one.
pub(crate) fn run(workspace: &Workspace, steps: &[&Step]) -> Report {
    let mut report = Report::default();
    for step in steps {
        report.step(step.name, || (step.run)(workspace));
    }
    report
}

fn format(workspace: &Workspace) -> Outcome {
    for_each_manifest(workspace, |manifest| {
        let mut command = workspace.cargo();
        command.args(["fmt", "--all", "--check", "--manifest-path", manifest]);
        succeeds(&mut command, "cargo fmt")
    })
}

fn clippy(workspace: &Workspace) -> Outcome {
    let mut outcome = for_each_manifest(workspace, |manifest| {
        let mut command = workspace.cargo();
        command.args(["clippy", "--workspace", "--all-targets", "--all-features"]);
        command.args(["--manifest-path", manifest]);
        match manifest {
            tools::RMCP_MANIFEST => {
                command.arg("--target-dir").arg(tools::rmcp_target()?);
            }
            tools::SERVERS_MANIFEST => {
                report::line(&format!(
                    "{manifest} is left out: hundreds of crates of others would be checked for a \
                     few lines that use them; that these compile is seen by `interop servers`"
                ));
                return Ok(());
            }
            _ => {}
        }
        command.args(["--", "-D", "warnings"]);
        succeeds(&mut command, "cargo clippy")
    });
    for package in with_features(workspace) {
        // Without any, then each alone: all of them at once were seen above.
        let single = package.features.iter().map(String::as_str);
        for features in std::iter::once("").chain(single) {
            let mut command = workspace.cargo();
            command.args(["clippy", "--package", &package.name, "--all-targets"]);
            command.args(["--no-default-features", "--features", features]);
            command.args(["--", "-D", "warnings"]);
            let name = format!("cargo clippy of {} with [{features}]", package.name);
            outcome.failures.extend(succeeds(&mut command, &name).err());
        }
    }
    outcome
}

fn tests(workspace: &Workspace) -> Outcome {
    tests_of(workspace, "--all-targets")
}

// `--all-targets` leaves them out.
fn doc_tests(workspace: &Workspace) -> Outcome {
    tests_of(workspace, "--doc")
}

/// The tests of these targets: of everything with every feature, and of each package that has
/// features without them, because that is how most who use it build it.
fn tests_of(workspace: &Workspace, targets: &str) -> Outcome {
    let mut command = workspace.cargo();
    command.args(["test", "--workspace", "--all-features", targets]);
    command.arg("--no-fail-fast");
    let mut outcome = counted_tests(workspace, &mut command);
    for package in with_features(workspace) {
        let mut command = workspace.cargo();
        command.args(["test", "--package", &package.name, "--no-default-features"]);
        command.args([targets, "--no-fail-fast"]);
        outcome.add(counted_tests(workspace, &mut command));
    }
    outcome
}

fn with_features(workspace: &Workspace) -> impl Iterator<Item = &Package> {
    let packages = workspace.packages.iter();
    packages.filter(|package| !package.features.is_empty())
}

fn docs(workspace: &Workspace) -> Outcome {
    let mut command = workspace.cargo();
    command.args(["doc", "--workspace", "--no-deps", "--all-features"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    succeeds(&mut command, "cargo doc").into()
}

fn examples(workspace: &Workspace) -> Outcome {
    let mut command = workspace.cargo();
    command.args([
        "build",
        "--workspace",
        "--all-features",
        "--examples",
        "--bins",
    ]);
    succeeds(&mut command, "cargo build --examples --bins").into()
}

/// Every package declares the oldest Rust it wants, and builds with it where it is installed.
fn oldest_rust(workspace: &Workspace) -> Outcome {
    let mut oldest = None;
    for package in &workspace.packages {
        match (&package.rust_version, oldest) {
            (None, _) => return Outcome::failed(format!("{}: no rust-version", package.name)),
            (Some(version), Some(other)) if version != other => {
                return Outcome::failed(format!(
                    "{}: rust-version {version}, not {other}",
                    package.name
                ));
            }
            (Some(version), _) => oldest = Some(version),
        }
    }
    let Some(version) = oldest else {
        return Outcome::failed("the workspace has no packages");
    };
    let Some(toolchain) = tools::toolchain(version) else {
        return Outcome::not_applicable(format!("rustup has no toolchain {version}"));
    };
    let mut command = workspace.cargo_of(&toolchain);
    command.args(["check", "--workspace", "--all-targets", "--all-features"]);
    // Two compilers in one folder would rebuild everything each time.
    command.env("CARGO_TARGET_DIR", workspace.target.join("oldest-rust"));
    succeeds(&mut command, "cargo check with the oldest Rust").into()
}

/// The fuzz targets as ordinary tests: the stored corpus, and random changes to it.
fn fuzz(workspace: &Workspace) -> Outcome {
    if !workspace.root.join(FUZZ_MANIFEST).is_file() {
        return Outcome::not_applicable(format!("there is no {FUZZ_MANIFEST}"));
    }
    let mut command = workspace.cargo();
    command.args(["test", "--manifest-path", FUZZ_MANIFEST, "--no-fail-fast"]);
    counted_tests(workspace, &mut command)
}

/// What tries mutants; to try them takes hours.
fn mutants(workspace: &Workspace) -> Outcome {
    let mut command = workspace.cargo();
    command.args(["test", "--manifest-path", MUTANTS_MANIFEST]);
    counted_tests(workspace, &mut command)
}

/// The fuzz targets with libFuzzer, where the compiler and the C++ it needs are there.
fn fuzz_nightly(workspace: &Workspace) -> Outcome {
    let Ok(manifest) = std::fs::read_to_string(workspace.root.join(FUZZ_MANIFEST)) else {
        return Outcome::not_applicable(format!("there is no {FUZZ_MANIFEST}"));
    };
    if !manifest.contains("libfuzzer-sys") {
        return Outcome::not_applicable(format!("{FUZZ_MANIFEST} does not use libFuzzer"));
    }
    let Some(toolchain) = tools::toolchain("nightly") else {
        return Outcome::not_applicable("rustup has no nightly toolchain");
    };
    if tools::on_path("c++").is_none() {
        return Outcome::not_applicable("there is no C++ compiler");
    }
    let mut command = workspace.cargo_of(&toolchain);
    command.args([
        "build",
        "--manifest-path",
        FUZZ_MANIFEST,
        "--bins",
        "--all-features",
    ]);
    command.env("CARGO_TARGET_DIR", workspace.target.join("fuzz-nightly"));
    succeeds(&mut command, "cargo build of the fuzz targets").into()
}

/// The fuzz targets, rmcp's client and the servers of others are workspaces of their own, so that
/// nobody else pays for what they need.
fn for_each_manifest(workspace: &Workspace, body: impl Fn(&str) -> Result<(), String>) -> Outcome {
    let manifests = [
        "Cargo.toml",
        FUZZ_MANIFEST,
        MUTANTS_MANIFEST,
        tools::RMCP_MANIFEST,
        tools::SERVERS_MANIFEST,
    ];
    let mut manifests = manifests
        .into_iter()
        .filter(|name| workspace.root.join(name).is_file());
    manifests.try_for_each(body).into()
}

pub(crate) fn succeeds(command: &mut Command, name: &str) -> Result<(), String> {
    process::run(command, Show::All)?.check(name)
}

fn counted_tests(workspace: &Workspace, command: &mut Command) -> Outcome {
    let file = match skips::prepare(workspace) {
        Ok(file) => file,
        Err(reason) => return Outcome::failed(reason),
    };
    command.env(skips::VARIABLE, &file);
    let finished = match process::run(command, Show::All) {
        Ok(finished) => finished,
        Err(reason) => return Outcome::failed(reason),
    };
    let mut outcome = libtest::count(&finished.stdout);
    skips::account(&mut outcome, &file, workspace);
    // A test that fails ends cargo badly too; a build that fails leaves nothing to count.
    if outcome.failures.is_empty() {
        outcome.failures.extend(finished.check("cargo test").err());
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_means_every_step() {
        assert_eq!(select(&[]).map(|steps| steps.len()), Ok(STEPS.len()));
    }

    #[test]
    fn an_unknown_step_is_refused_with_the_known_ones() {
        let error = select(&["format", "fromat"]).err().unwrap();
        assert!(
            error.contains("fromat") && error.contains("clippy"),
            "{error}"
        );
    }
}
