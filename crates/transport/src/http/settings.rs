//! What can be set about an endpoint, and the values it has otherwise.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::http::origin::Guard;
use switchboard_protocol::http::server;
use switchboard_protocol::jsonrpc::Limits;
use switchboard_protocol::{Refusals, Revision};

use super::{Access, StreamSettings};

/// How an endpoint is reached, by whom, and what it puts up with.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpSettings {
    /// Which revisions are served, and what of the handshake era is offered.
    pub endpoint: server::Endpoint,
    /// The path of the endpoint; none where a router in front has chosen by path already.
    pub path: Option<String>,
    /// The hosts that are answered to, and the pages that may call.
    ///
    /// The default answers to loopback names and serves no page;
    /// [`Guard::for_address`] fits a bound socket.
    pub guard: Guard,
    /// Whether pages that the guard lets in are told so by CORS headers. Off where a layer
    /// in front does that.
    pub cross_origin: bool,
    /// How large and deep a message may be. Its size is bounded by `body_limit` as well.
    pub limits: Limits,
    /// The largest body that is read: 413 beyond.
    pub body_limit: usize,
    /// How long a body may take to arrive: 408 beyond.
    pub body_timeout: Duration,
    /// Bytes of large answers to one caller that were not taken: 429 beyond. One always may wait. Those who
    /// are not known are one caller. None: as many as there are.
    pub answers: Option<usize>,
    /// How event streams behave. Whoever makes one passes this to [`events`](super::events).
    pub stream: StreamSettings,
    /// Says who a caller is. Without it everyone may call.
    pub access: Option<Arc<dyn Access>>,
    /// The two paths of 2024-11-05, where that transport is wanted.
    pub old_transport: Option<OldPaths>,
    /// Listening: how many connections there may be; more wait to be accepted.
    pub max_connections: usize,
    /// Listening: how long the head of a request may take to arrive, at least; a connection
    /// is given up after at most half as long again.
    pub header_timeout: Duration,
    /// Listening: how many headers a request may have: 431 beyond.
    pub max_headers: usize,
    /// Listening: how large a head may be in bytes: 431 beyond.
    pub max_header_bytes: usize,
    /// Listening: how long a connection may be without a request.
    pub idle_timeout: Duration,
    /// Listening: how long a client may take nothing of what is written to it.
    pub write_stall: Duration,
    /// Listening: how long responses may go on after the end was asked for.
    pub drain: Duration,
    /// Where is counted what was over a limit.
    pub refusals: Refusals,
}

impl HttpSettings {
    /// The defaults for a server of these revisions, at `/mcp`.
    pub fn new(revisions: impl Into<Vec<Revision>>) -> Self {
        Self {
            endpoint: server::Endpoint::new(revisions),
            path: Some("/mcp".to_owned()),
            guard: local_hosts(),
            cross_origin: true,
            limits: Limits::default(),
            body_limit: 4 * 1024 * 1024,
            body_timeout: Duration::from_secs(30),
            answers: None,
            stream: StreamSettings::default(),
            access: None,
            old_transport: None,
            max_connections: 10_000,
            header_timeout: Duration::from_secs(10),
            max_headers: 100,
            max_header_bytes: 64 * 1024,
            // Longer than the pools of clients keep one, so that it is they who close it.
            idle_timeout: Duration::from_secs(75),
            write_stall: Duration::from_secs(30),
            drain: Duration::from_secs(10),
            refusals: Refusals::default(),
        }
    }
}

impl fmt::Debug for HttpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSettings")
            .field("endpoint", &self.endpoint)
            .field("path", &self.path)
            .field("guard", &self.guard)
            .field("body_limit", &self.body_limit)
            .field("stream", &self.stream)
            .field("has_access", &self.access.is_some())
            .field("old_transport", &self.old_transport)
            .finish_non_exhaustive()
    }
}

/// The paths of the transport of 2024-11-05.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OldPaths {
    /// Where a stream is opened.
    pub stream: String,
    /// Where messages are posted.
    pub message: String,
}

impl Default for OldPaths {
    fn default() -> Self {
        Self {
            stream: "/sse".to_owned(),
            message: "/message".to_owned(),
        }
    }
}

/// Answers to the names of this machine, at any port, and to pages of none.
fn local_hosts() -> Guard {
    let mut guard = Guard::default();
    for name in ["localhost", "127.0.0.1", "[::1]"] {
        guard
            .allow_host(name)
            .expect("invariant: the names of this machine are hosts");
    }
    guard
}
