//! How large and how deep a message may be.

use crate::framing::DEFAULT_LIMIT;
use crate::scan::{Bounds, MAX_DEPTH};

/// What a message may hold before it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one frame: a line, a body, an event.
    pub bytes: usize,
    /// Levels of nesting; more than 128 counts as 128.
    pub depth: u32,
    /// Members and items of one frame, all levels together.
    pub items: u32,
    /// Messages in one batch.
    pub batch: usize,
}

impl Limits {
    pub(crate) const fn bounds(&self) -> Bounds {
        Bounds {
            depth: self.depth,
            items: self.items,
        }
    }
}

impl Default for Limits {
    // Nobody nests or counts that far who means well.
    fn default() -> Self {
        Self {
            bytes: DEFAULT_LIMIT,
            depth: MAX_DEPTH,
            items: 1_000_000,
            batch: 1_000,
        }
    }
}
