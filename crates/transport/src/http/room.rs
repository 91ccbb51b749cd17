//! Room for large bodies that are on their way: so many of one caller at a time.
//!
//! Whoever sends many at once has the others wait, unread, so that what they take up does not
//! grow with the number of connections. Small bodies need no room.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Principal;

/// Who has which room. Callers who are not known share one.
#[derive(Debug, Default)]
pub(super) struct Rooms(Mutex<HashMap<Caller, Weak<Semaphore>>>);

/// A caller: the issuer of its token, and its name there.
type Caller = Option<(Option<String>, String)>;

impl Rooms {
    /// Waits for a place. It is free again when it is dropped.
    pub(super) async fn enter(&self, caller: Option<&Principal>) -> Option<OwnedSemaphorePermit> {
        // Never closed, so that this never fails.
        self.of(caller).acquire_owned().await.ok()
    }

    fn of(&self, caller: Option<&Principal>) -> Arc<Semaphore> {
        let caller = caller.map(|caller| (caller.issuer.clone(), caller.subject.clone()));
        let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = rooms.get(&caller).and_then(Weak::upgrade) {
            return room;
        }
        // Nobody is in those, so that only rooms in use are kept.
        rooms.retain(|_, room| room.strong_count() > 0);
        let room = Arc::new(Semaphore::new(PLACES));
        rooms.insert(caller, Arc::downgrade(&room));
        room
    }
}

/// What may be read of a body before there is room for it.
pub(super) const SMALL: usize = 64 * 1024;

/// How many large bodies of one caller are read at once.
pub(super) const PLACES: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_caller_has_its_own_and_what_nobody_uses_is_forgotten() {
        let rooms = Rooms::default();
        let (one, other) = (Principal::new("one"), Principal::new("other"));
        let mut held = Vec::new();
        for caller in [None, Some(&one), Some(&other)] {
            for _ in 0..PLACES {
                held.push(rooms.enter(caller).await);
            }
            let full = rooms.of(caller);
            assert_eq!(full.available_permits(), 0, "{caller:?}");
        }
        assert_eq!(rooms.0.lock().unwrap().len(), 3);
        held.clear();
        drop(rooms.enter(Some(&one)).await);
        assert_eq!(rooms.0.lock().unwrap().len(), 1);
    }
}
