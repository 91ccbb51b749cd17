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
use crate::revision::Revision;

/// A posted body, as far as admission looks at it.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    pub(super) content: Content<'a>,
    claim: Claim<'a>,
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
        let content = Content::of(frame);
        Self {
            claim: Claim::of(content.params()),
            content,
        }
    }

    /// The same. If its `_meta` is the one that was seen last, it is not read again.
    pub fn of_next(frame: &'a Result<Frame, Malformed>, last: &mut LastMeta) -> Self {
        let content = Content::of(frame);
        Self {
            claim: last.claim(content.params()),
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
        self.claim.is_stateless
    }

    /// Is it a request whose method alone shows the stateless era?
    pub(super) fn implies_stateless(&self) -> bool {
        let known = self.method().and_then(MethodName::known);
        self.is_request() && known.is_some_and(Method::implies_stateless)
    }

    /// Has it all that the stateless era wants, so that the mirrors can be judged?
    pub(super) const fn has_whole_envelope(&self) -> bool {
        self.claim.version.is_some() && self.claim.has_capabilities
    }

    /// The version that the envelope names, if it names one as a string.
    pub(super) fn version(&self) -> Option<&str> {
        self.claim.version.as_deref()
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

/// What the envelope of a message says of its era.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Claim<'a> {
    /// Is there one, or a part of one?
    is_stateless: bool,
    version: Option<Cow<'a, str>>,
    /// As an object, whatever is in it.
    has_capabilities: bool,
}

impl<'a> Claim<'a> {
    fn of(params: Option<&'a Payload>) -> Self {
        let envelope = Envelope::of(params);
        let capabilities = envelope.client_capabilities;
        Self {
            is_stateless: envelope.is_stateless(),
            version: envelope.protocol_version(),
            has_capabilities: capabilities.is_some_and(|text| text.first() == Some(&b'{')),
        }
    }
}

/// The `_meta` that was seen last, and what it says of its era: for [`Body::of_next`].
///
/// A client of the stateless era says the same in every request, and text that is the same
/// to the byte means the same.
#[derive(Debug, Default)]
pub struct LastMeta {
    /// Empty if there was none that is worth it.
    text: Vec<u8>,
    claim: Claim<'static>,
}

impl LastMeta {
    fn claim<'a>(&mut self, params: Option<&'a Payload>) -> Claim<'a> {
        let Some(meta) = params.and_then(Payload::meta) else {
            return Claim::default();
        };
        if self.text == meta {
            return self.claim.clone();
        }
        let claim = Claim::of(params);
        let version = claim.version.as_deref();
        if let Some(revision) = version.and_then(|version| version.parse::<Revision>().ok())
            && meta.len() <= MOST_KEPT
        {
            self.text.clear();
            self.text.extend_from_slice(meta);
            self.claim = Claim {
                version: Some(Cow::Borrowed(revision.as_str())),
                ..claim
            };
        }
        claim
    }
}

impl<'a> Content<'a> {
    const fn of(frame: &'a Result<Frame, Malformed>) -> Self {
        match frame {
            Ok(Frame::Single(Message::Request(request))) => Self::Request(request),
            Ok(Frame::Single(Message::Notification(told))) => Self::Notification(told),
            Ok(Frame::Single(Message::Response(_))) => Self::Response,
            Ok(Frame::Batch(entries)) => Self::Batch(entries.as_slice()),
            Err(malformed) => Self::Malformed(malformed),
        }
    }

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

/// Several times what clients say; it is copied whenever it changes.
const MOST_KEPT: usize = 1024;

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::jsonrpc::Limits;

    fn frame(meta: &str) -> Result<Frame, Malformed> {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{meta}}}}}"#
        );
        Frame::read(&Bytes::from(text), &Limits::default())
    }

    #[test]
    fn what_was_seen_last_is_told_as_if_it_were_read() {
        let long = "x".repeat(MOST_KEPT);
        let metas = [
            "{}",
            "7",
            r#"{"progressToken":1}"#,
            r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
            r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-\u00328"}"#,
            r#"{"io.modelcontextprotocol/protocolVersion":"2030-01-01"}"#,
            r#"{"io.modelcontextprotocol/protocolVersion":7}"#,
            r#"{"io.modelcontextprotocol/clientCapabilities":{}}"#,
            r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#,
            r#"{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":[]}"#,
            &format!(r#"{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","x":"{long}"}}"#),
        ];
        let mut last = LastMeta::default();
        for first in metas {
            for second in metas {
                for meta in [first, second, second] {
                    let frame = frame(meta);
                    let expected = Body::of(&frame).claim;
                    assert_eq!(Body::of_next(&frame, &mut last).claim, expected, "{meta}");
                }
            }
        }
        assert!(last.text.len() <= MOST_KEPT);
    }

    #[test]
    fn a_message_without_meta_claims_nothing() {
        let mut last = LastMeta::default();
        for text in [r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "[]", "{"] {
            let frame = Frame::read(&Bytes::from_static(text.as_bytes()), &Limits::default());
            assert_eq!(Body::of_next(&frame, &mut last).claim, Claim::default());
        }
    }
}
