//! What clients have alone: their own ones of the servers that are not shared.
//!
//! A client of the handshake era has a room as long as its connection is open. One of the
//! stateless era has no connection: its room is kept for whoever says the same of himself, and can
//! do the same, until it is long unused.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use switchboard_hub::Hub;
use switchboard_protocol::Era;
use switchboard_protocol::machine::server::Caller;
use switchboard_protocol::types::ClientCapabilities;
use switchboard_server::{Connection, Context};
use tokio::time::Instant;

use crate::desk::Desk;
use crate::identity::Identity;
use crate::server_host::ServerHost;

/// The rooms of all clients.
#[derive(Debug)]
pub(crate) struct Rooms {
    /// For all that is shared.
    hall: Arc<Room>,
    most: usize,
    kept: Mutex<Vec<Kept>>,
}

/// Where the calls of a client go through.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) hub: Hub,
    /// Where its own servers ask.
    own: Arc<Desk>,
    /// Where shared ones do.
    shared: Arc<Desk>,
}

impl Room {
    /// Is this a server that its client has alone?
    pub(crate) fn has_alone(&self, server: &str) -> bool {
        !self.hub.is_shared(server)
    }

    /// Where the servers ask that this client has alone, or those that all share.
    pub(crate) const fn desk(&self, is_own: bool) -> &Arc<Desk> {
        match is_own {
            true => &self.own,
            false => &self.shared,
        }
    }
}

#[derive(Debug)]
struct Kept {
    client: Identity,
    caller: Arc<Caller>,
    room: Arc<Room>,
    last_used: Instant,
}

impl Kept {
    fn is_of(&self, client: &Identity, capabilities: &ClientCapabilities) -> bool {
        self.client.is_same(client) && self.caller.capabilities == *capabilities
    }

    /// A client of the handshake era says only once who it is.
    fn is_session_of(&self, caller: &Arc<Caller>) -> bool {
        caller.revision.era() == Era::Handshake && Arc::ptr_eq(&self.caller, caller)
    }

    fn is_wanted(&self) -> bool {
        match self.client.is_connected() {
            Some(is_connected) => is_connected,
            None => Arc::strong_count(&self.room) > 1 || self.last_used.elapsed() < KEPT_UNUSED,
        }
    }
}

impl Rooms {
    pub(crate) fn new(hub: Hub, desk: Arc<Desk>, most: usize) -> Arc<Self> {
        Arc::new(Self {
            hall: Arc::new(Room {
                hub,
                own: Arc::clone(&desk),
                shared: desk,
            }),
            most,
            kept: Mutex::default(),
        })
    }

    /// The room for all that is shared.
    pub(crate) const fn hall(&self) -> &Arc<Room> {
        &self.hall
    }

    /// The room of the client that makes this call. None if there are too many.
    pub(crate) fn of(&self, context: &Context) -> Option<Arc<Room>> {
        self.find(|| Identity::of(context), context.caller())
    }

    /// The room of a client of the handshake era that has called before and now tells something. None
    /// if it has nothing alone.
    pub(crate) fn of_caller(&self, caller: &Arc<Caller>) -> Option<Arc<Room>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().find(|kept| kept.is_session_of(caller))?;
        Some(Arc::clone(&known.room))
    }

    /// The room of a client of the stateless era that listens on this connection.
    pub(crate) fn of_listener(
        &self,
        connection: &Connection,
        caller: &Arc<Caller>,
    ) -> Option<Arc<Room>> {
        let client = || Identity::of_listener(connection, caller);
        self.find(client, caller)
    }

    fn find(&self, client: impl FnOnce() -> Identity, caller: &Arc<Caller>) -> Option<Arc<Room>> {
        if self.hall.hub.is_all_shared() {
            return Some(Arc::clone(&self.hall));
        }
        let client = client();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept
            .iter_mut()
            .find(|kept| kept.is_of(&client, &caller.capabilities));
        if let Some(known) = known {
            known.last_used = Instant::now();
            return Some(Arc::clone(&known.room));
        }
        kept.retain(Kept::is_wanted);
        if kept.len() >= self.most {
            return None;
        }
        let room = self.furnish(&client, caller);
        kept.push(Kept {
            client,
            caller: Arc::clone(caller),
            room: Arc::clone(&room),
            last_used: Instant::now(),
        });
        Some(room)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        let kept = self.kept.lock();
        kept.unwrap_or_else(PoisonError::into_inner).len()
    }

    fn furnish(&self, client: &Identity, caller: &Arc<Caller>) -> Arc<Room> {
        let own = Arc::new(Desk::new(Arc::clone(&self.hall.shared.tasks)));
        let (desk, caller) = (Arc::clone(&own), Arc::clone(caller));
        // One of the stateless era can be asked by the result of a call alone.
        let session = match caller.revision.era() {
            Era::Handshake => client.connection().cloned(),
            Era::Stateless => None,
        };
        let host = move |server: &str| {
            ServerHost::of_one(&desk, server, &caller.capabilities, session.clone())
        };
        Arc::new(Room {
            hub: self.hall.hub.session_as(host),
            own,
            shared: Arc::clone(&self.hall.shared),
        })
    }

    /// Gives up the rooms that nobody wants, again and again.
    pub(crate) async fn tidy(rooms: Weak<Self>) {
        loop {
            tokio::time::sleep(BETWEEN_LOOKS).await;
            let Some(rooms) = rooms.upgrade() else {
                return;
            };
            let mut kept = rooms.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.retain(Kept::is_wanted);
        }
    }
}

const KEPT_UNUSED: Duration = Duration::from_secs(10 * 60);
const BETWEEN_LOOKS: Duration = Duration::from_secs(10);
