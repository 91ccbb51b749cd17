//! The body of an answer: as a whole, or as events.
//!
//! It holds its connection. Read to the end, the connection is kept for the next request;
//! dropped before, it is closed at once, which a server of the stateless era takes as a
//! cancellation.
//!
//! Specification: RFC 9112, section 6 (framing); basic/transports, Streamable HTTP.

use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, TRANSFER_ENCODING};
use switchboard_protocol::framing::{Event, EventDecoder, EventStreamError};

use super::connection::Connection;
use super::pool::Pool;
use crate::http::gather::Gathered;
use crate::http::room::{Place, SMALL};
use crate::turn::Turn;

/// A body that is being received.
#[derive(Debug)]
pub struct Incoming {
    /// None once the body has ended.
    connection: Option<Box<Connection>>,
    pool: Arc<Pool>,
    limit: usize,
    received: u64,
    /// An encoding that was not asked for.
    encoding: Option<Box<str>>,
    decoder: Option<EventDecoder>,
    /// What came of events and waits for room.
    part: Option<Bytes>,
    /// What came of a long line that goes on, and is not in the decoder yet.
    line: Option<Box<Gathered>>,
    /// What may be held of it.
    place: Place,
    turn: Turn,
}

impl Incoming {
    pub(super) fn new(
        headers: &HeaderMap,
        connection: Box<Connection>,
        pool: Arc<Pool>,
        limit: usize,
    ) -> Self {
        let is_empty = connection.announced() == Some(0);
        let turn = Turn::of(pool.room().party());
        let mut incoming = Self {
            connection: Some(connection),
            pool,
            limit,
            received: 0,
            encoding: unexpected_encoding(headers),
            decoder: None,
            part: None,
            line: None,
            place: Place::small(),
            turn,
        };
        if is_empty {
            incoming.release();
        }
        incoming
    }

    /// The whole body.
    ///
    /// # Errors
    /// When it is larger than the limit, is cut short, or is encoded. What was announced as
    /// too large is not waited for.
    pub async fn collect(mut self) -> Result<Bytes, BodyError> {
        self.check_encoding()?;
        let announced = self
            .connection
            .as_ref()
            .and_then(|connection| connection.announced());
        if let Some(announced) = announced
            && announced > self.limit as u64
        {
            return Err(self.too_large(announced));
        }
        let announced = announced.and_then(|size| usize::try_from(size).ok());
        let mut gathered = Gathered::default();
        while let Some(part) = self.next_part().await? {
            self.check_size(gathered.len().saturating_add(part.len()))?;
            let size = gathered.size_with(part.len());
            let size = size.max(announced.unwrap_or_default());
            self.place.grow(self.pool.room(), size).await;
            gathered.add(part, announced);
        }
        while !gathered.join() {
            self.turn.wait().await;
        }
        Ok(gathered.into_bytes())
    }

    /// The next event of a stream, `None` after the last. Nothing is lost when the future is
    /// dropped.
    ///
    /// # Errors
    /// When the body is cut short or encoded. After [`BodyError::Event`] the stream goes on.
    pub async fn next_event(&mut self) -> Result<Option<Event>, BodyError> {
        self.check_encoding()?;
        let limit = self.limit;
        loop {
            let decoder = self
                .decoder
                .get_or_insert_with(|| EventDecoder::with_limit(limit));
            match decoder.next_event() {
                Some(Ok(event)) => {
                    self.place = Place::small();
                    return Ok(Some(event));
                }
                Some(Err(error)) => {
                    self.place = Place::small();
                    return Err(BodyError::Event(error));
                }
                None => {}
            }
            if let Some(part) = &self.part {
                if self.line_with(part).0 > limit {
                    self.line = None;
                    self.place = Place::small();
                    let error = self.decoder.as_mut().map(EventDecoder::drop_unfinished);
                    return error.map_or(Ok(None), |error| Err(BodyError::Event(error)));
                }
                let size = self.size_with(part);
                self.place.grow(self.pool.room(), size).await;
                while !self.take_some() {
                    self.turn.wait().await;
                }
                continue;
            }
            match self.next_part().await {
                Ok(part @ Some(_)) => self.part = part,
                Ok(None) => {
                    let was_in_line = self.line.take().is_some();
                    let was_cut = self.decoder.as_mut().is_some_and(EventDecoder::finish);
                    return match was_in_line || was_cut {
                        true => Err(BodyError::Broken { source: None }),
                        false => Ok(None),
                    };
                }
                Err(error) => {
                    self.line = None;
                    if let Some(decoder) = &mut self.decoder {
                        decoder.finish();
                    }
                    return Err(error);
                }
            }
        }
    }

    /// How long the line is with this part, if it has begun and is wanted, and whether it goes on.
    fn line_with(&self, part: &[u8]) -> (usize, bool) {
        let end = memchr::memchr2(b'\r', b'\n', part);
        let line = match self.decoder.as_ref().map_or(0, EventDecoder::unfinished) {
            0 => 0,
            begun => begun + self.kept() + end.unwrap_or(part.len()),
        };
        (line, end.is_none())
    }

    /// Does this part stay with what came of a long line, which is joined when it has ended?
    fn is_kept(&self, part: &[u8]) -> bool {
        let (line, goes_on) = self.line_with(part);
        line > LONG && goes_on
    }

    /// What is kept of a long line.
    fn kept(&self) -> usize {
        self.line.as_ref().map_or(0, |line| line.len())
    }

    /// What all that came of this event takes up with this part.
    fn size_with(&self, part: &[u8]) -> usize {
        let held = self.kept().saturating_add(part.len());
        match &self.decoder {
            None => held,
            Some(decoder) if self.is_kept(part) => held.saturating_add(decoder.allocated()),
            // It may have room for more than it will ever hold.
            Some(decoder) => decoder.allocated_with(held).min(self.limit),
        }
    }

    /// Gives the part that waits to the decoder, with what was kept before it, or keeps it too. False if there is
    /// more to give.
    fn take_some(&mut self) -> bool {
        let Some(part) = self.part.take() else {
            return true;
        };
        if self.is_kept(&part) {
            self.line.get_or_insert_default().add(part, None);
            return true;
        }
        let held = self.kept().saturating_add(part.len());
        let Some(decoder) = &mut self.decoder else {
            return true;
        };
        decoder.reserve(held);
        let mut given = 0;
        while let Some(line) = &mut self.line {
            let Some(piece) = line.pop() else {
                self.line = None;
                break;
            };
            decoder.push(&piece);
            given += piece.len();
            if given >= AT_ONCE {
                self.part = Some(part);
                return false;
            }
        }
        decoder.push(&part);
        true
    }

    /// The id to resume the stream from, if its events have any.
    pub fn last_event_id(&self) -> Option<&str> {
        self.decoder.as_ref()?.last_event_id()
    }

    /// How many bytes have come. A stream that sends only comments is alive: this grows.
    pub fn received(&self) -> u64 {
        self.received
    }

    async fn next_part(&mut self) -> Result<Option<Bytes>, BodyError> {
        poll_fn(|cx| self.poll_part(cx)).await
    }

    fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, BodyError>> {
        let Some(connection) = &mut self.connection else {
            return Poll::Ready(Ok(None));
        };
        if self.received > SMALL as u64 {
            ready!(self.turn.poll(cx));
        }
        let outcome = ready!(connection.poll_part(cx));
        Poll::Ready(match outcome {
            Ok(Some(part)) => {
                self.received = self.received.saturating_add(part.len() as u64);
                Ok(Some(part))
            }
            Ok(None) => {
                self.release();
                Ok(None)
            }
            Err(error) => {
                self.connection = None;
                Err(BodyError::Broken {
                    source: Some(error),
                })
            }
        })
    }

    /// The body has ended: the connection may serve others.
    fn release(&mut self) {
        if let Some(mut connection) = self.connection.take()
            && connection.is_reusable()
        {
            self.pool.put(connection);
        }
    }

    fn check_encoding(&self) -> Result<(), BodyError> {
        match &self.encoding {
            Some(found) => Err(BodyError::Encoding {
                found: found.to_string(),
            }),
            None => Ok(()),
        }
    }

    fn check_size(&self, size: usize) -> Result<(), BodyError> {
        match size > self.limit {
            true => Err(self.too_large(size as u64)),
            false => Ok(()),
        }
    }

    const fn too_large(&self, seen: u64) -> BodyError {
        BodyError::TooLarge {
            limit: self.limit,
            seen,
        }
    }
}

/// What is wrong with a body.
#[derive(Debug)]
#[non_exhaustive]
pub enum BodyError {
    /// It is larger than the limit.
    TooLarge {
        /// The limit in bytes.
        limit: usize,
        /// How many bytes were announced or had come.
        seen: u64,
    },
    /// It is packed, which was not asked for. It is not unpacked.
    Encoding {
        /// How, as the header says.
        found: String,
    },
    /// It ended before its end.
    Broken {
        /// What ended it; without one the stream ended in the midst of an event.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// An event is not as it should be. The stream goes on.
    Event(EventStreamError),
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit, seen } => {
                write!(
                    f,
                    "the body of {seen} bytes or more is over the limit of {limit}"
                )
            }
            Self::Encoding { found } => {
                write!(f, "the body has the encoding {found:?}, expected none")
            }
            Self::Broken { source: Some(_) } => f.write_str("the body ended before its end"),
            Self::Broken { source: None } => f.write_str("the stream ended within an event"),
            Self::Event(_) => f.write_str("an event of the stream was dropped"),
        }
    }
}

impl Error for BodyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Broken { source } => source
                .as_deref()
                .map(|source| source as &(dyn Error + 'static)),
            Self::Event(error) => Some(error),
            Self::TooLarge { .. } | Self::Encoding { .. } => None,
        }
    }
}

/// An encoding of the body other than the one that was asked for.
fn unexpected_encoding(headers: &HeaderMap) -> Option<Box<str>> {
    if !headers.contains_key(CONTENT_ENCODING) && !headers.contains_key(TRANSFER_ENCODING) {
        return None;
    }
    let content = headers.get_all(CONTENT_ENCODING).iter();
    let content = content.map(|value| (value, "identity"));
    // The chunks are undone, the rest is not.
    let transfer = headers.get_all(TRANSFER_ENCODING).iter();
    let transfer = transfer.map(|value| (value, "chunked"));
    for (value, expected) in content.chain(transfer) {
        let text = String::from_utf8_lossy(value.as_bytes());
        let is_expected = |name: &str| {
            let name = name.trim();
            name.is_empty() || name.eq_ignore_ascii_case(expected)
        };
        if !text.split(',').all(is_expected) {
            return Some(text.chars().take(LONGEST_NAME).collect());
        }
    }
    None
}

const LONGEST_NAME: usize = 64;

/// About so much of a long line is joined in one step.
const AT_ONCE: usize = 256 * 1024;

/// Of a line that goes on, what is longer is not moved to where there is more room again and again.
const LONG: usize = 64 * 1024;
