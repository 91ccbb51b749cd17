//! Named things in the order in which they were added, each of which can be off.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Named things in the order in which they were added.
#[derive(Debug)]
pub(crate) struct Shelf<T> {
    items: Vec<Item<T>>,
    /// By the bytes of the name: whoever looks up need not know that they are text.
    places: HashMap<Box<[u8]>, usize, BuildHasherDefault<NameHasher>>,
}

#[derive(Debug)]
struct Item<T> {
    name: String,
    is_on: bool,
    value: Arc<T>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            places: HashMap::default(),
        }
    }
}

/// Shares the things themselves.
impl<T> Clone for Shelf<T> {
    fn clone(&self) -> Self {
        let items = self.items.iter().map(|item| Item {
            name: item.name.clone(),
            is_on: item.is_on,
            value: Arc::clone(&item.value),
        });
        Self {
            items: items.collect(),
            places: self.places.clone(),
        }
    }
}

impl<T> Shelf<T> {
    /// Adds something at the end: false if the name is taken.
    pub(crate) fn add(&mut self, name: &str, value: T) -> bool {
        if self.places.contains_key(name.as_bytes()) {
            return false;
        }
        self.places.insert(name.as_bytes().into(), self.items.len());
        self.items.push(Item {
            name: name.to_owned(),
            is_on: true,
            value: Arc::new(value),
        });
        true
    }

    /// Takes something away: false if it was not there.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let Some(place) = self.places.remove(name.as_bytes()) else {
            return false;
        };
        self.items.remove(place);
        for later in self.places.values_mut() {
            if *later > place {
                *later -= 1;
            }
        }
        true
    }

    /// Switches something on or off: true if that changed anything.
    pub(crate) fn switch(&mut self, name: &str, is_on: bool) -> bool {
        let place = self.places.get(name.as_bytes()).copied();
        match place.and_then(|place| self.items.get_mut(place)) {
            Some(item) => std::mem::replace(&mut item.is_on, is_on) != is_on,
            None => false,
        }
    }

    /// What has this name, if it is on.
    pub(crate) fn find(&self, name: impl AsRef<[u8]>) -> Option<&Arc<T>> {
        let name = name.as_ref();
        let item = self.items.get(*self.places.get(name)?)?;
        item.is_on.then_some(&item.value)
    }

    /// Everything that is on.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Arc<T>)> {
        let on = self.items.iter().filter(|item| item.is_on);
        on.map(|item| (item.name.as_str(), &item.value))
    }

    /// Is nothing here, not even switched off?
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

/// FNV-1a: quick for short names.
///
/// Peers choose what is looked up but not what is kept, so they cannot fill one place.
#[derive(Debug)]
struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The length, which comes before the bytes.
    fn write_usize(&mut self, length: usize) {
        self.0 = (self.0 ^ length as u64).wrapping_mul(0x0100_0000_01b3);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
