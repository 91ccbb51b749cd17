//! Walks over JSON text without building anything.
//!
//! One pass checks grammar, UTF-8, depth and size, and finds where members
//! begin and end. It decodes nothing: values are spans of the text.
//! What the spans mean is found out elsewhere, by whoever needs it: strings by `json_string`,
//! typed values by serde_json or, where they are usual, without it.
//!
//! Nothing here recurses, so no input can exhaust the stack.

mod names;
mod survey;
#[cfg(test)]
mod tests;
mod token;

use std::ops::Range;

pub(crate) use names::{SeenNames, names};
use survey::Stone;
pub(crate) use survey::Survey;

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
    /// What is long in the text and was seen to be valid, by where it begins.
    stones: &'a [Stone],
    /// Whether a line break was passed outside of strings, where alone JSON allows one, since this was last
    /// set to false.
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
            stones: &[],
            broke_line: false,
        }
    }

    /// One that passes over what is known to be valid.
    pub(crate) fn passing(mut self, survey: &'a Survey) -> Self {
        self.stones = survey.stones();
        self
    }

    /// One that stands at a value which is neither a string nor a container.
    fn at(text: &'a [u8], at: usize) -> Self {
        let none = Bounds { depth: 0, items: 0 };
        let mut scanner = Self::new(text, none);
        scanner.at = at;
        scanner
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
        self.guess_all(beginning, 1)
    }

    /// Steps over text with so many members and items when exactly that comes next.
    #[inline]
    pub(crate) fn guess_all(&mut self, text: &[u8], items: u32) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if !rest.starts_with(text) || self.items < items {
            return false;
        }
        self.items -= items;
        self.at += text.len();
        true
    }

    /// Steps over a whole number without a sign when it comes next, in its plain form.
    #[inline]
    pub(crate) fn guess_number(&mut self) -> Option<i64> {
        let rest = self.text.get(self.at..)?;
        let mut number = 0;
        let mut length = 0;
        while let Some(digit @ b'0'..=b'9') = rest.get(length) {
            number = number * 10 + i64::from(digit - b'0');
            length += 1;
            // One more would not fit for certain.
            if length > 17 {
                return None;
            }
        }
        // A leading zero is not the plain form.
        if length == 0 || length > 1 && rest.first() == Some(&b'0') {
            return None;
        }
        self.at += length;
        Some(number)
    }

    /// Steps over the brace that ends an object when it comes next.
    #[inline]
    pub(crate) fn guess_end(&mut self) -> bool {
        let is_end = self.text.get(self.at) == Some(&b'}');
        if is_end {
            self.at += 1;
            self.depth += 1;
        }
        is_end
    }

    /// May there be so many levels of nesting more?
    pub(crate) const fn has_depth(&self, levels: u32) -> bool {
        self.depth >= levels
    }

    /// How many more members and items there may be.
    pub(crate) const fn items_left(&self) -> u32 {
        self.items
    }

    /// Has everything been stepped over?
    pub(crate) const fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// The text that is walked over.
    pub(crate) const fn source(&self) -> &'a [u8] {
        self.text
    }

    /// Whether another item of an array follows; past the closing bracket if not.
    pub(crate) fn next_item(&mut self, first: bool) -> Result<bool, Fault> {
        match self.peek()? {
            b']' => {
                self.at += 1;
                self.depth += 1;
                return Ok(false);
            }
            _ if first => {}
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
        if !self.stones.is_empty() && self.pass_stone(start)?.is_some() {
            return Ok(start);
        }
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
                other => self.plain_value(other)?,
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

    /// Steps over what begins here, if that is known to be long and valid.
    fn pass_stone(&mut self, start: usize) -> Result<Option<Stone>, Fault> {
        let found = self
            .stones
            .binary_search_by_key(&start, |stone| stone.start);
        let Some(stone) = found.ok().and_then(|index| self.stones.get(index).copied()) else {
            return Ok(None);
        };
        self.items = self
            .items
            .checked_sub(stone.items)
            .ok_or(Fault::TooComplex)?;
        self.at = stone.end;
        self.broke_line |= stone.broke_line;
        Ok(Some(stone))
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
        if !self.stones.is_empty() && matches!(self.pass_stone(self.at), Ok(Some(_))) {
            return;
        }
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b' ' | b'\t' => {}
                b'\n' | b'\r' => self.broke_line = true,
                _ => return,
            }
            self.at += 1;
        }
    }
}
