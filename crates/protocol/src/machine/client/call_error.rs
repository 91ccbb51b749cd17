//! Why a call gave no result, and whether it may have run.

use std::fmt;

use crate::jsonrpc::ErrorObject;
use crate::machine::allowance::Expired;
use crate::machine::client::input::{LaneEnd, Violation};
use crate::method::Method;
use crate::revision::Revision;

/// Why a call gave no result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CallError {
    /// The server answered with an error of its own.
    Refused(ErrorObject),
    /// The server sent what the protocol does not allow.
    Violation(Violation),
    /// No answer in time; the server was told to stop.
    TimedOut(Expired),
    /// Our user cancelled it; the server was told to stop.
    Cancelled,
    /// The answer can no longer come: the connection is gone. The server may have done what
    /// was asked.
    Lost(String),
    /// The stream of the call ended without an answer. The server may have done what was asked.
    Unanswered(LaneEnd),
    /// The server lost the session and refused the call unseen, twice if it could be sent again.
    SessionLost,
    /// The host refused what the server asked for, so the call cannot go on.
    NotAnswered(ErrorObject),
    /// The server asked for more input again and again.
    TooManyRounds(u32),
    /// Nothing was sent: the connection is not open yet.
    NotReady,
    /// Nothing was sent, or it was refused unseen: the connection is over, and why.
    Over(String),
    /// The connection is closed. The server may have seen what was in flight by then.
    Closed,
    /// Nothing was sent: the key is in use by another call.
    KeyInUse,
    /// Nothing was sent: as many calls are in flight as are allowed.
    TooManyCalls(usize),
    /// Nothing was sent: the server did not declare this.
    NotDeclared(Method),
    /// Nothing was sent: the server did not declare that this may become a task.
    NoTasks(Method),
    /// Nothing was sent: the agreed revision does not have this.
    NotInRevision(Method, Revision),
    /// Nothing was sent: this is a notification, or the opening, which is over.
    NotACall(Method),
}

impl CallError {
    /// May the server have begun to do what was asked, so that asking again could do it twice?
    ///
    /// An answer counts as well, even one that refuses: only the server knows how far it went.
    pub const fn may_have_run(&self) -> bool {
        match self {
            Self::Refused(_)
            | Self::Violation(_)
            | Self::TimedOut(_)
            | Self::Cancelled
            | Self::Lost(_)
            | Self::Unanswered(_)
            | Self::NotAnswered(_)
            | Self::TooManyRounds(_)
            | Self::Closed => true,
            Self::SessionLost
            | Self::NotReady
            | Self::Over(_)
            | Self::KeyInUse
            | Self::TooManyCalls(_)
            | Self::NotDeclared(_)
            | Self::NoTasks(_)
            | Self::NotInRevision(..)
            | Self::NotACall(_) => false,
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "the server refused: {error}"),
            Self::Violation(violation) => write!(f, "the server broke the protocol: {violation}"),
            Self::TimedOut(Expired::Idle(limit)) => {
                write!(f, "no answer and no progress within {limit:?}")
            }
            Self::TimedOut(Expired::Total(limit)) => write!(f, "no answer within {limit:?}"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Lost(reason) => write!(f, "the answer was lost: {reason}"),
            Self::Unanswered(end) => write!(f, "the answer was lost: {end}"),
            Self::SessionLost => {
                f.write_str("the server lost the session and did not run the call")
            }
            Self::NotAnswered(error) => write!(f, "the server's question was refused: {error}"),
            Self::TooManyRounds(rounds) => {
                write!(f, "the server asked for more input {rounds} times")
            }
            Self::NotReady => f.write_str("not initialized: the connection is not open yet"),
            Self::Over(reason) => write!(f, "the connection is over: {reason}"),
            Self::Closed => f.write_str("the connection is closed"),
            Self::KeyInUse => f.write_str("the key is in use by another call"),
            Self::TooManyCalls(limit) => write!(f, "{limit} calls are in flight already"),
            Self::NotDeclared(method) => {
                write!(f, "the server did not declare what {method} needs")
            }
            Self::NoTasks(method) => write!(f, "the server does not run {method} as a task"),
            Self::NotInRevision(method, revision) => {
                write!(f, "{method} is not part of revision {revision}")
            }
            Self::NotACall(method) => write!(f, "{method} is not a call that can be made"),
        }
    }
}

impl std::error::Error for CallError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_a_close_ended_may_have_been_seen() {
        assert!(!CallError::NotReady.may_have_run());
        assert!(CallError::Closed.may_have_run());
    }
}
