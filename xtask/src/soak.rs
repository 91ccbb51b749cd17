//! `cargo xtask soak`: the gateway as it is shipped, under load and faults, for as long as one
//! likes.
//!
//! What is done and counted is in the package `switchboard-soak`; here it is built and started.

use std::process::Command;

use crate::process::{self, Show};
use crate::report::Outcome;
use crate::workspace::Workspace;

/// Builds what is asked for, and runs it with these options: the chaos as it is shipped, the rest
/// with all checks of a debug build.
pub(crate) fn run(workspace: &Workspace, words: &[&str]) -> Outcome {
    match words {
        [what, options @ ..] if MEASURED.contains(what) => {
            soak(workspace, "simulation", what, options).into()
        }
        options => soak(workspace, "release", "drive", options).into(),
    }
}

/// A short run of a build that is there already: what is counted must be nothing, whatever the
/// machine has to do besides.
pub(crate) fn check(workspace: &Workspace) -> Outcome {
    if !cfg!(target_os = "linux") {
        return Outcome::not_applicable("what a process leaves behind is seen in /proc only");
    }
    let runs: [(&str, &[&str]); 3] = [
        (
            "drive",
            &["--for", "20s", "--clients", "10", "--workers", "2"],
        ),
        ("cycles", &["--stdio", "50", "--http", "500"]),
        ("kills", &["--count", "9"]),
    ];
    let mut runs = runs.into_iter();
    runs.try_for_each(|(what, options)| soak(workspace, "dev", what, options))
        .into()
}

fn soak(workspace: &Workspace, profile: &str, what: &str, options: &[&str]) -> Result<(), String> {
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
    command.arg(what);
    if options != ["--help"] {
        command.arg("--gateway").arg(programs.join("switchboard"));
    }
    command.args(options);
    process::run(&mut command, Show::All)?.check("soak")
}

/// What has a command of its own beside the chaos.
const MEASURED: [&str; 3] = ["cycles", "floods", "kills"];
