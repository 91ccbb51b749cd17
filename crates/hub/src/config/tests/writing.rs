//! Servers written down and read again, and the words that files of TOML and YAML have.

use std::path::Path;
use std::time::Duration;

use super::*;

/// Written for a file in no folder in particular, it is read as the same server.
fn check(server: &str) {
    let before = one_of(server);
    let text = before.to_json(None);
    let after = one_of(&text);
    assert_eq!(after, before, "{server}\n{text}");
    assert_eq!(after.to_json(None), text, "{server}");
}

/// The only server of a text, whatever may be odd about it.
fn one_of(server: &str) -> ServerConfig {
    let config = read(&format!(r#"{{"mcpServers": {{"it": {server}}}}}"#));
    let mut servers = config.servers.into_iter();
    servers.next().unwrap_or_else(|| panic!("{server}"))
}

#[test]
fn what_is_written_is_read_as_the_same_server() {
    for server in [
        r#"{"command": "uvx", "args": ["a", "${B}", "$$c"], "env": {"A": "1", "B": null, "C": "${D:-e}"}}"#,
        r#"{"command": "./run", "cwd": "sub", "envFile": ".env", "inheritEnv": true, "disabled": true}"#,
        r#"{"command": "x", "x-switchboard": {"inherit": ["A"], "start": "lazy", "share": "per-client",
            "era": "legacy", "idle": "10m", "required": true, "readOnly": true, "displayName": "It",
            "tools": {"allow": ["a_*"], "deny": ["b"], "hide": 1}, "colour": "red",
            "timeouts": {"start": "1500ms", "call": "2s", "total": "1h", "list": 700, "probe": "1s", "question": "2m", "silence": "3m",
                "farewell": "4s", "stop": {"obey": "5s", "terminate": "6s", "reap": "7s", "gently": true}},
            "limits": {"message": "4MiB", "result": 9, "calls": 3, "items": 5, "questions": 2, "rounds": 6,
                "queued": 7, "pages": 8, "listBytes": "1KiB", "restarts": 9}}}"#,
        r#"{"command": "x", "timeout": 500, "x-switchboard": {"era": "2025-06-18"}}"#,
        r#"{"command": "x", "url": "https://example.com", "type": "stdio", "autoApprove": ["a"], "weather": {"x": [1.5]}}"#,
        r#"{"url": "https://example.com/mcp?k=v", "headers": {"X": "y ${Z}"}, "protocolVersion": "modern"}"#,
        r#"{"type": "sse", "url": "https://example.com/sse", "auth": "none", "timeout": 60000}"#,
        r#"{"url": "https://example.com", "oauth": {}}"#,
        r#"{"url": "https://example.com", "oauth": {"enabled": false, "clientId": "a"}}"#,
        r#"{"url": "https://example.com", "auth": {"type": "none", "colour": 1}}"#,
        r#"{"url": "https://example.com", "oauth": {"clientId": "a", "clientSecret": "${S}", "scope": "r w",
            "callbackPort": 80, "issuer": "https://i.example", "authServerMetadataUrl": "https://m.example", "enterpriseManaged": true}}"#,
        r#"{"url": "https://example.com", "oauth": {"clientId": "a", "clientSecret": "b",
            "tokenUrl": "https://t.example", "grantType": "client_credentials"}}"#,
        r#"{"url": "https://example.com", "headers": {"authorization": "x"}, "bearerToken": "${T}"}"#,
    ] {
        check(server);
    }
}

#[test]
fn a_token_is_written_as_the_header_that_every_host_knows() {
    let server = one(r#"{"url": "https://example.com", "bearerTokenEnv": "DOCS_TOKEN"}"#);
    assert_eq!(
        server.to_json(None),
        r#"{"type":"http","url":"https://example.com","headers":{"Authorization":"Bearer ${DOCS_TOKEN}"}}"#,
    );
}

#[test]
fn what_is_said_about_a_login_elsewhere_moves_along() {
    let server = one_of(
        r#"{"url": "https://example.com", "auth": {"CLIENT_ID": "a", "scopes": ["r"], "colour": 1}}"#,
    );
    assert_eq!(
        server.to_json(None),
        r#"{"type":"http","url":"https://example.com","oauth":{"clientId":"a","scopes":["r"],"colour":1}}"#,
    );
}

#[test]
fn paths_of_another_folder_are_written_out() {
    let text = r#"{"mcpServers": {"it": {"command": "./run", "args": ["${workspaceFolder}"], "envFile": "~/.env"}}}"#;
    let config = read_from(text, &Origin::file("/a/.mcp.json"));
    assert_eq!(
        config.servers[0].to_json(Some(Path::new("/b"))),
        r#"{"type":"stdio","command":"/a/./run","args":["/a"],"envFile":"~/.env","cwd":"/a"}"#,
    );
    assert_eq!(
        config.servers[0].to_json(Some(Path::new("/a"))),
        r#"{"type":"stdio","command":"./run","args":["${workspaceFolder}"],"envFile":"~/.env"}"#,
    );
}

#[test]
fn codex() {
    let text = r#"{"model": "x", "mcp_servers": {
        "git": {"command": "uvx", "args": ["${A}"], "env_vars": ["TOKEN", {"name": "B", "source": "local"}],
            "startup_timeout_sec": 60, "tool_timeout_sec": 1.5, "enabled": false, "required": true,
            "tools": {"push": {"approval_mode": "approve"}}},
        "docs": {"url": "https://example.com", "bearer_token_env_var": "T", "http_headers": {"A": "b"},
            "env_http_headers": {"C": "D"}, "enabled_tools": ["s"], "disabled_tools": ["x"], "startup_timeout_ms": 7000},
        "auth": {"url": "https://example.com", "scopes": ["r"]}}}"#;
    let config = read_from(text, &Origin::file("/a/.codex/config.toml"));
    assert_eq!(texts(&config), Vec::<String>::new());
    assert_eq!(config.container, Some("mcp_servers"));
    let [git, docs, auth] = &config.servers[..] else {
        panic!("{config:?}")
    };
    assert_eq!(git.timeouts.start, Some(Duration::from_secs(60)));
    assert_eq!(git.timeouts.call, Some(Duration::from_millis(1500)));
    assert_eq!(docs.timeouts.start, Some(Duration::from_secs(7)));
    assert_eq!(
        git.to_json(None),
        r#"{"type":"stdio","command":"uvx","args":["$${A}"],"disabled":true,"timeout":1500,"tools":{"push":{"approval_mode":"approve"}},"x-switchboard":{"inherit":["TOKEN","B"],"required":true,"timeouts":{"start":"60s"}}}"#,
    );
    assert_eq!(
        docs.to_json(None),
        r#"{"type":"http","url":"https://example.com","headers":{"A":"b","C":"${D}","Authorization":"Bearer ${T}"},"x-switchboard":{"tools":{"allow":["s"],"deny":["x"]},"timeouts":{"start":"7s"}}}"#,
    );
    assert_eq!(
        auth.to_json(None),
        r#"{"type":"http","url":"https://example.com","oauth":{"scopes":["r"]}}"#
    );
}

#[test]
fn goose() {
    let text = r#"{"GOOSE_MODEL": "x", "extensions": {
        "developer": {"type": "builtin", "name": "developer", "enabled": true},
        "git": {"type": "stdio", "name": "Git", "cmd": "uvx", "args": ["mcp-server-git"], "envs": {"A": "b"},
            "env_keys": ["TOKEN"], "timeout": 300, "enabled": true, "available_tools": [], "bundled": null},
        "docs": {"type": "streamable_http", "name": "docs", "uri": "https://example.com", "envs": {}, "env_keys": [],
            "headers": {"Authorization": "Bearer $T"}, "enabled": false, "available_tools": ["s"]}}}"#;
    let config = read_from(text, &Origin::file("/x/goose/config.yaml"));
    assert_eq!(
        texts(&config),
        [r#"/x/goose/config.yaml:2:9: server "developer": "builtin" is not supported here"#]
    );
    assert_eq!(config.errors().count(), 0);
    let written: Vec<String> = config.servers.iter().map(|it| it.to_json(None)).collect();
    assert_eq!(
        written,
        [
            r#"{"type":"stdio","command":"uvx","args":["mcp-server-git"],"env":{"A":"b"},"timeout":300000,"bundled":null,"x-switchboard":{"inherit":["TOKEN"],"displayName":"Git"}}"#,
            r#"{"type":"http","url":"https://example.com","headers":{"Authorization":"Bearer ${T}"},"disabled":true,"x-switchboard":{"displayName":"docs","tools":{"allow":["s"]}}}"#,
        ]
    );
}

#[test]
fn a_text_that_was_made_of_another_is_reported_there() {
    let text = "{\n\"mcpServers\": {\n\"a\": {\n\"comand\": \"x\"}}}";
    let places = [(1, 1), (1, 1), (7, 2), (9, 4)].map(|(line, column)| Position::new(line, column));
    let config = read_from(text, &Origin::text("a.toml").places(places));
    assert_eq!(
        texts(&config),
        [
            r#"a.toml:7:2: server "a": has neither a "command" nor a "url""#,
            r#"a.toml:9:4: server "a": unknown key "comand", did you mean "command"?"#,
        ]
    );
}
