//! What the server can do: one function for each tool, resource and prompt.
//!
//! They check what the types of the arguments cannot say, and leave the work to the
//! database. Whoever follows a resource hears of every change that this process makes.

use rusqlite::Connection;
use serde::Serialize;
use switchboard_server::{Failure, Handle, Json};

use crate::arguments::{
    Clearable, CompleteTask, CreateTask, DeleteTask, FoundTasks, GetTask, ListTasks, PlanDay,
    SearchTasks, TaskPage, TaskUri, UpdateTask,
};
use crate::database::Database;
use crate::error::TaskError;
use crate::store::{self, Change, Filter, NewTask, Search};
use crate::task::{Task, TaskId};

/// The tasks, and who hears when they change. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Tasks {
    database: Database,
    handle: Handle,
}

impl Tasks {
    pub(crate) const fn new(database: Database, handle: Handle) -> Self {
        Self { database, handle }
    }

    pub(crate) async fn create(self, create: CreateTask) -> Result<Json<Task>, Failure> {
        check_description(&create.description)?;
        check_notes(create.notes.as_deref())?;
        let task = NewTask {
            description: create.description,
            notes: create.notes,
            priority: create.priority,
            due: create.due,
        };
        self.change(move |connection| store::create(connection, &task))
            .await
    }

    pub(crate) async fn list(self, list: ListTasks) -> Result<Json<TaskPage>, Failure> {
        let after = match list.after {
            Some(after) => find_id(&after)?,
            None => TaskId(0),
        };
        let most = page_size(list.limit);
        let filter = Filter {
            status: list.status,
            priority: list.priority,
            due_by: list.due_by,
            after,
            // One more shows whether there is a next page.
            most: most + 1,
        };
        let listed = self
            .database
            .read(move |connection| store::list(connection, &filter));
        let (mut tasks, total) = listed.await?;
        let has_more = tasks.len() > usize::from(most);
        tasks.truncate(usize::from(most));
        let next = tasks.last().map(|task| task.id).filter(|_| has_more);
        Ok(Json(TaskPage { tasks, total, next }))
    }

    pub(crate) async fn get(self, get: GetTask) -> Result<Json<Task>, Failure> {
        let found = self.find(&get.id).await?;
        Ok(Json(found.ok_or(TaskError::NotFound { id: get.id })?))
    }

    pub(crate) async fn update(self, update: UpdateTask) -> Result<Json<Task>, Failure> {
        if let Some(description) = &update.description {
            check_description(description)?;
        }
        check_notes(update.notes.as_deref())?;
        let change = Change {
            clears_notes: update.clear.contains(&Clearable::Notes),
            clears_due: update.clear.contains(&Clearable::Due),
            description: update.description,
            notes: update.notes,
            status: update.status,
            priority: update.priority,
            due: update.due,
        };
        check_change(&change)?;
        self.change_one(update.id, move |connection, id| {
            store::update(connection, id, &change)
        })
        .await
    }

    pub(crate) async fn complete(self, complete: CompleteTask) -> Result<Json<Task>, Failure> {
        self.change_one(complete.id, store::complete).await
    }

    pub(crate) async fn delete(self, delete: DeleteTask) -> Result<Json<Task>, Failure> {
        self.change_one(delete.id, store::delete).await
    }

    pub(crate) async fn search(self, search: SearchTasks) -> Result<Json<FoundTasks>, Failure> {
        check_length("query", &search.query, MOST_DESCRIPTION)?;
        let search = Search {
            query: search.query,
            status: search.status,
            most: page_size(search.limit),
        };
        let found = self
            .database
            .read(move |connection| store::search(connection, &search));
        Ok(Json(FoundTasks {
            tasks: found.await?,
        }))
    }

    /// The newest state of one task, as JSON; none if there is no such task.
    pub(crate) async fn read_one(self, uri: TaskUri) -> Result<Option<String>, Failure> {
        let found = self.find(&uri.id).await?;
        Ok(found.as_ref().map(to_text).transpose()?)
    }

    /// The tasks that are not completed: what a person would call the list.
    pub(crate) async fn read_all(self) -> Result<String, Failure> {
        let open = self.database.read(store::list_open).await?;
        Ok(to_text(&FoundTasks { tasks: open })?)
    }

    pub(crate) async fn plan_day(self, plan: PlanDay) -> Result<String, Failure> {
        let PlanDay { date, hours } = plan;
        let chosen = self
            .database
            .read(move |connection| store::of_day(connection, date.as_ref(), MOST_OF_A_DAY));
        let (day, tasks) = chosen.await?;
        if tasks.is_empty() {
            return Ok(format!(
                "Nothing is due by {day}, begun, or of high priority. Look through the pending \
                 tasks with list_tasks, and suggest at most three for the day."
            ));
        }
        let time = hours.map_or(String::new(), |hours| format!(" There are {hours} hours."));
        let mut text = format!(
            "Plan {day} with these tasks: what to do first, what next, and what to put off to \
             which day.{time} Say why in a few words each, then ask before changing anything \
             with update_task.\n"
        );
        for task in tasks {
            text.push_str(&line(&task));
        }
        Ok(text)
    }

    /// The ids that begin like this, newest first, while somebody types one.
    pub(crate) async fn suggest_ids(self, typed: String) -> Vec<String> {
        let ids = self.database.read(store::newest_ids).await;
        let ids = ids.unwrap_or_default().into_iter();
        ids.map(|id| id.to_string())
            .filter(|id| id.starts_with(&typed))
            .collect()
    }

    async fn find(&self, id: &str) -> Result<Option<Task>, TaskError> {
        match TaskId::parse(id) {
            Some(id) => {
                let found = self
                    .database
                    .read(move |connection| store::find(connection, id));
                found.await
            }
            None => Ok(None),
        }
    }

    /// Changes the task of this name.
    async fn change_one(
        &self,
        name: String,
        work: impl FnOnce(&Connection, TaskId) -> Result<Option<Task>, TaskError> + Send + 'static,
    ) -> Result<Json<Task>, Failure> {
        let id = find_id(&name)?;
        self.change(move |connection| work(connection, id)?.ok_or(TaskError::NotFound { id: name }))
            .await
    }

    /// Changes a task and tells who follows it.
    async fn change(
        &self,
        work: impl FnOnce(&Connection) -> Result<Task, TaskError> + Send + 'static,
    ) -> Result<Json<Task>, Failure> {
        let handle = self.handle.clone();
        let announce = move |task: &Task| {
            handle.resource_updated(task.id.uri());
            handle.resource_updated(ALL_TASKS);
        };
        Ok(Json(self.database.write(work, announce).await?))
    }
}

/// A name that no task can have is that of no task.
fn find_id(name: &str) -> Result<TaskId, TaskError> {
    TaskId::parse(name).ok_or_else(|| TaskError::NotFound {
        id: name.to_owned(),
    })
}

fn check_description(description: &str) -> Result<(), TaskError> {
    let name = "description";
    if description.trim().is_empty() {
        return Err(TaskError::Blank { name });
    }
    check_length(name, description, MOST_DESCRIPTION)
}

fn check_notes(notes: Option<&str>) -> Result<(), TaskError> {
    check_length("notes", notes.unwrap_or_default(), MOST_NOTES)
}

fn check_length(name: &'static str, text: &str, most: usize) -> Result<(), TaskError> {
    // The characters are counted only as far as they matter.
    match text.chars().nth(most) {
        Some(_) => Err(TaskError::TooLong { name, most }),
        None => Ok(()),
    }
}

fn check_change(change: &Change) -> Result<(), TaskError> {
    if change.notes.is_some() && change.clears_notes {
        return Err(TaskError::GivenAndCleared { name: "notes" });
    }
    if change.due.is_some() && change.clears_due {
        return Err(TaskError::GivenAndCleared { name: "due" });
    }
    let changes_something = change.description.is_some()
        || change.notes.is_some()
        || change.clears_notes
        || change.status.is_some()
        || change.priority.is_some()
        || change.due.is_some()
        || change.clears_due;
    if changes_something {
        Ok(())
    } else {
        Err(TaskError::NothingToChange)
    }
}

fn page_size(limit: Option<u16>) -> u16 {
    limit.unwrap_or(PAGE).clamp(1, MOST_PAGE)
}

fn to_text(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value)
}

/// A task as a person would note it down.
fn line(task: &Task) -> String {
    let mut line = format!("\n- {}: {}", task.id, task.description);
    if let Some(due) = &task.due {
        line.push_str(&format!(" (due {due})"));
    }
    line
}

/// Where the open tasks can be read.
pub(crate) const ALL_TASKS: &str = "tasks://all";

// As the schemas of the arguments say.
const MOST_DESCRIPTION: usize = 500;
const MOST_NOTES: usize = 10_000;
const PAGE: u16 = 50;
const MOST_PAGE: u16 = 200;

/// Nobody does more in a day.
const MOST_OF_A_DAY: u16 = 50;
