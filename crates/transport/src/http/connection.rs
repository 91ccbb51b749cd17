//! One connection of a client: its requests come one after the other, and each is answered.
//!
//! Whoever waits for a body reads the socket itself, so a connection is one task without channels,
//! and holds memory only for what is on its way.
//!
//! - `held`: in whose hands the wire is
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
use tokio::sync::futures::Notified;

use super::{Body, Front};
use crate::turn::Turn;

mod head;
mod held;
mod incoming;
mod outgoing;
mod watch;
mod wire;

use self::head::{Bounds, Head, Refused};
use self::held::Held;
pub use self::incoming::Incoming;
use self::outgoing::{Ending, LARGEST_COPY, ending};
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
    let news = pin!(stop.news.notified());
    let connection = Connection {
        held: Held::new(Wire::new(stream, bounds)),
        stop: &stop,
        news,
        watch: Watch::new(settings),
        task: None,
    };
    if let Err(Some(limit)) = connection.answer_all(&front).await {
        settings.refusals.note(limit);
    }
}

/// A connection, and what it waits for beside its client.
struct Connection<'a, 's, S> {
    held: Held<S>,
    stop: &'s Stop,
    news: Pin<&'a mut Notified<'s>>,
    watch: Watch,
    /// The task that is woken by all that.
    task: Option<Waker>,
}

/// Why a connection ends early: the name of a limit, or nothing where the client has gone.
type Ended = Option<&'static str>;

impl<S> Connection<'_, '_, S>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    /// Answers requests until no more come.
    async fn answer_all(mut self, front: &impl Front) -> Result<(), Ended> {
        let mut limit = None;
        let mut turn = Turn::default();
        loop {
            if self.held.wire().is_reading() {
                // The next request is there already: it is not in the way of those of others.
                poll_fn(|cx| self.poll(cx, |_, cx| turn.poll(cx).map(Ok))).await?;
            }
            let stop = self.stop;
            let next = poll_fn(|cx| {
                self.poll(cx, |held, cx| {
                    let mut wire = held.wire();
                    if stop.is_asked() && !wire.is_reading() {
                        return Poll::Ready(Ok(Ok(None)));
                    }
                    wire.poll_head(cx).map(Ok)
                })
            });
            let is_last = match next.await? {
                Ok(Some(head)) => {
                    let asked = Asked::of(&head);
                    let (left, request) = {
                        let wire = self.held.wire();
                        (wire.left(), wire.progress.requests)
                    };
                    let body = match left {
                        (0, Some(0)) => Incoming::whole(head.body),
                        _ => {
                            let (held, wire) = self.held.share();
                            self.held = held;
                            Incoming::coming(wire, request)
                        }
                    };
                    // Here and not in a function of its own: what is large is moved with each of them.
                    let mut answer = pin!(front.answer(head.request, body));
                    let response = poll_fn(|cx| {
                        self.poll(cx, |held, cx| match answer.as_mut().poll(cx) {
                            Poll::Ready(response) => Poll::Ready(Ok(response)),
                            // Nobody waits for it any more.
                            Poll::Pending => held.wire().poll_gone(cx).map(|()| Err(None)),
                        })
                    });
                    let response = response.await?;
                    let begun = self.begin(response, asked);
                    self.respond(begun).await?
                }
                Ok(None) => true,
                Err(refused) => {
                    limit = (refused == Refused::TooLarge).then_some("headers");
                    let mut response = Response::new(Body::empty());
                    *response.status_mut() = refused.status();
                    let begun = self.begin(response, Asked::NOTHING);
                    self.respond(begun).await?
                }
            };
            if is_last {
                poll_fn(|cx| self.poll(cx, |held, cx| held.wire().poll_close(cx).map(Ok))).await?;
                return limit.map_or(Ok(()), |limit| Err(Some(limit)));
            }
            self.held = self.held.take_back();
        }
    }

    /// Begins to write a response: its head, and a small body behind it.
    fn begin(&mut self, response: Response<Body>, asked: Asked) -> Begun {
        let (head, mut body) = response.into_parts();
        let ending = ending(head.status, body.size_hint().exact(), asked.knows_chunks);
        let mut has_more = !asked.is_head && ending != Ending::Bodiless;
        let mut wire = self.held.wire();
        let is_kept = asked.is_kept
            && ending != Ending::Connection
            && wire.is_at_end()
            && !self.stop.is_asked();
        let connection = match (is_kept, asked.knows_chunks) {
            (false, _) => Some("close"),
            // A client of HTTP/1.0 is told that it may stay.
            (true, false) => Some("keep-alive"),
            (true, true) => None,
        };
        wire.outgoing.add_head(&head, ending, connection);
        if has_more && let Some(text) = body.take_own(LARGEST_COPY) {
            wire.outgoing.add_text(&text);
            has_more = false;
        }
        // Whoever is told of the end of a stream may have much to do.
        drop(wire);
        Begun {
            rest: has_more.then_some(body),
            ending,
            is_kept,
        }
    }

    /// Writes what was begun, and the rest. Says whether it was the last one of its connection.
    async fn respond(&mut self, begun: Begun) -> Result<bool, Ended> {
        let Begun {
            mut rest,
            ending,
            is_kept,
        } = begun;
        let written = poll_fn(|cx| {
            self.poll(cx, |held, cx| {
                let written = poll_body(held, &mut rest, ending, cx);
                written.map(|written| written.map_err(|_| None))
            })
        });
        written.await?;
        self.held.wire().finish();
        Ok(!is_kept)
    }

    /// Waits for something, as long as the client does not keep us waiting for too long.
    #[inline]
    fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        what: impl FnOnce(&mut Held<S>, &mut Context<'_>) -> Poll<Result<T, Ended>>,
    ) -> Poll<Result<T, Ended>> {
        let is_known = |task: &Waker| task.will_wake(cx.waker());
        if !self.task.as_ref().is_some_and(is_known) {
            self.task = Some(cx.waker().clone());
            self.watch.forget_task();
            // Once is enough for each: the flag is looked at each time.
            let _ = self.news.as_mut().poll(cx);
        }
        let outcome = what(&mut self.held, cx);
        if outcome.is_ready() {
            return outcome;
        }
        let held = &mut self.held;
        let look = || {
            let wire = held.wire();
            (wire.progress, wire.is_reading())
        };
        self.watch
            .poll_lapse(cx, look)
            .map(|limit| Err(Some(limit)))
    }
}

/// A response that was begun: so far it is only gathered.
struct Begun {
    /// What is still to come of its body.
    rest: Option<Body>,
    ending: Ending,
    is_kept: bool,
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

/// Writes what comes of a body until all of it is written.
fn poll_body<S>(
    held: &mut Held<S>,
    body: &mut Option<Body>,
    ending: Ending,
    cx: &mut Context<'_>,
) -> Poll<io::Result<()>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    loop {
        let Some(coming) = body else {
            return held.wire().poll_write(cx);
        };
        if !held.wire().outgoing.has_room() {
            ready!(held.wire().poll_write(cx))?;
        }
        // Without the lock: whoever makes it may have much to do.
        match Pin::new(coming).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                let piece = frame.into_data().unwrap_or_else(|_| Bytes::new());
                held.wire()
                    .outgoing
                    .add_piece(piece, ending == Ending::Chunks);
            }
            Poll::Ready(None) => {
                *body = None;
                if ending == Ending::Chunks {
                    held.wire().outgoing.add_last_chunk();
                }
            }
            Poll::Pending => {
                let mut wire = held.wire();
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

fn lock<S>(wire: &Mutex<Box<Wire<S>>>) -> MutexGuard<'_, Box<Wire<S>>> {
    wire.lock().unwrap_or_else(PoisonError::into_inner)
}
