//! How much of tasks.

use std::time::Duration;

/// How many tasks a server keeps, for how long, and how large.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskLimits {
    /// Tasks in all, those at their end included until their time is over. Further calls
    /// are answered without a task where that can be, and refused as busy otherwise.
    pub total: usize,
    /// Tasks of one caller, where callers are known, in [`MemoryTasks`](crate::MemoryTasks).
    /// A store of your own has its own limit.
    pub per_caller: usize,
    /// How long a task is kept from its creation on, if the client does not say.
    pub life: Duration,
    /// How long a task is kept at most, whatever the client says.
    pub max_life: Duration,
    /// Bytes of the result of one task. A larger one makes the task fail.
    pub result: usize,
    /// Bytes of all results that [`MemoryTasks`](crate::MemoryTasks) keeps.
    pub results: usize,
    /// Questions that one task may ask in its life.
    pub questions: usize,
    /// How long clients should wait before they ask again how a task stands.
    pub poll_interval: Duration,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            total: 1_000,
            per_caller: 100,
            life: Duration::from_secs(60 * 60),
            max_life: Duration::from_secs(24 * 60 * 60),
            result: 4 << 20,
            results: 64 << 20,
            questions: 100,
            poll_interval: Duration::from_secs(1),
        }
    }
}
