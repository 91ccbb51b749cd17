//! One connection: a request, its answer, the next request.
//!
//! Whoever waits for the answer reads and writes here itself, so a connection needs no task,
//! no channel and no lock, and it is known what of a request was written. Whoever stops
//! waiting drops it, which closes it.
//!
//! - `request`: how a request is written
//! - `head`: how the head of an answer is read, and where its body ends
//! - `body`: the parts of a body
//!
//! Specification: RFC 9112.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use switchboard_protocol::http::negotiate::Format;
use tokio::io::{AsyncReadExt, AsyncWrite};

use super::content::Content;
use super::proxy::ProxyServer;
use super::stream::Stream;
use super::target::Target;
use crate::http::framing::ends_within;

mod body;
mod head;
mod request;

use body::Remaining;

/// A connection that is asked one thing at a time.
pub(super) struct Connection {
    stream: Stream,
    /// What was read and not used yet.
    buffer: BytesMut,
    /// How much of a body was read last.
    last_read: usize,
    /// The request that is being written.
    outgoing: Vec<u8>,
    /// What is still to come of the answer's body.
    remaining: Remaining,
    /// Whether another request may follow.
    is_kept: bool,
    max_header_bytes: usize,
    pub(super) target: Target,
    /// What its requests say in `Host`.
    pub(super) host_header: HeaderValue,
    /// The proxy that is given whole URLs on this connection.
    pub(super) relay: Option<ProxyServer>,
}

/// The head of an answer.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
}

/// A request that was given no answer.
#[derive(Debug)]
pub(super) struct Unanswered {
    /// Whether any of it was written.
    pub(super) was_sent: bool,
    pub(super) fault: Fault,
}

/// What ended a connection.
#[derive(Debug)]
pub(super) enum Fault {
    Lost(io::Error),
    HeaderTooLarge,
    NotHttp(Box<dyn Error + Send + Sync>),
}

impl Connection {
    pub(super) fn new(
        stream: Stream,
        target: Target,
        host_header: HeaderValue,
        max_header_bytes: usize,
    ) -> Self {
        Self {
            stream,
            buffer: BytesMut::new(),
            last_read: 0,
            outgoing: Vec::new(),
            remaining: Remaining::Nothing,
            is_kept: true,
            max_header_bytes,
            target,
            host_header,
            relay: None,
        }
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn exchange(
        &mut self,
        head: &Parts,
        content: &Content,
    ) -> Result<Answer, Unanswered> {
        let mut outgoing = std::mem::take(&mut self.outgoing);
        let mut sending = self.begin(&mut outgoing, head, content);
        let mut checked = 0;
        let outcome = poll_fn(|cx| {
            // A server may answer before it has read everything, so reading does not wait.
            let is_written = sending.poll_write(cx, &mut self.stream);
            let outcome = ready!(self.poll_head(cx, &mut checked, &head.method));
            // What was not written now never is.
            self.is_kept &= is_written.is_ready() && sending.error.is_none();
            Poll::Ready(outcome)
        })
        .await;
        let was_sent = sending.written > 0;
        // The first error is the cause of the second.
        let fault = match (outcome, sending.error) {
            (Ok(answer), _) => {
                // Whoever ends such a stream mostly ends its connection with it, a moment later: what
                // was sent by then would be lost.
                let is_stream = || Format::of(&answer.headers) == Some(Format::EventStream);
                self.is_kept &= head.method != Method::GET || !is_stream();
                self.outgoing = outgoing;
                self.outgoing.shrink_to(LARGEST_KEPT);
                return Ok(answer);
            }
            (Err(Fault::Lost(_)), Some(error)) => Fault::Lost(error),
            (Err(fault), _) => fault,
        };
        Err(Unanswered { was_sent, fault })
    }

    /// What is written of a request. What does not stand elsewhere goes into the buffer.
    fn begin<'a>(
        &self,
        outgoing: &'a mut Vec<u8>,
        head: &Parts,
        content: &'a Content,
    ) -> Sending<'a> {
        outgoing.clear();
        let length = content.length();
        request::write_head(outgoing, head, length, self);
        // One write is worth a copy, up to a point.
        let [front, mut text, mut tail] = content.pieces();
        outgoing.extend_from_slice(front);
        if length <= LARGEST_COPY {
            outgoing.extend_from_slice(text);
            outgoing.extend_from_slice(tail);
            (text, tail) = (&[], &[]);
        }
        Sending {
            pieces: [outgoing, text, tail],
            written: 0,
            error: None,
        }
    }

    /// After an answer was read to its end: can it be asked again?
    pub(super) fn is_reusable(&mut self) -> bool {
        if self.buffer.capacity() > LARGEST_KEPT && self.buffer.is_empty() {
            self.buffer = BytesMut::new();
        }
        // More than the answer is what nobody asked for.
        self.is_kept && matches!(self.remaining, Remaining::Nothing) && self.buffer.is_empty()
    }

    /// After it was idle: is it still there, and has it kept silent?
    pub(super) fn is_silent(&self) -> bool {
        self.stream.is_silent()
    }

    /// How long the body is, if that was said and it is not read yet.
    pub(super) const fn announced(&self) -> Option<u64> {
        match self.remaining {
            Remaining::Nothing => Some(0),
            Remaining::Exactly(length) => Some(length),
            Remaining::Chunks(_) | Remaining::UntilClosed => None,
        }
    }

    /// Reads the head of the final answer. `checked` is how much was looked at in vain.
    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        checked: &mut usize,
        method: &Method,
    ) -> Poll<Result<Answer, Fault>> {
        loop {
            // A head that trickles is not parsed for every byte of it.
            let is_worth_it = match *checked {
                0 => !self.buffer.is_empty(),
                looked_at => ends_within(&self.buffer, looked_at),
            };
            if is_worth_it {
                let before = self.buffer.len();
                let found = head::read(&mut self.buffer, method)?;
                if before.saturating_sub(self.buffer.len()) > self.max_header_bytes {
                    return Poll::Ready(Err(Fault::HeaderTooLarge));
                }
                match found {
                    // What comes before the answer says nothing to us.
                    Some(found) if found.status.is_informational() && found.status != SWITCHING => {
                        *checked = 0;
                        continue;
                    }
                    Some(found) => {
                        self.remaining = found.remaining;
                        self.is_kept = found.is_kept;
                        return Poll::Ready(Ok(Answer {
                            status: found.status,
                            headers: found.headers,
                        }));
                    }
                    None => {}
                }
            }
            *checked = self.buffer.len();
            if self.buffer.len() > self.max_header_bytes {
                return Poll::Ready(Err(Fault::HeaderTooLarge));
            }
            match ready!(self.poll_read(cx, READ_SIZE)) {
                Ok(0) => {
                    let error = io::Error::from(io::ErrorKind::UnexpectedEof);
                    return Poll::Ready(Err(Fault::Lost(error)));
                }
                Ok(_) => {}
                Err(error) => return Poll::Ready(Err(Fault::Lost(error))),
            }
        }
    }

    /// Appends to the buffer what can be read; 0 is the end.
    fn poll_read(&mut self, cx: &mut Context<'_>, size: usize) -> Poll<io::Result<usize>> {
        self.buffer.reserve(size);
        // It holds nothing between two polls.
        let mut reading = pin!(self.stream.read_buf(&mut self.buffer));
        reading.as_mut().poll(cx)
    }
}

/// A request that is being written.
struct Sending<'a> {
    pieces: [&'a [u8]; 3],
    written: usize,
    error: Option<io::Error>,
}

impl<'a> Sending<'a> {
    /// Ready when there is nothing left to do, which an error also is.
    fn poll_write(&mut self, cx: &mut Context<'_>, stream: &mut Stream) -> Poll<()> {
        if self.error.is_some() {
            return Poll::Ready(());
        }
        let outcome = loop {
            let written = match self.left() {
                ([], _) => break ready!(Pin::new(stream).poll_flush(cx)),
                (one, []) => Pin::new(&mut *stream).poll_write(cx, one),
                (one, next) => {
                    let buffers = [IoSlice::new(one), IoSlice::new(next)];
                    Pin::new(&mut *stream).poll_write_vectored(cx, &buffers)
                }
            };
            match ready!(written) {
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.written = self.written.saturating_add(count),
                Err(error) => break Err(error),
            }
        };
        self.error = outcome.err();
        Poll::Ready(())
    }

    /// What is still to be written of the first piece that has something left, and of the next.
    fn left(&self) -> (&'a [u8], &'a [u8]) {
        let mut written = self.written;
        let mut left = self.pieces.iter().filter_map(|piece| {
            let start = written.min(piece.len());
            written -= start;
            piece.get(start..).filter(|left| !left.is_empty())
        });
        let mut next = || left.next().unwrap_or_default();
        (next(), next())
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("target", &self.target)
            .field("remaining", &self.remaining)
            .field("is_kept", &self.is_kept)
            .finish_non_exhaustive()
    }
}

const SWITCHING: StatusCode = StatusCode::SWITCHING_PROTOCOLS;

// Most answers are read at once.
const READ_SIZE: usize = 4096;

const LARGEST_COPY: usize = 32 * 1024;

// What an idle connection may hold on to.
const LARGEST_KEPT: usize = 8 * 1024;
