//! From a configuration to what a client is made of.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::path::PathBuf;

use switchboard_auth::Secret;

use super::*;
use crate::variables::Surroundings;

#[derive(Debug)]
struct World(BTreeMap<&'static str, &'static str>);

impl Surroundings for World {
    fn variable(&self, name: &str) -> Option<Secret> {
        self.0.get(name).map(|value| Secret::new(*value))
    }

    fn variable_names(&self) -> Vec<String> {
        self.0.keys().map(|name| (*name).to_owned()).collect()
    }

    fn file(&self, path: &Path) -> io::Result<Secret> {
        match path.to_str() {
            Some("/shop/.env") => Ok(Secret::new("A=file\nB=file\nC=file\n")),
            Some("/shop/bad.env") => Ok(Secret::new("A=1\ns3cret\n")),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn command(&self, _words: &[String]) -> io::Result<Secret> {
        Ok(Secret::new("printed"))
    }

    fn keyring(&self, _name: &str) -> io::Result<Option<Secret>> {
        Ok(None)
    }

    fn home(&self) -> Option<PathBuf> {
        Some("/home/me".into())
    }
}

fn world() -> World {
    World(
        [
            ("TOKEN", "t0ken"),
            ("HOST", "example.com"),
            ("BLANK", " "),
            ("NOISE", "1"),
        ]
        .into(),
    )
}

fn resolved(server: &str) -> Result<Resolved, ResolveError> {
    let text = format!("{{\"mcpServers\": {{\n  \"it\": {server}\n}}}}");
    let config = read_from(&text, &Origin::file("/shop/mcp.json"));
    resolve(&config.servers[0], &world())
}

/// What can be seen of a client's description: all but the values of variables and headers.
fn spec(server: &str) -> String {
    format!("{:?}", resolved(server).unwrap().spec)
}

#[test]
fn a_program_gets_what_is_written() {
    let shown = spec(r#"{"command": "~/bin/run", "args": ["--host", "${HOST}", 7], "cwd": "sub"}"#);
    assert!(shown.contains(r#"program: "/home/me/bin/run""#), "{shown}");
    assert!(
        shown.contains(r#"arguments: ["--host", "example.com", "7"]"#),
        "{shown}"
    );
    assert!(shown.contains(r#"directory: Some("/shop/sub")"#), "{shown}");
    assert!(shown.contains(r#"name: Some("it")"#), "{shown}");
    let cwd = |cwd: &str| spec(&format!(r#"{{"command": "x", "cwd": "{cwd}"}}"#));
    assert!(cwd("~").contains(r#"directory: Some("/home/me")"#));
    assert!(cwd("/a").contains(r#"directory: Some("/a")"#));
    assert!(spec(r#"{"command": "x"}"#).contains(r#"directory: Some("/shop")"#));
}

#[test]
fn variables_come_from_the_file_and_then_from_the_list() {
    let server =
        r#"{"command": "x", "envFile": ".env", "env": {"B": "${TOKEN}", "C": null, "HOME": null}}"#;
    let resolved = resolved(server).unwrap();
    let shown = format!("{:?}", resolved.spec);
    assert!(shown.contains(r#"environment: ["A", "B"]"#), "{shown}");
    assert!(!shown.contains("t0ken"), "{shown}");
    assert!(shown.contains(r#"withheld: ["C", "HOME"]"#), "{shown}");
}

#[test]
fn our_own_variables_are_passed_on_by_name_or_all() {
    let shown = spec(r#"{"command": "x", "env_vars": ["TOKEN", {"name": "HOST"}]}"#);
    assert!(shown.contains(r#"inherited: ["TOKEN", "HOST"]"#), "{shown}");
    let shown = spec(r#"{"command": "x", "inheritEnv": true, "env": {"NOISE": null}}"#);
    let expected = r#"inherited: ["BLANK", "HOST", "NOISE", "TOKEN"], withheld: ["NOISE"]"#;
    assert!(shown.contains(expected), "{shown}");
}

#[test]
fn a_url_gets_its_headers_and_its_login() {
    let server = r#"{"url": "https://${HOST}/mcp", "headers": {"X-Team": "${TOKEN}"}, "auth": {"token": "${TOKEN}"}}"#;
    let resolved = resolved(server).unwrap();
    assert_eq!(resolved.spec.target(), "https://example.com/mcp");
    assert_eq!(
        resolved.url.as_ref().unwrap().reveal(),
        "https://example.com/mcp"
    );
    let ResolvedAuth::Bearer(token) = &resolved.auth else {
        panic!()
    };
    assert_eq!(token.reveal(), "t0ken");
    assert!(!format!("{resolved:?}").contains("t0ken"));
    for server in [
        r#"{"url": "https://example.com/?key=${TOKEN}"}"#,
        r#"{"command": "x", "args": ["--token", "${TOKEN}"]}"#,
    ] {
        let resolved = self::resolved(server).unwrap();
        assert!(!format!("{resolved:?}").contains("t0ken"));
    }
}

#[test]
fn a_server_made_by_a_program_is_taken_as_it_is() {
    let local = ServerConfig::command("local", ["python", "-m", "${x}"]).env("API_KEY", "s3cret$$");
    let shown = format!("{:?}", resolve(&local, &world()).unwrap().spec);
    assert!(shown.contains(r#"arguments: ["-m", "${x}"]"#), "{shown}");
    assert!(shown.contains(r#"environment: ["API_KEY"]"#), "{shown}");
    let remote = ServerConfig::url("remote", "https://example.com/mcp");
    let remote = remote.header("X-Key", "s3cret").bearer("s3cret$$");
    let auth = resolve(&remote, &world()).unwrap().auth;
    assert!(matches!(auth, ResolvedAuth::Bearer(token) if token.reveal() == "s3cret$$"));
    assert!(!format!("{local:?} {remote:?}").contains("s3cret"));
}

#[test]
fn a_login_can_be_built() {
    let oauth = |details: &str| {
        let server = format!(r#"{{"url": "https://example.com/mcp", "oauth": {details}}}"#);
        match resolved(&server).unwrap().auth {
            ResolvedAuth::OAuth(oauth) => oauth,
            other => panic!("{other:?}"),
        }
    };
    let login = oauth(
        r#"{"clientId": "me", "clientSecret": "${TOKEN}", "tokenUrl": "https://${HOST}/token", "scopes": "a b"}"#,
    );
    assert!(login.is_machine);
    assert_eq!(
        login.token_url.as_deref(),
        Some("https://example.com/token")
    );
    assert_eq!(login.scopes.to_string(), "a b");
    assert!(!format!("{login:?}").contains("t0ken"));
    let memory = std::sync::Arc::new(switchboard_auth::MemoryStore::new());
    let builder = login.builder("https://example.com/mcp").unwrap();
    builder.store(memory.clone()).build().unwrap();
    let person = oauth(r#"{"clientId": "me", "callbackPort": 8123}"#);
    assert!(!person.is_machine);
    let builder = person.builder("https://example.com/mcp").unwrap();
    builder.store(memory).build().unwrap();
    assert!(matches!(
        resolved(r#"{"url": "https://e.com"}"#).unwrap().auth,
        ResolvedAuth::Auto
    ));
}

#[test]
fn times_and_limits_are_passed_on() {
    let text = r#"{"command": "x", "timeout": "1h", "x-switchboard": {"timeouts": {"start": "2m",
        "probe": "11s", "question": "12s", "silence": "13s", "farewell": "14s", "stop": {"obey": "15s", "terminate": "16s", "reap": "17s"}}, "limits": {"message": 1000,
        "calls": 2, "questions": 3, "rounds": 4, "queued": 5, "pages": 6, "items": 7, "listBytes": 8}}}"#;
    let shown = spec(text);
    for part in [
        "connect: 120s",
        "probe: 11s",
        "question: 12s",
        "silence: 13s",
        "farewell: 14s",
        "obey: 15s",
        "terminate: 16s",
        "reap: 17s",
        "idle: Some(3600s)",
        "total: Some(3600s)",
        "bytes: 1000",
        "calls: 2",
        "questions: 3",
        "rounds: 4",
        "queued: 5",
        "pages: 6",
        "items: 7",
        "list_bytes: 8",
    ] {
        assert!(shown.contains(part), "{part} {shown}");
    }
    let shown = spec(r#"{"type": "sse", "url": "https://e.com"}"#);
    assert!(
        shown.contains("mode: Legacy") && shown.contains("total: Some(600s)"),
        "{shown}"
    );
    assert!(spec(r#"{"command": "x", "protocolEra": "legacy"}"#).contains("mode: Legacy"));
}

#[test]
fn what_cannot_be_filled_in_is_named_with_its_place() {
    let check = |server: &str, expected: &str| {
        let error = resolved(server).unwrap_err();
        assert_eq!(error.to_string(), format!("/shop/mcp.json:{expected}"));
    };
    check(
        r#"{"command": "x", "env": {"T": "${MISSING}"}}"#,
        r#"2:39: server "it": "env.T": the environment variable "MISSING" is not set, set it or write ${MISSING:-default}"#,
    );
    check(
        r#"{"command": "x", "args": ["a", "${file:/none}"]}"#,
        r#"2:40: server "it": "args[1]": the file "/none" cannot be read"#,
    );
    check(
        r#"{"command": "${BLANK}"}"#,
        r#"2:21: server "it": "command": nothing is left once variables are filled in"#,
    );
    check(
        r#"{"command": "x", "envFile": "none.env"}"#,
        r#"2:37: server "it": "envFile": the file "/shop/none.env" cannot be read"#,
    );
    check(
        r#"{"command": "x", "envFile": "bad.env"}"#,
        r#"2:37: server "it": "envFile": line 2 of the file "/shop/bad.env" is not NAME=value"#,
    );
    check(
        r#"{"url": "${TOKEN}"}"#,
        r#"2:17: server "it": "url": cannot be connected to: it does not begin with https:// or http://"#,
    );
    check(
        r#"{"url": "https://e.com", "headers": {"A": "x\ny"}}"#,
        r#"2:51: server "it": "headers.A": the value cannot stand in a header"#,
    );
    check(
        r#"{"url": "https://e.com", "auth": {"token": "${BLANK}${NONE}"}}"#,
        r#"2:52: server "it": "token": the environment variable "NONE" is not set, set it or write ${NONE:-default}"#,
    );
    let error = resolved(r#"{"command": "x", "args": ["${file:/none}"]}"#).unwrap_err();
    assert!(error.source().is_some());
    let mut many = ServerConfig::url("docs", "https://e.com");
    if let TransportConfig::Http(http) = &mut many.transport {
        let header = ("A".to_owned(), crate::variables::Template::literal("x"));
        http.headers = vec![header; 40_000];
    }
    let error = resolve(&many, &world()).unwrap_err();
    assert!(matches!(error.kind, ResolveErrorKind::TooManyHeaders));
    let made = ServerConfig::url("docs", "nonsense");
    let error = resolve(&made, &world()).unwrap_err();
    assert!(
        error.to_string().starts_with("server \"docs\": \"url\": "),
        "{error}"
    );
}
