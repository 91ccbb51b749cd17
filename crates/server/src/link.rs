//! How a handler reaches the connection that its call came on.
//!
//! A pipe is owned by one task, so what handlers say waits in an inbox until that task takes
//! it; an HTTP conversation belongs to whoever holds its lock. Handlers cannot tell.

use std::fmt;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use switchboard_protocol::machine::server::{AskError, Input, ServeKey};
use switchboard_protocol::{Method, Payload};
use tokio::sync::oneshot;

/// The connection, as a handler sees it.
pub(crate) trait Link: Send + Sync + 'static {
    /// Gives the machine something that happened.
    fn tell(&self, input: Input);

    /// Asks the client, in the handshake era. Nothing is heard if the call ends before.
    fn ask(&self, key: ServeKey, method: Method, params: Option<Payload>) -> Asked;

    /// Is there room for more on the way to the client?
    fn poll_room(&self, task: &mut TaskContext<'_>) -> Poll<()>;

    /// Ends the stream of a call, if the client can come back for the rest of it.
    fn release(&self, retry: Duration) {
        let _ = retry;
    }

    /// The server will end: whatever would stay open must not.
    fn stopping(&self) {}
}

/// A question on its way.
pub(crate) type Asked = oneshot::Receiver<Result<Payload, AskError>>;

impl fmt::Debug for dyn Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Link")
    }
}
