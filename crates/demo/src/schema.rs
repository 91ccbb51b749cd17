//! The form of the database, and how older files come to it.
//!
//! `user_version` counts the steps that a file has taken. They are taken in one transaction,
//! so that processes which open the same file at once see all of them or none.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior};

use crate::error::TaskError;

/// Brings a file into the form of this program.
pub(crate) fn prepare(connection: &Connection, path: &Path) -> Result<(), TaskError> {
    // Before anything is written: a file of somebody else stays as it is.
    check_version(connection, path)?;
    keep_log(connection)?;
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let taken = check_version(&transaction, path)?;
    if taken < STEPS.len() {
        for step in STEPS.iter().skip(taken) {
            transaction.execute_batch(step)?;
        }
        transaction.pragma_update(None, OWNER, OURS)?;
        transaction.pragma_update(None, VERSION, STEPS.len().cast_signed())?;
    }
    Ok(transaction.commit()?)
}

/// How many steps a file of ours, or an empty one, has taken.
fn check_version(connection: &Connection, path: &Path) -> Result<usize, TaskError> {
    let owner: i64 = connection.pragma_query_value(None, OWNER, |row| row.get(0))?;
    let version: i64 = connection.pragma_query_value(None, VERSION, |row| row.get(0))?;
    let is_new = owner == 0 && version == 0 && is_empty(connection)?;
    if !is_new && owner != OURS {
        return Err(TaskError::Foreign { path: path.into() });
    }
    let known = STEPS.len();
    match usize::try_from(version) {
        Ok(taken) if taken <= known => Ok(taken),
        _ => Err(TaskError::Newer {
            found: version,
            known,
        }),
    }
}

/// Switches to a write-ahead log, with which readers and a writer do not wait for each other.
fn keep_log(connection: &Connection) -> Result<(), TaskError> {
    let deadline = Instant::now() + MOST_WAIT;
    loop {
        let mode = connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()));
        match mode {
            // The switch does not wait for other processes that are switching.
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < deadline =>
            {
                thread::sleep(PAUSE);
            }
            result => return Ok(result?),
        }
    }
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    let first = connection.query_row("SELECT 1 FROM sqlite_schema", [], |_| Ok(()));
    Ok(first.optional()?.is_none())
}

const VERSION: &str = "user_version";
const OWNER: &str = "application_id";
// "SwTk" in ASCII: says whose file it is.
const OURS: i64 = 0x5377_546B;

// Ten processes that find no file take turns, each with a few writes that reach the disk.
const MOST_WAIT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(5);

/// What a file goes through. Steps are added at the end and never changed.
const STEPS: [&str; 2] = [
    // `AUTOINCREMENT`: the id of a deleted task does not come back as another task.
    "CREATE TABLE task (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        description TEXT NOT NULL,
        notes TEXT,
        status TEXT NOT NULL DEFAULT 'pending'
            CHECK (status IN ('pending', 'in_progress', 'completed')),
        priority TEXT NOT NULL DEFAULT 'normal'
            CHECK (priority IN ('low', 'normal', 'high')),
        due TEXT,
        created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
        updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
        completed_at TEXT,
        CHECK ((status = 'completed') = (completed_at IS NOT NULL))
    ) STRICT;",
    // The words of each task. Triggers keep them in step, whoever writes.
    "CREATE VIRTUAL TABLE task_words USING fts5(
        description, notes,
        content = 'task', content_rowid = 'id',
        tokenize = 'unicode61 remove_diacritics 2'
    );
    CREATE TRIGGER task_words_insert AFTER INSERT ON task BEGIN
        INSERT INTO task_words (rowid, description, notes)
        VALUES (new.id, new.description, new.notes);
    END;
    CREATE TRIGGER task_words_delete AFTER DELETE ON task BEGIN
        INSERT INTO task_words (task_words, rowid, description, notes)
        VALUES ('delete', old.id, old.description, old.notes);
    END;
    CREATE TRIGGER task_words_update AFTER UPDATE OF description, notes ON task BEGIN
        INSERT INTO task_words (task_words, rowid, description, notes)
        VALUES ('delete', old.id, old.description, old.notes);
        INSERT INTO task_words (rowid, description, notes)
        VALUES (new.id, new.description, new.notes);
    END;
    INSERT INTO task_words (task_words) VALUES ('rebuild');",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{self, Search};

    fn memory() -> Connection {
        Connection::open_in_memory().unwrap()
    }

    fn prepare_it(connection: &Connection) -> Result<(), TaskError> {
        prepare(connection, Path::new("a.sqlite"))
    }

    #[test]
    fn a_file_of_the_first_version_becomes_searchable() {
        let connection = memory();
        connection.execute_batch(STEPS[0]).unwrap();
        connection.pragma_update(None, OWNER, OURS).unwrap();
        connection.pragma_update(None, VERSION, 1).unwrap();
        let insert = "INSERT INTO task (description) VALUES ('old and good')";
        connection.execute(insert, []).unwrap();
        prepare_it(&connection).unwrap();
        prepare_it(&connection).unwrap();
        let found = store::search(&connection, &Search::words("good")).unwrap();
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn a_file_of_a_later_program_is_left_alone() {
        let connection = memory();
        prepare_it(&connection).unwrap();
        connection.pragma_update(None, VERSION, 3).unwrap();
        let error = prepare_it(&connection).unwrap_err();
        assert!(error.to_string().contains("version 3"), "{error}");
    }

    #[test]
    fn a_file_of_another_program_is_left_alone() {
        let connection = memory();
        connection.execute_batch("CREATE TABLE theirs (a)").unwrap();
        let error = prepare_it(&connection).unwrap_err();
        assert!(error.to_string().contains("a.sqlite is not"), "{error}");
    }
}
