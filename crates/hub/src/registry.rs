//! The catalogue of all servers: who writes it, and what a snapshot of it is.
//!
//! [`Registry`] takes in what servers listed and what is allowed of them; each change makes a new
//! [`Catalog`] that shares everything of the servers that it does not touch. It lists nothing
//! itself, and calls nobody.
//!
//! What is offered under which name:
//!
//! - tools and prompts are named by [`Naming`]; if two could have one name, neither gets it
//!   (`registry/names.rs`);
//! - resources keep their URIs where no other server has the same, and have their server in front
//!   otherwise (`registry/uri.rs`);
//! - what may not be seen is not listed, and keeps its name.
//!
//! So nothing depends on the order in which servers come.

mod catalog;
mod entry;
mod finding;
mod hints;
mod listed;
mod locating;
mod member;
mod names;
mod narrowing;
mod not_found;
mod note;
mod offer;
mod resource_tools;
mod rewrite;
mod shelf;
mod uri;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

pub use catalog::{Catalog, Hit};
pub use entry::{PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
pub use listed::Listed;
pub use locating::Located;
pub use not_found::{Absence, Kind, NotFound};
pub use offer::MemberCatalog;
pub use resource_tools::{LIST_RESOURCES, READ_RESOURCE, resource_tools};

pub(crate) use hints::Hints;

use catalog::Snapshot;
use member::{Around, Listing, Member};
use names::{Named, Settled, settle};
use offer::Offer;
use shelf::is_same;

use crate::lock::Pins;
use crate::policy::Denial;
use crate::{Naming, Policy, ToolFilter};

/// The one who writes the catalogue.
///
/// ```
/// use switchboard_hub::{MemberCatalog, Naming, Registry};
/// use switchboard_protocol::types::Tool;
///
/// let tool: Tool = serde_json::from_str(r#"{"name":"create_issue","inputSchema":{"type":"object"}}"#)?;
/// let mut registry = Registry::new(Naming::default());
/// registry.set_member("github", MemberCatalog::new().with_tools(vec![tool]));
/// let catalog = registry.catalog();
/// let found = catalog.find_tool("mcp__github__create_issue")?;
/// assert_eq!((&*found.server, found.tool.name.as_str()), ("github", "create_issue"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Registry {
    catalog: Catalog,
    held: BTreeMap<Arc<str>, Held>,
    /// The servers, by what their names begin with.
    groups: HashMap<Arc<str>, BTreeSet<Arc<str>>>,
    /// Which servers have a URI, or a template: pairs of it and the server.
    uris: BTreeSet<(Arc<str>, Arc<str>)>,
    /// What turned out not to be approved since somebody asked.
    refused: Vec<Denial>,
}

/// What is known of a server.
#[derive(Clone, Debug)]
struct Held {
    offer: Arc<Offer>,
    policy: Policy,
}

/// What a change has changed of what can be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// The list of tools.
    pub tools: bool,
    /// The list of prompts.
    pub prompts: bool,
    /// The lists of resources and of their families.
    pub resources: bool,
}

impl Changes {
    /// Nothing that can be seen.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn note(&mut self, old: &Listing, new: &Listing) {
        self.tools |= !is_same(&old.tools, &new.tools) || old.wrapped_ui != new.wrapped_ui;
        self.prompts |= !is_same(&old.prompts, &new.prompts);
        self.resources |=
            !is_same(&old.resources, &new.resources) || !is_same(&old.templates, &new.templates);
    }
}

impl Registry {
    /// An empty catalogue.
    pub fn new(naming: Naming) -> Self {
        let empty = Snapshot {
            version: 0,
            naming,
            members: Vec::new(),
            by_part: Arc::default(),
        };
        Self {
            catalog: Catalog::from_snapshot(empty),
            held: BTreeMap::new(),
            groups: HashMap::new(),
            uris: BTreeSet::new(),
            refused: Vec::new(),
        }
    }

    /// The catalogue as it is now.
    pub fn catalog(&self) -> Catalog {
        self.catalog.clone()
    }

    /// Takes in what a server listed. A server that says the same as before changes nothing.
    pub fn set_member(&mut self, server: &str, listed: MemberCatalog) -> Changes {
        let naming = *self.catalog.naming();
        let held = self.held_or_new(server);
        self.change(Held {
            offer: held.offer.listed(&naming, listed).into(),
            policy: held.policy,
        })
    }

    /// Says what is allowed of a server. It may be said before anything was listed. What was
    /// approved of it stays so.
    pub fn set_policy(&mut self, server: &str, mut policy: Policy) -> Changes {
        let held = self.held_or_new(server);
        policy.pins = held.policy.pins;
        self.change(Held {
            offer: held.offer,
            policy,
        })
    }

    /// Says what was approved of a server; nothing has to be, if it is none.
    pub(crate) fn set_pins(&mut self, server: &str, pins: Option<Arc<Pins>>) -> Changes {
        let Held { offer, mut policy } = self.held_or_new(server);
        policy.pins = pins;
        self.change(Held { offer, policy })
    }

    /// What turned out not to be approved since this was last asked.
    pub(crate) fn take_refused(&mut self) -> Vec<Denial> {
        std::mem::take(&mut self.refused)
    }

    /// Says which tools of a server may be used, as it is configured. One that is switched off
    /// stays so.
    pub fn set_rules(&mut self, server: &str, tools: ToolFilter, is_read_only: bool) -> Changes {
        let Held { offer, mut policy } = self.held_or_new(server);
        policy.tools = tools;
        policy.is_read_only = is_read_only;
        self.change(Held { offer, policy })
    }

    /// Says which tools of a server may be used.
    pub fn set_filter(&mut self, server: &str, tools: ToolFilter) -> Changes {
        let Held { offer, mut policy } = self.held_or_new(server);
        policy.tools = tools;
        self.change(Held { offer, policy })
    }

    /// Switches a server on or off: what it offers comes or goes, its connection stays.
    pub fn set_enabled(&mut self, server: &str, is_enabled: bool) -> Changes {
        let Held { offer, mut policy } = self.held_or_new(server);
        policy.is_enabled = is_enabled;
        self.change(Held { offer, policy })
    }

    /// Forgets a server, what it offers and what is allowed of it.
    pub fn remove_member(&mut self, server: &str) -> Changes {
        let Some(old) = self.held.remove(server) else {
            return Changes::default();
        };
        let mut touched = self.met(&old.offer);
        self.unlink(&old.offer);
        touched.insert(Arc::clone(&old.offer.server));
        self.publish(&touched)
    }

    fn held_or_new(&self, server: &str) -> Held {
        self.held.get(server).cloned().unwrap_or_else(|| Held {
            offer: Offer::new(self.catalog.naming(), server).into(),
            policy: Policy::default(),
        })
    }

    /// Puts a server in its place, and in their new ones those that it meets.
    fn change(&mut self, new: Held) -> Changes {
        let server = Arc::clone(&new.offer.server);
        let mut touched = BTreeSet::from([Arc::clone(&server)]);
        match self.held.get(&server).cloned() {
            Some(old) if old.offer.is_same(&new.offer) => {
                if old.policy == new.policy && old.offer.hints == new.offer.hints {
                    return Changes::default();
                }
            }
            old => {
                if let Some(old) = old {
                    touched.extend(self.met(&old.offer));
                    self.unlink(&old.offer);
                }
                self.link(&new.offer);
                touched.extend(self.met(&new.offer));
            }
        }
        self.held.insert(server, new);
        self.publish(&touched)
    }

    fn link(&mut self, offer: &Offer) {
        let server = &offer.server;
        let group = self.groups.entry(Arc::clone(&offer.part)).or_default();
        group.insert(Arc::clone(server));
        for uri in offer.plain_uris() {
            self.uris.insert((Arc::clone(uri), Arc::clone(server)));
        }
    }

    fn unlink(&mut self, offer: &Offer) {
        if let Some(group) = self.groups.get_mut(&offer.part) {
            group.remove(&offer.server);
            if group.is_empty() {
                self.groups.remove(&offer.part);
            }
        }
        for uri in offer.plain_uris() {
            self.uris
                .remove(&(Arc::clone(uri), Arc::clone(&offer.server)));
        }
    }

    /// The other servers to which it matters that this one comes or goes.
    fn met(&self, offer: &Offer) -> BTreeSet<Arc<str>> {
        let mut met = BTreeSet::new();
        if let Some(group) = self.groups.get(&offer.part) {
            met.extend(group.iter().cloned());
        }
        for uri in offer.plain_uris() {
            let mut others = self.owners(uri).filter(|owner| **owner != offer.server);
            // Two others share it already, with or without this one.
            if let (Some(only), None) = (others.next(), others.next()) {
                met.insert(Arc::clone(only));
            }
        }
        met.remove(&offer.server);
        met
    }

    /// The servers that have a URI.
    fn owners<'a>(&'a self, uri: &'a Arc<str>) -> impl Iterator<Item = &'a Arc<str>> {
        let from = (Arc::clone(uri), Arc::default());
        let pairs = self.uris.range(from..);
        pairs
            .take_while(move |(found, _)| found == uri)
            .map(|(_, server)| server)
    }

    /// Makes a new snapshot in which these servers are what they are now.
    fn publish(&mut self, touched: &BTreeSet<Arc<str>>) -> Changes {
        let snapshot = self.catalog.snapshot();
        let mut members = snapshot.members.clone();
        let mut by_part = Arc::clone(&snapshot.by_part);
        let mut changes = Changes::default();
        let mut settled = HashMap::new();
        let mut refused = Vec::new();
        for server in touched {
            let place = members.binary_search_by(|member| member.server().cmp(server));
            let old = place.ok().and_then(|place| members.get(place)).cloned();
            let old = old.as_deref();
            let new = self.held.get(server).map(|held| {
                let group = settled
                    .entry(&held.offer.part)
                    .or_insert_with(|| self.settle_group(&held.offer.part));
                Arc::new(self.member(held, group, old))
            });
            if let Some(new) = &new {
                refused.extend(new.newly_refused(old));
            }
            let nothing = Listing::default();
            changes.note(
                old.map_or(&nothing, |old| &old.listed),
                new.as_ref().map_or(&nothing, |new| &new.listed),
            );
            match (place, new) {
                (Ok(place), Some(new)) => {
                    if let Some(member) = members.get_mut(place) {
                        *member = new;
                    }
                }
                (Ok(place), None) => {
                    members.remove(place);
                }
                (Err(place), Some(new)) => members.insert(place, new),
                (Err(_), None) => {}
            }
        }
        if members.len() != by_part.len() {
            by_part = shelf::order_by(&members, |member| &member.offer.part).into();
        }
        let catalog = Catalog::from_snapshot(Snapshot {
            version: snapshot.version.saturating_add(1),
            naming: snapshot.naming,
            members,
            by_part,
        });
        self.catalog = catalog;
        self.refused.extend(refused);
        changes
    }

    /// The names of all that the servers of a group have, by server.
    fn settle_group(&self, part: &Arc<str>) -> HashMap<&Arc<str>, Names> {
        let servers = self.groups.get(part).into_iter().flatten();
        let offers: Vec<&Offer> = servers
            .filter_map(|server| Some(&*self.held.get(server)?.offer))
            .collect();
        let tools = offers.iter().map(|offer| Named {
            server: &offer.server,
            pairs: offer.tools.names().collect(),
        });
        let prompts = offers.iter().map(|offer| Named {
            server: &offer.server,
            pairs: offer.prompts.names().collect(),
        });
        let naming = self.catalog.naming();
        let tools = settle(naming, &tools.collect::<Vec<_>>());
        let prompts = settle(naming, &prompts.collect::<Vec<_>>());
        let names = tools.into_iter().zip(prompts);
        let names = names.map(|(tools, prompts)| Names { tools, prompts });
        offers
            .iter()
            .map(|offer| &offer.server)
            .zip(names)
            .collect()
    }

    fn member(
        &self,
        held: &Held,
        group: &HashMap<&Arc<str>, Names>,
        old: Option<&Member>,
    ) -> Member {
        let names = group.get(&held.offer.server);
        let around = Around {
            tools: names.map_or(&[][..], |names| &names.tools),
            prompts: names.map_or(&[][..], |names| &names.prompts),
            is_shared: |uri: &Arc<str>| self.owners(uri).nth(1).is_some(),
        };
        Member::new(Arc::clone(&held.offer), held.policy.clone(), &around, old)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registry").field(&self.catalog).finish()
    }
}

/// What became of the names of one server.
#[derive(Debug)]
struct Names {
    tools: Vec<Settled>,
    prompts: Vec<Settled>,
}
