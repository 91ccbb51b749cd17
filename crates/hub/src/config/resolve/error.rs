//! Why a server cannot be started as it is configured.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::config::page::Position;
use crate::config::problem::Quoted;
use crate::variables::VariableError;

/// Why a server cannot be started as it is configured.
#[derive(Debug)]
#[non_exhaustive]
pub struct ResolveError {
    /// Its name.
    pub server: String,
    /// The file that it is from, if it is from one.
    pub file: Option<Arc<str>>,
    /// Where in it the trouble is.
    pub position: Position,
    /// The key there.
    pub key: String,
    /// What it is.
    pub kind: ResolveErrorKind,
}

/// Why a server cannot be started as it is configured.
#[derive(Debug)]
#[non_exhaustive]
pub enum ResolveErrorKind {
    /// A variable has no value.
    Variable(VariableError),
    /// With all variables filled in, nothing is there.
    Empty,
    /// With all variables filled in, nobody can connect to it.
    BadUrl {
        /// Why.
        reason: &'static str,
    },
    /// With all variables filled in, it cannot stand in a header.
    BadHeader,
    /// More headers than any server takes.
    TooManyHeaders,
    /// The file with variables cannot be read.
    EnvFile {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file with variables holds something else.
    EnvFileLine {
        /// Which one.
        path: PathBuf,
        /// In which line.
        line: usize,
    },
}

/// `file:line:column: server "name": "key": what is wrong`.
impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:{}: ", self.position)?;
        }
        let (server, key) = (Quoted(&self.server), Quoted(&self.key));
        write!(f, "server {server}: {key}: ")?;
        match &self.kind {
            ResolveErrorKind::Variable(error) => error.fmt(f),
            ResolveErrorKind::Empty => f.write_str("nothing is left once variables are filled in"),
            ResolveErrorKind::BadUrl { reason } => {
                write!(f, "cannot be connected to: {reason}")
            }
            ResolveErrorKind::BadHeader => f.write_str("the value cannot stand in a header"),
            ResolveErrorKind::TooManyHeaders => f.write_str("expected at most 100 headers"),
            ResolveErrorKind::EnvFile { path, .. } => {
                write!(f, "the file {path:?} cannot be read")
            }
            ResolveErrorKind::EnvFileLine { path, line } => {
                write!(f, "line {line} of the file {path:?} is not NAME=value")
            }
        }
    }
}

impl Error for ResolveError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            // It is in the text already; what it stands on is not.
            ResolveErrorKind::Variable(error) => error.source(),
            ResolveErrorKind::EnvFile { source, .. } => Some(source),
            _ => None,
        }
    }
}
