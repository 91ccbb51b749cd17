//! What the tools and the prompt take, and what lists and searches give.
//!
//! Doc comments are what the model reads: of a type, as the description of its tool; of a
//! field, as that of the parameter.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::date::Date;
use crate::task::{Priority, Status, Task, TaskId};

/// Creates a task, which is pending at first.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CreateTask {
    /// What is to be done, in one line.
    #[schemars(length(min = 1, max = 500))]
    pub(crate) description: String,
    /// Everything else worth knowing about it.
    #[schemars(length(max = 10_000))]
    pub(crate) notes: Option<String>,
    /// How much it matters; normal if nothing is said.
    #[serde(default)]
    pub(crate) priority: Priority,
    /// The day by which it should be done, as YYYY-MM-DD.
    pub(crate) due: Option<Date>,
}

/// Lists tasks, oldest first, a page at a time. All conditions that are given must hold.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ListTasks {
    /// Only tasks that have come this far.
    pub(crate) status: Option<Status>,
    /// Only tasks that matter this much.
    pub(crate) priority: Option<Priority>,
    /// Only tasks that are due on this day or before, as YYYY-MM-DD.
    pub(crate) due_by: Option<Date>,
    /// How many tasks a page has at most; 50 if nothing is said.
    #[schemars(range(min = 1, max = 200))]
    pub(crate) limit: Option<u16>,
    /// The `next` of the page before; without it, the first page.
    pub(crate) after: Option<String>,
}

/// Shows one task.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct GetTask {
    /// The id of the task, such as task_17.
    pub(crate) id: String,
}

/// Changes a task. What is not given stays as it is.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct UpdateTask {
    /// The id of the task, such as task_17.
    pub(crate) id: String,
    /// What is to be done, in one line.
    #[schemars(length(min = 1, max = 500))]
    pub(crate) description: Option<String>,
    /// Everything else worth knowing about it. Replaces the notes that are there.
    #[schemars(length(max = 10_000))]
    pub(crate) notes: Option<String>,
    /// How far it has come. A completed task can be opened again.
    pub(crate) status: Option<Status>,
    /// How much it matters.
    pub(crate) priority: Option<Priority>,
    /// The day by which it should be done, as YYYY-MM-DD.
    pub(crate) due: Option<Date>,
    /// What it shall have no longer.
    #[serde(default)]
    pub(crate) clear: Vec<Clearable>,
}

/// What a task need not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Clearable {
    Notes,
    Due,
}

/// Completes a task. One that is complete already stays as it is.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CompleteTask {
    /// The id of the task, such as task_17.
    pub(crate) id: String,
}

/// Deletes a task for good, and shows it a last time.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct DeleteTask {
    /// The id of the task, such as task_17.
    pub(crate) id: String,
}

/// Finds tasks by the words of their descriptions and notes, the best first.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SearchTasks {
    /// Words that a task must all have. The beginning of a word will do.
    #[schemars(length(min = 1, max = 500))]
    pub(crate) query: String,
    /// Only tasks that have come this far.
    pub(crate) status: Option<Status>,
    /// How many tasks to show at most; 50 if nothing is said.
    #[schemars(range(min = 1, max = 200))]
    pub(crate) limit: Option<u16>,
}

/// A page of tasks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TaskPage {
    /// The tasks of this page.
    pub(crate) tasks: Vec<Task>,
    /// How many tasks there are on all pages.
    pub(crate) total: u64,
    /// What to give as `after` for the next page; null if this is the last.
    pub(crate) next: Option<TaskId>,
}

/// Tasks that were found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FoundTasks {
    /// The tasks, the best first.
    pub(crate) tasks: Vec<Task>,
}

/// Plans a day: what to do, in which order, and what to leave.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PlanDay {
    /// The day, as YYYY-MM-DD; today if nothing is said.
    pub(crate) date: Option<Date>,
    /// How many hours there are for it.
    pub(crate) hours: Option<f64>,
}

/// The variables of `task://{id}`.
#[derive(Debug, Deserialize)]
pub(crate) struct TaskUri {
    pub(crate) id: String,
}
