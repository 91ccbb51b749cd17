//! A connection of a client, for whoever wants to know whether it is still there, or has something
//! to say that is for this client alone.

use std::fmt;
use std::sync::{Arc, Weak};

use switchboard_protocol::Method;
use switchboard_protocol::jsonrpc::Notification;
use switchboard_protocol::machine::server::{Change, Input};
use switchboard_protocol::types::{ListRootsResult, Root};
use switchboard_transport::http::Principal;

use crate::context::AskError;
use crate::link::Link;

/// A connection of a client: a pipe, a session, or a stream that a stateless client holds open.
#[derive(Clone)]
pub struct Connection(Weak<dyn Link>);

impl Connection {
    pub(crate) const fn new(link: Weak<dyn Link>) -> Self {
        Self(link)
    }

    /// Is it still there?
    pub fn is_open(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Are the two the same?
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }

    /// Is it a pipe, which only one client can hold the other end of?
    pub fn is_pipe(&self) -> bool {
        self.0.upgrade().is_some_and(|link| link.is_pipe())
    }

    /// Who it is, where callers are known.
    pub fn principal(&self) -> Option<Arc<Principal>> {
        self.0.upgrade().and_then(|link| link.principal())
    }

    /// Something has changed that this client may want to hear of: it does if it has asked for it.
    pub fn tell(&self, change: &Change) {
        if let Some(link) = self.0.upgrade() {
            link.tell(Input::Changed(change.clone()));
        }
    }

    /// Tells a client of the handshake era something that belongs to no call, such as how a task
    /// stands. What its revision does not have is not sent.
    pub fn notify(&self, notification: Notification) {
        if let Some(link) = self.0.upgrade() {
            link.tell(Input::Notify {
                key: None,
                notification,
            });
        }
    }

    /// Asks a client of the handshake era which folders it works in, for no call: over HTTP on the
    /// stream that belongs to none, if the client has it open. In a call, ask by its
    /// [`Context`](crate::Context::roots).
    ///
    /// # Errors
    /// The client cannot be asked, is gone, or did not answer as it should.
    pub async fn roots(&self) -> Result<Vec<Root>, AskError> {
        let asked = match self.0.upgrade() {
            Some(link) => link.ask(None, Method::RootsList, None),
            None => return Err(AskError::Ended),
        };
        let answer = asked.await.map_err(|_| AskError::Ended)??;
        let result: ListRootsResult = answer
            .decode()
            .map_err(|error| AskError::BadAnswer(format!("roots: {error}")))?;
        Ok(result.roots)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("is_open", &self.is_open())
            .finish()
    }
}
