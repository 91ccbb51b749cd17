//! The `_meta` that every request of ours has, written once, and the token that each adds.
//!
//! A payload without a `_meta` of its own, which is nearly every one, is copied once, behind
//! this text. One that has its own is merged by `envelope`.
//!
//! Specification: 2026-07-28 basic (`_meta`), basic/patterns/progress.

use crate::envelope::{MemberText, prepend};
use crate::payload::Payload;
use crate::types::meta_key::PROGRESS_TOKEN;

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

    /// The parameters, which have no `_meta`, with this one and the token in front.
    pub(super) fn put_before(&mut self, params: Option<&Payload>, token: Option<i64>) -> Payload {
        self.text.truncate(self.constant);
        if let Some(token) = token {
            if self.text.last() != Some(&b'{') {
                self.text.push(b',');
            }
            self.text.push(b'"');
            self.text.extend_from_slice(PROGRESS_TOKEN.as_bytes());
            self.text.extend_from_slice(b"\":");
            let mut digits = itoa::Buffer::new();
            self.text.extend_from_slice(digits.format(token).as_bytes());
        }
        self.text.push(b'}');
        prepend(&self.text, params.unwrap_or(&Payload::empty()))
    }
}
