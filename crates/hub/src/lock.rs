//! Definitions as somebody approved them: what `mcp.lock` holds.
//!
//! Pure, but for reading the file. What may be used under a lock is judged by the catalogue when it
//! takes a list in; who writes the file, and when, is for others.
//!
//! 1. here: the lock, its servers, its file
//! 2. `canonical`: the one spelling of a definition, which is hashed; `invisible`: what nobody sees in it
//! 3. `pin`: what of a definition is pinned; `runs`: what of a configuration is
//! 4. `difference`: what has changed from one lock to another
//! 5. `pins`: what a lock says of one server and its definitions
//! 6. `error`: why a file is no lock

mod canonical;
mod difference;
mod error;
mod invisible;
mod pin;
mod pins;
mod runs;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use canonical::Node;

pub use difference::{PinChange, PinDifference, PinnedField};
pub use error::LockError;
pub use invisible::is_invisible;
pub use pin::{Pin, PinKind};
pub use pins::Mismatch;
pub(crate) use pins::Pins;

use crate::config::ServerConfig;
use crate::registry::MemberCatalog;

/// The name of a lock, beside the configuration that it is for.
pub const LOCK_FILE: &str = "mcp.lock";

/// What was approved of all servers.
///
/// ```
/// use switchboard_hub::{Lock, MemberCatalog, PinnedServer, ServerConfig};
///
/// let server = ServerConfig::command("clock", ["uvx", "mcp-server-time"]);
/// let tools = serde_json::from_str(r#"[{"name":"now","inputSchema":{"type":"object"}}]"#)?;
/// let listed = MemberCatalog::new().with_tools(tools);
/// let mut lock = Lock::new();
/// lock.set("clock", PinnedServer::new(&server, &listed, None));
/// assert_eq!(Lock::parse(&lock.to_text(), "mcp.lock")?, lock);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    servers: BTreeMap<String, PinnedServer>,
}

/// What was approved of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedServer {
    /// What runs, as the configuration says it.
    runs: Node,
    instructions: Option<Pin>,
    tools: BTreeMap<String, Pin>,
    prompts: BTreeMap<String, Pin>,
    templates: BTreeMap<String, Pin>,
    /// None: they come and go, and are not pinned.
    resources: Option<BTreeMap<String, Pin>>,
}

impl Lock {
    /// Nothing was approved.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When there is none, or it is no lock, or an entry is not what its hash says.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, LockError> {
        let path = path.as_ref();
        let name = || path.display().to_string();
        let unreadable = |source| LockError::File {
            file: name(),
            source,
        };
        let mut text = String::new();
        let file = File::open(path).map_err(unreadable)?;
        // One more byte than there may be tells that there are too many.
        let read = file.take(LARGEST + 1).read_to_string(&mut text);
        read.map_err(unreadable)?;
        if text.len() as u64 > LARGEST {
            return Err(LockError::TooLarge {
                file: name(),
                limit: LARGEST,
            });
        }
        Self::parse(&text, &name())
    }

    /// Reads the text of a file, which is called so in errors.
    ///
    /// # Errors
    /// When it is no lock, or an entry is not what its hash says.
    pub fn parse(text: &str, file: &str) -> Result<Self, LockError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let root = Node::read(text, DEEPEST).map_err(|source| LockError::Syntax {
            file: file.to_owned(),
            source,
        })?;
        let shape = |place: String| LockError::Shape {
            file: file.to_owned(),
            place,
        };
        match root.member("version") {
            Some(Node::Number(version)) if version == VERSION => {}
            Some(Node::Number(version)) => {
                return Err(LockError::Version {
                    file: file.to_owned(),
                    found: version.clone(),
                });
            }
            _ => return Err(shape("version".to_owned())),
        }
        let Some(Node::Object(servers)) = root.member("servers") else {
            return Err(shape("servers".to_owned()));
        };
        let mut lock = Self::new();
        for (name, node) in servers {
            let server = PinnedServer::from_node(node).map_err(|fault| match fault {
                Fault::Shape(place) => shape(format!("servers.{name}.{place}")),
                Fault::Altered(kind, item) => LockError::Altered {
                    file: file.to_owned(),
                    server: name.clone(),
                    kind,
                    name: item,
                },
            })?;
            if lock.servers.insert(name.clone(), server).is_some() {
                return Err(shape(format!("servers.{name}, which is there twice")));
            }
        }
        Ok(lock)
    }

    /// The text of the file: sorted, a line for each thing, every definition whole.
    pub fn to_text(&self) -> String {
        let servers = self.servers.iter();
        let servers = servers.map(|(name, server)| (name.clone(), server.to_node()));
        let root = Node::object([
            ("about", Node::Text(ABOUT.to_owned())),
            ("version", Node::Number(VERSION.to_owned())),
            ("servers", Node::Object(servers.collect())),
        ]);
        root.pretty()
    }

    /// The names of its servers.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// What was approved of a server.
    pub fn server(&self, name: &str) -> Option<&PinnedServer> {
        self.servers.get(name)
    }

    /// Approves this of a server, and nothing else.
    pub fn set(&mut self, name: &str, server: PinnedServer) {
        self.servers.insert(name.to_owned(), server);
    }

    /// Approves nothing of a server.
    pub fn remove(&mut self, name: &str) -> Option<PinnedServer> {
        self.servers.remove(name)
    }

    /// What has changed when another takes its place: server by server, by kind and name.
    pub fn differences(&self, new: &Self) -> Vec<PinDifference> {
        difference::between(self, new)
    }
}

/// What runs of a server, as a lock has it: a line of JSON with nothing secret in it.
pub fn what_runs(server: &ServerConfig) -> String {
    runs::of(server).canonical()
}

impl PinnedServer {
    /// What a server lists and says, which runs as it is configured.
    pub fn new(server: &ServerConfig, listed: &MemberCatalog, instructions: Option<&str>) -> Self {
        fn pins<T>(
            all: Option<&Vec<T>>,
            name: fn(&T) -> &String,
            pin: fn(&T) -> Pin,
        ) -> BTreeMap<String, Pin> {
            let all = all.into_iter().flatten().rev();
            // Of two of a name the first is the one that is offered.
            all.map(|one| (name(one).clone(), pin(one))).collect()
        }
        Self {
            runs: runs::of(server),
            instructions: instructions.map(Pin::instructions),
            tools: pins(listed.tools.as_ref(), |tool| &tool.name, Pin::tool),
            prompts: pins(listed.prompts.as_ref(), |prompt| &prompt.name, Pin::prompt),
            templates: pins(
                listed.templates.as_ref(),
                |template| &template.uri_template,
                Pin::template,
            ),
            resources: Some(pins(
                listed.resources.as_ref(),
                |resource| &resource.uri,
                Pin::resource,
            )),
        }
    }

    /// The same for a server that is configured like this.
    #[must_use]
    pub fn running(mut self, server: &ServerConfig) -> Self {
        self.runs = runs::of(server);
        self
    }

    /// The same without its resources, of which any may be listed then.
    #[must_use]
    pub fn without_resources(mut self) -> Self {
        self.resources = None;
        self
    }

    /// Are its resources pinned?
    pub const fn has_resources(&self) -> bool {
        self.resources.is_some()
    }

    /// How many there are of a kind.
    pub fn count(&self, kind: PinKind) -> usize {
        match kind {
            PinKind::Server => 1,
            PinKind::Instructions => usize::from(self.instructions.is_some()),
            _ => self.of_kind(kind).map_or(0, BTreeMap::len),
        }
    }

    fn of_kind(&self, kind: PinKind) -> Option<&BTreeMap<String, Pin>> {
        match kind {
            PinKind::Tool => Some(&self.tools),
            PinKind::Prompt => Some(&self.prompts),
            PinKind::Template => Some(&self.templates),
            PinKind::Resource => self.resources.as_ref(),
            PinKind::Server | PinKind::Instructions => None,
        }
    }

    fn to_node(&self) -> Node {
        let mut members = vec![("runs".to_owned(), self.runs.clone())];
        if let Some(instructions) = &self.instructions {
            members.push(("instructions".to_owned(), instructions.to_node()));
        }
        for kind in KINDS {
            if let Some(pins) = self.of_kind(kind) {
                let pins = pins.iter().map(|(name, pin)| (name.clone(), pin.to_node()));
                members.push((kind.key().to_owned(), Node::Object(pins.collect())));
            }
        }
        Node::Object(members)
    }

    fn from_node(node: &Node) -> Result<Self, Fault> {
        let pin = |kind: PinKind, name: &str, place: &str, node: &Node| {
            let pin = Pin::from_node(node).ok_or_else(|| Fault::Shape(place.to_owned()))?;
            match pin.is_whole() {
                true => Ok(pin),
                false => Err(Fault::Altered(kind, name.to_owned())),
            }
        };
        let pins = |kind: PinKind| -> Result<Option<BTreeMap<String, Pin>>, Fault> {
            let key = kind.key();
            let Some(node) = node.member(key) else {
                return Ok(None);
            };
            let Node::Object(members) = node else {
                return Err(Fault::Shape(key.to_owned()));
            };
            let mut all = BTreeMap::new();
            for (name, node) in members {
                let place = format!("{key}.{name}");
                let pin = pin(kind, name, &place, node)?;
                if all.insert(name.clone(), pin).is_some() {
                    return Err(Fault::Shape(format!("{place}, which is there twice")));
                }
            }
            Ok(Some(all))
        };
        let needed = |place: &str| Fault::Shape(place.to_owned());
        let runs = node.member("runs").ok_or_else(|| needed("runs"))?;
        let kind = PinKind::Instructions;
        let instructions = node.member(kind.key());
        let instructions = instructions.map(|node| pin(kind, "", kind.key(), node));
        Ok(Self {
            runs: runs.clone(),
            instructions: instructions.transpose()?,
            tools: pins(PinKind::Tool)?.ok_or_else(|| needed("tools"))?,
            prompts: pins(PinKind::Prompt)?.unwrap_or_default(),
            templates: pins(PinKind::Template)?.unwrap_or_default(),
            resources: pins(PinKind::Resource)?,
        })
    }
}

/// What is wrong with an entry.
enum Fault {
    /// This is not what it should be.
    Shape(String),
    /// It is not what its hash says.
    Altered(PinKind, String),
}

const KINDS: [PinKind; 4] = [
    PinKind::Tool,
    PinKind::Prompt,
    PinKind::Template,
    PinKind::Resource,
];
const ABOUT: &str = "Written by `switchboard lock`: what runs, and what its tools tell a model. \
                     `switchboard lock --check` shows what is different now.";
const VERSION: &str = "1";
// The reader of JSON takes no more.
const DEEPEST: usize = 127;
const LARGEST: u64 = 64 * 1024 * 1024;

#[cfg(test)]
mod tests;
