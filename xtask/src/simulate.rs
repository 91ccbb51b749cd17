//! `cargo xtask simulate`: many schedules of clients, a gateway and servers, see
//! `crates/simulation`.

use std::process::Command;

use crate::process::{self, Show};
use crate::report::Outcome;
use crate::workspace::Workspace;

/// Runs schedules on all cores, as fast as they can be. What the words mean is the program's to say.
pub(crate) fn run(workspace: &Workspace, words: &[&str]) -> Outcome {
    let mut command = workspace.cargo();
    command.args(["run", "--profile", "simulation", "--quiet"]);
    command.args(["--package", "switchboard-simulation", "--"]);
    command.args(words);
    let finished = process::run(&mut command, Show::All);
    finished
        .and_then(|finished| finished.check("the simulation"))
        .into()
}

/// Many short schedules, by the build that the tests have made.
pub(crate) fn check(workspace: &Workspace) -> Outcome {
    short_schedules(workspace).into()
}

fn short_schedules(workspace: &Workspace) -> Result<(), String> {
    let mut command = workspace.cargo();
    // With the features that everything has together: nothing is built twice.
    command.args(["build", "--workspace", "--all-features"]);
    command.args(["--bin", "switchboard-simulation"]);
    process::run(&mut command, Show::AsProgress)?.check("cargo build of the simulation")?;
    let program = workspace.target.join("debug/switchboard-simulation");
    let mut command = Command::new(program);
    command.args(["--seeds", SEEDS, "--steps", STEPS]);
    process::run(&mut command, Show::All)?.check("the simulation")
}

const SEEDS: &str = "2000";
const STEPS: &str = "25";
