//! Why a request over HTTP has no answer.

use std::fmt;
use std::sync::Arc;

use switchboard_protocol::http::client::{AnswerError, RetryAfter};
use switchboard_protocol::machine::client::LaneEnd;
use switchboard_transport::credentials::CredentialsError;
use switchboard_transport::http::client::{BodyError, SendError};

use super::Class;

/// Why a request over HTTP has no answer: where it went and what came of it.
#[derive(Clone, Debug)]
pub struct HttpFailure {
    url: Arc<str>,
    problem: Arc<HttpProblem>,
}

/// What came of a request over HTTP.
#[derive(Debug)]
#[non_exhaustive]
pub enum HttpProblem {
    /// The answer is none: its status or its form.
    Answer(AnswerError),
    /// The request did not get through, or its answer did not come.
    Send(SendError),
    /// The answer broke off, or was not what it said it was.
    Body(BodyError),
    /// The stream of answers ended without the answer and could not be resumed.
    StreamLost {
        /// How often it was tried.
        attempts: u32,
        /// What happened last.
        reason: String,
    },
    /// The stream ended without the answer.
    NoAnswerInStream,
    /// The one stream of the old transport ended.
    StreamEnded,
    /// The answer is one to something else.
    NotTheAnswer,
    /// The body is no message.
    NoMessage(String),
    /// The server's session id cannot be used.
    Session(String),
    /// The stream of the old transport did not say where to post.
    Endpoint(String),
    /// The request cannot be written as HTTP. Nothing was sent.
    Unsendable(String),
}

impl fmt::Display for HttpProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(error) => error.fmt(f),
            Self::Send(error) => error.fmt(f),
            Self::Body(error) => error.fmt(f),
            Self::StreamLost { attempts, reason } => write!(
                f,
                "the stream ended without an answer and could not be resumed \
                 ({attempts} tries): {reason}"
            ),
            Self::NoAnswerInStream => f.write_str("the stream ended without an answer"),
            Self::StreamEnded => f.write_str("the server ended its stream"),
            Self::NotTheAnswer => f.write_str("the answer is not one to this request"),
            Self::NoMessage(what) => write!(f, "the answer is no message: {what}"),
            Self::Session(what) => write!(f, "the server's session id cannot be used: {what}"),
            Self::Endpoint(what) | Self::Unsendable(what) => f.write_str(what),
        }
    }
}

impl HttpFailure {
    pub(crate) fn new(url: &Arc<str>, problem: impl Into<HttpProblem>) -> Self {
        Self {
            url: Arc::clone(url),
            problem: Arc::new(problem.into()),
        }
    }

    /// Where the request went.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What came of it.
    pub fn problem(&self) -> &HttpProblem {
        &self.problem
    }

    /// The status of the answer, if there was one that says no.
    pub fn status(&self) -> Option<u16> {
        match &*self.problem {
            HttpProblem::Answer(
                AnswerError::Unauthorised { status }
                | AnswerError::Unavailable { status, .. }
                | AnswerError::Refused { status, .. }
                | AnswerError::Redirected { status }
                | AnswerError::NoAnswer { status }
                | AnswerError::ContentType { status, .. },
            ) => Some(status.as_u16()),
            HttpProblem::Answer(AnswerError::SessionLost) => Some(404),
            _ => None,
        }
    }

    /// When the server wants to be asked again.
    pub fn retry_after(&self) -> Option<&RetryAfter> {
        match &*self.problem {
            HttpProblem::Answer(AnswerError::Unavailable { retry_after, .. }) => {
                retry_after.as_ref()
            }
            _ => None,
        }
    }

    /// What the machine hears of it.
    pub(crate) fn lane_end(&self) -> LaneEnd {
        match &*self.problem {
            HttpProblem::Answer(answer) => answer.lane_end(None),
            other => LaneEnd::Broken(other.to_string()),
        }
    }

    /// Does the server want a login?
    pub fn is_unauthorized(&self) -> bool {
        self.class() == Class::Unauthorized
    }

    /// Who must act.
    pub(crate) fn class(&self) -> Class {
        match &*self.problem {
            HttpProblem::Answer(answer) => match answer {
                AnswerError::Unauthorised { .. } => Class::Unauthorized,
                AnswerError::Unavailable { .. } => Class::Unavailable,
                AnswerError::Refused { .. } => Class::Refused,
                AnswerError::SessionLost => Class::Connection,
                _ => Class::Peer,
            },
            HttpProblem::Send(
                SendError::StillRefused { .. }
                | SendError::Credentials {
                    source: CredentialsError::LoginRequired { .. },
                    ..
                },
            ) => Class::Unauthorized,
            HttpProblem::Send(error) if error.is_timeout() => Class::Timeout,
            HttpProblem::Send(
                SendError::NotHttp { .. }
                | SendError::HeaderTooLarge { .. }
                | SendError::Redirect { .. },
            ) => Class::Peer,
            HttpProblem::Send(SendError::Url { .. }) | HttpProblem::Unsendable(_) => Class::Caller,
            // What is not of the network is of the peer: chunks that are none.
            HttpProblem::Body(BodyError::Broken {
                source: Some(source),
            }) if !source.is::<std::io::Error>() => Class::Peer,
            HttpProblem::Send(_)
            | HttpProblem::StreamLost { .. }
            | HttpProblem::StreamEnded
            | HttpProblem::NoAnswerInStream
            | HttpProblem::Body(BodyError::Broken { .. }) => Class::Connection,
            HttpProblem::Body(BodyError::TooLarge { .. }) => Class::Limit,
            HttpProblem::Body(_)
            | HttpProblem::Endpoint(_)
            | HttpProblem::NotTheAnswer
            | HttpProblem::NoMessage(_)
            | HttpProblem::Session(_) => Class::Peer,
        }
    }

    /// May the server have done what was asked?
    pub(super) fn may_have_run(&self) -> bool {
        match &*self.problem {
            HttpProblem::Answer(
                AnswerError::Unauthorised { .. }
                | AnswerError::Redirected { .. }
                | AnswerError::SessionLost,
            )
            | HttpProblem::Endpoint(_)
            | HttpProblem::Unsendable(_) => false,
            // These say that the request was not taken, before anything was done.
            HttpProblem::Answer(AnswerError::Refused { status, .. }) => {
                !matches!(status.as_u16(), 400 | 404 | 405 | 406 | 413 | 415)
            }
            HttpProblem::Answer(AnswerError::Unavailable { status, .. }) => {
                !matches!(status.as_u16(), 429 | 503)
            }
            HttpProblem::Send(error) => error.may_have_run(),
            _ => true,
        }
    }

    pub(crate) fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.problem {
            HttpProblem::Send(error) => std::error::Error::source(error),
            HttpProblem::Body(error) => std::error::Error::source(error),
            _ => None,
        }
    }
}

impl fmt::Display for HttpFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.problem {
            HttpProblem::Answer(answer) => {
                write!(f, "{}: {answer}", self.url)?;
                match answer {
                    AnswerError::Unauthorised { .. } => f.write_str("; log in or check its token"),
                    AnswerError::Refused { status, .. } if matches!(status.as_u16(), 404 | 405) => {
                        f.write_str("; check the path of the URL")
                    }
                    AnswerError::ContentType { .. } => {
                        f.write_str("; this is no endpoint of the protocol")
                    }
                    _ => Ok(()),
                }
            }
            // It names the URL itself.
            HttpProblem::Send(error) => error.fmt(f),
            other => write!(f, "{}: {other}", self.url),
        }
    }
}

impl From<AnswerError> for HttpProblem {
    fn from(error: AnswerError) -> Self {
        Self::Answer(error)
    }
}

impl From<SendError> for HttpProblem {
    fn from(error: SendError) -> Self {
        Self::Send(error)
    }
}

impl From<BodyError> for HttpProblem {
    fn from(error: BodyError) -> Self {
        Self::Body(error)
    }
}
