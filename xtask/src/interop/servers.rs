//! Our client at servers that others wrote, by the program `real-servers` of `interop/client/`.
//!
//! What is asked of which server is there.

use std::process::Command;

use crate::interop::program::Program;
use crate::interop::script::run_script;
use crate::report::Outcome;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace) -> Outcome {
    // They are counted by what is in /proc.
    if !cfg!(target_os = "linux") {
        return Outcome::not_applicable("processes are counted on Linux only");
    }
    let mut command = match prepare(workspace) {
        Ok(command) => command,
        Err(reason) => return Outcome::failed(reason),
    };
    let mut outcome = Outcome::default();
    run_script(&mut outcome, PROGRAM, &mut command);
    outcome
}

fn prepare(workspace: &Workspace) -> Result<Command, String> {
    let program = Program::build(workspace, PROGRAM, "servers")?;
    program.servers(workspace)?.command()
}

const PROGRAM: &str = "real-servers";
