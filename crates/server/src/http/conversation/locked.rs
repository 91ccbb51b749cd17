//! The lock of a conversation.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::State;
use crate::core::abandon;
use crate::runner::Running;

/// The state while it is locked. Handlers that nobody waits for any more are dropped after that:
/// they may have something to say.
pub(super) struct Locked<'a> {
    /// First, so that it is let go of first.
    state: MutexGuard<'a, State>,
    stopped: Stopped,
}

impl<'a> Locked<'a> {
    pub(super) fn new(state: &'a Mutex<State>) -> Self {
        // Nothing that runs under the lock can leave it half done.
        Self {
            state: state.lock().unwrap_or_else(PoisonError::into_inner),
            stopped: Stopped(Vec::new()),
        }
    }
}

impl Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.state.core.has_stopped() {
            self.stopped = Stopped(self.state.core.take_stopped());
        }
    }
}

struct Stopped(Vec<Running>);

impl Drop for Stopped {
    #[inline]
    fn drop(&mut self) {
        if !self.0.is_empty() {
            abandon(std::mem::take(&mut self.0));
        }
    }
}
