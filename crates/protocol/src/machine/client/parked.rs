//! Calls that wait for something other than an answer, and when to look at them.
//!
//! Nearly always there are none, and nothing is asked of the calls that are on the wire.

use std::collections::VecDeque;
use std::time::Instant;

use crate::machine::client::call::CallKey;

/// Their keys, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Parked {
    keys: VecDeque<CallKey>,
    /// None of them is due before this. It may be too early, never too late.
    earliest: Option<Instant>,
}

impl Parked {
    pub(super) fn push(&mut self, key: CallKey, due: Option<Instant>) {
        self.keys.push_back(key);
        self.note(due);
    }

    pub(super) fn forget(&mut self, key: CallKey) {
        self.keys.retain(|parked| *parked != key);
        if self.keys.is_empty() {
            self.earliest = None;
        }
    }

    /// When [`Parked::take_due`] is worth a call.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.earliest
    }

    /// Lets go of those whose time has come, oldest first. `due` knows the time of each.
    pub(super) fn take_due(
        &mut self,
        now: Instant,
        due: impl Fn(CallKey) -> Option<Instant>,
    ) -> Vec<CallKey> {
        let mut found = Vec::new();
        if self.earliest.is_none_or(|earliest| now < earliest) {
            return found;
        }
        self.earliest = None;
        for key in std::mem::take(&mut self.keys) {
            let due = due(key);
            if due.is_some_and(|due| due <= now) {
                found.push(key);
            } else {
                self.push(key, due);
            }
        }
        found
    }

    /// Lets go of all.
    pub(super) fn drain(&mut self) -> VecDeque<CallKey> {
        self.earliest = None;
        std::mem::take(&mut self.keys)
    }

    fn note(&mut self, due: Option<Instant>) {
        if let Some(due) = due
            && self.earliest.is_none_or(|earliest| due < earliest)
        {
            self.earliest = Some(due);
        }
    }
}
