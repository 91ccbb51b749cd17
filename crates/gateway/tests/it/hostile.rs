//! Clients that attack a gateway: foreign names on every route, headers of insiders, cursors that
//! were made up, calls of others, methods that would steer it; and what may be found in its logs.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use http::Method;
use serde_json::{Value, json};
use switchboard_gateway::{GatewayLimits, Key};
use switchboard_hub::{Profile, ServerConfig, ToolFilter};
use switchboard_protocol::Era;
use switchboard_server::{Server, tool};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::cell::soon;
use crate::child::server;
use crate::house::{Answered, House};

fn ada() -> [Key; 2] {
    let ci = Key::new("ci", "secret-ci").profile("work");
    [Key::new("ada", "secret-ada"), ci]
}

async fn locked() -> House {
    House::open(|gateway| {
        let mut work = Profile::new("work");
        work.servers = ToolFilter::default().allow(["one"]);
        gateway.profiles(vec![work]).access(&ada(), None).unwrap()
    })
    .await
}

/// What a call, a list and the numbers answer: what must not depend on anybody's headers.
fn outline(answer: &Answered) -> (u16, Value) {
    let mut json = serde_json::from_str(&answer.text).unwrap_or(Value::Null);
    if let Some(meta) = json.pointer_mut("/result/_meta") {
        *meta = Value::Null;
    }
    (answer.status, json)
}

async fn call_with(
    house: &House,
    tool: &str,
    key: Option<&str>,
    headers: &[(&str, &str)],
) -> Answered {
    let params = json!({"name": tool, "arguments": {}});
    house
        .request_with("/mcp", key, "tools/call", Some(tool), params, headers)
        .await
}

async fn get_with(
    house: &House,
    path: &str,
    key: Option<&str>,
    headers: &[(&str, &str)],
) -> Answered {
    house
        .send(Method::GET, path, key, headers, String::new())
        .await
}

/// Headers that proxies and gateways set for those behind them, and that someone may have trusted.
const INSIDERS: &[(&str, &str)] = &[
    ("x-forwarded-for", "127.0.0.1"),
    ("x-forwarded-host", "evil.example"),
    ("x-forwarded-proto", "https"),
    ("x-forwarded-prefix", "/admin"),
    ("x-forwarded-user", "ada"),
    ("x-forwarded-email", "ada@example.com"),
    ("x-forwarded-access-token", "secret-ada"),
    ("forwarded", "for=127.0.0.1;host=localhost;proto=https"),
    ("x-real-ip", "127.0.0.1"),
    ("true-client-ip", "127.0.0.1"),
    ("x-client-ip", "127.0.0.1"),
    ("x-original-url", "/metrics"),
    ("x-rewrite-url", "/metrics"),
    ("x-original-host", "localhost"),
    ("x-http-method-override", "DELETE"),
    ("x-method-override", "DELETE"),
    ("x-remote-user", "ada"),
    ("remote-user", "ada"),
    ("x-user", "ada"),
    ("x-auth-request-user", "ada"),
    ("x-authenticated-user", "ada"),
    ("x-api-key", "secret-ada"),
    ("proxy-authorization", "Bearer secret-ada"),
    (
        "cookie",
        "authorization=Bearer%20secret-ada; key=secret-ada",
    ),
    ("mcp-server", "two"),
    ("mcp-profile", "work"),
    ("mcp-target", "two"),
    ("mcp-user", "ada"),
    ("x-mcp-server", "two"),
    ("x-mcp-proxy-auth", "Bearer secret-ada"),
    ("x-switchboard-server", "two"),
    ("x-switchboard-profile", "work"),
    ("x-envoy-original-path", "/metrics"),
    ("x-internal", "1"),
    ("connection", "authorization"),
    ("te", "trailers"),
    ("via", "1.1 localhost"),
];

#[tokio::test]
async fn headers_that_only_insiders_send_change_nothing() {
    let house = locked().await;
    let list = "tools/list";
    // Without a key, with one, with one of a profile: as it is without the header.
    for key in [None, Some("secret-ada"), Some("secret-ci")] {
        let call = async |headers: &[(&str, &str)]| {
            let echo = call_with(&house, "one__echo", key, headers).await;
            let other = call_with(&house, "two__echo", key, headers).await;
            let listed = house
                .request_with("/mcp", key, list, None, json!({}), headers)
                .await;
            let numbers = get_with(&house, "/metrics", key, headers).await;
            let alive = get_with(&house, "/healthz", key, headers).await;
            (
                [outline(&echo), outline(&other), outline(&listed)],
                [numbers.status, alive.status],
            )
        };
        let plain = call(&[]).await;
        match key {
            None => assert_eq!((plain.0[0].0, plain.1), (401, [401, 200])),
            Some("secret-ci") => assert_eq!((plain.0[0].0, plain.1), (200, [403, 200])),
            Some(_) => assert_eq!((plain.0[0].0, plain.1), (200, [200, 200])),
        }
        for header in INSIDERS {
            assert_eq!(call(&[*header]).await, plain, "{header:?} with {key:?}");
        }
        assert_eq!(call(INSIDERS).await, plain, "all of them with {key:?}");
    }
    // Nor does one of them reach a server.
    let seen = call_with(&house, "one__headers", Some("secret-ada"), INSIDERS).await;
    let seen = seen.said();
    assert!(seen.contains("host: "), "{seen}");
    for (name, value) in INSIDERS {
        // These two belong to each connection on its own.
        if !["connection", "te"].contains(name) {
            assert!(!seen.contains(&format!("{name}: ")), "{name}: {seen}");
        }
        let is_telling = value.len() > 8 && *value != "127.0.0.1";
        assert!(!is_telling || !seen.contains(value), "{value}: {seen}");
    }
    house.close().await;
}

#[tokio::test]
async fn foreign_names_are_refused_on_every_route() {
    let house = locked().await;
    let own = house.url("").replace("http://", "");
    for path in [
        "/mcp",
        "/mcp/work",
        "/metrics",
        "/healthz",
        "/livez",
        "/readyz",
    ] {
        for verb in ["GET", "POST", "DELETE", "OPTIONS"] {
            for (host, origin) in [
                ("evil.example", None),
                ("127.0.0.1.evil.example", None),
                (&*own, Some("http://evil.example")),
                (&*own, Some("null")),
            ] {
                let origin = origin.map_or(String::new(), |name| format!("origin: {name}\r\n"));
                let head = format!(
                    "{verb} {path} HTTP/1.1\r\nhost: {host}\r\n{origin}\
                     authorization: Bearer secret-ada\r\nmcp-session-id: x\r\n\
                     content-type: application/json\r\naccept: text/event-stream\r\n\
                     content-length: 0\r\nconnection: close\r\n\r\n"
                );
                let mut stream = TcpStream::connect(&own).await.unwrap();
                stream.write_all(head.as_bytes()).await.unwrap();
                let mut answer = String::new();
                soon(stream.read_to_string(&mut answer)).await.unwrap();
                assert!(answer.starts_with("HTTP/1.1 403 "), "{head}{answer}");
                assert!(!answer.contains("access-control"), "{head}{answer}");
            }
        }
    }
    // The same with the right names, so that it is not for another reason.
    let key = Some("secret-ada");
    for path in ["/metrics", "/healthz", "/livez", "/readyz"] {
        assert_eq!(house.get(path, key).await.status, 200, "{path}");
    }
    house.close().await;
}

#[tokio::test]
async fn a_cursor_that_was_made_up_changed_or_is_anothers_is_refused() {
    // More than a page of tools.
    let many = (0..600).fold(Server::new("many", "1"), |server, number| {
        server.tool(tool(format!("t{number}"), async || "x"))
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let site = many.site().unwrap();
    let behind = tokio::spawn(async move {
        let settings = site.http_settings();
        site.serve_http_on(listener, settings, std::future::pending())
            .await
    });
    let servers = vec![ServerConfig::url("one", &url)];
    let keys = [Key::new("ada", "secret-ada"), Key::new("bob", "secret-bob")];
    let house = House::open_before(servers, |gateway| gateway.access(&keys, None).unwrap()).await;
    let list = async |key: &'static str, cursor: Option<&str>| {
        let params = cursor.map_or(json!({}), |cursor| json!({"cursor": cursor}));
        house
            .request("/mcp", Some(key), "tools/list", None, params)
            .await
            .json()
    };
    let first = list("secret-ada", None).await;
    let cursor = first["result"]["nextCursor"].as_str().unwrap().to_owned();
    let second = list("secret-ada", Some(&cursor)).await;
    assert_eq!(second["result"]["tools"].as_array().unwrap().len(), 100);
    // The same again is the same page: it takes up nothing and gives away nothing.
    let again = list("secret-ada", Some(&cursor)).await;
    assert_eq!(again["result"]["tools"], second["result"]["tools"]);
    let mut changed = cursor.clone().into_bytes();
    let middle = changed.len() / 2;
    changed[middle] = if changed[middle] == b'A' { b'B' } else { b'A' };
    let changed = String::from_utf8(changed).unwrap();
    let huge = "A".repeat(100_000);
    for (key, made_up) in [
        ("secret-ada", ""),
        ("secret-ada", "500"),
        ("secret-ada", "-1"),
        ("secret-ada", "[1,500]"),
        ("secret-ada", "../.."),
        ("secret-ada", &changed),
        ("secret-ada", &cursor[1..]),
        ("secret-ada", &huge),
        ("secret-bob", &cursor),
    ] {
        let refused = list(key, Some(made_up)).await;
        let shown = made_up.get(..20).unwrap_or(made_up);
        assert_eq!(refused["error"]["code"], -32602, "{key} {shown} {refused}");
    }
    house.close().await;
    behind.abort();
}

/// Two sessions call with the same id, and each cancels by it.
#[tokio::test]
async fn who_cancels_by_an_id_ends_his_own_call_alone() {
    for era in [Era::Handshake, Era::Stateless] {
        let servers = vec![server("one", era)];
        let house = House::open_before(servers, |gateway| gateway.access(&ada(), None).unwrap());
        let house = house.await;
        let gate = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = gate.local_addr().unwrap().port();
        let open = async || {
            let begun = house.initialize("secret-ada").await;
            begun.headers["mcp-session-id"].to_str().unwrap().to_owned()
        };
        let (ada, bob) = (open().await, open().await);
        let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
            "params": {"name": "one__released", "arguments": {"port": port}}});
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": 5}});
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        for session in [&ada, &bob] {
            assert_eq!(house.post_in(session, &told).await.status, 202);
        }
        let calling = house.post_in(&ada, &call);
        let attack = async {
            let (held, _) = soon(gate.accept()).await.unwrap();
            assert_eq!(house.post_in(&bob, &cancel).await.status, 202);
            // It has no such call; whatever is told before a call is heard before it.
            let list = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/list"});
            assert_eq!(house.post_in(&bob, &list).await.status, 200);
            drop(held);
        };
        let both = Box::pin(async { tokio::join!(calling, attack) });
        let (answer, ()) = soon(both).await;
        assert!(answer.text.contains("released"), "{era:?} {answer:?}");
        house.close().await;
    }
}

/// What a socket of its user is for is nothing that a client can ask.
#[tokio::test]
async fn no_method_of_a_client_steers_a_gateway() {
    let house = locked().await;
    let before = house.list("/mcp", Some("secret-ada")).await.tools();
    let told = json!({"server": "one", "name": "one", "config": {"command": "touch"},
        "command": "touch", "args": ["x"], "url": "http://127.0.0.1:1/mcp"});
    for word in [
        "reload", "restart", "status", "logs", "stop", "add", "remove", "start",
    ] {
        for method in [
            word.to_owned(),
            format!("switchboard/{word}"),
            format!("gateway/{word}"),
            format!("servers/{word}"),
            format!("admin/{word}"),
            format!("tools/{word}"),
        ] {
            let answer = house
                .request("/mcp", Some("secret-ada"), &method, None, told.clone())
                .await;
            let code = answer.json()["error"]["code"].as_i64();
            assert!(matches!(code, Some(-32601 | -32600)), "{method} {answer:?}");
        }
        for path in [
            format!("/{word}"),
            format!("/mcp/{word}"),
            format!("/admin/{word}"),
        ] {
            let key = Some("secret-ada");
            for method in [Method::GET, Method::POST] {
                let answer = house.send(method, &path, key, &[], told.to_string()).await;
                assert_eq!(answer.status, 404, "{path} {answer:?}");
            }
        }
    }
    assert_eq!(house.list("/mcp", Some("secret-ada")).await.tools(), before);
    for status in house.gateway.hub().servers() {
        assert!(status.state.is_ready(), "{}: {}", status.name, status.state);
    }
    house.close().await;
}

#[tokio::test]
async fn a_call_over_http_beyond_the_limit_is_503_with_a_time_to_come_again() {
    let mut limits = GatewayLimits::default();
    limits.set("calls", 1).unwrap();
    let house = House::open(|gateway| gateway.limits(limits)).await;
    let gate = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = gate.local_addr().unwrap().port();
    let arguments = json!({"port": port});
    let held = house.call_with("/mcp", None, "one__hold", &arguments);
    let mut held = Box::pin(held);
    tokio::select! {
        _ = soon(gate.accept()) => {}
        never = &mut held => panic!("{never:?}"),
    }
    let refused = house.call("/mcp", None, "one__echo").await;
    assert_eq!(refused.status, 503, "{refused:?}");
    assert_eq!(refused.headers["retry-after"], "1");
    assert_eq!(refused.json()["error"]["data"]["limit"], "calls");
    drop(held);
    // It recovers as soon as the one before has gone.
    let recovered = async {
        while house.call("/mcp", None, "one__echo").await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    soon(recovered).await;
    house.close().await;
}

/// Hears everything that any crate says of itself in this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // What is printed may itself say something: the lock is not held meanwhile.
        let line = format!("{field}={value:?}\n");
        self.0.lock().unwrap().push_str(&line);
    }
}

/// In a process of its own: that somebody listens changes what others do.
#[test]
fn the_finest_log_of_client_gateway_and_hub_shows_no_secret() {
    if std::env::var_os(ALONE).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        return runtime.unwrap().block_on(search_the_finest_log());
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("hostile::the_finest_log_of_client_gateway_and_hub_shows_no_secret")
        .env(ALONE, "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 passed"), "{said}");
}

/// Client, gateway, hub and server, all in this one thread, with everything written down that
/// anybody writes anywhere.
async fn search_the_finest_log() {
    let log = Log::default();
    let _listening = tracing::subscriber::set_default(log.clone());
    let behind = House::open(|gateway| gateway).await;
    let far = ServerConfig::url("far", &behind.url("/mcp"))
        .header("Authorization", "Bearer s3cret-of-the-server")
        .header("X-Api-Key", "s3cret-in-a-header");
    let child = server("near", Era::Stateless).env("TOKEN", "s3cret-of-the-child");
    let house = House::open_before(vec![far, child], |gateway| {
        let keys = [Key::new("ada", "s3cret-of-ada")];
        gateway.access(&keys, None).unwrap()
    })
    .await;
    let mut sessions = Vec::new();
    for era in [Era::Handshake, Era::Stateless] {
        let client = house.client(era, "/mcp", "s3cret-of-ada").await;
        let said = client.call("far__one__echo").arg("text", "s3cret-argument");
        let said = soon(said).await.unwrap().joined_text();
        assert_eq!(said, "s3cret-argument");
        assert!(soon(client.call("near__fail")).await.is_ok());
        assert!(soon(client.call("far__nothing")).await.is_err());
        soon(client.close()).await;
    }
    let begun = house.initialize("s3cret-of-ada").await;
    sessions.push(begun.headers["mcp-session-id"].to_str().unwrap().to_owned());
    assert_eq!(
        house.call("/mcp", Some("s3cret-guess"), "x").await.status,
        401
    );
    house.close().await;
    behind.close().await;
    let text = log.0.lock().unwrap().clone();
    assert!(text.contains("far") && text.contains("near"), "{text}");
    for line in text.lines() {
        assert!(!line.contains("s3cret"), "{line}");
        for session in &sessions {
            assert!(!line.contains(session), "{line}");
        }
    }
}

const ALONE: &str = "SWITCHBOARD_GATEWAY_ALONE";
