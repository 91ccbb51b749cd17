//! Puts events into a stream, bounded.
//!
//! Whoever sends much waits for room first; whoever does not is refused before memory runs
//! out. When the client goes away the sender hears of it. Which events to send is for others.
//!
//! Specification: basic/transports, Streamable HTTP.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use switchboard_protocol::framing::{Event, EventId, write_event};
use switchboard_protocol::jsonrpc::Message;

use super::event_queue::{Queue, message_event, wake};
use super::room::SMALL;

/// Puts events into a stream. The stream ends when it is closed or no sender is left.
pub struct EventSender {
    queue: Arc<Queue>,
}

impl EventSender {
    /// The first sender of a queue that counts one already.
    pub(super) const fn new(queue: Arc<Queue>) -> Self {
        Self { queue }
    }

    /// Sends an event that is encoded already, or several.
    ///
    /// # Errors
    /// When nobody reads any more, or far too much waits to be read: four times what
    /// [`StreamSettings`](super::StreamSettings) allows, which only a sender meets that does not wait for
    /// [room](Self::room), or as much as may wait for one client on all its streams.
    pub fn send(&self, mut event: Bytes) -> Result<(), SendError> {
        let mut state = self.queue.lock();
        if state.is_gone || state.is_closed {
            return Err(SendError::Closed);
        }
        if !state.is_below(&self.queue.settings, PATIENCE) {
            return Err(SendError::Full);
        }
        if event.len() > SMALL
            && let Some(room) = &state.room
        {
            event = room.hold(event).ok_or(SendError::Full)?;
        }
        state.bytes = state.bytes.saturating_add(event.len());
        state.waiting.push_back(event);
        let reader = state.reader.take();
        drop(state);
        wake(reader);
        Ok(())
    }

    /// Sends a message, with an id if the stream can be resumed.
    ///
    /// # Errors
    /// As [`EventSender::send`].
    pub fn send_message(&self, message: &Message, id: Option<&EventId>) -> Result<(), SendError> {
        self.send(message_event(message, id))
    }

    /// Sends any event: one that primes a stream, or names an endpoint.
    ///
    /// # Errors
    /// As [`EventSender::send`].
    pub fn send_event(&self, event: &Event) -> Result<(), SendError> {
        let mut out = Vec::with_capacity(64);
        write_event(event, &mut out);
        self.send(out.into())
    }

    /// Tells the client how long to wait before it connects again.
    ///
    /// # Errors
    /// As [`EventSender::send`].
    pub fn send_retry(&self, retry: Duration) -> Result<(), SendError> {
        self.send(Bytes::from(format!("retry: {}\n\n", retry.as_millis())))
    }

    /// Ends the stream once everything in it is read. The hook is not called then.
    pub fn close(&self) {
        let mut state = self.queue.lock();
        state.is_closed = true;
        let reader = state.reader.take();
        let senders = std::mem::take(&mut state.waiting_senders);
        drop(state);
        wake(reader.into_iter().chain(senders));
    }

    /// Ends the stream once everything in it is read, as [`close`](Self::close) does, but
    /// before its time: for whoever waits for the end, the client has gone when it was read.
    pub fn end_early(&self) {
        let mut state = self.queue.lock();
        state.is_cut_off = true;
        drop(state);
        self.close();
    }

    /// Is there nobody to send to: the client went away, or the stream was closed?
    pub fn is_closed(&self) -> bool {
        let state = self.queue.lock();
        state.is_gone || state.is_closed
    }

    /// How many bytes wait to be read.
    pub fn queued(&self) -> usize {
        self.queue.lock().bytes
    }

    /// Is there room for another event? Ready also when the stream is closed, so that
    /// nobody waits in vain.
    pub fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.queue.lock();
        if state.is_gone || state.is_closed || state.is_below(&self.queue.settings, 1) {
            return Poll::Ready(());
        }
        state.await_change(cx);
        Poll::Pending
    }

    /// Waits for room for another event.
    pub async fn room(&self) {
        poll_fn(|cx| self.poll_room(cx)).await;
    }

    /// Ready when nobody reads any more or the stream was closed.
    pub fn poll_closed(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.queue.lock();
        if state.is_gone || state.is_closed {
            return Poll::Ready(());
        }
        state.await_change(cx);
        Poll::Pending
    }

    /// Calls the hook once when the client goes away before it has read the end, at once if
    /// it has gone already. A later hook takes the place of an earlier one.
    ///
    /// It runs where the connection is dropped, so it should only pass the news on.
    pub fn on_closed(&self, hook: impl FnOnce() + Send + 'static) {
        let mut state = self.queue.lock();
        if state.is_finished() {
            return;
        }
        if !state.is_gone {
            // What it replaces is dropped outside of the lock.
            let replaced = state.hook.replace(Box::new(hook));
            drop(state);
            drop(replaced);
            return;
        }
        drop(state);
        hook();
    }
}

impl Clone for EventSender {
    fn clone(&self) -> Self {
        self.queue.lock().senders += 1;
        Self {
            queue: Arc::clone(&self.queue),
        }
    }
}

impl Drop for EventSender {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.senders = state.senders.saturating_sub(1);
        let is_last = state.senders == 0;
        drop(state);
        if is_last {
            self.close();
        }
    }
}

impl fmt::Debug for EventSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.queue.lock();
        f.debug_struct("EventSender")
            .field("events", &state.waiting.len())
            .field("bytes", &state.bytes)
            .field("is_closed", &(state.is_gone || state.is_closed))
            .finish()
    }
}

/// Why an event was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The client went away, or the stream was closed.
    Closed,
    /// The client reads too slowly. The stream should be closed.
    Full,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "the event stream is closed",
            Self::Full => "the event stream is full, its client reads too slowly",
        })
    }
}

impl std::error::Error for SendError {}

// How many times over the limit a sender may go that does not wait for room.
const PATIENCE: usize = 4;
