//! The database behind calls: who may use which connection, off the thread that serves.
//!
//! SQLite has one writer and, with a write-ahead log, any number of readers beside it. So
//! there is one connection that writes and a few that read: a slow query keeps one reader
//! busy and nobody else, and a writer of another process keeps only writers waiting.
//!
//! A call whose future is dropped is cancelled: if it has not begun, it never does; if it
//! has, its query is interrupted and its transaction rolled back. So is one that takes
//! too long.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use tokio::sync::Semaphore;

use crate::error::TaskError;
use crate::schema;

/// A file of tasks. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Database(Arc<Inner>);

struct Inner {
    path: PathBuf,
    writer: Lane,
    readers: Lane,
}

/// Connections of one kind.
struct Lane {
    permits: Arc<Semaphore>,
    /// Those that nobody uses. One that is not there yet is opened when it is wanted.
    idle: Mutex<Vec<Connection>>,
}

#[derive(Clone, Copy)]
enum Kind {
    Writer,
    Reader,
}

impl Database {
    /// Opens a file, which is made if it is not there.
    pub(crate) fn open(path: &Path) -> Result<Self, TaskError> {
        // So that `:memory:` is a file as well, and the folder can change.
        let path = std::path::absolute(path).map_err(|cause| TaskError::Folder {
            path: path.into(),
            cause,
        })?;
        if let Some(folder) = path.parent() {
            make_folder(folder).map_err(|cause| TaskError::Folder {
                path: folder.into(),
                cause,
            })?;
        }
        let connection = open_first(&path).map_err(|error| match error {
            TaskError::Database(cause)
                if cause.sqlite_error_code() == Some(ErrorCode::NotADatabase) =>
            {
                TaskError::Foreign { path: path.clone() }
            }
            other => other,
        })?;
        Ok(Self(Arc::new(Inner {
            path,
            writer: Lane::new(1, vec![connection]),
            readers: Lane::new(READERS, Vec::new()),
        })))
    }

    /// Reads: all that `work` sees is of one moment.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, TaskError> + Send + 'static,
    ) -> Result<T, TaskError> {
        self.run(Kind::Reader, |connection, _| {
            work(&*connection.unchecked_transaction()?)
        })
        .await
    }

    /// Writes: all that `work` does is done, or nothing. `announce` hears of what was done,
    /// even if nobody waits for the answer any more.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, TaskError> + Send + 'static,
        announce: impl FnOnce(&T) + Send + 'static,
    ) -> Result<T, TaskError> {
        self.run(Kind::Writer, |connection, cancelled| {
            let transaction = begin(connection, cancelled)?;
            let done = work(&transaction)?;
            if cancelled.load(Ordering::Acquire) {
                return Err(TaskError::Stopped);
            }
            transaction.commit()?;
            announce(&done);
            Ok(done)
        })
        .await
    }

    async fn run<T: Send + 'static>(
        &self,
        kind: Kind,
        work: impl FnOnce(&Connection, &AtomicBool) -> Result<T, TaskError> + Send + 'static,
    ) -> Result<T, TaskError> {
        let permits = Arc::clone(&self.0.lane(kind).permits);
        // The queue of those who wait here is bounded by the calls that the server takes on.
        let Ok(permit) = permits.acquire_owned().await else {
            return Err(TaskError::Stopped);
        };
        let guard = CancelOnDrop(Arc::default());
        let cancelled = Arc::clone(&guard.0);
        let inner = Arc::clone(&self.0);
        let working = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            if cancelled.load(Ordering::Acquire) {
                return Err(TaskError::Stopped);
            }
            let connection = inner.take(kind)?;
            let (flag, deadline) = (Arc::clone(&cancelled), Instant::now() + MOST_WORK);
            let must_stop = move || flag.load(Ordering::Acquire) || Instant::now() > deadline;
            connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(must_stop))?;
            let result = work(&connection, &cancelled);
            // One that is stuck in a transaction is closed instead, which ends that.
            if connection.is_autocommit() {
                inner.lane(kind).lock().push(connection);
            }
            result
        });
        match working.await {
            Ok(result) => result,
            Err(stopped) => match stopped.try_into_panic() {
                // The server answers for it as for any panic in a handler.
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(TaskError::Stopped),
            },
        }
    }
}

impl Inner {
    const fn lane(&self, kind: Kind) -> &Lane {
        match kind {
            Kind::Writer => &self.writer,
            Kind::Reader => &self.readers,
        }
    }

    fn take(&self, kind: Kind) -> Result<Connection, TaskError> {
        let idle = self.lane(kind).lock().pop();
        idle.map_or_else(|| open(&self.path, kind), Ok)
    }
}

impl Lane {
    fn new(most: usize, idle: Vec<Connection>) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(most)),
            idle: Mutex::new(idle),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the work that nobody waits for it any more.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Begins to write as soon as no other process does.
fn begin<'a>(
    connection: &'a Connection,
    cancelled: &AtomicBool,
) -> Result<Transaction<'a>, TaskError> {
    let deadline = Instant::now() + MOST_WAIT;
    loop {
        let begun = Transaction::new_unchecked(connection, TransactionBehavior::Immediate);
        match begun {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                if cancelled.load(Ordering::Acquire) {
                    return Err(TaskError::Stopped);
                }
                if Instant::now() >= deadline {
                    return Err(TaskError::Busy { waited: MOST_WAIT });
                }
            }
            begun => return Ok(begun?),
        }
    }
}

/// Opens the connection that brings the file into form and then writes.
fn open_first(path: &Path) -> Result<Connection, TaskError> {
    let connection = open(path, Kind::Writer)?;
    connection.busy_timeout(MOST_WAIT)?;
    schema::prepare(&connection, path)?;
    connection.busy_timeout(WAIT_SLICE)?;
    Ok(connection)
}

fn open(path: &Path, kind: Kind) -> Result<Connection, TaskError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Even a setting looks at the file, which another process may be bringing into form.
    connection.busy_timeout(MOST_WAIT)?;
    match kind {
        Kind::Writer => {
            // What was answered is on the disk, even if the power fails.
            connection.pragma_update(None, "synchronous", "full")?;
            connection.busy_timeout(WAIT_SLICE)?;
        }
        Kind::Reader => connection.pragma_update(None, "query_only", true)?,
    }
    Ok(connection)
}

/// Makes a folder that only its user can look into, unless it is there.
fn make_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

// Queries are short or run away; a few at once keep a machine busy.
const READERS: usize = 4;
const STATEMENTS: usize = 32;
/// How long a query may take; none of ours should take a second.
const MOST_WORK: Duration = Duration::from_secs(15);
/// How long to wait for another process that writes.
const MOST_WAIT: Duration = Duration::from_secs(5);
/// How long until a writer that waits sees that it was cancelled.
const WAIT_SLICE: Duration = Duration::from_millis(100);
/// Instructions of SQLite's machine: some 100 µs.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

#[cfg(test)]
mod tests;
