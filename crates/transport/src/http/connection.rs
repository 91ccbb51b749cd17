//! One connection of a client: its requests come one after the other, and each is answered.
//!
//! Whoever waits for a body reads the socket itself, so a connection is one task without channels,
//! and holds memory only for what is on its way.
//!
//! - `head`: how the head of a request is read, and where its body ends
//! - `incoming`: the body of a request
//! - `outgoing`: how a response is written
//! - `wire`: the socket between them
//! - `watch`: who keeps us waiting for too long
//!
//! Specification: RFC 9112, section 9.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http::{Method, Response, Version};
use http_body::Body as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;

use super::{Body, Front, RequestHead};
use crate::turn::Turn;

mod head;
mod incoming;
mod outgoing;
mod watch;
mod wire;

use self::head::{Bounds, Head, Refused};
pub use self::incoming::Incoming;
use self::outgoing::{Ending, ending};
use self::watch::Watch;
use self::wire::Wire;

/// Tells all connections that it is time to stop.
#[derive(Debug, Default)]
pub(super) struct Stop {
    is_asked: AtomicBool,
    news: Notify,
}

impl Stop {
    pub(super) fn ask(&self) {
        self.is_asked.store(true, Ordering::Release);
        self.news.notify_waiters();
    }

    fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Acquire)
    }
}

/// Serves one connection to its end.
pub(super) async fn serve_connection<S>(stream: S, front: impl Front, stop: Arc<Stop>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let settings = front.settings();
    let bounds = Bounds {
        headers: settings.max_headers,
        bytes: settings.max_header_bytes,
    };
    let wire = Arc::new(Mutex::new(Wire::new(stream, bounds)));
    let mut serving = pin!(answer_all(&wire, &front, &stop));
    let mut watch = Watch::new(settings);
    let mut news = pin!(stop.news.notified());
    let mut task: Option<Waker> = None;
    let limit = poll_fn(|cx| {
        let is_known = |task: &Waker| task.will_wake(cx.waker());
        let is_other_task = !task.as_ref().is_some_and(is_known);
        if is_other_task {
            task = Some(cx.waker().clone());
            // Once is enough for each: the flag is looked at each time.
            let _ = news.as_mut().poll(cx);
        }
        if let Poll::Ready(limit) = serving.as_mut().poll(cx) {
            return Poll::Ready(limit);
        }
        let look = || {
            let wire = lock(&wire);
            (wire.progress, wire.is_reading())
        };
        watch.poll_lapse(cx, is_other_task, look).map(Some)
    })
    .await;
    if let Some(limit) = limit {
        settings.refusals.note(limit);
    }
}

/// Answers requests until no more come; the name of the limit that ended it, if one did.
async fn answer_all<S>(
    wire: &Arc<Mutex<Wire<S>>>,
    front: &impl Front,
    stop: &Stop,
) -> Option<&'static str>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let mut limit = None;
    let mut turn = Turn::default();
    loop {
        if lock(wire).is_reading() {
            // The next request is there already: it is not in the way of those of others.
            turn.wait().await;
        }
        let next = poll_fn(|cx| {
            let mut wire_now = lock(wire);
            if stop.is_asked() && !wire_now.is_reading() {
                return Poll::Ready(Ok(None));
            }
            let next = ready!(wire_now.poll_head(cx));
            drop(wire_now);
            Poll::Ready(next.map(|head| head.map(|head| asked(wire, head))))
        });
        let is_last = match next.await {
            Ok(Some((request, body, asked))) => {
                // Here and not in a function of its own: what is large is moved with each of them.
                let mut answer = pin!(front.answer(request, body));
                let response = poll_fn(|cx| match answer.as_mut().poll(cx) {
                    Poll::Ready(response) => Poll::Ready(Some(response)),
                    // Nobody waits for it any more.
                    Poll::Pending => lock(wire).poll_gone(cx).map(|()| None),
                });
                let response = response.await?;
                respond(wire, response, asked, stop).await.ok()?
            }
            Ok(None) => true,
            Err(refused) => {
                limit = (refused == Refused::TooLarge).then_some("headers");
                let mut response = Response::new(Body::empty());
                *response.status_mut() = refused.status();
                respond(wire, response, Asked::NOTHING, stop).await.ok()?
            }
        };
        if is_last {
            poll_fn(|cx| lock(wire).poll_close(cx)).await;
            return limit;
        }
    }
}

/// A request, and how much of its response depends on it.
fn asked<S>(wire: &Arc<Mutex<Wire<S>>>, head: Head) -> (RequestHead, Incoming<S>, Asked)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let asked = Asked::of(&head);
    let wire_now = lock(wire);
    let body = match wire_now.left() {
        (0, Some(0)) => Incoming::whole(head.body),
        _ => Incoming::coming(Arc::clone(wire), wire_now.progress.requests),
    };
    (head.request, body, asked)
}

/// What of a request its response depends on.
#[derive(Clone, Copy)]
struct Asked {
    is_head: bool,
    knows_chunks: bool,
    is_kept: bool,
}

impl Asked {
    /// It was not understood.
    const NOTHING: Self = Self {
        is_head: false,
        knows_chunks: false,
        is_kept: false,
    };

    fn of(head: &Head) -> Self {
        Self {
            is_head: head.request.method == Method::HEAD,
            knows_chunks: head.request.version == Version::HTTP_11,
            is_kept: head.is_kept,
        }
    }
}

/// Writes a response. Says whether it was the last one of its connection.
async fn respond<S>(
    wire: &Mutex<Wire<S>>,
    response: Response<Body>,
    asked: Asked,
    stop: &Stop,
) -> io::Result<bool>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let (head, body) = response.into_parts();
    let ending = ending(head.status, body.size_hint().exact(), asked.knows_chunks);
    let is_kept = {
        let mut wire = lock(wire);
        let is_kept =
            asked.is_kept && ending != Ending::Connection && wire.is_at_end() && !stop.is_asked();
        let connection = match (is_kept, asked.knows_chunks) {
            (false, _) => Some("close"),
            // A client of HTTP/1.0 is told that it may stay.
            (true, false) => Some("keep-alive"),
            (true, true) => None,
        };
        wire.outgoing.add_head(&head, ending, connection);
        is_kept
    };
    let has_body = !asked.is_head && ending != Ending::Bodiless;
    let mut body = has_body.then_some(body);
    poll_fn(|cx| poll_body(wire, &mut body, ending, cx)).await?;
    lock(wire).finish();
    Ok(!is_kept)
}

/// Writes what comes of a body until all of it is written.
fn poll_body<S>(
    wire: &Mutex<Wire<S>>,
    body: &mut Option<Body>,
    ending: Ending,
    cx: &mut Context<'_>,
) -> Poll<io::Result<()>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    loop {
        let Some(coming) = body else {
            return lock(wire).poll_write(cx);
        };
        if !lock(wire).outgoing.has_room() {
            ready!(lock(wire).poll_write(cx))?;
        }
        // Without the lock: whoever makes it may have much to do.
        match Pin::new(coming).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                let piece = frame.into_data().unwrap_or_else(|_| Bytes::new());
                lock(wire)
                    .outgoing
                    .add_piece(piece, ending == Ending::Chunks);
            }
            Poll::Ready(None) => {
                *body = None;
                if ending == Ending::Chunks {
                    lock(wire).outgoing.add_last_chunk();
                }
            }
            Poll::Pending => {
                let mut wire = lock(wire);
                if let Poll::Ready(Err(error)) = wire.poll_write(cx) {
                    return Poll::Ready(Err(error));
                }
                return wire
                    .poll_gone(cx)
                    .map(|()| Err(io::ErrorKind::BrokenPipe.into()));
            }
        }
    }
}

fn lock<S>(wire: &Mutex<Wire<S>>) -> MutexGuard<'_, Wire<S>> {
    wire.lock().unwrap_or_else(PoisonError::into_inner)
}
