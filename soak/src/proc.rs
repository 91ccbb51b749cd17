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

/// What is left of things that should be over.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Left {
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
    /// Processes that run below it.
    pub(crate) children: usize,
    /// Those that have ended, and nobody has asked how.
    pub(crate) zombies: usize,
    /// In MiB.
    pub(crate) memory: f64,
}

impl Left {
    /// What there is more of than before.
    pub(crate) fn beyond(self, before: &Self) -> impl Iterator<Item = String> {
        let pairs = [
            ("descriptors", before.descriptors, self.descriptors),
            ("threads", before.threads, self.threads),
            ("children", before.children, self.children),
            ("zombies", before.zombies, self.zombies),
        ];
        let more = pairs
            .into_iter()
            .filter(|(_, before, after)| after > before);
        let more = more.map(|(what, before, after)| format!("{before} {what}, then {after}"));
        let most = before.memory * 1.1 + 4.0;
        let memory = (self.memory > most)
            .then(|| format!("{:.1} MiB, then {:.1} MiB", before.memory, self.memory));
        more.chain(memory)
    }
}

/// What there is of a process.
pub(crate) fn left(id: i32) -> Left {
    let sample = sample(id);
    let below = descendants(id);
    let zombies = below.iter().filter(|found| !is_alive(found.id)).count();
    Left {
        descriptors: sample.descriptors,
        threads: sample.threads,
        children: below.len() - zombies,
        zombies,
        memory: sample.memory,
    }
}

/// How a process stands.
pub(crate) fn sample(id: i32) -> Sample {
    Sample {
        memory: field(id, "status", "VmRSS:") as f64 / 1024.0,
        threads: field(id, "status", "Threads:") as usize,
        descriptors: fs::read_dir(format!("/proc/{id}/fd")).map_or(0, Iterator::count),
        processes: descendants(id).len(),
        ..Sample::default()
    }
}

/// Forgets how much memory a process has taken at most.
pub(crate) fn forget_peak(id: i32) {
    // Where that cannot be, the peak is that of its life.
    let _ = fs::write(format!("/proc/{id}/clear_refs"), "5");
}

/// The most memory that a process has taken since that was forgotten, in MiB.
pub(crate) fn peak(id: i32) -> f64 {
    field(id, "status", "VmHWM:") as f64 / 1024.0
}

/// How many bytes a process has written, wherever to.
pub(crate) fn written(id: i32) -> u64 {
    field(id, "io", "wchar:")
}

/// A number that Linux says of a process. Zero if it is gone.
fn field(id: i32, file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{id}/{file}")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name));
    let word = line.and_then(|line| line.split_whitespace().nth(1));
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// All processes that there are.
pub(crate) fn all() -> Vec<Found> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.map(|id| Found {
        id,
        words: words(id),
    })
    .collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_one_more_is_told_and_less_is_not() {
        let before = Left {
            descriptors: 10,
            threads: 3,
            children: 1,
            zombies: 0,
            memory: 20.0,
        };
        assert_eq!(before.beyond(&before).count(), 0);
        let less = Left {
            threads: 2,
            memory: 25.9,
            ..before
        };
        assert_eq!(less.beyond(&before).count(), 0);
        let more = Left {
            descriptors: 11,
            threads: 4,
            children: 2,
            zombies: 1,
            memory: 26.1,
        };
        assert_eq!(more.beyond(&before).count(), 5);
    }
}
