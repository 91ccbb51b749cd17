//! Where the outcome of one call comes to lie, and its progress on the way.
//!
//! The task that owns the connection fills it, the caller's own task empties it: what a
//! caller does with progress never holds up anybody else.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use switchboard_protocol::Payload;
use switchboard_protocol::machine::client::CallError;

use crate::error::Cause;
use crate::watched::keep_waker;

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
pub(crate) struct Slot {
    outcome: Option<Outcome>,
    /// Nearly no call has any, and none takes one word.
    news: Option<Box<News>>,
    /// Who waits for it.
    waker: Option<Waker>,
}

/// What is known before the outcome.
#[derive(Debug, Default)]
struct News {
    /// The id of the request.
    id: Option<i64>,
    progress: VecDeque<Payload>,
}

/// What a caller finds in a slot.
#[derive(Debug)]
pub(crate) enum Found {
    /// The request has this id.
    Sent(i64),
    /// The server reports progress.
    Progress(Payload),
    /// The call is over.
    Outcome(Outcome),
}

impl Slot {
    /// A slot that the task waits for that is polled now.
    #[inline]
    pub(crate) fn new(cx: &Context<'_>) -> Self {
        Self {
            outcome: None,
            news: None,
            waker: Some(cx.waker().clone()),
        }
    }

    /// The call is over. Gives whoever is to be woken.
    #[inline]
    pub(crate) fn finish(&mut self, outcome: Outcome) -> Option<Waker> {
        self.outcome = Some(outcome);
        self.waker.take()
    }

    pub(crate) const fn is_finished(&self) -> bool {
        self.outcome.is_some()
    }

    /// The request has this id.
    pub(crate) fn note_id(&mut self, id: i64) {
        self.news.get_or_insert_default().id = Some(id);
    }

    /// The id of the request, once.
    pub(crate) fn take_id(&mut self) -> Option<i64> {
        self.news.as_mut()?.id.take()
    }

    /// The call reports progress. Of a caller that does not look, only the latest is kept. Gives
    /// whoever is to be woken.
    pub(crate) fn report(&mut self, progress: Payload) -> Option<Waker> {
        let kept = &mut self.news.get_or_insert_default().progress;
        if kept.len() >= MOST_PROGRESS {
            kept.pop_front();
        }
        kept.push_back(progress);
        self.waker.take()
    }

    /// What has come, in its order.
    #[inline]
    pub(crate) fn poll(&mut self, cx: &Context<'_>) -> Poll<Found> {
        if let Some(news) = &mut self.news {
            if let Some(id) = news.id.take() {
                return Poll::Ready(Found::Sent(id));
            }
            if let Some(report) = news.progress.pop_front() {
                return Poll::Ready(Found::Progress(report));
            }
        }
        if let Some(outcome) = self.outcome.take() {
            return Poll::Ready(Found::Outcome(outcome));
        }
        keep_waker(&mut self.waker, cx);
        Poll::Pending
    }
}

/// Reports that wait for a caller who does not look.
const MOST_PROGRESS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_progress_that_nobody_looks_at_the_newest_is_kept() {
        let mut slot = Slot::default();
        let reports = || (0..=MOST_PROGRESS).map(|number| Payload::encode(&number).unwrap());
        for report in reports() {
            slot.report(report);
        }
        slot.finish(Ok(Payload::empty()));
        let cx = Context::from_waker(Waker::noop());
        for expected in reports().skip(1) {
            let found = slot.poll(&cx);
            assert!(
                matches!(&found, Poll::Ready(Found::Progress(report)) if *report == expected),
                "{found:?}"
            );
        }
        assert!(matches!(slot.poll(&cx), Poll::Ready(Found::Outcome(Ok(_)))));
    }
}
