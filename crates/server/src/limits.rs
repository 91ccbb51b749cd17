//! How much of everything.
//!
//! Nothing that a client sends makes a queue, a map or a wait without a bound; these are
//! the bounds, each with a default that serves most servers.

use std::time::Duration;

use switchboard_protocol::jsonrpc;
use switchboard_transport::http::ReplayLimits;

use crate::tasks::TaskLimits;

/// How much of everything a server takes on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// The size, depth and item count of one message. Larger ones are refused.
    pub message: jsonrpc::Limits,
    /// The size of the body of a POST, in bytes. Larger ones are refused with 413.
    pub body: usize,
    /// Calls in flight on one connection or session. Further ones are refused as busy.
    pub calls: usize,
    /// Resources that one session may subscribe to; in the stateless era, resources and tasks
    /// that one stream of changes may name.
    pub subscriptions: usize,
    /// How long a handler may work. No limit unless one is set.
    pub handler: Option<Duration>,
    /// How long a client may take to answer a question.
    pub answer: Duration,
    /// Bytes on the way to a client that reads slowly, before handlers wait and no more calls
    /// are taken in.
    pub queued: usize,
    /// Bytes of large answers to one caller over HTTP that were not taken: 429 beyond, where one always may
    /// wait. Callers who are not known are one. None: as many as there are.
    pub answers: Option<usize>,
    /// Sessions of the handshake era over HTTP. Further ones are refused with 503.
    pub sessions: usize,
    /// Sessions of one caller, where callers are known. Further ones are refused with 429.
    pub sessions_per_caller: usize,
    /// How long a session may be unused.
    pub session_idle: Duration,
    /// How long a session may live.
    pub session_life: Duration,
    /// What a session keeps of its streams for a client that comes back for the rest.
    pub replay: ReplayLimits,
    /// Streams of changes that one connection may hold open in the stateless era. Over HTTP
    /// each has a connection of its own, and those are counted.
    pub streams: usize,
    /// Connections over HTTP.
    pub connections: usize,
    /// How long the head of a request over HTTP may take to arrive.
    pub header_timeout: Duration,
    /// How long its body may take: 408 beyond.
    pub body_timeout: Duration,
    /// How long a connection over HTTP may be without a request.
    pub idle_timeout: Duration,
    /// How long a client may take nothing of what is written to it over HTTP.
    pub write_stall: Duration,
    /// Entries of a page of a list.
    pub page: usize,
    /// How long calls in flight may go on after the end of input, on stdio.
    pub drain: Duration,
    /// How long calls in flight may go on after shutdown was asked for, over HTTP.
    pub drain_http: Duration,
    /// How many tasks are kept, for how long, and how large.
    pub tasks: TaskLimits,
    /// Silence on an event stream before a comment is sent to keep it alive.
    pub keep_alive: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: jsonrpc::Limits::default(),
            body: 4 << 20,
            calls: 256,
            subscriptions: 1_000,
            handler: None,
            answer: Duration::from_secs(600),
            queued: 1 << 20,
            answers: None,
            sessions: 10_000,
            sessions_per_caller: 100,
            session_idle: Duration::from_secs(30 * 60),
            session_life: Duration::from_secs(24 * 60 * 60),
            replay: ReplayLimits::default(),
            streams: 16,
            connections: 10_000,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(75),
            write_stall: Duration::from_secs(30),
            page: 1_000,
            drain: Duration::from_secs(2),
            drain_http: Duration::from_secs(10),
            tasks: TaskLimits::default(),
            keep_alive: Duration::from_secs(15),
        }
    }
}
