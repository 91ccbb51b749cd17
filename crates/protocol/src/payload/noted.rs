//! What is seen of a payload while its frame is read, so that it need not be looked for again.

use std::ops::Range;

use super::{ARGUMENTS, META, NAME, RESULT_TYPE};
use crate::plain_result::PlainResult;
use crate::scan::{Fault, Scanner, SeenNames, names};

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
    pub(super) known: Flag,
    /// Whether there is a line break, if that is known.
    pub(super) one_line: Flag,
    pub(super) more_lines: Flag,
    /// The name is known to have no escapes.
    pub(super) plain_name: Flag,
    /// It is a result of one text without escapes and nothing beside it but a `_meta`. It has no
    /// name; the text, between its quotes, stands there.
    pub(super) is_one_text: Flag,
    /// It is a result of texts. It has no arguments; what it says of itself stands there.
    pub(super) is_texts: Flag,
    /// It has no members but those that have a place here or, if it is a result of texts, are part
    /// of what it says.
    pub(super) has_no_more: Flag,
    /// Of members that have no place here, a bit for each [kind of name](kind_of); all bits if they were not
    /// looked at.
    pub(super) others: u8,
    pub(super) meta: Span,
    pub(super) result_type: Span,
    pub(super) name: Span,
    pub(super) arguments: Span,
}

/// A part of the text. Frames are far below 4 GiB; a part that is not is not noted.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

/// A yes or no that takes all values of its byte.
///
/// A `bool` has values to spare, by which the compiler would tell an `Option<Payload>` apart. It
/// is moved in uneven pieces then, each of which waits for those before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flag(u8);

impl Flag {
    #[inline]
    pub(super) const fn is_set(self) -> bool {
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
    pub(super) const NOT_YET: Self = Self {
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
    pub(super) const KNOWN: Self = Self {
        known: Flag(1),
        ..Self::NOT_YET
    };

    /// The same, with whether the text is one line.
    pub(super) fn with_lines(mut self, is_one_line: bool) -> Self {
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
        scanner.broke_line = false;
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

    /// Where the member of this name is, if that is known: nowhere, or there.
    pub(super) fn place_of(&self, name: &str) -> Option<&Span> {
        // One text is texts too.
        let is_texts = self.is_texts.is_set();
        match name {
            _ if !self.known.is_set() => None,
            META => Some(&self.meta),
            RESULT_TYPE => Some(&self.result_type),
            NAME if !is_texts => Some(&self.name),
            ARGUMENTS if !is_texts => Some(&self.arguments),
            _ => None,
        }
    }

    /// May there be a member of this name?
    pub(super) fn may_have(&self, name: &str) -> bool {
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

    pub(super) fn new(start: usize, end: usize) -> Self {
        match (start.try_into(), end.try_into()) {
            (Ok(start), Ok(end)) => Self { start, end },
            _ => Self::NONE,
        }
    }

    pub(super) const fn is_some(&self) -> bool {
        self.end > 0
    }

    pub(super) fn as_range(&self) -> Option<Range<usize>> {
        (self.end > 0).then_some(self.start as usize..self.end as usize)
    }
}

/// A `_meta` that is longer is walked over each time.
const MOST_KNOWN: usize = 4 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::Limits;

    #[test]
    fn a_meta_is_known_again_if_it_is_an_object_in_one_line_and_not_long() {
        let check = |meta: &str, items: Option<u32>| {
            let mut scanner = Scanner::new(meta.as_bytes(), Limits::default().bounds());
            let mut known = KnownMeta::default();
            let part = known.scan(&mut scanner).unwrap();
            assert_eq!(part, 0..meta.len(), "{meta}");
            let found = (!known.text.is_empty()).then_some((&*known.text, known.items));
            assert_eq!(found, items.map(|items| (meta.as_bytes(), items)), "{meta}");
        };
        check(r#"{"a":[1,{}],"b":2}"#, Some(4));
        check("{}", Some(0));
        check("7", None);
        check("[1]", None);
        check("{\"a\":\n1}", None);
        check(&format!(r#"{{"a":"{}"}}"#, "x".repeat(MOST_KNOWN)), None);
    }

    #[test]
    fn what_is_often_asked_for_is_not_looked_for_beside_what_is_often_there() {
        let check = |text: &str, absent: &[&str]| {
            let mut scanner = Scanner::new(text.as_bytes(), Limits::default().bounds());
            let (_, noted) = Noted::scan(&mut scanner, None).unwrap();
            for name in absent {
                assert!(!noted.may_have(name), "{name} in {text}");
            }
        };
        let result = r#"{"content":[],"isError":false}"#;
        check(result, &["task", "structuredContent", "uri2", ""]);
        check(r#"{"uri":"a:b"}"#, &["task", "cursor", "inputResponses"]);
        check(r#"{"name":"a"}"#, &["task", "requestState", "uri"]);
    }
}
