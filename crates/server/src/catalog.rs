//! What a server offers, now: tools, resources, templates and prompts.
//!
//! It can change while clients are connected; who is told of it is in `handle.rs`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use switchboard_protocol::machine::server::Change;

use crate::audience::Audience;
use crate::error::BuildError;
use crate::prompt::{PromptBuilder, PromptEntry};
use crate::resource::{ResourceBuilder, ResourceEntry, TemplateBuilder, TemplateEntry};
use crate::shelf::Shelf;
use crate::tool::{ToolBuilder, ToolEntry, ToolHandler};

/// What a server offers.
#[derive(Default)]
pub(crate) struct Catalog {
    pub(crate) tools: Shelf<ToolEntry>,
    pub(crate) tool_handlers: Vec<Arc<dyn ToolHandler>>,
    pub(crate) resources: Shelf<ResourceEntry>,
    pub(crate) templates: Shelf<TemplateEntry>,
    pub(crate) prompts: Shelf<PromptEntry>,
    #[cfg(feature = "skills")]
    pub(crate) skills: Option<crate::skills::Skills>,
}

/// What a server offers, and who hears when that changes.
#[derive(Default)]
pub(crate) struct Offers {
    catalog: RwLock<Catalog>,
    /// How often it may have changed.
    edition: AtomicU64,
    audience: Arc<Audience>,
}

impl Offers {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Catalog> {
        // Nothing that runs under the lock leaves it half done.
        self.catalog.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Catalog> {
        let catalog = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
        // Before the change: whoever still sees the last edition came first.
        self.edition.fetch_add(1, Ordering::SeqCst);
        catalog
    }

    /// How often the catalog may have changed. It does not while it is [read](Self::read).
    pub(crate) fn edition(&self) -> u64 {
        self.edition.load(Ordering::SeqCst)
    }

    pub(crate) const fn audience(&self) -> &Arc<Audience> {
        &self.audience
    }
}

/// Something that can be offered.
pub(crate) trait Offer {
    /// Puts it into the catalog.
    fn offer(self, catalog: &mut Catalog) -> Result<Change, BuildError>;
}

impl Offer for ToolBuilder {
    fn offer(self, catalog: &mut Catalog) -> Result<Change, BuildError> {
        let entry = self.build()?;
        let name = entry.definition.name.clone();
        add(&mut catalog.tools, "tool", name, entry)?;
        Ok(Change::Tools)
    }
}

impl Offer for ResourceBuilder {
    fn offer(self, catalog: &mut Catalog) -> Result<Change, BuildError> {
        let entry = self.build()?;
        let uri = entry.definition.uri.clone();
        add(&mut catalog.resources, "resource", uri, entry)?;
        Ok(Change::Resources)
    }
}

impl Offer for TemplateBuilder {
    fn offer(self, catalog: &mut Catalog) -> Result<Change, BuildError> {
        let entry = self.build()?;
        let uri = entry.definition.uri_template.clone();
        add(&mut catalog.templates, "resource template", uri, entry)?;
        Ok(Change::Resources)
    }
}

impl Offer for PromptBuilder {
    fn offer(self, catalog: &mut Catalog) -> Result<Change, BuildError> {
        let entry = self.build()?;
        let name = entry.definition.name.clone();
        add(&mut catalog.prompts, "prompt", name, entry)?;
        Ok(Change::Prompts)
    }
}

fn add<T>(
    shelf: &mut Shelf<T>,
    kind: &'static str,
    name: String,
    entry: T,
) -> Result<(), BuildError> {
    if shelf.add(&name, entry) {
        Ok(())
    } else {
        Err(BuildError::Taken { kind, name })
    }
}
