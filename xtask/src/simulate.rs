//! `cargo xtask simulate`: many schedules of clients, a gateway and servers, see
//! `crates/simulation`.

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
