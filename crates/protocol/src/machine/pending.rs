//! Calls we made and still wait for.
//!
//! Gives out ids, keeps deadlines, pairs an answer with its call. Each entry
//! leaves exactly once: by its answer, by its deadline, by its owner's wish or
//! with the connection. It sends nothing and does not know the transport.
//!
//! Specification: basic (requests), basic/patterns/cancellation, basic/patterns/progress.

use std::time::Instant;

use crate::jsonrpc::{Notification, RequestId};
use crate::machine::allowance::{Allowance, Expired};
use crate::machine::counted::Counted;
use crate::method::Method;
use crate::payload::Payload;
use crate::types::CancelledNotificationParams;

/// The requests that were sent and have no answer yet, each with what its owner keeps beside it.
#[derive(Debug)]
pub(crate) struct Pending<T> {
    next_id: i64,
    entries: Counted<Entry<T>>,
    /// No deadline is earlier than this. It may be too early, never too late.
    earliest: Option<Instant>,
}

/// One request that has no answer yet.
#[derive(Debug)]
pub(crate) struct Entry<T> {
    pub allowance: Allowance,
    pub owner: T,
}

impl<T> Pending<T> {
    pub(crate) fn new() -> Self {
        Self {
            next_id: 1,
            entries: Counted::default(),
            earliest: None,
        }
    }

    /// Takes a request in and gives it an id that this connection has never used.
    pub(crate) fn insert(&mut self, allowance: Allowance, owner: T) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.entries
            .insert(id.cast_unsigned(), Entry { allowance, owner });
        self.note(allowance.deadline());
        id
    }

    /// Finds the request that an answer belongs to and lets go of it.
    pub(crate) fn take(&mut self, id: &RequestId) -> Option<Entry<T>> {
        self.remove(as_number(id)?)
    }

    /// Lets go of a request that its owner no longer wants.
    pub(crate) fn remove(&mut self, id: i64) -> Option<Entry<T>> {
        self.entries.remove(id.cast_unsigned())
    }

    /// The same for one of which nobody needs anything more.
    #[inline]
    pub(crate) fn forget(&mut self, id: i64) {
        self.entries.forget(id.cast_unsigned());
    }

    /// The number of the request that an id belongs to.
    ///
    /// All our ids are integers, so a peer that echoes `"7"` for `7` can mean nothing else.
    pub(crate) fn number(&self, id: &RequestId) -> Option<i64> {
        let number = as_number(id)?;
        self.entries
            .contains_key(number.cast_unsigned())
            .then_some(number)
    }

    /// The id that the next request will have.
    pub(crate) const fn next_id(&self) -> i64 {
        self.next_id
    }

    /// The number of a request of ours that this id was ever given to, answered or not.
    pub(crate) fn given(&self, id: &RequestId) -> Option<i64> {
        as_number(id).filter(|number| (1..self.next_id).contains(number))
    }

    #[inline]
    pub(crate) fn get(&self, id: i64) -> Option<&Entry<T>> {
        self.entries.get(id.cast_unsigned())
    }

    /// Gives a request to another owner.
    pub(crate) fn reassign(&mut self, id: i64, owner: T) {
        if let Some(entry) = self.entries.get_mut(id.cast_unsigned()) {
            entry.owner = owner;
        }
    }

    /// Changes the clocks of a request.
    pub(crate) fn adjust(&mut self, id: i64, change: impl FnOnce(&mut Allowance)) {
        if let Some(entry) = self.entries.get_mut(id.cast_unsigned()) {
            change(&mut entry.allowance);
            let deadline = entry.allowance.deadline();
            self.note(deadline);
        }
    }

    /// When [`Pending::expire`] should be asked next.
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.earliest
    }

    /// Lets go of every request whose time has run out, oldest first.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<(i64, T, Expired)> {
        if self.earliest.is_none_or(|earliest| now < earliest) {
            return Vec::new();
        }
        let is_over = |entry: &Entry<T>| entry.allowance.expired(now).is_some();
        let gone = self.entries.extract_if(is_over).into_iter();
        let mut gone: Vec<(i64, T, Expired)> = gone
            .filter_map(|(id, entry)| {
                let expired = entry.allowance.expired(now)?;
                Some((id.cast_signed(), entry.owner, expired))
            })
            .collect();
        gone.sort_unstable_by_key(|(id, _, _)| *id);
        let left = self.entries.iter();
        self.earliest = left
            .filter_map(|(_, entry)| entry.allowance.deadline())
            .min();
        gone
    }

    /// Lets go of everything, oldest first.
    pub(crate) fn drain(&mut self) -> Vec<(i64, T)> {
        self.earliest = None;
        let mut all: Vec<_> = self
            .entries
            .drain()
            .map(|(id, entry)| (id.cast_signed(), entry.owner))
            .collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all
    }

    /// The ids in flight, oldest first.
    pub(crate) fn ids(&self) -> Vec<i64> {
        let mut ids: Vec<_> = self
            .entries
            .iter()
            .map(|(id, _)| id.cast_signed())
            .collect();
        ids.sort_unstable();
        ids
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn note(&mut self, deadline: Option<Instant>) {
        if let Some(deadline) = deadline
            && self.earliest.is_none_or(|earliest| deadline < earliest)
        {
            self.earliest = Some(deadline);
        }
    }
}

/// What tells a peer that nobody waits any more for the answer to this request of ours.
pub(crate) fn cancellation(id: i64, reason: Option<&str>) -> Notification {
    let mut params = CancelledNotificationParams::new(RequestId::from(id));
    params.reason = reason.map(str::to_owned);
    Notification::new(Method::Cancelled, Payload::encode(&params).ok())
}

fn as_number(id: &RequestId) -> Option<i64> {
    match id.as_integer() {
        Some(number) => Some(number),
        None => id.as_text()?.parse().ok(),
    }
}
