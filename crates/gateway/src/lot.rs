//! Calls that wait for a stateless client that must come again with an answer.
//!
//! A server of the handshake era has asked in the midst of a call. The call goes on there, while
//! the client's request ends with the question; what it brings back with the answer names the
//! call. Nothing is called twice: a call is taken out of the lot by whoever comes first. One that
//! ends meanwhile gives its server back what it holds there, and keeps its outcome, if there is room
//! for it: questions and outcomes may be large, and a client that is away costs nothing itself.
//!
//! Specification: 2026-07-28 basic/patterns/mrtr.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use switchboard_server::access::Principal;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::limit::GatewayLimits;
use crate::relay::Pursuit;
use crate::turnstile::Turnstile;

/// Calls that wait.
#[derive(Debug)]
pub(crate) struct Lot {
    places: Mutex<Places>,
    all: Share,
    /// Of one caller, where callers are known.
    of_one: Share,
    life: Duration,
    turnstile: Arc<Turnstile>,
}

/// How many calls may wait, and what may be held of them.
#[derive(Clone, Copy, Debug)]
struct Share {
    calls: usize,
    /// Of what is asked about them, or came of them. One may always wait.
    bytes: usize,
}

impl Share {
    const fn has_room(self, held: usize, more: usize) -> bool {
        held == 0 || held.saturating_add(more) <= self.bytes
    }
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
    /// How much is held of it.
    bytes: usize,
}

impl Places {
    /// Those of this caller. None if it is not known.
    fn of(&self, caller: Option<&Principal>) -> impl Iterator<Item = &Parked> {
        self.calls.values().filter(move |parked| {
            let both = parked.caller.as_deref().zip(caller);
            both.is_some_and(|(one, other)| {
                one.issuer == other.issuer && one.subject == other.subject
            })
        })
    }
}

/// Why a call cannot wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// There are too many, of all callers.
    All(usize),
    /// This caller has too many.
    Caller(usize),
    /// Too much is held of those of all callers.
    Bytes(usize),
    /// Too much is held of those of this caller.
    CallerBytes(usize),
}

impl Lot {
    pub(crate) fn new(limits: &GatewayLimits, turnstile: &Arc<Turnstile>) -> Self {
        Self {
            places: Mutex::default(),
            all: Share {
                calls: limits.parked,
                bytes: limits.parked_bytes,
            },
            of_one: Share {
                calls: limits.parked_per_caller,
                bytes: limits.parked_bytes_per_caller,
            },
            life: limits.parked_life,
            turnstile: Arc::clone(turnstile),
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
        let bytes = call.size();
        self.check_calls(&places, caller)?;
        self.check_bytes(&places, caller, bytes)?;
        places.last += 1;
        let number = places.last;
        let (lot, life) = (Arc::downgrade(self), self.life);
        let (wait, taken) = oneshot::channel();
        let keeping = tokio::spawn(async move {
            let keeping = keep(&lot, number, &mut call, taken);
            if timeout(life, keeping).await.is_ok() {
                return Some(call);
            }
            if let Some(lot) = lot.upgrade() {
                lot.turnstile.refusals().note("parkedSeconds");
                let expired = lot.places().calls.remove(&number);
                drop(expired);
            }
            None
        });
        let parked = Parked {
            keeping,
            wait,
            caller: caller.cloned().map(Arc::new),
            bytes,
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

    fn check_calls(&self, places: &Places, caller: Option<&Principal>) -> Result<(), Full> {
        if places.calls.len() >= self.all.calls {
            return Err(Full::All(self.all.calls));
        }
        if places.of(caller).count() >= self.of_one.calls {
            return Err(Full::Caller(self.of_one.calls));
        }
        Ok(())
    }

    /// May so much more be held?
    fn check_bytes(
        &self,
        places: &Places,
        caller: Option<&Principal>,
        more: usize,
    ) -> Result<(), Full> {
        let sum = |held: &mut dyn Iterator<Item = &Parked>| held.map(|parked| parked.bytes).sum();
        if !self.all.has_room(sum(&mut places.calls.values()), more) {
            return Err(Full::Bytes(self.all.bytes));
        }
        if !self.of_one.has_room(sum(&mut places.of(caller)), more) {
            return Err(Full::CallerBytes(self.of_one.bytes));
        }
        Ok(())
    }

    /// A call that waits has ended: what came of it is held in place of what was asked about it, if
    /// there is room.
    fn keep_outcome(&self, number: u64, call: &mut Pursuit) {
        let mut places = self.places();
        let Some(parked) = places.calls.get_mut(&number) else {
            return;
        };
        parked.bytes = 0;
        let caller = parked.caller.clone();
        let bytes = call.size();
        match self.check_bytes(&places, caller.as_deref(), bytes) {
            Ok(()) => {
                if let Some(parked) = places.calls.get_mut(&number) {
                    parked.bytes = bytes;
                }
            }
            Err(full) => call.lose_outcome(self.turnstile.not_kept(full)),
        }
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has a call go on until somebody comes for it.
async fn keep(lot: &Weak<Lot>, number: u64, call: &mut Pursuit, mut taken: oneshot::Receiver<()>) {
    tokio::select! {
        biased;
        _ = &mut taken => return,
        () = call.go_on() => {}
    }
    if let Some(lot) = lot.upgrade() {
        lot.keep_outcome(number, call);
    }
    let _ = taken.await;
}
