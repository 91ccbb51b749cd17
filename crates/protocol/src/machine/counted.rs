//! A table whose keys are counted up, as the ids of requests and the keys of calls are.
//!
//! Those in use at one time are near each other, so nearly always each has a place of its own
//! among a few and is not searched for. One that is left far behind, as that of a subscription,
//! may find its place taken; then there is a map.

use crate::machine::table::Table;

/// Values by keys that are counted up.
#[derive(Debug)]
pub(crate) struct Counted<V> {
    /// As many as a power of two; a key has the place that its last bits name.
    near: Vec<Option<(u64, V)>>,
    /// How many places are taken.
    taken: usize,
    /// Those whose place was taken.
    far: Table<u64, V>,
}

impl<V> Default for Counted<V> {
    fn default() -> Self {
        Self {
            near: Vec::new(),
            taken: 0,
            far: Table::default(),
        }
    }
}

impl<V> Counted<V> {
    /// Puts a value in, in place of one with the same key.
    #[inline]
    pub(crate) fn insert(&mut self, key: u64, value: V) -> &mut V {
        if !self.far.is_empty() || !self.is_free(key) {
            self.make_place(key);
        }
        let index = self.index(key);
        match self.near.get_mut(index) {
            Some(place @ None) => {
                self.taken += 1;
                &mut place.insert((key, value)).1
            }
            _ => self.far.entry(key).insert_entry(value).into_mut(),
        }
    }

    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<&V> {
        match self.near.get(self.index(key)) {
            Some(Some((found, value))) if *found == key => Some(value),
            _ if self.far.is_empty() => None,
            _ => self.far.get(&key),
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: u64) -> Option<&mut V> {
        let index = self.index(key);
        match self.near.get_mut(index) {
            Some(Some((found, value))) if *found == key => Some(value),
            _ if self.far.is_empty() => None,
            _ => self.far.get_mut(&key),
        }
    }

    pub(crate) fn contains_key(&self, key: u64) -> bool {
        self.get(key).is_some()
    }

    #[inline]
    pub(crate) fn remove(&mut self, key: u64) -> Option<V> {
        let index = self.index(key);
        let place = self.near.get_mut(index);
        match place.and_then(|place| place.take_if(|(found, _)| *found == key)) {
            Some((_, value)) => {
                self.taken -= 1;
                Some(value)
            }
            None if self.far.is_empty() => None,
            None => self.far.remove(&key),
        }
    }

    /// Drops a value where it stands: true if there was one.
    #[inline]
    pub(crate) fn forget(&mut self, key: u64) -> bool {
        let index = self.index(key);
        match self.near.get_mut(index) {
            Some(place) if place.as_ref().is_some_and(|(found, _)| *found == key) => {
                *place = None;
                self.taken -= 1;
                true
            }
            _ => !self.far.is_empty() && self.far.remove(&key).is_some(),
        }
    }

    /// Takes out every value that this says yes to, in no order.
    pub(crate) fn extract_if(&mut self, mut wanted: impl FnMut(&V) -> bool) -> Vec<(u64, V)> {
        let mut found: Vec<(u64, V)> = self
            .near
            .iter_mut()
            .filter_map(|place| place.take_if(|(_, value)| wanted(value)))
            .collect();
        self.taken -= found.len();
        found.extend(self.far.extract_if(|_, value| wanted(value)));
        found
    }

    /// Takes everything out, in no order.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (u64, V)> {
        let Self { near, far, .. } = std::mem::take(self);
        near.into_iter().flatten().chain(far)
    }

    /// All of it, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &V)> {
        let near = self.near.iter().flatten();
        let near = near.map(|(key, value)| (*key, value));
        near.chain(self.far.iter().map(|(key, value)| (*key, value)))
    }

    pub(crate) fn len(&self) -> usize {
        self.taken + self.far.len()
    }

    #[inline]
    fn index(&self, key: u64) -> usize {
        // Without places there is none at this index either.
        key as usize & self.near.len().wrapping_sub(1)
    }

    #[inline]
    fn is_free(&self, key: u64) -> bool {
        matches!(self.near.get(self.index(key)), Some(None))
    }

    /// Sees to it that a key is not in use and, if that can be, has a place.
    #[cold]
    fn make_place(&mut self, key: u64) {
        self.remove(key);
        while !self.is_free(key) && self.near.len() < MOST_PLACES {
            self.grow();
        }
    }

    /// Twice as many places; what was in one stays near.
    fn grow(&mut self) {
        let places = (2 * self.near.len()).max(FIRST_PLACES);
        let mut larger: Vec<Option<(u64, V)>> = Vec::new();
        larger.resize_with(places, || None);
        for (key, value) in std::mem::take(&mut self.near).into_iter().flatten() {
            // Two that were apart before stay apart.
            if let Some(place) = larger.get_mut(key as usize & (places - 1)) {
                *place = Some((key, value));
            }
        }
        self.near = larger;
    }
}

const FIRST_PLACES: usize = 8;

/// As many as are often in use at one time, and then some.
const MOST_PLACES: usize = 256;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Insert(u64),
        Remove(u64),
        Forget(u64),
        ExtractEven,
        Drain,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let key = prop_oneof![0..20_u64, 250..270_u64, Just(u64::MAX), 0..4096_u64];
        let step = prop_oneof![
            8 => key.clone().prop_map(Step::Insert),
            2 => key.clone().prop_map(Step::Remove),
            2 => key.prop_map(Step::Forget),
            1 => Just(Step::ExtractEven),
            1 => Just(Step::Drain),
        ];
        proptest::collection::vec(step, 0..400)
    }

    fn counted(keys: impl IntoIterator<Item = u64>) -> Counted<()> {
        let mut counted = Counted::default();
        for key in keys {
            counted.insert(key, ());
        }
        counted
    }

    #[test]
    fn keys_in_a_row_have_a_place_each_and_not_many_more() {
        for (count, places) in [(1, 8), (8, 8), (9, 16), (256, 256), (257, 256)] {
            let counted = counted(1000..1000 + count);
            assert_eq!(counted.near.len(), places, "{count}");
            let far = count.saturating_sub(256) as usize;
            assert_eq!(counted.far.len(), far, "{count}");
        }
    }

    #[test]
    fn a_key_far_from_the_others_takes_no_places_without_end() {
        let counted = counted([0, 1 << 20]);
        assert_eq!((counted.near.len(), counted.far.len()), (MOST_PLACES, 1));
    }

    proptest! {
        #[test]
        fn it_holds_what_a_map_holds(steps in steps()) {
            let mut found = Counted::default();
            let mut expected = std::collections::BTreeMap::new();
            let sorted = |mut all: Vec<(u64, usize)>| {
                all.sort_unstable();
                all
            };
            for (value, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Insert(key) => {
                        prop_assert_eq!(*found.insert(key, value), value);
                        expected.insert(key, value);
                    }
                    Step::Remove(key) => {
                        prop_assert_eq!(found.get(key), expected.get(&key));
                        prop_assert_eq!(found.get_mut(key), expected.get_mut(&key));
                        prop_assert_eq!(found.remove(key), expected.remove(&key));
                        prop_assert!(!found.contains_key(key));
                    }
                    Step::Forget(key) => {
                        prop_assert_eq!(found.forget(key), expected.remove(&key).is_some());
                        prop_assert!(!found.contains_key(key));
                    }
                    Step::ExtractEven => {
                        let even = sorted(found.extract_if(|value| value % 2 == 0));
                        let (gone, left) = expected.into_iter().partition(|(_, value)| value % 2 == 0);
                        expected = left;
                        prop_assert_eq!(even, Vec::from_iter::<std::collections::BTreeMap<_, _>>(gone));
                    }
                    Step::Drain => {
                        let all = sorted(found.drain().collect());
                        prop_assert_eq!(all, Vec::from_iter(std::mem::take(&mut expected)));
                    }
                }
                prop_assert_eq!(found.len(), expected.len());
            }
            let all = sorted(found.iter().map(|(key, value)| (key, *value)).collect());
            prop_assert_eq!(all, Vec::from_iter(expected));
        }
    }
}
