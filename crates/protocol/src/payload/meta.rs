//! Parameters with members of the caller's own in their `_meta`.
//!
//! The rest keeps its text. The keys of the protocol itself are set later, by the machines, and
//! win.
//!
//! Specification: basic (`_meta`).

use serde_json::{Map, Value};

use super::{META, Members, Payload};
use crate::envelope::{append_rest, push_member, separate};
use crate::json_string;
use crate::scan::names;

impl Payload {
    /// Parameters with these members in their `_meta`, in place of those of the same names.
    ///
    /// ```
    /// use switchboard_protocol::Payload;
    ///
    /// let params = Payload::encode(&serde_json::json!({"uri": "file:///a"})).unwrap();
    /// let meta = serde_json::json!({"com.example/a": 1});
    /// let params = Payload::with_meta(Some(&params), meta.as_object().unwrap());
    /// assert_eq!(params.text(), r#"{"_meta":{"com.example/a":1},"uri":"file:///a"}"#);
    /// ```
    pub fn with_meta(params: Option<&Self>, members: &Map<String, Value>) -> Self {
        let old = params.map_or(&b"{}"[..], |params| params.text());
        let old_meta = params.and_then(Self::meta);
        let mut out = Vec::with_capacity(old.len() + ROOM);
        out.extend_from_slice(b"{\"_meta\":{");
        for (name, value) in members {
            separate(&mut out);
            json_string::write(name, &mut out);
            out.push(b':');
            // A value has a JSON form, and a vector takes it.
            let _ = serde_json::to_writer(&mut out, value);
        }
        for (name, value) in Members::of(old_meta.unwrap_or_default()) {
            if !members.keys().any(|ours| names(name, ours)) {
                push_member(&mut out, name, value);
            }
        }
        out.push(b'}');
        if old_meta.is_none() {
            append_rest(&mut out, old);
        } else {
            for (name, value) in Members::of(old) {
                if !names(name, META) {
                    push_member(&mut out, name, value);
                }
            }
            out.push(b'}');
        }
        Self::from_own(out)
    }
}

/// A trace context is about as long.
const ROOM: usize = 112;

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::jsonrpc::Limits;

    fn check(old: Option<&'static str>, meta: &str, expected: &str) {
        let limits = Limits::default();
        let old =
            old.map(|text| Payload::parse(Bytes::from_static(text.as_bytes()), &limits).unwrap());
        let members: Map<String, Value> = serde_json::from_str(meta).unwrap();
        let new = Payload::with_meta(old.as_ref(), &members);
        assert_eq!(new.text(), expected);
        assert_eq!(Payload::parse(new.text().clone(), &limits).unwrap(), new);
    }

    #[test]
    fn members_are_merged_and_the_rest_keeps_its_text() {
        check(None, r#"{"a":1}"#, r#"{"_meta":{"a":1}}"#);
        check(Some("{ }"), r#"{"a":1}"#, r#"{"_meta":{"a":1}}"#);
        check(
            Some(r#"{"x": 1.0 , "y":18446744073709551616}"#),
            r#"{"a":1}"#,
            r#"{"_meta":{"a":1},"x": 1.0 , "y":18446744073709551616}"#,
        );
        check(
            Some(r#"{"x":1,"_meta":{"b":{"c":[]},"\u0061":0},"y":2}"#),
            r#"{"a":1}"#,
            r#"{"_meta":{"a":1,"b":{"c":[]}},"x":1,"y":2}"#,
        );
        check(
            Some(r#"{"x":1}"#),
            r#"{"a\"b":"c\nd"}"#,
            r#"{"_meta":{"a\"b":"c\nd"},"x":1}"#,
        );
    }

    #[test]
    fn a_meta_that_is_no_object_is_replaced() {
        check(
            Some(r#"{"_meta":7,"x":1}"#),
            r#"{"a":1}"#,
            r#"{"_meta":{"a":1},"x":1}"#,
        );
    }
}
