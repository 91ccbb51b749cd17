//! Room for large bodies that are on their way: so much of one peer, however many it sends, and
//! however many it does not take.
//!
//! Bodies of a peer that find no room wait, unread, so that what is held does not grow with the number
//! of connections. Answers to a peer are there already: those that find no room are dropped. Small
//! ones of both need no room.
//!
//! ```text
//! shares   as many bytes as one body may have, for all that are begun
//! whole    one body that found no share is read to its end: nobody waits for each other for ever
//! answers  so many bytes as are set, for all that the peer has not taken yet
//! ```

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Poll;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Principal;
use crate::turn::Party;

/// The room of one peer.
#[derive(Debug)]
pub(super) struct Room {
    shares: Arc<Semaphore>,
    whole: Arc<Semaphore>,
    /// None: as many as there are.
    answers: Option<Answers>,
    most: usize,
    party: Party,
}

/// Room for what the peer has not taken.
#[derive(Debug)]
struct Answers {
    shares: Arc<Semaphore>,
    most: usize,
}

impl Room {
    /// Room for bodies of at most so many bytes each, and for so many bytes of answers.
    pub(super) fn new(limit: usize, answers: Option<usize>) -> Self {
        let most = shares_of(limit);
        Self {
            shares: Arc::new(Semaphore::new(most)),
            whole: Arc::new(Semaphore::new(1)),
            answers: answers.map(|bytes| Answers {
                shares: Arc::new(Semaphore::new(shares_of(bytes))),
                most: shares_of(bytes),
            }),
            most,
            party: Party::default(),
        }
    }

    /// Whose turn it is when something is done for this peer.
    pub(super) const fn party(&self) -> &Party {
        &self.party
    }

    /// Holds an answer until it is taken. None: so much waits already.
    pub(super) fn hold(self: &Arc<Self>, answer: Bytes) -> Option<Bytes> {
        let Some(room) = &self.answers else {
            return Some(answer);
        };
        // One that is larger than all others together may be goes alone.
        let shares = shares_of(answer.len()).min(room.most);
        let shares = u32::try_from(shares).unwrap_or(u32::MAX);
        let held = Arc::clone(&room.shares).try_acquire_many_owned(shares);
        let held = Held {
            answer,
            _shares: held.ok()?,
            _room: Arc::clone(self),
        };
        Some(Bytes::from_owner(held))
    }
}

/// An answer, with its share of the room.
struct Held {
    answer: Bytes,
    _shares: OwnedSemaphorePermit,
    // So that it is that of the next answer to this peer, too.
    _room: Arc<Room>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.answer
    }
}

/// What one body may take up. It is given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    granted: usize,
    shares: Option<OwnedSemaphorePermit>,
    whole: Option<OwnedSemaphorePermit>,
}

impl Place {
    /// That of a small body.
    pub(super) const fn small() -> Self {
        Self {
            granted: SMALL,
            shares: None,
            whole: None,
        }
    }

    /// How much may be held.
    pub(super) const fn granted(&self) -> usize {
        self.granted
    }

    /// Waits until so much may be held.
    pub(super) async fn grow(&mut self, room: &Room, size: usize) {
        if size <= self.granted {
            return;
        }
        let held = self
            .shares
            .as_ref()
            .map_or(0, OwnedSemaphorePermit::num_permits);
        let more = (size - self.granted).div_ceil(SHARE);
        // With all shares it is as large as it may be.
        let more = more.min(room.most.saturating_sub(held));
        let shares = u32::try_from(more).unwrap_or(u32::MAX);
        let mut shares = pin!(Arc::clone(&room.shares).acquire_many_owned(shares));
        let mut whole = pin!(Arc::clone(&room.whole).acquire_owned());
        // Neither is ever closed, so that neither fails.
        let (shares, whole) = poll_fn(|cx| {
            if let Poll::Ready(shares) = shares.as_mut().poll(cx) {
                return Poll::Ready((shares.ok(), None));
            }
            whole.as_mut().poll(cx).map(|whole| (None, whole.ok()))
        })
        .await;
        match (shares, &mut self.shares) {
            (None, _) => {
                self.granted = usize::MAX;
                self.whole = whole;
                self.shares = None;
            }
            (Some(more), Some(held)) => held.merge(more),
            (Some(first), none) => *none = Some(first),
        }
        if self.whole.is_none() {
            self.granted = self.granted.saturating_add(more * SHARE);
        }
    }
}

/// The rooms of all callers. Those who are not known share one.
#[derive(Debug)]
pub(super) struct Rooms {
    limit: usize,
    answers: Option<usize>,
    open: Mutex<HashMap<Caller, Weak<Room>>>,
}

/// A caller: the issuer of its token, and its name there.
type Caller = Option<(Option<String>, String)>;

impl Rooms {
    pub(super) fn new(limit: usize, answers: Option<usize>) -> Self {
        Self {
            limit,
            answers,
            open: Mutex::default(),
        }
    }

    /// That of a caller.
    pub(super) fn of(&self, caller: Option<&Principal>) -> Arc<Room> {
        let caller = caller.map(|caller| (caller.issuer.clone(), caller.subject.clone()));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = open.get(&caller).and_then(Weak::upgrade) {
            return room;
        }
        // Nobody is in those, so that only rooms in use are kept.
        open.retain(|_, room| room.strong_count() > 0);
        let room = Arc::new(Room::new(self.limit, self.answers));
        open.insert(caller, Arc::downgrade(&room));
        room
    }
}

/// What may be held of a body or an answer without room for it.
pub(super) const SMALL: usize = 64 * 1024;

const SHARE: usize = 64 * 1024;

fn shares_of(bytes: usize) -> usize {
    bytes.div_ceil(SHARE).min(Semaphore::MAX_PERMITS)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn grows(place: &mut Place, room: &Room, size: usize) -> bool {
        let growing = place.grow(room, size);
        tokio::time::timeout(Duration::ZERO, growing).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn however_many_there_are_two_bodies_is_the_most_that_is_held() {
        let limit = 16 * SHARE;
        let room = Room::new(limit, None);
        let mut places: Vec<Place> = (0..100).map(|_| Place::small()).collect();
        // All are begun, and grow by turns until nobody can.
        for size in (SMALL..=limit).step_by(SHARE / 2) {
            for place in &mut places {
                grows(place, &room, size).await;
            }
        }
        let is_whole = |place: &Place| place.granted() >= limit;
        let held = |place: &Place| place.granted().min(limit) - SMALL;
        assert_eq!(places.iter().filter(|place| is_whole(place)).count(), 1);
        assert!(places.iter().map(held).sum::<usize>() <= 2 * limit);
        // The one that can end does, then the next.
        while let Some(index) = places.iter().position(is_whole) {
            places.remove(index);
            for place in &mut places {
                grows(place, &room, limit).await;
            }
        }
        assert!(places.is_empty(), "{}", places.len());
    }

    #[test]
    fn answers_that_are_not_taken_are_so_many_at_most() {
        let limit = 16 * SHARE;
        let room = Arc::new(Room::new(limit, Some(2 * limit)));
        let answer = || Bytes::from(vec![b'x'; limit]);
        let one = room.hold(answer()).unwrap();
        let part = one.slice(..10);
        let other = room.hold(answer()).unwrap();
        assert!(room.hold(answer()).is_none());
        // What is left of one counts as all of it.
        drop(one);
        assert!(room.hold(answer()).is_none());
        drop(part);
        assert_eq!(room.hold(answer()).unwrap(), answer());
        drop(other);
        // One that is larger than any may be takes all there is.
        let large = room.hold(Bytes::from(vec![b'x'; 3 * limit])).unwrap();
        assert!(room.hold(answer()).is_none());
        drop(large);
        assert!(room.hold(answer()).is_some());
    }

    #[test]
    fn each_caller_has_its_own_and_what_nobody_uses_is_forgotten() {
        let rooms = Rooms::new(1 << 20, None);
        let (one, other) = (Principal::new("one"), Principal::new("other"));
        let held: Vec<_> = [None, Some(&one), Some(&other), Some(&one)]
            .map(|caller| rooms.of(caller))
            .into();
        assert_eq!(rooms.open.lock().unwrap().len(), 3);
        drop(held);
        let _held = rooms.of(Some(&one));
        assert_eq!(rooms.open.lock().unwrap().len(), 1);
    }
}
