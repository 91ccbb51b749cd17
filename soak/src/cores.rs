//! Who has which processor, where it is measured how long something takes.
//!
//! Linux lets a busy process go on until the next tick of its clock, mostly 4 ms, while others that
//! have something to do wait behind it. A gateway that is busy and its peers on one processor wait
//! for each other that long, whatever the gateway does: so it has one for itself.

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors that there are.
#[derive(Clone, Debug)]
pub(crate) struct Cores(Vec<usize>);

impl Cores {
    /// Those that we may use. None if there are too few to be shared out.
    pub(crate) fn found() -> Option<Self> {
        let ours = ours();
        (ours.len() > 1).then_some(Self(ours))
    }

    /// This thread, and what it starts, has the one that nobody else has.
    pub(crate) fn take_first(&self) {
        use_only(self.0.iter().take(1));
    }

    /// This thread, and what it starts, has all others.
    pub(crate) fn take_others(&self) {
        use_only(self.0.iter().skip(1));
    }

    /// For the environment of somebody who is started on the first and is to have the others.
    pub(crate) fn others_in_words(&self) -> String {
        let others: Vec<String> = self.0.iter().skip(1).map(ToString::to_string).collect();
        others.join(",")
    }
}

/// Uses those that the environment says, if it does.
pub(crate) fn obey() {
    if let Ok(words) = std::env::var(VARIABLE) {
        let cores: Vec<usize> = words
            .split(',')
            .filter_map(|word| word.parse().ok())
            .collect();
        use_only(cores.iter());
    }
}

#[cfg(target_os = "linux")]
fn ours() -> Vec<usize> {
    let ours = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    let all = 0..CpuSet::MAX_CPU;
    all.filter(|core| ours.is_set(*core)).collect()
}

#[cfg(target_os = "linux")]
fn use_only<'a>(cores: impl Iterator<Item = &'a usize>) {
    let mut set = CpuSet::new();
    for core in cores {
        set.set(*core);
    }
    // Without it everything works, and is only measured less well.
    let _ = sched_setaffinity(None, &set);
}

/// Elsewhere nobody is told where to run.
#[cfg(not(target_os = "linux"))]
fn ours() -> Vec<usize> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
fn use_only<'a>(_: impl Iterator<Item = &'a usize>) {}

/// The processors of a role that the gateway starts.
pub(crate) const VARIABLE: &str = "SOAK_CORES";
