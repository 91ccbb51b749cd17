//! Why a handler gives no result.

use std::any::Any;
use std::fmt;

use switchboard_protocol::jsonrpc::ErrorObject;

/// Why there is no result.
///
/// Any error becomes one by `?`. The failure of a tool is told to the model; that of a
/// resource or a prompt is an error of the server.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// It could not be done, and this is why.
    Failed(String),
    /// The call itself was wrong, and the client gets a JSON-RPC error.
    Refused(ErrorObject),
}

impl Failure {
    /// It could not be done.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self::Failed(reason.into())
    }

    /// What an error of any type means: its text, unless it is one of these.
    pub(crate) fn of<E: fmt::Display + 'static>(error: &E) -> Self {
        match (error as &dyn Any).downcast_ref::<Self>() {
            Some(Self::Refused(refusal)) => Self::Refused(refusal.clone()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(reason) => f.write_str(reason),
            Self::Refused(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut reason = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            reason.push_str(": ");
            reason.push_str(&error.to_string());
            cause = error.source();
        }
        Self::Failed(reason)
    }
}
