//! One definition as it was approved: all of it that can influence a model or a call.

use std::fmt;

use serde::Serialize;
use switchboard_protocol::types::{Prompt, Resource, ResourceTemplate, Tool};

use super::canonical::Node;

/// A definition as it was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    sha256: String,
    definition: Node,
}

/// What is pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PinKind {
    /// A server: what runs.
    Server,
    /// What a server wants every model to know.
    Instructions,
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A family of resources.
    Template,
    /// A resource.
    Resource,
}

impl PinKind {
    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Instructions => "instructions",
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Template => "resource template",
            Self::Resource => "resource",
        }
    }

    /// The member of a server in the file under which all of the kind are.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Server => "runs",
            Self::Instructions => "instructions",
            Self::Tool => "tools",
            Self::Prompt => "prompts",
            Self::Template => "resourceTemplates",
            Self::Resource => "resources",
        }
    }
}

impl fmt::Display for PinKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Pin {
    /// That of a tool.
    pub fn tool(tool: &Tool) -> Self {
        Self::of(tool)
    }

    /// That of a prompt.
    pub fn prompt(prompt: &Prompt) -> Self {
        Self::of(prompt)
    }

    /// That of a family of resources.
    pub fn template(template: &ResourceTemplate) -> Self {
        Self::of(template)
    }

    /// That of a resource, without what is about its contents.
    pub fn resource(resource: &Resource) -> Self {
        let mut definition = Node::of(resource);
        definition.remove("icons");
        definition.remove("size");
        definition.remove_within("annotations", "lastModified");
        Self::new(definition)
    }

    /// That of what a server wants models to know.
    pub fn instructions(text: &str) -> Self {
        Self::new(Node::Text(text.to_owned()))
    }

    /// The SHA-256 of its canonical form, in hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Everything that the server sent but pictures, which no model is shown.
    fn of(value: &impl Serialize) -> Self {
        let mut definition = Node::of(value);
        definition.remove("icons");
        Self::new(definition)
    }

    fn new(definition: Node) -> Self {
        Self {
            sha256: definition.sha256(),
            definition,
        }
    }

    pub(super) const fn definition(&self) -> &Node {
        &self.definition
    }

    pub(super) fn to_node(&self) -> Node {
        Node::object([
            ("sha256", Node::Text(self.sha256.clone())),
            ("definition", self.definition.clone()),
        ])
    }

    pub(super) fn from_node(node: &Node) -> Option<Self> {
        Some(Self {
            sha256: node.member("sha256")?.text()?.to_owned(),
            definition: node.member("definition")?.clone(),
        })
    }

    /// Is it what its hash says?
    pub(super) fn is_whole(&self) -> bool {
        self.definition.sha256() == self.sha256
    }
}
