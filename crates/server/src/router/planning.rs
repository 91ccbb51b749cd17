//! Which calls of tools become tasks.
//!
//! The server decides for clients of the extension, the client in 2025-11-25; what the tool
//! says of itself binds both. The methods that ask for tasks are in `tasks`.
//!
//! Specification: tasks extension; 2025-11-25 basic/utilities/tasks (tool-level negotiation).

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject};
use switchboard_protocol::types::{
    ClientCapabilities, ServerCapabilities, TASKS_EXTENSION, TaskMetadata, TaskRequestsCapability,
};
use switchboard_protocol::{Era, Method, Payload};

use super::Router;
use crate::context::Context;
use crate::tasks::{Grant, TaskError};
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
                TaskError::Full => {
                    ErrorObject::over_limit(ErrorCode::BUSY, error.to_string(), "tasks", None)
                }
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

fn no_method(message: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, message)
}
