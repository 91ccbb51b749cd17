//! What is done to tasks, in SQL.
//!
//! Every function is given a connection inside a transaction; who opens and ends it is in
//! `database.rs`. What users write is bound to statements and never becomes part of their
//! text; the words of a search have a syntax of their own, see [`match_all`].

use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use crate::date::Date;
use crate::error::TaskError;
use crate::task::{Priority, Status, Task, TaskId};

/// A task to be made.
#[derive(Debug, Default)]
pub(crate) struct NewTask {
    pub(crate) description: String,
    pub(crate) notes: Option<String>,
    pub(crate) priority: Priority,
    pub(crate) due: Option<Date>,
}

/// What becomes of a task; what is not there stays as it is.
#[derive(Debug, Default)]
pub(crate) struct Change {
    pub(crate) description: Option<String>,
    pub(crate) notes: Option<String>,
    pub(crate) clears_notes: bool,
    pub(crate) status: Option<Status>,
    pub(crate) priority: Option<Priority>,
    pub(crate) due: Option<Date>,
    pub(crate) clears_due: bool,
}

/// Which tasks are listed.
#[derive(Debug)]
pub(crate) struct Filter {
    pub(crate) status: Option<Status>,
    pub(crate) priority: Option<Priority>,
    pub(crate) due_by: Option<Date>,
    pub(crate) after: TaskId,
    pub(crate) most: u16,
}

/// Which tasks are looked for.
#[derive(Debug)]
pub(crate) struct Search {
    pub(crate) query: String,
    pub(crate) status: Option<Status>,
    pub(crate) most: u16,
}

pub(crate) fn create(connection: &Connection, task: &NewTask) -> Result<Task, TaskError> {
    let insert = format!(
        "INSERT INTO task (description, notes, priority, due) VALUES (?1, ?2, ?3, ?4)
         RETURNING {COLUMNS}"
    );
    let values = params![task.description, task.notes, task.priority, task.due];
    Ok(connection
        .prepare_cached(&insert)?
        .query_row(values, read_task)?)
}

pub(crate) fn find(connection: &Connection, id: TaskId) -> Result<Option<Task>, TaskError> {
    let select = format!("SELECT {COLUMNS} FROM task WHERE id = ?1");
    let mut statement = connection.prepare_cached(&select)?;
    Ok(statement.query_row([id], read_task).optional()?)
}

/// None if there is no such task.
pub(crate) fn update(
    connection: &Connection,
    id: TaskId,
    change: &Change,
) -> Result<Option<Task>, TaskError> {
    let update = format!(
        "UPDATE task SET
            description = coalesce(:description, description),
            notes = iif(:clears_notes, NULL, coalesce(:notes, notes)),
            status = coalesce(:status, status),
            priority = coalesce(:priority, priority),
            due = iif(:clears_due, NULL, coalesce(:due, due)),
            updated_at = {NOW},
            completed_at = iif(coalesce(:status, status) = 'completed',
                               coalesce(completed_at, {NOW}), NULL)
         WHERE id = :id RETURNING {COLUMNS}"
    );
    let values = named_params! {
        ":id": id,
        ":description": change.description,
        ":clears_notes": change.clears_notes,
        ":notes": change.notes,
        ":status": change.status,
        ":priority": change.priority,
        ":clears_due": change.clears_due,
        ":due": change.due,
    };
    let mut statement = connection.prepare_cached(&update)?;
    Ok(statement.query_row(values, read_task).optional()?)
}

/// Completes a task, unless it is complete already. None if there is no such task.
pub(crate) fn complete(connection: &Connection, id: TaskId) -> Result<Option<Task>, TaskError> {
    match find(connection, id)? {
        Some(task) if task.status != Status::Completed => {
            let change = Change {
                status: Some(Status::Completed),
                ..Change::default()
            };
            update(connection, id, &change)
        }
        found => Ok(found),
    }
}

/// The task as it was. None if there is no such task.
pub(crate) fn delete(connection: &Connection, id: TaskId) -> Result<Option<Task>, TaskError> {
    let delete = format!("DELETE FROM task WHERE id = ?1 RETURNING {COLUMNS}");
    let mut statement = connection.prepare_cached(&delete)?;
    Ok(statement.query_row([id], read_task).optional()?)
}

/// A page of tasks, oldest first, and how many there are on all pages together.
pub(crate) fn list(
    connection: &Connection,
    filter: &Filter,
) -> Result<(Vec<Task>, u64), TaskError> {
    let page = format!(
        "SELECT {COLUMNS} FROM task WHERE {FILTERED} AND id > :after ORDER BY id LIMIT :most"
    );
    let mut statement = connection.prepare_cached(&page)?;
    let values = named_params! {
        ":status": filter.status,
        ":priority": filter.priority,
        ":due_by": filter.due_by,
        ":after": filter.after,
        ":most": filter.most,
    };
    let tasks = statement
        .query_map(values, read_task)?
        .collect::<Result<_, _>>()?;
    let count = format!("SELECT count(*) FROM task WHERE {FILTERED}");
    let values = named_params! {
        ":status": filter.status,
        ":priority": filter.priority,
        ":due_by": filter.due_by,
    };
    let mut statement = connection.prepare_cached(&count)?;
    let total: i64 = statement.query_row(values, |row| row.get(0))?;
    Ok((tasks, total.unsigned_abs()))
}

/// The tasks that are not completed, oldest first.
pub(crate) fn list_open(connection: &Connection) -> Result<Vec<Task>, TaskError> {
    let select = format!(
        "SELECT {COLUMNS} FROM task WHERE status <> 'completed' ORDER BY id LIMIT {MOST_OPEN}"
    );
    let mut statement = connection.prepare_cached(&select)?;
    let tasks = statement.query_map([], read_task)?;
    Ok(tasks.collect::<Result<_, _>>()?)
}

/// The ids of the newest tasks, newest first.
pub(crate) fn newest_ids(connection: &Connection) -> Result<Vec<TaskId>, TaskError> {
    let select = format!("SELECT id FROM task ORDER BY id DESC LIMIT {MOST_OPEN}");
    let mut statement = connection.prepare_cached(&select)?;
    let ids = statement.query_map([], |row| row.get(0))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// The tasks that have all the words of a query, the best first.
pub(crate) fn search(connection: &Connection, search: &Search) -> Result<Vec<Task>, TaskError> {
    let words = match_all(&search.query).ok_or(TaskError::NothingToSearch)?;
    let select = format!(
        "SELECT {COLUMNS} FROM task
         JOIN (SELECT rowid AS found, rank AS score FROM task_words WHERE task_words MATCH ?1)
           ON found = id
         WHERE ?2 IS NULL OR status = ?2
         ORDER BY score, id LIMIT ?3"
    );
    let mut statement = connection.prepare_cached(&select)?;
    let found = statement.query_map(params![words, search.status, search.most], read_task)?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// The tasks that a day is for: begun, or due by then, or of high priority.
/// Without a day: today, where the server is. Gives the day, too.
pub(crate) fn of_day(
    connection: &Connection,
    day: Option<&Date>,
    most: u16,
) -> Result<(Date, Vec<Task>), TaskError> {
    let day = connection
        .prepare_cached("SELECT coalesce(?1, date('now', 'localtime'))")?
        .query_row([day], |row| row.get(0))?;
    let select = format!(
        "SELECT {COLUMNS} FROM task
         WHERE status <> 'completed'
           AND (status = 'in_progress' OR due <= ?1 OR priority = 'high')
         ORDER BY due IS NULL, due, priority <> 'high', id LIMIT ?2"
    );
    let mut statement = connection.prepare_cached(&select)?;
    let tasks = statement.query_map(params![day, most], read_task)?;
    let tasks = tasks.collect::<Result<_, _>>()?;
    Ok((day, tasks))
}

/// A query in the syntax of FTS5: all words, each possibly only begun. None without words.
///
/// Words go into quotes, so that none of them is an operator or a column.
fn match_all(query: &str) -> Option<String> {
    let words = query
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| word.contains(char::is_alphanumeric));
    let quoted: Vec<String> = words
        .take(MOST_WORDS)
        .map(|word| format!("\"{}\"*", word.replace('"', "\"\"")))
        .collect();
    (!quoted.is_empty()).then(|| quoted.join(" "))
}

fn read_task(row: &Row<'_>) -> rusqlite::Result<Task> {
    Ok(Task {
        id: row.get(0)?,
        description: row.get(1)?,
        notes: row.get(2)?,
        status: row.get(3)?,
        priority: row.get(4)?,
        due: row.get(5)?,
        created_at: row.get(6)?,
        updated_at: row.get(7)?,
        completed_at: row.get(8)?,
    })
}

/// In the order in which [`read_task`] reads them.
const COLUMNS: &str = "task.id, task.description, task.notes, task.status, task.priority, \
                       task.due, task.created_at, task.updated_at, task.completed_at";

const FILTERED: &str = "(:status IS NULL OR status = :status)
    AND (:priority IS NULL OR priority = :priority)
    AND (:due_by IS NULL OR due <= :due_by)";

const NOW: &str = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

/// A resource is read as a whole, so it must not grow without end.
const MOST_OPEN: u16 = 1_000;

/// More words hardly narrow a search down, and each costs.
const MOST_WORDS: usize = 32;

#[cfg(test)]
mod tests;
