//! Listens on a socket and serves an endpoint there, or several behind one front.
//!
//! A loop accepts, and owns a task for each connection. What becomes of one is in `connection`.
//!
//! Specification: basic/transports, security warning (whoever binds should bind to
//! loopback).

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::Response;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Sleep;

use super::connection::{Stop, serve_connection};
use super::socket;
use super::{Body, Endpoint, Host, HttpSettings, Incoming, RequestHead};

/// What answers the requests that come to a listener: an [`Endpoint`], or several of them. It is
/// cloned for each connection.
pub trait Front: Clone + Send + Sync + 'static {
    /// How connections are dealt with.
    fn settings(&self) -> &HttpSettings;

    /// Answers one request, whose body comes as it is read. The connection asks the future again
    /// from time to time, even if nothing has woken it.
    fn answer<S>(
        &self,
        head: RequestHead,
        body: Incoming<S>,
    ) -> impl Future<Output = Response<Body>> + Send
    where
        S: AsyncRead + AsyncWrite + Unpin + Send;

    /// No more requests will come: see [`Host::stopping`].
    fn stopping(&self);

    /// The time to finish is over: see [`Host::closing`].
    fn closing(&self);
}

impl<H: Host> Front for Endpoint<H> {
    fn settings(&self) -> &HttpSettings {
        Self::settings(self)
    }

    fn answer<S>(
        &self,
        head: RequestHead,
        body: Incoming<S>,
    ) -> impl Future<Output = Response<Body>> + Send
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        Self::answer(self, head, body)
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
    stop.ask();
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

/// Serves one connection that somebody else has accepted: over TLS, or on a socket that has no port.
pub async fn serve_stream<S>(stream: S, front: impl Front)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    serve_connection(stream, front, Arc::new(Stop::default())).await;
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
    socket::prepare(&stream);
    serve_connection(stream, front, stop).await;
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

const FIRST_PAUSE: Duration = Duration::from_millis(10);

const LONGEST_PAUSE: Duration = Duration::from_secs(1);
