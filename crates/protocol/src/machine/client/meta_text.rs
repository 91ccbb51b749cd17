//! The `_meta` that every request of ours has, written once, and the token that each adds.
//!
//! A payload without a `_meta` of its own, which is nearly every one, is sent behind this text.
//! One that has its own is merged by `envelope`.
//!
//! Specification: 2026-07-28 basic (`_meta`), basic/patterns/progress.

use crate::envelope::MemberText;
use crate::jsonrpc::MethodName;
use crate::method::Method;

/// `"_meta":{…`, open for the token.
#[derive(Debug)]
pub(super) struct MetaText {
    open: Vec<u8>,
    /// What stands between that and a token.
    separator: &'static [u8],
    /// All that stands between the id and the token of a call to a tool, which is what is sent
    /// most.
    calling: Vec<u8>,
}

impl MetaText {
    pub(super) fn new(members: &MemberText) -> Self {
        let mut open = b"\"_meta\":{".to_vec();
        open.extend_from_slice(members.as_bytes());
        let separator = match members.is_empty() {
            true => BEFORE_TOKEN,
            false => BEFORE_LAST_TOKEN,
        };
        let mut calling = Vec::new();
        MethodName::Known(Method::ToolsCall).write(&mut calling);
        calling.extend_from_slice(BEFORE_PARAMS);
        calling.extend_from_slice(&open);
        calling.extend_from_slice(separator);
        Self {
            open,
            separator,
            calling,
        }
    }

    /// What stands between the id of a call to a tool and its token.
    pub(super) fn calling(&self) -> &[u8] {
        &self.calling
    }

    /// How long it is at most.
    pub(super) fn length(&self) -> usize {
        self.open.len() + BEFORE_LAST_TOKEN.len() + LONGEST_NUMBER + 1
    }

    /// Appends it as a member, with this token.
    pub(super) fn write(&self, token: Option<&[u8]>, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.open);
        if let Some(token) = token {
            out.extend_from_slice(self.separator);
            out.extend_from_slice(token);
        }
        out.push(b'}');
    }
}

/// The method comes before it, a member of the parameters behind.
pub(super) const BEFORE_PARAMS: &[u8] = b",\"params\":{";
const BEFORE_TOKEN: &[u8] = b"\"progressToken\":";
const BEFORE_LAST_TOKEN: &[u8] = b",\"progressToken\":";
const LONGEST_NUMBER: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::meta_key::PROGRESS_TOKEN;

    fn check(members: &[(&'static str, &[u8])], token: Option<&[u8]>, expected: &str) {
        let mut text = MemberText::default();
        for (name, value) in members {
            text.push(name, value);
        }
        let mut out = Vec::new();
        MetaText::new(&text).write(token, &mut out);
        assert_eq!(out, expected.as_bytes());
    }

    #[test]
    fn each_request_has_its_own_token() {
        check(&[], None, r#""_meta":{}"#);
        check(&[], Some(b"7"), r#""_meta":{"progressToken":7}"#);
        check(&[("a", b"1")], None, r#""_meta":{"a":1}"#);
        let both = format!(r#""_meta":{{"a":1,"{PROGRESS_TOKEN}":10}}"#);
        check(&[("a", b"1")], Some(b"10"), &both);
    }

    #[test]
    fn its_length_is_that_with_the_longest_token() {
        let mut members = MemberText::default();
        members.push("a", b"1");
        let text = MetaText::new(&members);
        let mut out = Vec::new();
        text.write(Some(i64::MIN.to_string().as_bytes()), &mut out);
        assert_eq!(out.len(), text.length());
    }
}
