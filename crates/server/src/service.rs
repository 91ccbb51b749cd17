//! What stands behind a connection: whoever answers the calls.
//!
//! [`Service`] gets every call as it came. Most authors want a [`Server`](crate::Server)
//! with tools instead, which is a service too; a gateway wants this.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::{MethodName, Notification};
use switchboard_protocol::machine::server::Caller;
use switchboard_protocol::types::{Implementation, ServerCapabilities, SubscriptionFilter};

use crate::connection::Connection;
use crate::context::Context;

pub use switchboard_protocol::machine::server::Answer;

/// Answers calls, from any number of connections at once.
///
/// What belongs to the protocol itself has been dealt with before a call comes here:
/// the handshake, `server/discover`, `ping`, levels of logging, subscriptions, cancelling.
pub trait Service: Send + Sync + 'static {
    /// Who this is and what it can do. Asked once per connection; what is not declared
    /// is not asked for.
    fn about(&self) -> About;

    /// Answers one call.
    ///
    /// Results go out as they are given here: one that is newer than the caller's
    /// [revision](Context::revision) must be stepped down before.
    fn call(&self, call: Call<'_>) -> Reply;

    /// A client of the stateless era listens from now on, until the connection ends at the latest.
    /// One of the handshake era subscribes by calls.
    fn listening(&self, filter: &SubscriptionFilter, connection: Connection, caller: &Arc<Caller>) {
        let _ = (filter, connection, caller);
    }

    /// A client has told something, such as that its roots have changed.
    fn told(&self, notification: Notification, caller: Option<&Arc<Caller>>) {
        let _ = (notification, caller);
    }
}

/// Who a server is and what it can do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct About {
    /// Its name and version.
    pub info: Implementation,
    /// What it can do.
    pub capabilities: ServerCapabilities,
    /// What a model should know about it.
    pub instructions: Option<String>,
}

impl About {
    /// A server of this name that can do this.
    pub const fn new(info: Implementation, capabilities: ServerCapabilities) -> Self {
        Self {
            info,
            capabilities,
            instructions: None,
        }
    }
}

/// One call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Call<'a> {
    /// What is asked for.
    pub method: &'a MethodName,
    /// What it runs in. An answer that comes later takes a clone with it.
    pub context: &'a Context,
}

impl<'a> Call<'a> {
    /// The call that a context is of.
    #[inline]
    pub fn of(context: &'a Context) -> Self {
        let method = context.method();
        Self { method, context }
    }

    /// With what.
    pub fn params(&self) -> Option<&'a Payload> {
        self.context.params()
    }
}

/// What a service says to a call.
pub enum Reply {
    /// The answer is there.
    Now(Answer),
    /// It comes. If nobody waits for it any longer, this is dropped.
    Later(AnswerFuture),
    /// It comes, surely not at once, and there is nearly nothing to do for it but to wait: it gets
    /// no task of its own, but that of its connection.
    Long(AnswerFuture),
}

/// An answer that is still to come.
pub type AnswerFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

impl Reply {
    /// An answer that is still to come.
    pub fn later(answer: impl Future<Output = Answer> + Send + 'static) -> Self {
        Self::Later(Box::pin(answer))
    }

    /// An answer that is still to come, surely not at once, and with nearly nothing to do until
    /// then but to wait: for whoever has others work.
    pub fn long(answer: impl Future<Output = Answer> + Send + 'static) -> Self {
        Self::Long(Box::pin(answer))
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(answer) => f.debug_tuple("Now").field(answer).finish(),
            Self::Later(_) => f.write_str("Later(..)"),
            Self::Long(_) => f.write_str("Long(..)"),
        }
    }
}
