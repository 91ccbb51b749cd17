//! Listens on a socket and serves an endpoint there, or several behind one front.
//!
//! A loop accepts, and owns a task for each connection. A connection that keeps the server
//! waiting is given up: for its head, for its next request, for taking what is written to
//! it. That is looked at every few seconds, since a timer for each request would cost more
//! than many requests do.
//!
//! Specification: basic/transports, security warning (whoever binds should bind to
//! loopback).

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::{JoinSet, unconstrained};
use tokio::time::Sleep;

use super::socket::{Activity, OpenBody, Socket};
use super::{Body, Endpoint, Host, HttpSettings};

/// What answers the requests that come to a listener: an [`Endpoint`], or several of them. It is
/// cloned for each connection.
pub trait Front: Clone + Send + Sync + 'static {
    /// How connections are dealt with.
    fn settings(&self) -> &HttpSettings;

    /// Answers one request.
    fn answer<B>(&self, request: Request<B>) -> impl Future<Output = Response<Body>> + Send
    where
        B: http_body::Body + Send,
        B::Data: Send;

    /// No more requests will come: see [`Host::stopping`].
    fn stopping(&self);

    /// The time to finish is over: see [`Host::closing`].
    fn closing(&self);
}

impl<H: Host> Front for Endpoint<H> {
    fn settings(&self) -> &HttpSettings {
        Self::settings(self)
    }

    fn answer<B>(&self, request: Request<B>) -> impl Future<Output = Response<Body>> + Send
    where
        B: http_body::Body + Send,
        B::Data: Send,
    {
        self.handle(request)
    }

    fn stopping(&self) {
        self.host().stopping();
    }

    fn closing(&self) {
        self.host().closing();
    }
}

/// Serves an endpoint, or what is in front of several, until `shutdown` is ready, then waits for what is under way, at most
/// [`HttpSettings::drain`].
///
/// # Errors
/// When the listener does not belong to a Tokio runtime. That a connection cannot be
/// accepted is no error: it is tried again.
pub async fn serve(
    listener: TcpListener,
    front: impl Front,
    shutdown: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    // Fails where the socket is not one.
    listener.local_addr()?;
    let stop = Arc::new(Stop::default());
    let mut connections = JoinSet::new();
    accept_until(&listener, &front, &stop, &mut connections, shutdown).await;
    drop(listener);
    stop.is_asked.store(true, Ordering::Release);
    stop.news.notify_waiters();
    front.stopping();
    let drain = front.settings().drain;
    if !has_drained(&mut connections, drain).await {
        front.closing();
        has_drained(&mut connections, LAST_WORD).await;
    }
    // What is left then is dropped with the set, and its tasks with it.
    connections.shutdown().await;
    Ok(())
}

/// Waits until all connections have ended: false if that takes too long.
async fn has_drained(connections: &mut JoinSet<()>, patience: Duration) -> bool {
    let drained = async { while connections.join_next().await.is_some() {} };
    tokio::time::timeout(patience, drained).await.is_ok()
}

/// Accepts until it is time to stop. In order of priority: the end, connections that ended,
/// new connections.
async fn accept_until(
    listener: &TcpListener,
    front: &impl Front,
    stop: &Arc<Stop>,
    connections: &mut JoinSet<()>,
    shutdown: impl Future<Output = ()> + Send,
) {
    let limit = front.settings().max_connections.max(1);
    let mut shutdown = pin!(shutdown);
    let mut pause: Option<Pin<Box<Sleep>>> = None;
    let mut delay = FIRST_PAUSE;
    // Whether any wait is not known; that they would have to, is.
    let mut is_full = false;
    loop {
        let accepted = poll_fn(|cx| {
            if shutdown.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            while let Poll::Ready(Some(_)) = connections.poll_join_next(cx) {}
            if connections.len() >= limit {
                if !std::mem::replace(&mut is_full, true) {
                    front.settings().refusals.note("connections");
                }
                return Poll::Pending;
            }
            is_full = false;
            if let Some(pause) = &mut pause
                && pause.as_mut().poll(cx).is_pending()
            {
                return Poll::Pending;
            }
            listener.poll_accept(cx).map(Some)
        })
        .await;
        pause = None;
        match accepted {
            None => return,
            Some(Ok((stream, _))) => {
                delay = FIRST_PAUSE;
                let connection = connection(stream, front.clone(), Arc::clone(stop));
                connections.spawn(connection);
            }
            Some(Err(error)) if is_of_one_connection(&error) => {}
            Some(Err(_)) => {
                // Mostly there are too many open files; connections that end make room.
                pause = Some(Box::pin(tokio::time::sleep(delay)));
                delay = (delay * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Serves one connection to its end.
async fn connection(stream: TcpStream, front: impl Front, stop: Arc<Stop>) {
    // Without it small answers wait for the peer's acknowledgement; a socket that refuses
    // the option is slow, not wrong.
    let _ = stream.set_nodelay(true);
    let activity = Arc::new(Activity::default());
    let socket = Socket::new(TokioIo::new(stream), Arc::clone(&activity));
    let settings = front.settings();
    let mut watch = Watch::new(settings, Arc::clone(&activity));
    let service = service_fn(|request: Request<Incoming>| {
        let open = activity.begin();
        let front = &front;
        async move {
            let response = front.answer(request).await;
            Ok::<_, Infallible>(response.map(|body| OpenBody { body, _open: open }))
        }
    });
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_headers(settings.max_headers)
        .max_header_size(settings.max_header_bytes)
        .max_buf_size(LARGEST_READ.max(settings.max_header_bytes))
        .serve_connection(socket, service);
    let mut connection = pin!(connection);
    let mut news = pin!(stop.news.notified());
    let mut is_first = true;
    let mut is_stopping = false;
    let limit = poll_fn(|cx| {
        // Once is enough: the task stays the same, and the flag is looked at each time.
        if std::mem::take(&mut is_first) {
            let _ = news.as_mut().poll(cx);
        }
        if !is_stopping && stop.is_asked.load(Ordering::Acquire) {
            is_stopping = true;
            connection.as_mut().graceful_shutdown();
        }
        // How a connection ended matters to nobody here: its requests have been told.
        if let Poll::Ready(end) = connection.as_mut().poll(cx) {
            let is_too_large = end.is_err_and(|error| error.is_parse_too_large());
            return Poll::Ready(is_too_large.then_some("headers"));
        }
        watch.poll_lapse(cx).map(Some)
    })
    .await;
    if let Some(limit) = limit {
        settings.refusals.note(limit);
    }
}

/// Tells all connections that it is time to stop.
#[derive(Default)]
struct Stop {
    is_asked: AtomicBool,
    news: Notify,
}

/// Watches whether a connection gets on.
struct Watch {
    activity: Arc<Activity>,
    every: Duration,
    timer: Pin<Box<Sleep>>,
    /// The timer will wake the task.
    is_set: bool,
    /// After how many looks each patience ends.
    head_looks: u32,
    idle_looks: u32,
    stall_looks: u32,
    /// What the last look saw, and for how many looks it has been so.
    seen_requests: u32,
    seen_writes: u32,
    reading: u32,
    idle: u32,
    stalled: u32,
}

impl Watch {
    fn new(settings: &HttpSettings, activity: Arc<Activity>) -> Self {
        let every = (settings.header_timeout / 2).max(SHORTEST_LOOK);
        let looks = |patience: Duration| {
            let looks = patience.as_nanos().div_ceil(every.as_nanos());
            u32::try_from(looks).unwrap_or(u32::MAX).saturating_add(1)
        };
        Self {
            activity,
            every,
            timer: Box::pin(tokio::time::sleep(every)),
            is_set: false,
            head_looks: looks(settings.header_timeout),
            idle_looks: looks(settings.idle_timeout),
            stall_looks: looks(settings.write_stall),
            seen_requests: 0,
            seen_writes: 0,
            reading: 0,
            idle: 0,
            stalled: 0,
        }
    }

    /// Ready when the connection has kept us waiting for too long, with the name of that limit.
    fn poll_lapse(&mut self, cx: &mut Context<'_>) -> Poll<&'static str> {
        // Once is enough: the task stays the same. Not even a task that has done much may be
        // put off then.
        if self.is_set && !self.timer.is_elapsed() {
            return Poll::Pending;
        }
        while pin!(unconstrained(self.timer.as_mut())).poll(cx).is_ready() {
            if let Some(limit) = self.lapsed() {
                return Poll::Ready(limit);
            }
            let next = self.timer.deadline() + self.every;
            self.timer.as_mut().reset(next);
        }
        self.is_set = true;
        Poll::Pending
    }

    fn lapsed(&mut self) -> Option<&'static str> {
        let activity = &self.activity;
        let requests = activity.requests.load(Ordering::Relaxed);
        let writes = activity.writes.load(Ordering::Relaxed);
        let is_new_request = requests != self.seen_requests;
        let has_written = writes != self.seen_writes;
        self.seen_requests = requests;
        self.seen_writes = writes;
        // One that was not there at the last look is seen for the first time.
        let count = |holds: bool, is_new: bool, looks: u32| match (holds, is_new) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => looks.saturating_add(1),
        };
        let is_free = !activity.is_serving();
        // Who connects wants something, so the first head is late even if it has not begun.
        let is_head_due = activity.is_reading() || requests == 0;
        self.stalled = count(activity.is_blocked(), has_written, self.stalled);
        self.reading = count(is_free && is_head_due, is_new_request, self.reading);
        self.idle = count(is_free && !is_head_due, is_new_request, self.idle);
        let limits = [
            (self.stalled >= self.stall_looks, "stallSeconds"),
            (self.reading >= self.head_looks, "headSeconds"),
            (self.idle >= self.idle_looks, "idleSeconds"),
        ];
        let reached = limits.into_iter().find(|(is_reached, _)| *is_reached);
        reached.map(|(_, limit)| limit)
    }
}

/// Errors that only say that the next connection is gone already.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}

// Answers that are there are written within a round trip.
const LAST_WORD: Duration = Duration::from_secs(1);

/// What is read at once. More would be held for each connection, whatever its bodies may have.
const LARGEST_READ: usize = 64 * 1024;

const FIRST_PAUSE: Duration = Duration::from_millis(10);

const LONGEST_PAUSE: Duration = Duration::from_secs(1);

// Looking more often would cost without need.
const SHORTEST_LOOK: Duration = Duration::from_millis(10);
