//! Why something could not be done with the tasks.
//!
//! The model reads these texts, so each says what to do next where there is something to do.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why something could not be done.
#[derive(Debug)]
pub(crate) enum TaskError {
    /// No task has this name.
    NotFound { id: String },
    /// A text has to say something.
    Blank { name: &'static str },
    /// A text is too long.
    TooLong { name: &'static str, most: usize },
    /// An update that updates nothing.
    NothingToChange,
    /// A field is both given and to be cleared.
    GivenAndCleared { name: &'static str },
    /// A search without a word.
    NothingToSearch,
    /// Nobody waits for the answer any more, or it would take too long.
    Stopped,
    /// Somebody else was writing all the time.
    Busy { waited: Duration },
    /// The file is not ours.
    Foreign { path: PathBuf },
    /// The file is of a later version of this program.
    Newer { found: i64, known: usize },
    /// The file has no place.
    Folder { path: PathBuf, cause: io::Error },
    /// The database itself says no.
    Database(rusqlite::Error),
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { id } => {
                write!(f, "task not found: {id:.80}; list_tasks shows the ids")
            }
            Self::Blank { name } => write!(f, "{name}: must not be blank"),
            Self::TooLong { name, most } => {
                write!(f, "{name}: has more than {most} characters")
            }
            Self::NothingToChange => f.write_str(
                "nothing to change: give a description, notes, status, priority, due or clear",
            ),
            Self::GivenAndCleared { name } => {
                write!(f, "{name}: is both given and to be cleared")
            }
            Self::NothingToSearch => f.write_str("query: has no word or number to look for"),
            Self::Stopped => f.write_str(
                "the call was cancelled or took too long; nothing was changed, ask for less",
            ),
            Self::Busy { waited } => write!(
                f,
                "another process was writing to the database for {} s; nothing was changed, try again",
                waited.as_secs()
            ),
            Self::Foreign { path } => write!(
                f,
                "{} is not a database of tasks; give another file with --db",
                path.display()
            ),
            Self::Newer { found, known } => write!(
                f,
                "the database has version {found}, this program knows {known}: use a newer program"
            ),
            Self::Folder { path, .. } => {
                write!(f, "folder {} cannot be made", path.display())
            }
            Self::Database(_) => f.write_str("the database refused"),
        }
    }
}

impl std::error::Error for TaskError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Folder { cause, .. } => Some(cause),
            Self::Database(cause) => Some(cause),
            _ => None,
        }
    }
}

impl From<rusqlite::Error> for TaskError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => Self::Stopped,
            _ => Self::Database(error),
        }
    }
}
