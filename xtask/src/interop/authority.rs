//! Our login at authorization servers that others wrote, by the program `authorized` of
//! `interop/client/`.
//!
//! What is checked is there.

use std::process::Command;

use crate::interop::program::Program;
use crate::interop::script::run_script;
use crate::report::Outcome;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace) -> Outcome {
    let mut command = match prepare(workspace) {
        Ok(command) => command,
        Err(reason) => return Outcome::failed(reason),
    };
    let mut outcome = Outcome::default();
    run_script(&mut outcome, PROGRAM, &mut command);
    outcome
}

fn prepare(workspace: &Workspace) -> Result<Command, String> {
    let program = Program::build(workspace, PROGRAM, "authority")?;
    program.packages(workspace)?.command()
}

const PROGRAM: &str = "authorized";
