//! The `_meta` that every request of ours has, written once, and the token that each adds.
//!
//! A payload without a `_meta` of its own, which is nearly every one, is sent behind this text.
//! One that has its own is merged by `envelope`.
//!
//! Specification: 2026-07-28 basic (`_meta`), basic/patterns/progress.

use crate::envelope::MemberText;

/// `"_meta":{…`, open for the token.
#[derive(Debug)]
pub(super) struct MetaText {
    text: Vec<u8>,
    /// How much of it is the same in every request.
    constant: usize,
}

impl MetaText {
    pub(super) fn new(members: &MemberText) -> Self {
        let mut text = b"\"_meta\":{".to_vec();
        text.extend_from_slice(members.as_bytes());
        Self {
            constant: text.len(),
            text,
        }
    }

    /// The `_meta` with this token, as a member.
    pub(super) fn with_token(&mut self, token: Option<i64>) -> &[u8] {
        self.text.truncate(self.constant);
        if let Some(token) = token {
            if self.text.last() != Some(&b'{') {
                self.text.push(b',');
            }
            self.text.extend_from_slice(BEFORE_TOKEN);
            let mut digits = itoa::Buffer::new();
            self.text.extend_from_slice(digits.format(token).as_bytes());
        }
        self.text.push(b'}');
        &self.text
    }
}

const BEFORE_TOKEN: &[u8] = b"\"progressToken\":";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::meta_key::PROGRESS_TOKEN;

    #[test]
    fn each_request_has_its_own_token() {
        let mut members = MemberText::default();
        let mut text = MetaText::new(&members);
        assert_eq!(text.with_token(Some(7)), br#""_meta":{"progressToken":7}"#);
        assert_eq!(text.with_token(None), br#""_meta":{}"#);
        members.push("a", b"1");
        let mut text = MetaText::new(&members);
        for token in [10, 2] {
            let expected = format!(r#""_meta":{{"a":1,"{PROGRESS_TOKEN}":{token}}}"#);
            assert_eq!(text.with_token(Some(token)), expected.as_bytes());
        }
    }
}
