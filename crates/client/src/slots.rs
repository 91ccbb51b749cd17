//! The slots of the calls in flight, by key.
//!
//! Keys are counted up, so those in flight are near each other: nearly always each has a place of
//! its own among a few, and is not searched for.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use switchboard_protocol::machine::client::CallKey;

use crate::slot::Slot;

/// Slots by the keys of their calls.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// As many as a power of two; a key has the place that its last bits name.
    near: Vec<Option<(CallKey, Slot)>>,
    /// Those whose place was taken.
    far: HashMap<CallKey, Slot, Spread>,
}

impl Slots {
    /// A slot for a call that has none.
    #[inline]
    pub(crate) fn insert(&mut self, key: CallKey, slot: Slot) {
        while self.near.len() < MOST_PLACES && !self.is_free(key) {
            self.grow();
        }
        let index = self.index(key);
        match self.near.get_mut(index) {
            Some(place @ None) => *place = Some((key, slot)),
            _ => {
                self.far.insert(key, slot);
            }
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: CallKey) -> Option<&mut Slot> {
        let index = self.index(key);
        match self.near.get_mut(index) {
            Some(Some((found, slot))) if *found == key => Some(slot),
            _ => self.far.get_mut(&key),
        }
    }

    /// Drops a slot where it stands.
    #[inline]
    pub(crate) fn forget(&mut self, key: CallKey) {
        let index = self.index(key);
        match self.near.get_mut(index) {
            Some(place) if place.as_ref().is_some_and(|(found, _)| *found == key) => *place = None,
            _ => drop(self.far.remove(&key)),
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, key: CallKey) -> Option<Slot> {
        let index = self.index(key);
        let place = self.near.get_mut(index);
        match place.and_then(|place| place.take_if(|(found, _)| *found == key)) {
            Some((_, slot)) => Some(slot),
            None => self.far.remove(&key),
        }
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        let near = self.near.iter_mut().flatten().map(|(_, slot)| slot);
        near.chain(self.far.values_mut())
    }

    #[inline]
    fn index(&self, key: CallKey) -> usize {
        // Without places there is none at this index either.
        key.0 as usize & self.near.len().wrapping_sub(1)
    }

    #[inline]
    fn is_free(&self, key: CallKey) -> bool {
        matches!(self.near.get(self.index(key)), Some(None))
    }

    /// Twice as many places.
    #[cold]
    fn grow(&mut self) {
        let places = (2 * self.near.len()).max(FIRST_PLACES);
        let old = std::mem::take(&mut self.near);
        self.near.resize_with(places, || None);
        for (key, slot) in old.into_iter().flatten() {
            // Two that were apart before stay apart.
            let index = self.index(key);
            if let Some(place) = self.near.get_mut(index) {
                *place = Some((key, slot));
            }
        }
    }
}

const FIRST_PLACES: usize = 8;

/// As many calls as are often in flight, and then some.
const MOST_PLACES: usize = 128;

/// Spreads keys that are counted up: cheaper than hashing them, and nobody else chooses them.
pub(crate) type Spread = BuildHasherDefault<SpreadHasher>;

#[derive(Default)]
pub(crate) struct SpreadHasher(u64);

impl Hasher for SpreadHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // 2^64 divided by the golden ratio: neighbours end up far apart.
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use switchboard_protocol::Payload;

    use super::*;
    use crate::slot::Found;

    /// A slot that is known again.
    fn slot(key: CallKey) -> Slot {
        let mut slot = Slot::default();
        slot.finish(Ok(Payload::encode(&key.0).expect("a number")));
        slot
    }

    #[test]
    fn each_slot_is_found_under_its_own_key() {
        let cx = Context::from_waker(Waker::noop());
        let mut slots = Slots::default();
        let places = MOST_PLACES as u64;
        let keys = [1, 2, 9, places, 1 + places, 1 + 2 * places, 77].map(CallKey);
        for key in keys {
            slots.insert(key, slot(key));
        }
        assert_eq!(slots.iter_mut().count(), keys.len());
        for key in keys {
            assert!(slots.get_mut(key).is_some());
            let mut found = slots.remove(key).expect("it was put in");
            let Poll::Ready(Found::Outcome(Ok(number))) = found.poll(&cx) else {
                panic!("it has its outcome");
            };
            assert_eq!(number.text(), key.0.to_string().as_str());
            assert!(slots.get_mut(key).is_none());
            assert!(slots.remove(key).is_none());
            slots.insert(key, slot(key));
            slots.forget(key);
            assert!(slots.get_mut(key).is_none());
        }
        assert_eq!(slots.iter_mut().count(), 0);
    }
}
