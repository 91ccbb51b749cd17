//! Connections that wait for their next request.
//!
//! One task removes what has waited too long; it lives only as long as something waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::connection::Connection;
use super::target::Target;
use crate::http::room::Room;

/// The idle connections of a client, to all places.
#[derive(Debug)]
pub(super) struct Pool {
    state: Mutex<State>,
    idle_timeout: Duration,
    max_idle: usize,
    /// For answers that are on their way.
    room: Room,
}

#[derive(Debug, Default)]
struct State {
    /// In the order in which they became idle.
    idle: Vec<Idle>,
    sweeper: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Idle {
    connection: Box<Connection>,
    since: Instant,
}

impl Pool {
    pub(super) fn new(idle_timeout: Duration, max_idle: usize, limit: usize) -> Self {
        Self {
            state: Mutex::default(),
            idle_timeout,
            max_idle,
            room: Room::new(limit, None),
        }
    }

    /// Where answers that are on their way have their room.
    pub(super) const fn room(&self) -> &Room {
        &self.room
    }

    /// The connection to this place that was used last. Whether it still lives is not known.
    pub(super) fn take(&self, target: &Target) -> Option<Box<Connection>> {
        let mut state = self.lock();
        // The last is the most likely to live, and with one server it is the first to fit.
        let index = state
            .idle
            .iter()
            .rposition(|idle| idle.connection.target == *target)?;
        let idle = state.idle.remove(index);
        drop(state);
        (idle.since.elapsed() < self.idle_timeout).then_some(idle.connection)
    }

    /// Keeps a connection for the next request.
    pub(super) fn put(self: &Arc<Self>, connection: Box<Connection>) {
        let since = Instant::now();
        let mut state = self.lock();
        let surplus = match state.idle.len() >= self.max_idle {
            true if self.max_idle == 0 => return,
            true => Some(state.idle.remove(0)),
            false => None,
        };
        state.idle.push(Idle { connection, since });
        // One that was finished belonged to a runtime that is gone, or had nothing left to do.
        let is_swept = state
            .sweeper
            .as_ref()
            .is_some_and(|task| !task.is_finished());
        if !is_swept && let Ok(runtime) = Handle::try_current() {
            let task = sweep(Arc::downgrade(self), since + self.idle_timeout);
            state.sweeper = Some(runtime.spawn(task));
        }
        drop(state);
        // It closes a socket, so not under the lock.
        drop(surplus);
    }

    /// Removes what has waited too long; when to look again, if anything is left.
    fn remove_old(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut state = self.lock();
        let count = state
            .idle
            .iter()
            .take_while(|idle| now.duration_since(idle.since) >= self.idle_timeout)
            .count();
        let old: Vec<Idle> = state.idle.drain(..count).collect();
        let next = state
            .idle
            .first()
            .map(|idle| idle.since + self.idle_timeout);
        if next.is_none() {
            state.sweeper = None;
        }
        drop(state);
        drop(old);
        next
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that runs under it can leave it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let Some(sweeper) = self.lock().sweeper.take() {
            sweeper.abort();
        }
    }
}

async fn sweep(pool: Weak<Pool>, mut next: Instant) {
    loop {
        tokio::time::sleep_until(next).await;
        let Some(pool) = pool.upgrade() else { return };
        match pool.remove_old() {
            Some(later) => next = later,
            None => return,
        }
    }
}
