//! Which calls become tasks, and the methods that ask for them.
//!
//! Clients of the extension poll with `tasks/get` and answer questions with `tasks/update`;
//! those of 2025-11-25 wait in `tasks/result`, where questions are put to them.
//!
//! Specification: tasks extension; 2025-11-25 basic/utilities/tasks.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::json;
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject};
use switchboard_protocol::machine::server::Answer;
use switchboard_protocol::types::{
    CancelTaskResult, ClientCapabilities, ListTasksResult, PaginatedRequestParams,
    RelatedTaskMetadata, ServerCapabilities, TASKS_EXTENSION, TaskMetadata, TaskRequestParams,
    TaskRequestsCapability, UpdateTaskRequestParams, meta_key,
};
use switchboard_protocol::{Era, Method, Payload, RawJson};

use super::{Router, answer_with};
use crate::context::{AskError, Context};
use crate::service::{Call, Reply};
use crate::tasks::{
    Background, Claim, Grant, Live, StoreError, TaskError, TaskOwner, TaskRecord, TaskState,
};
use crate::tool::TaskMode;

/// How a call of a tool begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// The client waits for the result, unless the handler decides otherwise.
    Stay,
    /// It becomes a task if there is room for one.
    Try,
    /// It becomes a task.
    Must,
}

impl Plan {
    pub(super) async fn begin(self, context: &Context) -> Result<(), ErrorObject> {
        if self == Self::Stay {
            return Ok(());
        }
        match context.continue_as_task().await {
            Err(error) if self == Self::Must => Err(match error {
                TaskError::Full => ErrorObject::new(ErrorCode::BUSY, error.to_string()),
                error => ErrorObject::internal(error.to_string()),
            }),
            _ => Ok(()),
        }
    }
}

impl Router {
    /// How a call of a tool with this mode begins.
    pub(super) fn plan(
        &self,
        mode: TaskMode,
        params: &Payload,
        context: &Context,
    ) -> Result<Plan, ErrorObject> {
        let Some(tasks) = &self.tasks else {
            return match mode {
                TaskMode::Always => Err(ErrorObject::internal(
                    "the tool runs as a task only, and the server was started without tasks",
                )),
                // Whoever does not declare tasks ignores the wish for one.
                _ => Ok(Plan::Stay),
            };
        };
        let revision = context.revision();
        let (plan, life) = if revision.era() == Era::Stateless {
            (plan_stateless(mode, context.capabilities())?, None)
        } else if Method::TasksGet.exists_in(revision) {
            let wish = task_wish(params)?;
            let life = wish.as_ref().and_then(wanted_life);
            (plan_experimental(mode, wish.is_some())?, life)
        } else if mode == TaskMode::Always {
            return Err(no_method(&format!(
                "the tool runs as a task only, and revision {revision} has none"
            )));
        } else {
            (None, None)
        };
        let Some(plan) = plan else {
            if mode != TaskMode::Never {
                context.grant_task(Err(TaskError::NotWanted));
            }
            return Ok(Plan::Stay);
        };
        context.grant_task(Ok(Grant {
            background: Arc::clone(tasks.background()),
            life,
        }));
        Ok(plan)
    }

    pub(super) fn get_task(&self, call: Call) -> Reply {
        self.with_task(call, |asked: Asked<TaskRequestParams>| async move {
            let task = asked.task();
            answer_with(task, asked.context.revision())
        })
    }

    pub(super) fn update_task(&self, call: Call) -> Reply {
        self.with_task(call, |asked: Asked<UpdateTaskRequestParams>| async move {
            let background = &asked.background;
            // Without it the task is at its end or works elsewhere: nobody here asked.
            if let Some(live) = background.find_live(&asked.record.id) {
                let answers = asked.params.input_responses.into_iter();
                let answers = answers
                    .filter_map(|(key, answer)| Some((key, Ok(Payload::encode(&answer).ok()?))));
                if let Err(error) = background.answer(&live, answers).await {
                    return Answer::Error(broken(&error));
                }
            }
            Answer::Result(Payload::empty())
        })
    }

    pub(super) fn cancel_task(&self, call: Call) -> Reply {
        self.with_task(call, |mut asked: Asked<TaskRequestParams>| async move {
            let is_experimental = asked.context.revision().era() == Era::Handshake;
            if !asked.record.state.is_terminal() {
                match asked.background.cancel(&asked.record.id).await {
                    Ok(Some(cancelled)) if is_experimental => {
                        asked.record = cancelled;
                        let task = CancelTaskResult::Task(Box::new(asked.task()));
                        return answer_with(task, asked.context.revision());
                    }
                    // It may have come to its end just now.
                    Ok(_) => {}
                    Err(error) => return Answer::Error(broken(&error)),
                }
            }
            if is_experimental {
                return Answer::Error(ErrorObject::invalid_params(
                    "the task is at its end and cannot be cancelled",
                ));
            }
            Answer::Result(Payload::empty())
        })
    }

    pub(super) fn list_tasks(&self, call: Call) -> Reply {
        let Some(background) = self.background() else {
            return unknown_method(&call);
        };
        let params: PaginatedRequestParams = match decode(call.params.as_ref()) {
            Ok(params) => params,
            Err(error) => return Reply::Now(Answer::Error(error)),
        };
        let (context, limit) = (call.context, self.page);
        Reply::later(async move {
            let owner = context.task_owner();
            if owner == TaskOwner::Anyone {
                // They belong to whoever knows their ids, which a list would tell everyone.
                return answer_with(ListTasksResult::new(Vec::new()), context.revision());
            }
            let cursor = params.cursor.as_deref();
            match background.store().list(&owner, cursor, limit).await {
                Ok(page) => {
                    let interval = background.limits().poll_interval;
                    let tasks = page.tasks.iter().map(|task| task.to_task(interval));
                    let mut result = ListTasksResult::new(tasks.collect());
                    result.next_cursor = page.next;
                    answer_with(result, context.revision())
                }
                Err(error @ StoreError::BadCursor) => {
                    Answer::Error(ErrorObject::invalid_params(error.to_string()))
                }
                Err(error) => Answer::Error(broken(&error)),
            }
        })
    }

    pub(super) fn task_result(&self, call: Call) -> Reply {
        self.with_task(call, |asked: Asked<TaskRequestParams>| async move {
            match asked.outcome().await {
                Ok(result) => Answer::Result(result),
                Err(error) => Answer::Error(error),
            }
        })
    }

    fn background(&self) -> Option<Arc<Background>> {
        self.tasks
            .as_ref()
            .map(|tasks| Arc::clone(tasks.background()))
    }

    /// Finds the task that a call is for, if the caller may ask for it.
    fn with_task<P, F>(&self, call: Call, act: impl FnOnce(Asked<P>) -> F + Send + 'static) -> Reply
    where
        P: OfTask,
        F: Future<Output = Answer> + Send + 'static,
    {
        let Some(background) = self.background() else {
            return unknown_method(&call);
        };
        let params: P = match decode(call.params.as_ref()) {
            Ok(params) => params,
            Err(error) => return Reply::Now(Answer::Error(error)),
        };
        let context = call.context;
        Reply::later(async move {
            let owner = context.task_owner();
            let record = match background.store().find(&owner, params.task_id()).await {
                Ok(Some(record)) => record,
                // The same whether it is somebody else's or nobody's.
                Ok(None) => return Answer::Error(unknown_task()),
                Err(error) => return Answer::Error(broken(&error)),
            };
            act(Asked {
                background,
                owner,
                record,
                params,
                context,
            })
            .await
        })
    }
}

/// A call that is for a task.
struct Asked<P> {
    background: Arc<Background>,
    owner: TaskOwner,
    record: TaskRecord,
    params: P,
    context: Context,
}

impl<P> Asked<P> {
    fn task(&self) -> switchboard_protocol::types::Task {
        self.record.to_task(self.background.limits().poll_interval)
    }

    /// 2025-11-25: what came of the task, when it is at its end. Until then the client is
    /// asked what the task asks.
    async fn outcome(mut self) -> Result<Payload, ErrorObject> {
        let mut asked_before = Vec::new();
        loop {
            let id = self.record.id.clone();
            let live = self.background.find_live(&id);
            let changed = live.as_ref().map(|live| live.changed());
            let found = self.background.store().find(&self.owner, &id).await;
            self.record = found
                .map_err(|error| broken(&error))?
                .ok_or_else(unknown_task)?;
            match &self.record.state {
                TaskState::Completed(result) => return related(result, &id),
                TaskState::Failed(error) => return Err(error.clone()),
                TaskState::Cancelled => {
                    return Err(ErrorObject::internal("the task was cancelled"));
                }
                TaskState::Working | TaskState::InputRequired(_) => {}
            }
            let (Some(live), Some(changed)) = (&live, changed) else {
                // Its work is done elsewhere, or it has just come to its end.
                tokio::time::sleep(ELSEWHERE).await;
                continue;
            };
            match live.claim(&asked_before) {
                Some(claim) => {
                    asked_before.push(claim.key.clone());
                    self.put(live, &claim).await?;
                }
                None => changed.await,
            }
        }
    }

    /// Puts a question of the task to the client.
    async fn put(&self, live: &Live, claim: &Claim) -> Result<(), ErrorObject> {
        let mut question = claim.question.clone();
        question.params = Some(marked(question.params.as_ref(), &live.id)?);
        let mut relayed = pin!(self.context.relay(question));
        let answer = loop {
            let changed = live.changed();
            if !live.is_open(&claim.key) {
                return Ok(());
            }
            tokio::select! {
                biased;
                answer = &mut relayed => break answer,
                () = changed => {}
            }
        };
        match answer {
            // It could not be put here; another may try.
            Err(AskError::Ended | AskError::NotDeclared(_)) => Ok(()),
            answer => {
                let answered = [(claim.key.clone(), answer)];
                let answered = self.background.answer(live, answered).await;
                answered.map_err(|error| broken(&error))
            }
        }
    }
}

/// Parameters that name a task.
trait OfTask: DeserializeOwned + Send + 'static {
    fn task_id(&self) -> &str;
}

impl OfTask for TaskRequestParams {
    fn task_id(&self) -> &str {
        &self.task_id
    }
}

impl OfTask for UpdateTaskRequestParams {
    fn task_id(&self) -> &str {
        &self.task_id
    }
}

/// Says that there are tasks: as the extension, and in the way of 2025-11-25. Which of them
/// a client sees is decided by its revision.
pub(super) fn declare(capabilities: &mut ServerCapabilities) {
    let extensions = capabilities.extensions.get_or_insert_default();
    extensions.insert(TASKS_EXTENSION.to_owned(), json!({}));
    let mut requests = TaskRequestsCapability::default();
    let mut tools = serde_json::Map::new();
    tools.insert("call".to_owned(), json!({}));
    requests.tools = Some(tools);
    let tasks = capabilities.tasks.get_or_insert_default();
    tasks.list = Some(serde_json::Map::new());
    tasks.cancel = Some(serde_json::Map::new());
    tasks.requests = Some(requests);
}

/// The server decides, for clients that declare the extension.
fn plan_stateless(
    mode: TaskMode,
    capabilities: &ClientCapabilities,
) -> Result<Option<Plan>, ErrorObject> {
    let is_declared = capabilities.has_extension(TASKS_EXTENSION);
    Ok(match mode {
        TaskMode::Always if is_declared => Some(Plan::Must),
        TaskMode::Always => {
            let mut required = ClientCapabilities::default();
            let extensions = required.extensions.get_or_insert_default();
            extensions.insert(TASKS_EXTENSION.to_owned(), json!({}));
            return Err(ErrorObject::missing_capabilities(required));
        }
        TaskMode::WhenPossible if is_declared => Some(Plan::Try),
        TaskMode::ByHandler if is_declared => Some(Plan::Stay),
        TaskMode::WhenPossible | TaskMode::ByHandler | TaskMode::Never => None,
    })
}

/// 2025-11-25: the client decides, within what the tool says.
fn plan_experimental(mode: TaskMode, is_wanted: bool) -> Result<Option<Plan>, ErrorObject> {
    match (mode, is_wanted) {
        (TaskMode::Never, true) => Err(no_method("the tool does not run as a task")),
        (TaskMode::Always, false) => Err(no_method("the tool runs as a task only: add `task`")),
        (_, true) => Ok(Some(Plan::Must)),
        (_, false) => Ok(None),
    }
}

/// 2025-11-25: what a call says of the task that it wants to be.
fn task_wish(params: &Payload) -> Result<Option<TaskMetadata>, ErrorObject> {
    let Some(wish) = params.member("task") else {
        return Ok(None);
    };
    serde_json::from_slice(wish)
        .map_err(|error| ErrorObject::invalid_params(format!("task: {error}")))
}

fn wanted_life(wish: &TaskMetadata) -> Option<Duration> {
    let milliseconds = wish.ttl.as_ref()?.as_f64()?.max(0.0);
    Duration::try_from_secs_f64(milliseconds / 1_000.0).ok()
}

/// The result of a task, which says what task it is of.
fn related(result: &RawJson, id: &str) -> Result<Payload, ErrorObject> {
    let result = serde_json::from_str(result.as_str());
    mark(result.map_err(internal)?, id).map_err(internal)
}

/// The parameters of a question, which say what task it is of.
fn marked(params: Option<&Payload>, id: &str) -> Result<Payload, ErrorObject> {
    let params = params.map_or(Ok(BTreeMap::new()), |params| {
        serde_json::from_slice(params.text())
    });
    mark(params.map_err(internal)?, id).map_err(internal)
}

fn mark(mut members: BTreeMap<String, RawJson>, id: &str) -> Result<Payload, serde_json::Error> {
    let meta = members.get("_meta").map(|meta| meta.decode());
    let mut meta: BTreeMap<String, RawJson> = meta.transpose()?.unwrap_or_default();
    let related = RawJson::encode(&RelatedTaskMetadata::new(id))?;
    meta.insert(meta_key::RELATED_TASK.to_owned(), related);
    members.insert("_meta".to_owned(), RawJson::encode(&meta)?);
    Payload::encode(&members)
}

fn decode<T: DeserializeOwned>(params: Option<&Payload>) -> Result<T, ErrorObject> {
    let text = params.map_or(&b"{}"[..], |params| params.text());
    serde_json::from_slice(text).map_err(|error| ErrorObject::invalid_params(error.to_string()))
}

fn unknown_method(call: &Call) -> Reply {
    Reply::Now(Answer::Error(ErrorObject::method_not_found(
        call.method.as_str(),
    )))
}

fn unknown_task() -> ErrorObject {
    ErrorObject::invalid_params("there is no such task (any more)")
}

fn no_method(message: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, message)
}

fn broken(error: &StoreError) -> ErrorObject {
    internal(error)
}

fn internal(error: impl std::fmt::Display) -> ErrorObject {
    ErrorObject::internal(error.to_string())
}

/// How often to look at a task whose work is done in another process.
const ELSEWHERE: Duration = Duration::from_secs(1);
