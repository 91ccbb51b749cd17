//! JSON-RPC 2.0 as MCP uses it: read a frame into messages, write a message.
//!
//! A frame's bytes are walked over once. `params`, `result` and `error.data`
//! stay text that shares the frame; unknown members stay too. What the
//! messages mean is left to `machine`, how frames are found to `framing`.
//!
//! Specification: basic (messages), every revision.

mod error_object;
mod large;
mod limits;
mod read;
mod reader;
mod request_id;
mod write;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

pub use error_object::{ErrorCode, ErrorObject};
pub use large::LargeFrame;
pub use limits::Limits;
pub use read::{Frame, Malformed, Problem, Shape};
pub use reader::{FrameReader, UsualResult};
pub(crate) use request_id::BEFORE_ID;
pub use request_id::{BadRequestId, RequestId};
pub use write::Rest;

use crate::method::Method;
use crate::payload::Payload;

/// One JSON-RPC message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Wants an answer.
    Request(Request),
    /// Wants none.
    Notification(Notification),
    /// Is an answer.
    Response(Response),
}

/// A message that wants an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// What the answer will carry.
    pub id: RequestId,
    /// What is asked for.
    pub method: MethodName,
    /// With what.
    pub params: Option<Payload>,
    /// Members of the envelope that JSON-RPC does not name.
    pub extra: ExtraMembers,
}

/// A message that wants no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notification {
    /// What is told.
    pub method: MethodName,
    /// With what.
    pub params: Option<Payload>,
    /// Members of the envelope that JSON-RPC does not name.
    pub extra: ExtraMembers,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Response {
    /// Which request it answers. Only an error may lack it, when the request was unreadable.
    pub id: Option<RequestId>,
    /// The result, or the error.
    pub outcome: Result<Payload, ErrorObject>,
    /// Members of the envelope that JSON-RPC does not name.
    pub extra: ExtraMembers,
}

impl Request {
    /// A request with this id.
    pub fn new(id: RequestId, method: impl Into<MethodName>, params: Option<Payload>) -> Self {
        Self {
            id,
            method: method.into(),
            params,
            extra: ExtraMembers::default(),
        }
    }
}

impl Notification {
    /// A notification.
    pub fn new(method: impl Into<MethodName>, params: Option<Payload>) -> Self {
        Self {
            method: method.into(),
            params,
            extra: ExtraMembers::default(),
        }
    }
}

impl Response {
    /// The answer to the request with this id.
    pub fn new(id: RequestId, outcome: Result<Payload, ErrorObject>) -> Self {
        Self {
            id: Some(id),
            outcome,
            extra: ExtraMembers::default(),
        }
    }

    /// The answer to something whose id could not be read.
    pub fn without_id(error: ErrorObject) -> Self {
        Self {
            id: None,
            outcome: Err(error),
            extra: ExtraMembers::default(),
        }
    }
}

impl Message {
    /// The method, unless this is a response.
    pub const fn method(&self) -> Option<&MethodName> {
        match self {
            Self::Request(request) => Some(&request.method),
            Self::Notification(notification) => Some(&notification.method),
            Self::Response(_) => None,
        }
    }
}

impl From<Request> for Message {
    fn from(request: Request) -> Self {
        Self::Request(request)
    }
}

impl From<Notification> for Message {
    fn from(notification: Notification) -> Self {
        Self::Notification(notification)
    }
}

impl From<Response> for Message {
    fn from(response: Response) -> Self {
        Self::Response(response)
    }
}

/// The name of a method: one of the table, or one that only the peers know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MethodName {
    /// One that the specification names.
    Known(Method),
    /// Any other.
    Other(Arc<str>),
}

impl MethodName {
    /// Finds the name in the table, or keeps it as it is.
    pub fn new(name: &str) -> Self {
        Method::from_name(name).map_or_else(|| Self::Other(name.into()), Self::Known)
    }

    /// The name on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(method) => method.name(),
            Self::Other(name) => name,
        }
    }

    /// The method, if the table has it.
    pub const fn known(&self) -> Option<Method> {
        match self {
            Self::Known(method) => Some(*method),
            Self::Other(_) => None,
        }
    }
}

impl From<Method> for MethodName {
    fn from(method: Method) -> Self {
        Self::Known(method)
    }
}

impl PartialEq<Method> for MethodName {
    fn eq(&self, other: &Method) -> bool {
        self.known() == Some(*other)
    }
}

impl fmt::Display for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Members of an envelope that JSON-RPC does not name, as they were written.
///
/// Messages hardly ever have any.
#[expect(
    clippy::box_collection,
    reason = "none takes one word instead of three in every message"
)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtraMembers(Option<Box<Vec<(Bytes, Bytes)>>>);

impl ExtraMembers {
    /// The raw text of each name, without quotes, and of its value.
    pub fn iter(&self) -> impl Iterator<Item = (&Bytes, &Bytes)> {
        self.0
            .iter()
            .flat_map(|members| members.iter())
            .map(|(name, value)| (name, value))
    }

    /// Are there none?
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |members| members.len())
    }

    fn push(&mut self, name: Bytes, value: Bytes) {
        self.0.get_or_insert_default().push((name, value));
    }
}
