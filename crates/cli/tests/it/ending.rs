//! Every number that a command can end with.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::mpsc;
use std::thread;

use serde_json::json;

use crate::child::{noting, server, unlisted};
use crate::place::{BINARY, Ended, Place};

#[track_caller]
fn check(ended: Ended, code: i32, message: &str) {
    let error = ended.failed(code);
    assert!(error.starts_with("error: "), "{error}");
    assert!(error.contains(message), "{error}");
}

#[test]
fn one_is_what_nobody_expected() {
    let place = Place::with(json!({"one": server()}));
    place.write("file", "");
    let ended = place.run(&["call", "one.picture", "--save", "file"]);
    check(ended, 1, "file: ");
}

#[test]
fn two_is_what_was_said_or_configured() {
    let place = Place::with(json!({"one": server(), "odd": {"args": []}}));
    let error = place.run(&["tolls"]).failed(2);
    assert!(error.contains("'tools'"), "{error}");
    let ended = place.run(&["tools", "--josn", "--json"]);
    assert_eq!(
        (ended.code, &ended.last_line()["code"]),
        (2, &json!(2)),
        "{ended:?}"
    );
    let message = place.run(&["search", "--json"]).last_line()["message"].clone();
    let missing = "the following required arguments were not provided: <WORDS>...";
    assert_eq!(message, missing);
    let variable = Place::with(json!({"one": {"command": "x", "env": {"A": "${NOBODY_SET_IT}"}}}));
    check(variable.run(&["tools"]), 2, "NOBODY_SET_IT");
    check(place.run(&["tools", "on"]), 2, "no server \"on\"");
    let hint = place.run(&["tools", "onee"]).failed(2);
    assert!(hint.contains("hint: did you mean \"one\"?"), "{hint}");
    check(place.run(&["tools", "odd"]), 2, "mcp.json:1:");
    check(
        place.run(&["call", "one"]),
        2,
        "which tool of server \"one\"?",
    );
    check(
        place.run(&["call", "one.echo"]),
        2,
        "also wants text: string",
    );
    let hint = place.run(&["call", "one.echo", "txet=x"]).failed(2);
    assert!(hint.contains("did you mean \"text\"?"), "{hint}");
    check(
        place.run(&["tools", "--config", "none.json"]),
        2,
        "none.json",
    );
    place.write("mcp.json", "{");
    check(place.run(&["tools"]), 2, "mcp.json:1:");
    let empty = Place::new();
    check(empty.run(&["ls"]), 2, "there is no mcp.json");
}

#[test]
fn three_is_a_login() {
    // It says who it is, and wants to know who asks.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (sender, heads) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                    break;
                }
                let _ = sender.send(line.clone());
                if let Some(text) = line.to_lowercase().strip_prefix("content-length:") {
                    length = text.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            let _ = reader.read_exact(&mut body);
            let _ = stream.write_all(
                b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\n\
                  Content-Length: 0\r\nConnection: close\r\n\r\n",
            );
        }
    });
    let place = Place::new();
    let ended = place.run(&["tools", &url, "--json"]);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert_eq!(ended.last_line()["code"], 3);
    let hint = ended.last_line()["hint"].to_string();
    assert!(hint.contains(&format!("switchboard login {url}")), "{hint}");
    drop(heads.try_iter().last());
    let ended = place.run(&["call", &url, "echo", "-H", "X-Key: k1"]);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(
        heads
            .try_iter()
            .any(|line| line.trim_end().eq_ignore_ascii_case("x-key: k1"))
    );
    drop(heads.try_iter().last());
    let ended = place.run(&["doctor", &url, "-H", "X-Key: k2"]);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(
        heads
            .try_iter()
            .any(|line| line.trim_end().eq_ignore_ascii_case("x-key: k2"))
    );
    check(
        place.run(&["tools", "-H", "X: y", "--", "x"]),
        2,
        "headers are for a URL",
    );
}

#[test]
fn four_is_a_server_that_cannot_be_reached() {
    let place = Place::with(json!({"one": {"command": "/no/such/program"}}));
    check(place.run(&["tools"]), 4, "/no/such/program");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    check(place.run(&["call", &url, "echo"]), 4, "server \"127.0.0.1-");
    let slow = Place::with(json!({"one": server()}));
    let ended = slow.run(&["call", "one.wait", "--timeout", "500ms"]);
    check(ended, 4, "no answer and no progress within 500ms");
}

#[test]
fn five_is_a_tool_that_failed_or_is_not_there() {
    let place = Place::with(json!({"one": server()}));
    let error = place.run(&["call", "one.fail"]).failed(5);
    assert_eq!(error, "error: it broke\nbadly\n");
    let error = place.run(&["call", "one.ehco"]).failed(5);
    assert!(error.contains("did you mean \"echo\"?"), "{error}");
}

#[test]
fn six_is_a_tool_that_may_not_be_used() {
    let mut denied = server();
    denied["x-switchboard"] = json!({"tools": {"deny": ["ec*"]}});
    let place = Place::with(json!({"one": denied}));
    check(
        place.run(&["call", "one.echo", "text=x"]),
        6,
        "is denied by \"ec*\"",
    );
    let names = place.run(&["tools", "--names"]).done();
    assert!(!names.contains("echo"), "{names}");
    let off = Place::with(json!({"one": {"command": "x", "disabled": true}}));
    check(
        off.run(&["tools", "one"]),
        6,
        "the server \"one\" is disabled",
    );
}

#[test]
fn seven_is_a_question_that_nobody_answers() {
    let place = Place::with(json!({"one": server()}));
    let ended = place.run(&["call", "one.ask", "--json"]);
    assert_eq!(ended.code, 7, "{ended:?}");
    let said = ended.last_line();
    assert!(
        said["message"]
            .to_string()
            .contains("Who are you? (name, size)"),
        "{said}"
    );
    assert!(said["hint"].to_string().contains("--answers"), "{said}");
}

#[test]
fn eight_is_some_servers_of_several() {
    let place = Place::with(json!({"one": server(), "two": {"command": "/no/such/program"}}));
    let ended = place.run(&["tools", "--names"]);
    assert_eq!(ended.code, 8, "{ended:?}");
    assert!(ended.stdout.starts_with("one.echo\n"), "{ended:?}");
    assert!(ended.stderr.contains("warning: "), "{ended:?}");
    assert!(
        ended
            .stderr
            .ends_with("error: 1 of 2 servers failed, the rest answered\n")
    );
    let shown = place.run(&["ls"]).stdout;
    let why = "\ntwo: /no/such/program: program \"/no/such/program\" does not exist\n  → `switchboard doctor two`\n";
    assert!(shown.ends_with(why), "{shown}");
    let ended = place.run(&["ls", "--json"]);
    assert_eq!(
        (ended.code, &ended.last_line()["code"]),
        (8, &json!(8)),
        "{ended:?}"
    );
    assert_eq!(ended.json()["servers"][1]["state"], "failed");
}

#[test]
fn nine_is_a_server_that_breaks_the_protocol() {
    let place = Place::with(json!({"one": server(), "two": unlisted()}));
    check(place.run(&["call", "one.wrong"]), 9, "\"one\"");
    check(place.run(&["tools", "two"]), 9, "could not be listed");
    // What it wrote can be looked at all the same.
    assert_eq!(
        place.run(&["raw", "two", "tools/list"]).json(),
        json!({"tools": 5})
    );
}

#[cfg(unix)]
#[test]
fn a_hundred_and_thirty_is_an_interruption_and_the_call_is_cancelled() {
    use rustix::process::{Pid, Signal, kill_process};

    let place = Place::new();
    let note = place.path("note");
    let servers = json!({"mcpServers": {"one": noting(&note)}});
    place.write("mcp.json", &servers.to_string());
    let mut child = place.command(&["call", "one.wait", "-v"]).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    // The server says so once it has the call.
    while !line.contains("waiting") {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0);
    }
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(rest.ends_with("error: interrupted\n"), "{rest}");
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "cancelled");
}

#[test]
fn every_verb_has_help_that_shows_an_example() {
    let place = Place::new();
    let help = place.run(&["--help"]).done();
    let verbs = help.split("Commands:\n").nth(1).unwrap();
    let verbs = verbs.split("\n\n").next().unwrap();
    // What is indented further goes on from the line before.
    for line in verbs.lines().filter(|line| !line.starts_with("   ")) {
        let verb = line.split_whitespace().next().unwrap();
        let help = place.run(&[verb, "--help"]).done();
        assert!(help.contains(&format!("  switchboard {verb}")), "{help}");
    }
    assert!(place.run(&["--version"]).done().starts_with("switchboard "));
    let words = [
        "tools",
        "--",
        BINARY,
        "demo",
        "serve",
        "--db",
        "/proc/none/x",
    ];
    check(place.run(&words), 4, "");
}
