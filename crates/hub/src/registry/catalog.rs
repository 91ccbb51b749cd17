//! A snapshot of all that the servers offer.
//!
//! It never changes: whoever holds one sees one state of things, however long a page takes to
//! write. Finding by name is in `finding.rs`, by URI in `locating.rs`; asking the servers is the
//! hub's part.
//!
//! Specification: server/tools, server/prompts, server/resources (listing).

use std::fmt;
use std::sync::Arc;

use switchboard_protocol::types::Tool;

use crate::policy::Denial;
use crate::registry::entry::{PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use crate::registry::listed::Listed;
use crate::registry::member::Member;
use crate::registry::offer::MemberCatalog;
use crate::search::Query;
use crate::{Naming, Policy};

/// All that the servers offer, at one moment. Cheap to clone.
#[derive(Clone)]
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

    /// All that a server has listed, whatever of it may be used.
    pub fn listed_by(&self, server: &str) -> MemberCatalog {
        let Some(member) = self.member(server) else {
            return MemberCatalog::empty();
        };
        let offer = &member.offer;
        let tools = offer.tools.entries.iter();
        let prompts = offer.prompts.entries.iter();
        let resources = offer.resources.entries.iter();
        let templates = offer.templates.entries.iter();
        MemberCatalog {
            tools: Some(tools.map(|entry| Tool::clone(&entry.tool)).collect()),
            prompts: Some(prompts.map(|entry| (*entry.prompt).clone()).collect()),
            resources: Some(resources.map(|entry| (*entry.resource).clone()).collect()),
            templates: Some(templates.map(|entry| (*entry.template).clone()).collect()),
            ..MemberCatalog::new()
        }
    }

    /// What is allowed of a server.
    pub fn policy_of(&self, server: &str) -> Option<&Policy> {
        self.member(server).map(|member| &member.policy)
    }

    /// Why nothing of a server may be used.
    pub fn denial_of(&self, server: &str) -> Option<Denial> {
        let member = self.member(server)?;
        member.check_enabled("server", server).err()
    }

    /// What of a server is not as it was approved, and so not offered.
    pub fn refused_of(&self, server: &str) -> Vec<Denial> {
        let member = self.member(server);
        member.map_or_else(Vec::new, |member| member.refused().collect())
    }

    /// What is odd about what a server offers: names that came twice, that had to be changed.
    pub fn notes_of(&self, server: &str) -> &[String] {
        self.member(server).map_or(&[], |member| &member.notes)
    }

    /// About how many tokens a model reads when it is offered all tools.
    pub fn tokens(&self) -> u64 {
        self.tools().map(|entry| u64::from(entry.tokens)).sum()
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

    pub(crate) fn member(&self, server: &str) -> Option<&Arc<Member>> {
        let members = &self.0.members;
        let place = members.binary_search_by(|member| (**member.server()).cmp(server));
        members.get(place.ok()?)
    }
}

impl fmt::Debug for Catalog {
    // Not the tools themselves: there may be a hundred thousand.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog")
            .field("version", &self.version())
            .field("servers", &self.servers().len())
            .field("tools", &self.tools().len())
            .finish_non_exhaustive()
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
