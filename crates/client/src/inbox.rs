//! What users of a client want of the task that owns its connection.
//!
//! A list under a short lock and one waker: whoever puts something in wakes the owner, who
//! takes everything at once. So calls that are made together are written together.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::{ErrorObject, Notification};
use switchboard_protocol::machine::client::{CallKey, CallRequest, QuestionKey};
use switchboard_protocol::types::{LoggingLevel, SubscriptionFilter};

use crate::slot::Slot;
use crate::subscription::Channel;

/// What is wanted.
#[derive(Debug)]
pub(crate) enum Command {
    /// A call, and where its outcome goes.
    Call(CallRequest, Arc<Slot>),
    /// A subscription, and where its changes go.
    Listen(CallKey, SubscriptionFilter, Arc<Channel>),
    /// Log messages from this level on.
    SetLogLevel(CallKey, LoggingLevel, Arc<Slot>),
    /// Something the server is told.
    Notify(Notification),
    /// A call or a subscription is no longer wanted.
    Cancel(CallKey, Option<String>),
    /// The host's answer to a question.
    Answer(QuestionKey, Result<Payload, ErrorObject>),
    /// The end.
    Close,
}

/// Where commands wait.
#[derive(Debug, Default)]
pub(crate) struct Inbox(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    commands: Vec<Command>,
    waker: Option<Waker>,
    is_over: bool,
}

impl Inbox {
    /// Puts a command in: false if nobody takes any more.
    pub(crate) fn push(&self, command: Command) -> bool {
        let waker = {
            let mut state = self.lock();
            if state.is_over {
                return false;
            }
            state.commands.push(command);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// Takes all that is there; if there is nothing, whoever puts something in wakes `waker`.
    pub(crate) fn take(&self, commands: &mut Vec<Command>, waker: &Waker) {
        let mut state = self.lock();
        if state.commands.is_empty() {
            if !state.waker.as_ref().is_some_and(|old| old.will_wake(waker)) {
                state.waker = Some(waker.clone());
            }
        } else {
            mem::swap(commands, &mut state.commands);
        }
    }

    /// Nothing is taken any more. Gives back what still waits.
    pub(crate) fn close(&self) -> Vec<Command> {
        let mut state = self.lock();
        state.is_over = true;
        state.waker = None;
        mem::take(&mut state.commands)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
