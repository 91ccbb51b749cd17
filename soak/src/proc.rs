//! What Linux says of other processes: memory, descriptors, who was started by whom.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// A process that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) id: i32,
    pub(crate) words: Vec<String>,
}

/// What a process takes up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sample {
    /// Since the beginning.
    pub(crate) seconds: f64,
    /// In MiB.
    pub(crate) memory: f64,
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
    /// Those that it started, and those that they did.
    pub(crate) processes: usize,
    /// Calls that have ended so far.
    pub(crate) calls: u64,
}

/// How a process stands.
pub(crate) fn sample(id: i32) -> Sample {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<usize>().ok()
    };
    Sample {
        memory: field("VmRSS:").unwrap_or(0) as f64 / 1024.0,
        threads: field("Threads:").unwrap_or(0),
        descriptors: fs::read_dir(format!("/proc/{id}/fd")).map_or(0, Iterator::count),
        processes: descendants(id).len(),
        ..Sample::default()
    }
}

/// All that a process has started, and what those did.
pub(crate) fn descendants(id: i32) -> Vec<Found> {
    let mut found = Vec::new();
    let mut open = vec![id];
    while let Some(id) = open.pop() {
        for child in children(id) {
            open.push(child);
            found.push(Found {
                id: child,
                words: words(child),
            });
        }
    }
    found
}

fn children(id: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{id}/task"))
        .into_iter()
        .flatten();
    let lists = tasks.flatten().map(|task| {
        let children = fs::read_to_string(task.path().join("children"));
        children.unwrap_or_default()
    });
    let lists: Vec<String> = lists.collect();
    let ids = lists.iter().flat_map(|list| list.split_whitespace());
    ids.filter_map(|id| id.parse().ok()).collect()
}

/// The words of a command. None for one that has ended and was not heard of.
fn words(id: i32) -> Vec<String> {
    let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0);
    words
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// Is it still there?
pub(crate) fn is_alive(id: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = status
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().next());
    state.is_some_and(|state| state != "Z")
}

/// Sends a signal. False if nobody is there.
pub(crate) fn signal(id: i32, signal: Signal) -> bool {
    Pid::from_raw(id).is_some_and(|id| kill_process(id, signal).is_ok())
}
