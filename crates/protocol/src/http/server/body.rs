//! What a posted body says that its headers must agree with.
//!
//! A view of what `jsonrpc` has read: nothing is decoded, and text is copied only
//! where escapes force it. What the message means is left to the machine.
//!
//! Specification: 2026-07-28 basic/transports/streamable-http, server validation.

use std::borrow::Cow;

use crate::envelope::Envelope;
use crate::jsonrpc::{
    Frame, Malformed, Message, MethodName, Notification, Problem, Request, RequestId, Shape,
};
use crate::method::Method;
use crate::payload::Payload;

/// A posted body, as far as admission looks at it.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    pub(super) content: Content<'a>,
    envelope: Envelope<'a>,
}

/// What kind of message a body is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content<'a> {
    /// Wants an answer.
    Request(&'a Request),
    /// Is answered with 202 and nothing else.
    Notification(&'a Notification),
    /// As a notification; only the handshake era has it.
    Response,
    /// Several messages; only 2025-03-26 has it.
    Batch(&'a [Result<Message, Malformed>]),
    /// No message at all.
    Malformed(&'a Malformed),
}

impl<'a> Body<'a> {
    /// Looks at what [`Frame::read`] made of the body.
    pub fn of(frame: &'a Result<Frame, Malformed>) -> Self {
        let content = match frame {
            Ok(Frame::Single(Message::Request(request))) => Content::Request(request),
            Ok(Frame::Single(Message::Notification(told))) => Content::Notification(told),
            Ok(Frame::Single(Message::Response(_))) => Content::Response,
            Ok(Frame::Batch(entries)) => Content::Batch(entries),
            Err(malformed) => Content::Malformed(malformed),
        };
        Self {
            envelope: Envelope::of(content.params()),
            content,
        }
    }

    /// The id that an error in answer to this body carries.
    pub fn id(&self) -> Option<&'a RequestId> {
        match self.content {
            Content::Request(request) => Some(&request.id),
            // The id of an answer is one of ours and names no request of the client's.
            Content::Malformed(malformed) if malformed.shape != Shape::Response => {
                malformed.id.as_ref()
            }
            _ => None,
        }
    }

    pub(super) const fn is_request(&self) -> bool {
        matches!(self.content, Content::Request(_))
    }

    pub(super) const fn is_batch(&self) -> bool {
        matches!(self.content, Content::Batch(_))
    }

    /// Is it `initialize`, as a message of its own?
    pub(super) fn is_initialize(&self) -> bool {
        matches!(self.content, Content::Request(request) if request.method == Method::Initialize)
    }

    /// Is it a batch with `initialize` in it?
    pub(super) fn batches_initialize(&self) -> bool {
        let is_initialize = |entry: &Result<Message, Malformed>| matches!(entry, Ok(Message::Request(request)) if request.method == Method::Initialize);
        matches!(self.content, Content::Batch(entries) if entries.iter().any(is_initialize))
    }

    /// Could it be a broken answer to a question of ours?
    pub(super) fn may_be_answer(&self) -> bool {
        match self.content {
            Content::Malformed(malformed) => {
                malformed.shape == Shape::Response
                    || malformed.problem == Problem::NeitherResultNorError
            }
            _ => false,
        }
    }

    /// Has it an envelope, or a part of one?
    pub(super) const fn has_envelope(&self) -> bool {
        self.envelope.is_stateless()
    }

    /// Is it a request whose method alone shows the stateless era?
    pub(super) fn implies_stateless(&self) -> bool {
        let known = self.method().and_then(MethodName::known);
        self.is_request() && known.is_some_and(Method::implies_stateless)
    }

    /// Has it all that the stateless era wants, so that the mirrors can be judged?
    pub(super) fn has_whole_envelope(&self) -> bool {
        let capabilities = self.envelope.client_capabilities;
        self.version().is_some() && capabilities.is_some_and(|text| text.first() == Some(&b'{'))
    }

    /// The version that the envelope names, if it names one as a string.
    pub(super) fn version(&self) -> Option<Cow<'a, str>> {
        self.envelope.protocol_version()
    }

    pub(super) fn method(&self) -> Option<&'a MethodName> {
        self.content.method()
    }

    /// The parameter that `Mcp-Name` repeats, where the method has one, and what it says.
    pub(super) fn mirrored(&self) -> Option<(&'static str, Option<Cow<'a, str>>)> {
        let parameter = self.method()?.known()?.rule().mirrored?;
        let value = self.content.params().and_then(|params| match parameter {
            // This one was noted when the frame was read.
            "name" => params.name(),
            other => params.string_member(other),
        });
        Some((parameter, value))
    }
}

impl<'a> Content<'a> {
    const fn method(self) -> Option<&'a MethodName> {
        match self {
            Self::Request(request) => Some(&request.method),
            Self::Notification(told) => Some(&told.method),
            Self::Response | Self::Batch(_) | Self::Malformed(_) => None,
        }
    }

    const fn params(self) -> Option<&'a Payload> {
        match self {
            Self::Request(request) => request.params.as_ref(),
            Self::Notification(told) => told.params.as_ref(),
            Self::Response | Self::Batch(_) | Self::Malformed(_) => None,
        }
    }
}
