//! Changing a server while clients are connected.
//!
//! Every change is told to the clients that want to hear of it, in the way of their era.
//!
//! Specification: server/tools, server/resources, server/prompts (list changed);
//! 2026-07-28 basic/patterns/subscriptions.

use std::sync::{Arc, Weak};

use switchboard_protocol::machine::server::Change;

use crate::catalog::{Catalog, Offer, Offers};
use crate::error::BuildError;
use crate::prompt::PromptBuilder;
use crate::resource::{ResourceBuilder, TemplateBuilder};
use crate::tool::ToolBuilder;

/// Changes a server while clients are connected. Cheap to clone.
///
/// It does not keep the server: a handler may hold it. Once the server is gone there is nothing to
/// change, and nobody to tell.
#[derive(Clone)]
pub struct Handle(Weak<Offers>);

impl Handle {
    pub(crate) fn new(offers: &Arc<Offers>) -> Self {
        Self(Arc::downgrade(offers))
    }

    /// Offers one more tool.
    ///
    /// # Errors
    /// The name is taken, or the tool cannot be offered.
    pub fn add_tool(&self, tool: ToolBuilder) -> Result<(), BuildError> {
        self.add(tool)
    }

    /// Takes a tool away: false if there was none of this name. Calls in flight go on.
    ///
    /// What a tool holds that the server was built with is dropped with the server; what one
    /// holds that was added later, as soon as no call needs it.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.change(Change::Tools, |catalog| catalog.tools.remove(name))
    }

    /// Switches a tool on or off: true if that changed anything. What is off is neither
    /// listed nor callable.
    pub fn enable_tool(&self, name: &str, is_on: bool) -> bool {
        self.change(Change::Tools, |catalog| catalog.tools.switch(name, is_on))
    }

    /// Offers one more resource.
    ///
    /// # Errors
    /// The URI is taken, or the resource cannot be offered.
    pub fn add_resource(&self, resource: ResourceBuilder) -> Result<(), BuildError> {
        self.add(resource)
    }

    /// Takes a resource away: false if there was none at this URI.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.change(Change::Resources, |catalog| catalog.resources.remove(uri))
    }

    /// Switches a resource on or off: true if that changed anything.
    pub fn enable_resource(&self, uri: &str, is_on: bool) -> bool {
        self.change(Change::Resources, |catalog| {
            catalog.resources.switch(uri, is_on)
        })
    }

    /// Offers one more template.
    ///
    /// # Errors
    /// The template is there already, or cannot be offered.
    pub fn add_template(&self, template: TemplateBuilder) -> Result<(), BuildError> {
        self.add(template)
    }

    /// Takes a template away: false if there was no such template.
    pub fn remove_template(&self, uri_template: &str) -> bool {
        self.change(Change::Resources, |catalog| {
            catalog.templates.remove(uri_template)
        })
    }

    /// Switches a template on or off: true if that changed anything.
    pub fn enable_template(&self, uri_template: &str, is_on: bool) -> bool {
        self.change(Change::Resources, |catalog| {
            catalog.templates.switch(uri_template, is_on)
        })
    }

    /// Offers one more prompt.
    ///
    /// # Errors
    /// The name is taken, or the prompt cannot be offered.
    pub fn add_prompt(&self, prompt: PromptBuilder) -> Result<(), BuildError> {
        self.add(prompt)
    }

    /// Takes a prompt away: false if there was none of this name.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.change(Change::Prompts, |catalog| catalog.prompts.remove(name))
    }

    /// Switches a prompt on or off: true if that changed anything.
    pub fn enable_prompt(&self, name: &str, is_on: bool) -> bool {
        self.change(Change::Prompts, |catalog| {
            catalog.prompts.switch(name, is_on)
        })
    }

    /// The contents of a resource have changed: whoever subscribed to it is told.
    pub fn resource_updated(&self, uri: impl Into<String>) {
        self.tell(&Change::Resource { uri: uri.into() });
    }

    /// The tools of a [`ToolHandler`](crate::ToolHandler) have changed.
    pub fn tools_changed(&self) {
        self.tell(&Change::Tools);
    }

    /// The folder of skills has changed, as [`reload`](crate::skills::Skills::reload) has found.
    #[cfg(feature = "skills")]
    pub fn skills_changed(&self, changes: &crate::skills::SkillChanges) {
        let listed = [&changes.added, &changes.removed, &changes.changed];
        if listed.iter().any(|uris| !uris.is_empty()) {
            self.tell(&Change::Resources);
        }
        for uri in &changes.files {
            self.resource_updated(uri);
        }
    }

    fn tell(&self, change: &Change) {
        if let Some(offers) = self.0.upgrade() {
            offers.audience().tell(change);
        }
    }

    fn add(&self, offer: impl Offer) -> Result<(), BuildError> {
        let offers = self.0.upgrade().ok_or(BuildError::Gone)?;
        let change = offer.offer(&mut offers.write())?;
        offers.audience().tell(&change);
        Ok(())
    }

    fn change(&self, change: Change, act: impl FnOnce(&mut Catalog) -> bool) -> bool {
        let Some(offers) = self.0.upgrade() else {
            return false;
        };
        let has_changed = act(&mut offers.write());
        if has_changed {
            offers.audience().tell(&change);
        }
        has_changed
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Handle")
    }
}
