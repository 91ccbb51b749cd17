//! How clients call tools and prompts, and what the hub calls them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_hub::{Catalog, Hub, NotFound, PromptEntry, ToolEntry};

use crate::gateway::Names;
use crate::opening::Opening;

/// From one name to the other.
#[derive(Debug)]
pub(crate) struct NameTable {
    names: Names,
    /// Of the catalogue that was last looked at.
    last: Mutex<Option<Known>>,
}

/// A catalogue and the names in it.
#[derive(Debug)]
struct Known {
    catalog: Catalog,
    plain: Arc<Plain>,
}

/// Names of servers' own that only one of them has, and what the hub calls them. Empty, if such names
/// are not used.
#[derive(Debug, Default)]
struct Plain {
    tools: HashMap<String, Option<Arc<ToolEntry>>>,
    prompts: HashMap<String, Option<Arc<PromptEntry>>>,
}

impl NameTable {
    pub(crate) const fn new(names: Names) -> Self {
        Self {
            names,
            last: Mutex::new(None),
        }
    }

    /// A name of a server's own does not say which server to wait for, so all are waited for.
    pub(crate) fn must_wait_for(&self, opening: &Opening) -> bool {
        self.names == Names::Plain && opening.is_going_on()
    }

    /// The tool that clients call so, and the version of the catalogue in which it was found.
    pub(crate) fn tool(&self, hub: &Hub, name: &str) -> Result<(u64, Arc<ToolEntry>), NotFound> {
        let mut last = self.last();
        let known = match &mut *last {
            Some(known) if known.catalog.version() == hub.catalog_version() => known,
            last => last.insert(self.known(hub.catalog())),
        };
        let entry = match known.plain.tools.get(name) {
            Some(Some(entry)) => entry,
            _ => known.catalog.find_tool(name)?,
        };
        Ok((known.catalog.version(), Arc::clone(entry)))
    }

    /// What the hub calls the prompt that clients call so.
    pub(crate) fn prompt<'a>(&self, catalog: &Catalog, name: Cow<'a, str>) -> Cow<'a, str> {
        match self.plain(catalog).prompts.get(&*name) {
            Some(Some(entry)) => Cow::Owned(entry.name.to_string()),
            _ => name,
        }
    }

    /// What clients call a tool.
    pub(crate) fn shown_tool<'a>(&self, catalog: &Catalog, entry: &'a ToolEntry) -> &'a str {
        let own = entry.tool.name.as_str();
        let plain = self.plain(catalog);
        let is_plain = matches!(plain.tools.get(own), Some(Some(_)));
        if is_plain { own } else { entry.name.as_str() }
    }

    /// What clients call a prompt.
    pub(crate) fn shown_prompt<'a>(&self, catalog: &Catalog, entry: &'a PromptEntry) -> &'a str {
        let own = entry.prompt.name.as_str();
        let plain = self.plain(catalog);
        let is_plain = matches!(plain.prompts.get(own), Some(Some(_)));
        if is_plain { own } else { entry.name.as_str() }
    }

    fn plain(&self, catalog: &Catalog) -> Arc<Plain> {
        let mut last = self.last();
        let known = match &mut *last {
            Some(known) if known.catalog.version() == catalog.version() => known,
            last => last.insert(self.known(catalog.clone())),
        };
        Arc::clone(&known.plain)
    }

    fn known(&self, catalog: Catalog) -> Known {
        let plain = match self.names {
            Names::Plain => Plain {
                tools: unique(catalog.tools(), |entry| &entry.tool.name),
                prompts: unique(catalog.prompts(), |entry| &entry.prompt.name),
            },
            _ => Plain::default(),
        };
        let plain = Arc::new(plain);
        Known { catalog, plain }
    }

    fn last(&self) -> MutexGuard<'_, Option<Known>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
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
