//! Calls that wait for a stateless client that must come again with an answer.
//!
//! A server of the handshake era has asked in the midst of a call. The call goes on there, while
//! the client's request ends with the question; what it brings back with the answer names the
//! call. Nothing is called twice: a call is taken out of the lot by whoever comes first. One that
//! ends meanwhile gives its server back what it holds there, and keeps its outcome.
//!
//! Specification: 2026-07-28 basic/patterns/mrtr.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_protocol::Refusals;
use switchboard_server::access::Principal;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::relay::Pursuit;

/// Calls that wait.
#[derive(Debug)]
pub(crate) struct Lot {
    places: Mutex<Places>,
    most: usize,
    /// Of one caller, where callers are known.
    most_of_one: usize,
    life: Duration,
    refusals: Refusals,
}

#[derive(Debug, Default)]
struct Places {
    calls: HashMap<u64, Parked>,
    last: u64,
}

#[derive(Debug)]
struct Parked {
    /// Looks after the call, and gives it back when it is asked to. None if nobody came in time.
    keeping: JoinHandle<Option<Pursuit>>,
    /// Dropped when somebody comes for it.
    wait: oneshot::Sender<()>,
    caller: Option<Arc<Principal>>,
}

/// Why a call cannot wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// There are too many, of all callers.
    All(usize),
    /// This caller has too many.
    Caller(usize),
}

impl Lot {
    pub(crate) fn new(most: usize, most_of_one: usize, life: Duration, refusals: Refusals) -> Self {
        Self {
            places: Mutex::default(),
            most,
            most_of_one,
            life,
            refusals,
        }
    }

    /// Lets a call wait. The number to take it by.
    ///
    /// # Errors
    /// When there are too many. The call ends.
    pub(crate) fn park(
        self: &Arc<Self>,
        mut call: Pursuit,
        caller: Option<&Principal>,
    ) -> Result<u64, Full> {
        let mut places = self.places();
        if places.calls.len() >= self.most {
            return Err(Full::All(self.most));
        }
        let same = |parked: &&Parked| {
            let theirs = parked.caller.as_deref();
            let both = theirs.zip(caller);
            both.is_some_and(|(one, other)| {
                one.issuer == other.issuer && one.subject == other.subject
            })
        };
        if places.calls.values().filter(same).count() >= self.most_of_one {
            return Err(Full::Caller(self.most_of_one));
        }
        places.last += 1;
        let number = places.last;
        let (lot, life) = (Arc::downgrade(self), self.life);
        let (wait, taken) = oneshot::channel();
        let keeping = tokio::spawn(async move {
            if timeout(life, keep(&mut call, taken)).await.is_ok() {
                return Some(call);
            }
            if let Some(lot) = lot.upgrade() {
                lot.refusals.note("parkedSeconds");
                let expired = lot.places().calls.remove(&number);
                drop(expired);
            }
            None
        });
        let parked = Parked {
            keeping,
            wait,
            caller: caller.cloned().map(Arc::new),
        };
        places.calls.insert(number, parked);
        Ok(number)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.places().calls.len()
    }

    /// Takes a call up again, if it still waits.
    pub(crate) async fn take(&self, number: u64) -> Option<Pursuit> {
        let Parked { keeping, wait, .. } = self.places().calls.remove(&number)?;
        drop(wait);
        // It is not aborted, and does not panic.
        keeping.await.ok().flatten()
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has a call go on until somebody comes for it.
async fn keep(call: &mut Pursuit, mut taken: oneshot::Receiver<()>) {
    tokio::select! {
        biased;
        _ = &mut taken => return,
        () = call.go_on() => {}
    }
    let _ = taken.await;
}
