//! Streamable HTTP in the handshake era: sessions, streams, coming back for them.
//!
//! Specification: basic/transports, 2025-03-26 to 2025-11-25.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_server::{Context, Limits, NoArguments, Server, resource, tool};

use crate::fixture::{Witness, server, site};
use crate::http_client::Served;
use crate::peer::HttpPeer;
use crate::pipe_client::request;

const NEWEST: &str = "2025-11-25";

fn with_progress(name: &str) -> Value {
    json!({"name": name, "_meta": {"progressToken": "token"}})
}

#[tokio::test]
async fn a_session_lives_from_initialize_to_delete() {
    let mut peer = HttpPeer::open(&site(&Witness::new()), NEWEST, json!({})).await;
    let session = peer.session.clone().unwrap();
    assert!(session.len() >= 32 && session.bytes().all(|byte| byte.is_ascii_graphic()));
    assert!(peer.call("tools/list", json!({})).await["result"].is_object());
    assert_eq!(peer.delete().await, 204);
    let gone = peer.begin("tools/list", json!({})).await;
    assert_eq!(gone.status, 404);
    assert_eq!(gone.json().await["id"], peer.last_id());
    assert_eq!(peer.delete().await, 404);
    assert_eq!(peer.listen(None).await.status, 404);
}

#[tokio::test]
async fn a_request_without_its_session_is_refused() {
    let mut peer = HttpPeer::open(&site(&Witness::new()), NEWEST, json!({})).await;
    peer.session = None;
    assert_eq!(peer.begin("tools/list", json!({})).await.status, 400);
    assert_eq!(peer.listen(None).await.status, 400);
    assert_eq!(peer.delete().await, 400);
    peer.session = Some("0123456789abcdef0123456789abcdef".to_owned());
    assert_eq!(peer.begin("tools/list", json!({})).await.status, 404);
}

#[tokio::test]
async fn a_version_that_is_not_served_is_refused() {
    let mut peer = HttpPeer::open(&site(&Witness::new()), NEWEST, json!({})).await;
    peer.revision = Some("1999-01-01".to_owned());
    let refused = peer.begin("tools/list", json!({})).await;
    assert_eq!(refused.status, 400);
    peer.revision = None;
    assert_eq!(peer.begin("tools/list", json!({})).await.status, 200);
}

#[tokio::test]
async fn notifications_and_answers_are_accepted_without_a_body() {
    let peer = HttpPeer::open(&site(&Witness::new()), NEWEST, json!({})).await;
    for text in [
        r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12}}"#,
    ] {
        let mut response = peer.post(text).await;
        assert_eq!((response.status, response.text().await.as_str()), (202, ""));
    }
}

#[tokio::test]
async fn a_handshake_that_fails_leaves_no_session() {
    let mut limits = Limits::default();
    limits.sessions = 1;
    let site = server(&Witness::new()).limits(limits).site().unwrap();
    let mut peer = HttpPeer::connect(&site).await;
    for _ in 0..3 {
        let text = request(1, "initialize", json!({"capabilities": {}})).to_string();
        let response = peer.post(&text).await;
        assert_eq!(response.header("mcp-session-id"), None);
        assert_eq!(response.json().await["error"]["code"], -32602);
    }
    peer.initialize(NEWEST, json!({})).await;
    assert!(peer.session.is_some());
}

#[tokio::test]
async fn an_answer_alone_is_json_and_one_after_progress_is_a_stream() {
    let witness = Witness::new();
    witness.let_go(1);
    let mut peer = HttpPeer::open(&site(&witness), "2025-06-18", json!({})).await;
    let plain = peer.begin("tools/list", json!({})).await;
    assert_eq!(plain.header("content-type"), Some("application/json"));
    let stream = peer.begin("tools/call", with_progress("progress")).await;
    assert!(stream.is_stream());
    assert_eq!(stream.header("cache-control"), Some("no-cache"));
    assert_eq!(stream.header("x-accel-buffering"), Some("no"));
    let messages = stream.messages().await;
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert_eq!(messages[0]["params"]["progressToken"], "token");
    assert_eq!(messages[2]["id"], peer.last_id());
}

#[tokio::test]
async fn only_the_newest_handshake_revision_primes_its_streams() {
    let witness = Witness::new();
    let site = site(&witness);
    for (revision, is_primed) in [
        ("2025-03-26", false),
        ("2025-06-18", false),
        ("2025-11-25", true),
    ] {
        witness.let_go(1);
        let mut peer = HttpPeer::open(&site, revision, json!({})).await;
        let mut stream = peer.begin("tools/call", with_progress("progress")).await;
        let first = stream.event().await.unwrap();
        assert!(first.id.is_some(), "{revision}: {first:?}");
        let is_empty = first.data.as_deref() == Some("");
        assert_eq!(is_empty, is_primed, "{revision}: {first:?}");
        let mut listening = peer.listen(None).await;
        assert_eq!(listening.status, 200);
        if is_primed {
            let first = listening.event().await.unwrap();
            assert!(
                first.id.is_some() && first.data.as_deref() == Some(""),
                "{first:?}"
            );
        }
    }
}

#[tokio::test]
async fn changes_come_on_the_get_stream_and_nowhere_else() {
    let server = server(&Witness::new());
    let handle = server.handle();
    let site = server.site().unwrap();
    let mut peer = HttpPeer::open(&site, NEWEST, json!({})).await;
    let mut stream = peer.listen(None).await;
    stream.event().await.unwrap();
    handle.enable_tool("echo", false);
    let told = stream.message().await.unwrap();
    assert_eq!(told["method"], "notifications/tools/list_changed");
    let listed = peer.begin("tools/list", json!({})).await;
    assert!(!listed.is_stream());
    // A second stream takes the place of the first, which ends.
    let mut second = peer.listen(None).await;
    second.event().await.unwrap();
    assert_eq!(stream.event().await, None);
    handle.enable_tool("echo", true);
    assert!(second.message().await.is_some());
}

#[tokio::test]
async fn what_changed_while_nobody_listened_is_told_when_somebody_does() {
    let server = server(&Witness::new());
    let handle = server.handle();
    let peer = HttpPeer::open(&server.site().unwrap(), NEWEST, json!({})).await;
    handle.enable_tool("echo", false);
    let mut stream = peer.listen(None).await;
    let told = stream.message().await.unwrap();
    assert_eq!(told["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn of_news_that_nobody_listens_to_the_newest_are_kept() {
    let server = server(&Witness::new()).resource(resource("test://a", async || "a"));
    let handle = server.handle();
    let site = server.site().unwrap();
    let peer = HttpPeer::open(&site, NEWEST, json!({})).await;
    handle.enable_resource("test://a", false);
    for step in 0..64 {
        handle.enable_tool("echo", step % 2 == 1);
    }
    assert_eq!(site.refusals().counts()["news"], 1);
    let mut stream = peer.listen(None).await;
    for _ in 0..64 {
        let told = stream.message().await.unwrap();
        assert_eq!(told["method"], "notifications/tools/list_changed");
    }
    handle.enable_resource("test://a", true);
    let told = stream.message().await.unwrap();
    assert_eq!(told["method"], "notifications/resources/list_changed");
}

#[tokio::test]
async fn a_client_that_lost_a_stream_comes_back_for_the_rest_of_it() {
    let witness = Witness::new();
    let site = site(&witness);
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let before = witness.dropped_so_far();
        let mut peer = HttpPeer::open(&site, revision, json!({})).await;
        let mut stream = peer.begin("tools/call", with_progress("progress")).await;
        let mut last = stream.event().await.unwrap();
        if last.data.as_deref() == Some("") {
            last = stream.event().await.unwrap();
        }
        assert_eq!(last.message()["params"]["progress"], 1.0);
        // Losing a stream is no cancel.
        drop(stream);
        let mut resumed = peer.listen(last.id.as_deref()).await;
        assert_eq!(resumed.status, 200);
        witness.let_go(1);
        let progress = resumed.message().await.unwrap();
        assert_eq!(progress["params"]["progress"], 2.0, "{revision}");
        let answer = resumed.message().await.unwrap();
        assert_eq!(answer["id"], peer.last_id());
        assert_eq!(resumed.event().await, None);
        witness.dropped(before + 1).await;
        // Again from the beginning: all of it is kept, and it has ended.
        let again = peer.listen(last.id.as_deref()).await;
        assert_eq!(again.messages().await, [progress, answer]);
    }
}

#[tokio::test]
async fn an_answer_that_came_while_the_client_was_away_is_kept() {
    let witness = Witness::new();
    let mut peer = HttpPeer::open(&site(&witness), NEWEST, json!({})).await;
    let mut stream = peer.begin("tools/call", with_progress("progress")).await;
    let primed = stream.event().await.unwrap();
    drop(stream);
    witness.let_go(1);
    witness.dropped(1).await;
    let resumed = peer.listen(primed.id.as_deref()).await;
    let messages = resumed.messages().await;
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert_eq!(messages[2]["id"], peer.last_id());
}

#[tokio::test]
async fn a_stream_that_is_resumed_while_it_is_still_read_moves_to_the_new_reader() {
    let witness = Witness::new();
    let mut peer = HttpPeer::open(&site(&witness), NEWEST, json!({})).await;
    let mut stream = peer.begin("tools/call", with_progress("progress")).await;
    let primed = stream.event().await.unwrap();
    assert!(stream.message().await.is_some());
    let mut resumed = peer.listen(primed.id.as_deref()).await;
    assert_eq!(resumed.message().await.unwrap()["params"]["progress"], 1.0);
    assert_eq!(stream.event().await, None);
    // That the first reader is gone means nothing for the second.
    drop(stream);
    witness.let_go(1);
    assert_eq!(resumed.message().await.unwrap()["params"]["progress"], 2.0);
    assert_eq!(resumed.message().await.unwrap()["id"], peer.last_id());
    assert_eq!(resumed.event().await, None);
}

#[tokio::test]
async fn an_event_that_is_none_of_the_session_cannot_be_resumed() {
    let site = site(&Witness::new());
    let peer = HttpPeer::open(&site, NEWEST, json!({})).await;
    for id in ["7-1", "nonsense", "1-1"] {
        assert_eq!(peer.listen(Some(id)).await.status, 400, "{id}");
    }
}

#[tokio::test]
async fn a_handler_can_let_its_client_come_back_later() {
    let witness = Witness::new();
    let waiting = witness.clone();
    let site = Server::new("polling", "1.0.0")
        .tool(tool("slow", move |_: NoArguments, context: Context| {
            let witness = waiting.clone();
            async move {
                context.release_stream(Duration::from_millis(20));
                let _working = witness.start();
                witness.wait().await;
                "done"
            }
        }))
        .site()
        .unwrap();
    let mut peer = HttpPeer::open(&site, NEWEST, json!({})).await;
    let mut stream = peer.begin("tools/call", json!({"name": "slow"})).await;
    assert!(stream.is_stream());
    let (mut id, mut retry) = (None, None);
    while let Some(event) = stream.event().await {
        assert_eq!(event.data.unwrap_or_default(), "");
        id = event.id.or(id);
        retry = event.retry.or(retry);
    }
    assert_eq!(retry, Some(20));
    let mut resumed = peer.listen(id.as_deref()).await;
    witness.let_go(1);
    let answer = resumed.message().await.unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "done");
    assert_eq!(resumed.event().await, None);
    // A client that cannot come back is answered where it waits.
    let mut older = HttpPeer::open(&site, "2025-06-18", json!({})).await;
    witness.let_go(1);
    let answer = older.call("tools/call", json!({"name": "slow"})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn the_end_of_a_session_stops_its_calls_and_ends_its_streams() {
    let witness = Witness::new();
    let mut peer = HttpPeer::open(&site(&witness), NEWEST, json!({})).await;
    let mut listening = peer.listen(None).await;
    let mut stream = peer.begin("tools/call", with_progress("progress")).await;
    stream.event().await.unwrap();
    let text = request(900, "tools/call", json!({"name": "wait"})).to_string();
    let end = async {
        witness.started(2).await;
        assert_eq!(peer.delete().await, 204);
        witness.dropped(2).await;
    };
    let (waiting, ()) = tokio::join!(peer.post(&text), end);
    assert_eq!(waiting.status, 404);
    while stream.event().await.is_some() {}
    while listening.event().await.is_some() {}
}

#[tokio::test]
async fn a_session_that_nobody_uses_lapses_and_one_that_is_listened_to_does_not() {
    let witness = Witness::new();
    let mut limits = Limits::default();
    limits.session_idle = Duration::from_millis(300);
    let site = server(&witness).limits(limits).site().unwrap();
    let mut idle = HttpPeer::open(&site, NEWEST, json!({})).await;
    let mut listening = HttpPeer::open(&site, NEWEST, json!({})).await;
    let stream = listening.listen(None).await;
    let mut busy = HttpPeer::open(&site, NEWEST, json!({})).await;
    let mut call = busy.begin("tools/call", with_progress("progress")).await;
    call.event().await.unwrap();
    // Not to wait for anything: time must really pass, since sessions go by the real clock.
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(idle.begin("tools/list", json!({})).await.status, 404);
    // Who comes has those put away that have lapsed.
    idle.session = None;
    idle.initialize(NEWEST, json!({})).await;
    assert_eq!(site.refusals().counts()["sessionTime"], 1);
    assert_eq!(listening.begin("tools/list", json!({})).await.status, 200);
    assert_eq!(busy.begin("tools/list", json!({})).await.status, 200);
    drop(stream);
}

#[tokio::test]
async fn sessions_beyond_the_limit_are_refused_until_one_ends() {
    let mut limits = Limits::default();
    limits.sessions = 2;
    let site = server(&Witness::new()).limits(limits).site().unwrap();
    let mut peer = HttpPeer::open(&site, NEWEST, json!({})).await;
    let first = peer.session.clone();
    peer.session = None;
    peer.initialize(NEWEST, json!({})).await;
    peer.session = None;
    let params = json!({"protocolVersion": NEWEST, "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}});
    let refused = peer.begin("initialize", params.clone()).await;
    assert_eq!(refused.status, 503);
    assert!(refused.header("retry-after").is_some());
    peer.session = first;
    assert_eq!(peer.delete().await, 204);
    peer.session = None;
    assert_eq!(peer.begin("initialize", params).await.status, 200);
}

#[tokio::test]
async fn calls_of_a_batch_are_begun_in_their_order() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = std::sync::Arc::clone(&seen);
    let site = Server::new("order", "1.0.0")
        .tool(tool("note", move |echo: crate::fixture::Echo| {
            noted.lock().unwrap().push(echo.text);
            async { "noted" }
        }))
        .site()
        .unwrap();
    let peer = HttpPeer::open(&site, "2025-03-26", json!({})).await;
    let call = |id: u64| {
        request(
            id,
            "tools/call",
            json!({"name": "note", "arguments": {"text": id.to_string()}}),
        )
    };
    let batch = json!([call(1), call(2), call(3)]);
    assert_eq!(
        peer.post(&batch.to_string()).await.messages().await.len(),
        3
    );
    assert_eq!(*seen.lock().unwrap(), ["1", "2", "3"]);
}

#[tokio::test]
async fn a_server_that_ends_lets_calls_finish_and_ends_the_rest() {
    let witness = Witness::new();
    let mut peer = HttpPeer::open(&site(&witness), NEWEST, json!({})).await;
    let mut listening = peer.listen(None).await;
    let mut stream = peer.begin("tools/call", with_progress("progress")).await;
    stream.event().await.unwrap();
    peer.served.stop();
    while listening.event().await.is_some() {}
    witness.let_go(1);
    let messages = stream.messages().await;
    assert_eq!(
        messages.last().unwrap()["id"],
        peer.last_id(),
        "{messages:?}"
    );
    peer.served.ended().await;
}

#[tokio::test]
async fn the_transport_of_2024_11_05_works_behind_its_switch() {
    let witness = Witness::new();
    let site = site(&witness);
    let mut settings = site.http_settings();
    settings.old_transport = Some(Default::default());
    let served = Served::with(&site, settings).await;
    let accept = ["accept: text/event-stream".to_owned()];
    let mut stream = served.request("GET", "/sse", &accept, "").await;
    let endpoint = stream.event().await.unwrap();
    assert_eq!(endpoint.name.as_deref(), Some("endpoint"));
    let place = endpoint.data.unwrap();
    let post = async |message: Value| {
        let headers = ["content-type: application/json".to_owned()];
        let response = served
            .request("POST", &place, &headers, &message.to_string())
            .await;
        assert_eq!(response.status, 202);
    };
    let params = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}});
    post(request(1, "initialize", params)).await;
    let answer = stream.message().await.unwrap();
    assert_eq!(
        answer["result"]["protocolVersion"], "2024-11-05",
        "{answer}"
    );
    post(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    post(request(2, "tools/call", with_progress("progress"))).await;
    assert_eq!(
        stream.message().await.unwrap()["method"],
        "notifications/progress"
    );
    post(request(3, "tools/call", json!({"name": "wait"}))).await;
    witness.started(2).await;
    // The stream is the connection.
    drop(stream);
    witness.dropped(2).await;
    let headers = ["content-type: application/json".to_owned()];
    let late = request(4, "ping", json!({})).to_string();
    assert_eq!(
        served.request("POST", &place, &headers, &late).await.status,
        404
    );
}
