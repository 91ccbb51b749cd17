//! The two directions of a connection, and what is seen of its life there.
//!
//! Requests are taken out, bodies are read as they are wanted, responses are written. Whose turn
//! that is, is decided in `connection`; whether bytes move often enough, in `watch`.
//!
//! What is read goes to the stack first: a connection that waits holds no memory for it.
//!
//! Specification: RFC 9112, sections 6, 7.1 and 9.

use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::head::{Bounds, Head, HeadReader, Refused, Remaining};
use super::outgoing::Outgoing;
use crate::http::chunks::{PartError, Step, take};
use crate::http::framing::ends_within;
use crate::turn::Turn;

/// A socket, and what is on its way on both sides of it.
#[derive(Debug)]
pub(super) struct Wire<S> {
    stream: S,
    heads: HeadReader,
    /// What was read and not used yet.
    buffer: BytesMut,
    /// How much of it was looked at for the end of a head.
    checked: usize,
    /// How much of a body was read last.
    last_read: usize,
    /// What is still to come of the body of this request.
    remaining: Remaining,
    /// The client waits to be told that its body is wanted.
    expects: bool,
    pub(super) outgoing: Outgoing,
    pub(super) progress: Progress,
    closing: Option<Closing>,
    turn: Turn,
}

/// What has happened on a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// How many requests have begun.
    pub(super) requests: u32,
    /// Whether the last of them is not answered to the end.
    pub(super) is_serving: bool,
    /// How often something could be written.
    pub(super) writes: u32,
    /// Whether something waits to be written.
    pub(super) is_blocked: bool,
}

/// Reads on for a moment after the last byte was written.
///
/// A socket that is closed with bytes unread is reset, and with that the peer may lose what
/// was written to it: the answer to a body that was too large to be read.
#[derive(Debug)]
struct Closing {
    timer: Pin<Box<Sleep>>,
    unread: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    pub(super) fn new(stream: S, bounds: Bounds) -> Self {
        Self {
            stream,
            heads: HeadReader::new(bounds),
            buffer: BytesMut::new(),
            last_read: 0,
            checked: 0,
            remaining: Remaining::Nothing,
            expects: false,
            outgoing: Outgoing::default(),
            progress: Progress::default(),
            closing: None,
            turn: Turn::default(),
        }
    }

    /// Has something come that belongs to no request yet?
    pub(super) fn is_reading(&self) -> bool {
        !self.progress.is_serving && !self.buffer.is_empty()
    }

    /// The next request; none when the client has gone.
    pub(super) fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Head>, Refused>> {
        loop {
            if self.skip_empty_lines() {
                self.checked = 0;
            }
            // A head that trickles is not parsed for every byte of it.
            let is_worth_it = match self.checked {
                0 => !self.buffer.is_empty(),
                looked_at => {
                    self.buffer.len() > self.heads.most() || ends_within(&self.buffer, looked_at)
                }
            };
            if is_worth_it && let Some(mut head) = self.heads.read(&self.buffer)? {
                self.buffer.advance(head.length);
                self.let_go_of_buffer();
                self.begin(&mut head);
                return Poll::Ready(Ok(Some(head)));
            }
            self.checked = self.buffer.len();
            let mut space = [const { MaybeUninit::uninit() }; READ_SIZE];
            let mut read = ReadBuf::uninit(&mut space);
            let outcome = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut read));
            let new = read.filled();
            if outcome.is_err() || new.is_empty() {
                return Poll::Ready(Ok(None));
            }
            // Mostly it is a request, and nothing else.
            if self.buffer.is_empty()
                && let Some(mut head) = self.heads.read(new)?
            {
                self.buffer
                    .extend_from_slice(new.get(head.length..).unwrap_or_default());
                self.begin(&mut head);
                return Poll::Ready(Ok(Some(head)));
            }
            if self.buffer.is_empty() {
                // It was looked at just now.
                self.checked = new.len();
            }
            self.buffer.extend_from_slice(new);
        }
    }

    fn begin(&mut self, head: &mut Head) {
        self.checked = 0;
        self.remaining = std::mem::take(&mut head.remaining);
        self.expects = head.expects && !matches!(self.remaining, Remaining::Nothing);
        self.progress.requests = self.progress.requests.wrapping_add(1);
        self.progress.is_serving = true;
    }

    /// How much of the body is still to come: at least, and at most if that is known.
    pub(super) fn left(&self) -> (u64, Option<u64>) {
        match self.remaining {
            Remaining::Nothing => (0, Some(0)),
            Remaining::Exactly(left) => (left, Some(left)),
            Remaining::Chunks(_) | Remaining::Broken => (0, None),
        }
    }

    /// The next part of the body, `None` after the last.
    pub(super) fn poll_part(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, PartError>>> {
        if std::mem::take(&mut self.expects) {
            self.outgoing.add_continue();
        }
        if (!self.outgoing.is_empty() || self.progress.is_blocked)
            && let Err(error) = ready!(self.poll_write(cx))
        {
            return Poll::Ready(Some(Err(error.into())));
        }
        let outcome = ready!(self.poll_step(cx));
        match &outcome {
            // Whoever knows the length need not ask for the end.
            Ok(Some(_)) if !matches!(self.remaining, Remaining::Exactly(0)) => {}
            Ok(_) => {
                self.remaining = Remaining::Nothing;
                // The response may be written for long.
                self.let_go_of_buffer();
            }
            Err(_) => self.remaining = Remaining::Broken,
        }
        Poll::Ready(outcome.transpose())
    }

    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, PartError>> {
        loop {
            let step = match &mut self.remaining {
                Remaining::Nothing | Remaining::Exactly(0) => Step::End,
                Remaining::Exactly(left) => take(&mut self.buffer, left),
                Remaining::Chunks(chunks) => chunks.step(&mut self.buffer)?,
                Remaining::Broken => return Poll::Ready(Err("the body was broken before".into())),
            };
            match step {
                Step::Part(part) => return Poll::Ready(Ok(Some(part))),
                Step::End => return Poll::Ready(Ok(None)),
                Step::Wait => {}
            }
            let size = match self.remaining {
                Remaining::Exactly(left) => usize::try_from(left).unwrap_or(usize::MAX),
                // As long as there is always more, more is read at once.
                _ => self.last_read.saturating_mul(2),
            };
            self.buffer.reserve(size.clamp(SMALLEST_READ, LARGEST_READ));
            let mut limited = (&mut self.stream).take(LARGEST_READ as u64);
            // It holds nothing between two polls.
            let reading = pin!(limited.read_buf(&mut self.buffer));
            self.last_read = ready!(reading.poll(cx))?;
            if self.last_read == 0 {
                return Poll::Ready(Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()));
            }
        }
    }

    /// Ready when the client has gone, as far as that can be seen while it waits for a response.
    pub(super) fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // While there is more to read, its end is not.
        if !matches!(self.remaining, Remaining::Nothing) {
            return Poll::Pending;
        }
        loop {
            self.skip_empty_lines();
            if !self.buffer.is_empty() {
                return Poll::Pending;
            }
            let mut space = [const { MaybeUninit::uninit() }; READ_SIZE];
            let mut read = ReadBuf::uninit(&mut space);
            let outcome = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut read));
            if outcome.is_err() || read.filled().is_empty() {
                return Poll::Ready(());
            }
            self.buffer.extend_from_slice(read.filled());
        }
    }

    /// Lines without anything between two requests are none of either: RFC 9112, 2.2.
    #[inline]
    fn skip_empty_lines(&mut self) -> bool {
        if self.buffer.is_empty() {
            // Nearly always.
            self.let_go_of_buffer();
            return false;
        }
        let mut rest = &*self.buffer;
        while let Some(next) = rest.strip_prefix(b"\r\n").or(rest.strip_prefix(b"\n")) {
            rest = next;
        }
        let empty = self.buffer.len() - rest.len();
        self.buffer.advance(empty);
        self.let_go_of_buffer();
        empty > 0
    }

    /// What is read into stays no longer than there is something in it.
    #[inline]
    fn let_go_of_buffer(&mut self) {
        if self.buffer.is_empty() && self.buffer.capacity() > 0 {
            self.buffer = BytesMut::new();
        }
    }

    /// Can what is left of the body of this request be passed over?
    pub(super) fn is_at_end(&self) -> bool {
        match self.remaining {
            Remaining::Nothing => true,
            Remaining::Exactly(left) => {
                !self.expects && usize::try_from(left).is_ok_and(|left| left <= self.buffer.len())
            }
            Remaining::Chunks(_) | Remaining::Broken => false,
        }
    }

    /// The response is written: the next request may come, if that is where the last one ended.
    pub(super) fn finish(&mut self) {
        if let Remaining::Exactly(left) = self.remaining {
            let left = usize::try_from(left).unwrap_or(usize::MAX);
            self.buffer.advance(left.min(self.buffer.len()));
        }
        self.skip_empty_lines();
        self.remaining = Remaining::Nothing;
        self.progress.is_serving = false;
    }

    /// Writes all that is to be written.
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.outgoing.is_empty() {
            if self.outgoing.len() > LARGEST_WRITE {
                ready!(self.turn.poll(cx));
            }
            let outcome = self
                .outgoing
                .poll_write(&mut self.stream, cx, LARGEST_WRITE);
            self.progress.is_blocked = outcome.is_pending();
            if ready!(outcome)? == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.progress.writes = self.progress.writes.wrapping_add(1);
        }
        // A stream that buffers by itself, such as one of TLS, has taken all of it and waits here.
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.progress.is_blocked = flushed.is_pending();
        flushed
    }

    /// Ends the connection, when the client has what was written.
    pub(super) fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.closing.is_none() && ready!(Pin::new(&mut self.stream).poll_shutdown(cx)).is_err() {
            return Poll::Ready(());
        }
        let Self {
            stream, closing, ..
        } = self;
        let closing = closing.get_or_insert_with(Closing::new);
        closing.poll_end(stream, cx)
    }
}

impl Closing {
    fn new() -> Self {
        Self {
            timer: Box::pin(tokio::time::sleep(LINGER)),
            unread: MOST_UNREAD,
        }
    }

    fn poll_end<S: AsyncRead + Unpin>(&mut self, stream: &mut S, cx: &mut Context<'_>) -> Poll<()> {
        let mut space = [const { MaybeUninit::uninit() }; READ_SIZE];
        while self.unread > 0 {
            let mut read = ReadBuf::uninit(&mut space);
            match Pin::new(&mut *stream).poll_read(cx, &mut read) {
                Poll::Ready(Ok(())) if !read.filled().is_empty() => {
                    self.unread = self.unread.saturating_sub(read.filled().len());
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return self.timer.as_mut().poll(cx),
            }
        }
        Poll::Ready(())
    }
}

// A client that still sends after the answer sees it within a round trip.
const LINGER: Duration = Duration::from_secs(1);

const MOST_UNREAD: usize = 1024 * 1024;

/// Nearly every request comes in one.
const READ_SIZE: usize = 8 * 1024;

const SMALLEST_READ: usize = 4 * 1024;

/// Of a large body. More would be held for each connection.
const LARGEST_READ: usize = 64 * 1024;

// The kernel would take megabytes at once, and others wait for as long as it copies them.
const LARGEST_WRITE: usize = 128 * 1024;
