//! The request of a call on its way out.
//!
//! It is lent to whoever writes it, straight behind what waits already: nothing of it is
//! copied before, and the call keeps its parameters in case they must be sent again.
//!
//! Specification: basic (requests), basic/patterns/progress.

use crate::envelope::{append_rest, prepend};
use crate::jsonrpc::{BEFORE_ID, Message, MethodName, Request, RequestId};
use crate::machine::Lane;
use crate::machine::client::meta_text::{BEFORE_PARAMS, MetaText};
use crate::method::Method;
use crate::payload::Payload;

/// A request that is to be sent now.
#[derive(Debug)]
pub struct Departure<'a> {
    pub(super) id: i64,
    pub(super) method: &'a MethodName,
    /// The `_meta` that comes before the caller's own members, if there is any to come.
    pub(super) meta: Option<&'a MetaText>,
    /// Whether that names the id as the token of its progress.
    pub(super) has_token: bool,
    pub(super) params: Option<&'a Payload>,
}

impl Departure<'_> {
    /// The stream that its answer comes on, over HTTP.
    pub const fn lane(&self) -> Lane {
        Lane(self.id.cast_unsigned())
    }

    /// What is asked for.
    pub const fn method(&self) -> &MethodName {
        self.method
    }

    /// With what, as the caller said it.
    pub const fn params(&self) -> Option<&Payload> {
        self.params
    }

    /// About how long it is.
    pub fn length(&self) -> usize {
        let meta = self.meta.map_or(0, MetaText::length);
        meta + self.params.map_or(0, Payload::length) + AROUND
    }

    /// Appends the request as one line of JSON text, without the line's end.
    pub fn write(&self, out: &mut Vec<u8>) {
        if let Some(params) = self.params
            && (params.is_in_pieces() || !params.is_one_line())
        {
            return Message::from(self.request()).write(out);
        }
        let mut digits = itoa::Buffer::new();
        let id = digits.format(self.id).as_bytes();
        out.extend_from_slice(BEFORE_ID);
        out.extend_from_slice(id);
        if let Some((meta, members)) = self.as_call() {
            out.extend_from_slice(meta.calling());
            out.extend_from_slice(id);
            out.extend_from_slice(b"},");
            out.extend_from_slice(members);
            out.push(b'}');
            return;
        }
        self.method.write(out);
        match (self.meta, self.params) {
            (None, None) => {}
            (None, Some(params)) => {
                out.extend_from_slice(b",\"params\":");
                out.extend_from_slice(params.text());
            }
            (Some(meta), params) => {
                out.extend_from_slice(BEFORE_PARAMS);
                meta.write(self.has_token.then_some(id), out);
                append_rest(out, params.map_or(b"{}", |params| params.text()));
            }
        }
        out.push(b'}');
    }

    /// What goes into a call to a tool as it usually is: with a token, and no more in its
    /// parameters than a name and arguments, which are given with their closing brace.
    fn as_call(&self) -> Option<(&MetaText, &[u8])> {
        let params = self.params.filter(|params| params.is_plain_call())?;
        let is_call = self.has_token && *self.method == Method::ToolsCall;
        is_call.then_some((self.meta?, params.text().get(1..)?))
    }

    /// The request as a message.
    pub fn request(&self) -> Request {
        let id = RequestId::from(self.id);
        let params = match self.meta {
            None => self.params.cloned(),
            Some(meta) => {
                let mut front = Vec::with_capacity(meta.length());
                let mut digits = itoa::Buffer::new();
                let token = digits.format(self.id).as_bytes();
                meta.write(self.has_token.then_some(token), &mut front);
                Some(prepend(&front, self.params.unwrap_or(&Payload::empty())))
            }
        };
        Request::new(id, self.method.clone(), params)
    }
}

/// The envelope, a number and a name.
const AROUND: usize = 96;

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::envelope::MemberText;
    use crate::jsonrpc::Limits;

    #[test]
    fn what_is_written_is_the_message() {
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(AROUND));
        let texts = [
            &long,
            "{}",
            "{ }",
            r#"{"a":1}"#,
            "{\n\"a\":1}",
            r#"{"a":"\n"}"#,
            r#"{"name":"a","arguments":{}}"#,
            r#"{"name":"a","arguments":{},"task":{}}"#,
        ];
        let payloads = texts.map(|text| {
            Payload::parse(Bytes::copy_from_slice(text.as_bytes()), &Limits::default()).unwrap()
        });
        let mut members = MemberText::default();
        let empty = MetaText::new(&members);
        members.push("a", b"1");
        let some = MetaText::new(&members);
        for params in payloads.iter().map(Some).chain([None]) {
            for (meta, has_token) in [
                (None, false),
                (Some(&empty), true),
                (Some(&some), true),
                (Some(&some), false),
            ] {
                for method in ["ping", "tools/call", "x/\"y\""].map(MethodName::new) {
                    let departure = Departure {
                        id: 7,
                        method: &method,
                        meta,
                        has_token,
                        params,
                    };
                    let mut written = Vec::new();
                    departure.write(&mut written);
                    let mut expected = Vec::new();
                    Message::from(departure.request()).write(&mut expected);
                    let shown = |text: &[u8]| text.escape_ascii().to_string();
                    assert_eq!(shown(&written), shown(&expected));
                    assert!(written.len() <= departure.length());
                }
            }
        }
    }
}
