//! `cargo xtask soak`: the gateway as it is shipped, under load and faults, for as long as one
//! likes.
//!
//! What is done and counted is in the package `switchboard-soak`; here it is built and started.

use std::process::Command;

use crate::process::{self, Show};
use crate::report::Outcome;
use crate::workspace::Workspace;

/// Builds everything as it is shipped, and runs with these options.
pub(crate) fn run(workspace: &Workspace, options: &[&str]) -> Outcome {
    soak(workspace, "release", options).into()
}

/// A short run of a build that is there already: what is counted must be nothing, whatever the
/// machine has to do besides.
pub(crate) fn check(workspace: &Workspace) -> Outcome {
    if !cfg!(target_os = "linux") {
        return Outcome::not_applicable("what a process leaves behind is seen in /proc only");
    }
    let options = ["--for", "20s", "--clients", "10", "--workers", "2"];
    soak(workspace, "dev", &options).into()
}

fn soak(workspace: &Workspace, profile: &str, options: &[&str]) -> Result<(), String> {
    let mut command = workspace.cargo();
    command.args(["build", "--profile", profile]);
    command.args(["--package", "switchboard-cli"]);
    command.args(["--package", "switchboard-soak"]);
    process::run(&mut command, Show::AsProgress)?.check("cargo build of soak")?;
    let folder = match profile {
        "dev" => "debug",
        other => other,
    };
    let programs = workspace.target.join(folder);
    let mut command = Command::new(programs.join("soak"));
    command.current_dir(&workspace.root);
    command.arg("drive").arg("--gateway");
    command.arg(programs.join("switchboard")).args(options);
    process::run(&mut command, Show::All)?.check("soak")
}
