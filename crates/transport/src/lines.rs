//! Messages on a pipe, one per line.
//!
//! Reads into the decoder's own buffer, so that a message shares the bytes that were read, and
//! joins what is sent into as few writes as possible. It never waits and has no task: whoever
//! drives a connection polls it, decides when to write and how much may be queued.
//!
//! A small message in and one out take about 460 instructions together, without parsing, and no
//! allocation (x86-64, 64 lines to a read, counted with callgrind).
//!
//! Specification: basic/transports, stdio.

mod outgoing;

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::{BufMut, BytesMut};
use switchboard_protocol::framing::{Line, LineDecoder};
use switchboard_protocol::jsonrpc::{Limits, Message, Response};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use outgoing::Outgoing;

/// Both directions of a connection whose messages are lines.
///
/// Take every line that is there before reading more, and write only when none is left: then
/// calls that came together are answered together.
///
/// ```
/// use std::future::poll_fn;
///
/// use switchboard_protocol::Method;
/// use switchboard_protocol::jsonrpc::{Limits, Notification};
/// use switchboard_transport::{lines::Lines, memory};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let (near, far) = memory::pair();
/// let (read, write) = tokio::io::split(near);
/// let mut near = Lines::new(read, write, Limits::default());
/// let (read, write) = tokio::io::split(far);
/// let mut far = Lines::new(read, write, Limits::default());
///
/// near.send(&Notification::new(Method::Initialized, None).into());
/// poll_fn(|cx| near.poll_flush(cx)).await?;
///
/// assert!(poll_fn(|cx| far.poll_read(cx)).await?);
/// let line = far.next_line().expect("a line has come");
/// assert!(line.read(&Limits::default()).is_ok());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Lines<R, W> {
    read: R,
    write: W,
    decoder: LineDecoder,
    /// The last read left no room, so more was there than was asked for.
    read_was_full: bool,
    ended: bool,
    outgoing: Outgoing,
    /// Something was written since the writer was flushed.
    unflushed: bool,
}

impl<R, W> Lines<R, W> {
    /// Lines over a reader and a writer. Of the limits, the bytes of a frame count here.
    pub fn new(read: R, write: W, limits: Limits) -> Self {
        Self {
            read,
            write,
            decoder: LineDecoder::with_limit(limits.bytes),
            read_was_full: false,
            ended: false,
            outgoing: Outgoing::default(),
            unflushed: false,
        }
    }

    /// The next line that has come completely. Does no I/O.
    ///
    /// Its text shares the read buffer: whoever keeps a short one for long copies it.
    pub fn next_line(&mut self) -> Option<Line> {
        self.decoder.next_line()
    }

    /// The next line after [the end of input](Self::poll_read); the last one needs no line feed.
    /// Before the end it is the same as [`next_line`](Self::next_line).
    pub fn finish_line(&mut self) -> Option<Line> {
        if self.ended {
            self.decoder.finish()
        } else {
            self.decoder.next_line()
        }
    }

    /// Queues a message. [`poll_flush`](Self::poll_flush) writes it.
    ///
    /// A small one is copied behind those that wait; the payload of a large one is shared.
    pub fn send(&mut self, message: &Message) {
        self.outgoing.push(message);
        self.outgoing.end_line();
    }

    /// Queues a response, in the same way.
    pub fn send_response(&mut self, response: &Response) {
        self.outgoing.push_response(response);
        self.outgoing.end_line();
    }

    /// Queues a short message that is written by whoever knows it: one line of text that is
    /// appended without its end.
    pub fn send_written(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(self.outgoing.text());
        self.outgoing.end_line();
    }

    /// Queues the answers of a batch as one array.
    pub fn send_batch(&mut self, responses: &[Response]) {
        self.outgoing.push_batch(responses);
        self.outgoing.end_line();
    }

    /// How many bytes wait to be written.
    ///
    /// The queue takes what it is given. Whoever sends looks here and stops taking work while a
    /// slow reader leaves too much behind.
    pub fn queued(&self) -> usize {
        self.outgoing.len()
    }

    /// The reader and the writer. What was read or queued and not yet taken or written is lost.
    pub fn into_inner(self) -> (R, W) {
        (self.read, self.write)
    }
}

impl<R: AsyncRead + Unpin, W> Lines<R, W> {
    /// Is there perhaps more to be read, which waits until what has come of a large line is moved to
    /// where there is room for it? Whoever reads is woken at once.
    pub const fn is_making_room(&self) -> bool {
        self.decoder.is_moving()
    }

    /// Reads once. Call it when [`next_line`](Self::next_line) gives nothing.
    ///
    /// `Ok(true)` when bytes have come, which need not complete a line; `Ok(false)` at the end
    /// of input, from then on always. Pending says that nothing has come, unless it [makes
    /// room](Self::is_making_room) for more of a large line first.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if self.ended {
            return Poll::Ready(Ok(false));
        }
        if !self.decoder.make_room() {
            // Others go on before more of it is copied.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let buffer = self.decoder.buffer_mut();
        if self.read_was_full {
            make_room(buffer);
        }
        let room = (buffer.capacity() - buffer.len()).min(MOST);
        // The future holds nothing between two polls, so it can be made anew for each.
        let count = ready!(pin!(self.read.read_buf(&mut buffer.limit(MOST))).poll(cx))?;
        self.read_was_full = count == room;
        self.ended = count == 0;
        Poll::Ready(Ok(!self.ended))
    }
}

impl<R, W: AsyncWrite + Unpin> Lines<R, W> {
    /// Writes what is queued. Ready when nothing is left, and at once when nothing was there.
    ///
    /// # Errors
    /// Those of the writer; the queue stays as it is.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.outgoing.is_empty() {
            let written = ready!(self.outgoing.poll_write(Pin::new(&mut self.write), cx))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.outgoing.advance(written);
            self.unflushed = true;
        }
        if self.unflushed {
            ready!(Pin::new(&mut self.write).poll_flush(cx))?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Writes what is queued and shuts the writer down, so that the peer sees the end.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_flush(cx))?;
        Pin::new(&mut self.write).poll_shutdown(cx)
    }
}

/// Makes room for a large read. The decoder's own buffer is for peers that say little at a time,
/// and it grows by itself for a message that does not fit.
fn make_room(buffer: &mut BytesMut) {
    let length = buffer.len();
    let has_room = |buffer: &BytesMut| buffer.capacity() - length >= READ / 2;
    if length > READ / 4 || has_room(buffer) || buffer.try_reclaim(READ / 2) {
        return;
    }
    // Not `reserve`, which would double what is already large enough.
    let mut larger = BytesMut::with_capacity(READ);
    larger.extend_from_slice(buffer);
    *buffer = larger;
}

/// As much as a pipe holds on Linux.
const READ: usize = 64 * 1024;
/// Whoever has a large buffer and a wide pipe takes no more at a time than others can wait for.
const MOST: usize = 128 * 1024;
