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
    calls: usize,
    last: Instant,
}

impl Uses {
    pub(super) fn new() -> Self {
        Self {
            used: Mutex::new(Used {
                calls: 0,
                last: Instant::now(),
            }),
            suspicion: Notify::new(),
        }
    }

    pub(super) fn are_none(&self) -> bool {
        self.used().calls == 0
    }

    /// How long nobody has used it.
    pub(super) fn unused_for(&self) -> Duration {
        let used = self.used();
        match used.calls {
            0 => used.last.elapsed(),
            _ => Duration::ZERO,
        }
    }

    /// Waits until somebody has waited for the server in vain.
    pub(super) async fn suspected(&self) {
        self.suspicion.notified().await;
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
    pub(super) fn guard(member: &Arc<Member>) -> Guard {
        let mut used = member.uses.used();
        used.calls += 1;
        used.last = Instant::now();
        Guard(Arc::clone(member))
    }

    /// A call was in vain: it is time to see whether the server is alive.
    pub(crate) fn suspect(&self) {
        self.guard.0.uses.suspicion.notify_one();
    }

    pub(crate) fn member(&self) -> &Member {
        &self.guard.0
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
pub(super) struct Guard(Arc<Member>);

impl Guard {
    pub(super) const fn with(self, client: Client) -> InUse {
        InUse {
            client,
            guard: self,
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut used = self.0.uses.used();
        used.calls = used.calls.saturating_sub(1);
        used.last = Instant::now();
    }
}
