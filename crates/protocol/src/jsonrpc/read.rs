//! Reads a frame into messages, in one pass over its bytes.
//!
//! What is wrong with a frame is told in full: which rule it breaks, and the id
//! when it could still be read, so that the call it belongs to can be found.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;

use super::{
    ErrorCode, ErrorObject, ExtraMembers, FrameReader, Limits, Message, MethodName, Notification,
    Request, RequestId, Response,
};
use crate::json_string::unescape;
use crate::method::Method;
use crate::payload::{Payload, string_of};
use crate::scan::{Fault, Scanner, SeenNames, Survey, names};

/// What one frame holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// One message.
    Single(Message),
    /// An array of messages, each good or bad on its own.
    Batch(Vec<Result<Message, Malformed>>),
}

impl Frame {
    /// Reads a frame.
    ///
    /// # Errors
    /// When the frame as a whole is not JSON, or not a message.
    pub fn read(bytes: &Bytes, limits: &Limits) -> Result<Self, Malformed> {
        FrameReader::new(*limits).read(bytes.clone())
    }

    /// Reads a frame of any form.
    pub(super) fn read_any(
        bytes: &Bytes,
        survey: Option<&Survey>,
        limits: &Limits,
    ) -> Result<Self, Malformed> {
        if bytes.len() > limits.bytes {
            return Err(Malformed::too_large(bytes, limits.bytes));
        }
        let mut scanner = Scanner::new(bytes, limits.bounds());
        if let Some(survey) = survey {
            scanner = scanner.passing(survey);
        }
        match scanner.peek() {
            Ok(b'[') => read_batch(bytes, scanner, limits),
            Ok(_) => {
                let message = read_message(bytes, &mut scanner);
                // Bytes after the message mean that this is not JSON at all.
                if message.as_ref().is_err_and(Malformed::is_not_json) {
                    return message.map(Self::Single);
                }
                scanner.end().map_err(Malformed::not_json)?;
                message.map(Self::Single)
            }
            Err(fault) => Err(Malformed::not_json(fault)),
        }
    }
}

/// A frame, or an entry of a batch, that is not a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Malformed {
    /// Which rule it breaks.
    pub problem: Problem,
    /// Its id, when that could be read.
    pub id: Option<RequestId>,
    /// What it was meant to be.
    pub shape: Shape,
}

/// What a malformed message was meant to be, as far as can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// It has a method.
    Request,
    /// It has a method and no id at all, so nobody waits for an answer.
    Notification,
    /// It has a result or an error.
    Response,
    /// It has neither, or both.
    Unclear,
}

/// Which rule a malformed message breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// It is not JSON.
    NotJson(Fault),
    /// It has more bytes than the limit.
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// It is not an object.
    NotAnObject,
    /// A member name comes twice in the envelope or one level below.
    RepeatedMember,
    /// More members beside those of JSON-RPC than anyone needs.
    TooManyMembers,
    /// `jsonrpc` is not there, or is not `"2.0"`.
    WrongVersion,
    /// The id is null, a fraction, a boolean, an object or an array.
    BadId,
    /// The method is not a string.
    BadMethod,
    /// The parameters are not an object.
    BadParams,
    /// It has a result and an error.
    ResultAndError,
    /// It has no method, no result and no error.
    NeitherResultNorError,
    /// It has a method, and a result or an error.
    MethodAndOutcome,
    /// It has a result but no id.
    ResultWithoutId,
    /// The error is not an object with an integer code and a string message.
    BadError,
    /// It is an array without entries.
    EmptyBatch,
    /// It is an array within an array.
    NestedBatch,
    /// It is an array with more entries than the limit.
    BatchTooLong,
}

impl Malformed {
    /// A frame over the limit, of which at least the beginning is there.
    pub fn too_large(beginning: &Bytes, limit: usize) -> Self {
        let (id, shape) = find_head(beginning);
        Self {
            problem: Problem::TooLarge { limit },
            id,
            shape,
        }
    }

    /// A frame that is not JSON, found out before it was read: what it was meant to be is looked for in its
    /// beginning alone.
    pub(super) fn not_json_of(fault: Fault, beginning: &Bytes) -> Self {
        let (id, shape) = find_head(beginning);
        Self {
            id,
            shape,
            ..Self::not_json(fault)
        }
    }

    fn not_json(fault: Fault) -> Self {
        Self {
            problem: match fault {
                Fault::Repeated { .. } => Problem::RepeatedMember,
                fault => Problem::NotJson(fault),
            },
            id: None,
            shape: Shape::Unclear,
        }
    }

    fn is_not_json(&self) -> bool {
        matches!(self.problem, Problem::NotJson(_))
    }

    /// The name of the limit that it is over, if that is what is wrong with it.
    pub const fn limit(&self) -> Option<&'static str> {
        match self.problem {
            Problem::TooLarge { .. } => Some("message"),
            Problem::NotJson(Fault::TooDeep) => Some("depth"),
            Problem::NotJson(Fault::TooComplex) => Some("items"),
            Problem::BatchTooLong => Some("batch"),
            Problem::TooManyMembers => Some("members"),
            _ => None,
        }
    }

    /// The error to answer with: −32700 for what is not JSON, −32600 for the rest.
    pub fn error(&self) -> ErrorObject {
        let code = match self.problem {
            Problem::NotJson(_) => ErrorCode::PARSE_ERROR,
            _ => ErrorCode::INVALID_REQUEST,
        };
        ErrorObject::new(code, self.problem.to_string())
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for Malformed {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotJson(fault) => return write!(f, "Parse error: {fault}"),
            Self::TooLarge { limit } => {
                return write!(f, "Invalid Request: larger than {limit} bytes");
            }
            Self::NotAnObject => "Invalid Request: not an object",
            Self::RepeatedMember => "Invalid Request: a member name is repeated",
            Self::TooManyMembers => "Invalid Request: too many unknown members",
            Self::WrongVersion => "Invalid Request: jsonrpc must be \"2.0\"",
            Self::BadId => "Invalid Request: id must be a string or an integer",
            Self::BadMethod => "Invalid Request: method must be a string",
            Self::BadParams => "Invalid Request: params must be an object",
            Self::ResultAndError => "Invalid Response: both result and error",
            Self::NeitherResultNorError => "Invalid Request: no method, no result, no error",
            Self::MethodAndOutcome => "Invalid Request: both a method and an outcome",
            Self::ResultWithoutId => "Invalid Response: a result without an id",
            Self::BadError => "Invalid Response: error must have an integer code and a message",
            Self::EmptyBatch => "Invalid Request: empty batch",
            Self::NestedBatch => "Invalid Request: a batch within a batch",
            Self::BatchTooLong => "Invalid Request: too many messages in one batch",
        })
    }
}

fn read_batch(
    bytes: &Bytes,
    mut scanner: Scanner<'_>,
    limits: &Limits,
) -> Result<Frame, Malformed> {
    let whole = |problem| Malformed {
        problem,
        id: None,
        shape: Shape::Unclear,
    };
    let mut entries = Vec::new();
    scanner.enter(b'[').map_err(Malformed::not_json)?;
    while scanner
        .next_item(entries.is_empty())
        .map_err(Malformed::not_json)?
    {
        if entries.len() >= limits.batch {
            return Err(whole(Problem::BatchTooLong));
        }
        let entry = read_message(bytes, &mut scanner);
        if entry.as_ref().is_err_and(Malformed::is_not_json) {
            return entry.map(Frame::Single);
        }
        entries.push(entry);
    }
    scanner.end().map_err(Malformed::not_json)?;
    if entries.is_empty() {
        return Err(whole(Problem::EmptyBatch));
    }
    Ok(Frame::Batch(entries))
}

/// The members of an envelope, as they were found.
#[derive(Default)]
struct Envelope {
    version: Option<Range<usize>>,
    id: Option<Range<usize>>,
    method: Option<Range<usize>>,
    params: Option<Payload>,
    result: Option<Payload>,
    error: Option<Range<usize>>,
    extra: ExtraMembers,
    /// The first thing that is wrong with it; reading goes on to find the id.
    problem: Option<Problem>,
}

/// Reads one message and leaves the scanner behind it, also when it is malformed JSON-RPC.
fn read_message(bytes: &Bytes, scanner: &mut Scanner<'_>) -> Result<Message, Malformed> {
    let json = |fault| Malformed::not_json(fault);
    match scanner.peek().map_err(json)? {
        b'{' => {}
        other => {
            scanner.value().map_err(json)?;
            let problem = if other == b'[' {
                Problem::NestedBatch
            } else {
                Problem::NotAnObject
            };
            return Err(Malformed {
                problem,
                id: None,
                shape: Shape::Unclear,
            });
        }
    }
    let mut envelope = Envelope::default();
    envelope.fill(bytes, scanner).map_err(|fault| {
        let mut malformed = Malformed::not_json(fault);
        (malformed.id, malformed.shape) = find_head(bytes);
        malformed
    })?;
    envelope.take_message(bytes)
}

impl Envelope {
    fn fill(&mut self, bytes: &Bytes, scanner: &mut Scanner<'_>) -> Result<(), Fault> {
        scanner.enter(b'{')?;
        // The order in which nearly everyone writes them.
        let mut first = true;
        if scanner.guess(b"\"jsonrpc\":\"2.0\"") {
            let end = scanner.position();
            self.version = Some(end - VERSION.len()..end);
            first = false;
            if scanner.guess(b",\"id\":") {
                self.id = Some(scanner.value()?);
            }
            if scanner.guess(b",\"method\":") {
                self.method = Some(scanner.value()?);
            }
            if scanner.guess(b",\"params\":") {
                self.params = Some(self.payload(bytes, scanner)?);
            }
        }
        while scanner.next_name(first)? {
            let name = scanner.text();
            first = false;
            match known_member(name.of(bytes), name.escaped) {
                Some(Known::Version) => set(&mut self.version, scanner.value()?, &mut self.problem),
                Some(Known::Id) => set(&mut self.id, scanner.value()?, &mut self.problem),
                Some(Known::Method) => set(&mut self.method, scanner.value()?, &mut self.problem),
                Some(Known::Error) => set(&mut self.error, scanner.value()?, &mut self.problem),
                Some(Known::Params) => {
                    let payload = self.payload(bytes, scanner)?;
                    set(&mut self.params, payload, &mut self.problem);
                }
                Some(Known::Result) => {
                    let payload = self.payload(bytes, scanner)?;
                    set(&mut self.result, payload, &mut self.problem);
                }
                None => {
                    let value = scanner.value()?;
                    self.keep(bytes.slice(name.range()), bytes.slice(value));
                }
            }
        }
        Ok(())
    }

    fn payload(&mut self, bytes: &Bytes, scanner: &mut Scanner<'_>) -> Result<Payload, Fault> {
        let before = scanner.clone();
        match Payload::scan(bytes, scanner) {
            Err(Fault::Repeated { .. }) => {
                // Valid JSON all the same: step over it, so that an id behind it is found.
                self.problem.get_or_insert(Problem::RepeatedMember);
                *scanner = before;
                scanner.value().map(|_| Payload::empty())
            }
            other => other,
        }
    }

    fn keep(&mut self, name: Bytes, value: Bytes) {
        if self.extra.len() >= MAX_EXTRA {
            self.problem.get_or_insert(Problem::TooManyMembers);
            return;
        }
        self.extra.push(name, value);
    }

    fn take_message(&mut self, bytes: &Bytes) -> Result<Message, Malformed> {
        let has_outcome = self.result.is_some() || self.error.is_some();
        let shape = match (&self.method, has_outcome) {
            // A method that is not even a string makes it no notification.
            (Some(method), false)
                if self.id.is_none() && bytes.get(method.start) == Some(&b'"') =>
            {
                Shape::Notification
            }
            (Some(_), false) => Shape::Request,
            (None, true) => Shape::Response,
            _ => Shape::Unclear,
        };
        let read_id = |span: Range<usize>| RequestId::from_part(bytes, span);
        let id_span = self.id.take();
        let refuse = |problem| {
            Err(Malformed {
                problem,
                id: id_span.clone().and_then(|span| read_id(span).ok()),
                shape,
            })
        };
        let id = id_span.clone().map(read_id);
        // One name in two spellings is one name.
        if !self.extra.is_empty() {
            let mut seen = SeenNames::default();
            if !self.extra.iter().all(|(name, _)| seen.insert(name, true)) {
                self.problem.get_or_insert(Problem::RepeatedMember);
            }
        }
        if let Some(problem) = self.problem {
            return refuse(problem);
        }
        let version = self.version.take().and_then(|span| bytes.get(span));
        if version != Some(VERSION) && version.and_then(string_of).as_deref() != Some("2.0") {
            return refuse(Problem::WrongVersion);
        }
        if let Some(method) = self.method.take() {
            if has_outcome {
                return refuse(Problem::MethodAndOutcome);
            }
            let Some(method) = bytes.get(method).and_then(read_method) else {
                return refuse(Problem::BadMethod);
            };
            // Some writers send `"params":null` for "none".
            let params = self.params.take().filter(|p| p.text().as_ref() != b"null");
            if params.as_ref().is_some_and(|p| !p.is_object()) {
                return refuse(Problem::BadParams);
            }
            return match id {
                None => Ok(Message::Notification(Notification {
                    method,
                    params,
                    extra: std::mem::take(&mut self.extra),
                })),
                Some(Ok(id)) => Ok(Message::Request(Request {
                    id,
                    method,
                    params,
                    extra: std::mem::take(&mut self.extra),
                })),
                Some(Err(_)) => refuse(Problem::BadId),
            };
        }
        let outcome = match (self.result.take(), self.error.take()) {
            (Some(_), Some(_)) => return refuse(Problem::ResultAndError),
            (None, None) => return refuse(Problem::NeitherResultNorError),
            (Some(result), None) => Ok(result),
            (None, Some(span)) => match read_error(bytes, span) {
                Some(error) => Err(error),
                None => return refuse(Problem::BadError),
            },
        };
        match (id, &outcome) {
            (Some(Ok(id)), _) => Ok(Message::Response(Response {
                id: Some(id),
                outcome,
                extra: std::mem::take(&mut self.extra),
            })),
            // JSON-RPC writes null, MCP leaves it out, when the request was unreadable.
            (None | Some(Err(_)), Err(_)) => Ok(Message::Response(Response {
                id: None,
                outcome,
                extra: std::mem::take(&mut self.extra),
            })),
            (Some(Err(_)), Ok(_)) => refuse(Problem::BadId),
            (None, Ok(_)) => refuse(Problem::ResultWithoutId),
        }
    }
}

fn set<T>(place: &mut Option<T>, value: T, problem: &mut Option<Problem>) {
    if place.is_some() {
        problem.get_or_insert(Problem::RepeatedMember);
    } else {
        *place = Some(value);
    }
}

#[derive(Clone, Copy)]
enum Known {
    Version,
    Id,
    Method,
    Params,
    Result,
    Error,
}

fn known_member(raw: &[u8], escaped: bool) -> Option<Known> {
    Some(match raw {
        b"jsonrpc" => Known::Version,
        b"id" => Known::Id,
        b"method" => Known::Method,
        b"params" => Known::Params,
        b"result" => Known::Result,
        b"error" => Known::Error,
        _ if !escaped => return None,
        _ => return known_member_escaped(raw),
    })
}

#[cold]
fn known_member_escaped(raw: &[u8]) -> Option<Known> {
    unescape(raw).and_then(|name| match name.as_ref() {
        "jsonrpc" => Some(Known::Version),
        "id" => Some(Known::Id),
        "method" => Some(Known::Method),
        "params" => Some(Known::Params),
        "result" => Some(Known::Result),
        "error" => Some(Known::Error),
        _ => None,
    })
}

fn read_method(text: &[u8]) -> Option<MethodName> {
    let inner = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if let Some(method) = Method::from_bytes(inner) {
        return Some(MethodName::Known(method));
    }
    unescape(inner).map(|name| MethodName::new(&name))
}

pub(super) fn read_error(bytes: &Bytes, span: Range<usize>) -> Option<ErrorObject> {
    let text = bytes.slice(span);
    let mut scanner = Scanner::new(&text, Limits::default().bounds());
    scanner.enter(b'{').ok()?;
    let (mut code, mut message, mut data) = (None, None, None);
    let mut extra = ExtraMembers::default();
    let mut seen = SeenNames::default();
    let mut first = true;
    while scanner.next_name(first).ok()? {
        let name = scanner.text();
        first = false;
        let raw = name.of(&text);
        if !seen.insert(raw, name.escaped) {
            return None;
        }
        if names(raw, "data") {
            data = Some(Payload::scan(&text, &mut scanner).ok()?);
            continue;
        }
        let value = scanner.value().ok()?;
        if names(raw, "code") {
            code = serde_json::from_slice(text.get(value)?).ok().map(ErrorCode);
        } else if names(raw, "message") {
            message = serde_json::from_slice(text.get(value)?).ok();
        } else if extra.len() < MAX_EXTRA {
            extra.push(text.slice(name.range()), text.slice(value));
        }
    }
    Some(ErrorObject {
        code: code?,
        message: message?,
        data,
        extra,
    })
}

/// The id and the shape of a message, as far as its beginning tells them: the id of a request is one of the
/// sender's own, that of an answer one of ours.
///
/// For a frame that was cut off because it is too large: whoever waits for it can be told.
/// Only the envelope's own `id` counts.
fn find_head(beginning: &Bytes) -> (Option<RequestId>, Shape) {
    let mut id = None;
    let mut shape = Shape::Unclear;
    let mut scanner = Scanner::new(beginning, Limits::default().bounds());
    let mut first = true;
    if scanner.enter(b'{').is_err() {
        return (id, shape);
    }
    while scanner.next_name(first) == Ok(true) {
        let name = scanner.text();
        first = false;
        let known = known_member(name.of(beginning), name.escaped);
        match known {
            Some(Known::Method) => shape = Shape::Request,
            Some(Known::Result | Known::Error) => shape = Shape::Response,
            _ => {}
        }
        if id.is_some() && shape != Shape::Unclear {
            break;
        }
        let Ok(value) = scanner.value() else {
            break;
        };
        // A number at the very end may go on behind the cut.
        if matches!(known, Some(Known::Id)) && value.end < beginning.len() {
            id = RequestId::from_part(beginning, value).ok();
        }
    }
    (id, shape)
}

const VERSION: &[u8] = b"\"2.0\"";

// Envelopes have no members of their own beyond JSON-RPC's; a few strangers are kept.
const MAX_EXTRA: usize = 16;

#[cfg(test)]
mod tests;
