//! What one server offers, as it listed it: each thing once, in the server's order.
//!
//! Made when the server was listed, and shared by all snapshots until it is listed again with
//! another result. How each kind of thing is kept is in `shelf.rs`; which of it may be seen, and
//! under which name, in `member.rs`.
//!
//! Specification: server/tools, server/prompts, server/resources (listing).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_protocol::types::{Prompt, Resource, ResourceTemplate, Tool};

use crate::Naming;
use crate::registry::hints::{Hint, Hints};
use crate::registry::shelf::{PromptShelf, ResourceShelf, TemplateShelf, ToolShelf, is_same};
use crate::registry::uri;

/// What a server listed. What is `None` was not asked for, and stays what it was.
///
/// It can be written down and read again, so that a server need not run to be listed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[non_exhaustive]
pub struct MemberCatalog {
    /// Its tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Its prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<Vec<Prompt>>,
    /// Its resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Vec<Resource>>,
    /// Its families of resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub templates: Option<Vec<ResourceTemplate>>,
    /// How long all this may be kept. That is said by a server that runs: it is not written down.
    #[serde(skip)]
    pub(crate) hints: Hints,
}

impl MemberCatalog {
    /// Nothing was asked for yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing at all is offered, as of a server that is gone.
    pub fn empty() -> Self {
        Self {
            tools: Some(Vec::new()),
            prompts: Some(Vec::new()),
            resources: Some(Vec::new()),
            templates: Some(Vec::new()),
            hints: Hints::default(),
        }
    }

    /// The same, as of a server that has no say in how long the lists of all servers hold.
    pub(crate) fn gone() -> Self {
        Self {
            hints: Hints::NO_LISTS,
            ..Self::empty()
        }
    }

    /// Nothing is listed anew, and how long that holds which was listed is not known any more.
    pub(crate) fn unheard() -> Self {
        Self {
            hints: Hints::UNSAID,
            ..Self::new()
        }
    }

    /// The same with these tools.
    #[must_use]
    pub fn with_tools(mut self, tools: Vec<Tool>) -> Self {
        self.tools = Some(tools);
        self
    }

    /// The same with these prompts.
    #[must_use]
    pub fn with_prompts(mut self, prompts: Vec<Prompt>) -> Self {
        self.prompts = Some(prompts);
        self
    }

    /// The same with these resources.
    #[must_use]
    pub fn with_resources(mut self, resources: Vec<Resource>) -> Self {
        self.resources = Some(resources);
        self
    }

    /// The same with these families of resources.
    #[must_use]
    pub fn with_templates(mut self, templates: Vec<ResourceTemplate>) -> Self {
        self.templates = Some(templates);
        self
    }
}

impl MemberCatalog {
    /// Notes how long the lists that are here hold.
    pub(crate) fn hint_as(&mut self, said: Hints) {
        self.hints = Hints {
            tools: said.tools.filter(|_| self.tools.is_some()),
            prompts: said.prompts.filter(|_| self.prompts.is_some()),
            resources: said.resources.filter(|_| self.resources.is_some()),
            templates: said.templates.filter(|_| self.templates.is_some()),
        };
    }

    /// The same of a server of which each user has one alone.
    #[must_use]
    pub(crate) fn for_one_user(mut self) -> Self {
        self.hints = self.hints.for_one_user();
        self
    }

    /// What was said of each list that is here, also if that is nothing.
    fn hints_of_lists(&self) -> Hints {
        let Hints {
            tools,
            prompts,
            resources,
            templates,
        } = self.hints;
        let or_unsaid =
            |hint: Option<Hint>, is_listed: bool| hint.or_else(|| is_listed.then(Hint::default));
        Hints {
            tools: or_unsaid(tools, self.tools.is_some()),
            prompts: or_unsaid(prompts, self.prompts.is_some()),
            resources: or_unsaid(resources, self.resources.is_some()),
            templates: or_unsaid(templates, self.templates.is_some()),
        }
    }
}

/// All that a server offers.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) server: Arc<str>,
    /// What its names begin with.
    pub(crate) part: Arc<str>,
    pub(crate) tools: Arc<ToolShelf>,
    pub(crate) prompts: Arc<PromptShelf>,
    pub(crate) resources: Arc<ResourceShelf>,
    pub(crate) templates: Arc<TemplateShelf>,
    pub(crate) hints: Hints,
}

impl Offer {
    /// Nothing yet.
    pub(crate) fn new(naming: &Naming, server: &str) -> Self {
        Self {
            server: server.into(),
            part: naming.server_part(server).0.into(),
            tools: Arc::default(),
            prompts: Arc::default(),
            resources: Arc::default(),
            templates: Arc::default(),
            hints: Hints::default(),
        }
    }

    /// The same after the server was listed again, sharing what has not changed.
    pub(crate) fn listed(&self, naming: &Naming, listed: MemberCatalog) -> Self {
        let Self { server, .. } = self;
        let mut new = self.clone();
        new.hints = self.hints.heard(listed.hints_of_lists());
        if let Some(tools) = listed.tools {
            let shelf = ToolShelf::new(naming, server, tools, &self.tools);
            new.tools = shared_if(&self.tools, shelf, |shelf| &shelf.entries);
        }
        if let Some(prompts) = listed.prompts {
            let shelf = PromptShelf::new(naming, server, prompts, &self.prompts);
            new.prompts = shared_if(&self.prompts, shelf, |shelf| &shelf.entries);
        }
        if let Some(resources) = listed.resources {
            let shelf = ResourceShelf::new(server, resources, &self.resources);
            new.resources = shared_if(&self.resources, shelf, |shelf| &shelf.entries);
        }
        if let Some(templates) = listed.templates {
            let shelf = TemplateShelf::new(server, templates, &self.templates);
            new.templates = shared_if(&self.templates, shelf, |shelf| &shelf.entries);
        }
        new
    }

    /// Is it the very same, however long it holds?
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.server == other.server
            && Arc::ptr_eq(&self.tools, &other.tools)
            && Arc::ptr_eq(&self.prompts, &other.prompts)
            && Arc::ptr_eq(&self.resources, &other.resources)
            && Arc::ptr_eq(&self.templates, &other.templates)
    }

    /// The URIs and templates that another server might have too, unless they are wrapped anyway.
    pub(crate) fn plain_uris(&self) -> impl Iterator<Item = &Arc<str>> {
        let resources = self.resources.entries.iter().map(|entry| &entry.uri);
        let templates = self.templates.entries.iter();
        let templates = templates.map(|entry| &entry.uri_template);
        resources
            .chain(templates)
            .chain(self.tools.ui.iter().map(|(_, uri)| uri))
            .filter(|uri| !uri::looks_wrapped(uri))
    }

    /// Does it say that it has this resource, in its list or as the interface of a tool?
    pub(crate) fn has_uri(&self, uri: &str, hash: u64) -> bool {
        self.resources.has(uri, hash) || self.tools.has_ui(uri, hash)
    }
}

/// The old shelf if nothing on it has changed.
fn shared_if<S, T>(old: &Arc<S>, new: S, entries: impl Fn(&S) -> &Vec<Arc<T>>) -> Arc<S> {
    if is_same(entries(old), entries(&new)) {
        Arc::clone(old)
    } else {
        Arc::new(new)
    }
}
