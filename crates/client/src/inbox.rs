//! What users of a client want of the task that owns its connection.
//!
//! A list under a short lock and one waker: whoever puts something in wakes the owner, who
//! takes everything at once. So calls that are made together are written together.

use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::{ErrorObject, Notification};
use switchboard_protocol::machine::client::{CallKey, CallRequest, QuestionKey};
use switchboard_protocol::types::{LoggingLevel, SubscriptionFilter};

use crate::slot::Slot;
use crate::subscription::Channel;
use crate::watched::Watched;

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
pub(crate) struct Inbox(Watched<State>);

#[derive(Debug, Default)]
struct State {
    commands: Vec<Command>,
    is_over: bool,
}

impl Inbox {
    /// Puts a command in: false if nobody takes any more.
    #[inline]
    pub(crate) fn push(&self, command: Command) -> bool {
        self.0.change(|state| {
            if !state.is_over {
                state.commands.push(command);
            }
            !state.is_over
        })
    }

    /// Takes all that is there; if there is nothing, whoever puts something in wakes the task.
    pub(crate) fn poll_take(&self, commands: &mut Vec<Command>, cx: &Context<'_>) -> Poll<()> {
        self.0.poll(cx, |state| {
            mem::swap(commands, &mut state.commands);
            (!commands.is_empty()).then_some(())
        })
    }

    /// Nothing is taken any more. Gives back what still waits.
    pub(crate) fn close(&self) -> Vec<Command> {
        self.0.change(|state| {
            state.is_over = true;
            mem::take(&mut state.commands)
        })
    }
}
