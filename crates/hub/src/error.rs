//! Why the hub could not do something.

use std::error::Error;
use std::fmt;

use crate::config::ConfigError;
use crate::registry::NotFound;
use crate::state::MemberState;

/// Why the hub could not do something.
#[derive(Debug)]
#[non_exhaustive]
pub enum HubError {
    /// The caller: the file is no configuration.
    Config(ConfigError),
    /// The caller: there is a server of this name already.
    Exists {
        /// Its name.
        server: String,
    },
    /// The caller: there is no such server.
    UnknownServer {
        /// The name.
        server: String,
        /// The servers that there are.
        known: Vec<String>,
    },
    /// The caller: there is no such tool, prompt or resource, or it may not be used.
    NotFound(NotFound),
    /// The server: it cannot be called now.
    NotReady {
        /// Its name.
        server: String,
        /// Where it stands, and why.
        state: String,
        /// Must somebody log in?
        needs_login: bool,
    },
    /// The call itself.
    Call(switchboard_client::Error),
}

impl HubError {
    /// In a word, for traces.
    pub(crate) fn class(&self) -> &'static str {
        match self {
            Self::Config(_) | Self::Exists { .. } => "configuration",
            Self::UnknownServer { .. } | Self::NotFound(_) => "not_found",
            Self::NotReady { .. } => "not_ready",
            Self::Call(error) if error.is_timeout() => "timeout",
            Self::Call(_) => "call",
        }
    }

    pub(crate) fn unknown(server: &str, known: Vec<String>) -> Self {
        Self::UnknownServer {
            server: server.to_owned(),
            known,
        }
    }

    pub(crate) fn not_ready(server: &str, state: &MemberState) -> Self {
        Self::NotReady {
            server: server.to_owned(),
            state: state.to_string(),
            needs_login: matches!(state, MemberState::NeedsLogin { .. }),
        }
    }
}

impl fmt::Display for HubError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Exists { server } => write!(f, "there is a server {server:?} already"),
            Self::UnknownServer { server, known } => {
                write!(f, "there is no server {server:?}")?;
                match known.is_empty() {
                    true => Ok(()),
                    false => write!(f, "; there are {}", known.join(", ")),
                }
            }
            Self::NotFound(error) => error.fmt(f),
            Self::NotReady { server, state, .. } => {
                write!(f, "the server {server:?} cannot be called: {state}")
            }
            Self::Call(error) => error.fmt(f),
        }
    }
}

impl Error for HubError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Config(error) => error.source(),
            Self::NotFound(error) => error.source(),
            Self::Call(error) => error.source(),
            Self::Exists { .. } | Self::UnknownServer { .. } | Self::NotReady { .. } => None,
        }
    }
}

impl From<switchboard_client::Error> for HubError {
    fn from(error: switchboard_client::Error) -> Self {
        Self::Call(error)
    }
}

impl From<NotFound> for HubError {
    fn from(error: NotFound) -> Self {
        Self::NotFound(error)
    }
}
