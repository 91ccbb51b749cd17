//! Why a call does not become a task.

use std::fmt;

use super::StoreError;

/// Why a call does not become a task. It can go on without.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskError {
    /// The tool was not given a [`TaskMode`](crate::TaskMode) that lets it, or this is no
    /// call of a tool.
    NotOffered,
    /// The client cannot deal with tasks, or did not want one.
    NotWanted,
    /// There are as many tasks as the server keeps.
    Full,
    /// The task cannot be stored.
    NotStored(String),
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOffered => f.write_str("the call cannot become a task: set the TaskMode"),
            Self::NotWanted => f.write_str("the client does not take a task as the answer"),
            Self::Full => f.write_str("there are too many tasks: try again later"),
            Self::NotStored(why) => write!(f, "the task cannot be stored: {why}"),
        }
    }
}

impl std::error::Error for TaskError {}

impl From<StoreError> for TaskError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full => Self::Full,
            other => Self::NotStored(other.to_string()),
        }
    }
}
