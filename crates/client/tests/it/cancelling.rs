//! Calls that nobody wants any more.
//!
//! Fault matrix: 35, 38, 39.

use std::future::IntoFuture as _;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::memory::{pair, pair_holding};
use switchboard_client::{Class, Client, ErrorKind, Limits, Mode, NoHost, Revision, Spec};
use switchboard_testkit::faulty::Eras;
use tokio::task::block_in_place;
use tokio::time::{Instant, timeout};

use crate::case::{alive, check_error};
use crate::peer::Peer;
use crate::server::{MOMENT, On, Server};
use crate::stdio::received;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_call_is_cancelled_once_and_frees_its_place() {
    for eras in [Eras::Legacy, Eras::Modern] {
        let server = Server::stdio("never-answers", eras);
        let mut limits = Limits::default();
        limits.calls = 1;
        let client = Client::connect(server.spec().limits(limits)).await.unwrap();
        timeout(LITTLE, client.call("defect"))
            .await
            .expect_err("never answered");
        alive(&client).await.unwrap();
        let messages = received(&client).await;
        let call = find(&messages, "tools/call");
        assert_eq!(cancelled(&messages), [call[0]["id"].clone()], "{eras:?}");
        client.close().await;
        server.check_gone().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_takes_too_long_is_cancelled_once() {
    for eras in [Eras::Legacy, Eras::Modern] {
        let server = Server::stdio("never-answers", eras);
        let client = server.connect().await.unwrap();
        let error = client.call("defect").idle_timeout(LITTLE).await;
        assert!(error.expect_err("never answered").is_timeout());
        assert_eq!(cancelled(&received(&client).await).len(), 1, "{eras:?}");
        client.close().await;
        server.check_gone().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_is_cancelled_by_its_token() {
    for on in [On::Stdio, On::Http] {
        let kind = match on {
            On::Stdio => "never-answers",
            On::Http => "silence",
        };
        let role = switchboard_testkit::faulty::Role::new(kind);
        let server = Server::start(on, role);
        let client = server.connect().await.unwrap();
        let (fire, token) = tokio::sync::oneshot::channel::<()>();
        let call = client.call("defect").cancel_on(async move {
            let _ = token.await;
        });
        // What is asked after it has been answered, so it is under way.
        let (outcome, ()) = tokio::join!(call.into_future(), async {
            alive(&client).await.unwrap();
            fire.send(()).unwrap();
        });
        let error = outcome.expect_err("it is cancelled");
        assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error:?}");
        check_error(&error, Class::Ended, &["cancelled"], true).unwrap();
        alive(&client).await.unwrap();
        client.close().await;
        server.check_gone().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_was_answered_or_never_made_is_not_cancelled() {
    let server = Server::stdio("honest", Eras::Modern);
    let client = server.connect().await.unwrap();
    drop(client.call("defect"));
    drop(client.call("defect").into_future());
    alive(&client).await.unwrap();
    let messages = received(&client).await;
    assert!(cancelled(&messages).is_empty());
    assert_eq!(find(&messages, "tools/call").len(), 1);
    client.close().await;
    server.check_gone().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http_the_stateless_era_closes_the_stream_and_says_nothing() {
    for kind in ["silence", "events-keep-alive", "stalled-body"] {
        let server = Server::http(kind, Eras::Modern);
        let client = server.connect().await.unwrap();
        let Server::Http(http) = &server else {
            unreachable!()
        };
        // On a connection of its own, as the first one is at rest.
        alive(&client).await.unwrap();
        let before = http.seen().open;
        timeout(LITTLE, client.call("defect"))
            .await
            .expect_err("never answered");
        let is_closed = block_in_place(|| http.wait_until(MOMENT, |seen| seen.open < before));
        assert!(is_closed, "{kind}: {} are open", http.seen().open);
        alive(&client).await.unwrap();
        assert_eq!(http.seen().count("notifications/cancelled"), 0, "{kind}");
        client.close().await;
        server.check_gone().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http_the_handshake_era_says_it_once_and_closes_the_stream() {
    for kind in ["silence", "events-keep-alive"] {
        let server = Server::http(kind, Eras::Legacy);
        let client = server.connect().await.unwrap();
        timeout(LITTLE, client.call("defect"))
            .await
            .expect_err("never answered");
        let Server::Http(http) = &server else {
            unreachable!()
        };
        let cancelled = "notifications/cancelled";
        let is_told = block_in_place(|| http.wait_until(MOMENT, |seen| seen.count(cancelled) > 0));
        assert!(is_told, "{kind}");
        alive(&client).await.unwrap();
        let seen = http.seen();
        assert_eq!(seen.count(cancelled), 1, "{kind}");
        client.close().await;
        server.check_gone().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_until_a_connection_is_ready_is_that_of_the_call() {
    let (ours, theirs) = pair();
    let spec = Spec::in_memory().mode(Mode::Pinned(Revision::V2025_11_25));
    let client = Client::start_in_memory(ours, spec, NoHost);
    let mut peer = Peer::on(theirs);
    let began = Instant::now();
    let limit = Duration::from_secs(60);
    let call = client.call("x").idle_timeout(None).deadline(limit);
    let serving = async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        peer.greet().await;
        assert_eq!(peer.next().await["method"], "tools/call");
        assert_eq!(peer.next().await["method"], "notifications/cancelled");
    };
    let (outcome, ()) = tokio::join!(call.into_future(), serving);
    let error = outcome.expect_err("never answered");
    assert!(error.to_string().contains("within 60s"), "{error}");
    assert_eq!(began.elapsed().as_secs(), limit.as_secs());
}

#[tokio::test(start_paused = true)]
async fn the_time_that_a_server_does_not_read_is_that_of_the_call() {
    let spec = Spec::in_memory();
    let (client, mut peer) = Peer::open_as(pair_holding(1024), spec, true, NoHost).await;
    let began = Instant::now();
    let limit = Duration::from_secs(60);
    let large = client.call("x").arg("large", "x".repeat(1024 * 1024));
    let large = tokio::spawn(large.idle_timeout(None).into_future());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let call = client.call("y").idle_timeout(None).deadline(limit);
    let call = tokio::spawn(call.into_future());
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(peer.next().await["params"]["name"], "x");
    assert_eq!(peer.next().await["params"]["name"], "y");
    let error = call.await.unwrap().expect_err("never answered");
    assert!(error.to_string().contains("within 60s"), "{error}");
    assert_eq!(began.elapsed().as_secs(), 1 + limit.as_secs());
    large.abort();
    client.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_task_has_no_more_time_than_its_call() {
    let (client, mut peer) = Peer::open(true, NoHost).await;
    let began = Instant::now();
    let limit = Duration::from_secs(60);
    let call = client.call("x").idle_timeout(None).deadline(limit);
    let mut call = tokio::spawn(call.into_future());
    let request = peer.next().await;
    peer.answer(&request, working_task()).await;
    let mut asked = 0;
    let error = loop {
        let request = tokio::select! {
            outcome = &mut call => break outcome.unwrap().expect_err("it is never over"),
            request = peer.next() => request,
        };
        if request["method"] == "tasks/get" {
            asked += 1;
            // The last of them is never answered.
            if began.elapsed() < limit / 2 {
                let mut task = working_task();
                task["resultType"] = json!("complete");
                peer.answer(&request, task).await;
            }
        }
    };
    assert!(asked > 1, "{error}");
    assert!(error.to_string().contains("within 60s"), "{error}");
    assert_eq!(began.elapsed().as_secs(), limit.as_secs());
    client.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_cancel_a_task_is_left_after_a_while() {
    let (client, mut peer) = Peer::open(true, NoHost).await;
    let mut call = tokio::spawn(client.call("x").deadline(None).into_future());
    let request = peer.next().await;
    peer.answer(&request, working_task()).await;
    let asked = tokio::select! {
        asked = peer.next() => asked,
        outcome = &mut call => panic!("{outcome:?}"),
    };
    assert_eq!(asked["method"], "tasks/get");
    call.abort();
    // The question how it stands is taken back, and the task is cancelled.
    let mut cancel = peer.next().await;
    while cancel["method"] != "tasks/cancel" {
        cancel = peer.next().await;
    }
    let began = Instant::now();
    let taken_back = loop {
        let message = peer.next().await;
        if message["params"]["requestId"] == cancel["id"] {
            break message;
        }
    };
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(began.elapsed().as_secs(), 10);
    client.close().await;
}

fn working_task() -> Value {
    let at = "2026-07-28T00:00:00Z";
    json!({"resultType": "task", "taskId": "t", "status": "working", "createdAt": at,
        "lastUpdatedAt": at, "ttlMs": 60_000})
}

fn find<'a>(messages: &'a [Value], method: &str) -> Vec<&'a Value> {
    let found = messages
        .iter()
        .filter(|message| message["method"] == method);
    found.collect()
}

/// The requests that were cancelled.
fn cancelled(messages: &[Value]) -> Vec<Value> {
    let found = find(messages, "notifications/cancelled");
    let ids = found
        .iter()
        .map(|message| message["params"]["requestId"].clone());
    ids.collect()
}

/// Long enough for a request to be on its way.
const LITTLE: Duration = Duration::from_millis(300);
