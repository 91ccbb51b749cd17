//! Tasks of servers of 2025-11-25, in the words of the extension.
//!
//! The call becomes a task because we ask for it: the client has said that it can deal with one.
//! What comes of it is asked for when the client asks how it stands.
//!
//! Specification: tasks extension; 2025-11-25 basic/utilities/tasks.

use std::sync::Arc;

use memchr::memmem;
use switchboard_client::Payload;
use switchboard_hub::{HubError, ToolEntry};
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{
    ClientCapabilities, ResultType, TASKS_EXTENSION, Task, TaskStatus, TaskSupport,
    UpdateTaskRequestParams,
};
use switchboard_protocol::{Era, Method, RawJson};
use switchboard_server::Context;

use super::name::TaskKey;
use super::{Tasks, ask, form, ready_of, refused, whom};
use crate::relay::Inner;
use crate::relay::pursuit::Failed;
use crate::rooms::Room;

impl Inner {
    /// The parameters of a call of a stateless client that a server of 2025-11-25 is to run as a
    /// task, if it is. What the client itself says of a task counts for nothing.
    pub(super) fn as_newer_task(&self, context: &Context, tool: &ToolEntry) -> Option<Payload> {
        let support = tool.tool.task_support();
        let params = context.params()?;
        let is_declared = context.capabilities().has_extension(TASKS_EXTENSION);
        let is_wanted = is_declared && support != TaskSupport::Forbidden;
        let is_said = memmem::find(params.text(), TASK).is_some();
        if !is_wanted && !is_said {
            return None;
        }
        let ready = ready_of(&self.hub, &tool.server)?;
        let takes_tasks = ready.revision.era() == Era::Handshake
            && (ready.capabilities.tasks.as_ref()).is_some_and(|tasks| tasks.accepts_tool_calls());
        if !takes_tasks {
            return None;
        }
        let without = params.clone().passed_on(&[("task", None)]);
        if !is_wanted {
            return Some(without);
        }
        let mut members: std::collections::BTreeMap<String, RawJson> = without.decode().ok()?;
        members.insert("task".to_owned(), RawJson::parse("{}").ok()?);
        Payload::encode(&members).ok()
    }

    /// What a call has become that was to be a task.
    pub(super) fn newer_task(
        &self,
        result: &Payload,
        tool: &ToolEntry,
        context: &Context,
    ) -> Option<Payload> {
        let key = result.part("task")?;
        let room = self.rooms.of(context)?;
        let key = TaskKey::new(&*tool.server, key.string_member(form::TASK_ID)?).within(&room);
        let shown = self.tasks.names.shown(&key, context.principal());
        let task = form::created_newer(result, |_| shown)?;
        if can_be_asked(context.capabilities()) && !task.status.is_terminal() {
            // If there is no room for it now, there may be when it asks.
            let _ = self.tasks.follow(&room, &key, context);
        }
        Payload::encode(&task).ok()
    }

    /// A call of a stateless client that is for a task of 2025-11-25.
    pub(super) async fn call_for_older_task(
        &self,
        context: &Context,
        room: &Arc<Room>,
        key: &TaskKey,
    ) -> Result<Payload, Failed> {
        let tasks = &self.tasks;
        match context.method().known() {
            Some(Method::TasksGet) => {
                let stands = tasks.stands(room, key, Some(context), Era::Stateless);
                let mut task = stands.await?;
                task.task_id = tasks.names.shown(key, context.principal());
                encode(&task)
            }
            Some(Method::TasksUpdate) => {
                let params = context.params().cloned().unwrap_or_else(Payload::empty);
                let params: UpdateTaskRequestParams = params.decode().map_err(|error| {
                    Failed::Here(ErrorObject::invalid_params(error.to_string()))
                })?;
                match tasks.asking.find(key).filter(|task| task.is_of(context)) {
                    Some(task) => task.answer(params.input_responses),
                    // It asks nothing; but is there such a task?
                    None => drop(ask(room, key, Method::TasksGet, whom(Some(context))).await?),
                }
                Ok(Payload::empty())
            }
            Some(Method::TasksCancel) => {
                let cancelled = ask(room, key, Method::TasksCancel, whom(Some(context))).await;
                if let Err(error) = cancelled {
                    // One that is at its end already cannot be cancelled there.
                    let task = ask(room, key, Method::TasksGet, whom(Some(context))).await?;
                    let task: Task = read(&task)?;
                    if !task.status.is_terminal() {
                        return Err(Failed::Hub(error));
                    }
                }
                tasks.asking.forget(key);
                tasks.hear(key);
                Ok(Payload::empty())
            }
            _ => Err(Failed::Here(ErrorObject::method_not_found(
                context.method().as_str(),
            ))),
        }
    }
}

impl Tasks {
    /// How a task of 2025-11-25 stands, in the words of the extension: with its questions, its
    /// result or its error.
    pub(super) async fn in_full(
        self: &Arc<Self>,
        room: &Arc<Room>,
        key: &TaskKey,
        context: Option<&Context>,
        mut task: Task,
    ) -> Result<Task, Failed> {
        match task.status {
            TaskStatus::Working | TaskStatus::InputRequired => {
                let mut followed = self.asking.find(key);
                followed = followed.filter(|task| context.is_none_or(|one| task.is_of(one)));
                if followed.is_none()
                    && task.status == TaskStatus::InputRequired
                    && let Some(context) = context
                {
                    let began = self.follow(room, key, context);
                    followed =
                        Some(began.map_err(|full| Failed::Here(self.turnstile.no_place(full)))?);
                }
                let questions = match followed {
                    Some(followed) if task.status == TaskStatus::InputRequired => {
                        followed.first_questions(self.turnstile.refusals()).await
                    }
                    Some(followed) => followed.questions(),
                    None => Default::default(),
                };
                // What it asks is said with it; if that is not known, it goes on.
                task.status = match questions.is_empty() {
                    true => TaskStatus::Working,
                    false => TaskStatus::InputRequired,
                };
                task.input_requests = (!questions.is_empty()).then_some(questions);
            }
            TaskStatus::Completed | TaskStatus::Failed => {
                match ask(room, key, Method::TasksResult, whom(context)).await {
                    Ok(result) => {
                        let result = form::exposed(result, &room.hub.catalog(), &key.server);
                        let result = form::inlined(&result);
                        task.result = Some(result.map_err(|error| {
                            Failed::Here(ErrorObject::internal(error.to_string()))
                        })?);
                        // A tool that could not do its work has come to an end all the same.
                        task.status = TaskStatus::Completed;
                    }
                    Err(error) => match refused(&error) {
                        Some(refusal) if task.status == TaskStatus::Failed => {
                            task.error = RawJson::encode(refusal).ok();
                        }
                        _ => return Err(Failed::Hub(error)),
                    },
                }
            }
            TaskStatus::Cancelled => {}
        }
        form::to_newer(&mut task);
        task.result_type = Some(ResultType::Complete);
        Ok(task)
    }
}

/// Is there anything that it can be asked?
fn can_be_asked(client: &ClientCapabilities) -> bool {
    client.accepts_form()
        || client.accepts_url()
        || client.accepts_sampling()
        || client.accepts_roots()
}

pub(super) fn encode(value: &impl serde::Serialize) -> Result<Payload, Failed> {
    Payload::encode(value).map_err(|error| Failed::Here(ErrorObject::internal(error.to_string())))
}

/// Reads what a server says of a task.
pub(super) fn read(task: &Payload) -> Result<Task, Failed> {
    task.decode().map_err(|error| {
        let message = format!("what the server says of the task cannot be read: {error}");
        Failed::Here(ErrorObject::internal(message))
    })
}

impl From<HubError> for Failed {
    fn from(error: HubError) -> Self {
        Self::Hub(error)
    }
}

/// How a parameter begins that is called so.
const TASK: &[u8] = b"\"task\"";
