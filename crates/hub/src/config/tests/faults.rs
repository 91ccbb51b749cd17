//! What is wrong, in exact words and at the exact place.

use super::*;

/// The problems of one server, without what stands before its key.
fn check(server: &str, expected: &[&str]) {
    let config = read(&format!(
        "{{\"mcpServers\":{{\n\"it\": {server},\n\"good\": {{\"command\": \"x\"}}\n}}}}"
    ));
    assert_eq!(texts(&config), expected, "{server}");
    assert!(config.server("good").is_some());
    let is_broken = config.errors().next().is_some();
    assert_eq!(
        config.broken,
        if is_broken { vec!["it"] } else { vec![] },
        "{server}"
    );
    assert_eq!(config.server("it").is_none(), is_broken, "{server}");
}

#[test]
fn a_misspelt_key_is_recognized() {
    check(
        r#"{"comand": "x", "arg": []}"#,
        &[
            r#"mcp.json:2:1: server "it": has neither a "command" nor a "url""#,
            r#"mcp.json:2:8: server "it": unknown key "comand", did you mean "command"?"#,
            r#"mcp.json:2:23: server "it": unknown key "arg", did you mean "args"?"#,
        ],
    );
    check(
        r#"{"command": "x", "x-switchbord": {}}"#,
        &[
            r#"mcp.json:2:24: server "it": unknown key "x-switchbord", did you mean "x-switchboard"?"#,
        ],
    );
    check(
        r#"{"command": "x", "x-switchboard": {"tools": {"denny": []}, "starts": "lazy"}}"#,
        &[
            r#"mcp.json:2:52: server "it": unknown key "x-switchboard.tools.denny", did you mean "deny"?"#,
            r#"mcp.json:2:66: server "it": unknown key "x-switchboard.starts", did you mean "start"?"#,
        ],
    );
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    check(
        "{\n  \"command\": 7,\n  \"args\": \"-y\",\n  \"env\": {\"A\": [], \"B=C\": \"\"},\n  \"timeout\": true,\n  \"disabled\": \"no\"\n}",
        &[
            r#"mcp.json:4:11: server "it": "args" expects a list, found a text"#,
            r#"mcp.json:5:16: server "it": "env.A" expects a text, or null to take it away, found a list"#,
            r#"mcp.json:5:20: server "it": "env.B" expects the name of a variable, without "=""#,
            r#"mcp.json:6:14: server "it": "timeout" expects a time, found true"#,
            r#"mcp.json:7:15: server "it": "disabled" expects true or false, found a text"#,
        ],
    );
}

#[test]
fn a_transport_must_be_clear() {
    check(
        "7",
        &[r#"mcp.json:2:7: server "it": expected an object, found a number"#],
    );
    check(
        "{}",
        &[r#"mcp.json:2:1: server "it": has neither a "command" nor a "url""#],
    );
    check(
        r#"{"command": "x", "url": "https://example.com"}"#,
        &[r#"mcp.json:2:24: server "it": has both "command" and "url", say which with "type""#],
    );
    check(
        r#"{"type": "stdio", "url": "https://example.com"}"#,
        &[r#"mcp.json:2:8: server "it": type "stdio" needs a "command""#],
    );
    check(
        r#"{"type": "sse", "command": "x"}"#,
        &[r#"mcp.json:2:8: server "it": type "sse" needs a "url""#],
    );
    check(
        r#"{"type": "htp", "url": "https://example.com"}"#,
        &[r#"mcp.json:2:16: server "it": "type" expects stdio, http, or sse, found "htp""#],
    );
    check(
        r#"{"type": "ws", "url": "wss://example.com"}"#,
        &[r#"mcp.json:2:16: server "it": "ws" is not supported here"#],
    );
    check(
        r#"{"url": "https://example.com", "serverUrl": "https://example.org"}"#,
        &[r#"mcp.json:2:38: server "it": "url" and "serverUrl" mean the same, keep one of them"#],
    );
    check(
        r#"{"command": "x", "type": "stdio", "transport": "stdio", "name": "a", "title": "b"}"#,
        &[r#"mcp.json:2:41: server "it": "type" and "transport" mean the same, keep one of them"#],
    );
    check(
        r#"{"type": "stdio", "command": "x", "url": "https://example.com", "headers": {}}"#,
        &[
            r#"mcp.json:2:41: server "it": "url" has no use here: it is for servers behind a URL"#,
            r#"mcp.json:2:71: server "it": "headers" has no use here: it is for servers behind a URL"#,
        ],
    );
    check(
        r#"{"url": "https://example.com", "env": {"A": "1"}}"#,
        &[r#"mcp.json:2:38: server "it": "env" has no use here: it is for programs"#],
    );
    check(
        r#"{"command": "npx -y thing"}"#,
        &[r#"mcp.json:2:19: server "it": "command" has spaces in it, arguments belong in "args""#],
    );
    check(r#"{"command": "/opt/my tools/run"}"#, &[]);
    check(
        r#"{"command": " "}"#,
        &[r#"mcp.json:2:19: server "it": "command" expects something, and is empty"#],
    );
    check(
        r#"{"command": []}"#,
        &[r#"mcp.json:2:19: server "it": "command" expects a program, and is empty"#],
    );
}

#[test]
fn a_url_must_be_one() {
    let url = |url: &str, reason: &str| {
        check(
            &format!(r#"{{"url": "{url}"}}"#),
            &[&format!(
                r#"mcp.json:2:15: server "it": "url" cannot be connected to: {reason}"#
            )],
        );
    };
    url(
        "example.com/?key=s3cret",
        "it does not begin with https:// or http://",
    );
    url(
        "https://me:s3cret@example.com/",
        "it has a user or a password in it, set a header instead",
    );
    url("https://", "it is no URL");
    url("https://exa mple/?s3cret", "it is no URL");
    url("unix:///run/x", "sockets and pipes are not supported here");
}

#[test]
fn values_are_checked() {
    check(
        r#"{"command": "x", "timeout": 30}"#,
        &[r#"mcp.json:2:35: server "it": "timeout" is 30 ms, write "30s" if seconds were meant"#],
    );
    let time = r#"a time such as "30s" or 30000, at least 1 ms and at most a year"#;
    for bad in ["\"soon\"", "0", "-1", "\"10 parsecs\""] {
        check(
            &format!(r#"{{"command": "x", "timeout": {bad}}}"#),
            &[&format!(
                r#"mcp.json:2:35: server "it": "timeout" expects {time}"#
            )],
        );
    }
    check(
        r#"{"command": "x", "x-switchboard": {"share": "per-call", "limits": {"calls": -1}, "era": "1900-01-01"}}"#,
        &[
            r#"mcp.json:2:51: server "it": "x-switchboard.share" expects shared or per-client, found "per-call""#,
            r#"mcp.json:2:83: server "it": "x-switchboard.limits.calls" expects a number above 0 or a size such as "4MiB", below 2 GiB"#,
            r#"mcp.json:2:95: server "it": "x-switchboard.era" expects auto, legacy, modern, or a revision such as 2025-11-25, found "1900-01-01""#,
        ],
    );
    check(
        r#"{"command": "x", "args": ["${x%y}", "${A}"]}"#,
        &[
            r#"mcp.json:2:33: server "it": "args[0]" holds what looks like a variable and is none, it stays as it is"#,
        ],
    );
    check(
        r#"{"command": "x", "disabled": true, "enabled": true}"#,
        &[
            r#"mcp.json:2:42: server "it": "disabled" and "enabled" say the opposite, "disabled" counts"#,
        ],
    );
    check(
        r#"{"command": "x", "disabled": false, "enabled": false}"#,
        &[
            r#"mcp.json:2:24: server "it": "enabled" and "disabled" say the opposite, "enabled" counts"#,
        ],
    );
    check(
        r#"{"url": "https://e.com", "headers": {"bad name": "x", "A": "1", "a": "2"}}"#,
        &[
            r#"mcp.json:2:44: server "it": "headers.bad name" expects the name of a header"#,
            r#"mcp.json:2:71: server "it": "headers.A" and "headers.a" mean the same, keep one of them"#,
        ],
    );
    check(
        r#"{"url": "https://e.com", "headersHelper": "x.sh"}"#,
        &[r#"mcp.json:2:32: server "it": "headersHelper" is not supported here"#],
    );
}

#[test]
fn logins_are_checked() {
    let auth = |auth: &str, expected: &[&str]| {
        let expected: Vec<_> = expected
            .iter()
            .map(|text| format!("mcp.json:{text}"))
            .collect();
        let expected: Vec<_> = expected.iter().map(String::as_str).collect();
        check(&format!(r#"{{"url": "https://e.com", {auth}}}"#), &expected);
    };
    auth(
        r#""auth": {"type": "basic"}"#,
        &[r#"2:49: server "it": "auth.type" expects none, bearer, or oauth, found "basic""#],
    );
    auth(
        r#""auth": {"type": "bearer"}"#,
        &[r#"2:40: server "it": "auth" expects a "token" with the type "bearer""#],
    );
    auth(r#""auth": "oauth", "oauth": {"clientId": "x"}"#, &[]);
    auth(
        r#""auth": {"token": ""}"#,
        &[r#"2:50: server "it": "auth.token" expects something, and is empty"#],
    );
    auth(
        r#""oauth": {"clientid": "x", "grant": "client_credentials"}"#,
        &[
            r#"2:42: server "it": unknown key "oauth.clientid", did you mean "clientId"?"#,
            r#"2:68: server "it": "oauth.grant" expects a client id and a client secret with client_credentials"#,
        ],
    );
    auth(
        r#""oauth": {"tokenUrl": "https://e.com/t"}"#,
        &[
            r#"2:42: server "it": "oauth.tokenUrl" has no use here: where a person logs in is asked of the server"#,
        ],
    );
    auth(
        r#""oauth": {"callbackPort": 99999}"#,
        &[r#"2:58: server "it": "oauth.callbackPort" expects a port from 0 to 65535"#],
    );
    auth(
        r#""bearerToken": "a", "auth": {"token": "b"}"#,
        &[r#"2:32: server "it": "auth" and "bearerToken" mean the same, keep one of them"#],
    );
}

#[test]
fn the_first_of_a_name_counts() {
    let config = read(
        "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"},\n  \"a\": {\"command\": \"y\"}\n}}",
    );
    assert_eq!(
        texts(&config),
        [
            r#"mcp.json:3:3: server "a": a server of this name is there already at 2:3, which counts"#
        ]
    );
    assert_eq!(config.servers.len(), 1);
    assert_eq!(stdio(&config.servers[0]).command.to_string(), "x");
    check(
        r#"{"command": "x", "env": {"A": "1", "A": "2"}, "command": "y"}"#,
        &[
            r#"mcp.json:2:42: server "it": "env.A" is there already at 2:32"#,
            r#"mcp.json:2:53: server "it": "command" is there already at 2:8"#,
        ],
    );
}

#[test]
fn a_name_must_be_one() {
    let config = read(
        "{\"mcpServers\": {\"\": {\"command\": \"x\"}, \"a\\u001b[2J\": {\"command\": \"x\"}, \"b__c d\": {\"command\": \"x\"}}}",
    );
    let bad = "the name of a server has 1 to 64 visible characters, and no space at its ends";
    assert_eq!(
        texts(&config),
        [
            format!(r#"mcp.json:1:17: server "": {bad}"#),
            format!(r#"mcp.json:1:39: server "a\u{{1b}}[2J": {bad}"#)
        ]
    );
    assert_eq!(config.servers.len(), 1);
}

#[test]
fn servers_must_be_somewhere() {
    let check = |text: &str, expected: &[&str]| assert_eq!(texts(&read(text)), expected, "{text}");
    check(
        "{}",
        &[r#"mcp.json:1:1: no servers found, expected them under "mcpServers""#],
    );
    check(
        r#"{"mcp_servers": {}}"#,
        &[r#"mcp.json:1:1: no servers found, expected them under "mcpServers", not "mcp_servers""#],
    );
    check(
        r#"{"mcpServers": []}"#,
        &[r#"mcp.json:1:16: "mcpServers" expects an object, found a list"#],
    );
    check(
        r#"{"servers": {}, "mcpServers": {}}"#,
        &[r#"mcp.json:1:2: servers under "servers" are not read, those under "mcpServers" are"#],
    );
    check(
        r#"{"mcpServers": {}, "inputs": [], "anything": 1, "inputs": 2}"#,
        &[],
    );
    check(r#"{"mcpServers": {}, "mcp": {}}"#, &[]);
    check(r#"{"mcpServers": {}, "mcp": {"serverCommand": "x"}}"#, &[]);
    check(
        r#"{"mcpServers": {}, "mcpServers": {"a": {}}}"#,
        &[r#"mcp.json:1:20: "mcpServers" is there already at 1:2"#],
    );
}

#[test]
fn what_is_not_json_is_an_error_with_a_place() {
    let check = |text: &str, expected: &str| {
        let error = Config::read(text, &Origin::text("mcp.json")).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text:?}");
    };
    check("", "mcp.json:1:1: expected an object, found nothing");
    check(
        "// only\n",
        "mcp.json:1:1: expected an object, found nothing",
    );
    check("[]", "mcp.json:1:1: expected an object, found a list");
    check(
        "\n  \"x\"",
        "mcp.json:2:3: expected an object, found a text",
    );
    check("{\"a\": 1\n\"b\": 2}", "mcp.json:1:8: expected a comma");
    check("{\"a\" 1}", "mcp.json:1:6: expected a colon after the key");
    check("{a: 1}", "mcp.json:1:2: expected a key in double quotes");
    check(
        "{'a': 1}",
        "mcp.json:1:2: expected double quotes, found single ones",
    );
    check(
        "{\"a\": \"x",
        "mcp.json:1:7: the text that begins here has no closing quote",
    );
    check(
        "{\"a\": s3cret}",
        "mcp.json:1:7: expected a value, and texts in double quotes",
    );
    check(
        "{\r\n\"a\": {\r\n",
        "mcp.json:2:6: the object that begins here has no closing brace",
    );
    check(
        "{\"a\": [1, 2",
        "mcp.json:1:7: the list that begins here has no closing bracket",
    );
    check("{} {}", "mcp.json:1:4: expected the end of the file");
    check(
        "{\"a\": 0x1}",
        "mcp.json:1:7: expected a number as JSON has them",
    );
    check(
        "{\"é\": \"\\q\"}",
        "mcp.json:1:8: the backslash is followed by something that it cannot escape",
    );
    check(
        "{} /* x",
        "mcp.json:1:4: the comment that begins here has no end",
    );
}

#[test]
fn no_problem_and_no_print_shows_a_secret() {
    let text = r#"{ "mcpServers": {
        "a": { "command": "x", "env": { "T": "s3cret", "U": "${V:-s3cret}", "W": ["s3cret"] }, "evn": { "T": "s3cret" } },
        "b": { "url": "https://e.com/?k=s3cret", "headers": { "A": "s3cret", "B": { "s3cret": 1 } }, "header": "s3cret" },
        "c": { "url": "https://e.com", "auth": { "type": "bearer", "token": "s3cret" } },
        "d": { "url": "https://e.com", "oauth": { "clientSecret": "s3cret", "secret": "s3cret" } },
        "e": { "url": "s3cret://x" }, "f": { "command": "x", "env": { "A": "${s3cret%x}" } }, "g": { "command": "x", "env": "T=s3cret" },
        "h": { "url": "https://e.com", "auth": "s3cret" }, "i": { "command": "x", "env": { "T=s3cret": "" } } } }"#;
    let config = read(text);
    assert!(config.problems.len() > 5 && config.servers.len() > 2);
    let shown = format!("{config:?} {:?}", texts(&config));
    assert!(!shown.contains("s3cret"), "{shown}");
}
