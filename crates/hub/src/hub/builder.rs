//! What can be set about a hub, and the values it has otherwise.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_auth::{AuthError, OAuth, OAuthBuilder};
use switchboard_client::memory::End;
use switchboard_client::types::LoggingLevel;
use switchboard_client::{Host, NoHost};

use super::Hub;
use crate::config::{Config, ServerConfig};
use crate::exposed_name::{Naming, Prefix};
use crate::lock::Lock;
use crate::variables::{Surroundings, System};

/// Describes a hub.
#[must_use = "nothing runs before it is built"]
pub struct HubBuilder {
    settings: Settings,
    naming: Naming,
    servers: Vec<ServerConfig>,
}

/// What members and callers look up.
pub(crate) struct Settings {
    /// The application behind each server.
    pub(crate) host: Arc<HostMaker>,
    /// How a person logs in to each server.
    pub(crate) login: Box<LoginMaker>,
    pub(crate) surroundings: Arc<dyn Surroundings + Send + Sync>,
    pub(crate) starts_together: usize,
    /// How long `connect_all` waits for servers that are not required.
    pub(crate) optional_patience: Duration,
    /// How long a call waits for a server that is not ready yet.
    pub(crate) wait_for_server: Duration,
    /// How often a process that nobody calls is asked for a sign of life.
    pub(crate) time_between_pings: Option<Duration>,
    /// From which level on servers are to log.
    pub(crate) log_level: Option<LoggingLevel>,
    /// Where what servers offer is kept.
    pub(crate) cache: Option<Arc<PathBuf>>,
    /// Whether resources can be listed and read by tools.
    pub(crate) has_resource_tools: bool,
    /// What was approved, to begin with. None: nobody has to approve anything.
    pub(crate) lock: Option<Lock>,
    /// Servers of this very process.
    pub(crate) in_process: Box<Connector>,
    /// Something that differs from server to server, for who tries again when.
    pub(crate) chance: Box<dyn Fn() -> u16 + Send + Sync>,
}

pub(crate) type HostMaker = dyn Fn(&str) -> Arc<dyn Host> + Send + Sync;
type Connector = dyn Fn(&ServerConfig) -> Option<End> + Send + Sync;
type LoginMaker = dyn Fn(LoginRequest<'_>) -> Result<OAuth, AuthError> + Send + Sync;

/// A login that is to be described.
#[derive(Debug)]
#[non_exhaustive]
pub struct LoginRequest<'a> {
    /// The server.
    pub server: &'a str,
    /// The port that a browser comes back to, if the configuration says so.
    pub callback_port: Option<u16>,
    /// The login, with all that the configuration says about it.
    pub login: OAuthBuilder,
}

impl HubBuilder {
    pub(super) fn new() -> Self {
        Self {
            settings: Settings {
                host: Arc::new(|_| Arc::new(NoHost)),
                login: Box::new(|request| {
                    let hint = format!("log in to {:?} first", request.server);
                    request.login.hint(&hint).build()
                }),
                surroundings: Arc::new(System::new()),
                starts_together: STARTS_TOGETHER,
                optional_patience: OPTIONAL_PATIENCE,
                wait_for_server: WAIT_FOR_SERVER,
                time_between_pings: Some(TIME_BETWEEN_PINGS),
                log_level: None,
                cache: None,
                has_resource_tools: false,
                lock: None,
                in_process: Box::new(|_| None),
                chance: Box::new(|| RandomState::new().hash_one(0u8) as u16),
            },
            naming: Naming::default(),
            servers: Vec::new(),
        }
    }

    /// The servers and settings of a configuration. Only the lock that it may require is for the
    /// caller to read: [`lock`](Self::lock).
    pub fn config(mut self, config: Config) -> Self {
        if let Some(prefix) = config.settings.prefix {
            self.naming.prefix = prefix;
        }
        if let Some(longest) = config.settings.longest_name {
            self.naming = self.naming.with_longest(longest);
        }
        if let Some(together) = config.settings.starts_together {
            self.settings.starts_together = together;
        }
        self.servers.extend(config.servers);
        self
    }

    /// One more server.
    pub fn server(mut self, server: ServerConfig) -> Self {
        self.servers.push(server);
        self
    }

    /// The application behind each server, by the server's name: what it may be asked.
    pub fn host<H: Host>(mut self, host: impl Fn(&str) -> H + Send + Sync + 'static) -> Self {
        self.settings.host = Arc::new(move |server| Arc::new(host(server)));
        self
    }

    /// How logins are done: where they are kept, who is asked, what is said to those who cannot.
    /// It may take its time, and is called each time that a server is started.
    pub fn login(
        mut self,
        login: impl Fn(LoginRequest<'_>) -> Result<OAuth, AuthError> + Send + Sync + 'static,
    ) -> Self {
        self.settings.login = Box::new(login);
        self
    }

    /// Where variables of configurations get their values from. By default from this process, its
    /// files and programs.
    pub fn surroundings(mut self, surroundings: Arc<dyn Surroundings + Send + Sync>) -> Self {
        self.settings.surroundings = surroundings;
        self
    }

    /// How the names of tools are made.
    pub fn naming(mut self, naming: Naming) -> Self {
        self.naming = naming;
        self
    }

    /// What stands before the names of tools. All else about names stays as it is, as a
    /// configuration may have said it.
    pub fn prefix(mut self, prefix: Prefix) -> Self {
        self.naming.prefix = prefix;
        self
    }

    /// How many servers are started at the same time.
    pub fn starts_together(mut self, most: usize) -> Self {
        self.settings.starts_together = most;
        self
    }

    /// How long [`connect_all`](Hub::connect_all) waits for servers that are not required.
    pub fn optional_patience(mut self, limit: Duration) -> Self {
        self.settings.optional_patience = limit;
        self
    }

    /// How long a call waits for a server that is about to be ready.
    pub fn wait_for_server(mut self, limit: Duration) -> Self {
        self.settings.wait_for_server = limit;
        self
    }

    /// How often a process that nobody calls is asked for a sign of life: once a minute by default.
    /// One that gives none is started anew. None: never, unless a call was in vain.
    pub fn time_between_pings(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.settings.time_between_pings = time.into();
        self
    }

    /// From which level on servers are to log. By default each decides for itself, and those of the
    /// stateless era do not.
    pub fn log_level(mut self, level: LoggingLevel) -> Self {
        self.settings.log_level = Some(level);
        self
    }

    /// A folder of the user's own in which is kept what servers offer, so that those that are
    /// started by the first call can be seen before. By default nothing is kept.
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.settings.cache = Some(Arc::new(folder.into()));
        self
    }

    /// Whether resources can be listed and read by tools too, for models that are shown nothing
    /// else: [`Hub::own_tools`]. By default they cannot.
    pub fn resource_tools(mut self, has_them: bool) -> Self {
        self.settings.has_resource_tools = has_them;
        self
    }

    /// Offers only what is as this lock has it, and starts only servers that are in it. By default
    /// nobody has to approve anything.
    ///
    /// [`Hub::set_lock`] puts another one in its place.
    pub fn lock(mut self, lock: Lock) -> Self {
        self.settings.lock = Some(lock);
        self
    }

    /// Servers that live in this very process. Each time that a server is to be started this is asked
    /// first; if it gives the near end of a pipe, the server is at the other end, and what its
    /// configuration says of programs and addresses does not matter. It must not block.
    pub fn in_process(
        mut self,
        connect: impl Fn(&ServerConfig) -> Option<End> + Send + Sync + 'static,
    ) -> Self {
        self.settings.in_process = Box::new(connect);
        self
    }

    /// Where chance comes from: servers that end together do not come back together. For those who
    /// want each run to be the same.
    pub fn chance(mut self, roll: impl Fn() -> u16 + Send + Sync + 'static) -> Self {
        self.settings.chance = Box::new(roll);
        self
    }

    /// The hub. Nothing is connected yet. Of two servers of a name the first counts.
    ///
    /// # Panics
    /// Outside of a tokio runtime: each server has a task.
    pub fn build(self) -> Hub {
        Hub::start(self.settings, self.naming, self.servers)
    }
}

impl fmt::Debug for HubBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.servers.iter().map(|server| &server.name).collect();
        f.debug_struct("HubBuilder")
            .field("servers", &names)
            .finish_non_exhaustive()
    }
}

// Package runners take most of a core each while they start.
const STARTS_TOGETHER: usize = 8;
const OPTIONAL_PATIENCE: Duration = Duration::from_secs(30);
const WAIT_FOR_SERVER: Duration = Duration::from_secs(30);
const TIME_BETWEEN_PINGS: Duration = Duration::from_secs(60);
