//! A call that has become a task: asked about until it is over.
//!
//! Both kinds: the extension of 2026-07-28, where the server decides and `tasks/get` brings
//! the result, and 2025-11-25, where the client decides and `tasks/result` does.
//!
//! Specification: tasks extension; 2025-11-25 basic/utilities/tasks.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject};
use switchboard_protocol::types::{CreateTaskResult, Task, TaskRequestParams, TaskStatus};
use switchboard_protocol::{Era, Method, Payload};

use crate::call::{Options, decode};
use crate::error::ErrorKind;

/// The task that a call has become, if it has.
pub(crate) fn begun(era: Era, as_task: bool, payload: &Payload) -> Result<Option<Task>, ErrorKind> {
    match era {
        // Nearly every result says so, and saying it is cheaper to see than not saying it.
        Era::Stateless if payload.is_complete() => Ok(None),
        Era::Stateless if payload.result_type().as_deref() == Some("task") => {
            decode(payload).map(Some)
        }
        // Only what was asked for becomes one.
        Era::Handshake if as_task && payload.member("task").is_some() => {
            Ok(Some(decode::<CreateTaskResult>(payload)?.task))
        }
        _ => Ok(None),
    }
}

/// The result of a call that has become a task.
pub(crate) async fn follow(
    options: &mut Options,
    era: Era,
    task: Task,
) -> Result<Payload, ErrorKind> {
    let id = task.task_id.clone();
    let mut guard = Abandoned {
        client: options.client.clone(),
        id: Some(id.clone()),
    };
    let outcome = wait(options, era, task).await;
    let is_over = !matches!(&outcome, Err(kind) if gave_up(kind));
    if is_over {
        guard.id = None;
    }
    outcome
}

/// Did we stop waiting, so that the task goes on without us?
fn gave_up(kind: &ErrorKind) -> bool {
    matches!(kind, ErrorKind::Cancelled | ErrorKind::TimedOut(_))
}

async fn wait(options: &mut Options, era: Era, mut task: Task) -> Result<Payload, ErrorKind> {
    let params = params(&task.task_id)?;
    loop {
        match (task.status, era) {
            (TaskStatus::Completed, Era::Stateless) => {
                let result = task
                    .result
                    .as_ref()
                    .ok_or_else(|| unreadable("a completed task has no result"))?;
                return Payload::encode(result)
                    .map_err(|error| ErrorKind::Unreadable(Arc::new(error)));
            }
            // In the older form this also brings the error of a task that failed, and while the
            // server waits for us it is where its questions come.
            (
                TaskStatus::Completed | TaskStatus::Failed | TaskStatus::InputRequired,
                Era::Handshake,
            ) => {
                return options.send(Method::TasksResult.into(), Some(params)).await;
            }
            (TaskStatus::Failed, Era::Stateless) => return Err(failed(&task)),
            (TaskStatus::Cancelled, _) => return Err(ErrorKind::TaskCancelled),
            (TaskStatus::InputRequired, Era::Stateless) => {
                crate::task_input::give(options, &task).await?;
            }
            (TaskStatus::Working, _) => {}
        }
        let interval = pause(&task);
        let limits = options.timeouts();
        if let (Some(left), Some(total)) = (limits.left(), limits.total)
            && interval > left
        {
            return Err(ErrorKind::from(total));
        }
        options.pause(interval).await?;
        let payload = options
            .send(Method::TasksGet.into(), Some(params.clone()))
            .await?;
        task = decode(&payload)?;
    }
}

/// How long to wait before asking again, as the server says, within reason.
fn pause(task: &Task) -> Duration {
    let wanted = task.poll_interval().unwrap_or(POLL);
    wanted.clamp(SHORTEST_POLL, LONGEST_POLL)
}

fn failed(task: &Task) -> ErrorKind {
    #[derive(Deserialize)]
    struct Shape {
        code: i64,
        message: String,
    }
    let error = task
        .error
        .as_ref()
        .and_then(|text| text.decode::<Shape>().ok());
    let error = match error {
        Some(shape) => ErrorObject::new(ErrorCode(shape.code), shape.message),
        None => ErrorObject::internal(
            task.status_message
                .clone()
                .unwrap_or_else(|| "the task failed".to_owned()),
        ),
    };
    ErrorKind::Refused(error)
}

fn params(id: &str) -> Result<Payload, ErrorKind> {
    Payload::encode(&TaskRequestParams::new(id))
        .map_err(|error| ErrorKind::BadArguments(Arc::new(error)))
}

fn unreadable(what: &str) -> ErrorKind {
    ErrorKind::Unreadable(Arc::new(serde::de::Error::custom(what)))
}

/// A task that nobody waits for any more is cancelled at the server.
struct Abandoned {
    client: crate::Client,
    id: Option<String>,
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else {
            return;
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let client = self.client.clone();
        runtime.spawn(async move {
            // The answer changes nothing: we no longer want the task either way.
            let _ = client.cancel_task(&id).deadline(FAREWELL).await;
        });
    }
}

/// How often to ask when the server does not say.
const POLL: Duration = Duration::from_millis(500);
const SHORTEST_POLL: Duration = Duration::from_millis(50);
const LONGEST_POLL: Duration = Duration::from_secs(60);

/// How long a task that nobody wants any more may take to be cancelled.
const FAREWELL: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_asked_neither_without_pause_nor_too_late() {
        let check = |wanted: Option<u64>, milliseconds: u64| {
            let mut task = Task::extension("t", TaskStatus::Working, "2026-07-28T00:00:00Z");
            task.poll_interval_ms = wanted.map(Into::into);
            assert_eq!(
                pause(&task),
                Duration::from_millis(milliseconds),
                "{wanted:?}"
            );
        };
        check(None, 500);
        check(Some(0), 50);
        check(Some(200), 200);
        check(Some(3_600_000), 60_000);
    }
}
