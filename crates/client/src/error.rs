//! Why something gave no result: one type, its class readable by code.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject, Problem};
use switchboard_protocol::machine::client::{CallError, Expired, Violation};

use crate::report::Report;
use crate::slot::Unanswered;
use crate::words::plain;

mod http;

pub use http::{HttpFailure, HttpProblem};

/// Why something gave no result: which server, what was done, what went wrong.
#[derive(Clone, Debug)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    server: Arc<str>,
    operation: String,
    kind: ErrorKind,
    /// Nothing of it ever went to the server.
    is_unsent: bool,
}

impl Error {
    pub(crate) fn new(
        server: &Arc<str>,
        operation: impl Into<String>,
        kind: impl Into<ErrorKind>,
    ) -> Self {
        Self(Box::new(Inner {
            server: Arc::clone(server),
            operation: operation.into(),
            kind: kind.into(),
            is_unsent: false,
        }))
    }

    /// The same, and nothing of it ever went to the server.
    pub(crate) fn unsent(mut self) -> Self {
        self.0.is_unsent = true;
        self
    }

    /// The server it is about, by the name it is configured under.
    pub fn server(&self) -> &str {
        &self.0.server
    }

    /// What was done: `connect`, `tools/call add`.
    pub fn operation(&self) -> &str {
        &self.0.operation
    }

    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Who must act.
    pub fn class(&self) -> Class {
        self.0.kind.class()
    }

    /// May the server have done what was asked?
    ///
    /// If not, it can be asked again without harm.
    pub fn may_have_run(&self) -> bool {
        !self.0.is_unsent && self.0.kind.may_have_run()
    }

    /// Was it a time limit?
    pub fn is_timeout(&self) -> bool {
        matches!(self.class(), Class::Timeout)
    }

    /// The error that the server answered with, if it did.
    pub fn refusal(&self) -> Option<&ErrorObject> {
        match &self.0.kind {
            ErrorKind::Refused(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            server,
            operation,
            kind,
            ..
        } = &*self.0;
        write!(
            f,
            "server {:?}: {}: {kind}",
            plain(server, 80),
            plain(operation, 120)
        )
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            ErrorKind::Connection(report) => report.source(),
            ErrorKind::Http(failure) => failure.source(),
            ErrorKind::BadArguments(error) | ErrorKind::Unreadable(error) => Some(&**error),
            _ => None,
        }
    }
}

/// What went wrong.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The description of the server cannot be used.
    BadSpec(String),
    /// There is no connection: it could not be opened, or it is over.
    Connection(Arc<Report>),
    /// The client was closed.
    Closed,
    /// HTTP gave no answer to this request.
    Http(HttpFailure),
    /// The server answered with an error of its own.
    Refused(ErrorObject),
    /// The server sent what the protocol does not allow.
    Violation(Violation),
    /// The answer is larger than the limit.
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The result does not have the shape of its method.
    Unreadable(Arc<serde_json::Error>),
    /// The structured result does not fit the tool's output schema.
    InvalidOutput(String),
    /// No answer in time; the server was told to stop.
    TimedOut(Expired),
    /// It was cancelled here; the server was told to stop.
    Cancelled,
    /// The answer can no longer come.
    Lost(String),
    /// The server lost the session twice.
    SessionLost,
    /// It was never sent: the connection was over before.
    NotSent(String),
    /// The host refused what the server asked for, so the call cannot go on.
    NotAnswered(ErrorObject),
    /// The server asked for more input again and again.
    TooManyRounds(u32),
    /// As many calls are in flight as are allowed.
    TooManyCalls(usize),
    /// The server offers nothing of the kind.
    NotOffered(String),
    /// What was to be sent cannot be written as JSON.
    BadArguments(Arc<serde_json::Error>),
    /// What was to be sent cannot be sent over HTTP.
    Unsendable(String),
    /// A list has more pages, items or bytes than the limit.
    ListTooLong {
        /// Which limit.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A list's pages lead round in a circle.
    RepeatedCursor(String),
    /// The tool ran and says that it could not do its work.
    ToolFailed(String),
    /// The task that the call became was cancelled at the server.
    TaskCancelled,
    /// What was read of a skill is not what was listed.
    #[cfg(feature = "skills")]
    Skill(crate::skills::SkillFault),
}

/// Who must act on an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// The caller: what it asked for cannot be done like this.
    Caller,
    /// The user: the server wants a login.
    Unauthorized,
    /// The server refused it.
    Refused,
    /// The server broke the protocol.
    Peer,
    /// The network, or the process: there is no connection.
    Connection,
    /// The server is busy, or asks to wait.
    Unavailable,
    /// Time ran out.
    Timeout,
    /// A limit of ours was reached.
    Limit,
    /// It was cancelled or closed here.
    Ended,
}

impl ErrorKind {
    fn class(&self) -> Class {
        match self {
            Self::BadSpec(_)
            | Self::NotOffered(_)
            | Self::BadArguments(_)
            | Self::Unsendable(_)
            | Self::NotAnswered(_) => Class::Caller,
            Self::Connection(report) => report.class(),
            Self::Lost(_) | Self::SessionLost | Self::NotSent(_) => Class::Connection,
            Self::Http(failure) => failure.class(),
            Self::Refused(error) if error.code == ErrorCode::BUSY => Class::Unavailable,
            Self::Refused(_) | Self::ToolFailed(_) | Self::TaskCancelled => Class::Refused,
            Self::Violation(_)
            | Self::Unreadable(_)
            | Self::InvalidOutput(_)
            | Self::RepeatedCursor(_)
            | Self::TooManyRounds(_) => Class::Peer,
            Self::TooLarge { .. } | Self::TooManyCalls(_) | Self::ListTooLong { .. } => {
                Class::Limit
            }
            #[cfg(feature = "skills")]
            Self::Skill(_) => Class::Peer,
            Self::TimedOut(_) => Class::Timeout,
            Self::Cancelled | Self::Closed => Class::Ended,
        }
    }

    fn may_have_run(&self) -> bool {
        match self {
            Self::BadSpec(_)
            | Self::NotOffered(_)
            | Self::BadArguments(_)
            | Self::Unsendable(_)
            | Self::TooManyCalls(_)
            | Self::SessionLost
            | Self::NotSent(_) => false,
            Self::Http(failure) => failure.may_have_run(),
            Self::Connection(report) => report.phase == crate::report::Phase::Open,
            _ => true,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadSpec(what) => f.write_str(what),
            Self::Connection(report) => report.fmt(f),
            Self::Closed => f.write_str("the client is closed"),
            Self::Http(failure) => failure.fmt(f),
            Self::Refused(error) => {
                write!(
                    f,
                    "the server refused: {} ({})",
                    plain(&error.message, 300),
                    error.code.0
                )
            }
            Self::Violation(violation) => write!(
                f,
                "the server broke the protocol: {}",
                plain(&violation.to_string(), 300)
            ),
            Self::TooLarge { limit } => write!(
                f,
                "the answer is larger than the limit of {limit} bytes; raise the limit or ask for less"
            ),
            Self::Unreadable(_) => f.write_str("the result does not have the shape of its method"),
            Self::InvalidOutput(what) => write!(
                f,
                "the structured result does not fit the tool's output schema: {}",
                plain(what, 300)
            ),
            Self::TimedOut(Expired::Idle(limit)) => {
                write!(f, "no answer and no progress within {limit:?}")
            }
            Self::TimedOut(Expired::Total(limit)) => write!(f, "no answer within {limit:?}"),
            Self::TimedOut(_) => f.write_str("no answer in time"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Lost(reason) => write!(f, "the answer was lost: {}", plain(reason, 300)),
            Self::SessionLost => {
                f.write_str("the server lost the session again after it was renewed")
            }
            Self::NotSent(reason) => {
                write!(
                    f,
                    "not sent, the connection is over: {}",
                    plain(reason, 300)
                )
            }
            Self::NotAnswered(error) => write!(
                f,
                "the server's question was refused: {}",
                plain(&error.message, 200)
            ),
            Self::TooManyRounds(rounds) => {
                write!(f, "the server asked for more input {rounds} times")
            }
            Self::TooManyCalls(limit) => write!(
                f,
                "{limit} calls are in flight already; wait for some or raise the limit"
            ),
            Self::NotOffered(what) => f.write_str(what),
            Self::BadArguments(_) => f.write_str("the arguments cannot be written as JSON"),
            Self::Unsendable(what) => f.write_str(what),
            Self::ListTooLong { what, limit } => {
                write!(f, "the list has more than {limit} {what}")
            }
            Self::RepeatedCursor(cursor) => write!(
                f,
                "the list leads round in a circle: cursor {:?} came twice",
                plain(cursor, 60)
            ),
            Self::ToolFailed(words) => write!(f, "the tool says: {}", plain(words, 300)),
            Self::TaskCancelled => f.write_str("the task was cancelled at the server"),
            #[cfg(feature = "skills")]
            Self::Skill(fault) => fault.fmt(f),
        }
    }
}

/// What is known of a failure beyond what the machine was told.
#[derive(Clone, Debug)]
pub(crate) enum Cause {
    /// The connection is over.
    Connection(Arc<Report>),
    /// A request over HTTP has no answer.
    Http(HttpFailure),
}

impl From<Box<Unanswered>> for ErrorKind {
    fn from(unanswered: Box<Unanswered>) -> Self {
        match (unanswered.error, unanswered.cause) {
            // What the server said itself goes before how it was said.
            (CallError::Refused(error), _) => Self::Refused(error),
            (CallError::Closed, _) => Self::Closed,
            (CallError::SessionLost, _) => Self::SessionLost,
            (CallError::Over(reason), _) => Self::NotSent(reason),
            (_, Some(Cause::Connection(report))) => Self::Connection(report),
            (_, Some(Cause::Http(failure))) => Self::Http(failure),
            (error, None) => Self::from(error),
        }
    }
}

impl From<CallError> for ErrorKind {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(error) => Self::Refused(error),
            CallError::Violation(Violation::Malformed(Problem::TooLarge { limit })) => {
                Self::TooLarge { limit }
            }
            CallError::Violation(violation) => Self::Violation(violation),
            CallError::TimedOut(expired) => Self::TimedOut(expired),
            CallError::Cancelled => Self::Cancelled,
            CallError::Lost(reason) => Self::Lost(reason),
            CallError::Unanswered(end) => Self::Lost(end.to_string()),
            CallError::SessionLost => Self::SessionLost,
            CallError::Over(reason) => Self::NotSent(reason),
            CallError::NotAnswered(error) => Self::NotAnswered(error),
            CallError::TooManyRounds(rounds) => Self::TooManyRounds(rounds),
            CallError::TooManyCalls(limit) => Self::TooManyCalls(limit),
            CallError::Closed => Self::Closed,
            // Nothing was sent.
            other => Self::NotOffered(other.to_string()),
        }
    }
}

impl From<Duration> for ErrorKind {
    /// The whole took too long.
    fn from(limit: Duration) -> Self {
        Self::TimedOut(Expired::Total(limit))
    }
}
