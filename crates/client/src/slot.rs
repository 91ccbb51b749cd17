//! Where the outcome of one call comes to lie, and its progress on the way.
//!
//! The task that owns the connection fills it, the caller's own task empties it: what a
//! caller does with progress never holds up anybody else.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use switchboard_protocol::Payload;
use switchboard_protocol::machine::client::CallError;

use crate::error::Cause;

/// What became of a call.
pub(crate) type Outcome = Result<Payload, Unanswered>;

/// Why a call has no result.
#[derive(Clone, Debug)]
pub(crate) struct Unanswered {
    /// What the machine says of it.
    pub(crate) error: CallError,
    /// What is known beyond that: an HTTP status, an exit code.
    pub(crate) cause: Option<Cause>,
}

/// One call's outcome.
#[derive(Debug, Default)]
pub(crate) struct Slot(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    outcome: Option<Outcome>,
    progress: VecDeque<Payload>,
    waker: Option<Waker>,
}

/// What a caller finds in a slot.
#[derive(Debug)]
pub(crate) enum Found {
    /// The server reports progress.
    Progress(Payload),
    /// The call is over.
    Outcome(Outcome),
}

impl Slot {
    /// The call is over.
    pub(crate) fn finish(&self, outcome: Outcome) {
        self.change(|state| state.outcome = Some(outcome));
    }

    /// The call reports progress. Of a caller that does not look, only the latest is kept.
    pub(crate) fn report(&self, progress: Payload) {
        self.change(|state| {
            if state.progress.len() >= MOST_PROGRESS {
                state.progress.pop_front();
            }
            state.progress.push_back(progress);
        });
    }

    /// What has come, progress first.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<Found> {
        let mut state = self.lock();
        if let Some(progress) = state.progress.pop_front() {
            return Poll::Ready(Found::Progress(progress));
        }
        if let Some(outcome) = state.outcome.take() {
            return Poll::Ready(Found::Outcome(outcome));
        }
        if !state
            .waker
            .as_ref()
            .is_some_and(|old| old.will_wake(cx.waker()))
        {
            state.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let waker = {
            let mut state = self.lock();
            change(&mut state);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reports that wait for a caller who does not look.
const MOST_PROGRESS: usize = 64;
