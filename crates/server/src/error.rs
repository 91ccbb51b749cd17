//! What can be wrong with a server before anybody has called it.

use std::fmt;
use std::io;

/// Why a server cannot be served as it was put together.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// A tool cannot be offered.
    Tool {
        /// Which.
        name: String,
        /// Why not.
        reason: String,
    },
    /// A resource or a template cannot be offered.
    Resource {
        /// Which.
        uri: String,
        /// Why not.
        reason: String,
    },
    /// A prompt cannot be offered.
    Prompt {
        /// Which.
        name: String,
        /// Why not.
        reason: String,
    },
    /// A name or URI is taken already.
    Taken {
        /// Of what kind.
        kind: &'static str,
        /// Which.
        name: String,
    },
    /// The server is gone.
    Gone,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool { name, reason } => write!(f, "tool {name:?}: {reason}"),
            Self::Resource { uri, reason } => write!(f, "resource {uri:?}: {reason}"),
            Self::Prompt { name, reason } => write!(f, "prompt {name:?}: {reason}"),
            Self::Taken { kind, name } => write!(f, "there is a {kind} {name:?} already"),
            Self::Gone => f.write_str("the server is gone"),
        }
    }
}

impl std::error::Error for BuildError {}

impl From<BuildError> for io::Error {
    fn from(error: BuildError) -> Self {
        Self::new(io::ErrorKind::InvalidInput, error)
    }
}
