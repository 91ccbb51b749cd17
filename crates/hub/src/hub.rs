//! Many servers as one.
//!
//! A hub holds members, each looked after by a task of its own, and the catalogue of what the
//! ready ones offer. Nothing of one member waits for another: what they share are a few short
//! locks and the number of servers that are started at once.
//!
//! What is done with the servers is here; how they are called is in `calls`.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use switchboard_client::Host;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout_at};

use crate::config::{Config, ConfigError, ServerConfig, Start};
use crate::error::HubError;
use crate::event::Events;
use crate::exposed_name::Naming;
use crate::lock::{LOCK_FILE, Lock, LockError};
use crate::member::Member;
use crate::metrics::Metrics;
use crate::plan::{Plan, plan};
use crate::policy::ToolFilter;
use crate::profile::Profile;
use crate::registry::{Catalog, Hit};
use crate::session::Session;
use crate::state::MemberState;

mod builder;
mod calls;
mod shared;
mod telling;
mod view;

pub use builder::{HubBuilder, LoginRequest};

pub(crate) use builder::{HostMaker, Settings};
pub(crate) use shared::Shared;
pub(crate) use view::View;

/// Many servers as one. Cheap to clone; all clones are the same hub.
///
/// When the last one is gone, every server is ended. [`close`](Self::close) does it now and waits.
///
/// ```no_run
/// use switchboard_hub::Hub;
///
/// # async fn example() -> Result<(), switchboard_hub::HubError> {
/// let hub = Hub::from_file("mcp.json").await?;
/// hub.connect_all().await;
/// for tool in hub.catalog().tools() {
///     println!("{}", tool.name);
/// }
/// let sum = hub.call("mcp__everything__get-sum").arg("a", 2).arg("b", 3).await?;
/// println!("{}", sum.joined_text());
/// hub.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Hub {
    handle: Arc<Handle>,
    session: Option<Arc<Session>>,
    /// None if all is seen.
    view: Option<Arc<View>>,
}

/// What keeps the members alive.
struct Handle {
    shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Their tasks end with the orders that can no longer come.
        self.shared.members().clear();
    }
}

/// One server of a hub, as it stands.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerStatus {
    /// Its name.
    pub name: Arc<str>,
    /// Where it stands.
    pub state: MemberState,
    /// How it is configured.
    pub config: Arc<ServerConfig>,
}

impl Hub {
    /// A hub without servers.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Begins to describe a hub.
    pub fn builder() -> HubBuilder {
        HubBuilder::new()
    }

    /// A hub with the servers of a file. None is connected yet.
    ///
    /// What is wrong with single servers does not keep the others out. It is logged as a warning;
    /// whoever wants to show it reads the file with [`Config::from_file`].
    ///
    /// If the configuration requires a lock (`"x-switchboard": {"lock": true}`), it is read, too.
    ///
    /// # Errors
    /// When the file cannot be read as a configuration, or the lock as a lock.
    pub async fn from_file(path: impl Into<PathBuf>) -> Result<Self, HubError> {
        let path = path.into();
        let folder = path.parent().map(PathBuf::from).unwrap_or_default();
        let name = Arc::from(path.display().to_string());
        let config = spawn_blocking(move || Config::from_file(path)).await;
        let config = config.unwrap_or_else(|error| {
            Err(ConfigError::File {
                file: name,
                source: std::io::Error::other(error),
            })
        });
        let config = config.map_err(HubError::Config)?;
        for problem in &config.problems {
            tracing::warn!("{problem}");
        }
        let lock = config.settings.lock.clone();
        let builder = Self::builder().config(config);
        let Some(lock) = lock else {
            return Ok(builder.build());
        };
        let lock = folder.join(lock);
        let read = spawn_blocking(move || Lock::read(lock)).await;
        let read = read.unwrap_or_else(|error| {
            Err(LockError::File {
                file: LOCK_FILE.to_owned(),
                source: std::io::Error::other(error),
            })
        });
        Ok(builder.lock(read.map_err(HubError::Lock)?).build())
    }

    pub(crate) fn start(settings: Settings, naming: Naming, servers: Vec<ServerConfig>) -> Self {
        let shared = Arc::new(Shared::new(settings, naming));
        for server in servers {
            // Of two of a name the first counts.
            let _ = shared.add(server);
        }
        Self {
            handle: Arc::new(Handle { shared }),
            session: None,
            view: None,
        }
    }

    /// The same hub for one of its users.
    ///
    /// A server that is not shared ([`Sharing::PerClient`](crate::Sharing::PerClient)) runs once
    /// for each session: from the session's first call to it until the session is dropped. All
    /// others are the same for everybody.
    #[must_use]
    pub fn session(&self) -> Self {
        Self {
            handle: Arc::clone(&self.handle),
            session: Some(Arc::new(Session::new(Arc::clone(
                &self.shared().settings.host,
            )))),
            view: self.view.clone(),
        }
    }

    /// The same hub for those who are to see what is in a profile, and nothing else: in lists,
    /// calls, searches and events. Servers are those of the whole hub; what is done with one that
    /// is seen is done for all.
    #[must_use]
    pub fn narrowed(&self, profile: Profile) -> Self {
        Self {
            handle: Arc::clone(&self.handle),
            session: self.session.clone(),
            view: Some(Arc::new(View::new(profile, self.view.clone()))),
        }
    }

    /// The same, with an application of its own behind the servers that only this user has.
    #[must_use]
    pub fn session_as<H: Host>(&self, host: impl Fn(&str) -> H + Send + Sync + 'static) -> Self {
        let host: Arc<HostMaker> = Arc::new(move |server| Arc::new(host(server)));
        Self {
            handle: Arc::clone(&self.handle),
            session: Some(Arc::new(Session::new(host))),
            view: self.view.clone(),
        }
    }

    /// Is there but one of each server, for all users?
    pub fn is_all_shared(&self) -> bool {
        self.shared().are_all_shared()
    }

    /// Is there one of this server for all users, and not one for each [session](Self::session)?
    pub fn is_shared(&self, server: &str) -> bool {
        if self.shared().are_all_shared() {
            return true;
        }
        let members = self.shared().members();
        members
            .get(server)
            .is_none_or(|member| member.is_shared_by_all())
    }

    /// Adds a server and does not connect it yet.
    ///
    /// # Errors
    /// When there is one of this name.
    pub fn add_server(&self, server: ServerConfig) -> Result<(), HubError> {
        self.shared().add(server)
    }

    /// Connects a server, or tries again what had ended, and waits until it is ready.
    ///
    /// # Errors
    /// When it does not become ready, with the reason.
    pub async fn connect(&self, server: &str) -> Result<(), HubError> {
        let member = self.member(server)?;
        match member.connect().await {
            state if state.is_ready() => Ok(()),
            state => Err(HubError::not_ready(server, &state)),
        }
    }

    /// Ends a server, and waits for that. It stays so until it is connected.
    ///
    /// # Errors
    /// When there is no such server.
    pub async fn disconnect(&self, server: &str) -> Result<(), HubError> {
        self.member(server)?.disconnect().await;
        Ok(())
    }

    /// Connects all servers that are to be started at once, each on its own, and waits: for the
    /// required ones until they are ready or cannot be, for the others at most as long as is set.
    /// How each stands is what comes back.
    pub async fn connect_all(&self) -> Vec<ServerStatus> {
        let members: Vec<Arc<Member>> = self.shared().members().values().cloned().collect();
        let until = Instant::now().checked_add(self.shared().settings.optional_patience);
        let mut connecting = Vec::new();
        for member in members {
            let config = member.config();
            let is_eager = config.is_enabled && config.start == Start::Eager;
            let task = tokio::spawn(async move {
                match is_eager {
                    true => drop(member.connect().await),
                    // What it offered before is known then.
                    false => member.recalled().await,
                }
            });
            connecting.push((Waited(task), config.is_required && is_eager));
        }
        for (Waited(task), is_required) in &mut connecting {
            match until.filter(|_| !*is_required) {
                Some(until) => drop(timeout_at(until, task).await),
                None => drop(task.await),
            }
        }
        self.servers()
    }

    /// Makes these the servers of the hub. What did not change keeps its process, its calls and
    /// its subscriptions; the plan says what did. New ones are connected, without being waited for.
    ///
    /// It is done as a whole, also when the future is dropped.
    pub async fn set_servers(&self, servers: Vec<ServerConfig>) -> Plan {
        let hub = self.clone();
        let changing = tokio::spawn(async move { hub.change_servers(servers).await });
        // It is not cancelled, and does not panic.
        changing.await.unwrap_or_default()
    }

    async fn change_servers(&self, servers: Vec<ServerConfig>) -> Plan {
        let shared = self.shared();
        let _turn = shared.changing.lock().await;
        let old: Vec<ServerConfig> = shared
            .members()
            .values()
            .map(|member| ServerConfig::clone(&member.config()))
            .collect();
        let plan = plan(&old, &servers);
        let mut ended = Vec::new();
        let mut placed = std::collections::HashSet::new();
        for server in servers {
            if !placed.insert(server.name.clone()) || plan.keep.contains(&server.name) {
                continue;
            }
            if plan.update.contains(&server.name) {
                shared.update(server);
            } else {
                ended.extend(shared.replace(server));
            }
        }
        for name in &plan.stop {
            ended.extend(shared.members().remove(name));
        }
        end_all(ended).await;
        for name in &plan.stop {
            shared.forget(name);
        }
        plan
    }

    /// All servers, by name.
    pub fn servers(&self) -> Vec<ServerStatus> {
        let members = self.shared().members();
        members
            .values()
            .filter(|member| self.sees(&member.name))
            .map(|member| ServerStatus {
                name: Arc::clone(&member.name),
                state: self.shared().seen(&member.name, member.state()),
                config: member.config(),
            })
            .collect()
    }

    /// Judges everything by another lock, at once; by none, if there is none. Servers that were
    /// not started because of the last one are connected, without being waited for. One that runs
    /// and is not in it any more goes on running, but nothing of it is offered.
    pub fn set_lock(&self, lock: Option<Lock>) {
        let shared = self.shared();
        let members: Vec<Arc<Member>> = shared.members().values().cloned().collect();
        let is_refused = |member: &&Arc<Member>| shared.refusal(&member.config()).is_some();
        let refused: Vec<Arc<Member>> = members.iter().filter(is_refused).cloned().collect();
        shared.set_lock(lock);
        for member in refused {
            let has_failed = matches!(member.state(), MemberState::Failed { .. });
            if has_failed && !is_refused(&&member) {
                tokio::spawn(async move { drop(member.connect().await) });
            }
        }
    }

    /// What the servers offer now. It does not change; ask again for what is new.
    pub fn catalog(&self) -> Catalog {
        let whole = self.shared().catalog();
        match &self.view {
            Some(view) => view.of(whole),
            None => whole,
        }
    }

    /// The [version](Catalog::version) of the catalogue as it is now: whoever has one of this version
    /// has that one.
    pub fn catalog_version(&self) -> u64 {
        self.shared().catalog_version()
    }

    /// The tools that fit these words best, the best first.
    pub fn search(&self, words: &str, limit: usize) -> Vec<Hit> {
        self.catalog().search(words, limit)
    }

    /// The numbers of all calls, which go on being counted.
    pub fn metrics(&self) -> Metrics {
        self.shared().metrics.clone()
    }

    /// What happens from now on.
    pub fn events(&self) -> Events {
        self.shared().listen(self.view.clone())
    }

    /// Changes which tools of a server may be used, at once.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn set_tools(&self, server: &str, tools: ToolFilter) -> Result<(), HubError> {
        self.shared()
            .change_member(server, |registry| registry.set_filter(server, tools))
    }

    /// Switches a server off or on for users: what it offers goes and comes, its connection stays.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn toggle(&self, server: &str, is_on: bool) -> Result<(), HubError> {
        self.shared()
            .change_member(server, |registry| registry.set_enabled(server, is_on))
    }

    /// Ends all servers, and waits for that. The hub has none then.
    pub async fn close(&self) {
        let hub = self.clone();
        let closing = tokio::spawn(async move {
            let shared = hub.shared();
            let _turn = shared.changing.lock().await;
            let members = std::mem::take(&mut *shared.members());
            end_all(members.values().cloned()).await;
            for name in members.keys() {
                shared.forget(name);
            }
        });
        // It is not cancelled, and does not panic.
        let _ = closing.await;
    }

    fn member(&self, server: &str) -> Result<Arc<Member>, HubError> {
        let members = self.shared().members();
        let found = members.get(server).filter(|_| self.sees(server));
        found.cloned().ok_or_else(|| {
            let names = members.keys().filter(|name| self.sees(name));
            HubError::unknown(server, names.cloned().collect())
        })
    }

    /// Is this server one of those that are seen?
    fn sees(&self, server: &str) -> bool {
        let is_in = |view: &Arc<View>| view.has_server(server);
        self.view.as_ref().is_none_or(is_in)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }
}

/// Ends members all at once: one that takes its time holds up no other.
async fn end_all(members: impl IntoIterator<Item = Arc<Member>>) {
    let ending: Vec<_> = members
        .into_iter()
        .map(|member| tokio::spawn(async move { member.end().await }))
        .collect();
    for task in ending {
        let _ = task.await;
    }
}

/// A task that ends when nobody waits for it.
struct Waited(JoinHandle<()>);

impl Drop for Waited {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Default for Hub {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.shared().members().keys().cloned().collect();
        f.debug_struct("Hub").field("servers", &names).finish()
    }
}
