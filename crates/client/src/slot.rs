//! Where the outcome of one call comes to lie, and its progress on the way.
//!
//! The task that owns the connection fills it, the caller's own task empties it: what a
//! caller does with progress never holds up anybody else.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use switchboard_protocol::Payload;
use switchboard_protocol::machine::client::CallError;

use crate::error::Cause;
use crate::watched::Watched;

/// What became of a call.
pub(crate) type Outcome = Result<Payload, Box<Unanswered>>;

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
pub(crate) struct Slot(Watched<State>);

#[derive(Debug, Default)]
struct State {
    outcome: Option<Outcome>,
    progress: VecDeque<Payload>,
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
    /// A slot that the task waits for that is polled now.
    pub(crate) fn new(cx: &Context<'_>) -> Self {
        Self(Watched::new(State::default(), cx))
    }

    /// The call is over.
    pub(crate) fn finish(&self, outcome: Outcome) {
        self.0.change(|state| state.outcome = Some(outcome));
    }

    /// The call reports progress. Of a caller that does not look, only the latest is kept.
    pub(crate) fn report(&self, progress: Payload) {
        self.0.change(|state| {
            if state.progress.len() >= MOST_PROGRESS {
                state.progress.pop_front();
            }
            state.progress.push_back(progress);
        });
    }

    /// The outcome, if it is all that is left to be taken and nobody else has the slot any more;
    /// else the slot.
    ///
    /// Whoever brings the outcome lets go of the slot, so nearly every call ends here, without a
    /// lock.
    pub(crate) fn into_outcome(slot: Arc<Self>) -> Result<Outcome, Arc<Self>> {
        let state = Arc::try_unwrap(slot)?.0.into_inner();
        match state {
            State {
                outcome: Some(outcome),
                progress,
            } if progress.is_empty() => Ok(outcome),
            state => Err(Arc::new(Self(Watched::from(state)))),
        }
    }

    /// What has come, progress first.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<Found> {
        self.0.poll(cx, |state| {
            let progress = state.progress.pop_front().map(Found::Progress);
            progress.or_else(|| state.outcome.take().map(Found::Outcome))
        })
    }
}

/// Reports that wait for a caller who does not look.
const MOST_PROGRESS: usize = 64;
