//! Servers as users write them.
//!
//! JSON with comments, in the form that most hosts read: an object of servers under
//! `mcpServers`, and what is ours under `x-switchboard` in each of them and at the top. The
//! spellings of other products are understood too. Whatever is wrong with one server is a
//! [`Problem`] of that one; the others work.
//!
//! 1. `page`: the text, JSON, places; `sheet`, `members`, `field`: its objects and values
//! 2. `container`: where the servers are; `server`, `transport`, `auth`: one of them; `input`: what
//!    stands beside them for people
//! 3. `problem`, `error`: what can be wrong; `near`: what was probably meant
//! 4. `resolve`: with variables filled in, what a client is made of
//! 5. `written`: a server in the form that most hosts read
//!
//! Nothing here starts, connects or watches.

mod auth;
mod container;
mod env_file;
mod error;
mod field;
mod gateway;
mod input;
mod members;
mod origin;
mod page;
mod problem;
mod quantity;
mod resolve;
mod server;
mod sheet;
#[cfg(test)]
mod tests;
mod transport;
mod unknown;
mod written;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;

pub use auth::{AuthConfig, OAuthConfig};
pub use error::ConfigError;
pub use gateway::{GatewaySettings, KeyConfig, KeySecret, LimitConfig};
pub use input::{InputConfig, InputKind, InputOption};
pub(crate) use origin::Grammar;
pub use origin::{Dialect, Origin};
pub use page::{Position, SyntaxFault};
pub use problem::{Problem, ProblemKind, Severity};
pub(crate) use resolve::bounded;
pub use resolve::{ResolveError, ResolveErrorKind, Resolved, ResolvedAuth, ResolvedOAuth, resolve};
pub use server::{
    Location, ServerConfig, ServerLimits, ServerTimeouts, Sharing, Start, StopTimeouts,
};
pub use transport::{HttpConfig, StdioConfig, TransportConfig};
pub use unknown::UnknownKeys;

use crate::exposed_name::Prefix;
use crate::profile::Profile;
use field::kind;
use page::Page;
use sheet::Sheet;

/// A configuration as it was read: what is good, and what is wrong with the rest.
///
/// ```
/// use switchboard_hub::{Config, Origin};
///
/// let text = r#"{ "mcpServers": {
///     "time": { "command": "uvx", "args": ["mcp-server-time"] },
///     "docs": { "url": "https://mcp.example.com/mcp", "timeot": "30s" }, // sic
/// } }"#;
/// let config = Config::read(text, &Origin::text("mcp.json"))?;
/// assert_eq!(config.servers.len(), 2);
/// assert_eq!(
///     config.problems[0].to_string(),
///     r#"mcp.json:3:53: server "docs": unknown key "timeot", did you mean "timeout"?"#,
/// );
/// # Ok::<(), switchboard_hub::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Config {
    /// The servers that can be used, in the order of the file.
    pub servers: Vec<ServerConfig>,
    /// The names of those that cannot.
    pub broken: Vec<String>,
    /// All that is wrong or odd, in the order of the file.
    pub problems: Vec<Problem>,
    /// In whose words it is written.
    pub dialect: Dialect,
    /// The key under which the servers are, if there is one: `mcpServers`, `mcp.servers`.
    pub container: Option<&'static str>,
    /// What people are to be asked for, by those who have people to ask.
    pub inputs: Vec<InputConfig>,
    /// What stands under `x-switchboard` at the top.
    pub settings: HubSettings,
    /// What else stands at the top.
    pub unknown: UnknownKeys,
}

/// Settings of all servers together. What is not said is as usual.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HubSettings {
    /// How names of tools are made: `mcp__server__tool` or `server__tool`.
    pub prefix: Option<Prefix>,
    /// How long names of tools may be.
    pub longest_name: Option<usize>,
    /// How many servers are started together.
    pub starts_together: Option<usize>,
    /// Named parts of what the servers offer.
    pub profiles: Vec<Profile>,
    /// What is said about serving the servers as one.
    pub gateway: GatewaySettings,
    /// The lock that is required, beginning at the folder of the file. None: none is.
    pub lock: Option<PathBuf>,
    /// What else is there.
    pub unknown: UnknownKeys,
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// When it is not JSON, or no object. Everything else that is wrong is in
    /// [`problems`](Self::problems).
    pub fn read(text: &str, origin: &Origin) -> Result<Self, ConfigError> {
        let file = || Arc::clone(&origin.name);
        if text.len() > LARGEST {
            return Err(ConfigError::TooLarge {
                file: file(),
                limit: LARGEST,
            });
        }
        // Editors of Windows put a mark in front.
        let page = Page::new(text.strip_prefix('\u{feff}').unwrap_or(text))
            .with_places(origin.places.clone());
        let value = page
            .parse()
            .map_err(|(position, fault)| ConfigError::Syntax {
                file: file(),
                position,
                fault,
            })?;
        let not_an_object = |offset, found| ConfigError::NotAnObject {
            file: file(),
            position: page.position(offset),
            found,
        };
        let root = match &value {
            Some(Value::Object(root)) => root,
            Some(other) => return Err(not_an_object(other.range().start, kind(other))),
            None => return Err(not_an_object(0, "nothing")),
        };
        let found = container::find(root, origin.dialect);
        let guessed = found.as_ref().map(container::Container::dialect);
        let container = found.map(|found| found.key());
        let dialect = origin.dialect.or(guessed).unwrap_or_default();
        let grammar = Grammar::new(dialect, origin.folder.clone());
        let sheet = Sheet::new(page, file(), grammar);
        let container::Found {
            servers,
            broken,
            inputs,
            settings,
            unknown,
        } = container::read(&sheet, root);
        Ok(Self {
            servers,
            broken,
            problems: sheet.into_problems(),
            dialect,
            container,
            inputs,
            settings,
            unknown,
        })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When there is none, or as for [`read`](Self::read).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let (text, origin) = text_of(path.as_ref())?;
        Self::read(&text, &origin)
    }

    /// The server of a name.
    pub fn server(&self, name: &str) -> Option<&ServerConfig> {
        self.servers.iter().find(|server| server.name == name)
    }

    /// What cannot be used, and why.
    pub fn errors(&self) -> impl Iterator<Item = &Problem> {
        let problems = self.problems.iter();
        problems.filter(|problem| problem.severity == Severity::Error)
    }
}

/// The text of a file, and where it comes from.
fn text_of(path: &Path) -> Result<(String, Origin), ConfigError> {
    let mut origin = Origin::file(path);
    // So that it stays the same wherever we go.
    if let Ok(folder) = origin.folder.iter().map(std::path::absolute).collect() {
        origin.folder = Some(folder);
    }
    let file = || Arc::clone(&origin.name);
    let bytes = read_file(path);
    let bytes = bytes.map_err(|source| ConfigError::File {
        file: file(),
        source,
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let good = error.as_bytes().get(..good).unwrap_or_default();
        let good = str::from_utf8(good).unwrap_or_default();
        let position = Page::new(good).position(good.len());
        ConfigError::NotText {
            file: file(),
            position,
        }
    })?;
    Ok((text, origin))
}

/// One more byte than there may be tells that there are too many.
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(LARGEST as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

// Claude Code keeps its whole history in the file that has the servers.
const LARGEST: usize = 32 * 1024 * 1024;
