//! Makes tasks of calls, and does their work when the calls have been answered.
//!
//! Every change goes to the store first and then to those who want to hear of it: streams
//! of the stateless era that listen to the task, and the session of 2025-11-25 that it
//! began in.
//!
//! Specification: tasks extension; 2025-11-25 basic/utilities/tasks.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use serde::Serialize;
use switchboard_protocol::jsonrpc::{ErrorObject, Notification};
use switchboard_protocol::machine::server::{Answer, Change, Input};
use switchboard_protocol::revision::StepDown;
use switchboard_protocol::types::{
    CallToolResult, CreateTaskResult, InputRequest, ResultType, Task,
};
use switchboard_protocol::{Era, Method, Payload, RawJson, Refusals, Revision};
use tokio::time::sleep;

use super::live::Live;
use super::{StoreError, TaskChange, TaskError, TaskLimits, TaskOwner, TaskRecord, TaskStore};
use crate::audience::Audience;
use crate::context::{AskError, Context, Question};
use crate::link::Link;
use crate::runner::Running;

/// The tasks of a server. When this is dropped, those that still work are stopped.
pub(crate) struct Tasks(Arc<Background>);

impl Tasks {
    pub(crate) fn new(
        store: Arc<dyn TaskStore>,
        limits: TaskLimits,
        audience: Arc<Audience>,
    ) -> Self {
        Self(Arc::new(Background {
            store,
            limits,
            audience,
            live: Mutex::default(),
        }))
    }

    pub(crate) const fn background(&self) -> &Arc<Background> {
        &self.0
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        for live in self.0.live().values() {
            live.stop();
        }
    }
}

/// Does the work of tasks.
pub(crate) struct Background {
    store: Arc<dyn TaskStore>,
    limits: TaskLimits,
    audience: Arc<Audience>,
    /// The tasks whose work is done here.
    live: Mutex<HashMap<String, Arc<Live>>>,
}

/// A call may become a task.
#[derive(Clone)]
pub(crate) struct Grant {
    pub(crate) background: Arc<Background>,
    /// How long the client wants it to be kept, if it says.
    pub(crate) life: Option<Duration>,
}

/// A task that is in the store, and whose work is to go on in the background.
pub(crate) struct Begun {
    background: Arc<Background>,
    record: TaskRecord,
    live: Arc<Live>,
}

impl Begun {
    pub(crate) const fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// Goes on with the work, and says what the call is answered with.
    pub(crate) fn go_on(self, running: Running, revision: Revision) -> Answer {
        let Self {
            background,
            record,
            live,
        } = self;
        let task = record.to_task(background.limits.poll_interval);
        background
            .live()
            .insert(record.id.clone(), Arc::clone(&live));
        let worker = tokio::spawn(background.work(Arc::clone(&live), running, record.life));
        live.work_by(worker.abort_handle());
        created(task, revision)
    }
}

impl Background {
    /// Puts a new task into the store.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        owner: TaskOwner,
        session: Option<Weak<dyn Link>>,
        life: Option<Duration>,
        refusals: Refusals,
    ) -> Result<Begun, TaskError> {
        if self.live().len() >= self.limits.total {
            refusals.note("tasks");
            return Err(TaskError::Full);
        }
        let life = life.unwrap_or(self.limits.life).max(SHORTEST_LIFE);
        let life = life.min(self.limits.max_life);
        let id = new_id().ok_or_else(|| TaskError::NotStored("no randomness".to_owned()))?;
        let record = TaskRecord::new(id, owner, SystemTime::now(), life);
        let created = self.store.create(record.clone()).await;
        if created == Err(StoreError::Full) {
            refusals.note("tasks");
        }
        created?;
        let live = Arc::new(Live::new(record.id.clone(), session, refusals));
        Ok(Begun {
            background: Arc::clone(self),
            record,
            live,
        })
    }

    /// Asks whoever follows the task, and waits for the answer.
    pub(crate) async fn ask(
        &self,
        live: &Arc<Live>,
        name: &str,
        question: Question,
    ) -> Result<Payload, AskError> {
        let request = request_of(&question)?;
        let mut asking = live.open(name, question, self.limits.questions)?;
        let key = asking.key.clone();
        match self.change(live, TaskChange::Asked { key, request }).await {
            Ok(Some(_)) => asking.answer().await,
            Ok(None) | Err(_) => Err(AskError::Ended),
        }
    }

    /// Gives a task answers to its questions. Those that it does not ask are ignored.
    pub(crate) async fn answer(
        &self,
        live: &Live,
        answers: impl IntoIterator<Item = (String, Result<Payload, AskError>)>,
    ) -> Result<(), StoreError> {
        let mut settled = Vec::new();
        for (key, answer) in answers {
            if live.answer(&key, answer) {
                settled.push(key);
            }
        }
        if !settled.is_empty() {
            self.change(live, TaskChange::Settled(settled)).await?;
        }
        Ok(())
    }

    /// Cancels a task: none if it is at its end already.
    pub(crate) async fn cancel(&self, id: &str) -> Result<Option<TaskRecord>, StoreError> {
        let Some(live) = self.find_live(id) else {
            // Its work is done elsewhere, and what comes of it will be refused.
            return self.store.change(id, TaskChange::Cancelled).await;
        };
        let cancelled = self.change(&live, TaskChange::Cancelled).await?;
        if cancelled.is_some() {
            self.live().remove(id);
            live.stop();
        }
        Ok(cancelled)
    }

    /// The task, if its work is done here.
    pub(crate) fn find_live(&self, id: &str) -> Option<Arc<Live>> {
        self.live().get(id).cloned()
    }

    pub(crate) fn store(&self) -> &dyn TaskStore {
        &*self.store
    }

    pub(crate) const fn limits(&self) -> &TaskLimits {
        &self.limits
    }

    /// Does the work of a task until it is done or its time is over.
    async fn work(self: Arc<Self>, live: Arc<Live>, running: Running, life: Duration) {
        let _end = EndOfTask(running.context().clone());
        let outcome = {
            let mut running = pin!(running);
            let mut time_out = pin!(sleep(life));
            loop {
                tokio::select! {
                    biased;
                    answer = &mut running => break self.outcome(&live, answer),
                    keys = live.withdrawn() => {
                        // If the store does not work, the question stays until the task ends.
                        let _ = self.change(&live, TaskChange::Settled(keys)).await;
                    }
                    () = &mut time_out => {
                        live.refusals.note("taskLife");
                        break TaskChange::Failed(ErrorObject::internal(
                            "the task did not end in its time to live",
                        ));
                    }
                }
            }
        };
        if let Err(error) = self.change(&live, outcome).await {
            if error == StoreError::Full {
                live.refusals.note("taskResults");
            }
            // What there is no room for fits as an error.
            let reason = format!("the result cannot be kept: {error}");
            let failed = TaskChange::Failed(ErrorObject::internal(reason));
            let _ = self.change(&live, failed).await;
        }
        self.live().remove(&live.id);
    }

    /// What the answer of a handler means for its task.
    fn outcome(&self, live: &Live, answer: Answer) -> TaskChange {
        let result = match answer {
            Answer::Result(result) => result,
            Answer::Text(text) => CallToolResult::text_payload(&text),
            Answer::Error(error) => return TaskChange::Failed(error),
            _ => {
                let reason = "a task asks through its context, not by its result";
                return TaskChange::Failed(ErrorObject::internal(reason));
            }
        };
        if result.length() > self.limits.result {
            live.refusals.note("taskResult");
            return TaskChange::Failed(ErrorObject::internal(format!(
                "the result has more than the {} bytes that are kept of a task",
                self.limits.result
            )));
        }
        match serde_json::from_slice::<RawJson>(result.text()) {
            Ok(result) => TaskChange::Completed(result),
            Err(error) => TaskChange::Failed(ErrorObject::internal(error.to_string())),
        }
    }

    /// Changes a task and tells whoever wants to hear of it.
    async fn change(
        &self,
        live: &Live,
        change: TaskChange,
    ) -> Result<Option<TaskRecord>, StoreError> {
        let changed = self.store.change(&live.id, change).await;
        if let Ok(Some(record)) = &changed {
            self.announce(live, record);
        }
        live.has_changed();
        changed
    }

    fn announce(&self, live: &Live, record: &TaskRecord) {
        let task = record.to_task(self.limits.poll_interval);
        if let Some(session) = &live.session {
            let notification = Method::TaskStatusChanged;
            if let Some(session) = session.upgrade()
                && let Some(params) = payload(task.clone(), Revision::V2025_11_25)
            {
                session.tell(Input::Notify {
                    key: None,
                    notification: Notification::new(notification, Some(params)),
                });
            }
        }
        if let Some(params) = payload(task, Revision::LATEST) {
            let id = record.id.clone();
            let change = Change::Task { id, params };
            self.audience
                .tell_if(&change, |link| link.hears(&record.owner));
        }
    }

    fn live(&self) -> MutexGuard<'_, HashMap<String, Arc<Live>>> {
        // Nothing that runs under the lock leaves it half done.
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells whoever waits for the end of the task that it has come, however it came.
struct EndOfTask(Context);

impl Drop for EndOfTask {
    fn drop(&mut self) {
        self.0.end_task();
    }
}

/// What a call is answered with that has become a task.
fn created(mut task: Task, revision: Revision) -> Answer {
    let result = match revision.era() {
        Era::Stateless => {
            task.result_type = Some(ResultType::Task);
            payload(task, revision)
        }
        Era::Handshake => payload(CreateTaskResult::new(task), revision),
    };
    match result {
        Some(result) => Answer::Result(result),
        None => Answer::Error(ErrorObject::internal("the task cannot be written as JSON")),
    }
}

fn payload<T: Serialize + StepDown>(mut value: T, revision: Revision) -> Option<Payload> {
    value.step_down(revision);
    Payload::encode(&value).ok()
}

/// A question as clients see it in a task.
fn request_of(question: &Question) -> Result<InputRequest, AskError> {
    let bad = |error: serde_json::Error| AskError::BadQuestion(error.to_string());
    let mut request = InputRequest::roots();
    question.method.name().clone_into(&mut request.method);
    let params = question.params.as_ref();
    let params = params.map(|params| serde_json::from_slice(params.text()));
    request.params = params.transpose().map_err(bad)?;
    Ok(request)
}

/// An id that cannot be guessed.
fn new_id() -> Option<String> {
    let mut bytes = [0; 24];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

/// A task can be asked for when it has just been created, whatever the client says.
const SHORTEST_LIFE: Duration = Duration::from_secs(1);
