//! One connection: a request, its answer, the next request.
//!
//! hyper gives a connection in two halves, one that asks and one that moves the bytes. Here
//! both are in one hand and are polled by whoever waits for the answer, so a connection needs
//! no task of its own; and whoever stops waiting drops it, which closes it.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use super::proxy::ProxyServer;
use super::stream::{self, Check, Stream};
use super::target::Target;

/// A connection that is asked one thing at a time.
pub(super) struct Connection {
    sender: http1::SendRequest<Whole>,
    driver: http1::Connection<TokioIo<Stream>, Whole>,
    check: Check,
    has_ended: bool,
    /// How many requests it was given.
    pub(super) requests: u64,
    pub(super) target: Target,
    /// What its requests say in `Host`.
    pub(super) host_header: HeaderValue,
    /// The proxy that is given whole URLs on this connection.
    pub(super) relay: Option<ProxyServer>,
}

impl Connection {
    pub(super) async fn open(
        bytes: stream::Bytes,
        target: Target,
        host_header: HeaderValue,
        max_header_bytes: usize,
    ) -> hyper::Result<Box<Self>> {
        let check = Check::default();
        let stream = TokioIo::new(Stream::new(bytes, check.clone()));
        let (sender, driver) = http1::Builder::new()
            .max_buf_size(max_header_bytes.max(SMALLEST_BUFFER))
            .handshake(stream)
            .await?;
        Ok(Box::new(Self {
            sender,
            driver,
            check,
            has_ended: false,
            requests: 0,
            target,
            host_header,
            relay: None,
        }))
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn exchange(
        &mut self,
        request: Request<Whole>,
    ) -> Result<Response<Incoming>, Unanswered> {
        self.requests += 1;
        let mut answer = pin!(self.sender.try_send_request(request));
        let outcome = poll_fn(|cx| {
            // The bytes first: they bring the answer.
            self.poll_bytes(cx);
            match answer.as_mut().poll(cx) {
                Poll::Pending if self.has_ended => {
                    // What ended the connection has been said to the other half.
                    answer.as_mut().poll(cx)
                }
                outcome => outcome,
            }
        });
        outcome.await.map_err(|mut error| Unanswered {
            request: error.take_message(),
            error: error.into_error(),
        })
    }

    /// The next part of an answer's body, `None` after the last.
    pub(super) fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        body: &mut Incoming,
    ) -> Poll<Option<hyper::Result<Bytes>>> {
        loop {
            // Asking for a part lets the other half read one, which is then there.
            let mut outcome = Pin::new(&mut *body).poll_frame(cx);
            if outcome.is_pending() {
                self.poll_bytes(cx);
                outcome = Pin::new(&mut *body).poll_frame(cx);
            }
            match outcome {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => return Poll::Ready(Some(Ok(data))),
                    // Trailers say nothing here.
                    Err(_) => continue,
                },
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// After an answer was read to its end: can it be asked again?
    pub(super) fn is_reusable(&mut self, cx: &mut Context<'_>) -> bool {
        self.poll_bytes(cx);
        !self.has_ended && self.sender.is_ready()
    }

    /// After it was idle: is it still there, and has it kept silent?
    pub(super) fn is_alive(&mut self, cx: &mut Context<'_>) -> bool {
        self.check.ask();
        self.poll_bytes(cx);
        !self.check.is_open() && !self.has_ended && self.sender.is_ready()
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) {
        if !self.has_ended && Pin::new(&mut self.driver).poll(cx).is_ready() {
            self.has_ended = true;
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("target", &self.target)
            .field("requests", &self.requests)
            .field("has_ended", &self.has_ended)
            .finish_non_exhaustive()
    }
}

/// A request that was given no answer.
pub(super) struct Unanswered {
    /// The request, if none of it was sent.
    pub(super) request: Option<Request<Whole>>,
    pub(super) error: hyper::Error,
}

/// A body that is there as a whole.
#[derive(Debug)]
pub(super) struct Whole(Bytes);

impl Whole {
    pub(super) const fn new(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

impl Body for Whole {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let bytes = std::mem::take(&mut self.0);
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

// hyper takes no less.
pub(super) const SMALLEST_BUFFER: usize = 8192;
