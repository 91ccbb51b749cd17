//! The bytes of one connection, plain or through TLS.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// A stream that can be asked whether it is still silent.
#[derive(Debug)]
pub(super) struct Stream {
    bytes: Bytes,
    check: Check,
}

#[derive(Debug)]
pub(super) enum Bytes {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

/// Asks the next read to look at the socket itself.
///
/// What the runtime knows of a socket is as old as its last look at all of them. A server that
/// closed a kept connection since would be sent a request that then may have run or not.
#[derive(Clone, Debug, Default)]
pub(super) struct Check(Arc<AtomicBool>);

impl Check {
    // One task at a time has the connection, so nothing else is ordered by this.
    pub(super) fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_open(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn answer(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Stream {
    pub(super) const fn new(bytes: Bytes, check: Check) -> Self {
        Self { bytes, check }
    }

    /// Nothing may wait on an idle connection, neither its end nor an answer nobody asked for.
    fn check_silence(&self) -> io::Result<()> {
        self.check.answer();
        let socket = match &self.bytes {
            Bytes::Plain(socket) => socket,
            Bytes::Secure(stream) => stream.get_ref().0,
        };
        match SockRef::from(socket).peek(&mut [MaybeUninit::uninit()]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.check.is_open() {
            self.check_silence()?;
        }
        match &mut self.bytes {
            Bytes::Plain(socket) => Pin::new(socket).poll_read(cx, buffer),
            Bytes::Secure(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.bytes {
            Bytes::Plain(socket) => Pin::new(socket).poll_write(cx, bytes),
            Bytes::Secure(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.bytes {
            Bytes::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Bytes::Secure(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.bytes {
            Bytes::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Bytes::Secure(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.bytes {
            Bytes::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, buffers),
            Bytes::Secure(stream) => Pin::new(stream).poll_write_vectored(cx, buffers),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.bytes {
            Bytes::Plain(socket) => socket.is_write_vectored(),
            Bytes::Secure(stream) => stream.is_write_vectored(),
        }
    }
}
