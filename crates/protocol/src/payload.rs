//! JSON text that is kept as text until someone needs its meaning.
//!
//! [`Payload`] is a piece of a received frame and shares its bytes.
//! [`RawJson`] is a field inside a decoded value that stays exactly as it was
//! sent: a schema, tool arguments, a structured result.

mod call;
mod known_result;
mod meta;
mod noted;
mod passing_on;
mod pieces;
mod raw_json;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use bytes::{Buf, Bytes};
use serde::{Deserialize, Serialize};

use crate::json_string::unescape;
use crate::json_writer;
use crate::jsonrpc::Limits;
use crate::scan::{Fault, Scanner, names};

pub(crate) use self::known_result::KnownResult;
use self::noted::Span;
pub(crate) use self::noted::{KnownMeta, Noted};
use self::pieces::{Around, LARGE};
pub use self::raw_json::RawJson;

/// One JSON value of a frame: `params`, `result` or `error.data`.
///
/// It shares the frame's bytes and is decoded by the one who needs it.
/// Reading a frame finds `_meta`, `resultType`, `name` and `arguments` on the way, so that asking
/// for them later does not walk over the text again.
#[derive(Clone)]
pub struct Payload {
    text: Bytes,
    noted: Noted,
    /// What stands before the text and behind it, where that is not copied.
    around: Option<Around>,
}

impl Payload {
    /// Writes a value as JSON text.
    ///
    /// # Errors
    /// When the value has no JSON form, as a map with keys that are not strings.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        // Most answers fit; the vector grows for those that do not.
        let mut text = Vec::with_capacity(256);
        let is_one_line = json_writer::write(value, &mut text)?;
        let noted = Noted::NOT_YET.with_lines(is_one_line);
        Ok(Self::of(text.into(), noted))
    }

    /// Takes JSON text as it is.
    ///
    /// # Errors
    /// When the text is not one valid JSON value within the limits.
    pub fn parse(text: Bytes, limits: &Limits) -> Result<Self, Fault> {
        let mut scanner = Scanner::new(&text, limits.bounds());
        let payload = Self::scan(&text, &mut scanner)?;
        scanner.end()?;
        Ok(payload)
    }

    /// An object without members.
    pub const fn empty() -> Self {
        Self::of(Bytes::from_static(b"{}"), Noted::NOT_YET)
    }

    /// Takes an object that this crate has written itself, without any of the members that
    /// are often asked for.
    pub(crate) fn from_own_plain(text: Vec<u8>) -> Self {
        // serde_json writes no line breaks.
        Self::of(text.into(), Noted::KNOWN.with_lines(true))
    }

    /// Takes text that this crate has written itself.
    pub(crate) fn from_own(text: Vec<u8>) -> Self {
        // Looked up now, because what we write may be sent to many.
        let noted = Noted::NOT_YET.with_lines(has_no_line_break(&text));
        Self::of(text.into(), noted)
    }

    /// A result of texts that says no more than these, which are [those](Self::texts) of this one.
    pub(crate) fn with_only(&self, texts: &[u8]) -> Self {
        let noted = Noted {
            is_texts: true.into(),
            has_no_more: true.into(),
            arguments: Span::new(1, 1 + texts.len()),
            ..Noted::KNOWN.with_lines(true)
        };
        // A small piece does not keep a large text.
        if texts.len() >= LARGE && texts.len() >= self.length() / 2 {
            return Self::in_pieces(b"{".to_vec(), self.share(texts), true, noted);
        }
        let mut text = Vec::with_capacity(texts.len() + 2);
        text.push(b'{');
        text.extend_from_slice(texts);
        text.push(b'}');
        Self::of(text.into(), noted)
    }

    /// Takes text that is known to be one JSON value.
    pub(crate) const fn from_valid(text: Bytes) -> Self {
        Self::of(text, Noted::NOT_YET)
    }

    /// A text in one piece.
    const fn of(text: Bytes, noted: Noted) -> Self {
        Self {
            text,
            noted,
            around: None,
        }
    }

    /// The same, with what is often asked for looked up, in one pass.
    pub(crate) fn noted(self) -> Self {
        if self.noted.known.is_set() {
            return self;
        }
        let mut scanner = Scanner::new(self.text(), Limits::default().bounds());
        Self::scan(self.text(), &mut scanner).unwrap_or(self)
    }

    /// Reads the value that comes next and notes what is often asked for.
    pub(crate) fn scan(frame: &Bytes, scanner: &mut Scanner<'_>) -> Result<Self, Fault> {
        let (part, noted) = Noted::scan(scanner, None)?;
        Ok(Self::of_frame(frame.clone(), &part, noted))
    }

    /// Makes what was noted of a part of a frame its payload, without a count of another owner.
    #[inline(always)]
    pub(crate) fn of_frame(mut frame: Bytes, part: &Range<usize>, noted: Noted) -> Self {
        // What is held is what is counted: a small payload does not keep a large frame.
        if frame.len() > LARGE && part.len() < frame.len() / 2 {
            let text = frame.get(part.clone()).unwrap_or_default();
            return Self::of(Bytes::copy_from_slice(text), noted);
        }
        frame.truncate(part.end);
        frame.advance(part.start.min(part.end));
        Self::of(frame, noted)
    }

    /// The text.
    ///
    /// Of a large one that is on its way to the next this may make a copy: [`length`](Self::length) needs none,
    /// and neither has [what writes a message](crate::jsonrpc::Message::write_head).
    pub fn text(&self) -> &Bytes {
        match &self.around {
            None => &self.text,
            Some(around) => around.whole(&self.text),
        }
    }

    /// How many bytes the text has.
    pub fn length(&self) -> usize {
        match &self.around {
            None => self.text.len(),
            Some(around) => around.length_with(&self.text),
        }
    }

    /// Decodes the text.
    ///
    /// # Errors
    /// When the text does not have the shape of `T`.
    pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(self.text())
    }

    /// Is it an object?
    pub fn is_object(&self) -> bool {
        self.around.is_some() || self.text.first() == Some(&b'{')
    }

    /// The text of `_meta`, if this is an object that has one.
    pub fn meta(&self) -> Option<&[u8]> {
        self.noted_span(|noted| &noted.meta, META)
    }

    /// What `resultType` says, if this is an object that has one and it is a string.
    pub fn result_type(&self) -> Option<Cow<'_, str>> {
        string_of(self.noted_span(|noted| &noted.result_type, RESULT_TYPE)?)
    }

    /// Does this have a `resultType`, whatever it is?
    pub(crate) fn has_result_type(&self) -> bool {
        let found = self.noted_span(|noted| &noted.result_type, RESULT_TYPE);
        found.is_some()
    }

    /// Does `resultType` say that this is all there is?
    pub fn is_complete(&self) -> bool {
        let found = self.noted_span(|noted| &noted.result_type, RESULT_TYPE);
        found == Some(b"\"complete\"") || self.result_type().as_deref() == Some("complete")
    }

    /// What a result of texts says beside what its era adds: its content, and perhaps whether it
    /// failed, as members one behind the other. `None` if it was not seen to be such a result.
    pub(crate) fn texts(&self) -> Option<&[u8]> {
        if !self.noted.is_texts.is_set() {
            return None;
        }
        self.get(&self.noted.arguments)
    }

    /// The text of a result that was seen to be one text, between its quotes and without escapes,
    /// and whether the result says that it is complete.
    pub(crate) fn one_text(&self) -> Option<(&[u8], bool)> {
        if !self.noted.is_one_text.is_set() {
            return None;
        }
        let text = self.get(&self.noted.name)?;
        Some((text, self.noted.result_type.as_range().is_some()))
    }

    /// What `name` says, if this is an object that has one and it is a string.
    pub fn name(&self) -> Option<Cow<'_, str>> {
        if self.noted.is_texts.is_set() {
            return None;
        }
        let text = self.noted_span(|noted| &noted.name, NAME)?;
        match self.noted.plain_name.is_set() {
            true => str::from_utf8(within_quotes(text)?).ok().map(Cow::Borrowed),
            false => string_of(text),
        }
    }

    /// What `name` says, sharing the text, if that was seen to stand there as it is.
    pub fn plain_name(&self) -> Option<Bytes> {
        if !self.noted.plain_name.is_set() {
            return None;
        }
        let text = within_quotes(self.noted_span(|noted| &noted.name, NAME)?)?;
        Some(self.share(text))
    }

    /// The bytes of what `name` says, which are UTF-8: for whoever only compares them.
    pub fn name_bytes(&self) -> Option<Cow<'_, [u8]>> {
        if !self.noted.plain_name.is_set() {
            return self
                .name()
                .map(|name| name.into_owned().into_bytes().into());
        }
        let text = self.noted_span(|noted| &noted.name, NAME)?;
        within_quotes(text).map(Cow::Borrowed)
    }

    /// The text of the `arguments`, if this is an object that has them.
    pub fn arguments(&self) -> Option<&[u8]> {
        if self.noted.is_texts.is_set() {
            return None;
        }
        self.noted_span(|noted| &noted.arguments, ARGUMENTS)
    }

    /// Does the text hold no line break, so that it can stand in a line as it is?
    pub fn is_one_line(&self) -> bool {
        let Noted {
            one_line,
            more_lines,
            ..
        } = &self.noted;
        one_line.is_set() || !more_lines.is_set() && has_no_line_break(self.text())
    }

    /// Was it seen to be the result of a tool that has texts for content, and nothing beside it but
    /// what its era adds?
    pub fn is_texts(&self) -> bool {
        self.noted.is_texts.is_set()
    }

    /// Does it say, as the result of a tool, that the tool could not do its work?
    pub fn is_error(&self) -> bool {
        match self.texts() {
            // They end with their content or with this.
            Some(texts) => texts.ends_with(b"true"),
            None => self.member(IS_ERROR) == Some(b"true"),
        }
    }

    /// The text of the member with this name.
    pub fn member(&self, wanted: &str) -> Option<&[u8]> {
        if let Some(noted) = self.noted.place_of(wanted) {
            return self.get(noted);
        }
        if self.noted.has_no_more.is_set() && !matches!(wanted, CONTENT | IS_ERROR) {
            return None;
        }
        if !self.noted.may_have(wanted) {
            return None;
        }
        Members::of(self.text()).find_map(|(name, value)| names(name, wanted).then_some(value))
    }

    /// The member with this name, sharing the text.
    pub fn part(&self, wanted: &str) -> Option<Self> {
        self.member(wanted).map(|text| self.part_of(text))
    }

    /// A piece of the text, which must be one JSON value of it, sharing the text.
    ///
    /// # Panics
    /// If the piece is not one of this text.
    pub fn part_of(&self, text: &[u8]) -> Self {
        Self::of(self.share(text), Noted::NOT_YET)
    }

    /// The string that the member with this name holds, escapes resolved.
    pub fn string_member(&self, wanted: &str) -> Option<Cow<'_, str>> {
        string_of(self.member(wanted)?)
    }

    /// The part of the text that was noted.
    #[inline]
    fn get(&self, part: &Span) -> Option<&[u8]> {
        let part = part.as_range()?;
        match &self.around {
            None => self.text.get(part),
            Some(around) => around.get(&self.text, part),
        }
    }

    fn noted_span(&self, pick: impl Fn(&Noted) -> &Span, name: &str) -> Option<&[u8]> {
        if self.noted.known.is_set() {
            self.get(pick(&self.noted))
        } else {
            self.member(name)
        }
    }
}

/// The members of an object, as the raw text of name and value.
///
/// Ends early at text that is not an object; the text of a [`Payload`] is always valid.
#[derive(Debug)]
pub(crate) struct Members<'a> {
    text: &'a [u8],
    scanner: Option<Scanner<'a>>,
    first: bool,
}

impl<'a> Members<'a> {
    pub(crate) fn of(text: &'a [u8]) -> Self {
        let mut scanner = Scanner::new(text, Limits::default().bounds());
        Self {
            text,
            scanner: scanner.enter(b'{').is_ok().then_some(scanner),
            first: true,
        }
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let scanner = self.scanner.as_mut()?;
        if !scanner.next_name(self.first).ok()? {
            return None;
        }
        let name = scanner.text();
        let value = scanner.value().ok()?;
        self.first = false;
        Some((name.of(self.text), self.text.get(value)?))
    }
}

/// The meaning of the text of a JSON string.
pub(crate) fn string_of(text: &[u8]) -> Option<Cow<'_, str>> {
    unescape(within_quotes(text)?)
}

fn within_quotes(text: &[u8]) -> Option<&[u8]> {
    text.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.text()))
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Payload {}

fn has_no_line_break(text: &[u8]) -> bool {
    memchr::memchr2(b'\n', b'\r', text).is_none()
}

const META: &str = "_meta";
const RESULT_TYPE: &str = "resultType";
const NAME: &str = "name";
const ARGUMENTS: &str = "arguments";
const CONTENT: &str = "content";
const IS_ERROR: &str = "isError";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::FrameReader;

    fn read(text: &str) -> Payload {
        Payload::parse(text.to_owned().into(), &Limits::default()).unwrap()
    }

    /// The same, as the result of a frame that is written as most are.
    fn received(text: &str) -> Payload {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{text}}}"#);
        let mut reader = FrameReader::new(Limits::default());
        reader.read_result(frame.into()).unwrap().result
    }

    #[test]
    fn a_name_is_what_it_means_and_shared_only_where_it_stands_as_it_is() {
        let check = |text: &str, name: Option<&str>, is_shared: bool| {
            let payload = read(text);
            let bytes = name.map(str::as_bytes);
            assert_eq!(payload.name().as_deref(), name, "{text}");
            assert_eq!(payload.name_bytes().as_deref(), bytes, "{text}");
            let shared = payload.plain_name();
            assert_eq!(shared.as_deref(), bytes.filter(|_| is_shared), "{text}");
        };
        check(r#"{"name":"ab"}"#, Some("ab"), true);
        check(r#"{"_meta":{},"name":"é","arguments":{}}"#, Some("é"), true);
        check(r#"{"name":"\u0061"}"#, Some("a"), false);
        check(r#"{"arguments":{},"name":"a"}"#, Some("a"), false);
        check(r#"{"name":7}"#, None, false);
        check("{}", None, false);
    }

    #[test]
    fn line_breaks_are_looked_for_where_they_were_not_seen() {
        let whole = read("{\"a\":[1,\n2],\"b\":{}}");
        let is_one_line = |name| whole.part(name).unwrap().is_one_line();
        assert!(!whole.is_one_line() && !is_one_line("a") && is_one_line("b"));
        assert!(Payload::empty().is_one_line());
    }

    #[test]
    fn a_result_says_what_it_is() {
        let check = |text: &str, is_texts: bool, is_error: bool| {
            let (read, received) = (read(text), received(text));
            assert_eq!(received.is_texts(), is_texts, "{text}");
            assert_eq!(received.is_error(), is_error, "{text}");
            assert_eq!(read.is_error(), is_error, "{text}");
            for name in ["name", "arguments"] {
                assert_eq!(received.member(name), read.member(name), "{text}");
            }
        };
        let one = r#""content":[{"type":"text","text":"a"}]"#;
        let two = r#""content":[{"type":"text","text":"a"},{"type":"text","text":"true"}]"#;
        check(&format!("{{{one}}}"), true, false);
        check(&format!("{{{two}}}"), true, false);
        check(&format!(r#"{{{two},"isError":false}}"#), true, false);
        check(&format!(r#"{{{two},"isError":true}}"#), true, true);
        check(&format!(r#"{{{one},"isError":true,"x":1}}"#), false, true);
        check(r#"{"content":[],"isError":true}"#, false, true);
        check(r#"{"content":[],"isError":1}"#, false, false);
        check(r#"{"name":"a","arguments":{}}"#, false, false);
    }

    #[test]
    fn one_text_is_known_with_whether_it_is_complete() {
        let check = |text: &str, expected: Option<(&str, bool)>| {
            let received = received(text);
            let expected = expected.map(|(text, is_complete)| (text.as_bytes(), is_complete));
            assert_eq!(received.one_text(), expected, "{text}");
        };
        let one = r#""content":[{"type":"text","text":"a b"}]"#;
        check(&format!("{{{one}}}"), Some(("a b", false)));
        check(
            &format!(r#"{{"resultType":"complete",{one}}}"#),
            Some(("a b", true)),
        );
        check(&format!(r#"{{{one},"isError":true}}"#), None);
        check(r#"{"content":[{"type":"text","text":"\n"}]}"#, None);
        check(r#"{"name":"a"}"#, None);
    }

    #[test]
    fn what_is_complete_says_so_in_any_spelling() {
        assert!(read(r#"{"resultType":"complete"}"#).is_complete());
        assert!(read(r#"{"resultType":"c\u006fmplete"}"#).is_complete());
        assert!(!read(r#"{"resultType":"task"}"#).is_complete());
        assert!(!read("{}").is_complete());
    }

    #[test]
    fn two_are_equal_when_their_text_is() {
        assert_eq!(read("[1]"), read("[1]"));
        assert_ne!(read("[1]"), read("[1 ]"));
    }
}
