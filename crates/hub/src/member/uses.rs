//! Who calls a server at the moment, and when it was last called.

use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_client::Client;
use tokio::sync::Notify;
use tokio::time::{Duration, Instant};

use super::Member;

/// Who uses a server. Every call changes it twice, so there is no lock for what is counted.
#[derive(Debug)]
pub(super) struct Uses {
    /// Who waits for an answer, or for the server to be ready.
    calls: AtomicUsize,
    /// Who wants it to run, and asks nothing of it.
    holds: AtomicUsize,
    /// When the last of them went.
    last: Mutex<Instant>,
    /// Calls in a row that were in vain.
    in_vain: AtomicU32,
    /// Somebody waited in vain.
    suspicion: Notify,
}

impl Uses {
    pub(super) fn new() -> Self {
        Self {
            calls: AtomicUsize::new(0),
            holds: AtomicUsize::new(0),
            last: Mutex::new(Instant::now()),
            in_vain: AtomicU32::new(0),
            suspicion: Notify::new(),
        }
    }

    /// Does nobody want it to run?
    pub(super) fn are_none(&self) -> bool {
        // Calls first: what becomes a hold is one before it ceases to be a call.
        self.calls.load(Ordering::SeqCst) == 0 && self.holds.load(Ordering::SeqCst) == 0
    }

    /// May it be too busy to answer? Not if it has answered nothing for a while.
    pub(super) fn keep_it_busy(&self) -> bool {
        self.calls.load(Ordering::SeqCst) > 0 && self.in_vain.load(Ordering::Relaxed) < MOST_IN_VAIN
    }

    /// It is ready from now on.
    pub(super) fn begin(&self) {
        *self.last() = Instant::now();
        self.note_answer();
    }

    /// How long nobody has used it.
    pub(super) fn unused_for(&self) -> Duration {
        match self.are_none() {
            true => self.last().elapsed(),
            false => Duration::ZERO,
        }
    }

    /// Waits until somebody has waited for the server in vain.
    pub(super) async fn suspected(&self) {
        self.suspicion.notified().await;
    }

    /// A call was in vain: it is time to see whether the server is alive.
    fn suspect(&self) {
        let one_more = |count: u32| Some(count.saturating_add(1));
        let relaxed = Ordering::Relaxed;
        let _ = self.in_vain.fetch_update(relaxed, relaxed, one_more);
        self.suspicion.notify_one();
    }

    /// A call was answered.
    fn note_answer(&self) {
        // Nearly always it is: looking costs less than writing.
        if self.in_vain.load(Ordering::Relaxed) != 0 {
            self.in_vain.store(0, Ordering::Relaxed);
        }
    }

    fn last(&self) -> MutexGuard<'_, Instant> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client that is in use: it is not ended for want of users meanwhile.
#[derive(Debug)]
pub(crate) struct InUse {
    client: Client,
    guard: Guard,
}

impl InUse {
    /// A call was in vain: it is time to see whether the server is alive.
    pub(crate) fn suspect(&self) {
        self.guard.member.uses.suspect();
    }

    /// A call was answered.
    pub(crate) fn note_answer(&self) {
        self.guard.member.uses.note_answer();
    }

    pub(crate) fn member(&self) -> &Member {
        &self.guard.member
    }

    /// From now on nothing is asked of it; it is only to run on.
    pub(crate) fn hold(mut self) -> Self {
        if !self.guard.is_hold {
            self.guard.is_hold = true;
            let uses = &self.guard.member.uses;
            uses.holds.fetch_add(1, Ordering::SeqCst);
            uses.calls.fetch_sub(1, Ordering::SeqCst);
        }
        self
    }
}

impl Deref for InUse {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// Counts as a use until it is dropped.
#[derive(Debug)]
pub(super) struct Guard {
    member: Arc<Member>,
    is_hold: bool,
}

impl Guard {
    pub(super) fn new(member: &Arc<Member>) -> Self {
        member.uses.calls.fetch_add(1, Ordering::SeqCst);
        Self {
            member: Arc::clone(member),
            is_hold: false,
        }
    }

    pub(super) const fn with(self, client: Client) -> InUse {
        InUse {
            client,
            guard: self,
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let uses = &self.member.uses;
        let count = match self.is_hold {
            true => &uses.holds,
            false => &uses.calls,
        };
        let one_of_several = |count: usize| (count > 1).then(|| count - 1);
        let order = Ordering::SeqCst;
        if count.fetch_update(order, order, one_of_several).is_err() {
            // Under the lock: whoever sees that nobody uses it must not see when that was so before.
            let mut last = uses.last();
            *last = Instant::now();
            count.fetch_sub(1, order);
        }
    }
}

/// So many, and whoever is still called is not busy but dead.
const MOST_IN_VAIN: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_called_in_vain_again_and_again_is_not_busy() {
        let uses = Uses::new();
        assert!(!uses.keep_it_busy());
        uses.calls.store(1, Ordering::SeqCst);
        for _ in 1..MOST_IN_VAIN {
            uses.suspect();
            assert!(uses.keep_it_busy());
        }
        uses.suspect();
        assert!(!uses.keep_it_busy());
        // Whoever answers at last is alive.
        uses.note_answer();
        assert!(uses.keep_it_busy());
    }
}
