//! Calls that wait for a stateless client that must come again with an answer.
//!
//! A server of the handshake era has asked in the midst of a call. The call goes on there, while
//! the client's request ends with the question; what it brings back with the answer names the
//! call. Nothing is called twice: a call is taken out of the lot by whoever comes first.
//!
//! Specification: 2026-07-28 basic/patterns/mrtr.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;

use crate::relay::Pursuit;

/// Calls that wait.
#[derive(Debug)]
pub(crate) struct Lot {
    places: Mutex<Places>,
    most: usize,
    life: Duration,
}

#[derive(Debug, Default)]
struct Places {
    calls: HashMap<u64, (Pursuit, AbortHandle)>,
    last: u64,
}

impl Lot {
    pub(crate) fn new(most: usize, life: Duration) -> Self {
        Self {
            places: Mutex::default(),
            most,
            life,
        }
    }

    /// Lets a call wait. The number to take it by; none, and the call ends, if there are too many.
    pub(crate) fn park(self: &Arc<Self>, call: Pursuit) -> Option<u64> {
        let mut places = self.places();
        if places.calls.len() >= self.most {
            return None;
        }
        places.last += 1;
        let number = places.last;
        let (lot, life) = (Arc::downgrade(self), self.life);
        let expiry = tokio::spawn(async move {
            tokio::time::sleep(life).await;
            if let Some(lot) = lot.upgrade() {
                let expired = lot.places().calls.remove(&number);
                drop(expired);
            }
        });
        places.calls.insert(number, (call, expiry.abort_handle()));
        Some(number)
    }

    /// Takes a call up again, if it still waits.
    pub(crate) fn take(&self, number: u64) -> Option<Pursuit> {
        let (call, expiry) = self.places().calls.remove(&number)?;
        expiry.abort();
        Some(call)
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
