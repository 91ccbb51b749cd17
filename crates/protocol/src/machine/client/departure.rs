//! The request of a call on its way out.
//!
//! It is lent to whoever writes it, straight behind what waits already: nothing of it is
//! copied before, and the call keeps its parameters in case they must be sent again.
//!
//! Specification: basic (requests), basic/patterns/progress.

use crate::envelope::{append_rest, prepend};
use crate::jsonrpc::{Message, MethodName, Request, RequestId};
use crate::machine::Lane;
use crate::payload::Payload;

/// A request that is to be sent now.
#[derive(Debug)]
pub struct Departure<'a> {
    pub(super) id: i64,
    pub(super) method: &'a MethodName,
    /// The members that come before the caller's own, as text.
    pub(super) front: &'a [u8],
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
        self.front.len() + self.params.map_or(0, |params| params.text().len()) + AROUND
    }

    /// Appends the request as one line of JSON text, without the line's end.
    pub fn write(&self, out: &mut Vec<u8>) {
        if self.params.is_some_and(|params| !params.is_one_line()) {
            return Message::from(self.request()).write(out);
        }
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        out.extend_from_slice(itoa::Buffer::new().format(self.id).as_bytes());
        self.method.write(out);
        match self.params {
            None if self.front.is_empty() => {}
            Some(params) if self.front.is_empty() => {
                out.extend_from_slice(b",\"params\":");
                out.extend_from_slice(params.text());
            }
            params => {
                out.extend_from_slice(b",\"params\":{");
                out.extend_from_slice(self.front);
                append_rest(out, params.map_or(b"{}", |params| params.text()));
            }
        }
        out.push(b'}');
    }

    /// The request as a message.
    pub fn request(&self) -> Request {
        let params = match self.params {
            params if self.front.is_empty() => params.cloned(),
            params => Some(prepend(self.front, params.unwrap_or(&Payload::empty()))),
        };
        Request::new(RequestId::from(self.id), self.method.clone(), params)
    }
}

/// The envelope, a number and a name.
const AROUND: usize = 96;

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::jsonrpc::Limits;
    use crate::method::Method;

    #[test]
    fn what_is_written_is_the_message() {
        let texts = ["{}", "{ }", r#"{"a":1}"#, "{\n\"a\":1}", r#"{"a":"\n"}"#];
        let payloads = texts.map(|text| {
            Payload::parse(Bytes::from_static(text.as_bytes()), &Limits::default()).unwrap()
        });
        let params = payloads.iter().map(Some).chain([None]);
        for params in params {
            for front in [&b""[..], b"\"_meta\":{\"progressToken\":7}"] {
                for method in [MethodName::Known(Method::Ping), MethodName::new("x/\"y\"")] {
                    let departure = Departure {
                        id: 7,
                        method: &method,
                        front,
                        params,
                    };
                    let mut written = Vec::new();
                    departure.write(&mut written);
                    let mut expected = Vec::new();
                    Message::from(departure.request()).write(&mut expected);
                    assert_eq!(
                        written.escape_ascii().to_string(),
                        expected.escape_ascii().to_string()
                    );
                    assert!(written.len() <= departure.length());
                }
            }
        }
    }
}
