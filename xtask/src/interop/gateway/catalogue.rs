//! What a client sees of all servers together: the same for every client.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::driven::Driven;
use super::features::{check, each};

/// What is offered, by kind and name, without what only some libraries keep.
#[derive(Debug, PartialEq)]
pub(super) struct Catalogue(BTreeMap<(&'static str, String), Value>);

impl Catalogue {
    /// All pages of all lists.
    pub(super) fn read(client: &Driven) -> Result<Self, String> {
        let mut entries = BTreeMap::new();
        for list in LISTS {
            let listed = client.order(json!({"do": list.order}))?;
            for entry in each(&listed[list.member]) {
                let name = entry[list.name].as_str().unwrap_or_default().to_owned();
                let kept = list.kept.iter().map(|&member| &entry[member]);
                let kept = json!(kept.collect::<Vec<_>>());
                let twice = entries.insert((list.order, name.clone()), kept);
                check(twice.is_none(), || format!("{name} is listed twice"))?;
            }
        }
        Ok(Self(entries))
    }

    /// Names, descriptions and schemas are the same.
    pub(super) fn check_same(&self, other: &Self) -> Result<(), String> {
        for (name, entry) in &self.0 {
            match other.0.get(name) {
                None => return Err(format!("{name:?} is missing")),
                Some(found) if found != entry => {
                    return Err(format!("{name:?} is {found}, and elsewhere {entry}"));
                }
                Some(_) => {}
            }
        }
        let more = other.0.keys().find(|name| !self.0.contains_key(name));
        check(more.is_none(), || format!("{more:?} is there only"))
    }

    /// Something of each kind is there, and tools of each server.
    pub(super) fn check_complete(&self, servers: &[&str]) -> Result<(), String> {
        for list in LISTS {
            let has = self.0.keys().any(|(kind, _)| *kind == list.order);
            check(has, || format!("there are no {}", list.order))?;
        }
        for server in servers {
            check(self.has_tool_of(server), || format!("no tool of {server}"))?;
        }
        Ok(())
    }

    pub(super) fn has_tool_of(&self, server: &str) -> bool {
        let prefix = format!("{server}__");
        let mut tools = self.0.keys().filter(|(kind, _)| *kind == "tools");
        tools.any(|(_, name)| name.starts_with(&prefix))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// One kind of thing that is listed.
struct List {
    order: &'static str,
    member: &'static str,
    /// What tells entries apart.
    name: &'static str,
    kept: &'static [&'static str],
}

const LISTS: [List; 4] = [
    List {
        order: "tools",
        member: "tools",
        name: "name",
        kept: &["title", "description", "inputSchema", "outputSchema"],
    },
    List {
        order: "prompts",
        member: "prompts",
        name: "name",
        kept: &["title", "description"],
    },
    List {
        order: "resources",
        member: "resources",
        name: "uri",
        kept: &["name", "title", "description", "mimeType"],
    },
    List {
        order: "templates",
        member: "resourceTemplates",
        name: "uriTemplate",
        kept: &["name", "title", "description", "mimeType"],
    },
];
