//! Calls we were given and have not answered yet.
//!
//! Each entry leaves exactly once: by its answer, by the peer's cancel, or with
//! the connection. An answer to one that has left goes nowhere. Ids are the
//! peer's, keys are ours: a key is never used again, so a late answer cannot
//! reach another call that happens to have the same id.
//!
//! Specification: basic (requests), basic/patterns/cancellation.

use crate::jsonrpc::RequestId;
use crate::machine::ids::Table;

/// What a call that we were given is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServeKey(u64);

/// The calls that have no answer yet, each with what its owner keeps beside it.
#[derive(Debug)]
pub(crate) struct Serving<T> {
    last: u64,
    by_id: Table<RequestId, ServeKey>,
    entries: Table<ServeKey, (RequestId, T)>,
}

impl<T> Serving<T> {
    pub(crate) fn new() -> Self {
        Self {
            last: 0,
            by_id: Table::default(),
            entries: Table::default(),
        }
    }

    /// Is a call with this id in flight?
    pub(crate) fn contains_id(&self, id: &RequestId) -> bool {
        self.by_id.contains_key(id)
    }

    /// Takes a call in. Its id must not be in flight.
    pub(crate) fn insert(&mut self, id: RequestId, owner: T) -> ServeKey {
        self.last += 1;
        let key = ServeKey(self.last);
        self.by_id.insert(id.clone(), key);
        self.entries.insert(key, (id, owner));
        key
    }

    pub(crate) fn get(&self, key: ServeKey) -> Option<&(RequestId, T)> {
        self.entries.get(&key)
    }

    pub(crate) fn get_mut(&mut self, key: ServeKey) -> Option<&mut T> {
        self.entries.get_mut(&key).map(|(_, owner)| owner)
    }

    pub(crate) fn find(&self, id: &RequestId) -> Option<ServeKey> {
        self.by_id.get(id).copied()
    }

    /// Lets go of a call.
    pub(crate) fn take(&mut self, key: ServeKey) -> Option<(RequestId, T)> {
        let (id, owner) = self.entries.remove(&key)?;
        self.by_id.remove(&id);
        Some((id, owner))
    }

    /// The keys in flight, oldest first.
    pub(crate) fn keys(&self) -> Vec<ServeKey> {
        let mut keys: Vec<_> = self.entries.keys().copied().collect();
        keys.sort_unstable();
        keys
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ServeKey, &RequestId, &T)> {
        self.entries
            .iter()
            .map(|(key, (id, owner))| (*key, id, owner))
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}
