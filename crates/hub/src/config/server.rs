//! One server of a configuration.
//!
//! How it is read is in `said`.

mod said;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_client::Mode;

use super::auth::AuthConfig;
use super::page::Position;
use super::transport::{HttpConfig, StdioConfig, TransportConfig};
use super::unknown::UnknownKeys;
use crate::policy::ToolFilter;
use crate::variables::Template;

pub(super) use said::{EXTRAS, read};

/// A server as it is configured. Two are equal if they say the same, wherever they stand.
///
/// ```
/// use switchboard_hub::ServerConfig;
///
/// let memory = ServerConfig::command("memory", ["npx", "-y", "@modelcontextprotocol/server-memory"]);
/// let docs = ServerConfig::url("docs", "https://mcp.example.com/mcp");
/// assert!(memory.is_enabled && docs.tools.allow.is_none());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Its name, by which it is told from others.
    pub name: String,
    /// What people are shown instead.
    pub display_name: Option<String>,
    /// How it is reached.
    pub transport: TransportConfig,
    /// Is it used at all?
    pub is_enabled: bool,
    /// Is nothing ready before this one is?
    pub is_required: bool,
    /// When it is started.
    pub start: Start,
    /// Which of its tools are offered.
    pub tools: ToolFilter,
    /// Only tools that say that they change nothing?
    pub is_read_only: bool,
    /// How long things may take.
    pub timeouts: ServerTimeouts,
    /// How much there may be of everything.
    pub limits: ServerLimits,
    /// After how long without a call it is stopped. Never, if none.
    pub idle: Option<Duration>,
    /// Who shares it.
    pub sharing: Sharing,
    /// Which revisions are spoken.
    pub mode: Mode,
    /// The folder that relative paths begin at, and that it runs in.
    pub folder: Option<PathBuf>,
    /// What else is there, under `x-switchboard` too.
    pub unknown: UnknownKeys,
    /// Where it was read. Not compared.
    pub location: Location,
}

/// Where a server was read.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Location {
    /// The file, as it was called. None for what was made by a program.
    pub file: Option<Arc<str>>,
    /// Where its name stands in it.
    pub position: Position,
}

/// When a server is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Start {
    /// With all others.
    #[default]
    Eager,
    /// When it is first needed.
    Lazy,
}

/// Who shares a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sharing {
    /// Everybody.
    #[default]
    Shared,
    /// Nobody: each client has its own.
    PerClient,
}

/// How long things may take. What is not said is as usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerTimeouts {
    /// From the start to the end of the handshake.
    pub start: Option<Duration>,
    /// A call without an answer or progress.
    pub call: Option<Duration>,
    /// A call in all.
    pub total: Option<Duration>,
    /// All pages of a list.
    pub list: Option<Duration>,
    /// The question for the era, before the handshake is tried too.
    pub probe: Option<Duration>,
    /// A question of the server that is with the host.
    pub question: Option<Duration>,
    /// A stream of the handshake era that is silent, before it is opened anew.
    pub silence: Option<Duration>,
    /// Ending a session.
    pub farewell: Option<Duration>,
    /// Ending a process.
    pub stop: StopTimeouts,
}

/// How long a process may take to end. What is not said is as usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StopTimeouts {
    /// By itself, after the end of its input.
    pub obey: Option<Duration>,
    /// After it was told to.
    pub terminate: Option<Duration>,
    /// After it was killed.
    pub reap: Option<Duration>,
}

/// How much there may be of everything. What is not said is as usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerLimits {
    /// Bytes of one message.
    pub message: Option<usize>,
    /// Bytes of one result of a tool.
    pub result: Option<usize>,
    /// Calls in flight together.
    pub calls: Option<usize>,
    /// Questions of the server that are open together.
    pub questions: Option<usize>,
    /// How often one call may come back for more input.
    pub rounds: Option<usize>,
    /// Bytes that wait for a server that does not read.
    pub queued: Option<usize>,
    /// Pages of one list.
    pub pages: Option<usize>,
    /// Items of one list.
    pub items: Option<usize>,
    /// Bytes of all pages of one list.
    pub list_bytes: Option<usize>,
    /// How often in a row it is started again by itself.
    pub restarts: Option<usize>,
}

impl ServerConfig {
    /// A program and its arguments, taken as they are.
    pub fn command<'a>(name: &str, words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut words = words.into_iter().map(Template::literal);
        let program = words.next().unwrap_or_else(|| Template::literal(""));
        let mut stdio = StdioConfig::new(program);
        stdio.args = words.collect();
        Self::new(name, TransportConfig::Stdio(stdio))
    }

    /// A URL, taken as it is.
    pub fn url(name: &str, url: &str) -> Self {
        let http = HttpConfig::new(Template::literal(url));
        Self::new(name, TransportConfig::Http(http))
    }

    /// Adds a variable for a program, taken as it is and never printed.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        if let TransportConfig::Stdio(stdio) = &mut self.transport {
            let value = Template::literal(value).secret();
            stdio.env.push((name.to_owned(), Some(value)));
        }
        self
    }

    /// Adds a header for a URL, taken as it is and never printed.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let TransportConfig::Http(http) | TransportConfig::Sse(http) = &mut self.transport {
            let value = Template::literal(value).secret();
            http.headers.push((name.to_owned(), value));
        }
        self
    }

    /// A token for a URL, taken as it is and never printed.
    #[must_use]
    pub fn bearer(mut self, token: &str) -> Self {
        if let TransportConfig::Http(http) | TransportConfig::Sse(http) = &mut self.transport {
            http.auth = AuthConfig::Bearer(Template::literal(token).secret());
        }
        self
    }

    /// Every text in which something may be filled in.
    pub fn templates(&self) -> Vec<&Template> {
        self.transport.templates()
    }

    /// With everything as usual.
    pub fn new(name: &str, transport: TransportConfig) -> Self {
        Self {
            name: name.to_owned(),
            display_name: None,
            transport,
            is_enabled: true,
            is_required: false,
            start: Start::default(),
            tools: ToolFilter::default(),
            is_read_only: false,
            timeouts: ServerTimeouts::default(),
            limits: ServerLimits::default(),
            idle: None,
            sharing: Sharing::default(),
            mode: Mode::Auto,
            folder: None,
            unknown: UnknownKeys::default(),
            location: Location::default(),
        }
    }
}

impl PartialEq for ServerConfig {
    fn eq(&self, other: &Self) -> bool {
        // Every field has its say, so that nobody forgets a new one.
        let Self {
            name,
            display_name,
            transport,
            is_enabled,
            is_required,
            start,
            tools,
            is_read_only,
            timeouts,
            limits,
            idle,
            sharing,
            mode,
            folder,
            unknown,
            location: _,
        } = self;
        *name == other.name
            && *display_name == other.display_name
            && *transport == other.transport
            && *is_enabled == other.is_enabled
            && *is_required == other.is_required
            && *start == other.start
            && *tools == other.tools
            && *is_read_only == other.is_read_only
            && *timeouts == other.timeouts
            && *limits == other.limits
            && *idle == other.idle
            && *sharing == other.sharing
            && *mode == other.mode
            && *folder == other.folder
            && *unknown == other.unknown
    }
}

impl Eq for ServerConfig {}

/// May a server be called this? 1 to 64 characters that can be seen; spaces only within.
pub(super) fn is_name(name: &str) -> bool {
    let length = name.chars().take(LONGEST_NAME + 1).count();
    if !(1..=LONGEST_NAME).contains(&length) || name.trim() != name {
        return false;
    }
    // The first of a text may not be a mark on the one before it.
    let shown = name.escape_debug().to_string();
    let mut plain = String::with_capacity(shown.len());
    for character in name.chars() {
        if matches!(character, '\\' | '"' | '\'') {
            plain.push('\\');
        }
        plain.push(character);
    }
    shown == plain
}

const LONGEST_NAME: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_seen() {
        for good in [
            "a",
            "my server",
            "a__b",
            "名前",
            "हिन्दी",
            "a\"b\\c",
            "é",
            &"x".repeat(64),
        ] {
            assert!(is_name(good), "{good:?}");
        }
        for bad in [
            "",
            " ",
            " a",
            "a ",
            "a\nb",
            "a\0",
            "\u{202e}a",
            "a\u{200b}b",
            &"x".repeat(65),
        ] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }
}
