//! Writes messages as JSON text, one line each, without building a tree.

use bytes::Bytes;

use super::{ErrorObject, ExtraMembers, Message, MethodName, Response};
use crate::framing::append_without_line_breaks;
use crate::json_string;
use crate::payload::Payload;

impl Message {
    /// Appends the message as one line of JSON text, without the line's end.
    pub fn write(&self, out: &mut Vec<u8>) {
        let rest = self.write_head(out);
        match rest.text() {
            Some(text) if !rest.is_one_line() => append_without_line_breaks(text, out),
            Some(text) => out.extend_from_slice(text),
            None => {}
        }
        out.extend_from_slice(rest.tail());
    }

    /// The message as JSON text.
    pub fn to_bytes(&self) -> Bytes {
        let mut out = Vec::with_capacity(64 + self.payload().map_or(0, Payload::length));
        self.write(&mut out);
        out.into()
    }

    /// Appends how the message begins, and gives what is still to be written.
    ///
    /// For whoever can write several buffers at once: a large payload need not be copied.
    pub fn write_head(&self, out: &mut Vec<u8>) -> Rest<'_> {
        match self {
            Self::Request(request) => {
                request.id.write_head(out);
                request.method.write(out);
                write_extra(&request.extra, out);
                write_member(b",\"params\":", request.params.as_ref(), out)
            }
            Self::Notification(notification) => {
                out.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
                notification.method.write(out);
                write_extra(&notification.extra, out);
                write_member(b",\"params\":", notification.params.as_ref(), out)
            }
            Self::Response(response) => response.write_head(out),
        }
    }

    /// What is carried: parameters, a result, or what an error says beside its message.
    pub const fn payload(&self) -> Option<&Payload> {
        match self {
            Self::Request(request) => request.params.as_ref(),
            Self::Notification(notification) => notification.params.as_ref(),
            Self::Response(response) => match &response.outcome {
                Ok(result) => Some(result),
                Err(error) => error.data.as_ref(),
            },
        }
    }
}

impl Response {
    /// The same as [`Message::write_head`], for a response.
    pub fn write_head(&self, out: &mut Vec<u8>) -> Rest<'_> {
        match &self.id {
            Some(id) => id.write_head(out),
            // An error whose request had no readable id goes without one: `null` is not an id.
            None => out.extend_from_slice(b"{\"jsonrpc\":\"2.0\""),
        }
        write_extra(&self.extra, out);
        match &self.outcome {
            Ok(result) => write_member(b",\"result\":", Some(result), out),
            Err(error) => write_error(error, out),
        }
    }
}

impl MethodName {
    /// Appends it as a member that is not the first.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"method\":");
        match self {
            Self::Known(method) => {
                out.push(b'"');
                out.extend_from_slice(method.name().as_bytes());
                out.push(b'"');
            }
            Self::Other(name) => json_string::write(name, out),
        }
    }
}

/// What is still to be written of a message whose beginning is.
#[derive(Clone, Copy, Debug)]
pub struct Rest<'a> {
    payload: Option<&'a Payload>,
    /// How many objects of the message end behind the payload.
    open: usize,
}

impl<'a> Rest<'a> {
    /// The payload, or what is large of it.
    pub fn text(&self) -> Option<&'a Bytes> {
        self.payload.map(Payload::last_piece)
    }

    /// Does that stand in one line? If not, a line-based transport must leave out what breaks it.
    pub fn is_one_line(&self) -> bool {
        self.payload.is_none_or(Payload::is_one_line)
    }

    /// What comes behind it, and ends the message.
    pub fn tail(&self) -> &'static [u8] {
        let open = self.open + usize::from(self.payload.is_some_and(Payload::is_open));
        BRACES.get(..open).unwrap_or(BRACES)
    }
}

/// A message, an error and a payload may be open.
const BRACES: &[u8] = b"}}}";

fn write_member<'a>(name: &[u8], payload: Option<&'a Payload>, out: &mut Vec<u8>) -> Rest<'a> {
    if let Some(payload) = payload {
        out.extend_from_slice(name);
        out.extend_from_slice(payload.first_piece());
    }
    Rest { payload, open: 1 }
}

fn write_error<'a>(error: &'a ErrorObject, out: &mut Vec<u8>) -> Rest<'a> {
    out.extend_from_slice(b",\"error\":");
    write_error_head(error, out);
    let payload = error.data.as_ref();
    out.extend_from_slice(payload.map_or(&[][..], Payload::first_piece));
    Rest { payload, open: 2 }
}

/// An error by itself.
pub(super) fn error_text(error: &ErrorObject) -> Vec<u8> {
    let mut out = Vec::new();
    write_error_head(error, &mut out);
    if let Some(data) = &error.data {
        append_line(data, &mut out);
    }
    out.push(b'}');
    out
}

fn write_error_head(error: &ErrorObject, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"code\":");
    out.extend_from_slice(itoa::Buffer::new().format(error.code.0).as_bytes());
    out.extend_from_slice(b",\"message\":");
    json_string::write(&error.message, out);
    write_extra(&error.extra, out);
    if error.data.is_some() {
        out.extend_from_slice(b",\"data\":");
    }
}

fn write_extra(extra: &ExtraMembers, out: &mut Vec<u8>) {
    for (name, value) in extra.iter() {
        out.extend_from_slice(b",\"");
        out.extend_from_slice(name);
        out.extend_from_slice(b"\":");
        append_without_line_breaks(value, out);
    }
}

fn append_line(payload: &Payload, out: &mut Vec<u8>) {
    if payload.is_one_line() {
        out.extend_from_slice(payload.text());
    } else {
        append_without_line_breaks(payload.text(), out);
    }
}
