//! What a client, its calls and the task that owns its connection have in common.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_protocol::Era;
use switchboard_protocol::machine::client::CallKey;
use switchboard_transport::watch;

use crate::error::ErrorKind;
use crate::host::{Abilities, Host};
use crate::inbox::Inbox;
use crate::lists::Lists;
use crate::spec::{Limits, Memory, Spec, Target, Timeouts};
use crate::state::{Ready, State};

/// Common to a client, its calls and the task that owns its connection.
pub(crate) struct Shared {
    /// The server, by the name it is configured under.
    pub(crate) name: Arc<str>,
    pub(crate) inbox: Inbox,
    pub(crate) state: watch::Sender<State>,
    /// The era if calls can be made now: what every call wants to know, without a lock.
    era: AtomicU8,
    /// Becomes true when nothing of the connection is left.
    pub(crate) is_gone: watch::Sender<bool>,
    /// What the server was heard to offer.
    pub(crate) lists: Lists,
    pub(crate) limits: Limits,
    pub(crate) timeouts: Timeouts,
    pub(crate) host: Arc<dyn Host>,
    /// What the host can be asked.
    pub(crate) abilities: Abilities,
    /// Which era the server was found to speak.
    pub(crate) memory: Memory,
    /// Whether the server is reached over HTTP, where headers repeat arguments.
    pub(crate) is_http: bool,
    /// Later requests of calls that take several, and the numbers of their calls.
    later: Mutex<HashMap<CallKey, CallKey>>,
}

impl Shared {
    pub(crate) fn new(spec: &Spec, host: Arc<dyn Host>) -> Self {
        Self {
            name: spec.display_name(),
            inbox: Inbox::default(),
            state: watch::Sender::new(State::Connecting),
            era: AtomicU8::new(NOT_READY),
            is_gone: watch::Sender::new(false),
            lists: Lists::default(),
            limits: spec.limits,
            timeouts: spec.timeouts,
            abilities: host.abilities(),
            host,
            memory: spec.memory.clone(),
            is_http: matches!(spec.target, Target::Http(_)),
            later: Mutex::default(),
        }
    }

    /// The number of the call that a request is of.
    pub(crate) fn call_of(&self, request: CallKey) -> CallKey {
        self.later().get(&request).copied().unwrap_or(request)
    }

    /// A number for one more request of a call.
    pub(crate) fn key_of_later(&self, call: CallKey) -> CallKey {
        let key = Self::next_key();
        self.later().insert(key, call);
        key
    }

    /// A request is over that may not have been the first of its call.
    pub(crate) fn forget_later(&self, request: CallKey, call: CallKey) {
        if request != call {
            self.later().remove(&request);
        }
    }

    fn later(&self) -> MutexGuard<'_, HashMap<CallKey, CallKey>> {
        self.later.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that no call of this process has, at this server or another.
    pub(crate) fn next_key() -> CallKey {
        static LAST: AtomicU64 = AtomicU64::new(0);
        CallKey(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// What everybody sees from now on.
    pub(crate) fn enter(&self, state: State) {
        let era = match &state {
            State::Ready(ready) => match ready.revision.era() {
                Era::Handshake => HANDSHAKE,
                Era::Stateless => STATELESS,
            },
            _ => NOT_READY,
        };
        self.state.send_replace(state);
        self.era.store(era, Ordering::Release);
    }

    /// The era that was agreed on, if calls can be made now.
    pub(crate) fn era_now(&self) -> Option<Era> {
        match self.era.load(Ordering::Acquire) {
            HANDSHAKE => Some(Era::Handshake),
            STATELESS => Some(Era::Stateless),
            _ => None,
        }
    }

    /// Waits until calls can be made.
    pub(crate) async fn ready(&self) -> Result<Arc<Ready>, ErrorKind> {
        let mut states = self.state.subscribe();
        loop {
            match &*states.borrow_and_update() {
                State::Ready(ready) => return Ok(Arc::clone(ready)),
                State::Failed(report) | State::NeedsLogin(report) => {
                    return Err(ErrorKind::Connection(Arc::clone(report)));
                }
                State::Closed => return Err(ErrorKind::Closed),
                State::Connecting | State::Recovering { .. } => {}
            }
            if states.changed().await.is_err() {
                return Err(ErrorKind::Closed);
            }
        }
    }

    /// Why nothing can be sent any more.
    pub(crate) fn why_over(&self) -> ErrorKind {
        match &*self.state.borrow() {
            State::Failed(report) | State::NeedsLogin(report) => {
                ErrorKind::Connection(Arc::clone(report))
            }
            _ => ErrorKind::Closed,
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("name", &self.name)
            .field("state", &*self.state.borrow())
            .finish_non_exhaustive()
    }
}

const NOT_READY: u8 = 0;
const HANDSHAKE: u8 = 1;
const STATELESS: u8 = 2;
