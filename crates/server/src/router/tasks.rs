//! The methods that ask for tasks.
//!
//! Clients of the extension poll with `tasks/get` and answer questions with `tasks/update`;
//! those of 2025-11-25 wait in `tasks/result`, which is in `task_result`.
//!
//! Specification: tasks extension; 2025-11-25 basic/utilities/tasks.

use std::future::Future;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::machine::server::Answer;
use switchboard_protocol::types::{
    CancelTaskResult, ListTasksResult, PaginatedRequestParams, Task, TaskRequestParams,
    UpdateTaskRequestParams,
};
use switchboard_protocol::{Era, Payload};

use super::{Router, answer_with};
use crate::context::Context;
use crate::service::{Call, Reply};
use crate::tasks::{Background, StoreError, TaskOwner, TaskRecord};

impl Router {
    pub(super) fn get_task(&self, call: Call<'_>) -> Reply {
        self.with_task(call, |asked: Asked<TaskRequestParams>| async move {
            let task = asked.task();
            answer_with(task, asked.context.revision())
        })
    }

    pub(super) fn update_task(&self, call: Call<'_>) -> Reply {
        self.with_task(call, |asked: Asked<UpdateTaskRequestParams>| async move {
            let background = &asked.background;
            // Without it the task is at its end or works elsewhere: nobody here asked.
            if let Some(live) = background.find_live(&asked.record.id) {
                let answers = asked.params.input_responses.into_iter();
                let answers = answers
                    .filter_map(|(key, answer)| Some((key, Ok(Payload::encode(&answer).ok()?))));
                if let Err(error) = background.answer(&live, answers).await {
                    return Answer::Error(internal(&error));
                }
            }
            Answer::Result(Payload::empty())
        })
    }

    pub(super) fn cancel_task(&self, call: Call<'_>) -> Reply {
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
                    Err(error) => return Answer::Error(internal(&error)),
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

    pub(super) fn list_tasks(&self, call: Call<'_>) -> Reply {
        let Some(background) = self.background() else {
            return unknown_method(&call);
        };
        let params: PaginatedRequestParams = match decode(call.params()) {
            Ok(params) => params,
            Err(error) => return Reply::Now(Answer::Error(error)),
        };
        let (context, limit) = (call.context.clone(), self.page);
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
                Err(error) => Answer::Error(internal(&error)),
            }
        })
    }

    pub(super) fn task_result(&self, call: Call<'_>) -> Reply {
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
    fn with_task<P, F>(
        &self,
        call: Call<'_>,
        act: impl FnOnce(Asked<P>) -> F + Send + 'static,
    ) -> Reply
    where
        P: OfTask,
        F: Future<Output = Answer> + Send + 'static,
    {
        let Some(background) = self.background() else {
            return unknown_method(&call);
        };
        let params: P = match decode(call.params()) {
            Ok(params) => params,
            Err(error) => return Reply::Now(Answer::Error(error)),
        };
        let context = call.context.clone();
        Reply::later(async move {
            let owner = context.task_owner();
            let record = match background.store().find(&owner, params.task_id()).await {
                Ok(Some(record)) => record,
                // The same whether it is somebody else's or nobody's.
                Ok(None) => return Answer::Error(unknown_task()),
                Err(error) => return Answer::Error(internal(&error)),
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
pub(super) struct Asked<P> {
    pub(super) background: Arc<Background>,
    pub(super) owner: TaskOwner,
    pub(super) record: TaskRecord,
    params: P,
    pub(super) context: Context,
}

impl<P> Asked<P> {
    fn task(&self) -> Task {
        self.record.to_task(self.background.limits().poll_interval)
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

fn decode<T: DeserializeOwned>(params: Option<&Payload>) -> Result<T, ErrorObject> {
    let text = params.map_or(&b"{}"[..], |params| params.text());
    serde_json::from_slice(text).map_err(|error| ErrorObject::invalid_params(error.to_string()))
}

fn unknown_method(call: &Call<'_>) -> Reply {
    Reply::Now(Answer::Error(ErrorObject::method_not_found(
        call.method.as_str(),
    )))
}

pub(super) fn unknown_task() -> ErrorObject {
    ErrorObject::invalid_params("there is no such task (any more)")
}

pub(super) fn internal(error: impl std::fmt::Display) -> ErrorObject {
    ErrorObject::internal(error.to_string())
}
