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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::machine::now;

    const SECOND: Duration = Duration::from_secs(1);

    fn parked(start: Instant, seconds: &[u32]) -> Parked {
        let mut parked = Parked::default();
        for (key, seconds) in (0..).zip(seconds) {
            parked.push(CallKey(key), Some(start + *seconds * SECOND));
        }
        parked
    }

    #[test]
    fn the_first_that_is_due_sets_the_time_whenever_it_came() {
        let start = now();
        for seconds in [[1, 2, 3], [2, 1, 3], [3, 2, 1]] {
            let deadline = parked(start, &seconds).deadline();
            assert_eq!(deadline, Some(start + SECOND), "{seconds:?}");
        }
    }

    #[test]
    fn what_is_forgotten_is_not_kept_and_not_waited_for() {
        let start = now();
        let mut parked = parked(start, &[1, 2]);
        parked.forget(CallKey(0));
        assert_eq!(parked.keys, [CallKey(1)]);
        parked.forget(CallKey(1));
        assert_eq!(parked.deadline(), None);
        assert_eq!(parked.drain(), []);
    }
}
