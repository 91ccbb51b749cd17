//! What members and callers share: short locks, and what is told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as Turn, Semaphore, broadcast};

use super::Settings;
use crate::config::ServerConfig;
use crate::event::{Event, Events, KEPT};
use crate::exposed_name::Naming;
use crate::member::Member;
use crate::policy::Policy;
use crate::registry::{Catalog, Changes, MemberCatalog, Registry};
use crate::state::MemberState;

/// What members and callers share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) starts: Arc<Semaphore>,
    members: Mutex<BTreeMap<String, Arc<Member>>>,
    registry: Mutex<Registry>,
    events: broadcast::Sender<Event>,
    /// Held by whoever changes which members there are.
    pub(super) changing: Turn<()>,
}

impl Shared {
    pub(super) fn new(settings: Settings, naming: Naming) -> Self {
        Self {
            starts: Arc::new(Semaphore::new(settings.starts_together.max(1))),
            settings,
            members: Mutex::default(),
            registry: Mutex::new(Registry::new(naming)),
            events: broadcast::Sender::new(KEPT),
            changing: Turn::new(()),
        }
    }

    pub(super) fn members(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Member>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn catalog(&self) -> Catalog {
        self.registry().catalog()
    }

    pub(super) fn config_of(&self, member: &Member) -> Arc<ServerConfig> {
        Arc::clone(&member.config.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A server has listed what it offers.
    pub(crate) fn list(&self, server: &ServerConfig, listed: MemberCatalog) {
        self.change(&server.name, |registry| {
            registry.set_member(&server.name, listed)
        });
    }

    /// A server offers nothing for now.
    pub(crate) fn unlist(&self, server: &str) {
        self.change(server, |registry| {
            registry.set_member(server, MemberCatalog::empty())
        });
    }

    /// What of a server may be used, as it is configured.
    pub(crate) fn allow(&self, server: &ServerConfig) {
        let mut policy = Policy::new(server.tools.clone());
        policy.is_read_only = server.is_read_only;
        self.change(&server.name, |registry| {
            registry.set_policy(&server.name, policy)
        });
    }

    pub(super) fn remove(&self, server: &str) {
        self.change(server, |registry| registry.remove_member(server));
    }

    pub(super) fn change(&self, server: &str, change: impl FnOnce(&mut Registry) -> Changes) {
        let (changes, version) = {
            let mut registry = self.registry();
            let changes = change(&mut registry);
            (changes, registry.catalog().version())
        };
        if !changes.is_empty() {
            self.tell(Event::Catalog {
                server: Arc::from(server),
                version,
                changes,
            });
        }
    }

    pub(crate) fn state_changed(&self, server: &Arc<str>, state: MemberState) {
        tracing::debug!(%server, %state, "state");
        self.tell(Event::State {
            server: Arc::clone(server),
            state,
        });
    }

    pub(crate) fn resource_changed(&self, server: &str, uri: &str) {
        let uri = self.catalog().expose_uri(server, uri).into_owned();
        self.tell(Event::Resource {
            server: Arc::from(server),
            uri,
        });
    }

    pub(super) fn listen(&self) -> Events {
        Events::new(self.events.subscribe())
    }

    pub(crate) fn tell(&self, event: Event) {
        // If nobody listens, nobody misses it.
        let _ = self.events.send(event);
    }
}
