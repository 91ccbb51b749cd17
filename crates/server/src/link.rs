//! How a handler reaches the connection that its call came on.
//!
//! A pipe is owned by one task, so what handlers say waits in an inbox until that task takes
//! it; an HTTP conversation belongs to whoever holds its lock. Handlers cannot tell.

use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use switchboard_protocol::machine::server::{AskError, Input, ServeKey};
use switchboard_protocol::{Method, Payload, Refusals};
use switchboard_transport::http::Principal;
use tokio::sync::oneshot;

use crate::seal::SealingKeys;
use crate::tasks::TaskOwner;

/// The connection, as a handler sees it.
pub(crate) trait Link: Send + Sync + 'static {
    /// Gives the machine something that happened.
    fn tell(&self, input: Input);

    /// Asks the client, in the handshake era, for a call or for none. Nothing is heard if the call ends
    /// before.
    fn ask(&self, key: Option<ServeKey>, method: Method, params: Option<Payload>) -> Asked;

    /// What seals what the client carries for a call.
    fn seals(&self) -> &SealingKeys;

    /// Where is counted what was over a limit.
    fn refusals(&self) -> &Refusals;

    /// Is there room for more of this call on the way to the client?
    fn poll_room(&self, key: ServeKey, task: &mut TaskContext<'_>) -> Poll<()>;

    /// Ends the stream of a call, if the client can come back for the rest of it.
    fn release(&self, key: ServeKey, retry: Duration) {
        let _ = (key, retry);
    }

    /// The session of the handshake era that calls belong to here, if they do.
    fn session(&self) -> Option<Session> {
        None
    }

    /// Is it a pipe?
    fn is_pipe(&self) -> bool {
        false
    }

    /// Who calls here, where callers are known.
    fn principal(&self) -> Option<Arc<Principal>> {
        None
    }

    /// May whoever listens here know of the tasks of this owner? The id alone is not
    /// enough where callers are known.
    fn hears(&self, owner: &TaskOwner) -> bool {
        *owner == TaskOwner::Anyone
    }

    /// The server will end: whatever would stay open must not.
    fn stopping(&self) {}

    /// The server ends: whatever is under way is answered now.
    fn closing(&self) {}
}

/// A session of the handshake era, or a connection.
pub(crate) struct Session {
    /// Unlike any other, of other processes too.
    pub(crate) id: Arc<str>,
    /// How it hears of what no call is for.
    pub(crate) link: Weak<dyn Link>,
}

/// What a session is known by, made when it is first asked for.
#[derive(Default)]
pub(crate) struct SessionName(OnceLock<Arc<str>>);

impl SessionName {
    /// Has nobody asked for it?
    pub(crate) fn is_unset(&self) -> bool {
        self.0.get().is_none()
    }

    /// The name; none if there is no randomness to make one of.
    pub(crate) fn name(&self) -> Option<Arc<str>> {
        if let Some(name) = self.0.get() {
            return Some(Arc::clone(name));
        }
        let made = random_name()?;
        Some(Arc::clone(self.0.get_or_init(|| made)))
    }
}

/// A name that nobody guesses; none if there is no randomness to make one of.
pub(crate) fn random_name() -> Option<Arc<str>> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes).into())
}

/// A question on its way.
pub(crate) type Asked = oneshot::Receiver<Result<Payload, AskError>>;

impl dyn Link {
    /// Waits until there is room for more of a call on the way to the client.
    pub(crate) async fn room(&self, key: ServeKey) {
        let mut waits = false;
        poll_fn(|task| {
            let room = self.poll_room(key, task);
            if room.is_pending() && !std::mem::replace(&mut waits, true) {
                self.refusals().note("queued");
            }
            room
        })
        .await;
    }
}

impl fmt::Debug for dyn Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Link")
    }
}
