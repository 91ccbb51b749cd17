//! The slots of the calls in flight, by key.
//!
//! Keys are counted up, so those in flight are near each other: nearly always each has a place of
//! its own among a few, and is not searched for.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use switchboard_protocol::machine::client::CallKey;

use crate::slot::Slot;

/// Slots by the keys of their calls.
#[derive(Debug)]
pub(crate) struct Slots {
    near: Box<[Place; PLACES]>,
    /// Those whose place was taken.
    far: HashMap<CallKey, Arc<Slot>, Spread>,
}

type Place = Option<(CallKey, Arc<Slot>)>;

impl Slots {
    pub(crate) fn insert(&mut self, key: CallKey, slot: Arc<Slot>) {
        match self.place(key) {
            Some(place) if place.is_none() => *place = Some((key, slot)),
            _ => {
                self.far.insert(key, slot);
            }
        }
    }

    pub(crate) fn get(&self, key: CallKey) -> Option<&Arc<Slot>> {
        match self.near.get(index(key)) {
            Some(Some((found, slot))) if *found == key => Some(slot),
            _ => self.far.get(&key),
        }
    }

    pub(crate) fn remove(&mut self, key: CallKey) -> Option<Arc<Slot>> {
        let place = self.place(key)?;
        match place.take_if(|(found, _)| *found == key) {
            Some((_, slot)) => Some(slot),
            None => self.far.remove(&key),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Slot>> {
        let near = self.near.iter().flatten().map(|(_, slot)| slot);
        near.chain(self.far.values())
    }

    fn place(&mut self, key: CallKey) -> Option<&mut Place> {
        self.near.get_mut(index(key))
    }
}

impl Default for Slots {
    fn default() -> Self {
        Self {
            near: Box::new([const { None }; PLACES]),
            far: HashMap::default(),
        }
    }
}

fn index(key: CallKey) -> usize {
    key.0 as usize % PLACES
}

/// As many calls as are often in flight, and then some.
const PLACES: usize = 128;

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
    use super::*;

    #[test]
    fn each_slot_is_found_under_its_own_key() {
        let mut slots = Slots::default();
        let places = PLACES as u64;
        let keys = [1, 2, places, 1 + places, 1 + 2 * places, 77];
        let all = keys.map(|key| (CallKey(key), Arc::new(Slot::default())));
        for (key, slot) in &all {
            slots.insert(*key, Arc::clone(slot));
        }
        assert_eq!(slots.iter().count(), all.len());
        for (key, slot) in &all {
            assert!(
                slots
                    .get(*key)
                    .is_some_and(|found| Arc::ptr_eq(found, slot))
            );
            assert!(
                slots
                    .remove(*key)
                    .is_some_and(|found| Arc::ptr_eq(&found, slot))
            );
            assert!(slots.get(*key).is_none());
            assert!(slots.remove(*key).is_none());
        }
        assert_eq!(slots.iter().count(), 0);
    }
}
