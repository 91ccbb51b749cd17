//! Why a file is no lock.

use std::error::Error;
use std::{fmt, io};

use super::PinKind;

/// Why a file is no lock. Nothing may be used then.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockError {
    /// The file cannot be read.
    File {
        /// Which one.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// More than a lock ever has.
    TooLarge {
        /// Which file.
        file: String,
        /// How many bytes there may be.
        limit: u64,
    },
    /// It is not JSON.
    Syntax {
        /// Which file.
        file: String,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// It is JSON, and not a lock.
    Shape {
        /// Which file.
        file: String,
        /// What is not there, or not what it should be.
        place: String,
    },
    /// It was written by another version of this program.
    Version {
        /// Which file.
        file: String,
        /// The version of its form.
        found: String,
    },
    /// An entry is not what its hash says.
    Altered {
        /// Which file.
        file: String,
        /// The server.
        server: String,
        /// What it is.
        kind: PinKind,
        /// Its name.
        name: String,
    },
}

impl LockError {
    /// Is there no file?
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, .. } if self.is_missing() => {
                write!(f, "there is no lock {file}")
            }
            Self::File { file, .. } => write!(f, "the lock {file} cannot be read"),
            Self::TooLarge { file, limit } => {
                write!(f, "the lock {file} is larger than {limit} bytes")
            }
            Self::Syntax { file, .. } => write!(f, "the lock {file} is not JSON"),
            Self::Shape { file, place } => {
                write!(f, "the lock {file} is not as it was written: {place}")
            }
            Self::Version { file, found } => write!(
                f,
                "the lock {file} has version {found}, which this program does not know"
            ),
            Self::Altered {
                file,
                server,
                kind,
                name,
            } => {
                write!(f, "the lock {file} was changed by hand: the hash of the ")?;
                match kind {
                    PinKind::Instructions => f.write_str("instructions")?,
                    kind => write!(f, "{kind} {name:?}")?,
                }
                write!(f, " of server {server:?} is that of another definition")
            }
        }
    }
}

impl Error for LockError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::File { source, .. } => (!self.is_missing()).then_some(source),
            Self::Syntax { source, .. } => Some(source),
            _ => None,
        }
    }
}
