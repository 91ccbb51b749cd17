//! The answer to a request that may not come in.
//!
//! Status and JSON-RPC error in one place; writing the answer is for the server.
//!
//! Specification: basic/transports of each revision; 2026-07-28 basic, error codes.

use std::fmt;

use http::StatusCode;

use crate::http::mirror::Mismatch;
use crate::http::negotiate::WrongContent;
use crate::http::origin::Foreign;
use crate::http::server::{Body, Endpoint};
use crate::http::session::SessionError;
use crate::jsonrpc::{ErrorCode, ErrorObject, Malformed, Response};
use crate::revision::Revision;

/// Why a request may not come in. It is for the client to do better.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It comes from a foreign page or by a foreign name.
    Foreign(Foreign),
    /// The verb has no use here. `Allow` says which have.
    Verb {
        /// The value of `Allow`.
        allow: &'static str,
    },
    /// The body is not said to be JSON, or is compressed.
    Content(WrongContent),
    /// It accepts no answer that could be given.
    NotAcceptable {
        /// What it should accept.
        wanted: &'static str,
    },
    /// The body is not a message.
    Malformed(Malformed),
    /// Several messages at once, outside the revision that has them.
    Batch {
        /// The revision, where it is known.
        revision: Option<Revision>,
    },
    /// `initialize` among other messages, where it should have come first and alone.
    BatchedInitialize,
    /// A response, in an era in which a client is asked nothing.
    Response,
    /// A header does not repeat the body, or is missing, repeated or malformed.
    Header(Mismatch),
    /// The version is unknown or not served. The error's `data` holds `supported`
    /// and `requested`.
    Version {
        /// What was asked for; empty where nothing was.
        requested: String,
    },
    /// The session is missing, malformed or unknown.
    Session(SessionError),
}

impl Refusal {
    /// The status to answer with.
    pub const fn status(&self) -> StatusCode {
        match self {
            Self::Foreign(_) => StatusCode::FORBIDDEN,
            Self::Verb { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::Content(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::NotAcceptable { .. } => StatusCode::NOT_ACCEPTABLE,
            Self::Session(error) => error.status(),
            Self::Malformed(_)
            | Self::Batch { .. }
            | Self::BatchedInitialize
            | Self::Response
            | Self::Header(_)
            | Self::Version { .. } => StatusCode::BAD_REQUEST,
        }
    }

    /// The answer to a body, with its id where it has one.
    pub fn response(&self, endpoint: &Endpoint, body: &Body<'_>) -> Response {
        let error = self.error(&endpoint.revisions);
        match body.id() {
            Some(id) => Response::new(id.clone(), Err(error)),
            None => Response::without_id(error),
        }
    }

    /// The JSON-RPC error of the answer. `served` are the revisions of this endpoint.
    pub fn error(&self, served: &[Revision]) -> ErrorObject {
        match self {
            Self::Version { requested } => ErrorObject::unsupported_version(served, requested),
            Self::Malformed(malformed) => malformed.error(),
            other => ErrorObject::new(other.code(), other.to_string()),
        }
    }

    /// The value of `Allow`, where the status wants one.
    pub const fn allow(&self) -> Option<&'static str> {
        match self {
            Self::Verb { allow } => Some(allow),
            _ => None,
        }
    }

    const fn code(&self) -> ErrorCode {
        match self {
            Self::Header(_) => ErrorCode::HEADER_MISMATCH,
            Self::Version { .. } => ErrorCode::UNSUPPORTED_VERSION,
            Self::Foreign(_)
            | Self::Verb { .. }
            | Self::Content(_)
            | Self::NotAcceptable { .. }
            | Self::Malformed(_)
            | Self::Batch { .. }
            | Self::BatchedInitialize
            | Self::Response
            | Self::Session(_) => ErrorCode::INVALID_REQUEST,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign(reason) => reason.fmt(f),
            Self::Verb { allow } => write!(f, "method not allowed, expected {allow}"),
            Self::Content(reason) => reason.fmt(f),
            Self::NotAcceptable { wanted } => {
                write!(f, "header accept admits no answer, expected {wanted}")
            }
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::Batch {
                revision: Some(revision),
            } => {
                write!(
                    f,
                    "revision {revision} has no batches, expected one message"
                )
            }
            Self::Batch { revision: None } => f.write_str("batch refused, expected one message"),
            Self::BatchedInitialize => f.write_str("initialize must not be part of a batch"),
            Self::Response => f.write_str("response refused, expected a request or a notification"),
            Self::Header(reason) => reason.fmt(f),
            Self::Version { requested } if requested.is_empty() => {
                f.write_str("unsupported protocol version, expected one of the supported")
            }
            Self::Version { requested } => write!(
                f,
                "unsupported protocol version {requested:?}, expected one of the supported"
            ),
            Self::Session(reason) => reason.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<Foreign> for Refusal {
    fn from(reason: Foreign) -> Self {
        Self::Foreign(reason)
    }
}

impl From<Mismatch> for Refusal {
    fn from(reason: Mismatch) -> Self {
        Self::Header(reason)
    }
}

impl From<SessionError> for Refusal {
    fn from(reason: SessionError) -> Self {
        Self::Session(reason)
    }
}
