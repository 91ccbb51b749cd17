//! A connection's socket, and what is seen of its life from there.
//!
//! It notes whether bytes move; whether that is enough is judged in `listen`, every few
//! seconds. Nothing is timed per request.

use std::convert::Infallible;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use super::Body;
use crate::turn::Turn;

/// What happened on a connection. Only its own task writes and reads it.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// How many requests have begun.
    pub(super) requests: AtomicU32,
    /// How many of them are not answered to the end.
    open: AtomicU32,
    /// Whether bytes came that belong to no request yet.
    reading: AtomicBool,
    /// How often something could be written.
    pub(super) writes: AtomicU32,
    /// Whether something waits to be written.
    blocked: AtomicBool,
}

impl Activity {
    pub(super) fn begin(self: &Arc<Self>) -> Open {
        count(&self.requests);
        count(&self.open);
        Open(Arc::clone(self))
    }

    pub(super) fn is_serving(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }

    pub(super) fn is_reading(&self) -> bool {
        self.reading.load(Ordering::Relaxed)
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.blocked.load(Ordering::Relaxed)
    }

    fn note_write(&self, outcome: &Poll<io::Result<usize>>) {
        match outcome {
            Poll::Ready(_) => {
                count(&self.writes);
                self.blocked.store(false, Ordering::Relaxed);
            }
            Poll::Pending => self.blocked.store(true, Ordering::Relaxed),
        }
    }
}

/// One more. Nobody else counts, so it need not be done in one step, which costs more.
fn count(counter: &AtomicU32) {
    let counted = counter.load(Ordering::Relaxed);
    counter.store(counted.wrapping_add(1), Ordering::Relaxed);
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Open(Arc<Activity>);

impl Drop for Open {
    fn drop(&mut self) {
        let open = self.0.open.load(Ordering::Relaxed);
        self.0.open.store(open.wrapping_sub(1), Ordering::Relaxed);
        // What came so far was for this request.
        self.0.reading.store(false, Ordering::Relaxed);
    }
}

/// A body whose request is open until it is written or given up.
#[derive(Debug)]
pub(super) struct OpenBody {
    pub(super) body: Body,
    pub(super) _open: Open,
}

impl http_body::Body for OpenBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A socket that notes what it does.
#[derive(Debug)]
pub(super) struct Socket {
    stream: TokioIo<TcpStream>,
    activity: Arc<Activity>,
    closing: Option<Closing>,
    turn: Turn,
}

impl Socket {
    pub(super) fn new(stream: TokioIo<TcpStream>, activity: Arc<Activity>) -> Self {
        Self {
            stream,
            activity,
            closing: None,
            turn: Turn::default(),
        }
    }

    /// Writes a part of much, when others have had their turn.
    fn poll_write_part(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.turn.poll(cx));
        let part = bytes.get(..LARGEST_WRITE).unwrap_or(bytes);
        let outcome = Pin::new(&mut self.stream).poll_write(cx, part);
        self.activity.note_write(&outcome);
        outcome
    }
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

impl Closing {
    fn new() -> Self {
        Self {
            timer: Box::pin(tokio::time::sleep(LINGER)),
            unread: MOST_UNREAD,
        }
    }

    fn poll_end(&mut self, stream: &mut TcpStream, cx: &mut Context<'_>) -> Poll<()> {
        let mut space = [0; 4096];
        while self.unread > 0 {
            let mut buffer = ReadBuf::new(&mut space);
            match Pin::new(&mut *stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    self.unread = self.unread.saturating_sub(buffer.filled().len());
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return self.timer.as_mut().poll(cx),
            }
        }
        Poll::Ready(())
    }
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if outcome.is_ready() {
            self.activity.reading.store(true, Ordering::Relaxed);
        }
        outcome
    }
}

impl Write for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if bytes.len() > LARGEST_WRITE {
            return self.poll_write_part(cx, bytes);
        }
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.activity.note_write(&outcome);
        outcome
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.closing.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        }
        let Self {
            stream, closing, ..
        } = &mut *self;
        let closing = closing.get_or_insert_with(Closing::new);
        closing.poll_end(stream.inner_mut(), cx).map(Ok)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let Some(first) = buffers.iter().find(|buffer| !buffer.is_empty())
            && buffers.iter().map(|buffer| buffer.len()).sum::<usize>() > LARGEST_WRITE
        {
            return self.poll_write_part(cx, first);
        }
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, buffers);
        self.activity.note_write(&outcome);
        outcome
    }
}

// A client that still sends after the answer sees it within a round trip.
const LINGER: Duration = Duration::from_secs(1);

const MOST_UNREAD: usize = 1024 * 1024;

// The kernel would take megabytes at once, and others wait for as long as it copies them.
const LARGEST_WRITE: usize = 128 * 1024;
