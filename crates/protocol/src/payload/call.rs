//! The parameters of a call to a tool: its name and its arguments.
//!
//! They are what clients write most, so it is known of them what others are searched for.
//!
//! Specification: server/tools (calling tools).

use std::cell::Cell;

use bytes::Bytes;
use serde::Serialize;

use super::{LARGE, Noted, Payload, Span, has_no_line_break};
use crate::{json_string, json_writer};

impl Payload {
    /// Writes the parameters of `tools/call`: a name, and arguments that are written as a JSON
    /// object. What is written as `null` is no arguments.
    ///
    /// ```
    /// use switchboard_protocol::Payload;
    ///
    /// let params = Payload::encode_call("add", &serde_json::json!({"a": 1})).unwrap();
    /// assert_eq!(params.text(), r#"{"name":"add","arguments":{"a":1}}"#);
    /// ```
    ///
    /// # Errors
    /// When the arguments have no JSON form, as a map with keys that are not strings.
    pub fn encode_call<A: Serialize + ?Sized>(
        name: &str,
        arguments: &A,
    ) -> Result<Self, serde_json::Error> {
        let mut text = SCRATCH.take();
        text.clear();
        text.extend_from_slice(BEFORE_NAME);
        json_string::write(name, &mut text);
        let name = Span::new(BEFORE_NAME.len(), text.len());
        text.extend_from_slice(BEFORE_ARGUMENTS);
        let start = text.len();
        let is_one_line = json_writer::write(arguments, &mut text)?;
        if text.get(start..) == Some(b"null") {
            text.truncate(start);
            text.extend_from_slice(b"{}");
        }
        let arguments = Span::new(start, text.len());
        text.push(b'}');
        let text = if text.len() > SHORT_CALL {
            text.into()
        } else {
            // A vector with room to spare would be counted by those who share it, also by one alone.
            let exact = Bytes::copy_from_slice(&text);
            SCRATCH.set(text);
            exact
        };
        let noted = Noted {
            name,
            arguments,
            has_no_more: true.into(),
            ..Noted::KNOWN.with_lines(is_one_line)
        };
        Ok(Self::of(text, noted))
    }

    /// The parameters of a call with this name, as JSON text, and these arguments, which are those of
    /// these parameters. If they are large and in one line, they are not copied.
    pub(super) fn as_plain_call(&self, name: &[u8], arguments: &[u8]) -> Self {
        let is_one_line =
            has_no_line_break(name) && (self.is_one_line() || has_no_line_break(arguments));
        let is_shared = is_one_line && arguments.len() >= LARGE;
        let around = BEFORE_NAME.len() + BEFORE_ARGUMENTS.len() + 1;
        let copied = if is_shared { 0 } else { arguments.len() };
        let mut text = Vec::with_capacity(around + name.len() + copied);
        text.extend_from_slice(BEFORE_NAME);
        text.extend_from_slice(name);
        let name = Span::new(BEFORE_NAME.len(), text.len());
        text.extend_from_slice(BEFORE_ARGUMENTS);
        let start = text.len();
        let noted = Noted {
            name,
            arguments: Span::new(start, start + arguments.len()),
            has_no_more: true.into(),
            ..Noted::KNOWN.with_lines(is_one_line)
        };
        if is_shared {
            return Self::in_pieces(text, self.share(arguments), true, noted);
        }
        text.extend_from_slice(arguments);
        text.push(b'}');
        Self::of(text.into(), noted)
    }

    /// Is it known to have a name and arguments and nothing else?
    pub(crate) fn is_plain_call(&self) -> bool {
        // What was not looked at has neither, and the text of a result stands further behind.
        let Noted {
            name, arguments, ..
        } = &self.noted;
        name.start as usize == BEFORE_NAME.len()
            && arguments.start as usize == name.end as usize + BEFORE_ARGUMENTS.len()
            && arguments.end as usize + 1 == self.length()
    }
}

/// Many calls fit; a longer one is not copied.
const SHORT_CALL: usize = 1024;

thread_local! {
    /// Where short calls are written until their length is known. Nobody else sees it: a value that
    /// makes a call while it is written finds a new one.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

const BEFORE_NAME: &[u8] = b"{\"name\":";
const BEFORE_ARGUMENTS: &[u8] = b",\"arguments\":";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::Limits;

    #[test]
    fn every_member_is_found_and_no_other_whatever_is_beside_it() {
        let names = [
            "_meta",
            "name",
            "arguments",
            "resultType",
            "content",
            "isError",
            "task",
            "requestState",
            "inputResponses",
            "structuredContent",
            "uri",
            "cursor",
            "",
            "t",
            "k",
            "tu",
        ];
        let limits = Limits::default();
        for first in names {
            for second in names.iter().filter(|second| **second != first) {
                let written = [
                    format!(r#"{{"{first}":1,"{second}":[2]}}"#),
                    // The same with an escape in the name.
                    format!(
                        r#"{{"\u{:04x}{}":1,"{second}":[2]}}"#,
                        first.bytes().next().unwrap_or(b'x'),
                        first.get(1..).unwrap_or("")
                    ),
                ];
                for text in &written[..if first.is_empty() { 1 } else { 2 }] {
                    let payload = Payload::parse(text.clone().into(), &limits).unwrap();
                    for name in names {
                        let expected: Option<&[u8]> = match name {
                            name if name == first => Some(b"1"),
                            name if name == *second => Some(b"[2]"),
                            _ => None,
                        };
                        assert_eq!(payload.member(name), expected, "{name} of {text}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        for arguments in [serde_json::json!({}), serde_json::json!({"a": [1, "\""]})] {
            let written = Payload::encode_call("a\"b", &arguments).unwrap();
            let read = Payload::parse(written.text().clone(), &Limits::default()).unwrap();
            assert_eq!(written.name(), read.name());
            assert_eq!(written.arguments(), read.arguments());
            assert_eq!(written.meta(), None);
            assert!(written.is_plain_call() && read.is_plain_call());
            assert!(written.without_meta().is_plain_call());
            assert!(written.is_one_line());
        }
    }

    #[test]
    fn nothing_is_written_as_no_arguments() {
        let written = Payload::encode_call("a", &()).unwrap();
        assert_eq!(written.text(), r#"{"name":"a","arguments":{}}"#);
        let within = serde_json::json!({"arguments": null});
        let written = Payload::encode_call("a", &within).unwrap();
        assert_eq!(
            written.text(),
            r#"{"name":"a","arguments":{"arguments":null}}"#
        );
    }

    #[test]
    fn no_long_call_is_held_on_to() {
        let held = |arguments: &str| {
            Payload::encode_call("a", arguments).unwrap();
            SCRATCH.take().capacity()
        };
        assert!((1..=2 * SHORT_CALL).contains(&held("short")));
        assert_eq!(held(&"x".repeat(SHORT_CALL)), 0);
    }

    #[test]
    fn a_call_with_more_in_it_is_not_plain() {
        for text in [
            "{}",
            r#"{"name":"a"}"#,
            r#"{"name":"a","task":{}}"#,
            r#"{"name":"a","arguments":{},"task":{}}"#,
            r#"{"name":"a","arguments":{},"_meta":{}}"#,
            r#"{"task":{},"name":"a","arguments":{}}"#,
            r#"{"name":"a","task":{},"arguments":{}}"#,
            r#"{"name":"a", "arguments":{} }"#,
        ] {
            let read = Payload::parse(Bytes::from_static(text.as_bytes()), &Limits::default());
            assert!(!read.unwrap().is_plain_call(), "{text}");
        }
    }
}
