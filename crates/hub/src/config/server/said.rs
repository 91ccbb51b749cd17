//! What is said about a server, in the words of every product.

use std::sync::Arc;
use std::time::Duration;

use jsonc_parser::ast::Object;
use switchboard_client::{Mode, Revision};

use super::{ServerConfig, Sharing, Start};
use crate::config::field::{Field, json};
use crate::config::members::Members;
use crate::config::origin::Dialect;
use crate::config::problem::ProblemKind;
use crate::config::sheet::Sheet;
use crate::config::transport::{self, StdioConfig, TransportConfig};
use crate::variables::Template;

/// Reads a server. None if something is wrong with it, which is reported then.
pub(in crate::config) fn read<'s, 'a>(
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
    // Even if that is wrong the rest is read, so that everything is said at once.
    let mut server = ServerConfig::new(
        name,
        TransportConfig::Stdio(StdioConfig::new(Template::literal(""))),
    );
    server.folder = sheet.grammar.folder.clone();
    server.location.file = Some(Arc::clone(&sheet.file));
    server.location.position = sheet.page.position(at);
    read_common(sheet, &mut members, &mut server);
    members.leave(LEFT_TO_HOSTS);
    for key in NOT_SUPPORTED {
        if let Some(field) = members.take(&[key]) {
            let what = field.key.clone();
            sheet.warn(field.at, ProblemKind::Unsupported { what });
            server
                .unknown
                .0
                .insert(field.name.to_owned(), json(field.value));
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
    // Where there are several, the first of these is meant for people.
    for key in ["displayName", "title", "name"] {
        let name = members.take(&[key]).as_ref().and_then(Field::text);
        let name = name.map(str::to_owned);
        server.display_name = server.display_name.take().or(name);
    }

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
        "available_tools",
    ];
    let tools = members.take_list("tools");
    let allow = members.take(&allow).or(tools);
    server.tools.allow = allow.as_ref().and_then(Field::patterns);
    if dialect == Dialect::Goose {
        // It writes the list always, and means all tools by an empty one.
        server.tools.allow = server.tools.allow.take().filter(|list| !list.is_empty());
    }
    let deny = [
        "blockedTools",
        "excludeTools",
        "disabledTools",
        "disabled_tools",
        "deniedTools",
    ];
    let deny = members.take(&deny).as_ref().and_then(Field::patterns);
    server.tools.deny = deny.unwrap_or_default();

    let time = |field: Option<Field<'_, '_>>| field.as_ref().and_then(Field::time);
    let timeout = time(members.take(&["timeout", "requestTimeout", "tool_timeout_sec"]));
    match dialect.means_listing() {
        true => server.timeouts.list = timeout,
        false => server.timeouts.call = timeout,
    }
    let start = ["connectionTimeout", "startupTimeout", "startup_timeout_sec"];
    server.timeouts.start = time(members.take(&start));
    if let Some(start) = members.take(&["startup_timeout_ms"]) {
        server.timeouts.start = start.own_time();
    }
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
        if let Some(allow) = tools.take(&["allow"]).as_ref().and_then(Field::patterns) {
            server.tools.allow = Some(allow);
        }
        let deny = tools.take(&["deny"]).as_ref().and_then(Field::patterns);
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
        set("probe", &mut server.timeouts.probe);
        set("question", &mut server.timeouts.question);
        set("silence", &mut server.timeouts.silence);
        set("farewell", &mut server.timeouts.farewell);
        if let Some(mut stop) = times.take(&["stop"]).as_ref().and_then(Field::object) {
            let mut time = |key| stop.take(&[key]).as_ref().and_then(Field::own_time);
            server.timeouts.stop.obey = time("obey");
            server.timeouts.stop.terminate = time("terminate");
            server.timeouts.stop.reap = time("reap");
            stop.keep_rest();
        }
        times.keep_rest();
    }
    if let Some(mut limits) = extras.take(&["limits"]).as_ref().and_then(Field::object) {
        let mut size = |key| limits.take(&[key]).as_ref().and_then(Field::size);
        server.limits.message = size("message");
        server.limits.result = size("result");
        server.limits.calls = size("calls");
        server.limits.questions = size("questions");
        server.limits.rounds = size("rounds");
        server.limits.queued = size("queued");
        server.limits.pages = size("pages");
        server.limits.items = size("items");
        server.limits.list_bytes = size("listBytes");
        server.limits.restarts = size("restarts");
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
pub(in crate::config) const EXTRAS: &str = "x-switchboard";

/// What hosts decide, show or do by themselves. A hub must not approve on a person's behalf.
const LEFT_TO_HOSTS: &[&str] = &[
    "advertisedExtensions",
    "alwaysAllow",
    "alwaysLoad",
    "autoApprove",
    "bundled",
    "default_tools_approval_mode",
    "deferTools",
    "description",
    "dev",
    "gallery",
    "icon",
    "iconPath",
    "id",
    "lifecycle",
    "metadata",
    "oauth_resource",
    "omit_tools_from",
    "remote",
    "roots",
    "sandbox",
    "sandboxEnabled",
    "settings",
    "source",
    "supports_parallel_tool_calls",
    "targetAudience",
    "trust",
    "version",
];

/// What makes a difference to a server and is not there yet.
const NOT_SUPPORTED: &[&str] = &[
    "authProviderType",
    "headersHelper",
    "http_headers_helper",
    "socket",
];
