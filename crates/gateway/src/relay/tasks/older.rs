//! Tasks of the extension, in the words of 2025-11-25.
//!
//! The client says which call is to be a task, the server decides. What the server answers at once
//! is a task that is at its end. What a task asks its client is asked while that waits for the
//! result.
//!
//! Specification: 2025-11-25 basic/utilities/tasks; tasks extension.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use memchr::memmem;
use serde_json::json;
use switchboard_client::Payload;
use switchboard_hub::{Hub, ToolEntry};
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{
    CallToolResult, InputRequest, TASKS_EXTENSION, Task, TaskStatus, UpdateTaskRequestParams,
};
use switchboard_protocol::{Era, Method, RawJson, Revision};
use switchboard_server::{Answer, AskError, Context};
use tokio::time::{Instant, sleep};

use super::name::TaskKey;
use super::newer::{encode, read};
use super::news::Listener;
use super::{ask, form, ready_of, unknown, whom};
use crate::relay::pursuit::Failed;
use crate::relay::{Inner, answers, caller};
use crate::rooms::Room;

impl Inner {
    /// Is this call of a client of 2025-11-25 to be a task of a server of the stateless era?
    pub(super) fn is_older_task(&self, context: &Context, tool: &ToolEntry) -> bool {
        let Some(params) = context.params() else {
            return false;
        };
        memmem::find(params.text(), TASK).is_some()
            && has_tasks(context.revision())
            && params.member("task").is_some()
            && ready_of(&self.hub, &tool.server).is_some_and(|ready| {
                ready.revision.era() == Era::Stateless
                    && ready.capabilities.has_extension(TASKS_EXTENSION)
            })
    }

    /// Makes a call that may become a task at a server of the stateless era.
    pub(super) async fn call_as_older_task(
        &self,
        context: &Context,
        name: &str,
        tool: &ToolEntry,
    ) -> Result<Answer, Failed> {
        let result = self.call_with_tasks(context, name).await?;
        match result.result_type().as_deref() {
            Some("input_required") => Ok(Answer::InputRequired(result)),
            Some("task") => {
                let mut task = read(&result)?;
                let key = TaskKey::new(&*tool.server, &*task.task_id);
                task.task_id = self.tasks.names.shown(&key, context.principal());
                self.listen_to_own(context, &key, Era::Stateless);
                encode(&form::created_older(task)).map(Answer::Result)
            }
            _ => {
                let result = match answers::fit::<CallToolResult>(result, context.revision()) {
                    Answer::Result(result) => result,
                    other => return Ok(other),
                };
                let ended = self.tasks.ended.keep(result, self.turnstile.refusals());
                let mut task = ended.ok_or_else(|| {
                    Failed::Here(ErrorObject::internal("the system has no randomness"))
                })?;
                let key = TaskKey::new(HERE, &*task.task_id);
                task.task_id = self.tasks.names.shown(&key, context.principal());
                encode(&form::created_older(task)).map(Answer::Result)
            }
        }
    }

    /// Makes a call of a client that knows no tasks, at a server that makes one of it. The client
    /// waits for what comes of it.
    pub(super) async fn call_and_wait(
        &self,
        context: &Context,
        name: &str,
        tool: &ToolEntry,
    ) -> Result<Answer, Failed> {
        let result = self.call_with_tasks(context, name).await?;
        if result.result_type().as_deref() != Some("task") {
            return Ok(answers::fit::<CallToolResult>(result, context.revision()));
        }
        let key = TaskKey::new(&*tool.server, &*read(&result)?.task_id);
        let room = self.rooms.of(context);
        let room = room.ok_or_else(|| Failed::Here(self.turnstile.no_room()))?;
        let mut abandoned = Abandoned(Some((Arc::clone(&room), key.clone())));
        let result = self.outcome(context, &room, &key, None).await;
        abandoned.0 = None;
        let result = form::exposed(result?, &self.hub.catalog(), &key.server);
        Ok(answers::fit::<CallToolResult>(result, context.revision()))
    }

    async fn call_with_tasks(&self, context: &Context, name: &str) -> Result<Payload, Failed> {
        let params = context.params().cloned().unwrap_or_else(Payload::empty);
        let whom = caller::whom_with_tasks(context);
        self.pass(context, params, whom, |hub: &Hub| hub.call(name))
            .await
    }

    /// A call of a client of 2025-11-25 that is for a task of the extension.
    pub(super) async fn call_for_newer_task(
        &self,
        context: &Context,
        room: &Arc<Room>,
        key: &TaskKey,
    ) -> Result<Payload, Failed> {
        let shown = self.tasks.names.shown(key, context.principal());
        match context.method().known() {
            Some(Method::TasksGet) => {
                let stands = self.tasks.stands(room, key, Some(context), Era::Handshake);
                let mut task = stands.await?;
                task.task_id = shown;
                encode(&task)
            }
            Some(Method::TasksResult) => {
                let result = self.outcome(context, room, key, Some(&shown)).await?;
                let result = form::exposed(result, &self.hub.catalog(), &key.server);
                match answers::fit::<CallToolResult>(result, context.revision()) {
                    Answer::Result(result) => Ok(form::with_related(Some(&result), &shown)),
                    Answer::Error(error) => Err(Failed::Here(error)),
                    _ => Err(Failed::Here(ErrorObject::internal(
                        "the task has no result",
                    ))),
                }
            }
            Some(Method::TasksCancel) => {
                let mut task = self.cancel(context, room, key).await?;
                task.task_id = shown;
                self.tasks.hear(key);
                encode(&task)
            }
            _ => Err(Failed::Here(ErrorObject::method_not_found(
                context.method().as_str(),
            ))),
        }
    }

    /// A call of a client of 2025-11-25 that is for a call that was over at once.
    pub(super) fn call_for_ended(
        &self,
        context: &Context,
        key: &TaskKey,
    ) -> Result<Payload, Failed> {
        let found = self.tasks.ended.find(&key.task);
        let (mut task, result) = found.ok_or_else(|| Failed::Here(unknown()))?;
        let shown = self.tasks.names.shown(key, context.principal());
        match context.method().known() {
            Some(Method::TasksGet) => {
                task.task_id = shown;
                encode(&task)
            }
            Some(Method::TasksResult) => Ok(form::with_related(Some(&result), &shown)),
            Some(Method::TasksCancel) => Err(at_its_end()),
            _ => Err(Failed::Here(ErrorObject::method_not_found(
                context.method().as_str(),
            ))),
        }
    }

    /// What comes of a task, when it is at its end. Until then the client is asked what the task
    /// asks; if it knows the task, the questions say which it is.
    async fn outcome(
        &self,
        context: &Context,
        room: &Arc<Room>,
        key: &TaskKey,
        shown: Option<&str>,
    ) -> Result<Payload, Failed> {
        let mut asked = Vec::new();
        loop {
            let task = ask(room, key, Method::TasksGet, whom(Some(context))).await?;
            let task: Task = read(&task)?;
            match task.status {
                TaskStatus::Completed => {
                    let result = task.result.as_ref();
                    let missing =
                        || ErrorObject::internal("a task that is completed has no result");
                    return encode(result.ok_or_else(|| Failed::Here(missing()))?);
                }
                TaskStatus::Failed => return Err(Failed::Here(error_of(&task))),
                TaskStatus::Cancelled => {
                    let message = "the task was cancelled";
                    return Err(Failed::Here(ErrorObject::internal(message)));
                }
                TaskStatus::InputRequired => {
                    for (name, question) in task.input_requests.iter().flatten() {
                        if !asked.contains(name) {
                            asked.push(name.clone());
                            let answer = put(context, question, shown).await?;
                            answer_task(room, key, context, name, answer).await?;
                        }
                    }
                }
                TaskStatus::Working => {}
            }
            let interval = task.poll_interval().unwrap_or(POLL);
            sleep(interval.clamp(SHORTEST_POLL, LONGEST_POLL)).await;
        }
    }

    /// Cancels a task, and says how it stands then.
    async fn cancel(
        &self,
        context: &Context,
        room: &Arc<Room>,
        key: &TaskKey,
    ) -> Result<Task, Failed> {
        let stands = || self.tasks.stands(room, key, Some(context), Era::Handshake);
        if stands().await?.status.is_terminal() {
            return Err(at_its_end());
        }
        ask(room, key, Method::TasksCancel, whom(Some(context))).await?;
        // There, it is heard and may be done later; here, it is done when it is answered.
        let until = Instant::now() + FOR_CANCELLING;
        loop {
            let task = stands().await?;
            match task.status {
                TaskStatus::Cancelled => return Ok(task),
                TaskStatus::Completed | TaskStatus::Failed => return Err(at_its_end()),
                _ if Instant::now() >= until => {
                    self.turnstile.refusals().note("taskCancelSeconds");
                    return Ok(task);
                }
                _ => sleep(SHORTEST_POLL).await,
            }
        }
    }

    /// A client of 2025-11-25 hears of the tasks that its calls have become.
    pub(super) fn listen_to_own(&self, context: &Context, key: &TaskKey, server: Era) {
        if let (Some(room), Some(connection)) = (self.rooms.of(context), context.connection()) {
            let shown = self.tasks.names.shown(key, context.principal());
            let listener = Listener::new(connection, Era::Handshake, shown);
            let key = key.clone().within(&room);
            self.tasks.listen(&room, &key, server, listener);
        }
    }
}

/// Does a client of this revision know tasks of the older kind?
pub(super) fn has_tasks(revision: Revision) -> bool {
    Method::TasksResult.exists_in(revision)
}

/// Puts a question of a task to the client that waits for it.
async fn put(
    context: &Context,
    question: &InputRequest,
    shown: Option<&str>,
) -> Result<RawJson, Failed> {
    let bad = |message: String| Failed::Here(ErrorObject::internal(message));
    let method = Method::from_name(&question.method);
    let method = method.ok_or_else(|| bad(format!("the task asks {:?}", question.method)))?;
    let params = question.params.as_ref().map(Payload::encode).transpose();
    let mut params = params.map_err(|error| bad(error.to_string()))?;
    if let Some(shown) = shown {
        params = Some(form::with_related(params.as_ref(), shown));
    }
    match context.put(method, params).await {
        Ok(answer) => answer.decode().map_err(|error| bad(error.to_string())),
        // Nobody may be there any more who could be asked.
        Err(AskError::Ended) => Err(bad(AskError::Ended.to_string())),
        // There is no other word for it that the server knows.
        Err(_) if method == Method::ElicitationCreate => {
            RawJson::encode(&json!({"action": "cancel"})).map_err(|error| bad(error.to_string()))
        }
        Err(AskError::Refused(error)) => Err(Failed::Here(error)),
        Err(error) => Err(bad(error.to_string())),
    }
}

async fn answer_task(
    room: &Arc<Room>,
    key: &TaskKey,
    context: &Context,
    name: &str,
    answer: RawJson,
) -> Result<(), Failed> {
    let answers = BTreeMap::from([(name.to_owned(), answer)]);
    let params = UpdateTaskRequestParams::new(&*key.task, answers);
    let call = room
        .hub
        .request_on(&key.server, Method::TasksUpdate.name(), Some(&params))
        .on_behalf(whom(Some(context)));
    call.await?;
    Ok(())
}

fn error_of(task: &Task) -> ErrorObject {
    let said = task.error.as_ref().and_then(|error| error.decode().ok());
    said.unwrap_or_else(|| {
        let message = task.status_message.as_deref();
        ErrorObject::internal(message.unwrap_or("the task has failed"))
    })
}

fn at_its_end() -> Failed {
    let message = "the task is at its end and cannot be cancelled";
    Failed::Here(ErrorObject::invalid_params(message))
}

/// A task that nobody waits for any more is cancelled at its server.
struct Abandoned(Option<(Arc<Room>, TaskKey)>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        if let Some((room, key)) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            // What is answered changes nothing.
            runtime.spawn(async move {
                drop(ask(&room, &key, Method::TasksCancel, whom(None)).await);
            });
        }
    }
}

/// The server of calls that were over at once: no server has no name.
pub(super) const HERE: &str = "";
/// How a parameter begins that is called so.
const TASK: &[u8] = b"\"task\"";
/// How often to ask when the server does not say.
const POLL: Duration = Duration::from_millis(500);
const SHORTEST_POLL: Duration = Duration::from_millis(50);
const LONGEST_POLL: Duration = Duration::from_secs(60);
/// How long a server may take to cancel a task.
const FOR_CANCELLING: Duration = Duration::from_secs(5);
