//! What one server offers, as it listed it: each thing once, in the server's order.
//!
//! Built when the server was listed, and shared by all snapshots until it is listed again with
//! another result. Which of it may be seen, and under which name, is in `member.rs`.
//!
//! Specification: server/tools, server/prompts, server/resources (listing).

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use switchboard_protocol::types::{Prompt, Resource, ResourceTemplate, Tool};
use switchboard_protocol::uri_template::UriTemplate;

use crate::registry::entry::{PromptEntry, ResourceEntry, TemplateEntry, ToolEntry, ui_resource};
use crate::registry::uri;
use crate::search::Index;
use crate::tokens;
use crate::{ExposedName, Naming};

/// What a server listed. What is `None` was not asked for, and stays what it was.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MemberCatalog {
    /// Its tools.
    pub tools: Option<Vec<Tool>>,
    /// Its prompts.
    pub prompts: Option<Vec<Prompt>>,
    /// Its resources.
    pub resources: Option<Vec<Resource>>,
    /// Its families of resources.
    pub templates: Option<Vec<ResourceTemplate>>,
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
        }
    }

    /// The same after the server was listed again, sharing what has not changed.
    pub(crate) fn listed(&self, naming: &Naming, listed: MemberCatalog) -> Self {
        let Self { server, .. } = self;
        let mut new = self.clone();
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

    /// Is it the very same?
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
            .chain(&self.tools.ui)
            .filter(|uri| !uri::looks_wrapped(uri))
    }

    /// Does it say that it has this resource, in its list or as the interface of a tool?
    pub(crate) fn has_uri(&self, uri: &str, hash: u64) -> bool {
        let resources = &self.resources;
        let is_listed = resources.hashes.binary_search(&hash).is_ok()
            && resources
                .entries
                .iter()
                .any(|entry| entry.resource.uri == uri);
        is_listed || self.tools.ui.iter().any(|known| **known == *uri)
    }
}

/// The tools of a server.
#[derive(Debug, Default)]
pub(crate) struct ToolShelf {
    pub(crate) entries: Vec<Arc<ToolEntry>>,
    /// Places in `entries`, ordered by the server's own names.
    by_own_name: Box<[u32]>,
    /// The resources that show tools to people.
    ui: Vec<Arc<str>>,
    pub(crate) index: Index,
    pub(crate) notes: Vec<String>,
}

impl ToolShelf {
    fn new(naming: &Naming, server: &Arc<str>, tools: Vec<Tool>, old: &Self) -> Self {
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
        let ui: HashSet<&str> = entries
            .iter()
            .filter_map(|entry| ui_resource(&entry.tool))
            .collect();
        Self {
            by_own_name: order_by(&entries, |entry| &entry.tool.name),
            ui: ui.into_iter().map(Arc::from).collect(),
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
}

/// The prompts of a server.
#[derive(Debug, Default)]
pub(crate) struct PromptShelf {
    pub(crate) entries: Vec<Arc<PromptEntry>>,
    pub(crate) notes: Vec<String>,
}

impl PromptShelf {
    fn new(naming: &Naming, server: &Arc<str>, prompts: Vec<Prompt>, old: &Self) -> Self {
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
    /// Of the server's own URIs, in order: a URI is looked for among all servers.
    hashes: Box<[u64]>,
    pub(crate) notes: Vec<String>,
}

impl ResourceShelf {
    fn new(server: &Arc<str>, resources: Vec<Resource>, old: &Self) -> Self {
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
        let mut hashes: Vec<u64> = entries
            .iter()
            .map(|entry| hash(&entry.resource.uri))
            .collect();
        hashes.sort_unstable();
        Self {
            entries,
            hashes: hashes.into(),
            notes,
        }
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
    fn new(server: &Arc<str>, templates: Vec<ResourceTemplate>, old: &Self) -> Self {
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

/// Adds a note, unless there are many already.
pub(crate) fn note(notes: &mut Vec<String>, text: impl FnOnce() -> String) {
    match notes.len() {
        0..MOST_NOTES => notes.push(text()),
        MOST_NOTES => notes.push("and more that is not listed here".to_owned()),
        _ => {}
    }
}

/// A text of a server, short enough for a note.
pub(crate) fn cut(text: &str) -> &str {
    let end = text.char_indices().nth(LONGEST_IN_NOTE);
    end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// Places of things, ordered by a text that each has.
pub(crate) fn order_by<T>(things: &[T], key: impl Fn(&T) -> &str) -> Box<[u32]> {
    let mut places: Vec<u32> = (0_u32..).zip(things).map(|(place, _)| place).collect();
    places.sort_by_key(|place| things.get(index(*place)).map(&key));
    places.into()
}

/// Finds a place in what [`order_by`] made.
pub(crate) fn place(
    places: &[u32],
    compare: impl Fn(usize) -> Option<std::cmp::Ordering>,
) -> Option<usize> {
    let found = places
        .binary_search_by(|place| compare(index(*place)).unwrap_or(std::cmp::Ordering::Greater));
    places.get(found.ok()?).map(|place| index(*place))
}

fn index(place: u32) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

/// The old shelf if nothing on it has changed.
fn shared_if<S, T>(old: &Arc<S>, new: S, entries: impl Fn(&S) -> &Vec<Arc<T>>) -> Arc<S> {
    if is_same(entries(old), entries(&new)) {
        Arc::clone(old)
    } else {
        Arc::new(new)
    }
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

const MOST_NOTES: usize = 64;

const LONGEST_IN_NOTE: usize = 200;
