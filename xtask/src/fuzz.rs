//! `cargo xtask fuzz`: the targets of `fuzz/` on all cores, for as long as one likes.
//!
//! What is run and how is in the package `switchboard-fuzz`; here it is built and started.

use crate::process::{self, Show};
use crate::report::Outcome;
use crate::workspace::Workspace;

/// Runs targets, as fast as they can be. What the words mean is the program's to say.
pub(crate) fn run(workspace: &Workspace, words: &[&str]) -> Outcome {
    let mut command = workspace.cargo();
    command.args(["run", "--release", "--quiet"]);
    command.args(["--manifest-path", MANIFEST, "--example", "run", "--"]);
    command.args(words);
    let finished = process::run(&mut command, Show::All);
    finished
        .and_then(|finished| finished.check("the fuzzing"))
        .into()
}

/// Where the fuzz targets are.
pub(crate) const MANIFEST: &str = "fuzz/Cargo.toml";
