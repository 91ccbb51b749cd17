//! Why the hub could not do something.

use std::error::Error;
use std::fmt;

use switchboard_client::Class;

use crate::config::ConfigError;
use crate::lock::LockError;
use crate::registry::{Kind, NotFound};
use crate::state::MemberState;

/// Why the hub could not do something.
#[derive(Debug)]
#[non_exhaustive]
pub enum HubError {
    /// The caller: the file is no configuration.
    Config(ConfigError),
    /// The caller: the file is no lock, or there is none.
    Lock(LockError),
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
        /// Who must act, if it has failed.
        class: Option<Class>,
    },
    /// The server: it tells of no changes of this resource.
    NotWatchable {
        /// Its name.
        server: String,
        /// What it calls the resource.
        uri: String,
    },
    /// The server: its result is larger than its configuration allows.
    ResultTooLarge {
        /// Its name.
        server: String,
        /// What was called there.
        name: String,
        /// How many bytes it has.
        size: usize,
        /// How many it may have.
        limit: usize,
    },
    /// The server: its result does not have the shape of its method.
    Unreadable {
        /// Its name.
        server: String,
        /// What was called there.
        name: String,
        /// Why.
        error: serde_json::Error,
    },
    /// The caller: it was cancelled before anything was sent.
    Cancelled,
    /// The caller: its deadline passed before anything was sent.
    TooLate,
    /// The call itself.
    Call(switchboard_client::Error),
}

impl HubError {
    /// In a word, for traces.
    pub(crate) fn class(&self) -> &'static str {
        match self {
            Self::Config(_) | Self::Lock(_) | Self::Exists { .. } => "configuration",
            Self::UnknownServer { .. } | Self::NotFound(_) => "not_found",
            Self::NotReady { .. } => "not_ready",
            Self::NotWatchable { .. } => "not_offered",
            Self::ResultTooLarge { .. } => "result_too_large",
            Self::Unreadable { .. } => "unreadable",
            Self::Cancelled => "cancelled",
            Self::TooLate => "timeout",
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
            class: state.class(),
        }
    }

    /// It can be called, but has not said what it has of this kind.
    pub(crate) fn not_listed(server: &str, kind: Kind) -> Self {
        Self::NotReady {
            server: server.to_owned(),
            state: format!("it has not said yet which {kind}s it has"),
            needs_login: false,
            class: Some(Class::Timeout),
        }
    }
}

impl fmt::Display for HubError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Lock(error) => error.fmt(f),
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
            Self::NotWatchable { server, uri } => {
                write!(f, "the server {server:?} tells of no changes of {uri:?}")
            }
            Self::ResultTooLarge {
                server,
                name,
                size,
                limit,
            } => write!(
                f,
                "the result of {name:?} of server {server:?} has {size} bytes; \
                 its limit \"result\" is {limit}"
            ),
            Self::Unreadable {
                server,
                name,
                error,
            } => write!(
                f,
                "the result of {name:?} of server {server:?} has not the shape of its method: {error}"
            ),
            Self::Cancelled => f.write_str("cancelled while the server was waited for"),
            Self::TooLate => f.write_str("the deadline passed while the server was waited for"),
            Self::Call(error) => error.fmt(f),
        }
    }
}

impl Error for HubError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Config(error) => error.source(),
            Self::Lock(error) => error.source(),
            Self::NotFound(error) => error.source(),
            Self::Call(error) => error.source(),
            Self::Unreadable { error, .. } => error.source(),
            Self::Exists { .. }
            | Self::UnknownServer { .. }
            | Self::NotReady { .. }
            | Self::NotWatchable { .. }
            | Self::ResultTooLarge { .. }
            | Self::Cancelled
            | Self::TooLate => None,
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
