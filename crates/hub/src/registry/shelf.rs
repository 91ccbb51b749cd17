//! How the things of one kind of a server are kept: each once, in the server's order, with what it
//! takes to find them.
//!
//! What was there before and is the same is used again, so that whoever compares two snapshots sees
//! what has changed.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use switchboard_protocol::types::{Prompt, Resource, ResourceTemplate, Tool};
use switchboard_protocol::uri_template::UriTemplate;

use crate::metrics::KnownRow;
use crate::registry::entry::{PromptEntry, ResourceEntry, TemplateEntry, ToolEntry, ui_resource};
use crate::registry::note::{cut, note};
use crate::registry::uri;
use crate::search::Index;
use crate::tokens;
use crate::{ExposedName, Naming};

/// The tools of a server.
#[derive(Debug, Default)]
pub(crate) struct ToolShelf {
    pub(crate) entries: Vec<Arc<ToolEntry>>,
    /// Places in `entries`, ordered by the server's own names.
    by_own_name: Box<[u32]>,
    /// The resources that show tools to people, each with its hash and ordered by that.
    pub(crate) ui: Box<[(u64, Arc<str>)]>,
    pub(crate) index: Index,
    pub(crate) notes: Vec<String>,
}

impl ToolShelf {
    pub(crate) fn new(naming: &Naming, server: &Arc<str>, tools: Vec<Tool>, old: &Self) -> Self {
        let (tools, notes) = each_once("tool", tools, |tool| &tool.name);
        let entries: Vec<_> = tools
            .into_iter()
            .map(|tool| {
                let known = old
                    .place(&tool.name)
                    .and_then(|place| old.entries.get(place));
                if let Some(known) = known.filter(|known| *known.tool == tool) {
                    return Arc::clone(known);
                }
                let name = naming.tool(server, &tool.name);
                Arc::new(ToolEntry {
                    tokens: tokens::estimate_tool_tokens(name.as_str(), &tool),
                    name,
                    server: Arc::clone(server),
                    tool: Arc::new(tool),
                    row: KnownRow::default(),
                })
            })
            .collect();
        if is_same(&entries, &old.entries) {
            return Self {
                entries,
                notes,
                ..Self::default()
            };
        }
        let ui = entries.iter().filter_map(|entry| ui_resource(&entry.tool));
        let mut ui: Vec<_> = ui.map(|uri| (hash(uri), Arc::from(uri))).collect();
        ui.sort_unstable();
        ui.dedup();
        Self {
            by_own_name: order_by(&entries, |entry| &entry.tool.name),
            ui: ui.into(),
            index: Index::new(server, entries.iter().map(|entry| &*entry.tool)),
            notes,
            entries,
        }
    }

    /// The server's own names, and those that the tools have by themselves.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &ExposedName)> {
        let entries = self.entries.iter();
        entries.map(|entry| (entry.tool.name.as_str(), &entry.name))
    }

    /// Where the tool with this name of the server's stands.
    pub(crate) fn place(&self, own_name: &str) -> Option<usize> {
        place(&self.by_own_name, |place| {
            let entry = self.entries.get(place)?;
            Some(entry.tool.name.as_str().cmp(own_name))
        })
    }

    /// Does a resource show one of the tools?
    pub(crate) fn has_ui(&self, uri: &str, hash: u64) -> bool {
        let start = self.ui.partition_point(|(known, _)| *known < hash);
        let from = self.ui.get(start..).unwrap_or_default().iter();
        from.take_while(|(known, _)| *known == hash)
            .any(|(_, known)| **known == *uri)
    }
}

/// The prompts of a server.
#[derive(Debug, Default)]
pub(crate) struct PromptShelf {
    pub(crate) entries: Vec<Arc<PromptEntry>>,
    pub(crate) notes: Vec<String>,
}

impl PromptShelf {
    pub(crate) fn new(
        naming: &Naming,
        server: &Arc<str>,
        prompts: Vec<Prompt>,
        old: &Self,
    ) -> Self {
        let (prompts, notes) = each_once("prompt", prompts, |prompt| &prompt.name);
        let old: HashMap<_, _> = by_key(&old.entries, |entry| &entry.prompt.name);
        let entries = prompts.into_iter().map(|prompt| {
            let known = old.get(prompt.name.as_str());
            if let Some(known) = known.filter(|known| *known.prompt == prompt) {
                return Arc::clone(known);
            }
            Arc::new(PromptEntry {
                name: naming.prompt(server, &prompt.name),
                server: Arc::clone(server),
                prompt: Arc::new(prompt),
            })
        });
        Self {
            entries: entries.collect(),
            notes,
        }
    }

    /// The server's own names, and those that the prompts have by themselves.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &ExposedName)> {
        let entries = self.entries.iter();
        entries.map(|entry| (entry.prompt.name.as_str(), &entry.name))
    }
}

/// The resources of a server.
#[derive(Debug, Default)]
pub(crate) struct ResourceShelf {
    /// As they are offered while no other server has the same.
    pub(crate) entries: Vec<Arc<ResourceEntry>>,
    /// The hashes of the server's own URIs with their places, in order: a URI is looked for among
    /// all servers.
    hashes: Box<[(u64, u32)]>,
    pub(crate) notes: Vec<String>,
}

impl ResourceShelf {
    pub(crate) fn new(server: &Arc<str>, resources: Vec<Resource>, old: &Self) -> Self {
        let (resources, notes) = each_once("resource", resources, |resource| &resource.uri);
        let old: HashMap<_, _> = by_key(&old.entries, |entry| &entry.resource.uri);
        let entries = resources.into_iter().map(|resource| {
            let known = old.get(resource.uri.as_str());
            if let Some(known) = known.filter(|known| *known.resource == resource) {
                return Arc::clone(known);
            }
            Arc::new(ResourceEntry {
                uri: unless_wrapped(server, &resource.uri),
                server: Arc::clone(server),
                resource: Arc::new(resource),
            })
        });
        let entries: Vec<_> = entries.collect();
        let places = (0_u32..).zip(&entries);
        let mut hashes: Vec<(u64, u32)> = places
            .map(|(place, entry)| (hash(&entry.resource.uri), place))
            .collect();
        hashes.sort_unstable();
        Self {
            entries,
            hashes: hashes.into(),
            notes,
        }
    }

    /// Is this one of them?
    pub(crate) fn has(&self, uri: &str, hash: u64) -> bool {
        let start = self.hashes.partition_point(|(known, _)| *known < hash);
        let from = self.hashes.get(start..).unwrap_or_default().iter();
        from.take_while(|(known, _)| *known == hash)
            .filter_map(|(_, place)| self.entries.get(index(*place)))
            .any(|entry| entry.resource.uri == uri)
    }
}

/// The families of resources of a server.
#[derive(Debug, Default)]
pub(crate) struct TemplateShelf {
    /// As they are offered while no other server has the same.
    pub(crate) entries: Vec<Arc<TemplateEntry>>,
    pub(crate) notes: Vec<String>,
}

impl TemplateShelf {
    pub(crate) fn new(server: &Arc<str>, templates: Vec<ResourceTemplate>, old: &Self) -> Self {
        let (templates, mut notes) = each_once("resource template", templates, |template| {
            &template.uri_template
        });
        let old: HashMap<_, _> = by_key(&old.entries, |entry| &entry.template.uri_template);
        let entries = templates.into_iter().map(|template| {
            let known = old.get(template.uri_template.as_str());
            if let Some(known) = known.filter(|known| *known.template == template) {
                return Arc::clone(known);
            }
            let parsed = UriTemplate::parse(&template.uri_template);
            if let Err(error) = &parsed {
                let text = cut(&template.uri_template);
                note(&mut notes, || {
                    format!("resource template {text:?}: {error}")
                });
            }
            Arc::new(TemplateEntry {
                uri_template: unless_wrapped(server, &template.uri_template),
                server: Arc::clone(server),
                template: Arc::new(template),
                parsed: parsed.ok().map(Arc::new),
            })
        });
        let entries = entries.collect();
        Self { entries, notes }
    }
}

/// The hash by which URIs are found.
pub(crate) fn hash(uri: &str) -> u64 {
    // Always with the same keys: whoever makes hashes meet makes the search compare texts.
    let mut hasher = DefaultHasher::new();
    uri.hash(&mut hasher);
    hasher.finish()
}

/// Places of things, ordered by a text that each has.
pub(crate) fn order_by<T>(things: &[T], key: impl Fn(&T) -> &str) -> Box<[u32]> {
    let mut places: Vec<u32> = (0_u32..).zip(things).map(|(place, _)| place).collect();
    places.sort_by_key(|place| things.get(index(*place)).map(&key));
    places.into()
}

/// Finds a place in what [`order_by`] made.
pub(crate) fn place(places: &[u32], compare: impl Fn(usize) -> Option<Ordering>) -> Option<usize> {
    let found =
        places.binary_search_by(|place| compare(index(*place)).unwrap_or(Ordering::Greater));
    places.get(found.ok()?).map(|place| index(*place))
}

fn index(place: u32) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

/// Are these the very same things in the same order?
pub(crate) fn is_same<T>(one: &[Arc<T>], other: &[Arc<T>]) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| Arc::ptr_eq(one, other))
}

/// The first of each name, and a note for each of the others.
fn each_once<T>(kind: &str, things: Vec<T>, key: impl Fn(&T) -> &String) -> (Vec<T>, Vec<String>) {
    let mut notes = Vec::new();
    let mut seen = HashSet::new();
    let is_first: Vec<bool> = things
        .iter()
        .map(|thing| {
            let key = key(thing);
            let is_first = seen.insert(key.as_str());
            if !is_first {
                note(&mut notes, || {
                    format!("{kind} {:?}: left out, its name came before", cut(key))
                });
            }
            is_first
        })
        .collect();
    let first = things.into_iter().zip(is_first);
    let first = first.filter_map(|(thing, is_first)| is_first.then_some(thing));
    (first.collect(), notes)
}

fn by_key<'a, T>(
    entries: &'a [Arc<T>],
    key: impl Fn(&'a T) -> &'a String,
) -> HashMap<&'a str, &'a Arc<T>> {
    let keyed = entries.iter().map(|entry| (key(entry).as_str(), entry));
    keyed.collect()
}

fn unless_wrapped(server: &str, uri: &str) -> Arc<str> {
    if uri::looks_wrapped(uri) {
        uri::wrap(server, uri).into()
    } else {
        uri.into()
    }
}
