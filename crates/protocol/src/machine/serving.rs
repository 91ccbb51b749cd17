//! Calls we were given and have not answered yet.
//!
//! Each entry leaves exactly once: by its answer, by the peer's cancel, or with
//! the connection. An answer to one that has left goes nowhere. Ids are the
//! peer's, keys are ours: a key is never used again, so a late answer cannot
//! reach another call that happens to have the same id.
//!
//! Specification: basic (requests), basic/patterns/cancellation.

use crate::jsonrpc::RequestId;
use crate::machine::table::Table;

/// What a call that we were given is known by.
///
/// Later calls compare greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServeKey {
    serial: u64,
    slot: u32,
}

impl ServeKey {
    /// Which of the places of calls in flight it has: no other has it at the same time, and they are
    /// few.
    pub const fn place(self) -> usize {
        self.slot as usize
    }
}

/// The calls that have no answer yet, each with what its owner keeps beside it.
#[derive(Debug)]
pub(crate) struct Serving<T> {
    last: u64,
    by_id: Table<RequestId, u32>,
    slots: Vec<Option<Entry<T>>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Entry<T> {
    serial: u64,
    id: RequestId,
    owner: T,
}

impl<T> Serving<T> {
    pub(crate) fn new() -> Self {
        Self {
            last: 0,
            by_id: Table::default(),
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Is a call with this id in flight?
    pub(crate) fn contains_id(&self, id: &RequestId) -> bool {
        self.by_id.contains_key(id)
    }

    /// Makes a key for a call that may be taken in.
    #[inline]
    pub(crate) fn reserve(&mut self) -> ServeKey {
        self.last += 1;
        let serial = self.last;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            // Bounded by the number of calls in flight, far below the range of the type.
            (self.slots.len() - 1) as u32
        });
        ServeKey { serial, slot }
    }

    /// A call that got a key is not taken in.
    #[inline]
    pub(crate) fn release(&mut self, key: ServeKey) {
        self.free.push(key.slot);
    }

    /// Takes a call in under the key that was made for it. Its id must not be in flight.
    #[inline]
    pub(crate) fn insert(&mut self, key: ServeKey, id: RequestId, owner: T) {
        self.by_id.insert(id.clone(), key.slot);
        if let Some(place) = self.slots.get_mut(key.slot as usize) {
            let serial = key.serial;
            *place = Some(Entry { serial, id, owner });
        }
    }

    pub(crate) fn get(&self, key: ServeKey) -> Option<&T> {
        let entry = self.slots.get(key.slot as usize)?.as_ref()?;
        (entry.serial == key.serial).then_some(&entry.owner)
    }

    pub(crate) fn get_mut(&mut self, key: ServeKey) -> Option<&mut T> {
        let entry = self.slots.get_mut(key.slot as usize)?.as_mut()?;
        (entry.serial == key.serial).then_some(&mut entry.owner)
    }

    pub(crate) fn find(&self, id: &RequestId) -> Option<ServeKey> {
        let slot = *self.by_id.get(id)?;
        let serial = self.slots.get(slot as usize)?.as_ref()?.serial;
        Some(ServeKey { serial, slot })
    }

    /// Lets go of a call.
    #[inline]
    pub(crate) fn take(&mut self, key: ServeKey) -> Option<(RequestId, T)> {
        let place = self.slots.get_mut(key.slot as usize)?;
        let entry = place.take_if(|entry| entry.serial == key.serial)?;
        self.by_id.remove(&entry.id);
        self.free.push(key.slot);
        Some((entry.id, entry.owner))
    }

    /// The keys in flight, oldest first.
    pub(crate) fn keys(&self) -> Vec<ServeKey> {
        self.iter().into_iter().map(|(key, _, _)| key).collect()
    }

    /// The calls in flight, oldest first.
    pub(crate) fn iter(&self) -> Vec<(ServeKey, &RequestId, &T)> {
        let mut all: Vec<_> = self
            .slots
            .iter()
            .enumerate()
            .filter_map(|(slot, entry)| {
                let Entry { serial, id, owner } = entry.as_ref()?;
                let key = ServeKey {
                    serial: *serial,
                    slot: slot as u32,
                };
                Some((key, id, owner))
            })
            .collect();
        all.sort_unstable_by_key(|(key, _, _)| *key);
        all
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_belongs_to_one_call_until_that_is_over() {
        let mut serving = Serving::new();
        let keys = [(); 3].map(|()| serving.reserve());
        assert_eq!(keys.map(ServeKey::place), [0, 1, 2]);
        let [answered, released, _] = keys;
        serving.insert(answered, RequestId::from(1), ());
        serving.release(released);
        assert_eq!(serving.reserve().place(), 1);
        assert!(serving.take(answered).is_some());
        assert_eq!(serving.reserve().place(), 0);
    }
}
