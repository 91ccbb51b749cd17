//! How a call ended, in the few words that traces and metrics have for it.
//!
//! Specification: OpenTelemetry semantic conventions for MCP, `error.type`.

use std::borrow::Cow;

use switchboard_client::types::CallToolResult;
use switchboard_client::{Class, Error, Payload};

use crate::error::HubError;

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// As it should.
    Done,
    /// Otherwise.
    Failed {
        /// In a word of which there are few: the code that the server answered with, or a class.
        kind: Cow<'static, str>,
        /// The code that the server answered with.
        code: Option<i64>,
    },
}

impl Outcome {
    /// Nobody waited for it any more.
    pub const CANCELLED: Self = Self::failed("cancelled");

    /// It failed, in a word of which there are few.
    pub const fn failed(kind: &'static str) -> Self {
        Self::Failed {
            kind: Cow::Borrowed(kind),
            code: None,
        }
    }

    /// A tool has answered, and says whether it could do its work.
    const fn of_tool(is_error: bool) -> Self {
        match is_error {
            true => Self::failed("tool_error"),
            false => Self::Done,
        }
    }

    /// The value of `error.type`.
    pub fn error_type(&self) -> Option<&str> {
        match self {
            Self::Done => None,
            Self::Failed { kind, .. } => Some(kind),
        }
    }
}

impl From<&CallToolResult> for Outcome {
    fn from(result: &CallToolResult) -> Self {
        Self::of_tool(result.is_error())
    }
}

/// A result of any method, as the server wrote it.
impl From<&Payload> for Outcome {
    fn from(result: &Payload) -> Self {
        Self::of_tool(result.is_error())
    }
}

impl From<&Error> for Outcome {
    fn from(error: &Error) -> Self {
        if let Some(refusal) = error.refusal() {
            return Self::Failed {
                kind: refusal.code.0.to_string().into(),
                code: Some(refusal.code.0),
            };
        }
        Self::failed(match error.class() {
            Class::Caller => "invalid_call",
            Class::Unauthorized => "unauthorized",
            Class::Refused => "tool_error",
            Class::Peer => "protocol_violation",
            Class::Connection => "connection",
            Class::Unavailable => "unavailable",
            Class::Timeout => "timeout",
            Class::Limit => "limit",
            Class::Ended => "cancelled",
            // The conventions' own word for the rest.
            _ => "_OTHER",
        })
    }
}

impl From<&HubError> for Outcome {
    fn from(error: &HubError) -> Self {
        match error {
            HubError::Call(error) => error.into(),
            HubError::NotReady {
                needs_login: true, ..
            } => Self::failed("unauthorized"),
            other => Self::failed(other.class()),
        }
    }
}
