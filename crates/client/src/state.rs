//! Where a client stands with its server, for whoever wants to watch.

use std::fmt;
use std::sync::Arc;

use switchboard_protocol::Revision;
use switchboard_protocol::machine::client::Agreed;
use switchboard_protocol::types::{Implementation, ServerCapabilities};
use switchboard_transport::watch;

use crate::report::Report;

/// Where a client stands with its server.
///
/// ```text
///  Connecting ──▶ Ready ◀──▶ Recovering
///      │            │            │
///      ├────────────┴────────────┴──▶ Failed, NeedsLogin
///      └─ close, from any state ────▶ Closed
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum State {
    /// The server is being started, reached, asked which revision it speaks.
    Connecting,
    /// Calls are answered.
    Ready(Arc<Ready>),
    /// The server has forgotten us and is greeted again; calls wait for that.
    Recovering {
        /// What happened.
        reason: String,
    },
    /// The server wants to know who calls, and nobody here can tell it. This client is over:
    /// log in and connect anew.
    NeedsLogin(Arc<Report>),
    /// It is over.
    Failed(Arc<Report>),
    /// It is over, as we wished.
    Closed,
}

impl State {
    /// Will it stay like this for ever?
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::NeedsLogin(_) | Self::Failed(_) | Self::Closed)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connecting => f.write_str("connecting"),
            Self::Ready(ready) => write!(f, "ready, revision {}", ready.revision),
            Self::Recovering { reason } => write!(f, "recovering: {reason}"),
            Self::NeedsLogin(report) => write!(f, "needs login: {report}"),
            Self::Failed(report) => write!(f, "failed: {report}"),
            Self::Closed => f.write_str("closed"),
        }
    }
}

/// What client and server have agreed on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ready {
    /// The revision.
    pub revision: Revision,
    /// Who the server says it is. Unverified: for display and logs.
    pub server: Option<Implementation>,
    /// What it can do.
    pub capabilities: ServerCapabilities,
    /// What it wants a model to know.
    pub instructions: Option<String>,
}

impl From<Agreed> for Ready {
    fn from(agreed: Agreed) -> Self {
        Self {
            revision: agreed.revision,
            server: agreed.server,
            capabilities: agreed.capabilities,
            instructions: agreed.instructions,
        }
    }
}

/// The states of a client, as they come.
///
/// States that pass too quickly to be seen are not seen; the last one always is.
#[derive(Clone, Debug)]
pub struct States(watch::Receiver<State>);

impl States {
    pub(crate) const fn new(receiver: watch::Receiver<State>) -> Self {
        Self(receiver)
    }

    /// The state now.
    pub fn now(&self) -> State {
        self.0.borrow().clone()
    }

    /// Waits for another state than the last one seen. `None` when there will be none.
    pub async fn next(&mut self) -> Option<State> {
        // Whoever holds a client keeps the sender: that there will be none, a state says itself.
        if !self.0.has_changed().ok()? && self.0.borrow().is_over() {
            return None;
        }
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().clone())
    }

    /// Waits until a state fulfils the condition. `None` when none ever will.
    pub async fn until(&mut self, mut condition: impl FnMut(&State) -> bool) -> Option<State> {
        let found = self.0.find(|state| match condition(state) {
            true => Some(Some(state.clone())),
            false => state.is_over().then_some(None),
        });
        found.await.flatten()
    }
}
