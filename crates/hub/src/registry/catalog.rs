//! A snapshot of all that the servers offer.
//!
//! It never changes: whoever holds one sees one state of things, however long a page takes to
//! write. It says what there is and where; asking the servers is the hub's part.
//!
//! Specification: server/tools, server/prompts, server/resources (listing); MCP Apps (resources of
//! user interfaces may be missing from lists).

use std::borrow::Cow;
use std::sync::Arc;

use switchboard_protocol::types::Tool;

use crate::registry::entry::{PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use crate::registry::listed::Listed;
use crate::registry::member::Member;
use crate::registry::near::nearest;
use crate::registry::not_found::{Kind, NotFound};
use crate::registry::offer::hash;
use crate::registry::uri;
use crate::search::Query;
use crate::{Naming, Policy};

/// All that the servers offer, at one moment. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Catalog(Arc<Snapshot>);

#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) version: u64,
    pub(crate) naming: Naming,
    /// By the name of the server.
    pub(crate) members: Vec<Arc<Member>>,
    /// Places in `members`, ordered by what the names of the server begin with.
    pub(crate) by_part: Arc<[u32]>,
}

/// A tool that was searched for and found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hit {
    /// The tool.
    pub tool: Arc<ToolEntry>,
    /// How well it fits; to be compared with others of the same search only.
    pub score: f32,
}

/// Where a resource is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Located {
    /// The server that has it.
    pub server: Arc<str>,
    /// What that server calls it.
    pub uri: String,
}

impl Catalog {
    pub(crate) fn from_snapshot(snapshot: Snapshot) -> Self {
        Self(Arc::new(snapshot))
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.0
    }

    /// Grows with every change, so that two snapshots can be compared.
    pub fn version(&self) -> u64 {
        self.0.version
    }

    /// How names are made.
    pub fn naming(&self) -> &Naming {
        &self.0.naming
    }

    /// The servers, by name, also those of which nothing may be seen.
    pub fn servers(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.0.members.iter().map(|member| member.server())
    }

    /// The tools that may be used: by the name of the server, then in the server's order.
    pub fn tools(&self) -> Listed<'_, ToolEntry> {
        Listed::new(&self.0.members, |member| &member.listed.tools)
    }

    /// The prompts, in the same order.
    pub fn prompts(&self) -> Listed<'_, PromptEntry> {
        Listed::new(&self.0.members, |member| &member.listed.prompts)
    }

    /// The resources that were listed, in the same order.
    pub fn resources(&self) -> Listed<'_, ResourceEntry> {
        Listed::new(&self.0.members, |member| &member.listed.resources)
    }

    /// The families of resources, in the same order.
    pub fn templates(&self) -> Listed<'_, TemplateEntry> {
        Listed::new(&self.0.members, |member| &member.listed.templates)
    }

    /// The tools of one server that may be used.
    pub fn tools_of(&self, server: &str) -> &[Arc<ToolEntry>] {
        self.member(server)
            .map_or(&[], |member| &member.listed.tools)
    }

    /// What is allowed of a server.
    pub fn policy_of(&self, server: &str) -> Option<&Policy> {
        self.member(server).map(|member| &member.policy)
    }

    /// What is odd about what a server offers: names that came twice, that had to be changed.
    pub fn notes_of(&self, server: &str) -> &[String] {
        self.member(server).map_or(&[], |member| &member.notes)
    }

    /// About how many tokens a model reads when it is offered all tools.
    pub fn tokens(&self) -> u64 {
        self.tools().map(|entry| u64::from(entry.tokens)).sum()
    }

    /// The tool that is offered under this name.
    ///
    /// # Errors
    /// When there is none, or it may not be used.
    pub fn find_tool(&self, name: &str) -> Result<&Arc<ToolEntry>, NotFound> {
        let mut group = self.group_of(name);
        match group.find_map(|member| member.tool(name)) {
            Some(found) => found.map_err(|denial| NotFound::denied(Kind::Tool, name, denial)),
            None => Err(self.no_tool(name)),
        }
    }

    /// The tool that this server calls so.
    ///
    /// # Errors
    /// When there is no such server or tool, or it may not be used.
    pub fn find_on(&self, server: &str, tool: &str) -> Result<&Arc<ToolEntry>, NotFound> {
        let member = self.find_member(server)?;
        match member.own_tool(tool) {
            Some(found) => found.map_err(|denial| NotFound::denied(Kind::Tool, tool, denial)),
            None => {
                let names = member.listed.tools.iter();
                let names = names.map(|entry| entry.tool.name.as_str());
                Err(NotFound::unknown(
                    Kind::Tool,
                    tool,
                    owned(nearest(tool, names)),
                ))
            }
        }
    }

    /// The prompt that is offered under this name.
    ///
    /// # Errors
    /// When there is none, or it may not be used.
    pub fn find_prompt(&self, name: &str) -> Result<&Arc<PromptEntry>, NotFound> {
        let mut group = self.group_of(name);
        match group.find_map(|member| member.prompt(|entry| entry.name == *name)) {
            Some(found) => found.map_err(|denial| NotFound::denied(Kind::Prompt, name, denial)),
            None => {
                let names = self.prompts().map(|entry| entry.name.as_str());
                Err(NotFound::unknown(
                    Kind::Prompt,
                    name,
                    owned(nearest(name, names)),
                ))
            }
        }
    }

    /// The prompt that this server calls so.
    ///
    /// # Errors
    /// When there is no such server or prompt, or it may not be used.
    pub fn find_prompt_on(
        &self,
        server: &str,
        prompt: &str,
    ) -> Result<&Arc<PromptEntry>, NotFound> {
        let member = self.find_member(server)?;
        match member.prompt(|entry| entry.prompt.name == prompt) {
            Some(found) => found.map_err(|denial| NotFound::denied(Kind::Prompt, prompt, denial)),
            None => {
                let names = member.listed.prompts.iter();
                let names = names.map(|entry| entry.prompt.name.as_str());
                Err(NotFound::unknown(
                    Kind::Prompt,
                    prompt,
                    owned(nearest(prompt, names)),
                ))
            }
        }
    }

    /// Where the resource with this URI is.
    ///
    /// One with a server in front is taken to be there, also if it is in no list. Others belong to
    /// the one server that lists them, or else has a template that they fit.
    ///
    /// # Errors
    /// When no server, or more than one, could have it, or it may not be used.
    pub fn find_resource(&self, uri: &str) -> Result<Located, NotFound> {
        let (member, uri) = match uri::unwrap(uri) {
            Some((server, inner)) => match self.member(&server) {
                Some(member) => (member, inner),
                None => return Err(self.no_resource(uri)),
            },
            None => (self.owner(uri)?, uri.to_owned()),
        };
        match member.check_enabled("resource", &uri) {
            Ok(()) => Ok(Located {
                server: Arc::clone(member.server()),
                uri,
            }),
            Err(denial) => Err(NotFound::denied(Kind::Resource, &uri, denial)),
        }
    }

    /// The family of resources that is offered under this template.
    ///
    /// # Errors
    /// When there is none, or it may not be used.
    pub fn find_template(&self, uri_template: &str) -> Result<&Arc<TemplateEntry>, NotFound> {
        let mut templates = self.templates();
        let found = templates.find(|entry| *entry.uri_template == *uri_template);
        found.ok_or_else(|| {
            let names = self.templates().map(|entry| &*entry.uri_template);
            NotFound::unknown(
                Kind::Template,
                uri_template,
                owned(nearest(uri_template, names)),
            )
        })
    }

    /// The tools that fit some words best, the best first.
    ///
    /// Words are looked for in names, titles, descriptions and parameters of tools; the last may
    /// be the beginning of one. Tools that are not for models are left out.
    pub fn search(&self, words: &str, limit: usize) -> Vec<Hit> {
        let members = &self.0.members;
        let tool = |member: usize, place: usize| {
            let member = members.get(member)?;
            let entry = member.listed_tool(place)?;
            entry.is_for_model().then_some(entry)
        };
        let indexes = members.iter().map(|member| &member.offer.tools.index);
        let found = Query::new(words).run(indexes, limit, |member, place| {
            tool(member, place).is_some()
        });
        let hits = found.into_iter().filter_map(|(member, place, score)| {
            let tool = Arc::clone(tool(member, place)?);
            Some(Hit { tool, score })
        });
        hits.collect()
    }

    /// A tool's description as it is offered: with its name here, and the URI here of the resource
    /// that shows it.
    pub fn definition(&self, entry: &ToolEntry) -> Tool {
        let mut tool = Tool::clone(&entry.tool);
        entry.name.as_str().clone_into(&mut tool.name);
        if let Some(meta) = &mut tool.meta {
            self.expose_in_meta(&entry.server, meta);
        }
        tool
    }

    /// What a resource of this server is called here.
    ///
    /// As the server calls it where that leads back to it, and otherwise with the server in front.
    /// Web pages that no server lists are left alone: whoever reads them needs no server.
    pub fn expose_uri<'a>(&self, server: &str, uri: &'a str) -> Cow<'a, str> {
        let is_plain = !uri::looks_wrapped(uri)
            && match self.owner(uri) {
                Ok(owner) => **owner.server() == *server,
                Err(_) => is_web_page(uri) && self.owners(uri).next().is_none(),
            };
        if is_plain {
            Cow::Borrowed(uri)
        } else {
            Cow::Owned(uri::wrap(server, uri))
        }
    }

    pub(crate) fn member(&self, server: &str) -> Option<&Arc<Member>> {
        let members = &self.0.members;
        let place = members.binary_search_by(|member| (**member.server()).cmp(server));
        members.get(place.ok()?)
    }

    /// The members whose names begin like this one.
    fn group_of(&self, name: &str) -> impl Iterator<Item = &Arc<Member>> {
        let part = self.0.naming.split(name).map(|(part, _)| part);
        part.into_iter().flat_map(|part| self.0.group(part))
    }

    fn find_member(&self, server: &str) -> Result<&Arc<Member>, NotFound> {
        self.member(server).ok_or_else(|| {
            let servers = self.servers().map(|server| &**server);
            NotFound::unknown(Kind::Server, server, owned(nearest(server, servers)))
        })
    }

    /// The one server that has a resource which its own URI is given of.
    fn owner(&self, uri: &str) -> Result<&Arc<Member>, NotFound> {
        let mut owners = self.owners(uri);
        if let Some(owner) = owners.next() {
            let others: Vec<_> = owners.collect();
            return self.only_one(uri, owner, others);
        }
        let mut owners = self.0.members.iter().filter(|member| {
            let mut templates = member.offer.templates.entries.iter();
            templates.any(|template| template.has(uri))
        });
        match owners.next() {
            Some(owner) => {
                let others: Vec<_> = owners.collect();
                self.only_one(uri, owner, others)
            }
            None => Err(self.no_resource(uri)),
        }
    }

    fn only_one<'a>(
        &self,
        uri: &str,
        owner: &'a Arc<Member>,
        others: Vec<&Arc<Member>>,
    ) -> Result<&'a Arc<Member>, NotFound> {
        if others.is_empty() {
            return Ok(owner);
        }
        let all = std::iter::once(owner).chain(others).take(MOST_OFFERED);
        let offered_as = all.map(|member| uri::wrap(member.server(), uri)).collect();
        Err(NotFound::ambiguous(Kind::Resource, uri, offered_as))
    }

    /// The servers that say that they have a resource.
    fn owners(&self, uri: &str) -> impl Iterator<Item = &Arc<Member>> {
        let hash = hash(uri);
        let members = self.0.members.iter();
        members.filter(move |member| member.offer.has_uri(uri, hash))
    }

    fn no_resource(&self, uri: &str) -> NotFound {
        let names = self.resources().map(|entry| &*entry.uri);
        NotFound::unknown(Kind::Resource, uri, owned(nearest(uri, names)))
    }

    /// Why there is no tool of this name, and what may have been meant.
    fn no_tool(&self, name: &str) -> NotFound {
        let naming = &self.0.naming;
        // A name that several would have.
        let group = self.group_of(name).flat_map(|member| {
            let own = member.offer.tools.entries.iter();
            own.filter(|entry| entry.name == *name)
                .filter_map(|entry| member.own_tool(&entry.tool.name)?.ok())
        });
        let offered_as: Vec<String> = group
            .take(MOST_OFFERED)
            .map(|entry| entry.name.to_string())
            .collect();
        if !offered_as.is_empty() {
            return NotFound::ambiguous(Kind::Tool, name, offered_as);
        }
        // A tool that some server calls so, or that another server has.
        let (part, own) = naming.split(name).unwrap_or(("", name));
        let everywhere = self.0.members.iter();
        let mut near: Vec<&str> = everywhere
            .filter_map(|member| member.own_tool(own)?.ok())
            .take(MOST_OFFERED)
            .map(|entry| entry.name.as_str())
            .collect();
        let group = self.0.group(part);
        let names = group.flat_map(|member| member.listed.tools.iter());
        near.extend(nearest(name, names.map(|entry| entry.name.as_str())));
        if near.is_empty() && part.is_empty() {
            near = nearest(name, self.tools().map(|entry| entry.tool.name.as_str()));
        }
        NotFound::unknown(Kind::Tool, name, owned(near))
    }
}

impl Snapshot {
    /// The members whose names begin with this part.
    pub(crate) fn group(&self, part: &str) -> impl Iterator<Item = &Arc<Member>> {
        let start = self.by_part.partition_point(|place| {
            self.at(*place)
                .is_some_and(|member| &*member.offer.part < part)
        });
        let from = self.by_part.get(start..).unwrap_or_default();
        let members = from.iter().filter_map(|place| self.at(*place));
        members.take_while(move |member| *member.offer.part == *part)
    }

    fn at(&self, place: u32) -> Option<&Arc<Member>> {
        self.members.get(usize::try_from(place).ok()?)
    }
}

fn is_web_page(uri: &str) -> bool {
    uri.starts_with("https://") || uri.starts_with("http://")
}

fn owned(mut names: Vec<&str>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    names
        .into_iter()
        .take(MOST_OFFERED)
        .map(ToOwned::to_owned)
        .collect()
}

/// How many alternatives an error names.
const MOST_OFFERED: usize = 5;
