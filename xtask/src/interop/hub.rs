//! The hub at servers that others wrote, by the program `hub-of-servers` of `interop/client/`.
//!
//! What is checked is there.

use crate::interop::program::Program;
use crate::interop::script::run_script;
use crate::report::Outcome;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace) -> Outcome {
    // They are counted by what is in /proc.
    if !cfg!(target_os = "linux") {
        return Outcome::not_applicable("processes are counted on Linux only");
    }
    let program = Program::build(workspace, PROGRAM, "hub");
    let program = match program.and_then(|program| program.servers(workspace)) {
        Ok(program) => program,
        Err(reason) => return Outcome::failed(reason),
    };
    let mut outcome = Outcome::default();
    // One after the other, so that each has its time and none the processes of another.
    for group in GROUPS {
        let mut command = match program.command() {
            Ok(command) => command,
            Err(reason) => return Outcome::failed(reason),
        };
        command.arg(group);
        run_script(&mut outcome, &format!("{PROGRAM} {group}"), &mut command);
    }
    outcome
}

const PROGRAM: &str = "hub-of-servers";
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
