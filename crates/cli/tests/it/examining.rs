//! `doctor`: what is found out about servers, and how it ends.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::child::server;
use crate::place::{Ended, Place};

/// The verdicts of a server, in order.
fn verdicts(ended: &Ended, place: usize) -> Vec<String> {
    let found = ended.json();
    let checks = found["servers"][place]["checks"].as_array().unwrap().iter();
    let word = |check: &Value, member: &str| check[member].as_str().unwrap().to_owned();
    checks
        .map(|check| format!("{} {}", word(check, "check"), word(check, "verdict")))
        .collect()
}

/// The last check of the only server, and how it ended.
#[track_caller]
fn last(ended: &Ended, code: i32, check: &str, cure: &str) {
    assert_eq!(ended.code, code, "{ended:?}");
    assert_eq!(ended.last_line()["code"], code);
    let found = ended.json();
    let last = found["servers"][0]["checks"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(
        (&last["check"], &last["verdict"]),
        (&json!(check), &json!("fail")),
        "{last}"
    );
    assert!(last["cure"].as_str().unwrap().contains(cure), "{last}");
}

#[test]
fn a_server_that_works_passes_every_check() {
    let place = Place::new();
    let place = Place::with(json!({"tasks": place.tasks()}));
    let ended = place.run(&["doctor", "--json"]);
    let expected = [
        "config ok",
        "variables ok",
        "command ok",
        "start ok",
        "handshake ok",
        "revision ok",
        "lists ok",
        "stdout ok",
    ];
    assert_eq!(verdicts(&ended, 0), expected);
    assert_eq!(ended.code, 0);
    let shown = place.run(&["doctor", "tasks"]).done();
    assert!(shown.contains("  ok    lists      7 tools"), "{shown}");
    assert!(
        shown.ends_with("1 well, 0 with warnings, 0 failed\n"),
        "{shown}"
    );
}

#[test]
fn what_a_server_prints_between_its_messages_is_a_warning() {
    // The test harness says hello on standard output before it serves.
    let place = Place::with(json!({"one": server()}));
    let ended = place.run(&["doctor", "--json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(verdicts(&ended, 0).last().unwrap(), "stdout warn");
    let text = ended.json().to_string();
    assert!(text.contains("running 1 test"), "{text}");
}

#[test]
fn every_step_of_a_command_fails_with_its_cure() {
    let place = Place::new();
    let ended = place.run(&["doctor", "--json", "--", "no-such-program"]);
    last(&ended, 4, "command", "install it");
    let ended = place.run(&[
        "doctor",
        "--json",
        "--",
        "sh",
        "-c",
        "echo no token >&2; exit 3",
    ]);
    last(&ended, 4, "start", "`env`");
    assert!(
        ended
            .stdout
            .contains("exited with status 3; it said: no token"),
        "{ended:?}"
    );
    let words = [
        "doctor",
        "--json",
        "--timeout",
        "1s",
        "--",
        "sh",
        "-c",
        "echo Welcome; cat > /dev/null",
    ];
    let ended = place.run(&words);
    last(&ended, 4, "handshake", "is it a server of MCP");
    assert!(
        verdicts(&ended, 0).contains(&"stdout warn".to_owned()),
        "{ended:?}"
    );
    let place = Place::with(json!({"one": {"command": "sh", "args": ["${NO_SUCH_VARIABLE}"]}}));
    let ended = place.run(&["doctor", "--json"]);
    last(&ended, 2, "variables", "export NO_SUCH_VARIABLE=");
}

#[test]
fn every_step_of_a_url_fails_with_its_cure() {
    let place = Place::new();
    // A port that was free just now.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let ended = place.run(&["doctor", "--json", &format!("http://127.0.0.1:{port}/mcp")]);
    last(&ended, 4, "tcp", "nobody listens there");
    let ended = place.run(&["doctor", "--json", &answering("404 Not Found", "")]);
    last(&ended, 5, "http", "check the path");
    let ended = place.run(&[
        "doctor",
        "--json",
        &answering("503 Service Unavailable", ""),
    ]);
    last(&ended, 4, "http", "try later");
    // Whoever speaks plain HTTP does not speak TLS.
    let secure = answering("200 OK", "").replace("http:", "https:");
    let ended = place.run(&["doctor", "--json", &secure]);
    last(&ended, 4, "tls", "http://");
}

#[test]
fn a_login_that_is_missing_is_told() {
    let place = Place::new();
    let url = answering("401 Unauthorized", "WWW-Authenticate: Bearer\r\n");
    let ended = place.run(&["doctor", "--json", &url]);
    last(&ended, 3, "login", &format!("`switchboard login {url}`"));
    let place = Place::with(json!({"one": {"url": url, "headers": {}, "bearer_token": "x"}}));
    let ended = place.run(&["doctor", "one", "--json"]);
    assert_eq!(ended.code, 3, "{ended:?}");
}

#[test]
fn of_several_servers_some_may_fail() {
    let place = Place::with(json!({"bad": {"command": "no-such-program"}, "good": server()}));
    let ended = place.run(&["doctor", "--json"]);
    assert_eq!(ended.code, 8, "{ended:?}");
    assert_eq!(ended.json()["servers"][0]["code"], 4);
    assert_eq!(ended.json()["servers"][1]["code"], 0);
    let place =
        Place::with(json!({"a": {"command": "no-such-program"}, "b": {"command": "nor-this"}}));
    assert_eq!(place.run(&["doctor"]).code, 4);
}

#[test]
fn one_that_is_switched_off_is_looked_at_only_if_it_is_meant() {
    let place = Place::with(json!({
        "off": {"command": "no-such-program", "disabled": true}, "on": server()}));
    let ended = place.run(&["doctor", "--json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(verdicts(&ended, 0), ["config ok", "config skip"]);
    let ended = place.run(&["doctor", "off", "--json"]);
    last(&ended, 4, "command", "install it");
    assert_eq!(verdicts(&ended, 0)[1], "config warn");
}

/// The URL of a server that answers every request like this.
fn answering(status: &'static str, headers: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut length = 0;
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            let _ = std::io::Read::read_exact(&mut reader, &mut body);
            let answer = format!(
                "HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\nConnection: close\r\n\r\n"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}
