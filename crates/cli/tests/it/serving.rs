//! `serve`: servers as one, on standard input and output and over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Stdio};

use serde_json::{Value, json};

use crate::place::{BINARY, Place};

/// The task server behind a gateway. It is ended with the test.
struct Served {
    child: Child,
    /// Where it listens.
    url: String,
}

impl Served {
    /// Over HTTP at a free port, with all servers ready.
    fn start(place: &Place, options: &[&str], variables: &[(&str, &str)]) -> Self {
        let words = [&["serve", "--http", "0", "--prefix", "none"], options].concat();
        let mut command = place.command(&words);
        let mut child = command.envs(variables.iter().copied()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut line = |word: &str| {
            let mut lines = lines.by_ref().map(Result::unwrap);
            lines.find(|line| line.contains(word)).unwrap()
        };
        let listening = line("listening on ");
        let url = listening.strip_prefix("listening on ").unwrap().to_owned();
        assert!(line("ready").starts_with("tasks: ready"));
        Self { child, url }
    }

    /// The status that a request without a key is answered with.
    fn status(&self) -> String {
        let host = self.url.strip_prefix("http://").unwrap();
        let host = host.strip_suffix("/mcp").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split_whitespace().nth(1).unwrap().to_owned()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn place() -> Place {
    let place = Place::new();
    let servers = json!({"mcpServers": {"tasks": place.tasks()}});
    place.write("mcp.json", &servers.to_string());
    place
}

#[test]
fn servers_are_one_on_standard_input_and_output() {
    let place = place();
    let mut command = place.command(&["serve"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    send(&mut input, Some(1), "initialize", &params);
    assert_eq!(next()["result"]["protocolVersion"], "2025-11-25");
    send(&mut input, None, "notifications/initialized", &json!({}));
    // One that asks before the servers are ready is told when there is more.
    let names = loop {
        send(&mut input, Some(2), "tools/list", &json!({}));
        let mut tools = next();
        while tools["id"] != 2 {
            tools = next();
        }
        let tools = tools["result"]["tools"].as_array().unwrap().clone();
        if !tools.is_empty() {
            break tools;
        }
        while next()["method"] != "notifications/tools/list_changed" {}
    };
    assert_eq!(names[0]["name"], "tasks__create_task");
    let params = json!({"name": "tasks__create_task", "arguments": {"description": "Tidy up"}});
    send(&mut input, Some(3), "tools/call", &params);
    let mut answer = next();
    while answer["id"] != 3 {
        answer = next();
    }
    assert_eq!(
        answer["result"]["structuredContent"]["description"], "Tidy up",
        "{answer}"
    );
    // It ends with its client.
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn servers_are_one_over_http() {
    let place = place();
    let served = Served::start(&place, &[], &[]);
    let elsewhere = Place::new();
    let names = elsewhere.run(&["tools", &served.url, "--names"]).done();
    assert!(names.starts_with("create_task\nlist_tasks\n"), "{names}");
    let words = ["call", &served.url, "create_task", "description=Tidy up"];
    let made = elsewhere.run(&words).done();
    assert!(made.contains("Tidy up"), "{made}");
    // It is the same list that the server has by itself.
    let all = place.run(&["read", "tasks", "tasks://all"]).done();
    assert!(all.contains("Tidy up"), "{all}");
    let all = elsewhere.run(&["read", &served.url, "tasks://all"]).done();
    assert!(all.contains("Tidy up"), "{all}");
}

#[test]
fn only_who_has_the_key_is_answered() {
    let place = place();
    let served = Served::start(&place, &["--key-env", "KEY"], &[("KEY", "k-123")]);
    assert_eq!(served.status(), "401");
    let elsewhere = Place::new();
    let error = elsewhere.run(&["tools", &served.url]).failed(3);
    assert!(error.contains("needs login"), "{error}");
    let with = |key: &str| {
        let header = format!("Authorization: Bearer {key}");
        elsewhere.run(&["tools", &served.url, "--names", "-H", &header])
    };
    assert_ne!(with("k-124").code, 0);
    assert!(with("k-123").done().starts_with("create_task\n"));
}

#[test]
fn nobody_listens_to_the_world_without_a_key() {
    let place = place();
    let check = |options: &[&str], message: &str| {
        let error = place.run(&[&["serve"], options].concat()).failed(2);
        assert!(error.contains(message), "{error}");
    };
    let everywhere = ["--http", "0.0.0.0:0"];
    check(&everywhere, "0.0.0.0 can be reached from elsewhere");
    check(&["--http", "[::]:0"], ":: can be reached from elsewhere");
    let unset = [&everywhere[..], &["--key-env", "NOBODY_SET_IT"]].concat();
    check(&unset, "the variable NOBODY_SET_IT has no value");
    check(&["--http", "nowhere"], "\"nowhere\" is no address");
    check(&["--key-env", "KEY"], "--http");
}

#[test]
fn a_command_is_served_on_the_spot() {
    let place = Place::new();
    let words = ["--", BINARY, "demo", "serve", "--db", "t.sqlite"];
    let mut child = place
        .command(&[&["serve", "--http", "0"], &words[..]].concat())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let ready = lines
        .map(Result::unwrap)
        .find(|line| line.contains(": ready"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        ready.as_deref(),
        Some("switchboard: ready, revision 2026-07-28")
    );
}

fn send(input: &mut ChildStdin, id: Option<u32>, method: &str, params: &Value) {
    let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
    if let Some(id) = id {
        message["id"] = json!(id);
    }
    writeln!(input, "{message}").unwrap();
}
