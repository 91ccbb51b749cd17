//! The kinds by hand: a child process, lines in, lines out.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;

use serde_json::json;

use super::*;
use crate::faulty::{Eras, Role};

/// Not a test by itself: what the others start.
#[test]
fn the_process() {
    play();
}

struct Client {
    launch: Launch,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    last_id: i64,
}

impl Client {
    fn start(role: &Role) -> Self {
        let launch = Launch::new(role, "faulty::stdio::tests::the_process");
        let mut command = launch.command();
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        Self {
            launch,
            stdin: child.stdin.take(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
            last_id: 0,
        }
    }

    /// Starts a server and does the handshake.
    fn open(kind: &str) -> Self {
        let mut client = Self::start(&Role::new(kind).eras(Eras::Legacy));
        client.initialize();
        client
    }

    fn initialize(&mut self) {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
        let answer = self.ask("initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        self.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn send(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn call(&mut self, tool: &str, arguments: Value) -> i64 {
        self.send("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.next();
        assert_eq!(answer["id"], id);
        answer
    }

    fn line(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        self.stdout.read_until(b'\n', &mut line).unwrap();
        line
    }

    fn next(&mut self) -> Value {
        let line = self.line();
        serde_json::from_slice(&line).unwrap_or_else(|error| {
            panic!("{error}: {}", String::from_utf8_lossy(&line));
        })
    }

    fn text(&mut self) -> String {
        text_of(&self.next())
    }

    /// Ends the input, and waits for the process.
    fn close(&mut self) -> ExitStatus {
        drop(self.stdin.take());
        self.child.wait().unwrap()
    }

    /// Kills the group of the process, as a client would at last.
    fn kill(&mut self, signal: &str) -> ExitStatus {
        let group = format!("-{}", self.child.id());
        let mut kill = Command::new("kill");
        assert!(
            kill.args([signal, "--", &group])
                .status()
                .unwrap()
                .success()
        );
        self.child.wait().unwrap()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let mut kill = Command::new("kill");
        kill.args(["-KILL", "--", &group]).stderr(Stdio::null());
        kill.status().ok();
        self.child.wait().ok();
    }
}

fn text_of(answer: &Value) -> String {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {answer}"))
        .to_owned()
}

#[test]
fn every_kind_has_a_name_of_its_own_and_a_sentence() {
    let mut names = HashSet::new();
    for kind in kinds() {
        assert!(names.insert(kind.name), "{} twice", kind.name);
        assert!(kind.about.len() > 10 && !kind.about.ends_with('.'));
        // It stands in a shell script, unquoted.
        assert!(
            kind.name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        );
    }
    assert!(names.len() >= 60, "{}", names.len());
}

#[test]
fn the_honest_one_serves_until_its_input_ends() {
    let mut client = Client::open("honest");
    let list = client.ask("tools/list", json!({}));
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 4);
    let slow = client.call("slow", json!({"ms": 20}));
    let quick = client.call("add", json!({"a": 1, "b": 2}));
    assert_eq!(client.next()["id"], quick);
    assert_eq!(client.next()["id"], slow);
    assert_eq!(client.launch.survivors(), [client.child.id()]);
    assert!(client.close().success());
    assert_eq!(client.launch.survivors(), [0; 0]);
}

#[test]
fn the_probe_is_answered_by_era() {
    let meta = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    let mut modern = Client::start(&Role::new("honest").eras(Eras::Modern));
    let found = modern.ask("server/discover", meta.clone());
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]));
    let mut silent = Client::start(&Role::new("honest").eras(Eras::SilentOnProbe));
    silent.send("server/discover", meta);
    silent.initialize();
}

#[test]
fn what_came_can_be_asked_for() {
    let mut client = Client::open("never-answers");
    let id = client.call("defect", json!({}));
    let reason = json!({"requestId": id});
    client.write(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": reason}));
    client.call("received", json!({}));
    let received: Vec<Value> = serde_json::from_str(&client.text()).unwrap();
    let methods: Vec<_> = received
        .iter()
        .map(|m| m["method"].as_str().unwrap())
        .collect();
    assert_eq!(
        methods,
        [
            "initialize",
            "notifications/initialized",
            "tools/call",
            "notifications/cancelled"
        ]
    );
    assert_eq!(received[3]["params"]["requestId"], id);
}

#[test]
fn lines_are_broken_as_they_should_be() {
    let check = |kind: &str, expected: &[&[u8]]| {
        let mut client = Client::open(kind);
        client.call("defect", json!({}));
        for expected in expected {
            let line = client.line();
            assert!(
                line.starts_with(expected),
                "{kind}: {}",
                String::from_utf8_lossy(&line)
            );
        }
    };
    check("glued", &[b"debug: {\"id\":2"]);
    check("invalid-utf8", &[b"{\"id\":2"]);
    check(
        "duplicate-names",
        &[b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":"],
    );
    check(
        "huge-line",
        &[b"{\"id\":2,\"jsonrpc\":\"2.0\",\"result\":{\"content\":[{\"text\":\"xxx"],
    );
    let mut client = Client::start(&Role::new("noise-before"));
    assert_eq!(client.line(), b"Welcome!\n");
    let mut client = Client::start(&Role::new("bom"));
    client.send("ping", json!({}));
    assert!(client.line().starts_with("\u{feff}{".as_bytes()));
}

#[test]
fn calls_are_mixed_up_as_they_should_be() {
    let mut client = Client::open("answers-twice");
    client.call("defect", json!({"text": "first"}));
    assert_eq!([client.text(), client.text()], ["first", "second"]);

    let mut client = Client::open("reverse-order");
    for text in ["a", "b", "c"] {
        client.call("defect", json!({"text": text, "after": 3}));
    }
    assert_eq!(
        [client.text(), client.text(), client.text()],
        ["c", "b", "a"]
    );

    let mut client = Client::open("answers-late");
    client.call("defect", json!({"text": "late"}));
    client.call("echo", json!({"text": "next"}));
    assert_eq!([client.text(), client.text()], ["late", "next"]);

    let mut client = Client::open("id-as-string");
    let id = client.call("defect", json!({}));
    assert_eq!(client.next()["id"], id.to_string());
}

#[test]
fn floods_end_with_the_answer() {
    let mut client = Client::open("notification-flood");
    let id = client.call("defect", json!({}));
    let mut count = 0;
    while client.next()["id"] != id {
        count += 1;
    }
    assert_eq!(count, 200_000);
}

#[test]
fn pages_do_not_end() {
    let mut client = Client::open("endless-pages");
    let first = client.ask("tools/list", json!({}));
    assert_eq!(first["result"]["nextCursor"], "1");
    let second = client.ask("tools/list", json!({"cursor": "1"}));
    assert_eq!(second["result"]["tools"][0]["name"], "tool-1");
    assert_eq!(second["result"]["nextCursor"], "2");
}

#[test]
fn processes_end_as_they_should() {
    use std::os::unix::process::ExitStatusExt;

    let mut client = Client::start(&Role::new("exits-with-words"));
    assert_eq!(client.close().code(), Some(3));
    let mut client = Client::start(&Role::new("killed-at-start"));
    assert_eq!(client.close().signal(), Some(9));
    let mut client = Client::open("dies-in-call");
    client.call("defect", json!({"after": 2}));
    client.call("defect", json!({"after": 2}));
    assert_eq!(client.child.wait().unwrap().code(), Some(7));
    let mut client = Client::open("ignores-stdin-close");
    drop(client.stdin.take());
    assert_eq!(client.kill("-TERM").signal(), Some(15));
    let mut client = Client::open("ignores-term");
    drop(client.stdin.take());
    let group = format!("-{}", client.child.id());
    Command::new("kill")
        .args(["-TERM", "--", &group])
        .status()
        .unwrap();
    assert_eq!(client.launch.survivors(), [client.child.id()]);
    assert_eq!(client.kill("-KILL").signal(), Some(9));
}

#[test]
fn streams_are_closed_by_a_process_that_lives() {
    let mut client = Client::open("closes-stdout");
    client.call("defect", json!({}));
    let mut rest = Vec::new();
    client.stdout.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"");
    assert!(client.child.try_wait().unwrap().is_none());
    assert!(client.close().success());
    let mut client = Client::open("closes-stdin");
    client.call("defect", json!({}));
    // A pipe without a reader is broken, at the latest when it is full.
    let mut stdin = client.stdin.take().unwrap();
    let (sender, broken) = mpsc::channel();
    std::thread::spawn(move || {
        while stdin.write_all(&[b' '; 4096]).is_ok() {}
        sender.send(())
    });
    broken.recv_timeout(Duration::from_secs(10)).unwrap();
    assert!(client.child.try_wait().unwrap().is_none());
}

#[test]
fn grandchildren_stay_until_the_group_is_killed() {
    let mut client = Client::open("grandchild-holds-pipes");
    client.call("defect", json!({}));
    assert_eq!(client.child.wait().unwrap().code(), Some(5));
    assert_eq!(client.launch.survivors().len(), 1);
    client.kill("-KILL");
    // It is gone when the pipe that it held is.
    let mut rest = Vec::new();
    client.stdout.read_to_end(&mut rest).unwrap();

    let mut client = Client::open("below-a-shell");
    assert_eq!(client.launch.survivors().len(), 2);
    assert!(client.close().success());
    assert_eq!(client.launch.survivors(), [0; 0]);
}
