//! A pipe within a process: a client and a server without a child process or a socket.
//!
//! Bytes only, as on any other pipe; messages are found in them by [`lines`](crate::lines).

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

/// Two ends of a pipe. What is written to one is read from the other.
///
/// Each direction holds as much as a pipe of the system; a writer waits when it is full.
pub fn pair() -> (End, End) {
    pair_holding(CAPACITY)
}

/// Two ends of a pipe that holds at most `capacity` bytes in each direction.
pub fn pair_holding(capacity: usize) -> (End, End) {
    let (near, far) = tokio::io::duplex(capacity);
    (End(near), End(far))
}

/// One end of a pipe within a process.
///
/// When it is dropped, the other end reads what is left and then the end of input.
#[derive(Debug)]
pub struct End(DuplexStream);

impl AsyncRead for End {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for End {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// As much as a pipe holds on Linux.
const CAPACITY: usize = 64 * 1024;
