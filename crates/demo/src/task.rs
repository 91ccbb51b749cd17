//! What a task is.
//!
//! Plain values: the doc comments become the descriptions in the schemas that clients see.

use std::fmt;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::date::Date;

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Task {
    /// Names the task in other calls, such as task_17. Never used again for another task.
    pub(crate) id: TaskId,
    /// What is to be done.
    pub(crate) description: String,
    /// Everything else worth knowing about it; null if there is nothing.
    pub(crate) notes: Option<String>,
    /// How far it has come.
    pub(crate) status: Status,
    /// How much it matters.
    pub(crate) priority: Priority,
    /// The day by which it should be done; null if there is none.
    pub(crate) due: Option<Date>,
    /// When it was made, in UTC.
    pub(crate) created_at: String,
    /// When it was last changed, in UTC.
    pub(crate) updated_at: String,
    /// When it was completed, in UTC; null if it is not.
    pub(crate) completed_at: Option<String>,
}

/// Names a task: `task_` and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String")]
pub(crate) struct TaskId(pub(crate) i64);

impl TaskId {
    /// None if no task can have this name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        // One name for each task: neither `task_+7` nor `task_07`.
        let is_plain = !digits.starts_with(['+', '-', '0']);
        let number = digits.parse().ok().filter(|_| is_plain);
        number.map(Self)
    }

    /// Where the task can be read.
    pub(crate) fn uri(self) -> String {
        format!("task://{self}")
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}

impl Serialize for TaskId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl ToSql for TaskId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.0.to_sql()
    }
}

impl FromSql for TaskId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        i64::column_result(value).map(Self)
    }
}

/// How far a task has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Pending,
    InProgress,
    Completed,
}

/// How much a task matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Priority {
    Low,
    #[default]
    Normal,
    High,
}

/// Words in the database are those of the protocol.
macro_rules! stored_as_word {
    ($type:ty { $($value:ident = $word:literal),* }) => {
        impl ToSql for $type {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(match self { $(Self::$value => $word),* }.into())
            }
        }

        impl FromSql for $type {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                match value.as_str()? {
                    $($word => Ok(Self::$value),)*
                    _ => Err(FromSqlError::InvalidType),
                }
            }
        }
    };
}

stored_as_word!(Status { Pending = "pending", InProgress = "in_progress", Completed = "completed" });
stored_as_word!(Priority { Low = "low", Normal = "normal", High = "high" });

const PREFIX: &str = "task_";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_has_one_name() {
        assert_eq!(TaskId::parse("task_17"), Some(TaskId(17)));
        assert_eq!(TaskId(17).to_string(), "task_17");
        for other in ["", "17", "task_", "task_+7", "task_07", "task_-1", "task_x"] {
            assert_eq!(TaskId::parse(other), None, "{other}");
        }
        assert_eq!(TaskId::parse("task_99999999999999999999"), None);
    }
}
