//! How clients call tools and prompts, and what the hub calls them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use switchboard_hub::{Catalog, NotFound, PromptEntry, ToolEntry};

use crate::gateway::Names;
use crate::opening::Opening;

/// From one name to the other.
#[derive(Debug)]
pub(crate) struct NameTable {
    names: Names,
    /// Of the catalogue that was last looked at.
    plain: Mutex<Option<Arc<Plain>>>,
}

/// Names of servers' own that only one of them has, and what the hub calls them.
#[derive(Debug)]
struct Plain {
    version: u64,
    tools: HashMap<String, Option<Arc<ToolEntry>>>,
    prompts: HashMap<String, Option<Arc<PromptEntry>>>,
}

impl NameTable {
    pub(crate) const fn new(names: Names) -> Self {
        Self {
            names,
            plain: Mutex::new(None),
        }
    }

    /// A name of a server's own does not say which server to wait for, so all are waited for.
    pub(crate) fn must_wait_for(&self, opening: &Opening) -> bool {
        self.names == Names::Plain && opening.is_going_on()
    }

    /// The tool that clients call so.
    pub(crate) fn tool(&self, catalog: &Catalog, name: &str) -> Result<Arc<ToolEntry>, NotFound> {
        if let Some(plain) = self.plain(catalog)
            && let Some(Some(entry)) = plain.tools.get(name)
        {
            return Ok(Arc::clone(entry));
        }
        catalog.find_tool(name).cloned()
    }

    /// What the hub calls the prompt that clients call so.
    pub(crate) fn prompt<'a>(&self, catalog: &Catalog, name: Cow<'a, str>) -> Cow<'a, str> {
        match self
            .plain(catalog)
            .map(|plain| plain.prompts.get(&*name).cloned())
        {
            Some(Some(Some(entry))) => Cow::Owned(entry.name.to_string()),
            _ => name,
        }
    }

    /// What clients call a tool.
    pub(crate) fn shown_tool<'a>(&self, catalog: &Catalog, entry: &'a ToolEntry) -> &'a str {
        let own = entry.tool.name.as_str();
        let plain = self.plain(catalog);
        let is_plain = plain.is_some_and(|plain| matches!(plain.tools.get(own), Some(Some(_))));
        if is_plain { own } else { entry.name.as_str() }
    }

    /// What clients call a prompt.
    pub(crate) fn shown_prompt<'a>(&self, catalog: &Catalog, entry: &'a PromptEntry) -> &'a str {
        let own = entry.prompt.name.as_str();
        let plain = self.plain(catalog);
        let is_plain = plain.is_some_and(|plain| matches!(plain.prompts.get(own), Some(Some(_))));
        if is_plain { own } else { entry.name.as_str() }
    }

    fn plain(&self, catalog: &Catalog) -> Option<Arc<Plain>> {
        if self.names != Names::Plain {
            return None;
        }
        let mut last = self.plain.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plain) = &*last
            && plain.version == catalog.version()
        {
            return Some(Arc::clone(plain));
        }
        let plain = Arc::new(Plain {
            version: catalog.version(),
            tools: unique(catalog.tools(), |entry| &entry.tool.name),
            prompts: unique(catalog.prompts(), |entry| &entry.prompt.name),
        });
        *last = Some(Arc::clone(&plain));
        Some(plain)
    }
}

/// By the names that only one server has; the others with nothing.
fn unique<'a, E: 'a>(
    entries: impl Iterator<Item = &'a Arc<E>>,
    own: impl Fn(&E) -> &String,
) -> HashMap<String, Option<Arc<E>>> {
    let mut names: HashMap<String, Option<Arc<E>>> = HashMap::new();
    for entry in entries {
        names
            .entry(own(entry).clone())
            .and_modify(|known| *known = None)
            .or_insert_with(|| Some(Arc::clone(entry)));
    }
    names
}
