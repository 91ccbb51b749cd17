//! `cargo xtask bench`: what the core costs, as instruction counts.
//!
//! Counts do not depend on what else the machine does, so two runs can be compared. The
//! program that is measured is the example `core_cost` of the protocol crate.

use std::process::Command;

use crate::process::{self, Show};
use crate::report::Outcome;
use crate::tools;
use crate::workspace::Workspace;

/// Every measurement there is.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let has_example = workspace
        .package(PACKAGE)
        .is_some_and(|package| package.examples.iter().any(|name| name == EXAMPLE));
    if !has_example {
        return Outcome::failed(format!("{PACKAGE} has no example {EXAMPLE}"));
    }
    if tools::on_path("valgrind").is_none() {
        return Outcome::failed("valgrind is not on the search path");
    }
    core_cost(workspace).into()
}

/// Builds the example with optimizations and runs it under callgrind.
fn core_cost(workspace: &Workspace) -> Result<(), String> {
    let mut command = workspace.cargo();
    command.args([
        "build",
        "--release",
        "--package",
        PACKAGE,
        "--example",
        EXAMPLE,
    ]);
    process::run(&mut command, Show::All)?.check("cargo build")?;

    let counts = workspace.target.join("core_cost.callgrind");
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind");
    command.arg(format!("--callgrind-out-file={}", counts.display()));
    command.arg(
        workspace
            .target
            .join("release")
            .join("examples")
            .join(EXAMPLE),
    );
    process::run(&mut command, Show::All)?.check("valgrind")
}

const PACKAGE: &str = "switchboard-protocol";
const EXAMPLE: &str = "core_cost";
