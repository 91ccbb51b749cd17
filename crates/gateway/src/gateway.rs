//! A hub, and the place where it is served.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};

use switchboard_hub::{Hub, HubBuilder, Prefix, Profile, ServerStatus};
use switchboard_protocol::types::{Implementation, LoggingLevel};
use switchboard_server::Site;
use switchboard_server::access::{Jwt, TokenError};
use tokio::task::AbortHandle;

use crate::access::{self, Door, Key};
use crate::audit::Audit;
use crate::changes;
use crate::desk::Desk;
use crate::finder::Finder;
use crate::gate::Gate;
use crate::limit::GatewayLimits;
use crate::load::GatewayLoad;
use crate::lot::Lot;
use crate::opening::Opening;
use crate::relay::{Parts, Relay, Tasks};
use crate::rooms::Rooms;
use crate::server_host::ServerHost;
use crate::turnstile::{CallerLimits, Turnstile};
use crate::watches::Watches;

/// Many servers, served as one.
///
/// Clients hear of changes as long as this is kept.
pub struct Gateway {
    hub: Hub,
    site: Site,
    /// What those see who come by the path of a profile.
    profiles: Vec<(Arc<str>, Site)>,
    /// The profile of all others. None: everything.
    profile: Option<Arc<str>>,
    door: Arc<Door>,
    turnstile: Arc<Turnstile>,
    lot: Arc<Lot>,
    opening: Opening,
    desk: Arc<Desk>,
    audit: Option<Audit>,
    /// What there is for each of its sites.
    kept: Vec<(Weak<Rooms>, Weak<Watches>)>,
    tasks: Vec<AbortHandle>,
}

impl Gateway {
    /// Serves these servers, with everything as usual.
    ///
    /// # Panics
    /// Outside of a tokio runtime: each server has a task.
    pub fn new(hub: HubBuilder) -> Self {
        Self::builder(hub).build()
    }

    /// Begins to describe a gateway. What the application behind the servers can be asked is for
    /// its clients to say, so that of the hub is replaced.
    pub fn builder(hub: HubBuilder) -> GatewayBuilder {
        GatewayBuilder {
            hub,
            names: Names::default(),
            info: Implementation::new("switchboard", env!("CARGO_PKG_VERSION")),
            mode: Mode::default(),
            profile: None,
            profiles: Vec::new(),
            door: Door::default(),
            special: HashMap::new(),
            audit: None,
            limits: GatewayLimits::default(),
        }
    }

    /// The servers.
    pub const fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Connects the servers, as [`Hub::connect_all`] does. A client that lists meanwhile is
    /// answered when they have said what they offer, or after ten seconds: many list once only.
    pub fn connect_all(&self) -> impl Future<Output = Vec<ServerStatus>> + Send + 'static {
        let (hub, connecting) = (self.hub.clone(), self.opening.begin());
        async move {
            let statuses = hub.connect_all().await;
            drop(connecting);
            statuses
        }
    }

    /// The place where they are served: on stdio, over HTTP, in several ways at once. It knows
    /// neither keys nor paths of profiles: [`serve_http`](Self::serve_http) does.
    pub const fn site(&self) -> &Site {
        &self.site
    }

    /// From now on these keys let callers in over HTTP, and no others. A gateway that was built
    /// without keys and tokens stays open to all who can reach it.
    ///
    /// # Errors
    /// When two keys are the same, or the system has no randomness. Nothing has changed then.
    pub fn set_keys(&self, keys: &[Key]) -> Result<(), TokenError> {
        self.door.set_keys(keys)?;
        self.turnstile.set_special(access::limits_of(keys));
        Ok(())
    }

    /// Must callers over HTTP prove who they are?
    pub fn is_locked(&self) -> bool {
        self.door.is_locked()
    }

    /// How much is under way now.
    pub fn load(&self) -> GatewayLoad {
        let mut load = GatewayLoad {
            calls: self.turnstile.calls(),
            parked: self.lot.len(),
            asking: self.desk.len(),
            ..GatewayLoad::default()
        };
        for (rooms, watches) in &self.kept {
            load.rooms += rooms.upgrade().map_or(0, |rooms| rooms.len());
            load.watched += watches.upgrade().map_or(0, |watches| watches.len());
        }
        load
    }

    pub(crate) fn profiles(&self) -> &[(Arc<str>, Site)] {
        &self.profiles
    }

    pub(crate) const fn profile(&self) -> Option<&Arc<str>> {
        self.profile.as_ref()
    }

    pub(crate) const fn turnstile(&self) -> &Arc<Turnstile> {
        &self.turnstile
    }

    pub(crate) const fn lot(&self) -> &Arc<Lot> {
        &self.lot
    }

    pub(crate) const fn audit(&self) -> Option<&Audit> {
        self.audit.as_ref()
    }

    pub(crate) const fn door(&self) -> &Arc<Door> {
        &self.door
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // They have the site, and the site has the hub.
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("hub", &self.hub)
            .finish_non_exhaustive()
    }
}

/// How tools and prompts are called by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Names {
    /// `server__tool`: hosts put a prefix of their own before it.
    #[default]
    Server,
    /// `mcp__server__tool`, as hosts that run the servers themselves call them.
    Mcp,
    /// As the server calls them, where no other server has the same; `server__tool` otherwise.
    Plain,
}

/// What clients are offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// All tools.
    #[default]
    All,
    /// Two tools, which never change: `find_tools` finds tools, `call_tool` calls them.
    Search,
}

/// Describes a gateway.
#[must_use = "nothing runs before it is built"]
pub struct GatewayBuilder {
    hub: HubBuilder,
    names: Names,
    info: Implementation,
    mode: Mode,
    profile: Option<Profile>,
    profiles: Vec<Profile>,
    door: Door,
    special: HashMap<String, CallerLimits>,
    audit: Option<Audit>,
    limits: GatewayLimits,
}

impl GatewayBuilder {
    /// How tools and prompts are called.
    pub const fn names(mut self, names: Names) -> Self {
        self.names = names;
        self
    }

    /// Who the gateway says it is.
    pub fn info(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// How much of everything is taken on from clients.
    pub fn limits(mut self, limits: GatewayLimits) -> Self {
        self.limits = limits;
        self
    }

    /// What clients are offered.
    pub const fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Clients see what is in this profile, and nothing else.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// Profiles that have paths of their own over HTTP, `/mcp/name`, and that keys may be for.
    pub fn profiles(mut self, profiles: Vec<Profile>) -> Self {
        self.profiles = profiles;
        self
    }

    /// Who may call over HTTP: whoever has one of these keys, or a token. Everybody if neither is
    /// given. A key that is for a profile which is not there lets nobody in.
    ///
    /// # Errors
    /// When two keys are the same, or the system has no randomness.
    pub fn access(mut self, keys: &[Key], tokens: Option<Jwt>) -> Result<Self, TokenError> {
        self.door = Door::new(keys, tokens)?;
        self.special = access::limits_of(keys);
        Ok(self)
    }

    /// Where calls are written down. Nowhere if nothing is said.
    pub fn audit(mut self, audit: Audit) -> Self {
        self.audit = Some(audit);
        self
    }

    /// The gateway. Nothing is connected yet.
    ///
    /// # Panics
    /// Outside of a tokio runtime: each server has a task.
    pub fn build(self) -> Gateway {
        let turnstile = Arc::new(Turnstile::new(self.limits.clone(), self.special));
        let tasks = Tasks::new(
            Arc::clone(&turnstile),
            self.limits.parked,
            self.limits.parked_per_caller,
            self.limits.parked_life,
        );
        let desk = Arc::new(Desk::new(Arc::clone(&tasks)));
        let asking = Arc::clone(&desk);
        let prefix = match self.names {
            Names::Mcp => Prefix::Mcp,
            Names::Server | Names::Plain => Prefix::Server,
        };
        let hub = self
            .hub
            .prefix(prefix)
            .log_level(LoggingLevel::Debug)
            .host(move |server| ServerHost::of_all(&asking, server))
            .build();
        let lot = Arc::new(Lot::new(&self.limits, &turnstile));
        let opening = Opening::new();
        let (mut running, mut kept) = (Vec::new(), Vec::new());
        let mut site = |profile: Option<&Profile>| {
            let hub = match profile {
                Some(profile) => hub.narrowed(profile.clone()),
                None => hub.clone(),
            };
            let rooms = Rooms::new(hub.clone(), Arc::clone(&desk), self.limits.rooms);
            running.push(tokio::spawn(Rooms::tidy(Arc::downgrade(&rooms))).abort_handle());
            let watches = Arc::default();
            kept.push((Arc::downgrade(&rooms), Arc::downgrade(&watches)));
            let parts = Parts {
                hub: hub.clone(),
                rooms,
                opening: opening.clone(),
                lot: Arc::clone(&lot),
                turnstile: Arc::clone(&turnstile),
                watches,
                tasks: Arc::clone(&tasks),
                is_locked: self.door.is_locked(),
            };
            let gate = Gate {
                relay: Relay::new(parts, self.names, self.info.clone()),
                turnstile: Arc::clone(&turnstile),
                audit: self.audit.clone(),
                profile: profile.map(|profile| Arc::from(&*profile.name)),
            };
            let site = match self.mode {
                Mode::All => Site::new(gate),
                Mode::Search => Site::new(Finder::new(gate)),
            };
            let site = site
                .limits(self.limits.server.clone())
                .counting(turnstile.refusals().clone());
            running.push(changes::tell(&hub, &site));
            site
        };
        let main = site(self.profile.as_ref());
        let profiles = self.profiles.iter();
        let profiles = profiles
            .map(|profile| (Arc::from(&*profile.name), site(Some(profile))))
            .collect();
        Gateway {
            site: main,
            profiles,
            profile: self.profile.map(|profile| profile.name.into()),
            door: Arc::new(self.door),
            turnstile,
            lot,
            opening,
            desk,
            audit: self.audit,
            kept,
            tasks: running,
            hub,
        }
    }
}

impl fmt::Debug for GatewayBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayBuilder")
            .field("hub", &self.hub)
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}
