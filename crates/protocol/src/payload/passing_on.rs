//! Parameters that somebody else wrote, on their way to the next server.
//!
//! What is not named here keeps its text.
//!
//! Specification: basic (`_meta`), 2026-07-28 basic (`_meta`).

use super::{META, Members, Payload};
use crate::envelope::{Envelope, push_member, separate};
use crate::scan::names;

impl Payload {
    /// These parameters for the next server: with other values for the members of these names,
    /// or without them, and without what their `_meta` says of the way that they came.
    ///
    /// ```
    /// use switchboard_protocol::Payload;
    ///
    /// let params = serde_json::json!({"_meta": {"progressToken": 1, "a": 2}, "name": "x__add"});
    /// let params = Payload::encode(&params).unwrap();
    /// let passed = params.passed_on(&[("name", Some(br#""add""#))]);
    /// assert_eq!(passed.text(), r#"{"_meta":{"a":2},"name":"add"}"#);
    /// ```
    #[must_use]
    pub fn passed_on(&self, changes: &[(&str, Option<&[u8]>)]) -> Self {
        let mut out = Vec::with_capacity(self.text.len() + ROOM);
        out.push(b'{');
        for (name, value) in Members::of(&self.text) {
            if names(name, META) {
                push_meta(&mut out, value);
                continue;
            }
            let change = changes.iter().find(|(changed, _)| names(name, changed));
            match change {
                Some((_, Some(value))) => push_member(&mut out, name, value),
                Some((_, None)) => {}
                None => push_member(&mut out, name, value),
            }
        }
        out.push(b'}');
        Self::from_own(out)
    }
}

/// Adds a `_meta` without what concerns only two neighbours, unless nothing is left of it.
fn push_meta(out: &mut Vec<u8>, meta: &[u8]) {
    let mut envelope = Envelope::default();
    let mut left = Members::of(meta)
        .filter(|(name, _)| envelope.place(name).is_none())
        .peekable();
    if left.peek().is_none() {
        return;
    }
    separate(out);
    out.extend_from_slice(b"\"_meta\":{");
    for (name, value) in left {
        push_member(out, name, value);
    }
    out.push(b'}');
}

/// A name is seldom longer than the one in its place.
const ROOM: usize = 64;

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::jsonrpc::Limits;

    fn check(old: &'static str, changes: &[(&str, Option<&[u8]>)], expected: &str) {
        let limits = Limits::default();
        let old = Payload::parse(Bytes::from_static(old.as_bytes()), &limits).unwrap();
        let new = old.passed_on(changes);
        assert_eq!(new.text(), expected);
        assert_eq!(Payload::parse(new.text().clone(), &limits).unwrap(), new);
    }

    #[test]
    fn what_is_not_named_keeps_its_text() {
        check("{ }", &[], "{}");
        check(
            r#"{"name":"a","arguments":{"x": 1.0 , "name":18446744073709551616}}"#,
            &[("name", Some(b"\"b\"")), ("task", None)],
            r#"{"name":"b","arguments":{"x": 1.0 , "name":18446744073709551616}}"#,
        );
        check(
            r#"{"n\u0061me":"a","task":{}}"#,
            &[("name", Some(b"\"b\"")), ("task", None)],
            r#"{"n\u0061me":"b"}"#,
        );
    }

    #[test]
    fn what_a_meta_says_of_two_neighbours_stays_with_them() {
        check(
            r#"{"_meta":{"progressToken":7,"io.modelcontextprotocol/clientCapabilities":{},"traceparent":"t","io.modelcontextprotocol/related-task":{}},"uri":"a:b"}"#,
            &[],
            r#"{"_meta":{"traceparent":"t","io.modelcontextprotocol/related-task":{}},"uri":"a:b"}"#,
        );
        check(
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/logLevel":"debug"},"uri":"a:b"}"#,
            &[],
            r#"{"uri":"a:b"}"#,
        );
    }
}
