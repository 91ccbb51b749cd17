//! JSON text that is kept as text until someone needs its meaning.
//!
//! [`Payload`] is a piece of a received frame and shares its bytes.
//! [`RawJson`] is a field inside a decoded value that stays exactly as it was
//! sent: a schema, tool arguments, a structured result.

mod call;
mod known_result;
mod meta;
mod passing_on;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json_string::unescape;
use crate::json_writer;
use crate::jsonrpc::Limits;
use crate::plain_result::PlainResult;
use crate::scan::{Fault, Scanner, SeenNames, names};

pub(crate) use known_result::KnownResult;

/// One JSON value of a frame: `params`, `result` or `error.data`.
///
/// It shares the frame's bytes and is decoded by the one who needs it.
/// Reading a frame finds `_meta`, `resultType`, `name` and `arguments` on the way, so that asking
/// for them later does not walk over the text again.
#[derive(Clone)]
pub struct Payload {
    text: Bytes,
    noted: Noted,
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
        let text = text.into();
        Ok(Self { text, noted })
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
        Self {
            text: Bytes::from_static(b"{}"),
            noted: Noted::NOT_YET,
        }
    }

    /// Takes an object that this crate has written itself, without any of the members that
    /// are often asked for.
    pub(crate) fn from_own_plain(text: Vec<u8>) -> Self {
        // serde_json writes no line breaks.
        Self {
            text: text.into(),
            noted: Noted::KNOWN.with_lines(true),
        }
    }

    /// Takes text that this crate has written itself.
    pub(crate) fn from_own(text: Vec<u8>) -> Self {
        // Looked up now, because what we write may be sent to many.
        let noted = Noted::NOT_YET.with_lines(has_no_line_break(&text));
        let text = text.into();
        Self { text, noted }
    }

    /// Takes a result of texts, as [`texts`](Self::texts) gives them, in one line: they stand there.
    pub(crate) fn of_texts(text: Vec<u8>, texts: Range<usize>) -> Self {
        let noted = Noted {
            is_texts: true.into(),
            has_no_more: true.into(),
            arguments: Span::new(texts.start, texts.end),
            ..Noted::KNOWN.with_lines(true)
        };
        let text = text.into();
        Self { text, noted }
    }

    /// Takes text that is known to be one JSON value.
    pub(crate) const fn from_valid(text: Bytes) -> Self {
        Self {
            text,
            noted: Noted::NOT_YET,
        }
    }

    /// The same, with what is often asked for looked up, in one pass.
    pub(crate) fn noted(self) -> Self {
        if self.noted.known.is_set() {
            return self;
        }
        let mut scanner = Scanner::new(&self.text, Limits::default().bounds());
        Self::scan(&self.text, &mut scanner).unwrap_or(self)
    }

    /// Reads the value that comes next and notes what is often asked for.
    pub(crate) fn scan(frame: &Bytes, scanner: &mut Scanner<'_>) -> Result<Self, Fault> {
        let (part, noted) = Noted::scan(scanner, None)?;
        let text = frame.slice(part);
        Ok(Self { text, noted })
    }

    /// Makes what was noted of a part of a frame its payload, without a count of another owner.
    #[inline(always)]
    pub(crate) fn of_frame(mut frame: Bytes, part: &Range<usize>, noted: Noted) -> Self {
        frame.truncate(part.end);
        frame.advance(part.start.min(part.end));
        Self { text: frame, noted }
    }

    /// The text.
    pub const fn text(&self) -> &Bytes {
        &self.text
    }

    /// Decodes the text.
    ///
    /// # Errors
    /// When the text does not have the shape of `T`.
    pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.text)
    }

    /// Is it an object?
    pub fn is_object(&self) -> bool {
        self.text.first() == Some(&b'{')
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
        self.text.get(self.noted.arguments.as_range()?)
    }

    /// The text of a result that was seen to be one text, between its quotes and without escapes,
    /// and whether the result says that it is complete.
    pub(crate) fn one_text(&self) -> Option<(&[u8], bool)> {
        if !self.noted.is_one_text.is_set() {
            return None;
        }
        let text = self.text.get(self.noted.name.as_range()?)?;
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
        Some(self.text.slice_ref(text))
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
        one_line.is_set() || !more_lines.is_set() && has_no_line_break(&self.text)
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
        if self.noted.has_no_more.is_set() {
            match wanted {
                META | RESULT_TYPE | NAME | ARGUMENTS | CONTENT | IS_ERROR => {}
                _ => return None,
            }
        }
        if !self.noted.may_have(wanted) {
            return None;
        }
        Members::of(&self.text).find_map(|(name, value)| names(name, wanted).then_some(value))
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
        Self {
            text: self.text.slice_ref(text),
            noted: Noted::NOT_YET,
        }
    }

    /// The string that the member with this name holds, escapes resolved.
    pub fn string_member(&self, wanted: &str) -> Option<Cow<'_, str>> {
        string_of(self.member(wanted)?)
    }

    fn noted_span(&self, pick: impl Fn(&Noted) -> &Span, name: &str) -> Option<&[u8]> {
        if self.noted.known.is_set() {
            let span = pick(&self.noted);
            self.text.get(span.as_range()?)
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
        f.write_str(&String::from_utf8_lossy(&self.text))
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Payload {}

fn has_no_line_break(text: &[u8]) -> bool {
    memchr::memchr2(b'\n', b'\r', text).is_none()
}

/// The `_meta` that a peer has sent last.
///
/// Most peers send the same with every request. Text that is the same to the byte is just as
/// valid, so it is compared and not walked over again.
#[derive(Debug, Default)]
pub(crate) struct KnownMeta {
    text: Vec<u8>,
    items: u32,
}

impl KnownMeta {
    /// Steps over a `_meta`, which must stand as deep as the one before it.
    fn scan(&mut self, scanner: &mut Scanner<'_>) -> Result<Range<usize>, Fault> {
        let start = scanner.position();
        if !self.text.is_empty() && scanner.guess_all(&self.text, self.items) {
            return Ok(start..scanner.position());
        }
        let items = scanner.items_left();
        let value = scanner.value()?;
        // A number could go on behind its text, and line breaks would not be noted.
        let text = scanner.source().get(value.clone()).unwrap_or_default();
        if text.first() == Some(&b'{') && text.len() <= MOST_KNOWN && !scanner.broke_line {
            self.text.clear();
            self.text.extend_from_slice(text);
            self.items = items - scanner.items_left();
        }
        Ok(value)
    }
}

/// What was seen of a payload while its frame was read.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    known: Flag,
    /// Whether there is a line break, if that is known.
    one_line: Flag,
    more_lines: Flag,
    /// The name is known to have no escapes.
    plain_name: Flag,
    /// It is a result of one text without escapes and nothing beside it but a `_meta`. It has no
    /// name; the text, between its quotes, stands there.
    is_one_text: Flag,
    /// It is a result of texts. It has no arguments; what it says of itself stands there.
    is_texts: Flag,
    /// It has no members but those that have a place here or, if it is a result of texts, are part
    /// of what it says.
    has_no_more: Flag,
    /// Of members that have no place here, a bit for each [kind of name](kind_of); all bits if they were not
    /// looked at.
    others: u8,
    meta: Span,
    result_type: Span,
    name: Span,
    arguments: Span,
}

/// A part of the text. Frames are far below 4 GiB; a part that is not is not noted.
#[derive(Clone, Debug)]
struct Span {
    start: u32,
    end: u32,
}

/// A yes or no that takes all values of its byte.
///
/// A `bool` has values to spare, by which the compiler would tell an `Option<Payload>` apart. It
/// is moved in uneven pieces then, each of which waits for those before it.
#[derive(Clone, Copy, Debug, Default)]
struct Flag(u8);

impl Flag {
    #[inline]
    const fn is_set(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Flag {
    #[inline]
    fn from(is_set: bool) -> Self {
        Self(is_set.into())
    }
}

impl Default for Noted {
    fn default() -> Self {
        Self::NOT_YET
    }
}

impl Noted {
    const NOT_YET: Self = Self {
        known: Flag(0),
        one_line: Flag(0),
        more_lines: Flag(0),
        plain_name: Flag(0),
        is_one_text: Flag(0),
        is_texts: Flag(0),
        has_no_more: Flag(0),
        others: u8::MAX,
        meta: Span::NONE,
        result_type: Span::NONE,
        name: Span::NONE,
        arguments: Span::NONE,
    };

    /// There is nothing of what is often asked for.
    const KNOWN: Self = Self {
        known: Flag(1),
        ..Self::NOT_YET
    };

    /// The same, with whether the text is one line.
    fn with_lines(mut self, is_one_line: bool) -> Self {
        self.one_line = is_one_line.into();
        self.more_lines = (!is_one_line).into();
        self
    }

    /// Steps over the value that comes next: where it stands, and what was seen of it.
    pub(crate) fn scan(
        scanner: &mut Scanner<'_>,
        known_meta: Option<&mut KnownMeta>,
    ) -> Result<(Range<usize>, Self), Fault> {
        let is_object = scanner.peek()? == b'{';
        let start = scanner.position();
        let broke_line = std::mem::replace(&mut scanner.broke_line, false);
        let mut noted = Self::KNOWN;
        if is_object {
            scanner.enter(b'{')?;
            noted.others = 0;
            noted.scan_usual(scanner, start, known_meta)?;
            if scanner.guess_end() {
                noted.has_no_more = true.into();
            } else {
                noted.scan_others(scanner, start)?;
            }
        } else {
            scanner.value()?;
        }
        let noted = noted.with_lines(!scanner.broke_line);
        scanner.broke_line |= broke_line;
        Ok((start..scanner.position(), noted))
    }

    /// Steps over the result that comes next, in the same way. Those of texts are known by
    /// heart.
    pub(crate) fn scan_result(scanner: &mut Scanner<'_>) -> Result<(Range<usize>, Self), Fault> {
        // White space may stand before it.
        scanner.peek()?;
        let start = scanner.position();
        let before = scanner.clone();
        let Some(plain) = PlainResult::scan(scanner, |_| {}) else {
            *scanner = before;
            return Self::scan(scanner, None);
        };
        let mut noted = Self::KNOWN.with_lines(true);
        if let Some(complete) = plain.complete {
            noted.result_type = Span::new(complete.start - start, complete.end - start);
        }
        if let Some(meta) = plain.meta {
            noted.meta = Span::new(meta.start - start, meta.end - start);
        }
        if let Some(text) = plain.one_text {
            noted.is_one_text = true.into();
            noted.name = Span::new(text.start - start, text.end - start);
        }
        if let Some(texts) = plain.texts {
            noted.is_texts = true.into();
            noted.has_no_more = true.into();
            noted.arguments = Span::new(texts.start - start, texts.end - start);
        }
        Ok((start..scanner.position(), noted))
    }

    /// The members of a call to a tool, in the order in which nearly everyone writes them.
    #[inline]
    fn scan_usual(
        &mut self,
        scanner: &mut Scanner<'_>,
        start: usize,
        known_meta: Option<&mut KnownMeta>,
    ) -> Result<(), Fault> {
        let mut known_meta = known_meta;
        let mut scan_meta = |scanner: &mut Scanner<'_>| {
            let value = match &mut known_meta {
                Some(known) => known.scan(scanner)?,
                None => scanner.value()?,
            };
            Ok(Span::new(value.start - start, value.end - start))
        };
        if scanner.guess(b"\"_meta\":") {
            self.meta = scan_meta(scanner)?;
            if !scanner.guess(b",\"name\":") {
                return Ok(());
            }
        } else if !scanner.guess(b"\"name\":") {
            return Ok(());
        }
        let is_string = scanner.peek()? == b'"';
        let name = scanner.position();
        if is_string {
            scanner.string()?;
            self.plain_name = (!scanner.text().escaped).into();
        } else {
            scanner.value()?;
        }
        self.name = Span::new(name - start, scanner.position() - start);
        if scanner.guess(b",\"arguments\":") {
            let value = scanner.value()?;
            self.arguments = Span::new(value.start - start, value.end - start);
        }
        if !self.meta.is_some() && scanner.guess(b",\"_meta\":") {
            self.meta = scan_meta(scanner)?;
        }
        Ok(())
    }

    /// Members of any name in any order, up to the end of the object.
    fn scan_others(&mut self, scanner: &mut Scanner<'_>, start: usize) -> Result<(), Fault> {
        let mut seen = SeenNames::default();
        seen.insert_if(self.name.is_some(), NAME);
        seen.insert_if(self.arguments.is_some(), ARGUMENTS);
        seen.insert_if(self.meta.is_some(), META);
        let mut first = !(self.name.is_some() || self.meta.is_some());
        while scanner.next_name(first)? {
            first = false;
            let name = scanner.text();
            let value = scanner.value()?;
            let raw = name.of(scanner.source());
            if !seen.insert(raw, name.escaped) {
                return Err(Fault::Repeated { at: name.start });
            }
            let value = value.start - start..value.end - start;
            if !self.note(raw, name.escaped, value) {
                self.others |= match name.escaped {
                    true => u8::MAX,
                    false => kind_of(raw),
                };
            }
        }
        // What says how a result is to be taken is not part of a call.
        self.has_no_more = (self.others == 0 && !self.result_type.is_some()).into();
        Ok(())
    }

    /// May there be a member of this name?
    fn may_have(&self, name: &str) -> bool {
        matches!(name, META | RESULT_TYPE | NAME | ARGUMENTS)
            || self.others & kind_of(name.as_bytes()) != 0
    }

    /// Notes a member, if it has a place here.
    fn note(&mut self, name: &[u8], escaped: bool, value: Range<usize>) -> bool {
        let place = match name {
            b"_meta" => &mut self.meta,
            b"resultType" => &mut self.result_type,
            b"name" => &mut self.name,
            b"arguments" => &mut self.arguments,
            _ if !escaped => return false,
            _ if names(name, META) => &mut self.meta,
            _ if names(name, RESULT_TYPE) => &mut self.result_type,
            _ if names(name, NAME) => &mut self.name,
            _ if names(name, ARGUMENTS) => &mut self.arguments,
            _ => return false,
        };
        *place = Span::new(value.start, value.end);
        true
    }
}

/// One bit of eight for a name, and mostly another one for another name: those that are often asked for and
/// those that are often there differ.
const fn kind_of(name: &[u8]) -> u8 {
    let first = match name {
        [] => 0,
        [first, ..] => *first as usize,
    };
    1 << ((name.len() ^ first) % 8)
}

impl Span {
    const NONE: Self = Self { start: 0, end: 0 };

    fn new(start: usize, end: usize) -> Self {
        match (start.try_into(), end.try_into()) {
            (Ok(start), Ok(end)) => Self { start, end },
            _ => Self::NONE,
        }
    }

    const fn is_some(&self) -> bool {
        self.end > 0
    }

    fn as_range(&self) -> Option<Range<usize>> {
        (self.end > 0).then_some(self.start as usize..self.end as usize)
    }
}

/// A `_meta` that is longer is walked over each time.
const MOST_KNOWN: usize = 4 * 1024;

const META: &str = "_meta";
const RESULT_TYPE: &str = "resultType";
const NAME: &str = "name";
const ARGUMENTS: &str = "arguments";
const CONTENT: &str = "content";
const IS_ERROR: &str = "isError";

/// One JSON value, byte for byte as it was sent, inside a decoded value.
///
/// Cheap to clone. Two are equal when their text is equal.
#[derive(Clone)]
pub struct RawJson(Arc<RawValue>);

impl RawJson {
    /// Takes JSON text as it is.
    ///
    /// # Errors
    /// When the text is not one valid JSON value.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<Box<RawValue>>(text).map(|raw| Self(raw.into()))
    }

    /// Writes a value as JSON text.
    ///
    /// # Errors
    /// When the value has no JSON form, as a map with keys that are not strings.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(|raw| Self(raw.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Decodes the text.
    ///
    /// # Errors
    /// When the text does not have the shape of `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }

    /// Is it the literal `null`?
    pub fn is_null(&self) -> bool {
        self.as_str() == "null"
    }

    /// Is it an object?
    pub fn is_object(&self) -> bool {
        self.as_str().starts_with('{')
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| Self(raw.into()))
    }
}
