//! A POST that waits for what it is answered with.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use switchboard_protocol::machine::Lane;
use tokio::time::{Sleep, sleep};

use super::conversation::Conversation;
use super::lane::First;

/// Waits for what a POST is answered with. If it is dropped before, the client has gone.
pub(super) struct Waiting {
    conversation: Arc<Conversation>,
    lane: Lane,
    patience: Duration,
    /// Made when something must be waited for.
    timer: Option<Pin<Box<Sleep>>>,
    is_answered: bool,
}

impl Waiting {
    /// Waits; after so much silence a stream is begun, so that nobody between takes the
    /// connection for dead.
    pub(super) fn new(conversation: Arc<Conversation>, lane: Lane, patience: Duration) -> Self {
        Self {
            conversation,
            lane,
            patience: patience.max(SHORTEST_PATIENCE),
            timer: None,
            is_answered: false,
        }
    }

    pub(super) const fn conversation(&self) -> &Arc<Conversation> {
        &self.conversation
    }
}

impl Future for Waiting {
    type Output = Option<First>;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Option<First>> {
        loop {
            if let Poll::Ready(first) = self.conversation.poll_first(self.lane, task) {
                self.is_answered = true;
                return Poll::Ready(first);
            }
            if self.timer.is_none() {
                self.conversation.join_waiting();
            }
            let patience = self.patience;
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(patience)));
            match timer.as_mut().poll(task) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) => {
                    // A client that takes no stream goes on waiting.
                    timer.as_mut().reset(tokio::time::Instant::now() + patience);
                    self.conversation.begin_stream(self.lane);
                }
            }
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.is_answered {
            self.conversation.lane_gone(self.lane);
        }
    }
}

// Without it, no patience at all would look again and again without a rest.
const SHORTEST_PATIENCE: Duration = Duration::from_millis(10);
