//! Calls that go on after their answer.
//!
//! A call of a tool becomes a task before its handler begins ([`TaskMode`](crate::TaskMode))
//! or where the handler says so ([`Context::continue_as_task`](crate::Context)). Its future
//! goes on in `background`; how the task stands is kept in a [`TaskStore`], which clients
//! ask through the methods in `router/tasks.rs`.
//!
//! Specification: tasks extension; 2025-11-25 basic/utilities/tasks.

mod background;
mod error;
mod limits;
mod live;
mod memory;
mod record;
mod store;

pub(crate) use background::{Background, Begun, Grant, Tasks};
pub(crate) use live::{Claim, Live};

pub use error::TaskError;
pub use limits::TaskLimits;
pub use memory::MemoryTasks;
pub use record::{TaskChange, TaskOwner, TaskRecord, TaskState};
pub use store::{StoreError, StoreFuture, TaskPage, TaskStore};
