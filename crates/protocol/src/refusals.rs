//! How often limits were reached.
//!
//! It is counted where something is refused and nowhere else, so that what is not refused costs
//! nothing. Which limits there are is for those who refuse to say, never for a peer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How often limits were reached, by their names. Cheap to clone; clones count together.
#[derive(Clone, Debug, Default)]
pub struct Refusals(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Refusals {
    /// A limit was reached.
    pub fn note(&self, limit: &'static str) {
        let mut counts = self.lock();
        let count = counts.entry(limit).or_default();
        *count = count.saturating_add(1);
    }

    /// How often each was.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_count_together() {
        let refusals = Refusals::default();
        refusals.note("sessions");
        let other = refusals.clone();
        other.note("sessions");
        refusals.note("message");
        let counts = [("message", 1), ("sessions", 2)];
        assert_eq!(refusals.counts(), BTreeMap::from(counts));
    }
}
