//! Events on their way to one client, bounded.
//!
//! A sender puts encoded events in, the body of the response takes them out. Whoever sends
//! much waits for room first; whoever does not is refused before memory runs out. When the
//! client goes away the sender hears of it. Which events to send is for others.
//!
//! Specification: basic/transports, Streamable HTTP; HTML Living Standard, section 9.2.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use switchboard_protocol::framing::{Event, EventId, write_event};
use switchboard_protocol::jsonrpc::Message;
use tokio::time::{Instant, Sleep};

use super::Body;

/// How an event stream behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamSettings {
    /// After how much silence a comment is sent, so that nobody between takes the stream
    /// for dead.
    pub keep_alive: Duration,
    /// How many events may wait for a slow client before senders should wait.
    pub events: usize,
    /// How many bytes may wait for a slow client before senders should wait.
    pub bytes: usize,
}

impl Default for StreamSettings {
    fn default() -> Self {
        Self {
            keep_alive: Duration::from_secs(15),
            events: 256,
            bytes: 1024 * 1024,
        }
    }
}

/// A new stream of events: where they go in, and the body that carries them.
pub fn events(settings: &StreamSettings) -> (EventSender, Body) {
    let queue = Arc::new(Queue {
        settings: *settings,
        state: Mutex::new(State {
            senders: 1,
            ..State::default()
        }),
    });
    let reader = EventReader {
        queue: Arc::clone(&queue),
        silent_since: None,
        timer: None,
    };
    (EventSender { queue }, Body::of_events(reader))
}

/// A message as an event, in bytes, with an id if the stream can be resumed.
pub fn message_event(message: &Message, id: Option<&EventId>) -> Bytes {
    let mut out = Vec::with_capacity(128);
    if let Some(id) = id {
        out.extend_from_slice(b"id: ");
        out.extend_from_slice(id.as_str().as_bytes());
        out.push(b'\n');
    }
    // A message is written as one line, so it is one field.
    out.extend_from_slice(b"data: ");
    message.write(&mut out);
    out.extend_from_slice(b"\n\n");
    out.into()
}

/// Puts events into a stream. The stream ends when it is closed or no sender is left.
pub struct EventSender {
    queue: Arc<Queue>,
}

impl EventSender {
    /// Sends an event that is encoded already, or several.
    ///
    /// # Errors
    /// When nobody reads any more, or far too much waits to be read: four times what
    /// [`StreamSettings`] allows, which only a sender meets that does not wait for
    /// [room](Self::room).
    pub fn send(&self, event: Bytes) -> Result<(), SendError> {
        let mut state = self.queue.lock();
        if state.is_gone || state.is_closed {
            return Err(SendError::Closed);
        }
        if !state.is_below(&self.queue.settings, PATIENCE) {
            return Err(SendError::Full);
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

/// Takes events out. Dropping it says that the client is gone.
pub(super) struct EventReader {
    queue: Arc<Queue>,
    /// When the last event was taken, once one had to be waited for.
    silent_since: Option<Instant>,
    /// Made at the first silence: most streams are over before.
    timer: Option<Pin<Box<Sleep>>>,
}

impl EventReader {
    /// The next event or comment; none at the end.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.queue.lock();
        if let Some(event) = state.waiting.pop_front() {
            state.bytes = state.bytes.saturating_sub(event.len());
            let senders = if state.is_below(&self.queue.settings, 1) {
                std::mem::take(&mut state.waiting_senders)
            } else {
                Vec::new()
            };
            drop(state);
            wake(senders);
            self.silent_since = None;
            return Poll::Ready(Some(event));
        }
        if state.is_closed {
            // Whatever the hook holds goes free now.
            let hook = state.hook.take();
            let is_cut_off = state.is_cut_off;
            drop(state);
            match hook {
                Some(hook) if is_cut_off => hook(),
                hook => drop(hook),
            }
            return Poll::Ready(None);
        }
        let is_known = (state.reader.as_ref()).is_some_and(|waker| waker.will_wake(cx.waker()));
        if !is_known {
            state.reader = Some(cx.waker().clone());
        }
        drop(state);
        self.poll_silence(cx)
    }

    pub(super) fn is_finished(&self) -> bool {
        self.queue.lock().is_finished()
    }

    /// A comment, when nothing was sent for long enough.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let keep_alive = self.queue.settings.keep_alive;
        let since = *self.silent_since.get_or_insert_with(Instant::now);
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(since + keep_alive)));
        while timer.as_mut().poll(cx).is_ready() {
            // It is not set anew for each event, so it may have run out too early.
            let due = since + keep_alive;
            if timer.deadline() < due {
                timer.as_mut().reset(due);
                continue;
            }
            self.silent_since = None;
            timer.as_mut().reset(Instant::now() + keep_alive);
            return Poll::Ready(Some(Bytes::from_static(COMMENT)));
        }
        Poll::Pending
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        let is_finished = state.is_finished();
        let is_cut_off = state.is_cut_off;
        state.is_gone = true;
        state.bytes = 0;
        let unread = std::mem::take(&mut state.waiting);
        let senders = std::mem::take(&mut state.waiting_senders);
        let hook = state.hook.take();
        drop(state);
        drop(unread);
        wake(senders);
        if let Some(hook) = hook
            && (!is_finished || is_cut_off)
        {
            hook();
        }
    }
}

/// What senders and reader share.
struct Queue {
    settings: StreamSettings,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Bytes>,
    bytes: usize,
    senders: usize,
    reader: Option<Waker>,
    /// Those who wait for room or for the end, a task each.
    waiting_senders: Vec<Waker>,
    hook: Option<Box<dyn FnOnce() + Send>>,
    /// Nothing more is sent.
    is_closed: bool,
    /// Nobody reads.
    is_gone: bool,
    /// It was closed before its time.
    is_cut_off: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code of others runs under the lock, so the state is whole in any case.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_below(&self, settings: &StreamSettings, times: usize) -> bool {
        self.waiting.len() < settings.events.saturating_mul(times).max(1)
            && self.bytes < settings.bytes.saturating_mul(times).max(1)
    }

    fn is_finished(&self) -> bool {
        self.is_closed && self.waiting.is_empty()
    }

    fn await_change(&mut self, cx: &Context<'_>) {
        let waker = cx.waker();
        if !(self.waiting_senders.iter()).any(|known| known.will_wake(waker)) {
            self.waiting_senders.push(waker.clone());
        }
    }
}

fn wake(wakers: impl IntoIterator<Item = Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}

// How many times over the limit a sender may go that does not wait for room.
const PATIENCE: usize = 4;

const COMMENT: &[u8] = b":\n\n";
