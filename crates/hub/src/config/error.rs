//! Why a configuration could not be read at all.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use super::page::{Position, SyntaxFault};

/// Why a configuration could not be read at all.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    File {
        /// Which one.
        file: Arc<str>,
        /// Why.
        source: io::Error,
    },
    /// More than a configuration ever has.
    TooLarge {
        /// Which file.
        file: Arc<str>,
        /// How many bytes there may be.
        limit: usize,
    },
    /// Bytes that are not UTF-8.
    NotText {
        /// Which file.
        file: Arc<str>,
        /// Where the first of them is.
        position: Position,
    },
    /// It is not JSON.
    Syntax {
        /// Which file.
        file: Arc<str>,
        /// Where.
        position: Position,
        /// What is wrong.
        fault: SyntaxFault,
    },
    /// It is JSON, and not an object.
    NotAnObject {
        /// Which file.
        file: Arc<str>,
        /// Where.
        position: Position,
        /// What it is.
        found: &'static str,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, .. } => write!(f, "{file} cannot be read"),
            Self::TooLarge { file, limit } => write!(f, "{file} is larger than {limit} bytes"),
            Self::NotText { file, position } => write!(f, "{file}:{position}: not UTF-8"),
            Self::Syntax {
                file,
                position,
                fault,
            } => write!(f, "{file}:{position}: {fault}"),
            Self::NotAnObject {
                file,
                position,
                found,
            } => {
                write!(f, "{file}:{position}: expected an object, found {found}")
            }
        }
    }
}

impl Error for ConfigError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::File { source, .. } => Some(source),
            _ => None,
        }
    }
}
