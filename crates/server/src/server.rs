//! A server as its author puts it together.

use std::io;
use std::sync::Arc;

use switchboard_protocol::Revision;
use switchboard_protocol::types::{Icon, Implementation};
use tokio::net::ToSocketAddrs;

use crate::catalog::{Offer, Offers};
use crate::error::BuildError;
use crate::handle::Handle;
use crate::limits::Limits;
use crate::prompt::PromptBuilder;
use crate::resource::{ResourceBuilder, TemplateBuilder};
use crate::router::Router;
use crate::seal::SealingKeys;
use crate::site::Site;
use crate::tasks::{MemoryTasks, TaskStore, Tasks};
use crate::tool::{TaskMode, ToolBuilder, ToolHandler};

/// A server as its author puts it together: what it offers, and how much it takes on.
///
/// [`serve_stdio`](Self::serve_stdio) and [`serve_http`](Self::serve_http) serve it; for
/// both at once, or in an application that has its own HTTP server, make a
/// [`site`](Self::site) of it.
#[must_use = "a server does nothing until it is served"]
pub struct Server {
    info: Implementation,
    instructions: Option<String>,
    offers: Arc<Offers>,
    revisions: Vec<Revision>,
    limits: Limits,
    seals: Option<SealingKeys>,
    tasks: Option<Arc<dyn TaskStore>>,
    /// The first thing that was wrong; told when it is served.
    problem: Option<BuildError>,
}

impl Server {
    /// A server of this name and version that offers nothing yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation::new(name, version),
            instructions: None,
            offers: Arc::default(),
            revisions: Revision::ALL.to_vec(),
            limits: Limits::default(),
            seals: None,
            tasks: None,
            problem: None,
        }
    }

    /// Its name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// What it is, for people.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.info.description = Some(description.into());
        self
    }

    /// Where there is more about it.
    pub fn website(mut self, url: impl Into<String>) -> Self {
        self.info.website_url = Some(url.into());
        self
    }

    /// Its icons.
    pub fn icons(mut self, icons: Vec<Icon>) -> Self {
        self.info.icons = Some(icons);
        self
    }

    /// What a model should know about it.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Offers a tool.
    pub fn tool(self, tool: ToolBuilder) -> Self {
        self.offer(tool)
    }

    /// Offers the tools of a handler, after those that are offered one by one.
    pub fn tools(self, handler: impl ToolHandler) -> Self {
        self.offers.write().tool_handlers.push(Arc::new(handler));
        self
    }

    /// Offers a resource.
    pub fn resource(self, resource: ResourceBuilder) -> Self {
        self.offer(resource)
    }

    /// Offers a family of resources.
    pub fn template(self, template: TemplateBuilder) -> Self {
        self.offer(template)
    }

    /// Offers a prompt.
    pub fn prompt(self, prompt: PromptBuilder) -> Self {
        self.offer(prompt)
    }

    /// Offers a folder of skills, as the extension `io.modelcontextprotocol/skills` has them.
    #[cfg(feature = "skills")]
    pub fn skills(self, skills: crate::skills::Skills) -> Self {
        self.offers.write().skills = Some(skills);
        self
    }

    /// How much it takes on.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Which revisions it speaks; all of them if nothing is said.
    pub fn revisions(mut self, revisions: impl Into<Vec<Revision>>) -> Self {
        self.revisions = revisions.into();
        self
    }

    /// The keys that seal what clients carry from call to call. Several instances behind one
    /// address must have the same.
    pub fn sealing_keys(mut self, keys: SealingKeys) -> Self {
        self.seals = Some(keys);
        self
    }

    /// Where tasks are kept; in memory if nothing is said.
    ///
    /// A server whose tools have a [`TaskMode`] other than `Never` need not call this,
    /// unless such tools come later, or from a [`ToolHandler`].
    pub fn tasks(mut self, store: impl TaskStore) -> Self {
        self.tasks = Some(Arc::new(store));
        self
    }

    /// Changes the server while it is served.
    pub fn handle(&self) -> Handle {
        Handle::new(&self.offers)
    }

    /// Makes it ready to be served in several ways at once.
    ///
    /// # Errors
    /// Something that it offers cannot be offered.
    pub fn site(self) -> Result<Site, BuildError> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        let offers_tasks = {
            let catalog = self.offers.read();
            let mut tools = catalog.tools.iter();
            tools.any(|(_, tool)| tool.task != TaskMode::Never)
        };
        let limits = self.limits.tasks.clone();
        let store = match self.tasks {
            None if offers_tasks => {
                Some(Arc::new(MemoryTasks::new(limits.clone())) as Arc<dyn TaskStore>)
            }
            store => store,
        };
        let audience = self.offers.audience();
        let tasks = store.map(|store| Tasks::new(store, limits, Arc::clone(audience)));
        let router = Router::new(
            self.info,
            self.instructions,
            self.limits.page,
            Arc::clone(&self.offers),
            tasks,
        );
        let seals = self.seals.unwrap_or_else(SealingKeys::random);
        Ok(Site::with(
            Arc::new(router),
            Arc::clone(self.offers.audience()),
            self.limits,
            self.revisions,
            seals,
        ))
    }

    /// Serves on standard input and output, until the client is gone, or the process is
    /// told to stop.
    ///
    /// # Errors
    /// Something that it offers cannot be offered, or reading or writing failed.
    pub async fn serve_stdio(self) -> io::Result<()> {
        self.site()?.serve_stdio().await
    }

    /// Serves over HTTP at `/mcp`, until the process is told to stop.
    ///
    /// Give a loopback address, such as `127.0.0.1:8000`, unless there is an
    /// [access](crate::Site::endpoint) check: whoever can reach it can call it.
    ///
    /// # Errors
    /// Something that it offers cannot be offered, or the address cannot be used.
    pub async fn serve_http(self, address: impl ToSocketAddrs) -> io::Result<()> {
        self.site()?.serve_http(address).await
    }

    fn offer(mut self, offer: impl Offer) -> Self {
        let offered = offer.offer(&mut self.offers.write());
        if let Err(problem) = offered {
            self.problem.get_or_insert(problem);
        }
        self
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}
