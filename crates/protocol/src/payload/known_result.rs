//! The result of one text that a peer has sent last.
//!
//! Most peers write the same around every text. What is the same to the byte is just as valid, so
//! it is compared and not walked over again; only the text between is looked at.
//!
//! Specification: server/tools (tool results).

use std::ops::Range;

use super::{Noted, Span};
use crate::json_string::is_plain;

/// What stood around the text, and what was noted of it.
#[derive(Debug, Default)]
pub(crate) struct KnownResult {
    /// From behind the id to the quote before the text. Empty if none is known.
    head: Vec<u8>,
    /// From the quote behind the text to the end of the frame.
    tail: Vec<u8>,
    /// How long the text was.
    length: usize,
    /// Where the result stood, from behind the id.
    part: Range<usize>,
    noted: Noted,
}

impl KnownResult {
    /// Knows the result of one text from now on that stands in this part of a frame, from behind
    /// the id.
    #[cold]
    pub(crate) fn learn(&mut self, frame: &[u8], part: Range<usize>, noted: &Noted) {
        let (true, Some(text)) = (noted.is_one_text.is_set(), noted.name.as_range()) else {
            return;
        };
        let text = part.start + text.start..part.start + text.end;
        let (Some(head), Some(tail)) = (frame.get(..text.start), frame.get(text.end..)) else {
            return;
        };
        if head.len().max(tail.len()) > MOST_KNOWN {
            return;
        }
        self.head.clear();
        self.head.extend_from_slice(head);
        self.tail.clear();
        self.tail.extend_from_slice(tail);
        self.length = text.len();
        self.part = part;
        self.noted = noted.clone();
    }

    /// Where the result stands in a frame, from behind the id, and what is noted of it, if it is
    /// this one with another text.
    #[inline]
    pub(crate) fn find(&self, frame: &[u8]) -> Option<(Range<usize>, Noted)> {
        if self.head.is_empty() {
            return None;
        }
        let text = frame.strip_prefix(&*self.head)?.strip_suffix(&*self.tail)?;
        if !is_plain(text) {
            return None;
        }
        let mut noted = self.noted.clone();
        let start = noted.name.start as usize;
        noted.name = Span::new(start, start + text.len());
        // The rest stands as far behind the text as before.
        let moved = |place: usize| place.saturating_sub(self.length) + text.len();
        if let Some(texts) = noted.arguments.as_range() {
            noted.arguments = Span::new(texts.start, moved(texts.end));
        }
        if let Some(behind) = noted.result_type.as_range().filter(|it| it.start > start) {
            noted.result_type = Span::new(moved(behind.start), moved(behind.end));
        }
        Some((self.part.start..moved(self.part.end), noted))
    }
}

/// What is longer around a text is walked over each time.
const MOST_KNOWN: usize = 1024;
