//! Why a file could not be read at all.

use std::fmt;
use std::path::PathBuf;

use switchboard_hub::{ConfigError, Position};

use super::{BadSyntax, Syntax};

/// Why a file could not be read at all.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// It cannot be opened or read.
    File {
        file: PathBuf,
        source: std::io::Error,
    },
    /// It is not UTF-8.
    Text { file: PathBuf, position: Position },
    /// It is not TOML or YAML.
    Syntax {
        file: PathBuf,
        syntax: Syntax,
        bad: BadSyntax,
    },
    /// It is not JSON, or not an object.
    Config(ConfigError),
}

impl ReadError {
    /// Where in the file.
    pub(crate) const fn position(&self) -> Option<Position> {
        match self {
            Self::File { .. } => None,
            Self::Text { position, .. } => Some(*position),
            Self::Syntax { bad, .. } => Some(bad.position),
            Self::Config(
                ConfigError::NotText { position, .. }
                | ConfigError::Syntax { position, .. }
                | ConfigError::NotAnObject { position, .. },
            ) => Some(*position),
            Self::Config(_) => None,
        }
    }

    /// What is wrong, without where.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::File { source, .. } => format!("cannot be read: {source}"),
            Self::Text { .. } | Self::Config(ConfigError::NotText { .. }) => "not UTF-8".to_owned(),
            Self::Syntax { syntax, bad, .. } => {
                let reason = bad.reason.lines().collect::<Vec<_>>().join(", ");
                format!("not {syntax}: {reason}")
            }
            Self::Config(ConfigError::Syntax { fault, .. }) => fault.to_string(),
            Self::Config(ConfigError::NotAnObject { found, .. }) => {
                format!("expected an object, found {found}")
            }
            Self::Config(error) => error.to_string(),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, .. } => write!(f, "{} cannot be read", file.display()),
            Self::Text { file, position } => {
                write!(f, "{}:{position}: {}", file.display(), self.reason())
            }
            Self::Syntax { file, bad, .. } => {
                let (position, reason) = (bad.position, self.reason());
                write!(f, "{}:{position}: {reason}", file.display())
            }
            Self::Config(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { source, .. } => Some(source),
            Self::Config(error) => error.source(),
            Self::Text { .. } | Self::Syntax { .. } => None,
        }
    }
}

impl From<ConfigError> for ReadError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<ReadError> for crate::exit::Failure {
    fn from(error: ReadError) -> Self {
        Self::usage(crate::exit::with_causes(&error))
    }
}
