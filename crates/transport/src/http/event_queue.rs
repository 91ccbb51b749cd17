//! Events on their way to one client, bounded.
//!
//! What sender and body share, and how the body takes events out: with comments in between
//! where there is silence, and with word to the sender when it is dropped. Putting events in
//! is in `event_sender`.
//!
//! Specification: basic/transports, Streamable HTTP; HTML Living Standard, section 9.2.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use switchboard_protocol::Payload;
use switchboard_protocol::framing::EventId;
use switchboard_protocol::jsonrpc::Message;
use tokio::time::{Instant, Sleep};

use super::room::{Room, SMALL};
use super::{Body, EventSender};
use crate::turn::Turn;

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
        turn: Turn::default(),
    };
    (EventSender::new(queue), Body::of_events(reader))
}

/// A message as an event, in bytes, with an id if the stream can be resumed.
pub fn message_event(message: &Message, id: Option<&EventId>) -> Bytes {
    // All of it, so that a large one is not moved while it is written.
    let length = message.payload().map_or(0, Payload::length);
    let mut out = Vec::with_capacity(length + 192);
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

/// Takes events out. Dropping it says that the client is gone.
pub(super) struct EventReader {
    queue: Arc<Queue>,
    /// When the last event was taken, once one had to be waited for.
    silent_since: Option<Instant>,
    /// Made at the first silence: most streams are over before.
    timer: Option<Pin<Box<Sleep>>>,
    turn: Turn,
}

impl EventReader {
    /// The next event or comment; none at the end.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.queue.lock().waiting.len() > FEW {
            ready!(self.turn.poll(cx));
        }
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

    /// Holds what is large in this room until it is taken, from now on. None: there is no room for what is
    /// there already.
    pub(super) fn hold_in(&self, room: Arc<Room>) -> Option<()> {
        let mut state = self.queue.lock();
        for event in &mut state.waiting {
            if event.len() > SMALL {
                *event = room.hold(event.clone())?;
            }
        }
        state.room = Some(room);
        Some(())
    }

    /// A comment, when nothing was sent for long enough.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let keep_alive = self.queue.settings.keep_alive.max(SHORTEST_SILENCE);
        let since = *self.silent_since.get_or_insert_with(Instant::now);
        let Some(due) = since.checked_add(keep_alive) else {
            return Poll::Pending;
        };
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
        while timer.as_mut().poll(cx).is_ready() {
            // It is not set anew for each event, so it may have run out too early.
            if timer.deadline() >= due {
                self.silent_since = None;
                return Poll::Ready(Some(Bytes::from_static(COMMENT)));
            }
            timer.as_mut().reset(due);
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
pub(super) struct Queue {
    pub(super) settings: StreamSettings,
    pub(super) state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) waiting: VecDeque<Bytes>,
    pub(super) bytes: usize,
    pub(super) senders: usize,
    pub(super) reader: Option<Waker>,
    /// Those who wait for room or for the end, a task each.
    pub(super) waiting_senders: Vec<Waker>,
    pub(super) hook: Option<Box<dyn FnOnce() + Send>>,
    /// Where large events are held until they are taken.
    pub(super) room: Option<Arc<Room>>,
    /// Nothing more is sent.
    pub(super) is_closed: bool,
    /// Nobody reads.
    pub(super) is_gone: bool,
    /// It was closed before its time.
    pub(super) is_cut_off: bool,
}

impl Queue {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // No code of others runs under the lock, so the state is whole in any case.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    pub(super) fn is_below(&self, settings: &StreamSettings, times: usize) -> bool {
        self.waiting.len() < settings.events.saturating_mul(times).max(1)
            && self.bytes < settings.bytes.saturating_mul(times).max(1)
    }

    pub(super) fn is_finished(&self) -> bool {
        self.is_closed && self.waiting.is_empty()
    }

    pub(super) fn await_change(&mut self, cx: &Context<'_>) {
        let waker = cx.waker();
        if !(self.waiting_senders.iter()).any(|known| known.will_wake(waker)) {
            self.waiting_senders.push(waker.clone());
        }
    }
}

pub(super) fn wake(wakers: impl IntoIterator<Item = Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}

// Without it a stream set to no silence at all would be all comments.
const SHORTEST_SILENCE: Duration = Duration::from_millis(10);

// A stream with more events than these is one among others.
const FEW: usize = 8;

const COMMENT: &[u8] = b":\n\n";
