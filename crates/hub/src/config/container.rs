//! Where in a file the servers are.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use serde_json::Map;

use super::HubSettings;
use super::field::{Field, json, kind};
use super::gateway::{self, GatewaySettings};
use super::input::{self, InputConfig};
use super::members::Members;
use super::origin::Dialect;
use super::problem::{ProblemKind, Severity};
use super::server::{self, EXTRAS, ServerConfig};
use super::sheet::Sheet;
use super::unknown::UnknownKeys;
use crate::exposed_name::Prefix;
use crate::lock::LOCK_FILE;
use crate::near::nearest;
use crate::policy::Pattern;

/// What was found at the top.
pub(super) struct Found {
    pub(super) servers: Vec<ServerConfig>,
    pub(super) broken: Vec<String>,
    pub(super) inputs: Vec<InputConfig>,
    pub(super) settings: HubSettings,
    pub(super) unknown: UnknownKeys,
}

/// The servers of a file, and under which key.
pub(super) struct Container<'v, 'a> {
    key: &'static str,
    property: &'v ObjectProp<'a>,
    value: &'v Value<'a>,
}

/// Finds them. The first of several keys counts.
pub(super) fn find<'v, 'a>(
    root: &'v Object<'a>,
    dialect: Option<Dialect>,
) -> Option<Container<'v, 'a>> {
    all(root, dialect).into_iter().next()
}

fn all<'v, 'a>(root: &'v Object<'a>, dialect: Option<Dialect>) -> Vec<Container<'v, 'a>> {
    let member = |key: &str| {
        let mut members = root.properties.iter();
        members.find(|member| member.name.as_str() == key)
    };
    let mut found = Vec::new();
    // Words of TOML and YAML files, which other files have for other things.
    let own = match dialect {
        Some(Dialect::Codex) => Some("mcp_servers"),
        Some(Dialect::Goose) => Some("extensions"),
        _ => None,
    };
    for key in own.into_iter().chain(CONTAINERS) {
        if let Some(property) = member(key) {
            let value = &property.value;
            found.push(Container {
                key,
                property,
                value,
            });
        }
    }
    // OpenCode has servers under `mcp`, older settings of VS Code have them one deeper, and
    // those of Gemini have none there but switches.
    if let Some(property) = member("mcp")
        && let Value::Object(object) = &property.value
    {
        let mut members = object.properties.iter();
        let inner = members.find(|member| member.name.as_str() == "servers");
        let is_server = |member: &ObjectProp<'_>| matches!(member.value, Value::Object(_));
        let has_servers = object.properties.iter().all(is_server)
            && (found.is_empty() || !object.properties.is_empty());
        match inner {
            Some(inner) => found.push(Container {
                key: "mcp.servers",
                property,
                value: &inner.value,
            }),
            None if has_servers => found.push(Container {
                key: "mcp",
                property,
                value: &property.value,
            }),
            None => {}
        }
    }
    found
}

impl<'a> Container<'_, 'a> {
    /// Where they are.
    pub(super) const fn key(&self) -> &'static str {
        self.key
    }

    /// What the servers stand in.
    fn beside<'o>(&'o self, root: &'o Object<'a>) -> &'o Object<'a> {
        match (self.key, &self.property.value) {
            ("mcp.servers", Value::Object(object)) => object,
            _ => root,
        }
    }

    /// In whose words it is written, as far as it can be told from what is there.
    pub(super) fn dialect(&self) -> Dialect {
        match (self.key, self.value) {
            ("context_servers", _) => Dialect::Zed,
            ("mcp", _) => Dialect::OpenCode,
            (_, Value::Object(servers)) if servers.properties.iter().any(is_of_gemini) => {
                Dialect::Gemini
            }
            _ => Dialect::Standard,
        }
    }
}

/// Nobody else has this key.
fn is_of_gemini(server: &ObjectProp<'_>) -> bool {
    let Value::Object(server) = &server.value else {
        return false;
    };
    let mut members = server.properties.iter();
    members.any(|member| member.name.as_str() == "httpUrl")
}

/// Reads everything.
pub(super) fn read(sheet: &Sheet<'_>, root: &Object<'_>) -> Found {
    let containers = all(root, Some(sheet.grammar.dialect));
    let mut found = Found {
        servers: Vec::new(),
        broken: Vec::new(),
        inputs: Vec::new(),
        settings: HubSettings::default(),
        unknown: UnknownKeys(rest(root, &containers)),
    };
    let mut members = root.properties.iter();
    let extras = members.find(|member| member.name.as_str() == EXTRAS);
    let extras = extras.map(|member| Field::new(sheet, "", member));
    if let Some(mut extras) = extras.as_ref().and_then(Field::object) {
        found.settings.read(&mut extras);
        extras.keep_rest();
        // At the top there is nothing but this key to take from.
        found.settings.unknown = match sheet.take_kept().remove(EXTRAS) {
            Some(serde_json::Value::Object(rest)) => UnknownKeys(rest),
            _ => UnknownKeys::default(),
        };
    }
    let mut containers = containers.iter();
    let Some(container) = containers.next() else {
        let keys = root.properties.iter().map(|member| member.name.as_str());
        let near = keys
            .into_iter()
            .find(|key| !nearest(key, CONTAINERS).is_empty());
        let near = near.map(str::to_owned);
        sheet.warn(root.range.start, ProblemKind::NoServers { near });
        return found;
    };
    check_once(sheet, root, container);
    found.inputs = input::read(sheet, container.beside(root));
    for other in containers {
        let (read, other_key) = (container.key, other.key);
        let kind = ProblemKind::SecondContainer {
            read,
            other: other_key,
        };
        sheet.warn(other.property.range.start, kind);
    }
    match container.value {
        Value::Object(servers) => read_servers(sheet, servers, &mut found),
        other => {
            let kind = ProblemKind::WrongType {
                key: container.key.to_owned(),
                expected: "an object",
                found: kind(other),
            };
            sheet.error(other.range().start, kind);
        }
    }
    if sheet.grammar.dialect == Dialect::OpenCode {
        deny_tools(root, &mut found.servers);
    }
    let disabled = switched_off(root);
    for server in &mut found.servers {
        server.is_enabled &= !disabled(&server.name);
    }
    found
}

/// Others may have a key twice at the top, but not where the servers are.
fn check_once(sheet: &Sheet<'_>, root: &Object<'_>, container: &Container<'_, '_>) {
    let first = container.property;
    let same = root.properties.iter().find(|member| {
        member.name.as_str() == first.name.as_str() && member.range.start > first.range.start
    });
    if let Some(same) = same {
        let kind = ProblemKind::DuplicateKey {
            key: first.name.as_str().to_owned(),
            first: sheet.page.position(first.range.start),
        };
        sheet.error(same.range.start, kind);
    }
}

fn read_servers(sheet: &Sheet<'_>, servers: &Object<'_>, found: &mut Found) {
    let mut names: HashMap<&str, usize> = HashMap::new();
    for member in &servers.properties {
        let (name, at) = (member.name.as_str(), member.range.start);
        sheet.about(Some(name));
        if let Some(first) = names.get(name) {
            let first = sheet.page.position(*first);
            sheet.error(at, ProblemKind::DuplicateServer { first });
            continue;
        }
        names.insert(name, at);
        if let Some(kind) = part_of_goose(sheet, &member.value) {
            let what = kind.to_owned();
            sheet.report(Severity::Note, at, ProblemKind::Unsupported { what });
            continue;
        }
        let errors = sheet.errors();
        if !server::is_name(name) {
            sheet.error(at, ProblemKind::BadName);
        }
        let read = match &member.value {
            Value::Object(object) => server::read(sheet, name, at, object),
            other => {
                let kind = ProblemKind::WrongType {
                    key: String::new(),
                    expected: "an object",
                    found: kind(other),
                };
                sheet.error(other.range().start, kind);
                None
            }
        };
        match read {
            Some(server) if sheet.errors() == errors => found.servers.push(server),
            _ => found.broken.push(name.to_owned()),
        }
    }
    sheet.about(None);
}

/// Goose lists what is built into it beside its servers, under a type of its own.
fn part_of_goose<'v>(sheet: &Sheet<'_>, value: &'v Value<'_>) -> Option<&'v str> {
    if sheet.grammar.dialect != Dialect::Goose {
        return None;
    }
    let mut members = value.as_object()?.properties.iter();
    let kind = members.find(|member| member.name.as_str() == "type")?;
    let kind: &str = &kind.value.as_string_lit()?.value;
    ["builtin", "platform", "frontend", "inline_python"]
        .contains(&kind)
        .then_some(kind)
}

/// Names that are switched off beside the servers: by Gemini under `mcp`, by Claude Code in a
/// list.
fn switched_off(root: &Object<'_>) -> impl Fn(&str) -> bool {
    let list = |object: &Object<'_>, key: &str| -> Option<HashSet<String>> {
        let mut members = object.properties.iter();
        let member = members.find(|member| member.name.as_str() == key)?;
        let items = member.value.as_array()?.elements.iter();
        let texts = items.filter_map(|item| item.as_string_lit());
        Some(texts.map(|text| text.value.clone().into_owned()).collect())
    };
    let mut members = root.properties.iter();
    let mcp = members.find(|member| member.name.as_str() == "mcp");
    let mcp = mcp.and_then(|member| member.value.as_object());
    let allowed = mcp.and_then(|mcp| list(mcp, "allowed"));
    let mut excluded = mcp
        .and_then(|mcp| list(mcp, "excluded"))
        .unwrap_or_default();
    excluded.extend(list(root, "disabledMcpServers").unwrap_or_default());
    move |name| {
        let is_left_out = |allowed: &HashSet<String>| !allowed.contains(name);
        excluded.contains(name) || allowed.as_ref().is_some_and(is_left_out)
    }
}

/// OpenCode switches tools off beside the servers: `server_tool`, with stars.
fn deny_tools(root: &Object<'_>, servers: &mut [ServerConfig]) {
    let mut members = root.properties.iter();
    let tools = members.find(|member| member.name.as_str() == "tools");
    let Some(Value::Object(tools)) = tools.map(|member| &member.value) else {
        return;
    };
    for tool in &tools.properties {
        let is_off = matches!(&tool.value, Value::BooleanLit(boolean) if !boolean.value);
        if !is_off {
            continue;
        }
        for server in &mut *servers {
            let rest = tool.name.as_str().strip_prefix(&server.name);
            let pattern = match rest {
                // All of them, and of those whose names begin alike.
                Some("*") => "*",
                Some(rest) => rest.strip_prefix('_').unwrap_or_default(),
                None => "",
            };
            if !pattern.is_empty() {
                server.tools.deny.push(Pattern::from(pattern));
            }
        }
    }
}

/// Everything at the top but the servers and our own key.
fn rest(root: &Object<'_>, containers: &[Container<'_, '_>]) -> Map<String, serde_json::Value> {
    let read = containers.first().map(|container| container.property.range);
    let members = root.properties.iter();
    let others =
        members.filter(|member| Some(member.range) != read && member.name.as_str() != EXTRAS);
    others
        .map(|member| (member.name.as_str().to_owned(), json(&member.value)))
        .collect()
}

impl HubSettings {
    fn read(&mut self, extras: &mut Members<'_, '_>) {
        let prefix = extras.take(&["prefix"]);
        self.prefix = prefix.as_ref().and_then(|prefix| {
            let meaning = |word: &str| match word {
                "mcp__server__tool" => Some(Prefix::Mcp),
                "server__tool" => Some(Prefix::Server),
                _ => None,
            };
            prefix.word("mcp__server__tool or server__tool", meaning)
        });
        let longest = extras.take(&["maxToolName"]);
        self.longest_name = longest.as_ref().and_then(|longest| {
            let length = longest.size()?;
            if !(32..=128).contains(&length) {
                longest.wrong_value("a number from 32 to 128");
                return None;
            }
            Some(length)
        });
        let together = extras.take(&["startsTogether"]);
        self.starts_together = together.as_ref().and_then(Field::size);
        let profiles = extras.take(&["profiles"]);
        let profiles = profiles.as_ref().and_then(Field::object);
        self.profiles = profiles.as_ref().map(gateway::profiles).unwrap_or_default();
        let gateway = extras.take(&["gateway"]);
        let gateway = gateway.as_ref().and_then(Field::object);
        self.gateway = gateway.map(GatewaySettings::read).unwrap_or_default();
        let lock = extras.take(&["lock"]);
        self.lock = lock.as_ref().and_then(|lock| match lock.value {
            Value::BooleanLit(required) => required.value.then(|| PathBuf::from(LOCK_FILE)),
            Value::StringLit(path) if !path.value.is_empty() => Some(PathBuf::from(&*path.value)),
            // What was meant to be safe is not left open.
            _ => {
                lock.wrong_value("true, false or the path of a lock");
                Some(PathBuf::from(LOCK_FILE))
            }
        });
    }
}

const CONTAINERS: [&str; 3] = ["mcpServers", "servers", "context_servers"];
