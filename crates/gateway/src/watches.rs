//! Resources that clients want to hear of, each watched once: for all at a server that is shared,
//! for one client at a server that it has alone.
//!
//! A watch ends when no connection is left that wants it. How a client hears of a change is for
//! the machine of its connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use switchboard_hub::{HubError, ResourceWatch};
use switchboard_server::{Change, Connection};
use tokio::time::timeout;

use crate::rooms::Room;

/// The resources that are watched.
#[derive(Debug, Default)]
pub(crate) struct Watches(Mutex<HashMap<Watched, Vec<Connection>>>);

/// What is watched: the URI that clients know, and whose it is if not everybody's.
type Watched = (String, Option<RoomKey>);

/// Which room. A room that is watched from is there as long as its entry.
type RoomKey = usize;

impl Watches {
    /// A connection wants to hear of a resource. Returns when its server has agreed: false if it had
    /// before.
    pub(crate) async fn add(
        self: &Arc<Self>,
        room: &Arc<Room>,
        uri: &str,
        connection: Connection,
    ) -> Result<bool, HubError> {
        if self.join(room, uri, &connection) {
            return Ok(false);
        }
        let watch = room.hub.watch(uri).await?;
        let owner = match room.hub.is_shared(watch.server()) {
            true => None,
            false => Some(key(room)),
        };
        let name = (uri.to_owned(), owner);
        let mut watched = self.watched();
        let connections = watched.entry(name.clone()).or_default();
        let is_first = connections.is_empty();
        connections.push(connection);
        drop(watched);
        if is_first {
            let room = owner.map(|_| Arc::clone(room));
            tokio::spawn(follow(watch, Arc::downgrade(self), name, room));
        }
        Ok(true)
    }

    /// The same for a connection that was told already that it will hear: what has changed before
    /// the server agreed was missed, so it is told that something may have.
    pub(crate) async fn add_late(
        self: &Arc<Self>,
        room: &Arc<Room>,
        uri: &str,
        connection: Connection,
    ) -> Result<(), HubError> {
        if self.add(room, uri, connection.clone()).await? {
            connection.tell(&Change::Resource {
                uri: uri.to_owned(),
            });
        }
        Ok(())
    }

    /// A connection wants to hear of a resource no more.
    pub(crate) fn remove(&self, room: &Arc<Room>, uri: &str, connection: &Connection) {
        let mut watched = self.watched();
        for name in names(room, uri) {
            if let Some(connections) = watched.get_mut(&name) {
                connections.retain(|known| !known.is_same(connection));
            }
        }
    }

    /// Adds a connection to those who hear of a resource that is watched already. Is it?
    pub(crate) fn join(&self, room: &Arc<Room>, uri: &str, connection: &Connection) -> bool {
        let mut watched = self.watched();
        for name in names(room, uri) {
            if let Some(connections) = watched.get_mut(&name) {
                connections.retain(Connection::is_open);
                if !connections.iter().any(|known| known.is_same(connection)) {
                    connections.push(connection.clone());
                }
                return true;
            }
        }
        false
    }

    /// Who wants to hear of it. If it is nobody, it is forgotten.
    fn who_wants(&self, name: &Watched) -> Vec<Connection> {
        let mut watched = self.watched();
        let Some(connections) = watched.get_mut(name) else {
            return Vec::new();
        };
        connections.retain(Connection::is_open);
        match connections.is_empty() {
            true => watched.remove(name).unwrap_or_default(),
            false => connections.clone(),
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.watched().len()
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<Watched, Vec<Connection>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What it may be watched as.
fn names(room: &Arc<Room>, uri: &str) -> [Watched; 2] {
    [None, Some(key(room))].map(|owner| (uri.to_owned(), owner))
}

fn key(room: &Arc<Room>) -> RoomKey {
    Arc::as_ptr(room).addr()
}

/// Tells of changes, as long as somebody wants to hear of them. A room is kept so long.
async fn follow(
    mut watch: ResourceWatch,
    watches: Weak<Watches>,
    name: Watched,
    _room: Option<Arc<Room>>,
) {
    let listeners = || {
        let watches = watches.upgrade();
        watches.map_or(Vec::new(), |watches| watches.who_wants(&name))
    };
    while !listeners().is_empty() {
        match timeout(LOOKS, watch.changed()).await {
            Ok(Ok(())) => {
                let uri = name.0.clone();
                let change = Change::Resource { uri };
                for connection in listeners() {
                    connection.tell(&change);
                }
            }
            // It may come back.
            Ok(Err(_)) => tokio::time::sleep(PAUSE).await,
            Err(_) => {}
        }
    }
}

const LOOKS: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_secs(1);
