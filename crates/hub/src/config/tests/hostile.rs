//! Input that nobody means well with.

use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

#[test]
fn marks_and_line_ends_of_windows_are_nothing_special() {
    let config = read(
        "\u{feff}{\r\n  \"mcpServers\": {\r\n    \"a\": { \"comand\": \"x\" }\r\n  }\r\n}\r\n",
    );
    assert_eq!(
        texts(&config)[1],
        r#"mcp.json:3:12: server "a": unknown key "comand", did you mean "command"?"#
    );
}

#[test]
fn a_file_that_is_too_large_is_not_looked_at() {
    let text = " ".repeat(LARGEST + 1);
    let error = Config::read(&text, &Origin::text("mcp.json")).unwrap_err();
    let reason = format!("larger than {LARGEST} bytes");
    assert!(error.to_string().contains(&reason), "{error}");
}

#[test]
fn comments_and_trailing_commas_are_fine() {
    let config = read(
        "// one\n{ /* two */ \"mcpServers\": { \"a\": { \"command\": \"x\", \"args\": [\"//no\", \"/*no*/\",], }, }, } // three",
    );
    assert_eq!(texts(&config), Vec::<String>::new());
    assert_eq!(stdio(&config.servers[0]).args[0].to_string(), "//no");
}

#[test]
fn zero_bytes_are_refused() {
    let config = read(
        r#"{"mcpServers": {"a": {"command": "x\u0000y"}, "b": {"command": "x", "env": {"A\u0000": "1"}}, "c": {"url": "https://e.com", "headers": {"A": "\u0000"}}}}"#,
    );
    assert_eq!(config.broken, ["a", "b", "c"]);
    assert_eq!(
        texts(&config)[0],
        r#"mcp.json:1:34: server "a": "command" expects a text without zero bytes"#
    );
    assert!(Config::read("{\"mcpServers\":\0{}}", &Origin::text("x")).is_err());
}

#[test]
fn a_server_entry_has_no_more_headers_than_are_taken() {
    for (count, expected) in [
        (100, Vec::new()),
        (
            101,
            vec![r#"mcp.json:1:58: server "a": "headers" expects at most 100 headers"#],
        ),
    ] {
        let headers: Vec<String> = (0..count)
            .map(|number| format!(r#""A{number}": "x""#))
            .collect();
        let config = read(&format!(
            r#"{{"mcpServers": {{"a": {{"url": "https://e.com", "headers": {{{}}}}}}}}}"#,
            headers.join(", ")
        ));
        assert_eq!(texts(&config), expected, "{count}");
    }
}

#[test]
fn what_no_variable_can_be_called_is_refused() {
    for name in ["", r"\u0000", "A=B", "A}", "${A}"] {
        let server = format!(r#"{{"url": "https://e.com", "bearerTokenEnv": "{name}"}}"#);
        let config = read(&format!(r#"{{"mcpServers": {{"a": {server}}}}}"#));
        assert_eq!(config.broken, ["a"], "{name}");
    }
}

#[test]
fn deep_nesting_is_an_error_and_not_an_overflow() {
    let deep = |open: &str, close: &str, levels: usize| {
        format!(
            "{{\"mcpServers\": {{\"a\": {{\"command\": \"x\", \"y\": {}1{}}}}}}}",
            open.repeat(levels),
            close.repeat(levels)
        )
    };
    // With the stack that threads have.
    let outcome = thread::spawn(move || {
        assert!(Config::read(&deep("[", "]", 100), &Origin::text("x")).is_ok());
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            for levels in [230, 400, 600, 500_000] {
                let _ = Config::read(&deep(open, close, levels), &Origin::text("x"));
            }
            let error = Config::read(&deep(open, close, 100_000), &Origin::text("x")).unwrap_err();
            assert!(
                error
                    .to_string()
                    .ends_with("too many brackets in each other"),
                "{error}"
            );
        }
    });
    outcome.join().unwrap();
}

#[test]
fn ten_megabytes_take_seconds_at_most() {
    let begun = Instant::now();
    let members = |member: &dyn Fn(usize) -> String, bytes: usize| {
        let mut text = String::new();
        let mut index = 0;
        while text.len() < bytes {
            text += &member(index);
            text.push(',');
            index += 1;
        }
        text
    };
    // All in one line, so that columns are large.
    let texts = [
        format!(
            "{{\"mcpServers\":{{{}}}}}",
            members(
                &|n| format!("\"s{n}\":{{\"command\":\"x\",\"env\":{{\"A\":\"${{B}}\"}}}}"),
                1 << 18
            )
        ),
        format!(
            "{{\"mcpServers\":{{\"a\":{{\"command\":\"x\",{}}}}}}}",
            members(&|n| format!("\"commandd{n}\":1"), 1 << 18)
        ),
        format!(
            "{{\"mcpServers\":{{\"a\":{{\"command\":\"x\",\"env\":{{{}}}}}}}}}",
            members(&|n| format!("\"A{}\":[]", n % 10), 1 << 18)
        ),
        format!(
            "{{\"mcpServers\":{{\"a\":{{\"url\":\"https://e.com\",\"headers\":{{{}}}}}}}}}",
            members(&|n| format!("\"A{n}\":\"x\""), 1 << 18)
        ),
        format!(
            "{{\"mcpServers\":{{\"a\":{{\"command\":\"x\",\"env\":{{{}}}}}}}}}",
            members(&|n| format!("\"A{n}\":\"x\",\"B{n}\":null"), 1 << 18)
        ),
        format!(
            "{{\"mcpServers\":{{\"a\":{{\"command\":\"{}\"}}}}}}",
            "${A:-".repeat(1 << 18)
        ),
        format!(
            "{{\"mcpServers\":{{{}}}}}",
            "\"a\":{\"command\":\"x\"},".repeat(10_000)
        ),
        format!(
            "{{\"history\":[{}1],\"mcpServers\":{{\"a\":{{\"command\":\"x\"}}}}}}",
            "\"0123456789abcdef 0123456789abcdef 0123456789abcdef 0123456789abcdef\","
                .repeat(150_000)
        ),
    ];
    let world = crate::variables::System::new();
    for text in texts {
        let config = read(&text);
        for server in config.servers.iter().take(2) {
            let _ = resolve(server, &world);
        }
        assert!(config.servers.len() + config.broken.len() > 0);
    }
    // Generous: a slow machine without optimization.
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
    let error = Config::read(&" ".repeat(LARGEST + 1), &Origin::text("x")).unwrap_err();
    assert_eq!(error.to_string(), "x is larger than 33554432 bytes");
}

#[test]
fn files_are_read_and_named() {
    let folder = std::env::temp_dir().join(format!("switchboard-hub-{}", std::process::id()));
    let settings = folder.join(".cursor");
    std::fs::create_dir_all(&settings).unwrap();
    let path = settings.join("mcp.json");
    std::fs::write(&path, "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}").unwrap();
    let config = Config::from_file(&path).unwrap();
    assert_eq!(config.servers[0].folder.as_deref(), Some(&*folder));
    std::fs::write(&path, b"{\n\"\xc3\xa9\xff\"}").unwrap();
    let error = Config::from_file(&path).unwrap_err();
    assert!(
        error.to_string().ends_with("mcp.json:2:3: not UTF-8"),
        "{error}"
    );
    let error = Config::from_file(folder.join("none.json")).unwrap_err();
    assert!(
        error.to_string().ends_with("none.json cannot be read"),
        "{error}"
    );
    assert!(std::error::Error::source(&error).is_some());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Any JSON, with the words of configurations in it.
fn json() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "mcpServers",
        "servers",
        "mcp",
        "context_servers",
        "type",
        "stdio",
        "command",
        "args",
        "env",
        "envFile",
        "url",
        "httpUrl",
        "https://e.com",
        "headers",
        "auth",
        "oauth",
        "token",
        "clientId",
        "scopes",
        "tools",
        "timeout",
        "30s",
        "x-switchboard",
        "limits",
        "timeouts",
        "disabled",
        "enabled",
        "${A:-b}",
        "",
        "é\\u0000",
    ]);
    let text = word.prop_map(|word| format!("\"{word}\""));
    let leaf = prop_oneof![
        text.clone(),
        prop::sample::select(vec!["1", "-0.5", "true", "false", "null", "1e99"])
            .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(5, 60, 8, move |inner| {
        let member =
            (text.clone(), inner.clone()).prop_map(|(key, value)| format!("{key}:{value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(member, 0..8)
                .prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_can_be_read(value in json(), servers in json()) {
        for text in [value.clone(), format!("{{\"mcpServers\":{{\"a\":{servers},\"b\":{value}}}}}"), format!("{{\"mcp\":{servers}}}")] {
            if let Ok(config) = Config::read(&text, &Origin::text("x")) {
                let _ = format!("{config:?}");
                for problem in &config.problems {
                    prop_assert!(problem.position.line == 1 && problem.position.column >= 1);
                    let _ = problem.to_string();
                }
                // Whoever is broken has an error that says why, and nobody is both.
                for name in &config.broken {
                    prop_assert!(config.server(name).is_none());
                    prop_assert!(config.errors().any(|problem| problem.server.as_ref() == Some(name)));
                }
                let again = Config::read(&text, &Origin::text("y")).unwrap();
                prop_assert_eq!(again.servers, config.servers);
            }
        }
    }

    #[test]
    fn any_text_can_be_read(text in "(?s).{0,120}") {
        let _ = Config::read(&text, &Origin::text("x"));
    }
}
