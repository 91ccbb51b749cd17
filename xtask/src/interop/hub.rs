//! The hub at servers that others wrote, by the program `hub-of-servers` of `interop/client/`.
//!
//! What is checked is there; here is what has to be installed and built before.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::interop::script::run_script;
use crate::report::Outcome;
use crate::tools;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace) -> Outcome {
    // They are counted by what is in /proc.
    if !cfg!(target_os = "linux") {
        return Outcome::not_applicable("processes are counted on Linux only");
    }
    let places = match prepare(workspace) {
        Ok(places) => places,
        Err(reason) => return Outcome::failed(reason),
    };
    let mut outcome = Outcome::default();
    // One after the other, so that each has its time and none the processes of another.
    for group in GROUPS {
        if let Err(reason) = empty(&workspace.target.join(SCRATCH)) {
            return Outcome::failed(reason);
        }
        let mut command = Command::new(workspace.binary(PROGRAM));
        for (option, place) in &places {
            command.arg(option).arg(place);
        }
        command.arg(group);
        run_script(&mut outcome, &format!("{PROGRAM} {group}"), &mut command);
    }
    outcome
}

fn prepare(workspace: &Workspace) -> Result<[(&'static str, PathBuf); 6], String> {
    workspace.build_interop()?;
    Ok([
        ("--node", tools::node(workspace)?),
        ("--python", tools::python(workspace, "requirements.txt")?),
        (
            "--python-v1",
            tools::python(workspace, "requirements-v1.txt")?,
        ),
        ("--rust", tools::rust_servers(workspace)?),
        ("--scripts", workspace.root.join("interop")),
        ("--scratch", workspace.target.join(SCRATCH)),
    ])
}

fn empty(folder: &Path) -> Result<(), String> {
    // It is not there the first time.
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)
        .map_err(|error| format!("{} cannot be made: {error}", folder.display()))
}

const PROGRAM: &str = "hub-of-servers";
const SCRATCH: &str = "interop/hub";
const GROUPS: [&str; 8] = [
    "names",
    "file",
    "everything",
    "many",
    "kept",
    "allowed",
    "lives",
    "killed",
];
