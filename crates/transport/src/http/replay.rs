//! Events that were sent and can be sent again, bounded.
//!
//! Every stream of a session keeps its last events. Their ids name the stream and the place
//! in it, `3-17`, so they are unique in the session and say where to go on. Who may resume,
//! and sending, is for others.
//!
//! Specification: 2025-11-25 basic/transports, resumability and redelivery; gone in
//! 2026-07-28.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use switchboard_protocol::framing::{Event, EventId, write_event};
use switchboard_protocol::jsonrpc::Message;

use super::message_event;

/// How much a session keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayLimits {
    /// Events of one stream.
    pub events: usize,
    /// Bytes of one stream.
    pub bytes: usize,
    /// Bytes of all streams of the session.
    pub session_bytes: usize,
    /// Streams that have ended.
    pub ended: usize,
}

impl Default for ReplayLimits {
    fn default() -> Self {
        Self {
            events: 256,
            bytes: 1024 * 1024,
            session_bytes: 4 * 1024 * 1024,
            ended: 16,
        }
    }
}

/// The streams of one session, with what is kept of each. It is small while it is empty.
#[derive(Debug, Default)]
pub struct Replay {
    opened: u64,
    bytes: usize,
    streams: BTreeMap<u64, Stream>,
}

impl Replay {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a stream and gives its number.
    pub fn open(&mut self) -> u64 {
        self.opened = self.opened.saturating_add(1);
        self.streams.insert(self.opened, Stream::default());
        self.opened
    }

    /// The event that gives a client an id before there is a message, and says how long to
    /// wait before it connects again. It may be sent at any time.
    pub fn prime(&self, stream: u64, retry: Option<Duration>) -> Bytes {
        let sent = self.streams.get(&stream).map_or(0, |stream| stream.sent);
        let event = Event {
            id: event_id(stream, sent),
            retry,
            ..Event::default()
        };
        let mut out = Vec::with_capacity(48);
        write_event(&event, &mut out);
        out.into()
    }

    /// Keeps a message of a stream and gives it as the event to send.
    ///
    /// A stream that is not known any more gets an event without an id.
    pub fn push(&mut self, limits: &ReplayLimits, stream: u64, message: &Message) -> Bytes {
        let Some(kept) = self.streams.get_mut(&stream) else {
            return message_event(message, None);
        };
        kept.sent = kept.sent.saturating_add(1);
        let event = message_event(message, event_id(stream, kept.sent).as_ref());
        kept.bytes = kept.bytes.saturating_add(event.len());
        self.bytes = self.bytes.saturating_add(event.len());
        kept.events.push_back(event.clone());
        while kept.events.len() > limits.events || kept.bytes > limits.bytes {
            let freed = kept.forget_oldest();
            self.bytes = self.bytes.saturating_sub(freed);
            if freed == 0 {
                break;
            }
        }
        self.forget_over(limits.session_bytes);
        event
    }

    /// Nothing more comes on this stream. What it holds is kept for a while.
    pub fn end(&mut self, limits: &ReplayLimits, stream: u64) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.is_ended = true;
        }
        let ended = self.streams.iter().filter(|(_, stream)| stream.is_ended);
        let ended: Vec<u64> = ended.map(|(number, _)| *number).collect();
        let excess = ended.len().saturating_sub(limits.ended);
        for number in ended.into_iter().take(excess) {
            self.forget(number);
        }
    }

    /// Forgets a stream at once, as when its client has certainly read all of it.
    pub fn forget(&mut self, stream: u64) {
        if let Some(stream) = self.streams.remove(&stream) {
            self.bytes = self.bytes.saturating_sub(stream.bytes);
        }
    }

    /// What followed the event with this id, on its own stream.
    ///
    /// # Errors
    /// When the id was never given out, or what followed is not kept any more.
    pub fn resume(&self, last_event_id: &str) -> Result<Resumed, ResumeError> {
        let (number, seen) = read_id(last_event_id).ok_or(ResumeError::Unknown)?;
        if number == 0 || number > self.opened {
            return Err(ResumeError::Unknown);
        }
        let stream = self.streams.get(&number).ok_or(ResumeError::Lost)?;
        let missed = stream.sent.checked_sub(seen).ok_or(ResumeError::Unknown)?;
        let missed = usize::try_from(missed).map_err(|_| ResumeError::Lost)?;
        let skipped = (stream.events.len())
            .checked_sub(missed)
            .ok_or(ResumeError::Lost)?;
        Ok(Resumed {
            stream: number,
            events: stream.events.iter().skip(skipped).cloned().collect(),
            is_ended: stream.is_ended,
        })
    }

    /// Forgets the oldest events of the oldest streams until all fit.
    fn forget_over(&mut self, limit: usize) {
        for stream in self.streams.values_mut() {
            while self.bytes > limit {
                let freed = stream.forget_oldest();
                self.bytes = self.bytes.saturating_sub(freed);
                if freed == 0 {
                    break;
                }
            }
        }
    }
}

/// Where a stream goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resumed {
    /// Its number.
    pub stream: u64,
    /// What the client has missed, as it was sent.
    pub events: Vec<Bytes>,
    /// Whether that is all there will be.
    pub is_ended: bool,
}

/// Why a stream cannot be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResumeError {
    /// The id is none of this session's.
    Unknown,
    /// What followed is not kept any more.
    Lost,
}

impl fmt::Display for ResumeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "header last-event-id names no event of this session",
            Self::Lost => "what followed the event in header last-event-id is not kept any more",
        })
    }
}

impl std::error::Error for ResumeError {}

/// One stream: the last events of those that were sent.
#[derive(Debug, Default)]
struct Stream {
    sent: u64,
    bytes: usize,
    events: VecDeque<Bytes>,
    is_ended: bool,
}

impl Stream {
    /// Gives how many bytes that freed.
    fn forget_oldest(&mut self) -> usize {
        let freed = self.events.pop_front().map_or(0, |event| event.len());
        self.bytes = self.bytes.saturating_sub(freed);
        freed
    }
}

fn event_id(stream: u64, place: u64) -> Option<EventId> {
    // Always some: digits and a dash are an id.
    EventId::new(&format!("{stream}-{place}")).ok()
}

fn read_id(text: &str) -> Option<(u64, u64)> {
    let (stream, place) = text.trim().split_once('-')?;
    let read = |digits: &str| {
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| digits.parse().ok()).flatten()
    };
    Some((read(stream)?, read(place)?))
}

#[cfg(test)]
mod tests;
