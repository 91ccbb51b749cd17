//! One server of a configuration.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jsonc_parser::ast::Object;
use switchboard_client::{Mode, Revision};

use super::members::{Field, Members, Sheet};
use super::page::Position;
use super::problem::ProblemKind;
use super::transport::{self, HttpConfig, StdioConfig, TransportConfig};
use super::unknown::UnknownKeys;
use crate::variables::Template;

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
    pub tools: ToolLists,
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
    pub source: Source,
}

/// Where a server was read.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Source {
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

/// Which tools of a server are offered: patterns with `*` and `?`, as they were written. What is
/// denied is denied, even if it is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolLists {
    /// Only these. All, if there is no list; none, if it is empty.
    pub allow: Option<Vec<String>>,
    /// Not these.
    pub deny: Vec<String>,
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
    /// Items of one list.
    pub items: Option<usize>,
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

    /// With everything as usual.
    pub fn new(name: &str, transport: TransportConfig) -> Self {
        Self {
            name: name.to_owned(),
            display_name: None,
            transport,
            is_enabled: true,
            is_required: false,
            start: Start::default(),
            tools: ToolLists::default(),
            is_read_only: false,
            timeouts: ServerTimeouts::default(),
            limits: ServerLimits::default(),
            idle: None,
            sharing: Sharing::default(),
            mode: Mode::Auto,
            folder: None,
            unknown: UnknownKeys::default(),
            source: Source::default(),
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
            source: _,
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

/// Reads a server. None if something is wrong with it, which is reported then.
pub(super) fn read<'s, 'a>(
    sheet: &'s Sheet<'a>,
    name: &str,
    at: usize,
    object: &'s Object<'a>,
) -> Option<ServerConfig> {
    let errors = sheet.errors();
    let mut members = Members::new(sheet, String::new(), object);
    let extras = members.take(&[EXTRAS]);
    let mut extras = extras.as_ref().and_then(Field::object);
    let transport = transport::read(sheet, at, &mut members, extras.as_mut());
    let mut server = ServerConfig::new(
        name,
        TransportConfig::Stdio(StdioConfig::new(Template::literal(""))),
    );
    server.folder = sheet.grammar.folder.clone();
    server.source.file = Some(Arc::clone(&sheet.file));
    server.source.position = sheet.page.position(at);
    read_common(sheet, &mut members, &mut server);
    members.leave(LEFT_TO_HOSTS);
    for key in NOT_SUPPORTED {
        if let Some(field) = members.take(&[key]) {
            let what = field.key.clone();
            sheet.warn(field.at, ProblemKind::Unsupported { what });
            server
                .unknown
                .0
                .insert(field.name.to_owned(), super::members::json(field.value));
        }
    }
    if let Some(mut extras) = extras {
        read_extras(&mut extras, &mut server);
        extras.keep_rest();
    }
    members.keep_rest();
    server.unknown.0.extend(sheet.take_kept());
    server.transport = transport?;
    (sheet.errors() == errors).then_some(server)
}

/// What stands beside the transport, in the words of many products.
fn read_common(sheet: &Sheet<'_>, members: &mut Members<'_, '_>, server: &mut ServerConfig) {
    let dialect = sheet.grammar.dialect;
    let display_name = members.take(&["displayName", "name", "title"]);
    server.display_name = display_name
        .as_ref()
        .and_then(Field::text)
        .map(str::to_owned);

    let disabled = members.take(&["disabled"]);
    let enabled = members.take(&["enabled"]);
    let is_disabled = disabled.as_ref().and_then(Field::boolean);
    let is_enabled = enabled.as_ref().and_then(Field::boolean);
    server.is_enabled = is_enabled != Some(false) && is_disabled != Some(true);
    if let (Some(disabled), Some(enabled)) = (disabled, enabled)
        && is_disabled == is_enabled
    {
        // True and true, or false and false: not used is the careful one.
        let (one, other) = match is_disabled {
            Some(true) => (disabled, enabled),
            _ => (enabled, disabled),
        };
        let (at, one, other) = (other.at, one.key, other.key);
        sheet.warn(at, ProblemKind::Contradiction { one, other });
    }
    let boolean = |field: Option<Field<'_, '_>>| field.as_ref().and_then(Field::boolean);
    server.is_required = boolean(members.take(&["required"])).unwrap_or_default();
    if boolean(members.take(&["autoConnect", "auto_connect"])) == Some(false) {
        server.start = Start::Lazy;
    }

    let allow = [
        "allowedTools",
        "includeTools",
        "enabledTools",
        "enabled_tools",
    ];
    let tools = members.take_list("tools");
    let allow = members.take(&allow).or(tools);
    server.tools.allow = allow.as_ref().and_then(Field::texts);
    let deny = [
        "blockedTools",
        "excludeTools",
        "disabledTools",
        "disabled_tools",
        "deniedTools",
    ];
    let deny = members.take(&deny).as_ref().and_then(Field::texts);
    server.tools.deny = deny.unwrap_or_default();

    let time = |field: Option<Field<'_, '_>>| field.as_ref().and_then(Field::time);
    let timeout = time(members.take(&["timeout", "requestTimeout"]));
    match dialect.means_listing() {
        true => server.timeouts.list = timeout,
        false => server.timeouts.call = timeout,
    }
    server.timeouts.start = time(members.take(&["connectionTimeout", "startupTimeout"]));
    if let Some(mode) = members
        .take(&["protocolVersion", "protocolEra"])
        .as_ref()
        .and_then(read_mode)
    {
        server.mode = mode;
    }
}

/// What stands under our own key wins over what others have words for. Only denials add up.
fn read_extras(extras: &mut Members<'_, '_>, server: &mut ServerConfig) {
    if let Some(start) = extras.take(&["start"]) {
        let meaning = |word: &str| match word {
            "eager" => Some(Start::Eager),
            "lazy" => Some(Start::Lazy),
            _ => None,
        };
        server.start = start.word("eager or lazy", meaning).unwrap_or_default();
    }
    if let Some(share) = extras.take(&["share", "sharing"]) {
        let meaning = |word: &str| match word {
            "shared" => Some(Sharing::Shared),
            "per-client" => Some(Sharing::PerClient),
            _ => None,
        };
        server.sharing = share
            .word("shared or per-client", meaning)
            .unwrap_or_default();
    }
    if let Some(mode) = extras.take(&["era", "mode"]).as_ref().and_then(read_mode) {
        server.mode = mode;
    }
    let idle = extras.take(&["idle"]);
    server.idle = idle.as_ref().and_then(Field::own_time);
    if let Some(required) = extras.take(&["required"]).as_ref().and_then(Field::boolean) {
        server.is_required = required;
    }
    let read_only = extras.take(&["readOnly"]);
    server.is_read_only = read_only
        .as_ref()
        .and_then(Field::boolean)
        .unwrap_or_default();
    if let Some(name) = extras.take(&["displayName"]).as_ref().and_then(Field::text) {
        server.display_name = Some(name.to_owned());
    }
    if let Some(mut tools) = extras.take(&["tools"]).as_ref().and_then(Field::object) {
        if let Some(allow) = tools.take(&["allow"]).as_ref().and_then(Field::texts) {
            server.tools.allow = Some(allow);
        }
        let deny = tools.take(&["deny"]).as_ref().and_then(Field::texts);
        server.tools.deny.extend(deny.unwrap_or_default());
        tools.keep_rest();
    }
    if let Some(mut times) = extras.take(&["timeouts"]).as_ref().and_then(Field::object) {
        let mut set = |key, time: &mut Option<Duration>| {
            let said = times.take(&[key]).as_ref().and_then(Field::own_time);
            *time = said.or(*time);
        };
        set("start", &mut server.timeouts.start);
        set("call", &mut server.timeouts.call);
        set("total", &mut server.timeouts.total);
        set("list", &mut server.timeouts.list);
        times.keep_rest();
    }
    if let Some(mut limits) = extras.take(&["limits"]).as_ref().and_then(Field::object) {
        let mut size = |key| limits.take(&[key]).as_ref().and_then(Field::size);
        server.limits.message = size("message");
        server.limits.result = size("result");
        server.limits.calls = size("calls");
        server.limits.items = size("items");
        limits.keep_rest();
    }
}

fn read_mode(field: &Field<'_, '_>) -> Option<Mode> {
    field.word(
        "auto, legacy, modern, or a revision such as 2025-11-25",
        |word| match word {
            "auto" => Some(Mode::Auto),
            "legacy" => Some(Mode::Legacy),
            "modern" => Some(Mode::Pinned(Revision::LATEST)),
            _ => word.parse().ok().map(Mode::Pinned),
        },
    )
}

/// Our own key.
pub(super) const EXTRAS: &str = "x-switchboard";

const LONGEST_NAME: usize = 64;

/// What hosts decide, show or do by themselves. A hub must not approve on a person's behalf.
const LEFT_TO_HOSTS: &[&str] = &[
    "advertisedExtensions",
    "alwaysAllow",
    "alwaysLoad",
    "autoApprove",
    "deferTools",
    "description",
    "dev",
    "gallery",
    "icon",
    "iconPath",
    "id",
    "lifecycle",
    "metadata",
    "remote",
    "roots",
    "sandbox",
    "sandboxEnabled",
    "settings",
    "source",
    "targetAudience",
    "trust",
    "version",
];

/// What makes a difference to a server and is not there yet.
const NOT_SUPPORTED: &[&str] = &["authProviderType", "headersHelper"];

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
