//! Many servers as one.
//!
//! A hub holds members, each looked after by a task of its own, and the catalogue of what the
//! ready ones offer. Nothing of one member waits for another: what they share are a few short
//! locks and the number of servers that are started at once.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use switchboard_client::Client;
use tokio::time::timeout;

use crate::call::HubCall;
use crate::config::{Config, ServerConfig, Start};
use crate::error::HubError;
use crate::event::Events;
use crate::exposed_name::Naming;
use crate::member::{Member, Order};
use crate::plan::{Plan, plan};
use crate::policy::ToolFilter;
use crate::registry::{Catalog, Hit};
use crate::state::MemberState;

mod builder;
mod shared;

pub use builder::HubBuilder;

pub(crate) use builder::Settings;
pub(crate) use shared::Shared;

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
    /// # Errors
    /// When the file cannot be read as a configuration. What is wrong with single servers does
    /// not keep the others out; [`Config::from_file`] tells it.
    pub async fn from_file(path: impl AsRef<Path>) -> Result<Self, HubError> {
        let config = Config::from_file(path.as_ref()).map_err(HubError::Config)?;
        Ok(Self::builder().config(config).build())
    }

    pub(crate) fn start(settings: Settings, naming: Naming, servers: Vec<ServerConfig>) -> Self {
        let shared = Arc::new(Shared::new(settings, naming));
        let hub = Self {
            handle: Arc::new(Handle { shared }),
        };
        for server in servers {
            hub.insert(server, false);
        }
        hub
    }

    /// Adds a server and does not connect it yet. One of the same name is an error.
    ///
    /// # Errors
    /// When there is one of this name.
    pub fn add_server(&self, server: ServerConfig) -> Result<(), HubError> {
        if self.shared().members().contains_key(&server.name) {
            return Err(HubError::Exists {
                server: server.name,
            });
        }
        self.insert(server, false);
        Ok(())
    }

    /// Connects a server, or tries again what had ended, and waits until it is ready.
    ///
    /// # Errors
    /// When it does not become ready, with the reason.
    pub async fn connect(&self, server: &str) -> Result<(), HubError> {
        let member = self.member(server)?;
        let mut states = member.states();
        states.mark_unchanged();
        member.order(Order::Connect);
        let settled = states.wait_for(|state| {
            state.is_ready()
                || matches!(
                    state,
                    MemberState::NeedsLogin { .. }
                        | MemberState::Failed { .. }
                        | MemberState::BackingOff { .. }
                        | MemberState::Disabled
                )
        });
        match settled.await {
            Ok(state) if state.is_ready() => Ok(()),
            Ok(state) => Err(HubError::not_ready(server, &state)),
            Err(_) => Err(HubError::unknown(server, Vec::new())),
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
        let mut waiting = Vec::new();
        for member in &members {
            let config = self.shared().config_of(member);
            if config.is_enabled && config.start == Start::Eager {
                member.order(Order::Connect);
                waiting.push((Arc::clone(member), config.is_required));
            }
        }
        let limit = self.shared().settings.optional_patience;
        let until = tokio::time::Instant::now() + limit;
        for (member, is_required) in waiting {
            let mut states = member.states();
            let settled = states.wait_for(|state| {
                !matches!(state, MemberState::Configured | MemberState::Starting)
            });
            if is_required {
                let _ = settled.await;
            } else {
                let _ = tokio::time::timeout_at(until, settled).await;
            }
        }
        self.servers()
    }

    /// Makes these the servers of the hub. What did not change keeps its process, its calls and
    /// its subscriptions; the plan says what did. New ones are connected, without being waited for.
    pub async fn set_servers(&self, servers: Vec<ServerConfig>) -> Plan {
        let shared = self.shared();
        let _turn = shared.changing.lock().await;
        let old: Vec<ServerConfig> = shared
            .members()
            .values()
            .map(|member| ServerConfig::clone(&shared.config_of(member)))
            .collect();
        let plan = plan(&old, &servers);
        let mut ended = Vec::new();
        for name in plan.stop.iter().chain(&plan.restart) {
            let member = shared.members().remove(name);
            ended.extend(member);
        }
        // All at once: one that takes its time to end holds up no other.
        let ending: Vec<_> = ended
            .into_iter()
            .map(|member| tokio::spawn(async move { member.end().await }))
            .collect();
        for task in ending {
            let _ = task.await;
        }
        for name in &plan.stop {
            shared.remove(name);
        }
        for server in servers {
            if plan.start.contains(&server.name) || plan.restart.contains(&server.name) {
                self.insert(server, true);
            } else if plan.update.contains(&server.name)
                && let Ok(member) = self.member(&server.name)
            {
                member.order(Order::Update(Arc::new(server)));
            }
        }
        plan
    }

    /// All servers, by name.
    pub fn servers(&self) -> Vec<ServerStatus> {
        let members = self.shared().members();
        members
            .values()
            .map(|member| ServerStatus {
                name: Arc::clone(&member.name),
                state: member.state(),
                config: self.shared().config_of(member),
            })
            .collect()
    }

    /// What the servers offer now. It does not change; ask again for what is new.
    pub fn catalog(&self) -> Catalog {
        self.shared().catalog()
    }

    /// The tools that fit these words best, the best first.
    pub fn search(&self, words: &str, limit: usize) -> Vec<Hit> {
        self.catalog().search(words, limit)
    }

    /// What happens from now on.
    pub fn events(&self) -> Events {
        self.shared().listen()
    }

    /// Calls a tool by the name it has in the catalogue.
    pub fn call(&self, name: &str) -> HubCall {
        HubCall::of_tool(self, name)
    }

    /// Calls a tool by its server and its own name.
    pub fn call_on(&self, server: &str, tool: &str) -> HubCall {
        HubCall::of_tool_on(self, server, tool)
    }

    /// Changes which tools of a server may be used, at once.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn set_tools(&self, server: &str, tools: ToolFilter) -> Result<(), HubError> {
        self.member(server)?;
        self.shared()
            .change(server, |registry| registry.set_filter(server, tools));
        Ok(())
    }

    /// Switches a server off or on for users: what it offers goes and comes, its connection stays.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn toggle(&self, server: &str, is_on: bool) -> Result<(), HubError> {
        self.member(server)?;
        self.shared()
            .change(server, |registry| registry.set_enabled(server, is_on));
        Ok(())
    }

    /// Ends all servers, and waits for that.
    pub async fn close(&self) {
        let members = std::mem::take(&mut *self.shared().members());
        let ending: Vec<_> = members
            .into_values()
            .map(|member| tokio::spawn(async move { member.end().await }))
            .collect();
        for task in ending {
            let _ = task.await;
        }
    }

    /// The client of a server: started if it sleeps, waited for if it is about to be ready.
    pub(crate) async fn client(&self, server: &str) -> Result<Client, HubError> {
        let member = self.member(server)?;
        if let Some(client) = member.client() {
            return Ok(client);
        }
        member.order(Order::Wake);
        let mut states = member.states();
        let settled = states.wait_for(|state| {
            state.is_ready() || (state.is_settled() && !matches!(state, MemberState::Asleep))
        });
        let limit = self.shared().settings.wait_for_server;
        match timeout(limit, settled).await {
            Ok(Ok(state)) if state.is_ready() => {}
            Ok(Ok(state)) => return Err(HubError::not_ready(server, &state)),
            Ok(Err(_)) => return Err(HubError::unknown(server, Vec::new())),
            Err(_) => return Err(HubError::not_ready(server, &member.state())),
        }
        let state = member.state();
        member
            .client()
            .ok_or_else(|| HubError::not_ready(server, &state))
    }

    /// Servers that sleep and fit, by their names and the beginning of the names of their tools.
    pub(crate) fn asleep(&self, fits: impl Fn(&str, &str) -> bool) -> Vec<Arc<str>> {
        let catalog = self.catalog();
        let members = self.shared().members();
        let sleeping = members.values().filter(|member| {
            matches!(member.state(), MemberState::Asleep)
                && fits(&member.name, &catalog.naming().server_prefix(&member.name))
        });
        sleeping.map(|member| Arc::clone(&member.name)).collect()
    }

    fn insert(&self, server: ServerConfig, connects: bool) {
        let shared = self.shared();
        shared.allow(&server);
        let name = server.name.clone();
        let member = Member::start(shared, server, connects);
        shared.members().insert(name, member);
    }

    fn member(&self, server: &str) -> Result<Arc<Member>, HubError> {
        let members = self.shared().members();
        members.get(server).cloned().ok_or_else(|| {
            let names = members.keys().cloned().collect();
            HubError::unknown(server, names)
        })
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
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
