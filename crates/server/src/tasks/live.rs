//! A task whose work is done in this process: its questions, and how to stop it.
//!
//! What clients see of it is in the store.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use switchboard_protocol::{Payload, Refusals};
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;

use crate::context::{AskError, Question};
use crate::link::Link;

/// A task whose work is done in this process.
pub(crate) struct Live {
    pub(crate) id: String,
    /// The session of 2025-11-25 that is told how it stands.
    pub(super) session: Option<Weak<dyn Link>>,
    /// Where is counted what was over a limit.
    pub(super) refusals: Refusals,
    questions: Mutex<Questions>,
    worker: OnceLock<AbortHandle>,
    changed: Notify,
    withdrawn: Notify,
}

#[derive(Default)]
struct Questions {
    open: BTreeMap<String, Open>,
    /// Every key there was: none is used twice.
    used: BTreeSet<String>,
    /// What the handler asks no more, and the store does not know yet.
    withdrawn: Vec<String>,
}

/// A question that nobody has answered.
struct Open {
    question: Question,
    asker: oneshot::Sender<Result<Payload, AskError>>,
    /// Is somebody putting it to the client?
    is_claimed: bool,
}

impl Live {
    pub(super) fn new(id: String, session: Option<Weak<dyn Link>>, refusals: Refusals) -> Self {
        Self {
            id,
            session,
            refusals,
            questions: Mutex::default(),
            worker: OnceLock::new(),
            changed: Notify::new(),
            withdrawn: Notify::new(),
        }
    }

    /// Its work is done by this task.
    pub(super) fn work_by(&self, worker: AbortHandle) {
        // There is one worker, set once.
        let _ = self.worker.set(worker);
    }

    /// Drops the work.
    pub(super) fn stop(&self) {
        if let Some(worker) = self.worker.get() {
            worker.abort();
        }
    }

    /// Notes a question; `name` is its key unless there has been a question of this name.
    pub(super) fn open(
        self: &Arc<Self>,
        name: &str,
        question: Question,
        most: usize,
    ) -> Result<Asking, AskError> {
        let mut questions = self.questions();
        if questions.used.len() >= most {
            self.refusals.note("taskQuestions");
            let reason = format!("a task may ask {most} times");
            return Err(AskError::BadQuestion(reason));
        }
        let mut key = name.to_owned();
        let mut count = 1;
        while questions.used.contains(&key) {
            count += 1;
            key = format!("{name}-{count}");
        }
        let (asker, asked) = oneshot::channel();
        questions.used.insert(key.clone());
        let open = Open {
            question,
            asker,
            is_claimed: false,
        };
        questions.open.insert(key.clone(), open);
        Ok(Asking {
            live: Arc::clone(self),
            key,
            asked,
        })
    }

    /// Gives the handler its answer: false if it asks no such thing.
    pub(crate) fn answer(&self, key: &str, answer: Result<Payload, AskError>) -> bool {
        let Some(open) = self.questions().open.remove(key) else {
            return false;
        };
        // The handler may have stopped waiting just now.
        let _ = open.asker.send(answer);
        true
    }

    /// Does the handler still wait for this answer?
    pub(crate) fn is_open(&self, key: &str) -> bool {
        self.questions().open.contains_key(key)
    }

    /// A question that nobody puts to the client yet, except those in `not`.
    pub(crate) fn claim(self: &Arc<Self>, not: &[String]) -> Option<Claim> {
        let mut questions = self.questions();
        let (key, open) = questions
            .open
            .iter_mut()
            .find(|(key, open)| !open.is_claimed && !not.contains(key))?;
        open.is_claimed = true;
        Some(Claim {
            live: Arc::clone(self),
            key: key.clone(),
            question: open.question.clone(),
        })
    }

    /// Is woken by the next change. To be made before looking how the task stands.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Wakes whoever waits for a change.
    pub(super) fn has_changed(&self) {
        self.changed.notify_waiters();
    }

    /// The questions that the handler asks no more, when there are any.
    pub(super) async fn withdrawn(&self) -> Vec<String> {
        loop {
            let told = self.withdrawn.notified();
            let keys = std::mem::take(&mut self.questions().withdrawn);
            if !keys.is_empty() {
                return keys;
            }
            told.await;
        }
    }

    fn questions(&self) -> MutexGuard<'_, Questions> {
        // Nothing that runs under the lock leaves it half done.
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Live")
    }
}

/// A handler that waits for an answer. If it stops waiting, the question is withdrawn.
pub(super) struct Asking {
    live: Arc<Live>,
    pub(super) key: String,
    asked: oneshot::Receiver<Result<Payload, AskError>>,
}

impl Asking {
    pub(super) async fn answer(&mut self) -> Result<Payload, AskError> {
        (&mut self.asked).await.map_err(|_| AskError::Ended)?
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let mut questions = self.live.questions();
        // If it is there, nobody has answered it, and the store still shows it.
        if questions.open.remove(&self.key).is_some() {
            questions.withdrawn.push(std::mem::take(&mut self.key));
            drop(questions);
            self.live.withdrawn.notify_one();
            self.live.changed.notify_waiters();
        }
    }
}

/// A question that somebody puts to the client. If he goes away, somebody else may.
pub(crate) struct Claim {
    live: Arc<Live>,
    pub(crate) key: String,
    pub(crate) question: Question,
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(open) = self.live.questions().open.get_mut(&self.key) {
            open.is_claimed = false;
            self.live.changed.notify_waiters();
        }
    }
}
