//! Results of texts, written as most servers write them.
//!
//! Nearly every tool answers with text, and nearly every server writes that in the same way, so
//! the way is compared and not found out anew. What is written otherwise is left to the rules,
//! from its beginning.
//!
//! Specification: server/tools (tool results).

use std::ops::Range;

use crate::json_string::unescape;
use crate::jsonrpc::Limits;
use crate::payload::{Payload, RawJson};
use crate::scan::{Scanner, Text};
use crate::types::{CallToolResult, ContentBlock, Meta, ResultType};

/// What such a result has beside its texts.
#[derive(Debug)]
pub(crate) struct PlainResult {
    /// Where it says that it is complete.
    pub(crate) complete: Option<Range<usize>>,
    pub(crate) meta: Option<Range<usize>>,
    /// The text, if it is one without escapes and there is nothing beside it but these.
    pub(crate) one_text: Option<Range<usize>>,
    /// Its content, and perhaps whether it failed, if there is nothing beside them but these.
    pub(crate) texts: Option<Range<usize>>,
    structured: Option<Range<usize>>,
    is_error: Option<bool>,
}

impl PlainResult {
    /// Steps over such a result and gives each of its texts. `None` if it is anything else; then
    /// the scanner stands anywhere.
    #[inline]
    pub(crate) fn scan(scanner: &mut Scanner<'_>, mut each: impl FnMut(Text)) -> Option<Self> {
        if !scanner.has_depth(LEVELS) {
            return None;
        }
        scanner.enter(b'{').ok()?;
        let mut complete = None;
        if scanner.guess(COMPLETE) {
            complete = Some(before(scanner));
            if !scanner.guess_all(b",", 0) {
                return None;
            }
        }
        let mut meta = None;
        if scanner.guess(b"\"_meta\":") {
            meta = Some(scanner.value().ok()?);
            if !scanner.guess_all(b",", 0) {
                return None;
            }
        }
        let texts = scanner.position();
        if !scanner.guess_all(CallToolResult::BEFORE_TEXT, 4) {
            return None;
        }
        scanner.string().ok()?;
        let first = scanner.text();
        each(first);
        let mut is_one = true;
        while !scanner.guess_all(b"}]", 0) {
            if !scanner.guess_all(NEXT_TEXT, 3) {
                return None;
            }
            is_one = false;
            scanner.string().ok()?;
            each(scanner.text());
        }
        let structured = match scanner.guess(b",\"structuredContent\":") {
            true => Some(scanner.value().ok()?),
            false => None,
        };
        let is_error = if scanner.guess(b",\"isError\":false") {
            Some(false)
        } else {
            scanner.guess(b",\"isError\":true").then_some(true)
        };
        let texts = texts..scanner.position();
        if complete.is_none() && scanner.guess_all(b",", 0) {
            if !scanner.guess(COMPLETE) {
                return None;
            }
            complete = Some(before(scanner));
        }
        // White space may stand before a value, and within one that is not looked into.
        let is_plain = scanner.guess_end() && !scanner.broke_line;
        let is_alone = is_one && structured.is_none() && is_error.is_none();
        is_plain.then_some(Self {
            one_text: (is_alone && !first.escaped).then_some(first.start..first.end),
            texts: structured.is_none().then_some(texts),
            complete,
            meta,
            structured,
            is_error,
        })
    }
}

impl CallToolResult {
    /// Reads a result of texts, perhaps with structured content, that is written as most servers
    /// write it. `None` if it is anything else: then it is to be decoded.
    ///
    /// ```
    /// use switchboard_protocol::Payload;
    /// use switchboard_protocol::types::CallToolResult;
    ///
    /// let result = CallToolResult::text("four");
    /// let payload = Payload::encode(&result).unwrap();
    /// assert_eq!(CallToolResult::read_plain(&payload), Some(result));
    /// ```
    pub fn read_plain(payload: &Payload) -> Option<Self> {
        let text = payload.text();
        if let Some((text, is_complete)) = payload.one_text() {
            // Copied before it is looked at: what begins at a word is looked at word by word.
            let mut result = Self::text(String::from_utf8(text.to_vec()).ok()?);
            result.result_type = is_complete.then_some(ResultType::Complete);
            result.meta = read_meta(payload.meta())?;
            return Some(result);
        }
        let mut scanner = Scanner::new(text, Limits::default().bounds());
        let mut content = Vec::with_capacity(1);
        let mut is_readable = true;
        let plain = PlainResult::scan(&mut scanner, |block| {
            match string(text, block) {
                Some(text) => content.push(ContentBlock::text(text)),
                None => is_readable = false,
            };
        })?;
        if !is_readable || !scanner.is_at_end() {
            return None;
        }
        let structured = plain.structured.map(|part| {
            let text = std::str::from_utf8(text.get(part)?).ok()?;
            RawJson::parse(text).ok()
        });
        let mut result = Self::new(content);
        if let Some(structured) = structured {
            result.structured_content = Some(structured?);
        }
        result.is_error = plain.is_error;
        result.result_type = plain.complete.map(|_| ResultType::Complete);
        result.meta = read_meta(plain.meta.and_then(|part| text.get(part)))?;
        Some(result)
    }
}

/// Reads a `_meta` if there is one; `None` if it is none.
fn read_meta(text: Option<&[u8]>) -> Option<Option<Meta>> {
    match text {
        None => Some(None),
        Some(text) => serde_json::from_slice(text).ok(),
    }
}

/// What a string says; a lone surrogate makes it unreadable.
fn string(text: &[u8], found: Text) -> Option<String> {
    let raw = found.of(text);
    if found.escaped {
        return unescape(raw).map(|text| text.into_owned());
    }
    std::str::from_utf8(raw).ok().map(str::to_owned)
}

/// Where the value stands that was stepped over last.
fn before(scanner: &Scanner<'_>) -> Range<usize> {
    let end = scanner.position();
    end.saturating_sub(COMPLETE_VALUE)..end
}

const COMPLETE: &[u8] = b"\"resultType\":\"complete\"";
const COMPLETE_VALUE: usize = b"\"complete\"".len();
const NEXT_TEXT: &[u8] = b"},{\"type\":\"text\",\"text\":";

/// The result, its content, a block of it.
const LEVELS: u32 = 3;

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::jsonrpc::FrameReader;

    /// The quick way gives what decoding gives, or nothing.
    fn check(text: &[u8], is_plain: Option<bool>) {
        let Ok(payload) = Payload::parse(Bytes::copy_from_slice(text), &Limits::default()) else {
            return;
        };
        let found = CallToolResult::read_plain(&payload);
        let shown = text.escape_ascii();
        if let Some(is_plain) = is_plain {
            assert_eq!(found.is_some(), is_plain, "{shown}");
        }
        if let Some(found) = found {
            assert_eq!(payload.decode().ok(), Some(found), "{shown}");
        }
        // The same, as it comes in a frame.
        let mut frame = br#"{"jsonrpc":"2.0","id":1,"result":"#.to_vec();
        frame.extend_from_slice(text);
        frame.push(b'}');
        let mut reader = FrameReader::new(Limits::default());
        if let Ok(received) = reader.read_result(frame.into()) {
            assert_eq!(received.result, payload, "{shown}");
            let read = CallToolResult::read_plain(&received.result);
            assert_eq!(read, CallToolResult::read_plain(&payload), "{shown}");
        }
    }

    const PLAIN: [&str; 11] = [
        r#"{"content":[{"type":"text","text":""}]}"#,
        r#"{"content":[{"type":"text","text":"a\n\u00e9 \u{e9}"}],"isError":true}"#,
        r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"isError":false}"#,
        r#"{"resultType":"complete","content":[{"type":"text","text":"a"}]}"#,
        r#"{"content":[{"type":"text","text":"a"}],"isError":false,"resultType":"complete"}"#,
        r#"{"resultType":"complete","content":[{"type":"text","text":"a"}],"isError":true}"#,
        r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":[1, {}]}}"#,
        r#"{"content":[{"type":"text","text":"a"}],"structuredContent":null,"isError":false}"#,
        r#"{"resultType":"complete","_meta":{"a":{"b":1}},"content":[{"type":"text","text":"a"}]}"#,
        r#"{"_meta":{"a":[]},"content":[{"type":"text","text":"\n"}],"isError":true}"#,
        r#"{"_meta":null,"content":[{"type":"text","text":"a"}],"resultType":"complete"}"#,
    ];

    #[test]
    fn texts_are_read_as_decoding_reads_them() {
        for text in PLAIN {
            check(text.as_bytes(), Some(true));
        }
    }

    #[test]
    fn everything_else_is_left_to_decoding() {
        for text in [
            "{}",
            r#"{"content":[]}"#,
            r#"{"content":[{"text":"a","type":"text"}]}"#,
            r#"{"content":[{"type":"text","text":"\ud800"}]}"#,
            r#"{"content":[{"type":"text","text":"a","annotations":{}}]}"#,
            r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{},"more":1}"#,
            r#"{"content":[{"type":"text","text":"a"}],"isError":true,"isError":true}"#,
            r#"{"resultType":"task","content":[{"type":"text","text":"a"}]}"#,
            r#"{"_meta":7,"content":[{"type":"text","text":"a"}]}"#,
            r#"{"_meta":{},"content":[{"type":"text","text":"a"}],"_meta":{}}"#,
        ] {
            check(text.as_bytes(), Some(false));
        }
    }

    #[test]
    fn no_change_of_a_byte_is_misread() {
        for plain in PLAIN {
            for at in 0..plain.len() {
                for byte in *b"\"\\{}[],: \n\r0a\xff" {
                    let mut text = plain.as_bytes().to_vec();
                    text.insert(at, byte);
                    check(&text, None);
                    text.remove(at + 1);
                    check(&text, None);
                    text.remove(at);
                    check(&text, None);
                }
            }
        }
    }
}
