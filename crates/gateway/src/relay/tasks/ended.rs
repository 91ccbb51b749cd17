//! Calls that a client wanted as tasks and that were over at once.
//!
//! A server of the stateless era decides itself what becomes a task. What it answers at once is kept
//! here for a while, as a task that is at its end.
//!
//! Specification: 2025-11-25 basic/utilities/tasks.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use ring::rand::{SecureRandom, SystemRandom};
use switchboard_client::Payload;
use switchboard_protocol::Refusals;
use switchboard_protocol::types::{Task, TaskStatus};
use switchboard_server::timestamp;
use tokio::time::Instant;

/// Calls that were over at once, the oldest first.
#[derive(Debug, Default)]
pub(super) struct EndedCalls(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    calls: VecDeque<Ended>,
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Ended {
    id: String,
    at: String,
    until: Instant,
    result: Payload,
}

impl EndedCalls {
    /// Keeps a result, as that of a task. None if the system has no randomness for its name.
    pub(super) fn keep(&self, result: Payload, refusals: &Refusals) -> Option<Task> {
        let mut random = [0; 16];
        SystemRandom::new().fill(&mut random).ok()?;
        let ended = Ended {
            id: random.iter().map(|byte| format!("{byte:02x}")).collect(),
            at: timestamp(SystemTime::now()),
            until: Instant::now() + LIFE,
            result,
        };
        let task = ended.task();
        let mut kept = self.kept();
        kept.bytes = kept.bytes.saturating_add(ended.result.length());
        kept.calls.push_back(ended);
        while kept.calls.len() > MOST || kept.bytes > MOST_BYTES {
            refusals.note("endedTasks");
            kept.drop_oldest();
        }
        Some(task)
    }

    /// The task of this id, and its result.
    pub(super) fn find(&self, id: &str) -> Option<(Task, Payload)> {
        let kept = self.kept();
        let found = kept.calls.iter().find(|call| call.id == id)?;
        Some((found.task(), found.result.clone()))
    }

    /// What is there, without what has been there for too long.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        while kept.calls.front().is_some_and(|oldest| oldest.until <= now) {
            kept.drop_oldest();
        }
        kept
    }
}

impl Kept {
    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.calls.pop_front() {
            self.bytes = self.bytes.saturating_sub(oldest.result.length());
        }
    }
}

impl Ended {
    fn task(&self) -> Task {
        let status = match self.result.is_error() {
            true => TaskStatus::Failed,
            false => TaskStatus::Completed,
        };
        let mut task = Task::experimental(&*self.id, status, &*self.at);
        task.ttl = Some(LIFE.into());
        task
    }
}

/// Whoever wanted it asks for it soon.
const LIFE: Duration = Duration::from_secs(5 * 60);
/// Of more than this the oldest go before their time.
const MOST: usize = 1_000;
const MOST_BYTES: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_over_at_once_is_there_for_a_while() {
        let ended = EndedCalls::default();
        let task = ended.keep(Payload::empty(), &Refusals::default()).unwrap();
        assert_eq!(task.status, TaskStatus::Completed);
        assert!(ended.find(&task.task_id).is_some());
        assert!(ended.find("another").is_none());
        tokio::time::advance(LIFE).await;
        assert!(ended.find(&task.task_id).is_none());
    }

    #[tokio::test]
    async fn large_ones_go_sooner() {
        let ended = EndedCalls::default();
        let large = Payload::encode(&"x".repeat(MOST_BYTES / 2)).unwrap();
        let first = ended.keep(large.clone(), &Refusals::default()).unwrap();
        let small = ended.keep(Payload::empty(), &Refusals::default()).unwrap();
        assert!(ended.find(&first.task_id).is_some());
        let last = ended.keep(large, &Refusals::default()).unwrap();
        assert!(ended.find(&first.task_id).is_none());
        assert!(ended.find(&small.task_id).is_some() && ended.find(&last.task_id).is_some());
        assert!(ended.kept().bytes <= MOST_BYTES);
    }

    #[tokio::test]
    async fn there_are_never_too_many() {
        let (ended, refusals) = (EndedCalls::default(), Refusals::default());
        let first = ended.keep(Payload::empty(), &refusals).unwrap();
        for _ in 0..MOST {
            ended.keep(Payload::empty(), &refusals).unwrap();
        }
        assert_eq!(refusals.counts()["endedTasks"], 1);
        assert!(ended.find(&first.task_id).is_none());
        assert_eq!(ended.kept().calls.len(), MOST);
    }
}
