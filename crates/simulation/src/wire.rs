//! A connection whose bytes go on when the schedule says so.
//!
//! Both sides have a real pipe; what one of them writes is kept here, message by message, until it is
//! let through to the other. Each pipe holds only so much: a side whose words are not taken waits.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use switchboard_client::memory::{End, pair_holding};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::AbortHandle;

use crate::conversation::{Conversation, Kind, Side};
use crate::trace::Trace;

/// A connection.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) name: String,
    pub(crate) whose: Whose,
    number: u64,
    ends: [Option<End>; 2],
    /// What each side has said.
    ways: [Way; 2],
    conversation: Conversation,
    /// What serves it.
    pub(crate) serving: AbortHandle,
    trace: Trace,
    capacity: usize,
    /// What is read is read into this.
    space: Box<[u8]>,
}

/// Who connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// A client, to the gateway.
    Client(usize),
    /// The gateway, to a server.
    Gateway(usize),
}

/// One direction.
#[derive(Debug, Default)]
struct Way {
    waiting: VecDeque<Said>,
    /// How much of the first was let through.
    sent: usize,
    /// What is no message yet.
    begun: Vec<u8>,
    /// Nothing more comes.
    has_ended: bool,
    /// The other side knows.
    is_closed: bool,
    /// Nothing is taken for now.
    is_stalled: bool,
    /// Its pipe was full when it was last looked at.
    was_full: bool,
}

#[derive(Debug)]
struct Said {
    text: Vec<u8>,
    kind: Kind,
}

/// The ends of a new connection that the two sides have.
pub(crate) struct Ends {
    pub(crate) client: End,
    pub(crate) server: End,
    middle: [End; 2],
    capacity: usize,
}

impl Ends {
    pub(crate) fn new(capacity: usize) -> Self {
        let (client, near) = pair_holding(capacity);
        let (server, far) = pair_holding(capacity);
        Self {
            client,
            server,
            middle: [near, far],
            capacity,
        }
    }

    /// What the schedule keeps of it, and the two ends.
    pub(crate) fn split(self) -> (End, End, Middle) {
        let middle = Middle {
            ends: self.middle,
            capacity: self.capacity,
        };
        (self.client, self.server, middle)
    }
}

/// The middle of a new connection.
#[derive(Debug)]
pub(crate) struct Middle {
    ends: [End; 2],
    capacity: usize,
}

const SIDES: [Side; 2] = [Side::Client, Side::Server];

impl Wire {
    pub(crate) fn new(
        (number, name): (u64, String),
        whose: Whose,
        middle: Middle,
        serving: AbortHandle,
        trace: &Trace,
    ) -> Self {
        Self {
            name,
            whose,
            number,
            ends: middle.ends.map(Some),
            ways: Default::default(),
            conversation: Conversation::default(),
            serving,
            trace: trace.clone(),
            capacity: middle.capacity,
            space: vec![0; 4096].into(),
        }
    }

    /// Takes what was said on both sides. Has anything come?
    pub(crate) fn collect(&mut self, cx: &mut Context<'_>) -> bool {
        let mut has_come = false;
        for side in SIDES {
            has_come |= self.collect_from(side, cx);
        }
        has_come
    }

    fn collect_from(&mut self, side: Side, cx: &mut Context<'_>) -> bool {
        let way = &mut self.ways[side as usize];
        let Some(end) = &mut self.ends[side as usize] else {
            return false;
        };
        if way.is_stalled || way.has_ended {
            return false;
        }
        let (mut has_come, mut total) = (false, 0);
        loop {
            let mut buffer = ReadBuf::new(&mut self.space);
            match Pin::new(&mut *end).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    total += buffer.filled().len();
                    way.begun.extend_from_slice(buffer.filled());
                    has_come = true;
                }
                Poll::Ready(_) => {
                    way.has_ended = true;
                    has_come = true;
                    break;
                }
                Poll::Pending => break,
            }
        }
        way.was_full = total >= self.capacity;
        while let Some(end) = way.begun.iter().position(|byte| *byte == b'\n') {
            let rest = way.begun.split_off(end + 1);
            let text = std::mem::replace(&mut way.begun, rest);
            let (kind, checked) = self.conversation.said(side, &text);
            let numbers = [1, self.number, side as u64, text.len() as u64];
            self.trace.note(&numbers, || {
                let shown = String::from_utf8_lossy(&text);
                let shown: String = shown.trim_end().chars().take(SHOWN).collect();
                format!("{} {side:?} says {shown}", self.name)
            });
            if let Err(words) = checked {
                let name = &self.name;
                self.trace.violation(format!("{name}, {side:?}: {words}"));
            }
            way.waiting.push_back(Said { text, kind });
        }
        has_come
    }

    /// Which sides have said what was not let through yet.
    pub(crate) fn has_waiting(&self, side: Side) -> bool {
        let way = &self.ways[side as usize];
        !way.waiting.is_empty() || (way.has_ended && !way.is_closed)
    }

    /// Lets through what this side said: at most so many bytes. Has anything moved?
    pub(crate) fn let_through(&mut self, side: Side, most: usize, cx: &mut Context<'_>) -> bool {
        let way = &mut self.ways[side as usize];
        let Some(end) = &mut self.ends[side.other() as usize] else {
            way.waiting.clear();
            way.sent = 0;
            return false;
        };
        let mut rest = most;
        let mut has_moved = false;
        while rest > 0
            && let Some(said) = way.waiting.front()
        {
            let text = said.text.get(way.sent..).unwrap_or_default();
            let portion = text.get(..rest.min(text.len())).unwrap_or_default();
            match Pin::new(&mut *end).poll_write(cx, portion) {
                Poll::Ready(Ok(count)) => {
                    has_moved = true;
                    rest -= count;
                    way.sent += count;
                    let numbers = [2, self.number, side as u64, count as u64];
                    self.trace.note(&numbers, String::new);
                    if way.sent >= said.text.len() {
                        self.conversation.came(side, &said.kind);
                        way.sent = 0;
                        way.waiting.pop_front();
                    }
                }
                // Nobody is there to read it.
                Poll::Ready(Err(_)) => {
                    way.waiting.clear();
                    way.sent = 0;
                    has_moved = true;
                }
                Poll::Pending => break,
            }
        }
        if way.waiting.is_empty() && way.has_ended && !way.is_closed {
            way.is_closed = true;
            has_moved = true;
            let _ = Pin::new(end).poll_shutdown(cx);
        }
        has_moved
    }

    /// How long the first message is, or what is left of it.
    pub(crate) fn first_length(&self, side: Side) -> usize {
        let way = &self.ways[side as usize];
        way.waiting
            .front()
            .map_or(1, |said| said.text.len() - way.sent)
    }

    /// Everybody has done what there was to do.
    pub(crate) fn settled(&mut self) {
        // Who cannot write may not have read either, or has things to say that are not seen yet.
        let is_free = |way: &Way| !way.is_stalled && !way.was_full && !way.has_ended;
        if self.ways.iter().all(is_free) {
            self.conversation.settled();
        }
    }

    /// Nothing of this side is taken until it is again.
    pub(crate) fn stall(&mut self, side: Side, is_stalled: bool) {
        self.ways[side as usize].is_stalled = is_stalled;
    }

    /// This side says no more, and the other hears that. What was said may be lost.
    pub(crate) fn half_close(&mut self, side: Side, loses: bool) {
        let way = &mut self.ways[side as usize];
        way.has_ended = true;
        if loses {
            way.waiting.clear();
            way.sent = 0;
        }
    }

    /// It is gone.
    pub(crate) fn cut(&mut self) {
        self.ends = [None, None];
        for way in &mut self.ways {
            way.waiting.clear();
            way.sent = 0;
            way.has_ended = true;
            way.is_closed = true;
        }
    }

    /// Has one of its directions ended, and not the other?
    pub(crate) fn is_half_closed(&self) -> bool {
        self.ways[0].has_ended != self.ways[1].has_ended
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ways.iter().all(|way| way.is_closed)
    }
}

/// So much of a message is shown.
const SHOWN: usize = 240;
