//! A pipe that is asked to hold more once large messages go through it.
//!
//! Linux gives a pipe 64 KiB. A message of a megabyte goes through in sixteen pieces then, and
//! for each of them both sides are put to sleep and woken: a third of what it costs. A wider
//! pipe is taken from what the user may have in all, so only those ask who need it.

use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A pipe, and how often it was too narrow.
#[derive(Debug)]
pub(crate) struct Wide<P> {
    pipe: P,
    narrow: u8,
}

impl<P: AsFd> Wide<P> {
    pub(crate) const fn new(pipe: P) -> Self {
        Self { pipe, narrow: 0 }
    }

    /// It held as much as it could, or nearly.
    fn was_narrow(&mut self) {
        self.narrow = self.narrow.saturating_add(1);
        if self.narrow == PATIENCE {
            widen(&self.pipe);
        }
    }
}

impl<P: AsyncRead + AsFd + Unpin> AsyncRead for Wide<P> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.pipe).poll_read(cx, buffer));
        if buffer.filled().len() - before >= MUCH {
            self.was_narrow();
        }
        Poll::Ready(read)
    }
}

impl<P: AsyncWrite + AsFd + Unpin> AsyncWrite for Wide<P> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.pipe).poll_write(cx, bytes));
        if let Ok(written) = written
            && written < bytes.len()
        {
            self.was_narrow();
        }
        Poll::Ready(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wanted: usize = slices.iter().map(|slice| slice.len()).sum();
        let written = ready!(Pin::new(&mut self.pipe).poll_write_vectored(cx, slices));
        if let Ok(written) = written
            && written < wanted
        {
            self.was_narrow();
        }
        Poll::Ready(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.pipe.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_shutdown(cx)
    }
}

/// Asks for a wider pipe. Whoever may not have one goes on with what there is.
#[cfg(target_os = "linux")]
fn widen(pipe: &impl AsFd) {
    use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};

    if fcntl_getpipe_size(pipe).is_ok_and(|size| size < WIDTH) {
        let _ = fcntl_setpipe_size(pipe, WIDTH);
    }
}

#[cfg(not(target_os = "linux"))]
fn widen(_pipe: &impl AsFd) {}

/// So often, and it is not by chance.
const PATIENCE: u8 = 4;

/// Half of what a pipe holds unless somebody asks: more than any small message.
const MUCH: usize = 32 * 1024;

/// What anybody may ask for on Linux.
#[cfg(target_os = "linux")]
const WIDTH: usize = 1024 * 1024;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::pipe::fcntl_getpipe_size;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::unix::pipe;

    use super::*;

    async fn width_after(message: usize, times: usize) -> usize {
        let (sender, receiver) = pipe::pipe().expect("a pipe");
        let (mut sender, mut receiver) = (Wide::new(sender), Wide::new(receiver));
        let text = vec![b'x'; message];
        for _ in 0..times {
            let mut read = vec![0; message];
            let (written, read) =
                tokio::join!(sender.write_all(&text), receiver.read_exact(&mut read));
            written.expect("there is room");
            read.expect("it was written");
        }
        fcntl_getpipe_size(&sender.pipe).expect("it is a pipe")
    }

    #[tokio::test]
    async fn large_messages_get_a_wider_pipe() {
        let usual = width_after(1, 1).await;
        assert!(width_after(1024 * 1024, 1).await > usual);
    }

    #[tokio::test]
    async fn small_messages_do_not() {
        let usual = width_after(1, 1).await;
        assert_eq!(width_after(1024, 200).await, usual);
    }
}
