//! What users of a client want of the task that owns its connection, and what came of it.
//!
//! Lists under a short lock and one waker: whoever puts something in wakes the owner, who
//! takes everything at once. So calls that are made together are written together, and what
//! came of calls that were answered together is put down together.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::{ErrorObject, Notification};
use switchboard_protocol::machine::client::{CallError, CallKey, CallRequest, QuestionKey};
use switchboard_protocol::types::{LoggingLevel, SubscriptionFilter};

use crate::slot::{Found, Outcome, Slot};
use crate::slots::Slots;
use crate::subscription::Channel;
use crate::watched::keep_waker;

/// What is wanted.
#[derive(Debug)]
pub(crate) enum Command {
    /// A call, which has a slot for its outcome.
    Call(CallRequest),
    /// A subscription, and where its changes go.
    Listen(CallKey, SubscriptionFilter, Arc<Channel>),
    /// Log messages from this level on. There is a slot for what comes of it.
    SetLogLevel(CallKey, LoggingLevel),
    /// Something the server is told.
    Notify(Notification),
    /// A call or a subscription is no longer wanted.
    Cancel(CallKey, Option<String>),
    /// The host's answer to a question.
    Answer(QuestionKey, Result<Payload, ErrorObject>),
    /// The end.
    Close,
}

impl From<CallRequest> for Command {
    #[inline]
    fn from(request: CallRequest) -> Self {
        Self::Call(request)
    }
}

/// Where commands wait for the owner, and outcomes for those who called.
#[derive(Debug, Default)]
pub(crate) struct Inbox(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    commands: Vec<Command>,
    /// Who takes them, if there were none when he looked.
    owner: Option<Waker>,
    is_over: bool,
    /// Of the calls whose callers still wait.
    slots: Slots,
}

impl State {
    /// Lets go of the lock, and wakes the owner if he waits.
    #[inline]
    fn wake_owner(mut state: MutexGuard<'_, Self>) {
        let owner = state.owner.take();
        drop(state);
        if let Some(owner) = owner {
            owner.wake();
        }
    }
}

impl Inbox {
    /// Puts a command in: false if nobody takes any more.
    #[inline]
    pub(crate) fn push(&self, command: Command) -> bool {
        let mut state = self.lock();
        if state.is_over {
            return false;
        }
        state.commands.push(command);
        State::wake_owner(state);
        true
    }

    /// Puts in a command that has an outcome, for which the task waits that is polled now: false
    /// if nobody takes any more. Who no longer waits must [say so](Self::forget).
    #[inline]
    pub(crate) fn ask(&self, key: CallKey, command: impl Into<Command>, cx: &Context<'_>) -> bool {
        let slot = Slot::new(cx);
        let mut state = self.lock();
        if state.is_over {
            return false;
        }
        state.slots.insert(key, slot);
        state.commands.push(command.into());
        State::wake_owner(state);
        true
    }

    /// What has come of what was asked for. After the outcome there is nothing more.
    #[inline]
    pub(crate) fn poll_outcome(&self, key: CallKey, cx: &Context<'_>) -> Poll<Found> {
        let mut state = self.lock();
        let Some(slot) = state.slots.get_mut(key) else {
            // Nobody could ever bring it.
            return Poll::Ready(Found::Outcome(Err(CallError::Closed.into())));
        };
        let found = ready!(slot.poll(cx));
        if let Found::Outcome(_) = found {
            state.slots.forget(key);
        }
        Poll::Ready(found)
    }

    /// Nobody waits any more for the outcome: true if it has not come.
    pub(crate) fn forget(&self, key: CallKey) -> bool {
        let slot = self.lock().slots.remove(key);
        slot.is_some_and(|slot| !slot.is_finished())
    }

    /// Takes all that is there; if there is nothing, whoever puts something in wakes the task.
    pub(crate) fn poll_take(&self, commands: &mut Vec<Command>, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        mem::swap(commands, &mut state.commands);
        if !commands.is_empty() {
            return Poll::Ready(());
        }
        keep_waker(&mut state.owner, cx);
        Poll::Pending
    }

    /// Puts outcomes down and wakes who waits for them.
    pub(crate) fn deliver(&self, outcomes: &mut Outcomes) {
        let Outcomes { waiting, wakers } = outcomes;
        if waiting.is_empty() {
            return;
        }
        {
            let mut state = self.lock();
            for (key, outcome) in waiting.drain(..) {
                // Without a slot nobody waits any more.
                let slot = state.slots.get_mut(key);
                wakers.extend(slot.and_then(|slot| slot.finish(outcome)));
            }
        }
        for waker in wakers.drain(..) {
            waker.wake();
        }
    }

    /// Puts the id of a request down. Nobody is woken for it: there is time until the outcome.
    pub(crate) fn note_id(&self, key: CallKey, id: i64) {
        if let Some(slot) = self.lock().slots.get_mut(key) {
            slot.note_id(id);
        }
    }

    /// The id of a request, if it was put down and not taken.
    pub(crate) fn take_id(&self, key: CallKey) -> Option<i64> {
        self.lock().slots.get_mut(key)?.take_id()
    }

    /// Puts a report of progress down and wakes who waits for it.
    pub(crate) fn report(&self, key: CallKey, progress: Payload) {
        let waker = {
            let mut state = self.lock();
            let slot = state.slots.get_mut(key);
            slot.and_then(|slot| slot.report(progress))
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Nothing is taken any more. Gives back what still waits.
    pub(crate) fn close(&self) -> Vec<Command> {
        let mut state = self.lock();
        state.is_over = true;
        state.owner = None;
        mem::take(&mut state.commands)
    }

    /// Nothing comes any more: whoever still waits gets this.
    pub(crate) fn end(&self, outcome: impl Fn() -> Outcome) {
        let wakers: Vec<Waker> = {
            let mut state = self.lock();
            let open = state.slots.iter_mut().filter(|slot| !slot.is_finished());
            open.filter_map(|slot| slot.finish(outcome())).collect()
        };
        for waker in wakers {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came of calls and was not yet put down.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    waiting: Vec<(CallKey, Outcome)>,
    /// Kept for its memory.
    wakers: Vec<Waker>,
}

impl Outcomes {
    #[inline]
    pub(crate) fn push(&mut self, key: CallKey, outcome: Outcome) {
        self.waiting.push((key, outcome));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use switchboard_protocol::Method;

    use super::*;

    /// Counts how often it was woken.
    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn ask(inbox: &Inbox, key: u64, waiting: &Arc<Count>) -> bool {
        let waker = Waker::from(Arc::clone(waiting));
        let request = CallRequest::new(CallKey(key), Method::Ping, None);
        let cx = Context::from_waker(&waker);
        inbox.ask(CallKey(key), request, &cx)
    }

    fn outcome(inbox: &Inbox, key: u64) -> Option<Outcome> {
        let cx = Context::from_waker(Waker::noop());
        match inbox.poll_outcome(CallKey(key), &cx) {
            Poll::Ready(Found::Outcome(outcome)) => Some(outcome),
            Poll::Ready(Found::Sent(_) | Found::Progress(_)) | Poll::Pending => None,
        }
    }

    fn lost() -> Outcome {
        Err(CallError::Lost("gone".to_owned()).into())
    }

    #[test]
    fn outcomes_come_to_those_who_wait_and_to_nobody_else() {
        let inbox = Inbox::default();
        let waiting = [(); 3].map(|()| Arc::new(Count::default()));
        for (key, waiting) in waiting.iter().enumerate() {
            assert!(ask(&inbox, key as u64, waiting));
        }
        assert!(inbox.forget(CallKey(1)));
        let mut outcomes = Outcomes::default();
        for key in [0, 1, 7] {
            outcomes.push(CallKey(key), Ok(Payload::empty()));
        }
        inbox.deliver(&mut outcomes);
        let woken = waiting
            .each_ref()
            .map(|count| count.0.load(Ordering::Relaxed));
        assert_eq!(woken, [1, 0, 0]);
        assert!(outcome(&inbox, 0).is_some_and(|outcome| outcome.is_ok()));
        assert!(outcome(&inbox, 2).is_none());
        assert_eq!(inbox.lock().slots.iter_mut().count(), 1);
    }

    #[test]
    fn a_call_that_has_its_outcome_needs_no_cancelling() {
        let inbox = Inbox::default();
        assert!(ask(&inbox, 1, &Arc::default()));
        let mut outcomes = Outcomes::default();
        outcomes.push(CallKey(1), Ok(Payload::empty()));
        inbox.deliver(&mut outcomes);
        assert!(!inbox.forget(CallKey(1)));
        assert!(!inbox.forget(CallKey(1)));
    }

    #[test]
    fn at_the_end_nobody_waits_any_more() {
        let inbox = Inbox::default();
        let waiting = Arc::default();
        for key in 0..3 {
            assert!(ask(&inbox, key, &waiting));
        }
        let mut outcomes = Outcomes::default();
        outcomes.push(CallKey(1), Ok(Payload::empty()));
        inbox.deliver(&mut outcomes);
        assert_eq!(inbox.close().len(), 3);
        inbox.end(lost);
        assert_eq!(waiting.0.load(Ordering::Relaxed), 3);
        let ends = [0, 1, 2].map(|key| outcome(&inbox, key).map(|outcome| outcome.is_ok()));
        assert_eq!(ends, [Some(false), Some(true), Some(false)]);
        assert!(!ask(&inbox, 4, &waiting));
        // One who asks for what nobody can bring does not wait either.
        assert!(outcome(&inbox, 4).is_some_and(|outcome| outcome.is_err()));
    }

    #[test]
    fn one_who_is_over_is_not_held_on_to() {
        let inbox = Inbox::default();
        let owner = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&owner));
        let cx = Context::from_waker(&waker);
        assert!(inbox.poll_take(&mut Vec::new(), &cx).is_pending());
        assert_eq!(Arc::strong_count(&owner), 3);
        inbox.close();
        assert_eq!(Arc::strong_count(&owner), 2);
    }
}
