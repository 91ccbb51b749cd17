//! What we export of a hub of servers that others wrote, read by a collector of OpenTelemetry's
//! own messages, by the program `telemetry` of `interop/client/`.
//!
//! What is checked is there; here is what has to be installed and built before.

use std::fs;
use std::process::Command;

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
    run_script(&mut outcome, "telemetry", &mut command);
    outcome
}

fn prepare(workspace: &Workspace) -> Result<Command, String> {
    workspace.build_interop()?;
    let scratch = workspace.target.join("interop").join("telemetry");
    fs::create_dir_all(&scratch)
        .map_err(|error| format!("{} cannot be made: {error}", scratch.display()))?;
    let mut command = Command::new(workspace.binary("telemetry"));
    let places = [
        (
            "--collector",
            tools::python(workspace, "requirements-telemetry.txt")?,
        ),
        ("--server", tools::python(workspace, "requirements.txt")?),
        ("--scripts", workspace.root.join("interop")),
        ("--scratch", scratch),
    ];
    for (option, place) in places {
        command.arg(option).arg(place);
    }
    Ok(command)
}
