//! How clients call tools and prompts, and what the hub calls them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use switchboard_hub::Catalog;

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
    tools: HashMap<String, Option<String>>,
    prompts: HashMap<String, Option<String>>,
}

/// What has a name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Named {
    Tool,
    Prompt,
}

impl Plain {
    const fn of(&self, kind: Named) -> &HashMap<String, Option<String>> {
        match kind {
            Named::Tool => &self.tools,
            Named::Prompt => &self.prompts,
        }
    }
}

impl NameTable {
    pub(crate) const fn new(names: Names) -> Self {
        Self {
            names,
            plain: Mutex::new(None),
        }
    }

    /// A name of a server's own does not say which server to wait for, so all are waited for.
    pub(crate) async fn wait_for(&self, opening: &Opening) {
        if self.names == Names::Plain && opening.is_going_on() {
            opening.wait().await;
        }
    }

    /// What the hub calls what a client calls so.
    pub(crate) fn known(&self, kind: Named, catalog: &Catalog, name: &str) -> String {
        let plain = self.plain(catalog);
        let known = plain.as_ref().and_then(|plain| plain.of(kind).get(name));
        known.cloned().flatten().unwrap_or_else(|| name.to_owned())
    }

    /// What clients call what its server calls so, and the hub so.
    pub(crate) fn shown<'a>(
        &self,
        kind: Named,
        catalog: &Catalog,
        own: &'a str,
        exposed: &'a str,
    ) -> &'a str {
        let plain = self.plain(catalog);
        let is_plain = plain.is_some_and(|plain| matches!(plain.of(kind).get(own), Some(Some(_))));
        if is_plain { own } else { exposed }
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
        let tools = catalog
            .tools()
            .map(|entry| (entry.tool.name.as_str(), entry.name.as_str()));
        let prompts = catalog
            .prompts()
            .map(|entry| (entry.prompt.name.as_str(), entry.name.as_str()));
        let plain = Arc::new(Plain {
            version: catalog.version(),
            tools: unique(tools),
            prompts: unique(prompts),
        });
        *last = Some(Arc::clone(&plain));
        Some(plain)
    }
}

/// Those that only one server has; the others with nothing.
fn unique<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> HashMap<String, Option<String>> {
    let mut names: HashMap<String, Option<String>> = HashMap::new();
    for (own, exposed) in pairs {
        names
            .entry(own.to_owned())
            .and_modify(|known| *known = None)
            .or_insert_with(|| Some(exposed.to_owned()));
    }
    names
}
