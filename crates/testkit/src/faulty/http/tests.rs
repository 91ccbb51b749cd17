//! The kinds by hand: a socket, bytes out, bytes in.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::faulty::Eras;

struct Client<'a> {
    server: &'a HttpServer,
    stream: TcpStream,
    session: Option<String>,
}

impl<'a> Client<'a> {
    fn connect(server: &'a HttpServer) -> Self {
        Self {
            server,
            stream: TcpStream::connect(server.shared.address).unwrap(),
            session: None,
        }
    }

    /// Connects and does the handshake.
    fn open(server: &'a HttpServer) -> Self {
        let mut client = Self::connect(server);
        let params = json!({"protocolVersion": "2025-11-25"});
        let (head, body) = client.post("initialize", params);
        assert!(body.contains("2025-11-25"), "{head}{body}");
        client.session = Some(header(&head, "mcp-session-id"));
        client
    }

    fn send(&mut self, method: &str, headers: &str, body: &str) {
        let session = self.session.iter();
        let session: String = session
            .map(|id| format!("Mcp-Session-Id: {id}\r\n"))
            .collect();
        let length = body.len();
        let head =
            format!("{method} /mcp HTTP/1.1\r\n{session}{headers}Content-Length: {length}\r\n\r\n");
        self.stream.write_all((head + body).as_bytes()).unwrap();
    }

    /// The head and the body of the next answer; a body in chunks is left as it is.
    fn receive(&mut self) -> (String, String) {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") && self.read_into(&mut head, 1) {}
        let mut body = String::new();
        if head.to_lowercase().contains("chunked") {
            while !body.ends_with("0\r\n\r\n") && self.read_into(&mut body, 1) {}
        } else if head.to_lowercase().contains("content-length") {
            self.read_into(&mut body, header(&head, "content-length").parse().unwrap());
        }
        (head, body)
    }

    fn read_into(&mut self, text: &mut String, count: usize) -> bool {
        let mut bytes = vec![0; count];
        let is_read = self.stream.read_exact(&mut bytes).is_ok();
        text.push_str(&String::from_utf8_lossy(&bytes));
        is_read
    }

    fn post(&mut self, method: &str, params: Value) -> (String, String) {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.send("POST", "", &body.to_string());
        self.receive()
    }

    fn call(&mut self, tool: &str) -> (String, String) {
        self.post("tools/call", json!({"name": tool}))
    }
}

fn header(head: &str, name: &str) -> String {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(header, _)| header.eq_ignore_ascii_case(name));
    found
        .unwrap_or_else(|| panic!("no {name}: {head}"))
        .1
        .trim()
        .to_owned()
}

fn start(kind: &str) -> HttpServer {
    HttpServer::start(&Role::new(kind).eras(Eras::Legacy))
}

/// The head and the body of the answer to a call of `defect`.
fn defect(kind: &str) -> (String, String) {
    let server = start(kind);
    Client::open(&server).call("defect")
}

#[test]
fn every_kind_has_a_name_of_its_own_and_a_sentence() {
    let mut names = HashSet::new();
    for kind in kinds() {
        assert!(names.insert(kind.name), "{} twice", kind.name);
        assert!(kind.about.len() > 10 && !kind.about.ends_with('.'));
    }
    assert!(names.len() >= 60, "{}", names.len());
}

#[test]
fn the_honest_one_has_sessions() {
    let server = start("honest");
    let mut client = Client::open(&server);
    let (head, body) = client.call("echo");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(body.contains("as it should be"));
    client.send("DELETE", "", "");
    assert!(client.receive().0.starts_with("HTTP/1.1 204"));
    assert!(client.call("echo").0.starts_with("HTTP/1.1 404"));
    client.session = None;
    assert!(client.call("echo").0.starts_with("HTTP/1.1 400"));
    let requests = client.server.seen().requests;
    assert_eq!(requests.len(), 5);
    assert_eq!(requests[1].header("mcp-session-id"), Some("session-1"));
    assert_eq!(requests[1].message()["params"]["name"], "echo");
    assert_eq!((server.seen().connections, server.seen().strays), (1, 0));
    assert_eq!(server.seen().count("tools/call"), 3);
    drop(client);
    assert!(server.wait_until(Duration::from_secs(10), |seen| seen.open == 0));
}

#[test]
fn the_honest_one_is_stateless_if_told_to() {
    let server = HttpServer::start(&Role::new("honest").eras(Eras::Modern));
    let mut client = Client::connect(&server);
    let context = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    let (_, body) = client.post("server/discover", context.clone());
    assert!(body.contains("supportedVersions"), "{body}");
    assert!(client.post("ping", context).0.starts_with("HTTP/1.1 404"));
    let (head, body) = client.post("initialize", json!({}));
    assert!(head.starts_with("HTTP/1.1 400") && body.contains("-32022"));
    client.send("GET", "", "");
    assert!(client.receive().0.starts_with("HTTP/1.1 405"));
}

#[test]
fn a_server_that_holds_a_request_ends_when_it_is_dropped() {
    let server = start("silence");
    let mut client = Client::open(&server);
    client.send(
        "POST",
        "",
        r#"{"id":1,"method":"tools/call","params":{"name":"defect"}}"#,
    );
    let mut stream = client.stream.try_clone().unwrap();
    drop(server);
    assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
}

#[test]
fn a_reset_is_a_reset() {
    let server = start("reset");
    let mut client = Client::open(&server);
    client.send(
        "POST",
        "",
        r#"{"id":1,"method":"tools/call","params":{"name":"defect"}}"#,
    );
    let error = client.stream.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(server.seen().requests.len(), 2);
}

#[test]
fn statuses_and_bodies_are_wrong_as_they_should_be() {
    let check = |kind: &str, status: &str, part: &str| {
        let (head, body) = defect(kind);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status}")),
            "{kind}: {head}"
        );
        assert!(
            (head + &body).contains(part),
            "{kind}: {part:?} not in {body}"
        );
    };
    check("too-many-requests", "429", "Retry-After: 7");
    check("unauthorized", "401", "resource_metadata");
    check("no-content", "204", "");
    check("html-ok", "200", "Oops");
    check("trailing-garbage", "200", "served by a proxy");
    check("gzip", "200", "Content-Encoding: gzip");
    check("redirect-file", "307", "Location: file:///etc/passwd");
    check("events-crlf", "200", "\r\n\r\n\r\n0\r\n");
    check("events-split-data", "200", "data: {\ndata:   \"id\": 1,\n");
    check("events-between", "200", "a stranger's");
}

#[test]
fn everywhere_means_from_the_opening_on() {
    let role = Role::new("internal-error").everywhere();
    let server = HttpServer::start(&role);
    let (head, _) = Client::connect(&server).post("initialize", json!({}));
    assert!(head.starts_with("HTTP/1.1 500"));
}

#[test]
fn a_lost_session_is_opened_anew() {
    let server = start("session-lost-once");
    let mut client = Client::open(&server);
    assert!(client.call("defect").0.starts_with("HTTP/1.1 404"));
    let mut client = Client::open(&server);
    assert_eq!(client.session.as_deref(), Some("session-2"));
    assert!(client.call("defect").0.starts_with("HTTP/1.1 200"));
}

#[test]
fn a_stream_is_resumed() {
    let server = start("resumable");
    let mut client = Client::open(&server);
    let (_, body) = client.call("defect");
    assert!(body.contains("id: event-1\nretry: 30\ndata:\n\n"), "{body}");
    client.send("GET", "Last-Event-ID: event-1\r\n", "");
    assert!(client.receive().1.contains("as it should be"));
}

#[test]
fn the_old_transport_answers_on_its_stream() {
    let server = start("old-sse");
    let mut client = Client::connect(&server);
    assert!(client.call("echo").0.starts_with("HTTP/1.1 405"));
    let mut stream = Client::connect(&server);
    stream.send("GET", "", "");
    let mut seen = String::new();
    while !seen.contains("/post?s=1\n\n") && stream.read_into(&mut seen, 1) {}
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let post = format!(
        "POST /post?s=1 HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    client.stream.write_all(post.as_bytes()).unwrap();
    assert!(client.receive().0.starts_with("HTTP/1.1 202"));
    while !seen.contains("The tool echo") && stream.read_into(&mut seen, 1) {}
    assert!(seen.contains("event: message\ndata: {\"id\":1"), "{seen}");
}

#[test]
fn every_kind_ends_when_it_is_dropped() {
    let context = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    for (kind, eras) in kinds().flat_map(|kind| [(kind, Eras::Legacy), (kind, Eras::Modern)]) {
        let server = HttpServer::start(&Role::new(kind.name).eras(eras));
        let requests = [
            ("POST", json!({"id": 1, "method": "initialize"})),
            (
                "POST",
                json!({"id": 2, "method": "server/discover", "params": {"_meta": context}}),
            ),
            (
                "POST",
                json!({"id": 3, "method": "tools/call", "params": {"name": "defect"}}),
            ),
            ("GET", Value::Null),
            ("DELETE", Value::Null),
        ];
        for (method, message) in requests {
            let mut client = Client::connect(&server);
            client.session = Some("session-1".to_owned());
            client.send(method, "", &message.to_string());
            // Longer than any answer that comes at all, unless the machine is very busy.
            client
                .stream
                .set_read_timeout(Some(Duration::from_millis(5)))
                .unwrap();
            let _ = client.stream.read(&mut [0; 4096]).ok();
        }
        drop(server);
    }
}
