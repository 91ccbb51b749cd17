//! Asking about tasks: the requests, results and notifications.
//!
//! The task itself, in both its forms, is in `task`. 2025-11-25 has `tasks/result`
//! and `tasks/list`, the extension has `tasks/update`; the others are shared.
//!
//! Specification: 2025-11-25 basic/utilities/tasks; tasks extension.

use std::collections::BTreeMap;

use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::RawJson;
use crate::method::Method;
use crate::types::tagged;
use crate::types::{
    EmptyResult, Extra, Meta, Notification, PaginatedRequestParams, Request, ResultType, Task,
};

/// `tasks/get`
#[derive(Clone, Copy, Debug)]
pub struct GetTask;

impl Request for GetTask {
    const METHOD: Method = Method::TasksGet;
    type Params = TaskRequestParams;
    type Result = Task;
}

/// `tasks/update` (extension)
#[derive(Clone, Copy, Debug)]
pub struct UpdateTask;

impl Request for UpdateTask {
    const METHOD: Method = Method::TasksUpdate;
    type Params = UpdateTaskRequestParams;
    type Result = EmptyResult;
}

/// `tasks/cancel`
#[derive(Clone, Copy, Debug)]
pub struct CancelTask;

impl Request for CancelTask {
    const METHOD: Method = Method::TasksCancel;
    type Params = TaskRequestParams;
    type Result = CancelTaskResult;
}

/// `tasks/result` (2025-11-25); its result is that of the request that became the task.
#[derive(Clone, Copy, Debug)]
pub struct GetTaskPayload;

impl Request for GetTaskPayload {
    const METHOD: Method = Method::TasksResult;
    type Params = TaskRequestParams;
    type Result = RawJson;
}

/// `tasks/list` (2025-11-25)
#[derive(Clone, Copy, Debug)]
pub struct ListTasks;

impl Request for ListTasks {
    const METHOD: Method = Method::TasksList;
    type Params = PaginatedRequestParams;
    type Result = ListTasksResult;
}

/// `notifications/tasks/status` (2025-11-25)
#[derive(Clone, Copy, Debug)]
pub struct TaskStatusNotification;

impl Notification for TaskStatusNotification {
    const METHOD: Method = Method::TaskStatusChanged;
    type Params = Task;
}

/// `notifications/tasks` (extension)
#[derive(Clone, Copy, Debug)]
pub struct TaskNotification;

impl Notification for TaskNotification {
    const METHOD: Method = Method::TaskChanged;
    type Params = Task;
}

/// Says that a request became a task (2025-11-25).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateTaskResult {
    /// The task.
    pub task: Task,
    /// What kind of result this is; absent before 2026-07-28 and then complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CreateTaskResult {
    /// The request became this task.
    pub fn new(task: Task) -> Self {
        Self {
            task,
            result_type: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// Which task is meant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskRequestParams {
    /// Its id.
    pub task_id: String,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl TaskRequestParams {
    /// The task with this id.
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// Answers to what a task waits for (extension).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UpdateTaskRequestParams {
    /// Its id.
    pub task_id: String,
    /// Answers by the key of their question.
    pub input_responses: BTreeMap<String, RawJson>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl UpdateTaskRequestParams {
    /// Answers these questions of a task.
    pub fn new(task_id: impl Into<String>, input_responses: BTreeMap<String, RawJson>) -> Self {
        Self {
            task_id: task_id.into(),
            input_responses,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// What `tasks/cancel` answers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CancelTaskResult {
    /// 2025-11-25: the task as it now stands.
    Task(Box<Task>),
    /// Extension: the wish was heard.
    Acknowledged(EmptyResult),
}

impl Serialize for CancelTaskResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Task(task) => task.serialize(serializer),
            Self::Acknowledged(result) => result.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for CancelTaskResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Head {
            task_id: Option<IgnoredAny>,
        }
        let raw = tagged::object(deserializer)?;
        let head: Head = raw.decode().map_err(D::Error::custom)?;
        match head.task_id {
            Some(_) => tagged::decode(&raw).map(|task| Self::Task(Box::new(task))),
            None => tagged::decode(&raw).map(Self::Acknowledged),
        }
    }
}

/// One page of tasks (2025-11-25).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListTasksResult {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Where the next page begins, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What kind of result this is; absent before 2026-07-28 and then complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ListTasksResult {
    /// A last page with these tasks.
    pub fn new(tasks: Vec<Task>) -> Self {
        Self {
            tasks,
            next_cursor: None,
            result_type: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TaskStatus;

    #[test]
    fn a_cancelled_task_is_answered_by_the_task_or_by_nothing() {
        let read = |text| serde_json::from_str::<CancelTaskResult>(text).unwrap();
        assert!(matches!(
            read(r#"{"resultType":"complete"}"#),
            CancelTaskResult::Acknowledged(_)
        ));
        let task = Task::experimental("t", TaskStatus::Cancelled, "c");
        assert!(task.status.is_terminal());
        let text = serde_json::to_string(&task).unwrap();
        assert!(matches!(read(&text), CancelTaskResult::Task(t) if t.task_id == "t"));
    }
}
