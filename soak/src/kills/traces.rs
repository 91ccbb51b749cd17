//! What is left of those who were killed: processes that live on, files that are torn.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::proc::{self, Found};

/// Waits until all of these are gone, and everybody who was started with the name of this folder.
/// How long that took, or who is left. Whoever ends the others may take longer.
pub(super) fn gone(known: &[Found], folder: &Path, limit: Duration) -> Result<Duration, String> {
    let began = Instant::now();
    let folder = folder.display().to_string();
    loop {
        let named = proc::all().into_iter().filter(|found| {
            let mut words = found.words.iter();
            words.any(|word| word.contains(&*folder))
        });
        let known = known.iter().cloned();
        let left: Vec<Found> = known
            .chain(named)
            .filter(|found| proc::is_alive(found.id))
            .collect();
        if left.is_empty() {
            return Ok(began.elapsed());
        }
        let is_watcher = |found: &Found| found.words.last().is_some_and(|last| last == WATCHER);
        let limit = match left.iter().all(is_watcher) {
            true => limit.max(WATCHED),
            false => limit,
        };
        if began.elapsed() > limit {
            let left: Vec<&str> = left
                .iter()
                .filter_map(|found| found.words.last())
                .map(String::as_str)
                .collect();
            return Err(format!("lives on after {limit:?}: {}", left.join("; ")));
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// The process that ends servers when their host cannot, and how long it takes at most.
const WATCHER: &str = "switchboard-watcher";
const WATCHED: Duration = Duration::from_secs(10);

/// How many files there are, and which of them are not whole.
pub(super) fn torn(folder: &Path) -> (usize, Vec<String>) {
    let mut torn = Vec::new();
    let files = files(folder);
    for file in &files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".sock") {
            continue;
        }
        let Ok(text) = fs::read_to_string(file) else {
            torn.push(format!("{} cannot be read", file.display()));
            continue;
        };
        let lines: Vec<&str> = if name.ends_with(".jsonl") {
            text.lines().collect()
        } else if name.ends_with(".json") || name.ends_with(".lock") && !text.is_empty() {
            vec![&*text]
        } else {
            continue;
        };
        for line in lines {
            if let Err(error) = serde_json::from_str::<Value>(line) {
                torn.push(format!("{} is torn: {error}", file.display()));
            }
        }
    }
    (files.len(), torn)
}

/// Files that were being written, and are of no use to anybody.
pub(super) fn unfinished(folder: &Path) -> Vec<PathBuf> {
    let mut files = files(folder);
    files.retain(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        [".tmp", ".new", ".sock"]
            .iter()
            .any(|end| name.ends_with(end))
    });
    files
}

/// All files below a folder; sockets too.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                _ => found.push(entry.path()),
            }
        }
    }
    found
}
