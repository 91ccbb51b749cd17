//! Finds tools and prompts by name, and says why there is none.

use std::collections::HashSet;
use std::sync::Arc;

use crate::Catalog;
use crate::near::nearest;
use crate::registry::entry::{PromptEntry, ToolEntry};
use crate::registry::member::Member;
use crate::registry::not_found::{Kind, MOST_OFFERED, NotFound};

impl Catalog {
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
                Err(unknown(Kind::Tool, tool, names))
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
                Err(unknown(Kind::Prompt, name, names))
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
                Err(unknown(Kind::Prompt, prompt, names))
            }
        }
    }

    /// The members whose names begin like this one.
    fn group_of(&self, name: &str) -> impl Iterator<Item = &Arc<Member>> {
        let part = self.snapshot().naming.split(name).map(|(part, _)| part);
        part.into_iter()
            .flat_map(|part| self.snapshot().group(part))
    }

    pub(crate) fn find_member(&self, server: &str) -> Result<&Arc<Member>, NotFound> {
        self.member(server).ok_or_else(|| {
            let servers = self.servers().map(|server| &**server);
            unknown(Kind::Server, server, servers)
        })
    }

    /// Why there is no tool of this name, and what may have been meant.
    fn no_tool(&self, name: &str) -> NotFound {
        let naming = &self.snapshot().naming;
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
        // A tool that some server calls so, or one of the server that was meant.
        let (part, own) = naming.split(name).unwrap_or(("", name));
        let mut near = self.called(own);
        let group = self.snapshot().group(part);
        let names = group.flat_map(|member| member.listed.tools.iter());
        near.extend(nearest(name, names.map(|entry| entry.name.as_str())));
        if near.is_empty() && part.is_empty() {
            let names = self.tools().map(|entry| entry.tool.name.as_str());
            near = nearest(own, names)
                .into_iter()
                .flat_map(|own| self.called(own))
                .collect();
        }
        NotFound::unknown(Kind::Tool, name, owned(near))
    }

    /// The names of the tools that servers call so.
    fn called(&self, own: &str) -> Vec<&str> {
        let members = self.snapshot().members.iter();
        members
            .filter_map(|member| member.own_tool(own)?.ok())
            .take(MOST_OFFERED)
            .map(|entry| entry.name.as_str())
            .collect()
    }
}

/// There is no such thing; one of these names may have been meant.
pub(crate) fn unknown<'a>(
    kind: Kind,
    name: &str,
    names: impl Iterator<Item = &'a str>,
) -> NotFound {
    NotFound::unknown(kind, name, owned(nearest(name, names)))
}

/// Each once, and not too many.
fn owned(mut names: Vec<&str>) -> Vec<String> {
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(*name));
    names
        .into_iter()
        .take(MOST_OFFERED)
        .map(ToOwned::to_owned)
        .collect()
}
