//! A to-do list in a SQLite file: the server that `switchboard demo` and the example `tasks` show.
//!
//! Seven tools with typed arguments and results, two kinds of resources that clients can follow, a
//! prompt.
//!
//! Read in this order: `task` (what a task is), `arguments` (what the tools take), `tasks`
//! (what they do), `store` and `schema` (in SQL), `database` (off the connection's thread).

mod arguments;
mod database;
mod date;
mod error;
mod location;
mod schema;
mod store;
mod task;
mod tasks;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::path::Path;

use switchboard_server::{Server, prompt, resource, template, tool};

use crate::database::Database;
use crate::tasks::{ALL_TASKS, Tasks};

pub use location::of_user as file_of_user;

/// The server of the tasks in this file, which is made if it is not there.
///
/// # Errors
/// When the file cannot be opened, or is none of tasks.
pub fn task_server(file: &Path) -> io::Result<Server> {
    let database = Database::open(file).map_err(io::Error::other)?;
    Ok(server(database))
}

/// The server of the tasks in this database.
fn server(database: Database) -> Server {
    let server = Server::new("tasks", env!("CARGO_PKG_VERSION"))
        .title("Tasks")
        .instructions(INSTRUCTIONS);
    let tasks = Tasks::new(database, server.handle());
    let all = tasks.clone();
    let ids = tasks.clone();
    server
        .tool(
            tool("create_task", with(&tasks, Tasks::create))
                .destructive(false)
                .open_world(false),
        )
        .tool(
            tool("list_tasks", with(&tasks, Tasks::list))
                .read_only()
                .open_world(false),
        )
        .tool(
            tool("get_task", with(&tasks, Tasks::get))
                .read_only()
                .open_world(false),
        )
        .tool(
            // What it replaces is gone.
            tool("update_task", with(&tasks, Tasks::update))
                .destructive(true)
                .idempotent()
                .open_world(false),
        )
        .tool(
            tool("complete_task", with(&tasks, Tasks::complete))
                .destructive(false)
                .idempotent()
                .open_world(false),
        )
        .tool(
            tool("delete_task", with(&tasks, Tasks::delete))
                .destructive(true)
                .idempotent()
                .open_world(false),
        )
        .tool(
            tool("search_tasks", with(&tasks, Tasks::search))
                .read_only()
                .open_world(false),
        )
        .resource(
            resource(ALL_TASKS, move || all.clone().read_all())
                .name("open tasks")
                .description("The tasks that are not completed, oldest first, at most 1000.")
                .mime_type("application/json"),
        )
        .template(
            template("task://{id}", with(&tasks, Tasks::read_one))
                .name("task")
                .description("One task, by its id.")
                .mime_type("application/json")
                .complete("id", move |typed| ids.clone().suggest_ids(typed.value)),
        )
        .prompt(prompt("plan_day", with(&tasks, Tasks::plan_day)).title("Plan a day"))
}

/// A method of the tasks as a function of its arguments.
fn with<A, Fut: Future>(
    tasks: &Tasks,
    method: impl Fn(Tasks, A) -> Fut + Send + Sync + 'static,
) -> impl Fn(A) -> Fut + Send + Sync + 'static {
    let tasks = tasks.clone();
    move |arguments| method(tasks.clone(), arguments)
}

const INSTRUCTIONS: &str = "A to-do list that stays. Look for a task with search_tasks before \
                            you create one, and complete tasks rather than deleting them.";
