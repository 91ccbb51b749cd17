//! Conversations as text files: what goes in, what must come out, a sentence on top.
//!
//! ```text
//! A second initialize is refused.
//! Specification: 2025-11-25, basic/lifecycle.
//! Machine: server
//!
//! client> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{…}}
//! opened> 2025-11-25
//! server> {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","…":"…"}}
//! ```
//!
//! The first paragraph is the rule and where it comes from. `Machine:` says
//! which side is tested, `Wire: http` that it is not a pipe, `Config:` changes
//! the set-up (a JSON object). Each line below is `who> what`. Whatever the
//! machine puts out must be written down, in order, before the next thing that
//! goes in. In expected JSON `"…"` stands for any value, `"…":"…"` in an
//! object for any further members, and a last `"…"` in an array for any further items.

mod client;
mod compare;
mod script;
mod server;

use std::path::{Path, PathBuf};
use std::time::Instant;

pub use script::{Line, Script, ScriptError};

use crate::clock::ManualClock;
use compare::{Event, check};

/// Runs one transcript.
///
/// # Errors
/// A description of the first difference, with the line that it concerns.
pub fn run(text: &str) -> Result<(), String> {
    let script = Script::parse(text).map_err(|error| error.to_string())?;
    match script.machine.as_str() {
        "server" => server::run(&script),
        "client" => client::run(&script),
        other => Err(format!(
            "unknown machine {other:?}, expected server or client"
        )),
    }
}

/// All transcripts below a folder, in a fixed order.
pub fn find(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "txt") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Plays the lines that go in, and compares what comes out with the lines in between.
fn follow(
    script: &Script,
    inputs: &[&str],
    mut play: impl FnMut(&Line) -> Result<Vec<Event>, String>,
) -> Result<(), String> {
    let mut lines = script.lines.iter().peekable();
    while let Some(line) = lines.next() {
        if !inputs.contains(&line.who.as_str()) {
            return Err(format!(
                "line {}: nothing more came out, expected {}> {}",
                line.number, line.who, line.what
            ));
        }
        let events = play(line).map_err(|message| format!("line {}: {message}", line.number))?;
        for event in events {
            let Some(wanted) = lines.next() else {
                return Err(format!(
                    "line {}: the transcript ends, but the machine says {event}",
                    line.number
                ));
            };
            check(&event, &wanted.who, wanted.lane, &wanted.what).map_err(|message| {
                format!(
                    "line {}: {message}\n    expected {}> {}",
                    wanted.number, wanted.who, wanted.what
                )
            })?;
        }
    }
    Ok(())
}

/// Lets time pass. `tick` is called at each deadline on the way and tells the next one.
fn pass_time(
    clock: &mut ManualClock,
    until: Instant,
    first: Option<Instant>,
    mut tick: impl FnMut(Instant) -> Option<Instant>,
) -> Result<(), String> {
    let mut next = first;
    // Far more than any transcript has: a deadline that does not move is a bug of the machine.
    for _ in 0..10_000 {
        let Some(due) = next.filter(|due| *due <= until) else {
            clock.advance_to(until);
            return Ok(());
        };
        clock.advance_to(due);
        next = tick(clock.now());
    }
    Err("the deadline does not move".into())
}
