//! Where tasks are kept.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use super::{TaskChange, TaskOwner, TaskRecord};

/// Keeps how tasks stand.
///
/// The work itself is done in the process that took the call; the store is what clients
/// see of it. One that several processes share lets each of them answer for the tasks of
/// all, except that a question is answered where the work is done.
///
/// A task is kept for its [life](TaskRecord::life) and may be gone after that.
pub trait TaskStore: Send + Sync + 'static {
    /// Keeps a new task. When this is done, [`find`](Self::find) finds it.
    fn create(&self, task: TaskRecord) -> StoreFuture<'_, ()>;

    /// The task with this id, if it is there and belongs to this owner.
    fn find<'a>(&'a self, owner: &'a TaskOwner, id: &'a str)
    -> StoreFuture<'a, Option<TaskRecord>>;

    /// Reads a task, [applies](TaskRecord::apply) the change and writes it, all at once.
    ///
    /// Gives the task as it now stands; nothing if it is not there or the change did not
    /// apply, because the task is at its end.
    fn change<'a>(&'a self, id: &'a str, change: TaskChange)
    -> StoreFuture<'a, Option<TaskRecord>>;

    /// The tasks of one owner, oldest first: at most `limit`, from the cursor of an earlier
    /// page on.
    fn list<'a>(
        &'a self,
        owner: &'a TaskOwner,
        cursor: Option<&'a str>,
        limit: usize,
    ) -> StoreFuture<'a, TaskPage>;
}

/// What a store will have done.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Some of the tasks of one owner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<TaskRecord>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// Why a store does not do what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no room.
    Full,
    /// The cursor is none of this store's.
    BadCursor,
    /// The store cannot be reached, or does not work.
    Unavailable(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the task store is full: try again later"),
            Self::BadCursor => f.write_str("the cursor is not valid: list from the beginning"),
            Self::Unavailable(why) => write!(f, "the task store does not work: {why}"),
        }
    }
}

impl std::error::Error for StoreError {}
