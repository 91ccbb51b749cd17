//! Walks over JSON text without building anything.
//!
//! One pass checks grammar, UTF-8, depth and size, and finds where members
//! begin and end. It decodes nothing: values are spans of the text.
//! Typed values are read from those spans by serde_json, elsewhere.
//!
//! Nothing here recurses, so no input can exhaust the stack.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

/// Why text is not JSON that we accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The text ends inside a value.
    Truncated,
    /// A byte that the grammar does not allow here.
    Unexpected {
        /// Where it stands in the text.
        at: usize,
    },
    /// A string holds bytes that are not UTF-8.
    NotUtf8 {
        /// Where they begin.
        at: usize,
    },
    /// More nesting than the limit.
    TooDeep,
    /// More members and items than the limit.
    TooComplex,
    /// An object that must not repeat a member does.
    Repeated {
        /// Where the second one stands.
        at: usize,
    },
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Truncated => f.write_str("the text ends inside a value"),
            Self::Unexpected { at } => write!(f, "unexpected byte at offset {at}"),
            Self::NotUtf8 { at } => write!(f, "invalid UTF-8 at offset {at}"),
            Self::TooDeep => f.write_str("nested too deeply"),
            Self::TooComplex => f.write_str("too many members and items"),
            Self::Repeated { at } => write!(f, "repeated member name at offset {at}"),
        }
    }
}

/// How much JSON one message may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Levels of nesting, at most [`MAX_DEPTH`].
    pub depth: u32,
    /// Members and items, all levels together.
    pub items: u32,
}

/// The deepest nesting that can be asked for: one bit of a `u128` each.
pub(crate) const MAX_DEPTH: u32 = 128;

/// Where the inside of a string stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub start: usize,
    pub end: usize,
    /// Whether it holds escapes, so that its meaning is not its text.
    pub escaped: bool,
}

impl Text {
    pub(crate) fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.start..self.end).unwrap_or_default()
    }

    pub(crate) const fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// A position in JSON text.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    depth: u32,
    items: u32,
    /// The string that was stepped over last.
    last: Text,
    /// Whether a line break was passed outside of strings, where alone JSON allows one.
    pub broke_line: bool,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a [u8], bounds: Bounds) -> Self {
        Self {
            text,
            at: 0,
            depth: bounds.depth.min(MAX_DEPTH),
            items: bounds.items,
            last: Text {
                start: 0,
                end: 0,
                escaped: false,
            },
            broke_line: false,
        }
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The next byte that is not white space.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<u8, Fault> {
        self.skip_space();
        self.text.get(self.at).copied().ok_or(Fault::Truncated)
    }

    /// Steps over one expected byte, after white space.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        if self.peek()? == byte {
            self.at += 1;
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    /// Only white space may follow.
    pub(crate) fn end(&mut self) -> Result<(), Fault> {
        self.skip_space();
        if self.at == self.text.len() {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    /// Enters an object or array: one level of nesting is used up.
    #[inline]
    pub(crate) fn enter(&mut self, open: u8) -> Result<(), Fault> {
        self.expect(open)?;
        self.depth = self.depth.checked_sub(1).ok_or(Fault::TooDeep)?;
        Ok(())
    }

    /// Whether another member follows: then past its name and colon, else past the closing brace.
    ///
    /// `first` tells whether a comma must come before it. [`Scanner::text`] is the name, and the
    /// value comes next.
    pub(crate) fn next_name(&mut self, first: bool) -> Result<bool, Fault> {
        match self.peek()? {
            b'}' => {
                self.at += 1;
                self.depth += 1;
                return Ok(false);
            }
            b',' if !first => {
                self.at += 1;
                self.name()?;
            }
            b'"' if first => self.name()?,
            _ => return Err(self.unexpected()),
        }
        self.skip_space();
        Ok(true)
    }

    /// The string that was stepped over last: after [`Scanner::next_name`], the name.
    #[inline]
    pub(crate) const fn text(&self) -> Text {
        self.last
    }

    /// Steps over a member's beginning when exactly this text comes next.
    ///
    /// A guess that costs one comparison: nearly every message is written the same way. The text
    /// has the name, its colon, and before it the comma if it is not the first.
    #[inline]
    pub(crate) fn guess(&mut self, beginning: &[u8]) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if !rest.starts_with(beginning) || self.items == 0 {
            return false;
        }
        self.items -= 1;
        self.at += beginning.len();
        true
    }

    /// Whether another item of an array follows; past the closing bracket if not.
    pub(crate) fn next_item(&mut self, first: bool) -> Result<bool, Fault> {
        match self.peek()? {
            b']' if first => {
                self.at += 1;
                self.depth += 1;
                return Ok(false);
            }
            _ if first => {}
            b']' => {
                self.at += 1;
                self.depth += 1;
                return Ok(false);
            }
            b',' => self.at += 1,
            _ => return Err(self.unexpected()),
        }
        self.count()?;
        self.skip_space();
        Ok(true)
    }

    /// Steps over one value of any kind and tells where it stands.
    #[inline]
    pub(crate) fn value(&mut self) -> Result<Range<usize>, Fault> {
        let start = self.skip_value()?;
        Ok(start..self.at)
    }

    /// Steps over one value of any kind and tells where it begins.
    fn skip_value(&mut self) -> Result<usize, Fault> {
        self.skip_space();
        let start = self.at;
        // One bit per open container: set for an object, clear for an array.
        let mut open: u128 = 0;
        let mut level: u32 = 0;
        loop {
            // A value must come here.
            match self.peek()? {
                b'"' => self.string()?,
                b'{' => {
                    level = self.deeper(level)?;
                    open = open << 1 | 1;
                    if self.peek()? == b'}' {
                        self.at += 1;
                        open >>= 1;
                        level -= 1;
                    } else {
                        self.name()?;
                        continue;
                    }
                }
                b'[' => {
                    level = self.deeper(level)?;
                    open <<= 1;
                    if self.peek()? == b']' {
                        self.at += 1;
                        open >>= 1;
                        level -= 1;
                    } else {
                        self.count()?;
                        continue;
                    }
                }
                b't' => self.literal(b"true")?,
                b'f' => self.literal(b"false")?,
                b'n' => self.literal(b"null")?,
                b'-' | b'0'..=b'9' => self.number()?,
                _ => return Err(self.unexpected()),
            }
            // A value has ended here.
            loop {
                if level == 0 {
                    return Ok(start);
                }
                let in_object = open & 1 == 1;
                match self.peek()? {
                    b',' if in_object => {
                        self.at += 1;
                        self.name()?;
                        break;
                    }
                    b',' => {
                        self.at += 1;
                        self.count()?;
                        break;
                    }
                    b'}' if in_object => {}
                    b']' if !in_object => {}
                    _ => return Err(self.unexpected()),
                }
                self.at += 1;
                open >>= 1;
                level -= 1;
            }
        }
    }

    /// Steps over a string; [`Scanner::text`] is what stands between its quotes.
    #[inline]
    fn string(&mut self) -> Result<(), Fault> {
        if self.peek()? != b'"' {
            return Err(self.unexpected());
        }
        let start = self.at + 1;
        let mut at = start;
        // Names and most values are short and plain: found within a few words.
        while let Some(word) = chunk::<8>(self.text, at) {
            let special = special_bytes(u64::from_le_bytes(*word));
            if special == 0 {
                at += 8;
                if at - start >= 96 {
                    break;
                }
                continue;
            }
            at += (special.trailing_zeros() / 8) as usize;
            if self.text.get(at) == Some(&b'"') {
                self.at = at + 1;
                self.last = Text {
                    start,
                    end: at,
                    escaped: false,
                };
                return Ok(());
            }
            break;
        }
        self.at = at;
        self.long_string(start)
    }

    /// The rest of a string that is long, or holds more than plain ASCII.
    fn long_string(&mut self, start: usize) -> Result<(), Fault> {
        let mut escaped = false;
        loop {
            self.skip_plain();
            match self.text.get(self.at) {
                None => return Err(Fault::Truncated),
                Some(b'"') => {
                    self.last = Text {
                        start,
                        end: self.at,
                        escaped,
                    };
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(0..0x20) => return Err(self.unexpected()),
                Some(0x20..0x80) => self.at += 1,
                Some(0x80..) => self.multibyte()?,
            }
        }
    }

    fn deeper(&mut self, level: u32) -> Result<u32, Fault> {
        if level >= self.depth {
            return Err(Fault::TooDeep);
        }
        self.at += 1;
        Ok(level + 1)
    }

    fn name(&mut self) -> Result<(), Fault> {
        self.count()?;
        self.string()?;
        self.expect(b':')
    }

    fn count(&mut self) -> Result<(), Fault> {
        self.items = self.items.checked_sub(1).ok_or(Fault::TooComplex)?;
        Ok(())
    }

    fn unexpected(&self) -> Fault {
        if self.at < self.text.len() {
            Fault::Unexpected { at: self.at }
        } else {
            Fault::Truncated
        }
    }

    #[inline]
    fn skip_space(&mut self) {
        // Compact JSON, nearly all there is, has none: one compare and out.
        if self.text.get(self.at).is_some_and(|byte| *byte <= b' ') {
            self.skip_real_space();
        }
    }

    fn skip_real_space(&mut self) {
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b' ' | b'\t' => {}
                b'\n' | b'\r' => self.broke_line = true,
                _ => return,
            }
            self.at += 1;
        }
    }

    fn literal(&mut self, word: &[u8]) -> Result<(), Fault> {
        let end = self.at + word.len();
        match self.text.get(self.at..end) {
            Some(found) if found == word => {
                self.at = end;
                Ok(())
            }
            Some(_) => Err(self.unexpected()),
            None => Err(Fault::Truncated),
        }
    }

    fn number(&mut self) -> Result<(), Fault> {
        if self.text.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match self.text.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(self.unexpected()),
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.text.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.text.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    #[inline]
    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.text.get(self.at) {
            self.at += 1;
        }
        if self.at == start {
            return Err(self.unexpected());
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<(), Fault> {
        self.at += 1;
        match self.text.get(self.at) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => {
                self.at += 1;
                // A lone surrogate is valid JSON; whoever decodes the string refuses it.
                for _ in 0..4 {
                    match self.text.get(self.at) {
                        Some(b) if b.is_ascii_hexdigit() => self.at += 1,
                        _ => return Err(self.unexpected()),
                    }
                }
                Ok(())
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Steps over one character of two to four bytes (RFC 3629, table 3-7 of Unicode).
    fn multibyte(&mut self) -> Result<(), Fault> {
        let fault = Fault::NotUtf8 { at: self.at };
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = match rest {
            [0xC2..=0xDF, 0x80..=0xBF, ..] => 2,
            [0xE0, 0xA0..=0xBF, 0x80..=0xBF, ..]
            | [0xE1..=0xEC | 0xEE..=0xEF, 0x80..=0xBF, 0x80..=0xBF, ..]
            | [0xED, 0x80..=0x9F, 0x80..=0xBF, ..] => 3,
            [0xF0, 0x90..=0xBF, 0x80..=0xBF, 0x80..=0xBF, ..]
            | [0xF1..=0xF3, 0x80..=0xBF, 0x80..=0xBF, 0x80..=0xBF, ..]
            | [0xF4, 0x80..=0x8F, 0x80..=0xBF, 0x80..=0xBF, ..] => 4,
            _ => return Err(fault),
        };
        self.at += length;
        Ok(())
    }

    /// Steps over bytes that need no look inside a string.
    fn skip_plain(&mut self) {
        while let Some(wide) = chunk::<64>(self.text, self.at) {
            if has_special(wide) {
                break;
            }
            self.at += 64;
        }
        while let Some(word) = chunk::<8>(self.text, self.at) {
            let special = special_bytes(u64::from_le_bytes(*word));
            if special != 0 {
                self.at += (special.trailing_zeros() / 8) as usize;
                return;
            }
            self.at += 8;
        }
    }
}

#[inline]
fn chunk<const N: usize>(text: &[u8], at: usize) -> Option<&[u8; N]> {
    text.get(at..)?.first_chunk()
}

/// What a member's name means: escapes resolved, `None` when it holds a lone surrogate.
pub(crate) fn unescape(raw: &[u8]) -> Option<Cow<'_, str>> {
    if memchr::memchr(b'\\', raw).is_none() {
        return std::str::from_utf8(raw).ok().map(Cow::Borrowed);
    }
    let mut quoted = Vec::with_capacity(raw.len() + 2);
    quoted.push(b'"');
    quoted.extend_from_slice(raw);
    quoted.push(b'"');
    serde_json::from_slice(&quoted).ok().map(Cow::Owned)
}

/// Does a raw name mean `wanted`?
pub(crate) fn names(raw: &[u8], wanted: &str) -> bool {
    let is_escaped = || memchr::memchr(b'\\', raw).is_some();
    match raw.len().cmp(&wanted.len()) {
        // An escape is longer than what it means.
        Ordering::Less => false,
        Ordering::Equal => raw == wanted.as_bytes() && !is_escaped(),
        Ordering::Greater => is_escaped() && unescape(raw).is_some_and(|name| name == wanted),
    }
}

/// Sees whether a name comes twice. Small objects need no allocation.
#[derive(Debug, Default)]
pub(crate) struct SeenNames {
    first: [u64; 8],
    count: usize,
    more: std::collections::BTreeSet<u64>,
}

impl SeenNames {
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Notes a name that was seen elsewhere, if it was.
    pub(crate) fn insert_if(&mut self, seen: bool, name: &str) {
        if seen {
            self.insert(name.as_bytes(), false);
        }
    }

    /// Notes a name; `false` when it was there before.
    ///
    /// Names are told apart by a 64-bit hash: a sender can make two of his own
    /// names collide, which gets his own message refused.
    pub(crate) fn insert(&mut self, raw: &[u8], escaped: bool) -> bool {
        let hash = if escaped {
            unescape(raw).map_or_else(|| hash(raw), |name| hash(name.as_bytes()))
        } else {
            hash(raw)
        };
        let filled = self.count.min(self.first.len());
        if self.first.iter().take(filled).any(|seen| *seen == hash) {
            return false;
        }
        if let Some(slot) = self.first.get_mut(self.count) {
            *slot = hash;
        } else if !self.more.insert(hash) {
            return false;
        }
        self.count += 1;
        true
    }
}

#[inline]
fn hash(bytes: &[u8]) -> u64 {
    const MIX: u64 = 0xD6E8_FEB8_6659_FD93;
    let mut state = (bytes.len() as u64).rotate_right(8) ^ 0x9E37_79B9_7F4A_7C15;
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        state = (state ^ u64::from_le_bytes(*word)).wrapping_mul(MIX);
        state ^= state >> 32;
        rest = after;
    }
    // At most seven bytes are left: they fill a word beside the length.
    let tail = rest
        .iter()
        .fold(0, |word, byte| word << 8 | u64::from(*byte));
    state = (state ^ tail).wrapping_mul(MIX);
    state ^ state >> 32
}

/// The high bit of each byte that is a quote, a backslash, a control or not ASCII.
///
/// Bits above the lowest one set may be wrong (borrows run upwards); only the lowest is used.
/// Subtracting sets the high bit of a byte that is too small for it; bytes that have it
/// anyway are not ASCII, and so wanted.
#[inline]
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let quote = (word ^ (ONES * b'"' as u64)).wrapping_sub(ONES);
    let backslash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    let control = word.wrapping_sub(ONES * 0x20);
    (quote | backslash | control | word) & HIGH
}

#[inline]
fn has_special(bytes: &[u8; 64]) -> bool {
    // Written without branches so that the compiler makes vector code of it.
    let mut found = false;
    for &byte in bytes {
        found |= (byte == b'"') | (byte == b'\\') | !(0x20..0x80).contains(&byte);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        depth: 8,
        items: 100,
    };

    fn check(text: &[u8]) -> Result<Range<usize>, Fault> {
        let mut scanner = Scanner::new(text, BOUNDS);
        let span = scanner.value()?;
        scanner.end()?;
        Ok(span)
    }

    #[test]
    fn what_serde_json_accepts_is_accepted_and_nothing_else() {
        let cases: &[&str] = &[
            "1",
            "-1",
            "0",
            "-0",
            "01",
            "1.",
            "1.5",
            ".5",
            "1e",
            "1e5",
            "1E+5",
            "1e-",
            "+1",
            "-",
            "true",
            "tru",
            "truex",
            "null",
            "nul",
            "\"\"",
            "\"a",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u1234\"",
            "\"\u{7f}\"",
            "\"\t\"",
            "[]",
            "[1]",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{}",
            "{\"a\":1}",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1 \"b\":2}",
            "[{\"a\":[]},{}]",
            "[}",
            "{]",
            "[[]",
            "",
            " ",
            " 1 ",
            "1 1",
            "\"é€😀\"",
            "nan",
            "NaN",
            "{\"a\":{\"b\":[1,2,{\"c\":null}]}}",
            "\u{feff}1",
            "[1,\n\t2\r]",
            "1.0e+10",
            "- 1",
        ];
        for case in cases {
            let ours = check(case.as_bytes()).is_ok();
            let theirs = serde_json::from_str::<&serde_json::value::RawValue>(case).is_ok();
            assert_eq!(ours, theirs, "{case:?}");
        }
    }

    #[test]
    fn every_single_byte_change_of_a_message_is_judged_as_serde_json_judges_it() {
        let text = br#"{"jsonrpc":"2.0","id":"a\u00e9\n","params":{"n":[1.5e3,-0,true,null,"lange Zeichenfolge, die weit ueber vierundsechzig Bytes reicht, \u20ac und so fort"],"e":{}}}"#;
        for at in 0..text.len() {
            for byte in 0..=255u8 {
                let mut changed = text.to_vec();
                changed[at] = byte;
                let ours = check(&changed).is_ok();
                let theirs = std::str::from_utf8(&changed).is_ok()
                    && serde_json::from_slice::<&serde_json::value::RawValue>(&changed).is_ok();
                assert_eq!(ours, theirs, "byte {byte:#x} at {at}");
            }
        }
    }

    #[test]
    fn utf8_is_judged_as_the_standard_library_judges_it() {
        for lead in 0x80..=0xFFu8 {
            for second in [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF] {
                for tail in [&[][..], &[0x80], &[0x80, 0x80], &[0xBF, 0xC0]] {
                    let mut text = vec![b'"', lead, second];
                    text.extend_from_slice(tail);
                    text.push(b'"');
                    let ours = check(&text).is_ok();
                    let inner_ok = std::str::from_utf8(&text).is_ok() && !text.contains(&0);
                    assert_eq!(ours, inner_ok, "{text:x?}");
                }
            }
        }
    }

    #[test]
    fn depth_is_bounded_at_the_limit_exactly() {
        assert!(check(b"[[[[[[[[1]]]]]]]]").is_ok());
        assert_eq!(check(b"[[[[[[[[[1]]]]]]]]]"), Err(Fault::TooDeep));
        assert_eq!(
            check(&b"[".repeat(200_000)),
            Err(Fault::TooDeep),
            "no recursion, no overflow"
        );
    }

    #[test]
    fn items_are_bounded() {
        let many = format!("[{}1]", "1,".repeat(200));
        assert_eq!(check(many.as_bytes()), Err(Fault::TooComplex));
    }

    #[test]
    fn names_compare_after_their_escapes() {
        assert!(names(b"id", "id"));
        assert!(names(br"\u0069d", "id"));
        assert!(!names(b"ID", "id"));
        assert!(!names(br"\ud800", "id"));
        assert!(names(br"a\nb", "a\nb"));
        assert!(
            !names(br"a\nb", r"a\nb"),
            "the text of an escape is not its meaning"
        );
        assert!(names(br"a\\nb", r"a\nb"));
    }

    #[test]
    fn a_second_name_is_seen_however_it_is_written() {
        let mut seen = SeenNames::default();
        for n in 0..100 {
            assert!(seen.insert(format!("name{n}").as_bytes(), false));
        }
        assert!(!seen.insert(b"name3", false));
        assert!(!seen.insert(br"nam\u00659", true));
        assert!(!seen.insert(b"name99", false));
        assert!(seen.insert(b"name", false));
    }

    #[test]
    fn hashes_of_short_names_differ() {
        let mut seen = std::collections::HashSet::new();
        for a in 0..=255u8 {
            for b in 0..=255u8 {
                assert!(seen.insert(hash(&[a, b])));
            }
            assert!(seen.insert(hash(&[a])));
        }
    }
}
