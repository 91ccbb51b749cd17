//! A gateway as it runs: over HTTP, while its file changes, until it is told to end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::child::{holding, server, traced};
use crate::place::Place;

/// A gateway that runs, and is killed at the latest when this is dropped.
pub(crate) struct Serving {
    process: Child,
    said: BufReader<ChildStderr>,
    port: u16,
}

impl Serving {
    pub(crate) fn start(place: &Place, words: &[&str]) -> Self {
        let words = [&["serve", "--http", "0"], words].concat();
        Self::begin(command(place, &words))
    }

    /// The same by a command of one's own.
    pub(crate) fn begin(mut command: Command) -> Self {
        let mut process = command.spawn().unwrap();
        let said = BufReader::new(process.stderr.take().unwrap());
        let mut serving = Self {
            process,
            said,
            port: 0,
        };
        let line = serving.hear("listening on");
        let port = line.rsplit(':').next().unwrap();
        serving.port = port.trim_end_matches("/mcp").parse().unwrap();
        serving
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Waits until it says this on standard error.
    pub(crate) fn hear(&mut self, words: &str) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            let length = self.said.read_line(&mut line).unwrap();
            assert_ne!(length, 0, "it ended before it said {words:?}:\n{all}");
            if line.contains(words) {
                return line.trim_end().to_owned();
            }
            all.push_str(&line);
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let process = Pid::from_child(&self.process);
        kill_process(process, signal).unwrap();
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let mut stream = self.connect();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        answer(stream)
    }

    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> TcpStream {
        self.post(tool, arguments, &json!({}), "")
    }

    /// Begins a call.
    pub(crate) fn post(
        &self,
        tool: &str,
        arguments: &Value,
        meta: &Value,
        headers: &str,
    ) -> TcpStream {
        let mut about = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let more = meta.as_object().unwrap().clone();
        about.as_object_mut().unwrap().extend(more);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments, "_meta": about}})
        .to_string();
        let mut stream = self.connect();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n\
             {headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        stream
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream
    }

    pub(crate) fn ended(mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn command(place: &Place, words: &[&str]) -> Command {
    let mut command = place.command(words);
    let runtime = place.path("run");
    std::fs::create_dir_all(&runtime).unwrap();
    command.env("XDG_RUNTIME_DIR", runtime);
    command
}

pub(crate) fn run(place: &Place, words: &[&str]) -> crate::place::Ended {
    command(place, words).output().unwrap().into()
}

pub(crate) fn answer(mut stream: TcpStream) -> (u16, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let status = text.get(9..12).unwrap_or_default().parse().unwrap();
    (status, text)
}

/// Writes it as editors do: beside it, and then in its place.
fn replace(place: &Place, servers: &Value) {
    place.write("new.json", &json!({"mcpServers": servers}).to_string());
    std::fs::rename(place.path("new.json"), place.path("mcp.json")).unwrap();
}

#[test]
fn a_gateway_takes_over_what_changes_in_its_file() {
    let place = Place::with(json!({"one": server()}));
    let mut serving = Serving::start(&place, &[]);
    serving.hear("one: ready");
    replace(&place, &json!({"one": server(), "two": server()}));
    let said = serving.hear("added");
    assert!(said.ends_with("/mcp.json: added two; kept one"), "{said}");
    serving.hear("two: ready");
    let (status, text) = answer(serving.call("two__echo", &json!({"text": "hi"})));
    assert!(status == 200 && text.contains("\"hi\""), "{text}");
    // What is wrong changes nothing, and where it is wrong is said.
    place.write("mcp.json", "{\"mcpServers\": {\"one\": }}");
    let said = serving.hear("mcp.json:");
    assert!(said.contains("mcp.json:1:24:"), "{said}");
    assert!(said.ends_with("the servers stay as they are"), "{said}");
    let (status, _) = answer(serving.call("two__echo", &json!({"text": "hi"})));
    assert_eq!(status, 200);
}

#[test]
fn a_hangup_has_the_file_read_at_once() {
    let place = Place::with(json!({"one": server()}));
    let mut serving = Serving::start(&place, &["--no-watch"]);
    serving.hear("one: ready");
    replace(&place, &json!({}));
    serving.signal(Signal::HUP);
    let said = serving.hear("removed");
    assert!(said.ends_with("/mcp.json: removed one"), "{said}");
}

#[test]
fn calls_in_flight_finish_before_the_end() {
    let place = Place::with(json!({"one": holding()}));
    let mut serving = Serving::start(&place, &["--drain", "60s"]);
    serving.hear("one: ready");
    let gate = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = gate.local_addr().unwrap().port();
    let call = serving.call("one__hold", &json!({"port": port}));
    let (held, _) = gate.accept().unwrap();
    serving.signal(Signal::TERM);
    serving.hear("ending");
    // No new ones: it does not listen any more.
    while TcpStream::connect(("127.0.0.1", serving.port)).is_ok() {
        std::thread::yield_now();
    }
    drop(held);
    let (status, text) = answer(call);
    assert!(status == 200 && text.contains("let go"), "{text}");
    assert_eq!(serving.ended(), Some(0));
}

#[test]
fn the_second_signal_does_not_wait() {
    let place = Place::with(json!({"one": holding()}));
    let mut serving = Serving::start(&place, &["--drain", "60s"]);
    serving.hear("one: ready");
    let gate = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = gate.local_addr().unwrap().port();
    let call = serving.call("one__hold", &json!({"port": port}));
    let held = gate.accept().unwrap();
    serving.signal(Signal::INT);
    serving.hear("ending");
    serving.signal(Signal::INT);
    assert_eq!(serving.ended(), Some(130));
    drop((held, call));
}

#[test]
fn a_gateway_that_ends_with_nothing_to_do_ends_at_once() {
    let place = Place::with(json!({}));
    let serving = Serving::start(&place, &[]);
    serving.signal(Signal::TERM);
    assert_eq!(serving.ended(), Some(0));
}

#[test]
fn health_and_numbers_are_beside_the_endpoint() {
    let mut broken = json!({"command": "/no/such/program"});
    broken["x-switchboard"] = json!({"required": true});
    let place = Place::with(json!({"one": server(), "other": broken}));
    let mut serving = Serving::start(&place, &[]);
    serving.hear("one: ready");
    assert_eq!(serving.get("/healthz").0, 200);
    let (status, text) = serving.get("/readyz");
    assert_eq!(status, 503, "{text}");
    assert!(text.contains("0 of 1 required servers"), "{text}");
    answer(serving.call("one__echo", &json!({"text": "hi"})));
    let (status, text) = serving.get("/metrics");
    assert_eq!(status, 200);
    assert!(text.contains("gen_ai_tool_name=\"echo\""), "{text}");
    assert_eq!(serving.get("/nothing").0, 404);
    // A page that has made its name point here learns nothing.
    for path in ["/healthz", "/readyz", "/metrics"] {
        let mut stream = serving.connect();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        assert_eq!(answer(stream).0, 403, "{path}");
    }
    replace(&place, &json!({"one": server()}));
    serving.hear("removed other");
    assert_eq!(serving.get("/readyz").0, 200);
}

#[test]
fn a_gateway_that_runs_is_asked_over_its_socket() {
    let place = Place::with(json!({"one": server()}));
    let none = run(&place, &["status"]);
    assert!(none.stderr.contains("no gateway is running"), "{none:?}");
    assert_eq!(none.code, 4);
    let mut serving = Serving::start(&place, &["--no-watch"]);
    serving.hear("one: ready");
    answer(serving.call("one__echo", &json!({"text": "hi"})));
    let status = run(&place, &["status", "--json"]).json();
    let gateway = &status["gateways"][0];
    assert_eq!(gateway["pid"], serving.process.id());
    let one = &gateway["servers"][0];
    assert_eq!(
        (&one["name"], &one["state"]),
        (&json!("one"), &json!("ready"))
    );
    assert_eq!((&one["calls"], &one["errors"]), (&json!(1), &json!(0)));
    let shown = run(&place, &["status"]).done();
    assert!(
        shown.contains("mcp.json") && shown.contains("one"),
        "{shown}"
    );

    let socket = place.path(&format!("run/switchboard/{}.sock", serving.process.id()));
    use std::os::unix::fs::PermissionsExt;
    let mode = socket.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let restarted = run(&place, &["restart", "one"]).done();
    assert_eq!(restarted, "one is restarted and ready\n");
    let missing = run(&place, &["restart", "two"]);
    assert_eq!(missing.code, 2, "{missing:?}");
    let logs = run(&place, &["logs", "one", "--jsonl"]).done();
    let ready = logs.lines().filter(|line| line.contains("ready, revision"));
    assert_eq!(ready.count(), 2, "{logs}");
    let missing = run(&place, &["logs", "on"]);
    assert_eq!(missing.code, 2, "{missing:?}");
    assert!(missing.stderr.contains("no server \"on\""), "{missing:?}");
    let last = run(&place, &["logs", "--last", "1", "--jsonl"]).done();
    assert_eq!(last.lines().count(), 1);

    replace(&place, &json!({}));
    let reloaded = run(&place, &["reload"]).done();
    assert!(reloaded.ends_with("/mcp.json: removed one\n"), "{reloaded}");
    serving.signal(Signal::TERM);
    assert_eq!(serving.ended(), Some(0));
    assert!(!socket.exists());
}

#[test]
fn logs_are_followed_until_the_reader_goes() {
    let place = Place::with(json!({"one": server()}));
    let mut serving = Serving::start(&place, &[]);
    serving.hear("one: ready");
    let mut following = command(&place, &["logs", "--follow", "one"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("ready, revision")));
    run(&place, &["restart", "one"]).done();
    assert!(lines.any(|line| line.unwrap().contains("ready, revision")));
    serving.signal(Signal::TERM);
    assert_eq!(serving.ended(), Some(0));
    following.wait().unwrap();
}

#[test]
fn of_several_gateways_one_has_to_be_named() {
    let place = Place::with(json!({"one": server()}));
    place.write("other.json", &json!({"mcpServers": {}}).to_string());
    let first = Serving::start(&place, &[]);
    let second = Serving::start(&place, &["--config", "other.json"]);
    let failed = run(&place, &["reload"]);
    assert_eq!(failed.code, 2);
    for serving in [&first, &second] {
        let socket = format!("{}.sock", serving.process.id());
        assert!(failed.stderr.contains(&socket), "{failed:?}");
    }
    let named = run(&place, &["reload", "--config", "other.json"]).done();
    assert_eq!(named, "other.json: nothing has changed\n");
    let socket = place.path(&format!("run/switchboard/{}.sock", first.process.id()));
    let named = run(&place, &["reload", "--socket", socket.to_str().unwrap()]).done();
    assert!(
        named.ends_with("/mcp.json: nothing has changed\n"),
        "{named}"
    );
    let all = run(&place, &["status", "--json"]).json();
    assert_eq!(all["gateways"].as_array().unwrap().len(), 2);
}

#[test]
fn the_socket_of_a_gateway_that_was_killed_is_tidied_up() {
    let place = Place::with(json!({}));
    let serving = Serving::start(&place, &[]);
    let socket = place.path(&format!("run/switchboard/{}.sock", serving.process.id()));
    assert!(socket.exists(), "before it says where it listens");
    drop(serving);
    assert!(socket.exists());
    assert_eq!(run(&place, &["status"]).code, 4);
    assert!(!socket.exists());
}

#[test]
fn one_trace_goes_from_the_client_through_the_gateway_to_the_server() {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", collector.local_addr().unwrap());
    let place = Place::with(json!({"one": traced()}));
    let mut serving = Serving::start(&place, &["--otlp", &url]);
    serving.hear("one: ready");
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let mut expected = Vec::new();
    // Said with the call, and by the request that brings it.
    for (parent, is_header) in [("00f067aa0ba902b7", false), ("00f067aa0ba902b8", true)] {
        let said = format!("00-{trace}-{parent}-01");
        let (meta, headers) = match is_header {
            true => (json!({}), format!("traceparent: {said}\r\n")),
            false => (json!({"traceparent": said}), String::new()),
        };
        let (status, text) = answer(serving.post("one__trace", &json!({}), &meta, &headers));
        assert_eq!(status, 200, "{text}");
        // What the server was told: the same trace, and the span of the gateway.
        let (_, told) = text.split_once(&format!("00-{trace}-")).unwrap();
        let span = &told[..16];
        assert_ne!(span, parent);
        // Fields 1, 2 and 4 of a span in OTLP.
        expected.push([
            vec![0x0a, 16],
            bytes(trace),
            vec![0x12, 8],
            bytes(span),
            vec![0x22, 8],
            bytes(parent),
        ]);
    }
    serving.signal(Signal::TERM);
    while !expected.is_empty() {
        let (path, body) = receive(&collector);
        if path == "/v1/traces" {
            expected.retain(|span| {
                let span = span.concat();
                !body.windows(span.len()).any(|part| part == span)
            });
        }
    }
    // Metrics are sent in the end too.
    drop(collector);
    assert_eq!(serving.ended(), Some(0));
}

fn bytes(digits: &str) -> Vec<u8> {
    let places = (0..digits.len()).step_by(2);
    places
        .map(|place| u8::from_str_radix(&digits[place..place + 2], 16).unwrap())
        .collect()
}

#[test]
fn the_first_transport_is_served_where_it_is_wanted() {
    let place = Place::with(json!({"one": server()}));
    let mut serving = Serving::start(&place, &["--sse"]);
    serving.hear("one: ready");
    let mut stream = serving.connect();
    write!(
        stream,
        "GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
    )
    .unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut next = || {
        let mut events = lines.by_ref().map(Result::unwrap);
        let event = events.find(|line| line.starts_with("data: ")).unwrap();
        event["data: ".len()..].to_owned()
    };
    let endpoint = next();
    assert!(endpoint.contains("/message?"), "{endpoint}");
    let post = |message: &Value| {
        let body = message.to_string();
        let mut stream = serving.connect();
        write!(
            stream,
            "POST {endpoint} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        assert_eq!(answer(stream).0, 202);
    };
    post(
        &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2024-11-05", "capabilities": {},
        "clientInfo": {"name": "old", "version": "1"}}}),
    );
    assert!(next().contains(r#""protocolVersion":"2024-11-05""#));
    post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    post(
        &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "one__echo", "arguments": {"text": "how it began"}}}),
    );
    let answered = next();
    assert!(answered.contains(r#""id":2"#) && answered.contains("how it began"));
    let other = Serving::start(&place, &[]);
    assert_eq!(other.get("/sse").0, 404);
}

/// Takes one request, and says that it is fine.
fn receive(collector: &TcpListener) -> (String, Vec<u8>) {
    let (stream, _) = collector.accept().unwrap();
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    let mut path = String::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some(rest) = line.strip_prefix("POST ") {
            path = rest.split(' ').next().unwrap().to_owned();
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    stream.get_mut().write_all(answer.as_bytes()).unwrap();
    (path, body)
}

/// Long enough for whoever must end before.
const LONG: Duration = Duration::from_secs(60);
