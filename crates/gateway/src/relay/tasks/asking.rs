//! What tasks of 2025-11-25 ask, for clients of the stateless era.
//!
//! Such a task asks by requests while somebody waits for its result. So somebody does here, for as
//! long as the client looks after its task, and keeps the questions until they are answered.
//! There are as many as calls may wait for answers, and no more.
//!
//! Specification: 2025-11-25 basic/utilities/tasks (input required status); tasks extension
//! (`inputRequests`, `tasks/update`).

use std::collections::{BTreeMap, HashMap};
use std::future::IntoFuture;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use switchboard_client::Payload;
use switchboard_protocol::types::{InputRequests, InputResponses, TaskRequestParams};
use switchboard_protocol::{Method, RawJson, Refusals};
use switchboard_server::Context;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

use super::Tasks;
use super::name::TaskKey;
use crate::desk::{Asker, AskingTask, Later, Listening, Open, Question};
use crate::identity::Identity;
use crate::lot::Full;
use crate::rooms::Room;

/// Tasks whose questions are waited for.
#[derive(Debug)]
pub(super) struct AskingTasks {
    open: Mutex<HashMap<TaskKey, Arc<Followed>>>,
    most: usize,
    /// Of one caller, where callers are known.
    most_of_one: usize,
    /// How long a client may stay away.
    life: Duration,
    /// The number of the last question, in time rather than in number: no task is asked two things
    /// under one name, not even when the gateway was started anew meanwhile.
    last: AtomicU64,
}

/// A task whose questions are waited for.
#[derive(Debug)]
pub(super) struct Followed {
    client: Identity,
    /// Where its server is.
    pub(super) room: Arc<Room>,
    state: Mutex<State>,
    /// It asks.
    asks: Notify,
    /// Nobody wants to know any more.
    ends: Notify,
}

#[derive(Debug)]
struct State {
    questions: BTreeMap<String, Question>,
    last_seen: Instant,
}

impl AskingTasks {
    pub(super) fn new(most: usize, most_of_one: usize, life: Duration) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_micros();
        Self {
            open: Mutex::default(),
            most,
            most_of_one,
            life,
            last: AtomicU64::new(u64::try_from(now).unwrap_or_default()),
        }
    }

    /// The task, if its questions are waited for. Its client is here now.
    pub(super) fn find(&self, key: &TaskKey) -> Option<Arc<Followed>> {
        let found = self.open().get(key).cloned();
        if let Some(found) = &found {
            found.state().last_seen = Instant::now();
        }
        found
    }

    /// The room of a task that is called so.
    pub(super) fn room_of(&self, key: &TaskKey) -> Option<Arc<Room>> {
        let open = self.open();
        let is_it = |one: &TaskKey| one.server == key.server && one.task == key.task;
        let (_, found) = open.iter().find(|(one, _)| is_it(one))?;
        Some(Arc::clone(&found.room))
    }

    pub(super) fn forget(&self, key: &TaskKey) {
        if let Some(followed) = self.open().remove(key) {
            followed.ends.notify_one();
        }
    }

    fn is_open(&self, key: &TaskKey, followed: &Arc<Followed>) -> bool {
        let open = self.open();
        open.get(key).is_some_and(|one| Arc::ptr_eq(one, followed))
    }

    /// Makes room for a task of this client.
    fn enter(
        &self,
        key: &TaskKey,
        room: &Arc<Room>,
        client: Identity,
    ) -> Result<Arc<Followed>, Full> {
        let mut open = self.open();
        if open.len() >= self.most {
            return Err(Full::All(self.most));
        }
        let same = open
            .values()
            .filter(|other| other.client.has_key() && other.client.has_same_rights(&client));
        if same.count() >= self.most_of_one {
            return Err(Full::Caller(self.most_of_one));
        }
        let followed = Arc::new(Followed {
            client,
            room: Arc::clone(room),
            state: Mutex::new(State {
                questions: BTreeMap::new(),
                last_seen: Instant::now(),
            }),
            asks: Notify::new(),
            ends: Notify::new(),
        });
        open.insert(key.clone(), Arc::clone(&followed));
        Ok(followed)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<TaskKey, Arc<Followed>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tasks {
    /// Waits for the questions of a task, for the client that makes this call.
    ///
    /// # Errors
    /// When too many are waited for.
    pub(super) fn follow(
        self: &Arc<Self>,
        room: &Arc<Room>,
        key: &TaskKey,
        context: &Context,
    ) -> Result<Arc<Followed>, Full> {
        let followed = self.asking.enter(key, room, Identity::of(context))?;
        let capabilities = Arc::new(context.capabilities().clone());
        let asker = Asker::Later(Later::of_one_away(capabilities));
        let task = AskingTask {
            id: key.task.clone(),
            shown: self.names.shown(key, context.principal()),
        };
        let (tasks, room, key) = (Arc::clone(self), Arc::clone(room), key.clone());
        let open = Open::for_task(asker, Arc::clone(&room), followed.client.clone(), task);
        let listening = Listening::to(Arc::clone(&open));
        let for_it = Arc::clone(&followed);
        tokio::spawn(async move {
            let params = TaskRequestParams::new(&*key.task);
            let call = room
                .hub
                .request_on(&key.server, Method::TasksResult.name(), Some(&params))
                .idle_timeout(None)
                .deadline(None)
                .seen_by(open);
            tasks.wait(&key, &for_it, call, listening).await;
            if tasks.asking.is_open(&key, &for_it) {
                tasks.asking.forget(&key);
            }
            tasks.hear(&key);
        });
        Ok(followed)
    }

    /// Keeps the questions of a task, until there will be none.
    async fn wait(
        self: &Arc<Self>,
        key: &TaskKey,
        followed: &Arc<Followed>,
        call: impl IntoFuture,
        listening: Listening,
    ) {
        let mut call = std::pin::pin!(call.into_future());
        while self.asking.is_open(key, followed) {
            let until = followed.state().last_seen + self.asking.life;
            tokio::select! {
                biased;
                questions = listening.questions() => {
                    for question in questions {
                        let number = self.asking.last.fetch_add(1, Ordering::Relaxed);
                        let name = format!("question-{number}");
                        followed.state().questions.insert(name, question);
                    }
                    followed.asks.notify_waiters();
                    self.hear(key);
                }
                _ = &mut call => return,
                () = followed.ends.notified() => {}
                () = sleep_until(until) => {
                    // Whoever hears of it need not ask.
                    let is_wanted = self.news.is_wanted(key);
                    let mut state = followed.state();
                    match is_wanted {
                        true => state.last_seen = Instant::now(),
                        false if state.last_seen + self.asking.life <= Instant::now() => {
                            self.turnstile.refusals().note("parkedSeconds");
                            return;
                        }
                        false => {}
                    }
                }
            }
        }
    }
}

impl Followed {
    /// May whoever makes this call answer?
    pub(super) fn is_of(&self, context: &Context) -> bool {
        self.client.has_same_rights(&Identity::of(context))
    }

    /// The questions that are open.
    pub(super) fn questions(&self) -> InputRequests {
        let mut state = self.state();
        // A server may give up waiting.
        state
            .questions
            .retain(|_, question| !question.answer.is_closed());
        let questions = state.questions.iter();
        questions
            .map(|(name, question)| (name.clone(), question.request.clone()))
            .collect()
    }

    /// The questions, once there are some. None if they take too long to come.
    pub(super) async fn first_questions(&self, refusals: &Refusals) -> InputRequests {
        let first = async {
            loop {
                let asks = self.asks.notified();
                if !self.questions().is_empty() {
                    return;
                }
                asks.await;
            }
        };
        match timeout(FOR_QUESTIONS, first).await {
            Ok(()) => {
                // Those that come together are asked together.
                tokio::time::sleep(TOGETHER).await;
                self.questions()
            }
            Err(_) => {
                refusals.note("taskQuestionSeconds");
                InputRequests::new()
            }
        }
    }

    /// Gives the task its answers; what it did not ask, or has heard already, is passed over.
    pub(super) fn answer(&self, answers: InputResponses) {
        for (name, answer) in answers {
            let question = self.state().questions.remove(&name);
            if let Some(question) = question
                && let Ok(answer) = Payload::encode::<RawJson>(&answer)
            {
                // The server may have given up waiting.
                let _ = question.answer.send(answer);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Longer than a server needs between two questions, and nothing to somebody who reads them.
const TOGETHER: Duration = Duration::from_millis(10);
/// A server that waits for input says what it wants to know as soon as somebody listens.
const FOR_QUESTIONS: Duration = Duration::from_secs(2);
