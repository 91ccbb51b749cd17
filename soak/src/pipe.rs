//! Stands between a gateway and a server on its standard streams, and spoils the way of the bytes.
//!
//! When one of the two ends, so does the other: whoever kills this has killed the server.

use std::io;
use std::process::{Command, ExitCode, Stdio};
use std::thread;

use switchboard_testkit::dice::Dice;
use switchboard_testkit::fault_proxy::{Manner, pump};

/// Runs a server behind this process.
pub(crate) fn run(seed: &str, command: &[&str]) -> Result<ExitCode, String> {
    let seed: u64 = seed.parse().map_err(|_| format!("{seed:?} is no seed"))?;
    let mut dice = Dice::new(seed);
    let (program, arguments) = command.split_first().ok_or("pipe wants a command")?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let stdin = stdin.ok_or("the server has no stdin")?;
    let stdout = stdout.ok_or("the server has no stdout")?;
    let (there, back) = (Manner::rolled(&mut dice), Manner::rolled(&mut dice));
    let (one, other) = (Dice::new(dice.roll(u64::MAX)), Dice::new(seed));
    // Ends with our own input, and closes that of the server by ending.
    thread::spawn(move || pump(io::stdin(), stdin, there, one));
    // A gateway that is gone does not read: the server is of no use any more.
    let _ = pump(stdout, io::stdout(), back, other);
    let status = child.wait().map_err(|error| error.to_string())?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
