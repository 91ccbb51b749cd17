//! Which processes are left of a server.
//!
//! Each server gets a mark in its environment, which all that it starts inherit: whatever group
//! they are in and whoever their parent is, they are found by it.

use std::collections::{BTreeMap, BTreeSet};
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
    let marked = by_mark()?.remove(mark).unwrap_or_default();
    let found = marked.into_iter().chain(unreaped()?);
    let name = |id| fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
    Ok(found
        .map(|id| format!("{id} ({})", name(id).trim()))
        .collect())
}

/// All processes that have a mark, by it.
pub(crate) fn by_mark() -> Result<BTreeMap<String, BTreeSet<u32>>, String> {
    let mut found: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    let start = format!("{VARIABLE}=");
    for id in running()? {
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        let mark = variables.find_map(|variable| variable.strip_prefix(start.as_bytes()));
        if let Some(mark) = mark {
            let mark = String::from_utf8_lossy(mark).into_owned();
            found.entry(mark).or_default().insert(id);
        }
    }
    Ok(found)
}

/// Children of ours that nobody has waited for.
pub(crate) fn unreaped() -> Result<Vec<u32>, String> {
    Ok(running()?
        .into_iter()
        .filter(|id| is_unreaped(*id))
        .collect())
}

fn running() -> Result<Vec<u32>, String> {
    let processes = fs::read_dir("/proc").map_err(|error| format!("/proc: {error}"))?;
    let ids = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(ids.collect())
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
