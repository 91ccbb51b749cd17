//! Which processes are left of a server.
//!
//! Each server gets a mark in its environment, which all that it starts inherit: whatever group
//! they are in and whoever their parent is, they are found by it.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

/// The variable that holds the mark.
pub(crate) const VARIABLE: &str = "SWITCHBOARD_INTEROP_MARK";

/// A mark that nobody else has.
pub(crate) fn new_mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{next}", std::process::id())
}

/// The processes with this mark, and children of ours that nobody has waited for.
pub(crate) fn left(mark: &str) -> Result<Vec<String>, String> {
    let processes = fs::read_dir("/proc").map_err(|error| format!("/proc: {error}"))?;
    let wanted = format!("{VARIABLE}={mark}");
    let mut found = Vec::new();
    for entry in processes.flatten() {
        let Some(id) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let is_marked = environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == wanted.as_bytes());
        if is_marked || is_unreaped(id) {
            let command = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            found.push(format!("{id} ({})", command.trim()));
        }
    }
    Ok(found)
}

/// Nothing must be left.
pub(crate) fn check_none(mark: &str) -> Result<(), String> {
    let left = left(mark)?;
    match left.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{} processes left: {}",
            left.len(),
            left.join(", ")
        )),
    }
}

/// Is it a child of ours that has ended and that nobody has waited for?
fn is_unreaped(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // The name may have spaces and brackets in it; what follows has none.
    let Some((_, rest)) = status.rsplit_once(')') else {
        return false;
    };
    let mut fields = rest.split_whitespace();
    let (state, parent) = (fields.next(), fields.next());
    state == Some("Z") && parent == Some(std::process::id().to_string().as_str())
}
