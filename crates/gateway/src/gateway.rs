//! A hub, and the place where it is served.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use switchboard_hub::{Hub, HubBuilder, Prefix};
use switchboard_protocol::types::{Implementation, LoggingLevel};
use switchboard_server::{Limits, Site};
use tokio::task::AbortHandle;

use crate::changes;
use crate::desk::Desk;
use crate::lot::Lot;
use crate::relay::{Parts, Relay};
use crate::rooms::Rooms;
use crate::server_host::ServerHost;
use crate::watches::Watches;

/// Many servers, served as one.
///
/// Clients hear of changes as long as this is kept.
pub struct Gateway {
    hub: Hub,
    site: Site,
    tasks: [AbortHandle; 2],
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
            most_parked: MOST_PARKED,
            park_life: PARK_LIFE,
            limits: Limits::default(),
        }
    }

    /// The servers.
    pub const fn hub(&self) -> &Hub {
        &self.hub
    }

    /// The place where they are served: on stdio, over HTTP, in several ways at once.
    pub const fn site(&self) -> &Site {
        &self.site
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

/// Describes a gateway.
#[must_use = "nothing runs before it is built"]
pub struct GatewayBuilder {
    hub: HubBuilder,
    names: Names,
    info: Implementation,
    most_parked: usize,
    park_life: Duration,
    limits: Limits,
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

    /// How many calls may wait for stateless clients that have to come again with an answer.
    pub const fn most_parked(mut self, most: usize) -> Self {
        self.most_parked = most;
        self
    }

    /// How long such a call waits.
    pub const fn park_life(mut self, life: Duration) -> Self {
        self.park_life = life;
        self
    }

    /// How much of everything is taken on from clients.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The gateway. Nothing is connected yet.
    ///
    /// # Panics
    /// Outside of a tokio runtime: each server has a task.
    pub fn build(self) -> Gateway {
        let desk = Arc::new(Desk::default());
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
        let lot = Arc::new(Lot::new(self.most_parked, self.park_life));
        let rooms = Rooms::new(hub.clone(), desk);
        let tidying = tokio::spawn(Rooms::tidy(Arc::downgrade(&rooms))).abort_handle();
        let (watches, changed) = Watches::new();
        let relay = Relay::new(
            Parts {
                hub: hub.clone(),
                rooms,
                lot,
                watches,
            },
            self.names,
            self.info,
        );
        let site = Site::new(relay).limits(self.limits);
        let telling = changes::tell(&hub, &site, changed);
        Gateway {
            hub,
            site,
            tasks: [telling, tidying],
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

const MOST_PARKED: usize = 1_000;
// A person reads a question, thinks and answers.
const PARK_LIFE: Duration = Duration::from_secs(10 * 60);
