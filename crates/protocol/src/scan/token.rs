//! Strings, numbers and words: what a value is that has nothing within it.

use super::{Fault, Scanner, Text};
use crate::json_string::meaning;
use crate::marks::{
    WINDOW, chunk, is_plain, leading, marks, needing_escape_or_not_ascii, needs_escape, window,
};

impl Scanner<'_> {
    /// Steps over a value that begins with this byte and is neither a string nor a container.
    #[inline]
    pub(super) fn plain_value(&mut self, first: u8) -> Result<(), Fault> {
        match first {
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(self.unexpected()),
        }
    }

    /// Steps over a string; [`Scanner::text`] is what stands between its quotes.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<(), Fault> {
        if self.peek()? != b'"' {
            return Err(self.unexpected());
        }
        match self.short_string() {
            true => Ok(()),
            false => self.long_string(),
        }
    }

    /// Steps over a string that is short and plain, as names and most values are: its end is found within a
    /// few words. Over any other as far as it is plain: where it begins is noted.
    #[inline]
    pub(super) fn short_string(&mut self) -> bool {
        let start = self.at + 1;
        let rest = self.text.get(start..).unwrap_or_default();
        let length = leading(rest, FEW_WORDS, needing_escape_or_not_ascii);
        let end = start + length;
        let is_over = rest.get(length) == Some(&b'"');
        self.at = end + usize::from(is_over);
        self.last = Text {
            start,
            end,
            escaped: false,
        };
        is_over
    }

    /// The rest of a string that is long, or holds more than plain ASCII.
    fn long_string(&mut self) -> Result<(), Fault> {
        let start = self.last.start;
        if !self.stones.is_empty()
            && let Some(stone) = self.pass_stone(start - 1)?
        {
            self.last = Text {
                start,
                end: stone.end - 1,
                escaped: stone.escaped,
            };
            return Ok(());
        }
        let mut not_ascii = None;
        let found = self.find_quote(usize::MAX, &mut not_ascii);
        let from = not_ascii.unwrap_or(self.at);
        let text = self.text.get(from..self.at).unwrap_or_default();
        // In one go: for text that is not ASCII this is many times faster than in steps. What
        // is no UTF-8 stands before whatever else is wrong.
        std::str::from_utf8(text).map_err(|error| Fault::NotUtf8 {
            at: from + error.valid_up_to(),
        })?;
        let (Found::Quote { escaped } | Found::Paused { escaped }) = found?;
        self.last = Text {
            start,
            end: self.at,
            escaped,
        };
        self.at += 1;
        Ok(())
    }

    /// Steps to the quote that ends a string, or not much further than `stop`. All before `not_ascii`, or all
    /// if there is none, is ASCII.
    pub(super) fn find_quote(
        &mut self,
        stop: usize,
        not_ascii: &mut Option<usize>,
    ) -> Result<Found, Fault> {
        let mut escaped = false;
        // How many windows in a row had nothing to be looked at.
        let mut plain = 0;
        while let Some(pair) = chunk(self.text, self.at) {
            if self.at >= stop {
                return Ok(Found::Paused { escaped });
            }
            if plain >= MANY_PLAIN
                && let Some(block) = chunk(self.text, self.at)
                && is_plain(block)
            {
                self.at += block.len();
                continue;
            }
            let mut marked = marks(window(pair), needs_escape);
            let start = self.at;
            plain = if marked == 0 { plain + 1 } else { 0 };
            if !window(pair).is_ascii() {
                not_ascii.get_or_insert(start);
                plain = 0;
            }
            let mut next = WINDOW;
            while marked != 0 {
                let place = marked.trailing_zeros() as usize;
                let past = match pair.get(place..) {
                    Some([b'\\', letter, ..]) if meaning(*letter).is_some() => place + 2,
                    Some([b'"', ..]) => {
                        self.at = start + place;
                        return Ok(Found::Quote { escaped });
                    }
                    _ => {
                        self.at = start + place;
                        self.escape()?;
                        self.at - start
                    }
                };
                escaped = true;
                if past >= WINDOW {
                    next = past;
                    break;
                }
                marked &= u64::MAX << past;
            }
            self.at = start + next;
        }
        loop {
            match self.text.get(self.at) {
                None => return Err(Fault::Truncated),
                Some(b'"') => return Ok(Found::Quote { escaped }),
                Some(byte) if needs_escape(*byte) => {
                    self.escape()?;
                    escaped = true;
                }
                Some(byte) => {
                    if !byte.is_ascii() {
                        not_ascii.get_or_insert(self.at);
                    }
                    self.at += 1;
                }
            }
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

    /// Steps over an escape. Whatever else stands here is out of place.
    fn escape(&mut self) -> Result<(), Fault> {
        if self.text.get(self.at) != Some(&b'\\') {
            return Err(self.unexpected());
        }
        self.at += 1;
        match self.text.get(self.at) {
            Some(letter) if meaning(*letter).is_some() => {
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
}

/// How far the end of a string was looked for, and whether there were escapes.
pub(super) enum Found {
    /// Its quote is here.
    Quote { escaped: bool },
    /// It goes on, and all up to here was looked at.
    Paused { escaped: bool },
}

/// Strings up to this many words of eight bytes are looked at word by word.
const FEW_WORDS: usize = 12;

/// After so many windows without anything to be looked at, more of them are tried at once.
const MANY_PLAIN: u32 = 4;
