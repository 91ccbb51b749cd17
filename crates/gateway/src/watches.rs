//! Resources that clients want to hear of, each watched once.
//!
//! A watch ends when no connection is left that wants it. How a client hears of a change is for
//! the machine of its connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_hub::{Hub, HubError, ResourceWatch};
use switchboard_server::Connection;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// The resources that are watched, by the URI that clients know.
#[derive(Debug)]
pub(crate) struct Watches {
    watched: Mutex<HashMap<String, Vec<Connection>>>,
    changes: mpsc::Sender<String>,
}

impl Watches {
    /// Watches, and where it is heard what has changed.
    pub(crate) fn new() -> (Arc<Self>, mpsc::Receiver<String>) {
        let (changes, changed) = mpsc::channel(MOST_CHANGES);
        let watches = Self {
            watched: Mutex::default(),
            changes,
        };
        (Arc::new(watches), changed)
    }

    /// A connection wants to hear of a resource. Returns when its server has agreed.
    pub(crate) async fn add(
        self: &Arc<Self>,
        hub: &Hub,
        uri: &str,
        connection: Connection,
    ) -> Result<(), HubError> {
        if let Some(connections) = self.watched().get_mut(uri) {
            connections.retain(Connection::is_open);
            if !connections.iter().any(|known| known.is_same(&connection)) {
                connections.push(connection);
            }
            return Ok(());
        }
        let watch = hub.watch(uri).await?;
        let mut watched = self.watched();
        let connections = watched.entry(uri.to_owned()).or_default();
        let is_first = connections.is_empty();
        connections.push(connection);
        drop(watched);
        if is_first {
            let watches = Arc::downgrade(self);
            let (uri, changes) = (uri.to_owned(), self.changes.clone());
            tokio::spawn(async move {
                let is_wanted = || {
                    let watches = watches.upgrade();
                    watches.is_some_and(|watches| watches.is_wanted(&uri))
                };
                follow(watch, &uri, &changes, is_wanted).await;
            });
        }
        Ok(())
    }

    /// A connection wants to hear of a resource no more.
    pub(crate) fn remove(&self, uri: &str, connection: &Connection) {
        if let Some(connections) = self.watched().get_mut(uri) {
            connections.retain(|known| !known.is_same(connection));
        }
    }

    /// Does anybody want to hear of it? If not, it is forgotten.
    fn is_wanted(&self, uri: &str) -> bool {
        let mut watched = self.watched();
        let Some(connections) = watched.get_mut(uri) else {
            return false;
        };
        connections.retain(Connection::is_open);
        let is_wanted = !connections.is_empty();
        if !is_wanted {
            watched.remove(uri);
        }
        is_wanted
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<String, Vec<Connection>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells of changes, as long as somebody wants to hear of them.
async fn follow(
    mut watch: ResourceWatch,
    uri: &str,
    changes: &mpsc::Sender<String>,
    is_wanted: impl Fn() -> bool,
) {
    while is_wanted() {
        match timeout(LOOKS, watch.changed()).await {
            Ok(Ok(())) => {
                if changes.send(uri.to_owned()).await.is_err() {
                    return;
                }
            }
            // It may come back.
            Ok(Err(_)) => tokio::time::sleep(PAUSE).await,
            Err(_) => {}
        }
    }
}

const MOST_CHANGES: usize = 64;
const LOOKS: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_secs(1);
