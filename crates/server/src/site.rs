//! The ways to reach a service: pipes and HTTP, any number of clients at once.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, pending};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use ::http::{Request, Response};
use switchboard_protocol::http::origin::Guard;
use switchboard_protocol::{Refusals, Revision};
use switchboard_transport::http::{
    Body, Endpoint, Host, HttpSettings, Incoming, RequestHead, serve,
};
use switchboard_transport::stdio;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::task::JoinSet;

use crate::audience::Audience;
use crate::clock;
use crate::core;
use crate::http::Conversations;
use crate::limits::Limits;
use crate::pipe;
use crate::seal::SealingKeys;
use crate::service::Service;

pub use switchboard_protocol::machine::server::Change;

/// A service that can be reached, in several ways at once. Cheap to clone.
#[derive(Clone)]
pub struct Site {
    shared: Arc<core::Site>,
}

impl Site {
    /// Puts a service where it can be reached, with the usual limits.
    pub fn new(service: impl Service) -> Self {
        Self::with(
            Arc::new(service),
            Arc::default(),
            Limits::default(),
            Revision::ALL.to_vec(),
            SealingKeys::random(),
        )
    }

    /// How often its limits were reached: all that it is served by count there.
    pub fn refusals(&self) -> &Refusals {
        &self.shared.refusals
    }

    /// The same, which counts there how often its limits are reached.
    #[must_use]
    pub fn counting(&self, refusals: Refusals) -> Self {
        self.changed(|site| site.refusals = refusals)
    }

    /// The same, with these limits. What was begun before keeps those that it had.
    #[must_use]
    pub fn limits(&self, limits: Limits) -> Self {
        self.changed(|site| site.limits = limits)
    }

    /// The same, which speaks these revisions; all of them if nothing is said.
    #[must_use]
    pub fn revisions(&self, revisions: impl Into<Vec<Revision>>) -> Self {
        self.changed(|site| site.revisions = revisions.into())
    }

    /// The same, with these keys to seal what clients carry from call to call. Several
    /// instances behind one address must have the same.
    #[must_use]
    pub fn sealing_keys(&self, keys: SealingKeys) -> Self {
        self.changed(|site| site.seals = keys)
    }

    /// Something has changed that clients may want to hear of, such as the list of tools.
    ///
    /// For a [`Service`] of your own; a [`Server`](crate::Server) is changed by its
    /// [`Handle`](crate::Handle), which tells them by itself.
    pub fn tell(&self, change: &Change) {
        self.shared.audience.tell(change);
    }

    pub(crate) fn with(
        service: Arc<dyn Service>,
        audience: Arc<Audience>,
        limits: Limits,
        revisions: Vec<Revision>,
        seals: SealingKeys,
    ) -> Self {
        Self {
            shared: Arc::new(core::Site {
                service,
                limits,
                revisions,
                seals,
                audience,
                refusals: Refusals::default(),
            }),
        }
    }

    /// Serves on standard input and output, until the client is gone, or the process is
    /// told to stop.
    ///
    /// # Errors
    /// Reading or writing failed.
    pub async fn serve_stdio(&self) -> io::Result<()> {
        expect_large_blocks();
        let (read, write) = (stdio::stdin()?, stdio::stdout()?);
        // Signals are looked at when one comes, not with every message.
        let mut told = JoinSet::new();
        told.spawn(shutdown_signal());
        let shutdown = async {
            told.join_next().await;
        };
        self.serve_until(read, write, shutdown).await
    }

    /// Serves one client on a pair of streams, such as those of a socket, until it is gone.
    ///
    /// # Errors
    /// Reading or writing failed.
    pub async fn serve<R, W>(&self, read: R, write: W) -> io::Result<()>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        self.serve_until(read, write, pending()).await
    }

    /// The same, until `shutdown` comes: then calls in flight may finish for a while.
    ///
    /// # Errors
    /// Reading or writing failed.
    pub async fn serve_until<R, W>(
        &self,
        read: R,
        write: W,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        pipe::serve(Arc::clone(&self.shared), read, write, shutdown).await
    }

    /// How this site is served over HTTP if nothing else is said; to be changed and given to
    /// [`endpoint`](Self::endpoint) or [`serve_http_on`](Self::serve_http_on).
    pub fn http_settings(&self) -> HttpSettings {
        let limits = &self.shared.limits;
        let mut settings = HttpSettings::new(self.shared.revisions.clone());
        settings.limits = limits.message;
        settings.body_limit = limits.body;
        settings.answers = limits.answers;
        settings.max_connections = limits.connections;
        settings.header_timeout = limits.header_timeout;
        settings.body_timeout = limits.body_timeout;
        settings.idle_timeout = limits.idle_timeout;
        settings.write_stall = limits.write_stall;
        settings.drain = limits.drain_http;
        settings.stream.keep_alive = limits.keep_alive;
        settings.stream.bytes = limits.queued;
        settings.refusals = self.shared.refusals.clone();
        settings
    }

    /// Serves over HTTP at `/mcp`, until the process is told to stop.
    ///
    /// # Errors
    /// The address cannot be used.
    pub async fn serve_http(&self, address: impl ToSocketAddrs) -> io::Result<()> {
        expect_large_blocks();
        let listener = TcpListener::bind(address).await?;
        let mut settings = self.http_settings();
        settings.guard = Guard::for_address(listener.local_addr()?);
        self.serve_http_on(listener, settings, shutdown_signal())
            .await
    }

    /// Serves over HTTP on a listener of your own, until `shutdown` comes: then calls in
    /// flight may finish for a while.
    ///
    /// # Errors
    /// The listener cannot be used.
    pub async fn serve_http_on(
        &self,
        listener: TcpListener,
        settings: HttpSettings,
        shutdown: impl Future<Output = ()> + Send,
    ) -> io::Result<()> {
        let service = self.endpoint(settings);
        let conversations = Arc::clone(service.0.host());
        let served = serve(listener, service.0, shutdown);
        let swept = [&*conversations];
        let result = tokio::select! {
            result = served => result,
            () = sweep(&swept) => Ok(()),
        };
        conversations.close();
        result
    }

    /// The endpoint as a `tower` service, to be mounted into an application.
    pub fn endpoint(&self, settings: HttpSettings) -> HttpService {
        let conversations = Conversations::new(Arc::clone(&self.shared), settings.clone());
        HttpService(Endpoint::new(Arc::new(conversations), settings))
    }

    /// The same service at a site of its own.
    fn changed(&self, change: impl FnOnce(&mut core::Site)) -> Self {
        let shared = &*self.shared;
        let mut site = core::Site {
            service: Arc::clone(&shared.service),
            limits: shared.limits.clone(),
            revisions: shared.revisions.clone(),
            seals: shared.seals.clone(),
            audience: Arc::clone(&shared.audience),
            refusals: shared.refusals.clone(),
        };
        change(&mut site);
        Self {
            shared: Arc::new(site),
        }
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Site")
    }
}

/// An endpoint as a `tower` service. Cheap to clone; clones share their sessions.
#[derive(Clone)]
pub struct HttpService(Endpoint<Conversations>);

impl HttpService {
    /// Answers one request.
    pub fn handle<B>(&self, request: Request<B>) -> impl Future<Output = Response<Body>> + Send
    where
        B: http_body::Body + Send,
        B::Data: Send,
    {
        self.0.handle(request)
    }

    /// The same for a request that came on a connection of this crate, as a part of the future of
    /// [`Front::answer`](switchboard_transport::http::Front::answer).
    pub fn answer<S>(
        &self,
        head: RequestHead,
        body: Incoming<S>,
    ) -> impl Future<Output = Response<Body>> + Send
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        self.0.answer(head, body)
    }

    /// How many sessions of the handshake era there are.
    pub fn sessions(&self) -> usize {
        self.0.host().sessions()
    }

    pub(crate) fn stopping(&self) {
        self.0.host().stopping();
    }

    pub(crate) fn closing(&self) {
        self.0.host().closing();
    }

    /// Ends all conversations.
    pub(crate) fn close(&self) {
        self.0.host().close();
    }
}

impl<B> tower_service::Service<Request<B>> for HttpService
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _task: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.handle(request).await) })
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpService")
    }
}

/// Waits until the process is told to stop: by Ctrl-C or, on Unix, by SIGTERM.
pub async fn shutdown_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => return,
                result = tokio::signal::ctrl_c() => {
                    if result.is_ok() {
                        return;
                    }
                }
            }
        }
        // Without a handler the signal ends the process by itself.
        pending::<()>().await;
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_err() {
        pending::<()>().await;
    }
}

/// Has the allocator keep a few megabytes that were freed, instead of giving them back to the
/// system and asking for them again with every large message.
///
/// The allocator of glibc learns from the largest block that it has freed how much to keep:
/// twice as much. This one is never touched, so it costs nothing. Others do not mind.
fn expect_large_blocks() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(LARGE_BLOCK)));
}

/// Four times a result of 1 MiB, the size at which a third of the time went into page faults.
const LARGE_BLOCK: usize = 4 << 20;

/// Ends sessions that nobody has used for long, of all endpoints, for ever.
pub(crate) async fn sweep_all(endpoints: &[HttpService]) {
    let conversations: Vec<&Conversations> = endpoints.iter().map(|one| &**one.0.host()).collect();
    sweep(&conversations).await;
}

async fn sweep(conversations: &[&Conversations]) {
    loop {
        let due = conversations.iter().filter_map(|one| one.next_sweep());
        let due = due.min();
        let later = clock::now() + SWEEP_INTERVAL;
        let next = due.map_or(later, |due| due.clamp(clock::now(), later));
        tokio::time::sleep_until(next.into()).await;
        for one in conversations {
            one.sweep();
        }
        tokio::time::sleep(MIN_SWEEP_INTERVAL).await;
    }
}

// New sessions may come meanwhile, so it is looked at now and then.
const SWEEP_INTERVAL: std::time::Duration = std::time::Duration::from_secs(60);
const MIN_SWEEP_INTERVAL: std::time::Duration = std::time::Duration::from_secs(1);
