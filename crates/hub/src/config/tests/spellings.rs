//! The same servers in the words of every product.

use std::time::Duration;

use switchboard_client::{Mode, Revision};

use super::*;
use crate::policy::ToolFilter;
use crate::variables::Template;

/// A file of some product, and what must come out: a line for each server.
fn check(product: &str, origin: &Origin, text: &str, expected: &[&str]) {
    let config = read_from(text, origin);
    let lines: Vec<String> = config.servers.iter().map(line).collect();
    assert_eq!(lines, expected, "{product}");
    assert_eq!(texts(&config), Vec::<String>::new(), "{product}");
    assert!(config.broken.is_empty(), "{product}");
}

/// Everything about the transport of a server.
fn line(server: &ServerConfig) -> String {
    let mut line = format!("{} {}", server.name, server.transport.word());
    if let TransportConfig::Stdio(stdio) = &server.transport {
        line += &format!(" {}", stdio.command);
        for argument in &stdio.args {
            line += &format!(" {argument}");
        }
        for (name, value) in &stdio.env {
            match value {
                Some(value) => line += &format!(" {name}={value}"),
                None => line += &format!(" -{name}"),
            }
        }
        if let Some(file) = &stdio.env_file {
            line += &format!(" <{file}");
        }
        if let Some(cwd) = &stdio.cwd {
            line += &format!(" @{cwd}");
        }
    } else {
        let http = http(server);
        line += &format!(" {}", http.url);
        for (name, value) in &http.headers {
            line += &format!(" {name}: {value}");
        }
        match &http.auth {
            AuthConfig::Auto => {}
            AuthConfig::None => line += " no login",
            AuthConfig::Bearer(token) => line += &format!(" bearer {token}"),
            AuthConfig::OAuth(oauth) => {
                let id = oauth.client_id.as_ref().map(Template::to_string);
                let secret = oauth.client_secret.as_ref().map(Template::to_string);
                let scopes = oauth.scopes.join("+");
                line += &format!(" oauth {id:?} {secret:?} {scopes}");
            }
        }
    }
    line
}

const URL: &str = "https://example.com/mcp";

#[test]
fn the_canonical_form() {
    check(
        "Claude Code",
        &Origin::file("/shop/.mcp.json"),
        r#"{ "mcpServers": {
            "git":  { "type": "stdio", "command": "uvx", "args": ["mcp-server-git"], "env": { "TOKEN": "${GIT_TOKEN}" } },
            "docs": { "type": "http", "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${DOCS_TOKEN:-none}" } } } }"#,
        &[
            "git stdio uvx mcp-server-git TOKEN=${GIT_TOKEN}",
            "docs http https://example.com/mcp Authorization: ***${DOCS_TOKEN:-***}",
        ],
    );
}

#[test]
fn claude_code_with_all_its_words() {
    check(
        "Claude Code",
        &Origin::file("/shop/.mcp.json"),
        r#"{ "mcpServers": {
            "a": { "type": "sse", "url": "https://example.com/sse", "timeout": 60000, "alwaysLoad": true },
            "b": { "type": "http", "url": "https://example.com/mcp",
                   "oauth": { "clientId": "me", "callbackPort": 8123, "scopes": "read write" } } } }"#,
        &[
            "a sse https://example.com/sse",
            "b http https://example.com/mcp oauth Some(\"me\") None read+write",
        ],
    );
}

#[test]
fn vs_code() {
    check(
        "VS Code",
        &Origin::file("/shop/.vscode/mcp.json"),
        r#"{"servers":{"git":{"type":"stdio","command":"uvx","args":["mcp-server-git"],"env":{"TOKEN":"${input:tok}","PORT":8080,"DEBUG":null},"envFile":"${workspaceFolder}/.env","dev":{"watch":"*"},"sandboxEnabled":true},
           "docs":{"type":"http","url":"https://example.com/mcp","oauth":{"clientId":"me","enterpriseManaged":false}}},
           "inputs":[{"type":"promptString","id":"tok","password":true}]}"#,
        &[
            "git stdio uvx mcp-server-git TOKEN=${input:tok} PORT=*** -DEBUG <${workspaceFolder}/.env",
            "docs http https://example.com/mcp oauth Some(\"me\") None ",
        ],
    );
    check(
        "VS Code, in its settings",
        &Origin::file("/home/me/settings.json"),
        r#"{ "editor.tabSize": 2, "mcp": { "servers": { "git": { "command": "uvx" } }, "inputs": [] } }"#,
        &["git stdio uvx"],
    );
}

#[test]
fn cursor() {
    check(
        "Cursor",
        &Origin::file("/shop/.cursor/mcp.json"),
        r#"{"mcpServers":{"git":{"command":"uvx","args":["mcp-server-git"],"env":{"TOKEN":"${env:GIT_TOKEN}"},"envFile":".env"},
           "docs":{"url":"https://example.com/mcp","auth":{"CLIENT_ID":"me","CLIENT_SECRET":"${env:S}","scopes":["read"]}}}}"#,
        &[
            "git stdio uvx mcp-server-git TOKEN=${env:GIT_TOKEN} <.env",
            "docs http https://example.com/mcp oauth Some(\"me\") Some(\"${env:S}\") read",
        ],
    );
}

#[test]
fn zed() {
    let text = r#"{"context_servers":{"git":{"source":"custom","command":"uvx","args":["mcp-server-git"],"env":{},"timeout":90},
        "old":{"command":{"path":"uvx","args":["x"],"env":{"A":"1"}},"settings":{}},
        "docs":{"url":"https://example.com/mcp","headers":{"X-Team":"blue"},"enabled":false}}, "theme": "One"}"#;
    let origin = Origin::file("/home/me/.config/zed/settings.json");
    check(
        "Zed",
        &origin,
        text,
        &[
            "git stdio uvx mcp-server-git",
            "old stdio uvx x A=***",
            "docs http https://example.com/mcp X-Team: ***",
        ],
    );
    let config = read_from(text, &origin);
    assert_eq!(
        config.servers[0].timeouts.call,
        Some(Duration::from_secs(90))
    );
    assert!(!config.servers[2].is_enabled);
    assert_eq!(config.unknown["theme"], "One");
}

#[test]
fn gemini() {
    let text = r#"{"mcpServers":{"git":{"command":"uvx","args":["mcp-server-git"],"env":{"TOKEN":"$GIT_TOKEN"},"excludeTools":["git_push"],"includeTools":["git_*"],"trust":true,"timeout":600000},
        "docs":{"httpUrl":"https://example.com/mcp"},"old":{"url":"https://example.com/sse"}},
        "mcp":{"allowed":["git","docs"],"excluded":["docs"]}}"#;
    let expected = [
        "git stdio uvx mcp-server-git TOKEN=$GIT_TOKEN",
        "docs http https://example.com/mcp",
        "old sse https://example.com/sse",
    ];
    for origin in [
        Origin::file("/shop/.gemini/settings.json"),
        Origin::text("pasted"),
    ] {
        check("Gemini", &origin, text, &expected);
        let config = read_from(text, &origin);
        let [git, docs, old] = &config.servers[..] else {
            panic!()
        };
        assert_eq!(git.tools, ToolFilter::deny(["git_push"]).allow(["git_*"]));
        assert_eq!(git.timeouts.call, Some(Duration::from_secs(600)));
        assert_eq!(git.unknown["trust"], true);
        assert_eq!(
            [git, docs, old].map(|server| server.is_enabled),
            [true, false, false]
        );
    }
}

#[test]
fn open_code() {
    let text = r#"{"$schema":"https://opencode.ai/config.json","mcp":{
        "git":{"type":"local","command":["uvx","mcp-server-git"],"environment":{"TOKEN":"{env:GIT_TOKEN}"},"timeout":5000},
        "docs":{"type":"remote","url":"https://example.com/mcp","oauth":false,"enabled":false}},"tools":{"git_*":false}}"#;
    let expected = [
        "git stdio uvx mcp-server-git TOKEN={env:GIT_TOKEN}",
        "docs http https://example.com/mcp no login",
    ];
    for origin in [Origin::file("opencode.json"), Origin::text("pasted")] {
        check("OpenCode", &origin, text, &expected);
        let config = read_from(text, &origin);
        assert_eq!(
            config.servers[0].timeouts.list,
            Some(Duration::from_secs(5))
        );
        assert!(!config.servers[1].is_enabled);
        assert_eq!(config.servers[0].tools, ToolFilter::deny(["*"]));
        assert_eq!(config.servers[1].tools, ToolFilter::default());
    }
}

#[test]
fn windsurf_copilot_kiro() {
    check(
        "Windsurf",
        &Origin::file("/home/me/.codeium/windsurf/mcp_config.json"),
        r#"{"mcpServers":{"docs":{"serverUrl":"https://example.com/mcp","headers":{"A":"${env:T}"},"disabled":false,"disabledTools":["x"]}}}"#,
        &["docs http https://example.com/mcp A: ${env:T}"],
    );
    check(
        "Copilot",
        &Origin::file("/home/me/.copilot/mcp-config.json"),
        r#"{"mcpServers":{"git":{"type":"local","command":"uvx","args":["x"],"tools":["*"],"deferTools":"auto","cwd":"~/x"}}}"#,
        &["git stdio uvx x @~/x"],
    );
    check(
        "Kiro",
        &Origin::file("/shop/.kiro/settings/mcp.json"),
        r#"{"mcpServers":{"git":{"command":"uvx","args":["x"],"env":{"A":"${A}"},"disabled":true,"autoApprove":["*"],"disabledTools":["y"],"timeout":60000}}}"#,
        &["git stdio uvx x A=${A}"],
    );
}

#[test]
fn cline_roo_inspector_mcporter() {
    let check_time = |origin: Origin, text: &str, expected: &str, seconds| {
        check("", &origin, text, &[expected]);
        let config = read_from(text, &origin);
        assert_eq!(
            config.servers[0].timeouts.call,
            Some(Duration::from_secs(seconds)),
            "{expected}"
        );
    };
    check_time(
        Origin::file("/x/cline_mcp_settings.json"),
        r#"{"mcpServers":{"a":{"url":"https://example.com/mcp","disabled":false,"autoApprove":[],"timeout":60}}}"#,
        "a sse https://example.com/mcp",
        60,
    );
    check_time(
        Origin::file("/x/cline_mcp_settings.json"),
        r#"{"mcpServers":{"a":{"type":"streamableHttp","url":"https://example.com/mcp","timeout":60}}}"#,
        "a http https://example.com/mcp",
        60,
    );
    check_time(
        Origin::file("/shop/.roo/mcp.json"),
        r#"{"mcpServers":{"a":{"type":"streamable-http","url":"https://example.com/mcp","alwaysAllow":["x"],"timeout":60}}}"#,
        "a http https://example.com/mcp",
        60,
    );
    check_time(
        Origin::file("/home/me/.mcp-inspector/mcp.json"),
        r#"{"mcpServers":{"a":{"type":"stdio","command":"x","cwd":"/y","protocolEra":"legacy","connectionTimeout":9000,"requestTimeout":7000,"roots":[],"metadata":{}}}}"#,
        "a stdio x @/y",
        7,
    );
    check(
        "mcporter",
        &Origin::file("config/mcporter.json"),
        r#"{"mcpServers":{"a":{"baseUrl":"https://example.com/mcp","auth":"oauth","allowedTools":["x"],"lifecycle":"keep-alive","protocolVersion":"2025-06-18"},
            "b":{"command":["npx","-y","x"],"blockedTools":["y"],"env":{"A":"$env:A"}},
            "c":{"url":"https://example.com/mcp","bearerTokenEnv":"TOKEN"}},"imports":[]}"#,
        &[
            "a http https://example.com/mcp oauth None None ",
            "b stdio npx -y x A=$env:A",
            "c http https://example.com/mcp bearer ${env:TOKEN}",
        ],
    );
}

#[test]
fn every_word_for_a_transport() {
    for word in ["stdio", "local", "command"] {
        assert_eq!(
            one(&format!(r#"{{"type":"{word}","command":"x"}}"#))
                .transport
                .word(),
            "stdio"
        );
    }
    for word in [
        "http",
        "streamable-http",
        "streamableHttp",
        "streamable_http",
        "remote",
    ] {
        for key in ["type", "transport"] {
            let server = one(&format!(r#"{{"{key}":"{word}","url":"{URL}"}}"#));
            assert_eq!(server.transport.word(), "http");
        }
    }
    assert_eq!(
        one(&format!(r#"{{"type":"sse","url":"{URL}"}}"#))
            .transport
            .word(),
        "sse"
    );
    assert_eq!(
        one(&format!(r#"{{"url":"{URL}"}}"#)).transport.word(),
        "http"
    );
}

#[test]
fn the_shapes_of_document_002() {
    let auth = |auth: &str| {
        let server = one(&format!(r#"{{"type":"http","url":"{URL}","auth":{auth}}}"#));
        http(&server).auth.clone()
    };
    assert_eq!(auth("null"), AuthConfig::Auto);
    assert_eq!(auth(r#"{"type":"none"}"#), AuthConfig::None);
    assert_eq!(auth(r#""none""#), AuthConfig::None);
    let token = Template::parse("your-token-here");
    assert_eq!(
        auth(r#"{"type":"bearer","token":"your-token-here"}"#),
        AuthConfig::Bearer(token)
    );
    let AuthConfig::OAuth(oauth) = auth(
        r#"{"type":"oauth","clientId":"client-id","clientSecret":"client-secret","tokenUrl":"https://oauth.example.com/token","scopes":["read","write"]}"#,
    ) else {
        panic!()
    };
    assert!(oauth.is_machine);
    assert_eq!(oauth.scopes, ["read", "write"]);
    assert_eq!(
        oauth.token_url,
        Some(Template::parse("https://oauth.example.com/token"))
    );
    assert!(!format!("{oauth:?}").contains("client-secret"));

    let server = one(
        r#"{"command":"python","args":["-m","x"],"name":"Local MCP Server","autoConnect":false}"#,
    );
    assert_eq!(server.display_name.as_deref(), Some("Local MCP Server"));
    assert_eq!(server.start, Start::Lazy);
}

#[test]
fn our_own_words() {
    let server = one(
        r#"{ "command": "x", "required": true, "tools": ["read_*"], "disabledTools": ["a"], "timeout": "45s",
            "x-switchboard": { "share": "per-client", "idle": "10m", "start": "lazy", "era": "2025-11-25", "readOnly": true,
                "tools": { "allow": ["get_*"], "deny": ["*delete*"] }, "inherit": ["HTTPS_PROXY"],
                "timeouts": { "start": "2m", "total": "1h", "list": 20000, "probe": "1s", "question": "2s", "silence": "3s",
                    "farewell": "4s", "stop": { "obey": "5s", "terminate": "6s", "reap": "7s" } },
                "limits": { "message": "4MiB", "result": 65536, "calls": 8, "items": 500, "questions": 3, "rounds": 4,
                    "queued": "1MiB", "pages": 5, "listBytes": "2MiB", "restarts": 6 } } }"#,
    );
    assert!(server.is_required && server.is_read_only && server.is_enabled);
    assert_eq!(server.sharing, Sharing::PerClient);
    assert_eq!(server.start, Start::Lazy);
    assert_eq!(server.mode, Mode::Pinned(Revision::V2025_11_25));
    assert_eq!(server.idle, Some(Duration::from_secs(600)));
    let tools = ToolFilter::deny(["a", "*delete*"]).allow(["get_*"]);
    assert_eq!(server.tools, tools);
    assert_eq!(stdio(&server).inherits, ["HTTPS_PROXY"]);
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let times = server.timeouts;
    assert_eq!(
        [times.start, times.call, times.total, times.list],
        [seconds(120), seconds(45), seconds(3600), seconds(20)]
    );
    let said = [times.probe, times.question, times.silence, times.farewell];
    assert_eq!(said, [1, 2, 3, 4].map(seconds));
    let stop = times.stop;
    let said = [stop.obey, stop.terminate, stop.reap];
    assert_eq!(said, [5, 6, 7].map(seconds));
    let limits = server.limits;
    let expected = [Some(4 << 20), Some(65536), Some(8), Some(500)];
    assert_eq!(
        [limits.message, limits.result, limits.calls, limits.items],
        expected
    );
    let expected = [Some(3), Some(4), Some(1 << 20), Some(5), Some(2 << 20)];
    let said = [limits.questions, limits.rounds, limits.queued, limits.pages];
    assert_eq!([&said[..], &[limits.list_bytes]].concat(), expected);
    assert_eq!(limits.restarts, Some(6));
    assert!(server.unknown.is_empty());

    let config = read(
        r#"{"mcpServers":{},"x-switchboard":{"prefix":"server__tool","maxToolName":48,"startsTogether":4,"themes":{"a":1}}}"#,
    );
    assert_eq!(config.settings.prefix, Some(crate::Prefix::Server));
    assert_eq!(config.settings.longest_name, Some(48));
    assert_eq!(config.settings.starts_together, Some(4));
    assert_eq!(config.settings.unknown["themes"]["a"], 1);
}

#[test]
fn a_lock_is_required_by_a_word_or_a_path() {
    let lock = |value: &str| {
        let config = read(&format!(
            r#"{{"mcpServers":{{}},"x-switchboard":{{"lock":{value}}}}}"#
        ));
        let path = config.settings.lock.as_ref().and_then(|path| path.to_str());
        (path.map(str::to_owned), config.problems.len())
    };
    let found = |path: &str, problems| (Some(path.to_owned()), problems);
    assert_eq!(lock("true"), found("mcp.lock", 0));
    assert_eq!(lock("false"), (None, 0));
    assert_eq!(lock(r#""ci/mcp.lock""#), found("ci/mcp.lock", 0));
    // What was meant to be safe is not left open.
    assert_eq!(lock("1"), found("mcp.lock", 1));
    assert_eq!(lock(r#""""#), found("mcp.lock", 1));
}

#[test]
fn what_nobody_knows_is_kept() {
    let config = read(
        r#"{ "mcpServers": { "it": { "command": "x", "autoApprove": ["*"], "weather": { "a": [1, null, "é", 1.50, 1e999] },
            "x-switchboard": { "colour": "red", "idle": "1m", "tools": { "hide": 1 } } }, "docs": { "url": "https://e.com", "oauth": { "clientId": "a", "enterpriseManaged": true } } }, "theme": { "dark": true } }"#,
    );
    let it = &config.servers[0];
    let kept = serde_json::to_string(&it.unknown.0).unwrap();
    assert_eq!(
        kept,
        r#"{"autoApprove":["*"],"weather":{"a":[1,null,"é",1.5,"1e999"]},"x-switchboard":{"colour":"red","tools":{"hide":1}}}"#
    );
    assert_eq!(
        config.servers[1].unknown["oauth"]["enterpriseManaged"],
        true
    );
    assert_eq!(config.unknown["theme"]["dark"], true);
    assert_eq!(
        texts(&config),
        [
            r#"mcp.json:1:65: server "it": unknown key "weather""#,
            r#"mcp.json:2:32: server "it": unknown key "x-switchboard.colour""#,
            r#"mcp.json:2:74: server "it": unknown key "x-switchboard.tools.hide""#,
        ]
    );
    assert!(
        config
            .problems
            .iter()
            .all(|problem| problem.severity == Severity::Note)
    );
}

#[test]
fn the_order_of_the_file_is_kept() {
    let config =
        read(r#"{"mcpServers":{"z":{"command":"x"},"a":{"command":"x"},"m":{"command":"x"}}}"#);
    let names: Vec<_> = config
        .servers
        .iter()
        .map(|server| server.name.as_str())
        .collect();
    assert_eq!(names, ["z", "a", "m"]);
    assert_eq!(config.server("m").unwrap().location.position.column, 56);
}
