//! What a handler knows of its call, and what it can do besides answering.
//!
//! The same in every revision: who listens, and how a question reaches the client, is
//! decided below. Asking is in `context/asking.rs`.
//!
//! Specification: basic/patterns/progress, basic/patterns/cancellation,
//! server/utilities/logging.

mod asking;
mod continuing;
mod elicited;
mod progress;
mod question;
mod rounds;

use std::fmt;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use http::HeaderMap;
use serde::Serialize;
use switchboard_protocol::http::parameter::Parameters;
use switchboard_protocol::http::server::Refusal;
use switchboard_protocol::jsonrpc::{ErrorObject, MethodName};
use switchboard_protocol::machine::server::{Caller, Input, Serve};
use switchboard_protocol::types::{
    ClientCapabilities, LoggingLevel, LoggingMessageNotificationParams, Meta,
};
use switchboard_protocol::{Era, Payload, RawJson, Revision};
use switchboard_transport::http::{Principal, RequestHead};
use tokio::sync::Notify;

use crate::connection::Connection;
use crate::link::Link;
use crate::tasks::{Grant, TaskError};

pub use elicited::Elicited;
pub use progress::Progress;
pub use question::AskError;

pub(crate) use question::Question;
pub(crate) use rounds::Rounds;

use continuing::{Path, Way};

/// What a handler knows of its call, and what it can do besides answering.
///
/// Cheap to clone, and it may outlive the call: then nobody listens any more.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    serve: Serve,
    visitor: Visitor,
    deadline: Option<Instant>,
    way: Mutex<Path>,
    /// May it become a task? Nothing is said of most calls.
    grant: OnceLock<Result<Grant, TaskError>>,
    ended: AtomicBool,
    /// Somebody waits for the end.
    is_awaited: AtomicBool,
    told: Notify,
    rounds: Mutex<Rounds>,
    /// The call that this one is within.
    outer: Option<Context>,
}

/// What the transport knows of the caller.
#[derive(Clone, Debug, Default)]
pub(crate) struct Visitor {
    pub(crate) principal: Option<Arc<Principal>>,
    pub(crate) head: Option<RequestHead>,
}

impl Context {
    /// The context of a call that has just come.
    #[inline]
    pub(crate) fn of_call(
        serve: Serve,
        link: Arc<dyn Link>,
        visitor: Visitor,
        deadline: Option<Instant>,
    ) -> Self {
        Self(Arc::new(Inner {
            way: Mutex::new(Path::new(link, serve.key)),
            serve,
            visitor,
            deadline,
            grant: OnceLock::new(),
            ended: AtomicBool::new(false),
            is_awaited: AtomicBool::new(false),
            told: Notify::new(),
            rounds: Mutex::new(Rounds::default()),
            outer: None,
        }))
    }

    /// The context of a call within this one, with other parameters. Progress, logs and questions go
    /// the same way, and it ends with this one. Headers that repeat arguments repeat those of this one.
    #[must_use]
    pub fn with_params(&self, params: Payload) -> Self {
        // A task has no call to be within.
        let Way::Call { link, key } = self.way() else {
            return self.clone();
        };
        let mut serve = self.0.serve.clone();
        serve.params = Some(params);
        Self(Arc::new(Inner {
            way: Mutex::new(Path::new(link, key)),
            serve,
            visitor: self.0.visitor.clone(),
            deadline: self.0.deadline,
            grant: OnceLock::new(),
            ended: AtomicBool::new(false),
            is_awaited: AtomicBool::new(false),
            told: Notify::new(),
            rounds: Mutex::new(Rounds::default()),
            outer: Some(self.clone()),
        }))
    }

    /// Makes this the context of another call on the same connection, if nobody else has it
    /// and it never could become a task. Gives the call back otherwise.
    pub(crate) fn renew(&mut self, serve: Serve, deadline: Option<Instant>) -> Result<(), Serve> {
        let inner = match Arc::get_mut(&mut self.0) {
            Some(inner) if inner.grant.get().is_none() => inner,
            _ => return Err(serve),
        };
        // All of it is named here, so that nothing is left of the last call.
        let Inner {
            serve: last_serve,
            visitor: _, // The same connection.
            deadline: last_deadline,
            way,
            grant: _, // Nothing was said.
            ended,
            is_awaited,
            told: _, // Whoever is told has a context.
            rounds,
            outer: _, // Only we make calls within others, and keep none of them.
        } = inner;
        unpoisoned(way).turn_to(serve.key);
        *unpoisoned(rounds) = Rounds::default();
        *ended.get_mut() = false;
        *is_awaited.get_mut() = false;
        *last_deadline = deadline;
        *last_serve = serve;
        Ok(())
    }

    /// Who calls: what he says of himself, unverified, and what he can do.
    pub fn caller(&self) -> &Arc<Caller> {
        &self.0.serve.caller
    }

    /// From which level on the client wants to hear log messages of this call. In the handshake era
    /// that is not said with a call.
    pub fn log_level(&self) -> Option<LoggingLevel> {
        self.0.serve.log_level
    }

    /// Who calls, as the authorization of the endpoint has found. None without one.
    pub fn principal(&self) -> Option<&Principal> {
        self.0.visitor.principal.as_deref()
    }

    /// The headers of the request, over HTTP.
    pub fn headers(&self) -> Option<&HeaderMap> {
        self.0.visitor.head.as_ref().map(|head| &head.headers)
    }

    /// Arguments that headers of the request repeat must be the same there: in the stateless era,
    /// over HTTP.
    ///
    /// # Errors
    /// They are not, which the client is to be told.
    pub fn check_headers(&self, repeated: &Parameters) -> Result<(), ErrorObject> {
        let Some(headers) = self.headers() else {
            return Ok(());
        };
        if self.revision().era() != Era::Stateless || self.0.outer.is_some() {
            return Ok(());
        }
        let arguments = self.params().and_then(Payload::arguments);
        let arguments = arguments.and_then(|text| serde_json::from_slice(text).ok());
        repeated
            .check(headers, arguments.as_ref())
            .map_err(|mismatch| Refusal::from(mismatch).error(&Revision::ALL))
    }

    /// What the client can do.
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.0.serve.caller.capabilities
    }

    /// The revision that the client speaks.
    pub fn revision(&self) -> Revision {
        self.0.serve.caller.revision
    }

    /// What the client attached to the call.
    pub fn meta(&self) -> Option<Meta> {
        let text = self.0.serve.params.as_ref()?.meta()?;
        serde_json::from_slice(text).ok()
    }

    /// When the call will be given up, if there is a limit.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.deadline.filter(|_| !self.is_task())
    }

    /// Does the client want to hear of progress?
    pub fn wants_progress(&self) -> bool {
        self.0.serve.wants_progress && !self.is_task()
    }

    /// Says how far the call has come. Nothing is sent if nobody wants to hear it, or if it
    /// is no further than before. Waits while the client is slow to read.
    pub async fn progress(&self, progress: impl Into<Progress>) {
        if !self.0.serve.wants_progress || self.has_ended() {
            return;
        }
        let Way::Call { link, key } = self.way() else {
            return;
        };
        if let Ok(params) = Payload::encode(&progress.into()) {
            link.tell(Input::Progress { key, params });
            link.room(key).await;
        }
    }

    /// Sends a log message to the client, if it wants messages of this level.
    /// Waits while the client is slow to read.
    ///
    /// No credentials and no personal data: logs are kept.
    pub async fn log<T: Serialize + ?Sized>(&self, level: LoggingLevel, data: &T) {
        // Most are unwanted, and are not worth the writing then.
        if !self.wants_log(level) {
            return;
        }
        if let Ok(data) = RawJson::encode(data) {
            let message = LoggingMessageNotificationParams::new(level, data);
            self.log_message(&message).await;
        }
    }

    /// The same with a message of your own making: it may have the name of a logger.
    pub async fn log_message(&self, message: &LoggingMessageNotificationParams) {
        let level = message.level;
        let Way::Call { link, key } = self.way() else {
            return;
        };
        if !self.wants_log(level) {
            return;
        }
        if let Ok(params) = Payload::encode(message) {
            link.tell(Input::Log {
                key: Some(key),
                level,
                params,
            });
            link.room(key).await;
        }
    }

    fn wants_log(&self, level: LoggingLevel) -> bool {
        let is_wanted = match (self.revision().era(), self.0.serve.log_level) {
            (Era::Stateless, None) => false,
            (_, Some(wanted)) => level >= wanted,
            (Era::Handshake, None) => true,
        };
        is_wanted && !self.has_ended()
    }

    /// Lets the client come back for the rest: ends the stream of this call after telling
    /// the client to return after `retry`, while the handler works on.
    ///
    /// Only where the client can: over HTTP in revision 2025-11-25. Elsewhere nothing happens.
    pub fn release_stream(&self, retry: Duration) {
        if let Way::Call { link, key } = self.way() {
            link.release(key, retry);
        }
    }

    /// Has the call ended, because it was answered or nobody waits for it any more?
    /// If it goes on as a task, has the task?
    ///
    /// The handler itself need not ask: it is dropped. This is for work that it started.
    pub fn has_ended(&self) -> bool {
        let outer = self.0.outer.as_ref();
        self.0.ended.load(Ordering::SeqCst) || outer.is_some_and(Self::has_ended)
    }

    /// Waits for the end of the call.
    pub async fn ended(&self) {
        let mut outermost = self;
        while let Some(outer) = &outermost.0.outer {
            outermost = outer;
        }
        outermost.has_come_to_its_end().await;
    }

    async fn has_come_to_its_end(&self) {
        // Whoever ends the call looks at this after saying so, and we look for that after this:
        // one of us sees the other.
        self.0.is_awaited.store(true, Ordering::SeqCst);
        loop {
            let told = self.0.told.notified();
            if self.has_ended() {
                return;
            }
            told.await;
        }
    }

    /// The connection that the call came on. None once it goes on as a task.
    pub fn connection(&self) -> Option<Connection> {
        let Way::Call { link, .. } = self.way() else {
            return None;
        };
        let session = link.session().map(|session| session.link);
        Some(Connection::new(
            session.unwrap_or_else(|| Arc::downgrade(&link)),
        ))
    }

    /// The call as it came.
    pub(crate) fn serve(&self) -> &Serve {
        &self.0.serve
    }

    /// What the transport knows of the caller.
    pub(crate) fn visitor(&self) -> &Visitor {
        &self.0.visitor
    }

    /// The method of the call.
    pub fn method(&self) -> &MethodName {
        &self.0.serve.method
    }

    /// Everything that the call came with.
    pub fn params(&self) -> Option<&Payload> {
        self.0.serve.params.as_ref()
    }

    /// The call has ended; whoever waits for that is told, unless a task goes on.
    pub(crate) fn end(&self) {
        // If nobody else has it, there is nobody to tell.
        if Arc::strong_count(&self.0) == 1 {
            return;
        }
        // A task that nobody has taken up does not go on either.
        if !self.is_task() || self.take_begun().is_some() {
            self.end_task();
        }
    }

    /// Says to whoever waits for it that nothing goes on.
    pub(crate) fn end_task(&self) {
        self.0.ended.store(true, Ordering::SeqCst);
        if self.0.is_awaited.load(Ordering::SeqCst) {
            self.0.told.notify_waiters();
        }
    }
}

/// What only we can reach. Nothing that runs under the locks leaves them half done.
fn unpoisoned<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("method", &self.0.serve.method)
            .field("caller", &self.0.serve.caller)
            .finish_non_exhaustive()
    }
}
