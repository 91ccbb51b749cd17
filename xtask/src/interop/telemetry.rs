//! What we export of a hub of servers that others wrote, read by a collector of OpenTelemetry's
//! own messages, by the program `telemetry` of `interop/client/`.
//!
//! What is checked is there.

use std::process::Command;

use crate::interop::program::Program;
use crate::interop::script::run_script;
use crate::report::Outcome;
use crate::tools;
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
    let program = Program::build(workspace, PROGRAM, "telemetry")?;
    let collector = tools::python(workspace, "requirements-telemetry.txt")?;
    let server = tools::python(workspace, "requirements.txt")?;
    let program = program.place("--collector", collector);
    program.place("--server", server).command()
}

const PROGRAM: &str = "telemetry";
