//! Parameters that somebody else wrote, on their way to the next server.
//!
//! What is not named here keeps its text.
//!
//! Specification: basic (`_meta`), 2026-07-28 basic (`_meta`).

use super::{ARGUMENTS, META, Members, NAME, Payload};
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
    pub fn passed_on(self, changes: &[(&str, Option<&[u8]>)]) -> Self {
        let this = match self.call_passed_on(changes) {
            Ok(passed) => return passed,
            Err(this) => this,
        };
        let mut out = Vec::with_capacity(this.length() + ROOM);
        out.push(b'{');
        for (name, value) in Members::of(this.text()) {
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

    /// These parameters without their `_meta`, for whoever knows that none of it goes further.
    #[must_use]
    pub fn without_meta(&self) -> Self {
        if self.noted.has_no_more.is_set()
            && let Some(arguments) = self.arguments()
            && let Some(name) = self.noted_span(|noted| &noted.name, NAME)
        {
            return match self.is_plain_call() {
                true => self.clone(),
                false => self.as_plain_call(name, arguments),
            };
        }
        let mut out = Vec::with_capacity(self.length());
        out.push(b'{');
        for (name, value) in Members::of(self.text()) {
            if !names(name, META) {
                push_member(&mut out, name, value);
            }
        }
        out.push(b'}');
        Self::from_own(out)
    }

    /// The same for a call to a tool as nearly all are: a name and arguments, and nothing in a
    /// `_meta` that would go further. Gives others back.
    fn call_passed_on(self, changes: &[(&str, Option<&[u8]>)]) -> Result<Self, Self> {
        if !self.noted.has_no_more.is_set() {
            return Err(self);
        }
        let old_name = self.noted_span(|noted| &noted.name, NAME);
        let (Some(arguments), Some(old_name)) = (self.arguments(), old_name) else {
            return Err(self);
        };
        let mut name = old_name;
        for (changed, value) in changes {
            match (*changed, value) {
                (NAME, Some(value)) => name = value,
                (NAME, None) | (ARGUMENTS | META, _) => return Err(self),
                // It is not there.
                _ => {}
            }
        }
        if self.meta().is_some_and(|meta| !Envelope::is_all_of(meta)) {
            return Err(self);
        }
        if name == old_name && self.is_plain_call() {
            return Ok(self);
        }
        Ok(self.as_plain_call(name, arguments))
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
    use crate::payload::LARGE;

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
        check(
            r#"{"name":"a","arguments":{}}"#,
            &[("name", Some(b"\"a\""))],
            r#"{"name":"a","arguments":{}}"#,
        );
        check(
            r#"{"_meta":{"progressToken":1},"name":"a","arguments":{"b":[]}}"#,
            &[("name", Some(b"\"a\"")), ("task", None)],
            r#"{"name":"a","arguments":{"b":[]}}"#,
        );
        check(
            r#"{ "_meta":{"progressToken":1}, "arguments":{"b":[]}, "n\u0061me":"a"}"#,
            &[("name", Some(b"\"c\"")), ("task", None)],
            r#"{"name":"c","arguments":{"b":[]}}"#,
        );
        check(
            r#"{"arguments":{"b":[]},"name":"a","resultType":"complete"}"#,
            &[("name", Some(b"\"c\""))],
            r#"{"arguments":{"b":[]},"name":"c","resultType":"complete"}"#,
        );
        check(
            r#"{"_meta":{"x":1},"name":"a","arguments":{"b":[]}}"#,
            &[("name", Some(b"\"c\""))],
            r#"{"_meta":{"x":1},"name":"c","arguments":{"b":[]}}"#,
        );
        check(
            r#"{"name":"a","arguments":{},"task":{}}"#,
            &[("task", None), ("name", None)],
            r#"{"arguments":{}}"#,
        );
        let plain = r#"{"name":"a","arguments":{}}"#;
        check(plain, &[("name", None)], r#"{"arguments":{}}"#);
        check(plain, &[("arguments", None)], r#"{"name":"a"}"#);
        check(
            plain,
            &[("arguments", Some(b"[1]"))],
            r#"{"name":"a","arguments":[1]}"#,
        );
    }

    #[test]
    fn whether_it_is_one_line_is_said_of_the_new_text() {
        let limits = Limits::default();
        let large = "x".repeat(LARGE);
        let large = format!("{{\"_meta\":{{}},\"name\":\"a\",\"arguments\":[\n\"{large}\"]}}");
        for (old, name) in [
            ("{\"name\":\r\"a\",\"arguments\":{}}", "\"b\""),
            ("{\"name\":\"a\",\"arguments\":{\n}}", "\"b\""),
            ("{\"name\":\"a\",\"arguments\":{}}", "{\n}"),
            (&*large, "\"b\""),
        ] {
            let old = Payload::parse(old.to_owned().into(), &limits).unwrap();
            for new in [
                old.without_meta(),
                old.passed_on(&[("name", Some(name.as_bytes()))]),
            ] {
                let has_breaks = new.text().iter().any(|byte| matches!(byte, b'\r' | b'\n'));
                assert_eq!(new.is_one_line(), !has_breaks, "{new:?}");
            }
        }
    }

    #[test]
    fn a_meta_can_be_left_out_as_a_whole() {
        for (old, expected) in [
            (
                r#"{"_meta":{"a":1},"name":"b","arguments":{}}"#,
                r#"{"name":"b","arguments":{}}"#,
            ),
            (
                r#"{"name":"b","arguments":{},"_meta":{"a":1}}"#,
                r#"{"name":"b","arguments":{}}"#,
            ),
            (
                r#"{"name":"b","arguments":{}}"#,
                r#"{"name":"b","arguments":{}}"#,
            ),
            (r#"{"uri":"a:b","_meta":{}}"#, r#"{"uri":"a:b"}"#),
            (
                r#"{"task":{},"_m\u0065ta":{},"name":"b"}"#,
                r#"{"task":{},"name":"b"}"#,
            ),
        ] {
            let limits = Limits::default();
            let old = Payload::parse(Bytes::from_static(old.as_bytes()), &limits).unwrap();
            let new = old.without_meta();
            assert_eq!(new.text(), expected);
            let again = Payload::parse(new.text().clone(), &limits).unwrap();
            assert_eq!(
                (new.name(), new.arguments()),
                (again.name(), again.arguments())
            );
        }
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
