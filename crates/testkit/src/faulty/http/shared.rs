//! What all connections of a server know.

use std::collections::HashMap;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::{Defect, Recorded};
use crate::faulty::Role;
use crate::faulty::honest::Honest;

/// What a server has seen of its clients.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Seen {
    /// How many connections were made.
    pub connections: usize,
    /// How many of them are open.
    pub open: usize,
    /// How many connections were made to another port, where some kinds send their clients.
    pub strays: usize,
    /// All requests whose head and body have come, in order.
    pub requests: Vec<Recorded>,
}

impl Seen {
    /// How many messages with this method have come.
    pub fn count(&self, method: &str) -> usize {
        let messages = self.requests.iter().map(Recorded::message);
        messages
            .filter(|message| message["method"] == method)
            .count()
    }
}

/// The state of one server.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) honest: Honest,
    pub(super) defect: Defect,
    pub(super) is_everywhere: bool,
    pub(super) address: SocketAddr,
    pub(super) elsewhere: SocketAddr,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_stopped: bool,
    seen: Seen,
    /// The open connections, to end what waits on them.
    streams: HashMap<usize, TcpStream>,
    sessions: Vec<String>,
    last_session: usize,
    /// Answers that wait for a client that comes back, by event id.
    kept: HashMap<String, Value>,
    /// Where the answers of the old transport go: the connection with the stream.
    old_stream: Option<usize>,
    /// How often a defect has shown, for kinds that count.
    shown: usize,
}

impl Shared {
    pub(super) fn new(
        role: &Role,
        defect: Defect,
        address: SocketAddr,
        elsewhere: SocketAddr,
    ) -> Self {
        Self {
            honest: Honest::new(role.eras),
            defect,
            is_everywhere: role.is_everywhere,
            address,
            elsewhere,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Takes a connection in, unless the server has been stopped.
    pub(super) fn admit(&self, stream: &TcpStream) -> Option<usize> {
        let mut state = self.lock();
        if state.is_stopped {
            return None;
        }
        stream.set_nodelay(true).ok();
        state.seen.connections += 1;
        let number = state.seen.connections;
        state.streams.insert(number, stream.try_clone().ok()?);
        self.update(state);
        Some(number)
    }

    pub(super) fn forget(&self, number: usize) {
        let mut state = self.lock();
        state.streams.remove(&number);
        self.update(state);
    }

    /// Counts a connection to the other port, unless the server has been stopped.
    pub(super) fn admit_stray(&self) -> bool {
        let mut state = self.lock();
        let is_stopped = state.is_stopped;
        state.seen.strays += usize::from(!is_stopped);
        self.update(state);
        !is_stopped
    }

    /// Ends everything that waits.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.is_stopped = true;
        for stream in state.streams.values() {
            stream.shutdown(Shutdown::Both).ok();
        }
        self.changed.notify_all();
    }

    /// Waits; `false` if the server was stopped meanwhile.
    pub(super) fn pause(&self, wait: Duration) -> bool {
        let state = self.lock();
        let waited = self
            .changed
            .wait_timeout_while(state, wait, |state| !state.is_stopped);
        waited.is_ok_and(|(state, _)| !state.is_stopped)
    }

    pub(super) fn record(&self, request: Recorded) {
        let mut state = self.lock();
        state.seen.requests.push(request);
        self.update(state);
    }

    pub(super) fn seen(&self) -> Seen {
        self.lock().seen.clone()
    }

    /// Waits until this is so; `false` if it is not in time.
    pub(super) fn wait_until(&self, limit: Duration, is_so: &dyn Fn(&Seen) -> bool) -> bool {
        let state = self.lock();
        let waited = self
            .changed
            .wait_timeout_while(state, limit, |state| !is_so(&state.seen));
        waited.is_ok_and(|(state, _)| is_so(&state.seen))
    }

    /// Opens a session.
    pub(super) fn open_session(&self) -> String {
        let mut state = self.lock();
        state.last_session += 1;
        let session = format!("session-{}", state.last_session);
        state.sessions.push(session.clone());
        session
    }

    pub(super) fn has_session(&self, session: &str) -> bool {
        self.lock().sessions.iter().any(|open| open == session)
    }

    /// Ends a session; `false` if there is none.
    pub(super) fn end_session(&self, session: &str) -> bool {
        let mut state = self.lock();
        let before = state.sessions.len();
        state.sessions.retain(|open| open != session);
        state.sessions.len() < before
    }

    /// Keeps an answer for a client that comes back.
    pub(super) fn keep(&self, event_id: &str, answer: Value) {
        self.lock().kept.insert(event_id.to_owned(), answer);
    }

    pub(super) fn kept(&self, event_id: &str) -> Option<Value> {
        self.lock().kept.remove(event_id)
    }

    pub(super) fn set_old_stream(&self, number: usize) {
        self.lock().old_stream = Some(number);
    }

    /// The connection with the stream of the old transport, while it is open.
    pub(super) fn old_stream(&self) -> Option<TcpStream> {
        let state = self.lock();
        let stream = state.streams.get(&state.old_stream?)?;
        stream.try_clone().ok()
    }

    /// Counts what a kind has done; the first time is 1.
    pub(super) fn count(&self) -> usize {
        let mut state = self.lock();
        state.shown += 1;
        state.shown
    }

    /// Wakes those that wait for a change.
    fn update(&self, mut state: MutexGuard<'_, State>) {
        state.seen.open = state.streams.len();
        drop(state);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
