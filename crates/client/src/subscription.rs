//! Hearing of changes at the server, in either era.
//!
//! Specification: 2026-07-28 basic/patterns/subscriptions; 2025-11-25 server/resources.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use switchboard_protocol::machine::client::{CallError, CallKey};
use switchboard_protocol::types::SubscriptionFilter;

use crate::client::Client;
use crate::error::{Error, ErrorKind};
use crate::host::Change;
use crate::inbox::Command;
use crate::slot::Unanswered;
use crate::watched::Watched;

/// A subscription that stands. Dropping it ends it at the server.
#[derive(Debug)]
pub struct Subscription {
    client: Client,
    channel: Arc<Channel>,
    key: CallKey,
}

impl Subscription {
    pub(crate) const fn new(client: Client, channel: Arc<Channel>, key: CallKey) -> Self {
        Self {
            client,
            channel,
            key,
        }
    }

    /// What the server agreed to. It may change when the connection had to be renewed.
    pub fn granted(&self) -> SubscriptionFilter {
        self.channel
            .0
            .look(|state| state.granted.clone().unwrap_or_default())
    }

    /// How many changes were dropped because nobody took them.
    pub fn dropped(&self) -> u64 {
        self.channel.0.look(|state| state.dropped)
    }

    /// The next change. `None` when the server has ended the subscription.
    ///
    /// # Errors
    /// When the connection is over.
    pub async fn next(&mut self) -> Result<Option<Change>, Error> {
        poll_fn(|cx| self.channel.poll_next(cx))
            .await
            .map_err(|kind| Error::new(&self.client.shared().name, "subscriptions/listen", kind))
    }

    /// Waits until the server has agreed.
    pub(crate) async fn stands(&self) -> Result<(), Error> {
        poll_fn(|cx| self.channel.poll_granted(cx))
            .await
            .map_err(|kind| Error::new(&self.client.shared().name, "subscriptions/listen", kind))
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        // If nobody takes it, the connection is over and the subscription with it.
        self.client
            .shared()
            .inbox
            .push(Command::Cancel(self.key, None));
    }
}

/// Where the changes of a subscription come to lie.
#[derive(Debug, Default)]
pub(crate) struct Channel(Watched<State>);

#[derive(Debug, Default)]
struct State {
    granted: Option<SubscriptionFilter>,
    changes: VecDeque<Change>,
    dropped: u64,
    end: Option<Result<(), Box<Unanswered>>>,
}

impl Channel {
    pub(crate) fn grant(&self, granted: SubscriptionFilter) {
        self.0.change(|state| state.granted = Some(granted));
    }

    /// Tells of a change. A change of a list that waits already is not told twice.
    pub(crate) fn tell(&self, change: &Change) {
        self.0.change(|state| {
            if state.changes.contains(change) {
                return;
            }
            if state.changes.len() >= MOST_CHANGES {
                state.changes.pop_front();
                state.dropped += 1;
            }
            state.changes.push_back(change.clone());
        });
    }

    pub(crate) fn end(&self, outcome: Result<(), Box<Unanswered>>) {
        self.0.change(|state| state.end = Some(outcome));
    }

    /// Is this change one that was asked for?
    pub(crate) fn wants(&self, change: &Change) -> bool {
        self.0.look(|state| {
            let Some(granted) = &state.granted else {
                return false;
            };
            match change {
                Change::Tools => granted.wants_tools(),
                Change::Prompts => granted.wants_prompts(),
                Change::Resources => granted.wants_resources(),
                Change::Resource(uri) => granted.resources().contains(uri),
                Change::Task(id) => granted.tasks().contains(id),
                Change::Visit(_) => false,
            }
        })
    }

    fn poll_granted(&self, cx: &Context<'_>) -> Poll<Result<(), ErrorKind>> {
        self.0.poll(cx, |state| match &state.end {
            Some(outcome) => Some(outcome.clone().map_err(ErrorKind::from)),
            None => state.granted.is_some().then_some(Ok(())),
        })
    }

    fn poll_next(&self, cx: &Context<'_>) -> Poll<Result<Option<Change>, ErrorKind>> {
        self.0.poll(cx, |state| {
            if let Some(change) = state.changes.pop_front() {
                return Some(Ok(Some(change)));
            }
            Some(match state.end.as_ref()? {
                Ok(()) => Ok(None),
                Err(unanswered) if unanswered.error == CallError::Cancelled => Ok(None),
                Err(unanswered) => Err(unanswered.clone().into()),
            })
        })
    }
}

/// Changes that wait for somebody who does not take them.
const MOST_CHANGES: usize = 1024;

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn of_changes_that_nobody_takes_the_oldest_go_and_are_counted() {
        let channel = Channel::default();
        let change = |number: usize| Change::Resource(format!("test://{number}"));
        for number in 0..MOST_CHANGES + 3 {
            channel.tell(&change(number));
        }
        // What waits already is not told twice.
        channel.tell(&change(MOST_CHANGES));
        assert_eq!(channel.0.look(|state| state.dropped), 3);
        channel.end(Ok(()));
        let cx = Context::from_waker(Waker::noop());
        let mut taken = Vec::new();
        while let Poll::Ready(Ok(Some(next))) = channel.poll_next(&cx) {
            taken.push(next);
        }
        let newest: Vec<_> = (3..MOST_CHANGES + 3).map(change).collect();
        assert_eq!(taken, newest);
    }
}
