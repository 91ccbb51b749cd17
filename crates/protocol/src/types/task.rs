//! A task: a request that goes on after its answer.
//!
//! Two forms that are not compatible on the wire share one type: the
//! experimental one of 2025-11-25 (`ttl`, `pollInterval`, nested in its
//! creating result) and that of the extension `io.modelcontextprotocol/tasks`
//! (`ttlMs`, `pollIntervalMs`, flat, with result and questions inside).
//!
//! Specification: 2025-11-25 basic/utilities/tasks; tasks extension.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Number;

use crate::RawJson;
use crate::types::caching::{milliseconds, to_milliseconds};
use crate::types::tagged;
use crate::types::{Extra, InputRequests, Meta, ResultType};

/// Where a task stands.
///
/// Also the result of `tasks/get`, the parameters of both notifications and,
/// in the extension, the result that says that a request became a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// Its id; opaque and hard to guess.
    pub task_id: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// What is being done or went wrong, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When it was created, in ISO 8601.
    pub created_at: String,
    /// When it last changed, in ISO 8601.
    pub last_updated_at: String,
    /// 2025-11-25: how long it is kept; read it with [`Self::time_to_live`].
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "tagged::present"
    )]
    pub ttl: Option<TaskTtl>,
    /// 2025-11-25: how long to wait between polls; read it with [`Self::poll_interval`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<Number>,
    /// Extension: how long it is kept; read it with [`Self::time_to_live`].
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "tagged::present"
    )]
    pub ttl_ms: Option<TaskTtl>,
    /// Extension: how long to wait between polls; read it with [`Self::poll_interval`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<Number>,
    /// Extension: what it waits for, when it waits for input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// Extension: the result of the request, when it is completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// Extension: the JSON-RPC error of the request, when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RawJson>,
    /// What kind of result this is, when it is one of the extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// What the sender attached beside the data.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Task {
    /// A task in the form of 2025-11-25, kept without limit.
    pub fn experimental(
        task_id: impl Into<String>,
        status: TaskStatus,
        created_at: impl Into<String>,
    ) -> Self {
        Self {
            ttl: Some(TaskTtl::Unlimited),
            ..Self::bare(task_id.into(), status, created_at.into())
        }
    }

    /// A task in the form of the extension, kept without limit.
    pub fn extension(
        task_id: impl Into<String>,
        status: TaskStatus,
        created_at: impl Into<String>,
    ) -> Self {
        Self {
            ttl_ms: Some(TaskTtl::Unlimited),
            ..Self::bare(task_id.into(), status, created_at.into())
        }
    }

    /// How long it is kept after its creation, in either form; `None` is without limit.
    pub fn time_to_live(&self) -> Option<Duration> {
        match self.ttl_ms.as_ref().or(self.ttl.as_ref())? {
            TaskTtl::Unlimited => None,
            TaskTtl::Milliseconds(number) => Some(milliseconds(number)),
        }
    }

    /// How long to wait between polls, in either form, if it says.
    pub fn poll_interval(&self) -> Option<Duration> {
        let number = self
            .poll_interval_ms
            .as_ref()
            .or(self.poll_interval.as_ref());
        number.map(milliseconds)
    }

    fn bare(task_id: String, status: TaskStatus, created_at: String) -> Self {
        Self {
            task_id,
            status,
            status_message: None,
            last_updated_at: created_at.clone(),
            created_at,
            ttl: None,
            poll_interval: None,
            ttl_ms: None,
            poll_interval_ms: None,
            input_requests: None,
            result: None,
            error: None,
            result_type: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// It is being worked on.
    Working,
    /// It waits for input.
    InputRequired,
    /// It is done and its result can be had.
    Completed,
    /// It ended with an error.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl TaskStatus {
    /// Will it never change again?
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// How long a task is kept.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskTtl {
    /// Without limit: `null` on the wire.
    Unlimited,
    /// So many milliseconds.
    Milliseconds(Number),
}

impl From<Duration> for TaskTtl {
    fn from(duration: Duration) -> Self {
        Self::Milliseconds(to_milliseconds(duration))
    }
}

impl Serialize for TaskTtl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unlimited => serializer.serialize_none(),
            Self::Milliseconds(number) => number.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for TaskTtl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Option::<Number>::deserialize(deserializer)?;
        Ok(number.map_or(Self::Unlimited, Self::Milliseconds))
    }
}

/// Asks that a request run as a task (2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskMetadata {
    /// How long the task should be kept, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Number>,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The task that a message belongs to (2025-11-25), in `_meta`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RelatedTaskMetadata {
    /// Its id.
    pub task_id: String,
    /// Members that this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl RelatedTaskMetadata {
    /// The task with this id.
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
            extra: Extra::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_written_as_they_are() {
        for text in [
            r#"{"taskId":"t","status":"working","createdAt":"c","lastUpdatedAt":"l","ttl":60000,"pollInterval":500}"#,
            r#"{"taskId":"t","status":"working","createdAt":"c","lastUpdatedAt":"l","ttl":null}"#,
            r#"{"taskId":"t","status":"completed","createdAt":"c","lastUpdatedAt":"l","ttlMs":60000,"pollIntervalMs":500,"result":{ "a" : 1.0 },"resultType":"complete"}"#,
            r#"{"taskId":"t","status":"input_required","createdAt":"c","lastUpdatedAt":"l","ttlMs":null,"inputRequests":{"k":{"method":"roots/list"}}}"#,
        ] {
            let task: Task = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&task).unwrap(), text);
        }
    }

    #[test]
    fn both_forms_answer_the_same_questions() {
        let mut task = Task::experimental("t", TaskStatus::Working, "c");
        assert_eq!((task.time_to_live(), task.poll_interval()), (None, None));
        task.ttl = Some(Duration::from_secs(1).into());
        assert_eq!(task.time_to_live(), Some(Duration::from_secs(1)));
        let mut task = Task::extension("t", TaskStatus::Working, "c");
        assert_eq!(task.time_to_live(), None);
        task.poll_interval_ms = Some(20.into());
        assert_eq!(task.poll_interval(), Some(Duration::from_millis(20)));
    }

    #[test]
    fn a_task_that_ended_never_changes_again() {
        let check = |status: TaskStatus, expected| {
            assert_eq!(status.is_terminal(), expected, "{status:?}");
        };
        check(TaskStatus::Working, false);
        check(TaskStatus::InputRequired, false);
        check(TaskStatus::Completed, true);
        check(TaskStatus::Failed, true);
        check(TaskStatus::Cancelled, true);
    }
}
