//! Many calls, many cancels, many disconnects: nothing may be left of them.
//!
//! `cargo test` makes a few thousand. The full run is a command, in release mode:
//!
//! ```text
//! SWITCHBOARD_SOAK=100000 cargo test --release -p switchboard-server --test it soak -- --nocapture
//! ```
//!
//! It runs in a process of its own, so that other tests do not count.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_server::{Limits, Site};
use switchboard_testkit::dice::Dice;
use switchboard_testkit::process::resident;

use crate::fixture::{Witness, server};
use crate::http_client::{Connection, Served};
use crate::peer::{HttpPeer, envelope};
use crate::pipe_client::{PipeClient, request};

/// Tells the process which of the runs to do.
const PART: &str = "SWITCHBOARD_TEST_SOAK";

/// How many calls; the variable that says more.
const CALLS: usize = 10_000;
const WANTED: &str = "SWITCHBOARD_SOAK";

/// Not a test by itself: what the others start.
#[test]
fn the_process() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        match part.as_str() {
            "pipe" => flat(calls_on_pipes).await,
            "http" => flat(calls_over_http).await,
            "sessions" => idle_sessions().await,
            "abandoned" => flat(abandoned_sessions).await,
            other => panic!("{other}"),
        }
    });
}

/// Has one run done by a process of its own.
fn run(part: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "soak::the_process", "--nocapture"])
        .env(PART, part)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}\n{wrong}");
    report(said.lines().filter(|line| line.starts_with("soak: ")));
}

#[expect(clippy::print_stdout, reason = "figures for whoever runs it by hand")]
fn report<S: AsRef<str>>(lines: impl IntoIterator<Item = S>) {
    for line in lines {
        println!("{}", line.as_ref());
    }
}

#[test]
fn calls_cancels_and_disconnects_on_pipes_leave_nothing_behind() {
    run("pipe");
}

#[test]
fn calls_cancels_and_disconnects_over_http_leave_nothing_behind() {
    run("http");
}

#[test]
fn ten_thousand_idle_sessions_are_held_and_cost_little() {
    run("sessions");
}

#[test]
fn sessions_that_are_abandoned_give_back_what_they_took() {
    run("abandoned");
}

fn calls() -> usize {
    std::env::var(WANTED).map_or(CALLS, |count| count.parse().unwrap())
}

/// Runs a load in five parts, and holds the memory after the last to that after the second.
async fn flat(load: impl AsyncFn(&Witness, usize, &mut Dice)) {
    let witness = Witness::new();
    let mut dice = Dice::default();
    let part = calls() / 5;
    let mut warm = 0;
    let mut last = 0;
    for round in 0..5 {
        load(&witness, part, &mut dice).await;
        witness.all_dropped().await;
        last = resident();
        report([format!(
            "soak: {} calls, {} KiB resident",
            (round + 1) * part,
            last >> 10
        )]);
        if round == 1 {
            warm = last;
        }
    }
    let most = warm + warm / 20;
    assert!(last <= most, "{warm} bytes grew to {last}");
}

async fn calls_on_pipes(witness: &Witness, count: usize, dice: &mut Dice) {
    let mut limits = Limits::default();
    // Nobody is there to wait for the calls of those who left.
    limits.drain = Duration::from_millis(5);
    let site = server(witness).limits(limits).site().unwrap();
    let mut left = count;
    while left > 0 {
        let mut client = PipeClient::open(&site, "2025-11-25", json!({})).await;
        let calls = (1 + dice.roll(200) as usize).min(left);
        left -= calls;
        let mut open = Vec::new();
        for _ in 0..calls {
            match dice.roll(4) {
                0 => {
                    client.tool("add", json!({"a": 1, "b": 2})).await;
                }
                1 => {
                    let id = client.begin("tools/call", json!({"name": "wait"})).await;
                    client
                        .tell("notifications/cancelled", json!({"requestId": id}))
                        .await;
                }
                2 => {
                    let params = json!({"name": "progress", "_meta": {"progressToken": 1}});
                    let id = client.begin("tools/call", params).await;
                    client.hear("notifications/progress").await;
                    client
                        .tell("notifications/cancelled", json!({"requestId": id}))
                        .await;
                }
                _ => {
                    let id = client.begin("tools/call", json!({"name": "wait"})).await;
                    if dice.roll(2) == 0 {
                        witness.let_go(1);
                    }
                    open.push(id);
                }
            }
        }
        match dice.roll(2) {
            0 => client.vanish().await,
            _ => {
                for id in open {
                    client
                        .tell("notifications/cancelled", json!({"requestId": id}))
                        .await;
                }
                client.close().await;
            }
        }
    }
}

async fn calls_over_http(witness: &Witness, count: usize, dice: &mut Dice) {
    let site = server(witness).site().unwrap();
    let served = Arc::new(Served::new(&site).await);
    let mut left = count;
    while left > 0 {
        let mut peers = Vec::new();
        for _ in 0..8 {
            let calls = (1 + dice.roll(100) as usize).min(left);
            left -= calls;
            let seed = dice.roll(u64::MAX);
            let served = Arc::clone(&served);
            peers.push(tokio::spawn(http_client(served, calls, Dice::new(seed))));
        }
        for peer in peers {
            peer.await.unwrap();
        }
    }
    let served = Arc::into_inner(served).unwrap();
    served.ended().await;
}

fn post(session: Option<&str>, method: &str, name: Option<&str>) -> Vec<String> {
    let mut headers = vec![
        "content-type: application/json".to_owned(),
        "accept: application/json, text/event-stream".to_owned(),
    ];
    match session {
        Some(session) => headers.push(format!("mcp-session-id: {session}")),
        None => {
            headers.push("mcp-protocol-version: 2026-07-28".to_owned());
            headers.push(format!("mcp-method: {method}"));
            headers.extend(name.map(|name| format!("mcp-name: {name}")));
        }
    }
    headers
}

/// One client: a session, or stateless calls; some answered, some cancelled, some left.
async fn http_client(served: Arc<Served>, calls: usize, mut dice: Dice) {
    let mut connection = Connection::open(served.address).await;
    let mut session = None;
    if dice.roll(2) == 0 {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}});
        let text = request(1, "initialize", params).to_string();
        let mut response = connection
            .request("POST", "/mcp", &post(Some("none"), "", None)[..2], &text)
            .await;
        session = Some(response.header("mcp-session-id").unwrap().to_owned());
        response.text().await;
        connection = response.into_connection();
    }
    for id in 0..calls as u64 {
        let name = ["add", "wait", "progress"][dice.roll(3) as usize];
        let mut params = json!({"name": name, "_meta": {"progressToken": 1}});
        if name == "add" {
            params["arguments"] = json!({"a": 1, "b": 2});
        }
        if session.is_none() {
            params = envelope(params, &json!({}), &json!({"progressToken": 1}));
        }
        let headers = post(session.as_deref(), "tools/call", Some(name));
        let text = request(10 + id, "tools/call", params).to_string();
        connection.send("POST", "/mcp", &headers, &text).await;
        if name == "progress" && dice.roll(2) == 0 {
            let mut response = connection.response().await;
            assert!(response.message().await.is_some());
            connection = response.into_connection();
        }
        if name == "add" {
            let mut response = connection.response().await;
            response.text().await;
            connection = response.into_connection();
            continue;
        }
        if let Some(session) = &session {
            let told = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 10 + id}});
            let headers = post(Some(session), "", None);
            let response = served
                .request("POST", "/mcp", &headers, &told.to_string())
                .await;
            assert_eq!(response.status, 202);
        }
        // Leaves, whatever was to come.
        connection = Connection::open(served.address).await;
    }
    if let Some(session) = session {
        // A cancel may have overtaken its call; the end of the session stops that too.
        let headers = post(Some(&session), "", None);
        let response = served.request("DELETE", "/mcp", &headers, "").await;
        assert_eq!(response.status, 204);
    }
}

/// Opens sessions and leaves them alone, many more than there is room for: each lapses, and what it
/// took is there for the next.
async fn abandoned_sessions(witness: &Witness, count: usize, _dice: &mut Dice) {
    let mut limits = Limits::default();
    limits.sessions = 100;
    limits.session_idle = Duration::from_millis(20);
    let site = server(witness).limits(limits).site().unwrap();
    let served = Served::new(&site).await;
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x".repeat(1_000), "version": "0"}});
    let text = request(1, "initialize", params).to_string();
    let mut connection = Connection::open(served.address).await;
    let mut opened = 0;
    while opened < count {
        let mut response = connection
            .request("POST", "/mcp", &post(Some("none"), "", None)[..2], &text)
            .await;
        opened += usize::from(response.status == 200);
        // Beyond the limit it is tried until one has lapsed.
        assert!([200, 503].contains(&response.status), "{}", response.status);
        response.text().await;
        connection = response.into_connection();
    }
    served.ended().await;
}

/// Opens sessions over one connection and holds them.
async fn idle_sessions() {
    const SESSIONS: usize = 10_000;
    let witness = Witness::new();
    let site: Site = server(&witness).site().unwrap();
    let mut peer = HttpPeer::connect(&site).await;
    peer.initialize("2025-11-25", json!({})).await;
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}});
    let text = request(1, "initialize", params).to_string();
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let mut connection = Connection::open(peer.served.address).await;
    let mut before = 0;
    for count in 1..SESSIONS {
        if count == 100 {
            before = resident();
        }
        let mut response = connection
            .request("POST", "/mcp", &post(Some("none"), "", None)[..2], &text)
            .await;
        assert_eq!(response.status, 200);
        let session = response.header("mcp-session-id").unwrap().to_owned();
        response.text().await;
        let headers = post(Some(&session), "", None);
        let response = response
            .into_connection()
            .request("POST", "/mcp", &headers, &told)
            .await;
        assert_eq!(response.status, 202);
        connection = response.into_connection();
    }
    let each = resident().saturating_sub(before) / (SESSIONS - 100);
    report([format!("soak: {SESSIONS} idle sessions, {each} bytes each")]);
    // One more is one too many.
    let refused = connection
        .request("POST", "/mcp", &post(Some("none"), "", None)[..2], &text)
        .await;
    assert_eq!(refused.status, 503);
    assert!(peer.call("tools/list", json!({})).await["result"].is_object());
    if resident() > 0 {
        assert!(each <= 2_048, "{each} bytes for an idle session");
    }
}
