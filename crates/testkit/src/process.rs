//! What there is of this process, for tests that look whether something is left behind.
//!
//! Linux says so in `/proc`; elsewhere there is nothing to be seen, and everything is zero.

use std::fs;

/// The memory that is in use, in bytes.
pub fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status.split(' ').nth(1);
    let pages: Option<usize> = pages.and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * PAGE
}

/// The open descriptors.
pub fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// The processes that this one has started, and has not heard the end of.
pub fn children() -> usize {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    let children = tasks.flatten().map(|task| {
        let children = fs::read_to_string(task.path().join("children"));
        children.map_or(0, |children| children.split_whitespace().count())
    });
    children.sum()
}

/// That of x86-64, and the usual one of others.
const PAGE: usize = 4_096;
