//! Who calls a server at the moment, and when it was last called.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_client::Client;
use tokio::sync::Notify;
use tokio::time::{Duration, Instant};

use super::Member;

/// Who uses a server.
#[derive(Debug)]
pub(super) struct Uses {
    used: Mutex<Used>,
    /// Somebody waited in vain.
    suspicion: Notify,
}

#[derive(Debug)]
struct Used {
    /// Who waits for an answer, or for the server to be ready.
    calls: usize,
    /// Who wants it to run, and asks nothing of it.
    holds: usize,
    /// When the last of them went.
    last: Instant,
    /// Calls in a row that were in vain.
    in_vain: u32,
}

impl Uses {
    pub(super) fn new() -> Self {
        Self {
            used: Mutex::new(Used {
                calls: 0,
                holds: 0,
                last: Instant::now(),
                in_vain: 0,
            }),
            suspicion: Notify::new(),
        }
    }

    /// Does nobody want it to run?
    pub(super) fn are_none(&self) -> bool {
        let used = self.used();
        used.calls == 0 && used.holds == 0
    }

    /// May it be too busy to answer? Not if it has answered nothing for a while.
    pub(super) fn keep_it_busy(&self) -> bool {
        let used = self.used();
        used.calls > 0 && used.in_vain < MOST_IN_VAIN
    }

    /// It is ready from now on.
    pub(super) fn begin(&self) {
        let mut used = self.used();
        used.last = Instant::now();
        used.in_vain = 0;
    }

    /// How long nobody has used it.
    pub(super) fn unused_for(&self) -> Duration {
        let used = self.used();
        match used.calls + used.holds {
            0 => used.last.elapsed(),
            _ => Duration::ZERO,
        }
    }

    /// Waits until somebody has waited for the server in vain.
    pub(super) async fn suspected(&self) {
        self.suspicion.notified().await;
    }

    /// A call was in vain: it is time to see whether the server is alive.
    fn suspect(&self) {
        let mut used = self.used();
        used.in_vain = used.in_vain.saturating_add(1);
        drop(used);
        self.suspicion.notify_one();
    }

    /// A call was answered.
    fn note_answer(&self) {
        self.used().in_vain = 0;
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
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
            let mut used = self.guard.member.uses.used();
            used.calls = used.calls.saturating_sub(1);
            used.holds += 1;
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
        let mut used = member.uses.used();
        used.calls += 1;
        drop(used);
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
        let mut used = self.member.uses.used();
        let count = match self.is_hold {
            true => &mut used.holds,
            false => &mut used.calls,
        };
        *count = count.saturating_sub(1);
        // While others use it, nobody asks how long nobody has.
        if used.calls + used.holds == 0 {
            used.last = Instant::now();
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
        uses.used().calls = 1;
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
