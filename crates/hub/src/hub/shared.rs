//! What members and callers share: short locks, and what is told.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_client::Ready;
use tokio::sync::{Mutex as Turn, Semaphore, broadcast};
use tokio::task::JoinHandle;

use super::{Settings, View};
use crate::cache;
use crate::config::{ServerConfig, Sharing};
use crate::error::HubError;
use crate::event::{Event, Events, KEPT};
use crate::exposed_name::Naming;
use crate::lock::{Lock, Mismatch, Pin, PinKind, Pins};
use crate::member::{Beginning, Member};
use crate::metrics::Metrics;
use crate::policy::{Denial, Reason};
use crate::registry::{Catalog, Changes, MemberCatalog, Registry};
use crate::state::MemberState;

/// What members and callers share.
pub(crate) struct Shared {
    pub(crate) settings: Arc<Settings>,
    pub(crate) starts: Arc<Semaphore>,
    members: Mutex<BTreeMap<String, Arc<Member>>>,
    registry: Mutex<Registry>,
    /// That of the catalogue. It is asked for with each call, so there is no lock before it.
    version: AtomicU64,
    events: broadcast::Sender<Event>,
    /// One for each listener that wants to hear of progress, and this one.
    progress: Arc<()>,
    pub(crate) metrics: Metrics,
    /// Some server is, or was, not shared by all users.
    has_personal: AtomicBool,
    /// What was approved. None: nobody has to approve anything.
    lock: Mutex<Option<Arc<Lock>>>,
    /// What is shown of servers, by name, while there is a lock.
    seen: Mutex<BTreeMap<Arc<str>, Seen>>,
    /// Held by whoever changes which members there are.
    pub(super) changing: Turn<()>,
}

impl Shared {
    pub(super) fn new(mut settings: Settings, naming: Naming) -> Self {
        let lock = settings.lock.take().map(Arc::new);
        Self {
            starts: Arc::new(Semaphore::new(settings.starts_together.max(1))),
            settings: Arc::new(settings),
            members: Mutex::default(),
            registry: Mutex::new(Registry::new(naming)),
            version: AtomicU64::new(0),
            events: broadcast::Sender::new(KEPT),
            progress: Arc::new(()),
            metrics: Metrics::new(),
            has_personal: AtomicBool::new(false),
            lock: Mutex::new(lock),
            seen: Mutex::default(),
            changing: Turn::new(()),
        }
    }

    pub(super) fn members(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Member>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is there surely but one of each server?
    pub(super) fn are_all_shared(&self) -> bool {
        !self.has_personal.load(Ordering::Relaxed)
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn catalog(&self) -> Catalog {
        self.registry().catalog()
    }

    pub(crate) fn catalog_version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Takes in a server that is not there yet.
    pub(super) fn add(self: &Arc<Self>, server: ServerConfig) -> Result<(), HubError> {
        let mut members = self.members();
        if members.contains_key(&server.name) {
            return Err(HubError::Exists {
                server: server.name,
            });
        }
        let name = server.name.clone();
        self.allow(None, &server);
        let member = Member::start(self, server, Beginning::default());
        members.insert(name, member);
        Ok(())
    }

    /// Puts a server in the place of the one of its name, if there is one, and has it begin when
    /// that one has ended.
    pub(super) fn replace(self: &Arc<Self>, server: ServerConfig) -> Option<Arc<Member>> {
        let mut members = self.members();
        let after = members.get(&server.name).cloned();
        // One that was disconnected stays so.
        let was_stopped = |member: &Arc<Member>| matches!(member.state(), MemberState::Stopped);
        let connects = !after.as_ref().is_some_and(was_stopped);
        let before = after.as_ref().map(|member| member.config());
        let name = server.name.clone();
        self.allow(before.as_deref(), &server);
        let beginning = Beginning { connects, after };
        members.insert(name, Member::start(self, server, beginning))
    }

    /// Has a server take over what needs no other connection.
    pub(super) fn update(&self, server: ServerConfig) {
        let member = self.members().get(&server.name).cloned();
        if let Some(member) = member {
            self.allow(Some(&member.config()), &server);
            member.configure(server);
        }
    }

    /// What of a server may be used, as far as its configuration is another. What was switched
    /// off meanwhile stays so.
    fn allow(&self, before: Option<&ServerConfig>, now: &ServerConfig) {
        if now.sharing != Sharing::Shared {
            self.has_personal.store(true, Ordering::Relaxed);
        }
        let pins = self.pins(now);
        self.change(&now.name, |registry| registry.set_pins(&now.name, pins));
        let is_same = |before: &ServerConfig| {
            before.tools == now.tools && before.is_read_only == now.is_read_only
        };
        if !before.is_some_and(is_same) {
            self.change(&now.name, |registry| {
                registry.set_rules(&now.name, now.tools.clone(), now.is_read_only)
            });
        }
    }

    /// What the lock says of a server, if there is one.
    fn pins(&self, server: &ServerConfig) -> Option<Arc<Pins>> {
        let lock = self.locked()?;
        Some(Arc::new(Pins::of(&lock, server)))
    }

    fn locked(&self) -> Option<Arc<Lock>> {
        let lock = self.lock.lock();
        lock.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Why a server may not run.
    pub(crate) fn refusal(&self, server: &ServerConfig) -> Option<Mismatch> {
        self.pins(server)?.refusal().cloned()
    }

    /// Has all servers judged by another lock.
    pub(super) fn set_lock(&self, lock: Option<Lock>) {
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = lock.map(Arc::new);
        let members = self.members();
        for member in members.values() {
            let pins = self.pins(&member.config());
            self.change(&member.name, |registry| {
                registry.set_pins(&member.name, pins)
            });
        }
    }

    /// A server has listed what it offers. One whose place is another's by now has no say.
    pub(crate) fn list(&self, member: &Arc<Member>, listed: MemberCatalog) {
        let members = self.members();
        let current = members.get(&*member.name);
        if current.is_some_and(|current| Arc::ptr_eq(current, member)) {
            self.change(&member.name, |registry| {
                registry.set_member(&member.name, listed)
            });
        }
    }

    /// Lists what a server offered when it last ran.
    pub(crate) async fn recall(&self, member: &Arc<Member>, server: &Arc<ServerConfig>) {
        if let Some(folder) = &self.settings.cache
            && let Some(listed) = cache::read(folder, server).await
        {
            self.list(member, listed);
        }
    }

    /// Writes down what a server offers, for the next time, after what is written already.
    pub(crate) fn remember(
        &self,
        server: &Arc<ServerConfig>,
        before: Option<JoinHandle<()>>,
    ) -> Option<JoinHandle<()>> {
        let folder = Arc::clone(self.settings.cache.as_ref()?);
        let listed = self.catalog().listed_by(&server.name);
        let server = Arc::clone(server);
        Some(tokio::spawn(async move {
            if let Some(before) = before {
                let _ = before.await;
            }
            cache::write(&folder, &server, listed).await;
        }))
    }

    /// Forgets a server that is gone, unless there is another of its name by now.
    pub(super) fn forget(&self, server: &str) {
        let members = self.members();
        if !members.contains_key(server) {
            self.change(server, |registry| registry.remove_member(server));
            self.metrics.forget(server);
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.remove(server);
        }
    }

    /// Changes what may be used of a server, if there is one of this name.
    pub(super) fn change_member(
        &self,
        server: &str,
        change: impl FnOnce(&mut Registry) -> Changes,
    ) -> Result<(), HubError> {
        let members = self.members();
        if !members.contains_key(server) {
            return Err(HubError::unknown(server, members.keys().cloned().collect()));
        }
        self.change(server, change);
        Ok(())
    }

    fn change(&self, server: &str, change: impl FnOnce(&mut Registry) -> Changes) {
        let (changes, version, refused) = {
            let mut registry = self.registry();
            let changes = change(&mut registry);
            let refused = registry.take_refused();
            let version = registry.catalog().version();
            self.version.store(version, Ordering::Release);
            (changes, version, refused)
        };
        // Another server may be concerned that has a name in common.
        self.tell_refused(refused);
        if !changes.is_empty() {
            self.metrics.catalog_changed(version);
            self.metrics.server(server).catalog_changed();
            self.tell(Event::Catalog {
                server: Arc::from(server),
                version,
                changes,
            });
        }
    }

    /// Says what is not as it was approved.
    fn tell_refused(&self, mut refused: Vec<Denial>) {
        while let Some(first) = refused.first() {
            let server = first.server.clone();
            let (own, others): (Vec<_>, Vec<_>) = refused
                .into_iter()
                .partition(|denial| denial.server == server);
            refused = others;
            let count = own.len();
            let shown: Arc<[Denial]> = own.into_iter().take(MOST_TOLD).collect();
            for denial in &*shown {
                tracing::warn!(%server, "{denial}");
            }
            let meter = self.metrics.server(&server);
            meter.refused(u64::try_from(count).unwrap_or(u64::MAX));
            self.tell(Event::Refused {
                server: server.into(),
                denials: shown,
                count,
            });
        }
    }

    /// A server as it may be seen: without what it says to models and nobody approved.
    pub(super) fn seen(&self, server: &Arc<str>, mut state: MemberState) -> MemberState {
        let Some(pins) = self.pins_of(server) else {
            return state;
        };
        let Some(ready) = state.ready_mut() else {
            return state;
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // It is asked for often, and changes seldom.
        if let Some(known) = seen.get(server)
            && Arc::ptr_eq(&known.said, ready)
            && Arc::ptr_eq(&known.pins, &pins)
        {
            *ready = Arc::clone(&known.shown);
            return state;
        }
        let said = Arc::clone(ready);
        if denied_instructions(server, &said, &pins).is_some() {
            Arc::make_mut(ready).instructions = None;
        }
        let shown = Arc::clone(ready);
        seen.insert(Arc::clone(server), Seen { said, pins, shown });
        state
    }

    /// What the lock said of a server when it was last judged.
    fn pins_of(&self, server: &str) -> Option<Arc<Pins>> {
        self.locked()?;
        self.catalog().policy_of(server)?.pins.clone()
    }

    pub(crate) fn state_changed(&self, server: &Arc<str>, mut state: MemberState) {
        tracing::debug!(%server, %state, "state");
        if let Some(pins) = self.pins_of(server)
            && let Some(ready) = state.ready_mut()
        {
            let denied = denied_instructions(server, ready, &pins);
            self.tell_refused(denied.into_iter().collect());
        }
        self.tell(Event::State {
            server: Arc::clone(server),
            state,
        });
    }

    pub(super) fn listen(&self, view: Option<Arc<View>>) -> Events {
        Events::new(
            self.events.subscribe(),
            self.metrics.clone(),
            Arc::clone(&self.progress),
            view,
        )
    }

    /// Does anybody want to hear of progress?
    pub(crate) fn tells_progress(&self) -> bool {
        Arc::strong_count(&self.progress) > 1
    }

    pub(crate) fn tell(&self, event: Event) {
        // If nobody listens, nobody misses it.
        let _ = self.events.send(event);
    }
}

/// What a server has said of itself, by what it was judged, and what is shown of it.
struct Seen {
    said: Arc<Ready>,
    pins: Arc<Pins>,
    shown: Arc<Ready>,
}

/// Why what a server wants models to know is not passed on.
fn denied_instructions(server: &str, ready: &Ready, pins: &Pins) -> Option<Denial> {
    let text = ready.instructions.as_deref()?;
    let kind = PinKind::Instructions;
    let mismatch = pins.check(kind, "", || Pin::instructions(text))?;
    Some(Denial {
        server: server.to_owned(),
        name: String::new(),
        kind: kind.word(),
        reason: Reason::NotApproved(Box::new(mismatch)),
    })
}

/// Nobody reads more about one change.
const MOST_TOLD: usize = 16;
