//! Streamable HTTP in the stateless era: every POST stands alone.
//!
//! Specification: 2026-07-28 basic/transports/streamable-http, basic/patterns/subscriptions.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_server::protocol::RawJson;
use switchboard_server::protocol::types::Tool;
use switchboard_server::{Context, Limits, Outcome, Server, ToolHandler, resource};

use crate::fixture::{Witness, server, site};
use crate::http_client::Served;
use crate::peer::{StatelessPeer, envelope};
use crate::pipe_client::{PipeClient, request};

fn listen(filter: Value) -> Value {
    json!({"notifications": filter})
}

#[tokio::test]
async fn a_call_is_answered_with_json_or_after_progress_with_a_stream_without_ids() {
    let witness = Witness::new();
    witness.let_go(1);
    let mut peer = StatelessPeer::connect(&site(&witness)).await;
    let plain = peer.begin("tools/list", json!({})).await;
    assert_eq!(
        (plain.status, plain.header("content-type")),
        (200, Some("application/json"))
    );
    assert_eq!(plain.header("mcp-session-id"), None);
    let listed = plain.json().await;
    assert_eq!(listed["result"]["resultType"], "complete", "{listed}");
    peer.meta = json!({"progressToken": 1});
    let mut stream = peer.begin("tools/call", json!({"name": "progress"})).await;
    assert!(stream.is_stream());
    let mut messages = Vec::new();
    while let Some(event) = stream.event().await {
        assert_eq!((&event.id, event.retry), (&None, None));
        messages.push(event.message());
    }
    assert_eq!(messages.len(), 3, "{messages:?}");
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_told_in_order_and_with_its_status() {
    let mut peer = StatelessPeer::connect(&site(&Witness::new())).await;
    let list = "tools/list";
    let good = peer.headers(list, &json!({}));
    let whole = peer.params(json!({}));
    let no_meta = json!({});
    let mut half = whole.clone();
    half["_meta"]
        .as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientCapabilities");
    let mut future = whole.clone();
    future["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let with = |from: &str, to: &str| -> Vec<String> {
        good.iter().map(|header| header.replace(from, to)).collect()
    };
    let without = |name: &str| -> Vec<String> {
        good.iter()
            .filter(|header| !header.starts_with(name))
            .cloned()
            .collect()
    };
    let mut cases = vec![
        (good.clone(), list, no_meta, 400, -32602),
        (good.clone(), list, half, 400, -32602),
        (
            without("mcp-protocol-version"),
            list,
            whole.clone(),
            400,
            -32020,
        ),
        (
            with("2026-07-28", "2025-11-25"),
            list,
            whole.clone(),
            400,
            -32020,
        ),
        (without("mcp-method"), list, whole.clone(), 400, -32020),
        (
            with("tools/list", "tools/call"),
            list,
            whole.clone(),
            400,
            -32020,
        ),
        (good.clone(), list, future.clone(), 400, -32020),
        (with("2026-07-28", "2099-01-01"), list, future, 400, -32022),
    ];
    for method in [
        "ping",
        "initialize",
        "logging/setLevel",
        "resources/subscribe",
        "magic/do",
        "prompts/list",
    ] {
        cases.push((
            peer.headers(method, &json!({})),
            method,
            whole.clone(),
            404,
            -32601,
        ));
    }
    let call = peer.params(json!({"name": "add", "arguments": {"a": 1, "b": 2}}));
    cases.push((
        peer.headers("tools/call", &json!({})),
        "tools/call",
        call.clone(),
        400,
        -32020,
    ));
    cases.push((
        peer.headers("tools/call", &json!({"name": "echo"})),
        "tools/call",
        call,
        400,
        -32020,
    ));
    let unknown = json!({"name": "conjure"});
    let headers = peer.headers("tools/call", &unknown);
    cases.push((headers, "tools/call", peer.params(unknown), 200, -32602));
    for (headers, method, params, status, code) in cases {
        let text = request(5, method, params).to_string();
        let response = peer.served.request("POST", "/mcp", &headers, &text).await;
        let got = response.status;
        let answer = response.json().await;
        let told = (got, answer["error"]["code"].as_i64(), answer["id"].as_u64());
        assert_eq!(
            told,
            (status, Some(code), Some(5)),
            "{method} {headers:?}: {answer}"
        );
    }
    assert!(peer.tool("add", json!({"a": 1, "b": 1})).await["result"].is_object());
}

#[tokio::test]
async fn only_post_has_a_use() {
    let peer = StatelessPeer::connect(&site(&Witness::new())).await;
    for verb in ["GET", "DELETE", "PUT"] {
        let headers = peer.headers("tools/list", &json!({}));
        let response = peer.served.request(verb, "/mcp", &headers, "").await;
        assert_eq!(response.status, 405, "{verb}");
        assert!(response.header("allow").unwrap().contains("POST"));
    }
}

#[tokio::test]
async fn a_client_that_goes_before_the_answer_cancels_its_call() {
    let witness = Witness::new();
    let mut peer = StatelessPeer::connect(&site(&witness)).await;
    // Before the stream has begun, and after.
    for (count, params) in [
        (1, json!({"name": "wait"})),
        (2, json!({"name": "progress"})),
    ] {
        peer.meta = json!({"progressToken": 1});
        {
            let response = peer.begin("tools/call", params);
            tokio::pin!(response);
            tokio::select! {
                mut response = &mut response => {
                    assert!(response.message().await.is_some());
                }
                () = async {
                    witness.started(count).await;
                    if count == 2 { std::future::pending::<()>().await }
                } => {}
            }
        }
        witness.dropped(count).await;
    }
    assert!(peer.tool("add", json!({"a": 1, "b": 1})).await["result"].is_object());
}

#[tokio::test]
async fn a_listen_stream_stays_open_and_tells_what_was_asked_for() {
    let server = server(&Witness::new()).resource(resource("demo://one", async || "1"));
    let handle = server.handle();
    let mut peer = StatelessPeer::connect(&server.site().unwrap()).await;
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["demo://one"]});
    let mut stream = peer.begin("subscriptions/listen", listen(filter)).await;
    assert!(stream.is_stream());
    let id = stream.message().await.unwrap();
    assert_eq!(id["method"], "notifications/subscriptions/acknowledged");
    let key = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(id["params"]["_meta"][key], 1, "{id}");
    handle.resource_updated("demo://two");
    handle.resource_updated("demo://one");
    let updated = stream.message().await.unwrap();
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "demo://one");
    assert_eq!(updated["params"]["_meta"][key], 1);
    handle.enable_tool("echo", false);
    let changed = stream.message().await.unwrap();
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    // Who ends first says so.
    peer.served.stop();
    let last = stream.message().await.unwrap();
    assert_eq!(last["id"], 1, "{last}");
    assert_eq!(last["result"]["_meta"][key], 1, "{last}");
    assert_eq!(stream.event().await, None);
    peer.served.ended().await;
}

#[tokio::test]
async fn a_listen_stream_whose_reader_is_gone_is_forgotten() {
    let server = server(&Witness::new());
    let handle = server.handle();
    let site = server.site().unwrap();
    let mut peer = StatelessPeer::connect(&site).await;
    for _ in 0..3 {
        let filter = json!({"toolsListChanged": true});
        let mut stream = peer.begin("subscriptions/listen", listen(filter)).await;
        assert!(stream.message().await.is_some());
        handle.enable_tool("echo", false);
        assert!(stream.message().await.is_some());
        handle.enable_tool("echo", true);
        assert!(stream.message().await.is_some());
    }
    assert!(peer.tool("add", json!({"a": 1, "b": 1})).await["result"].is_object());
}

#[tokio::test]
async fn a_stream_after_calls_that_waited_hears_of_each_change_once() {
    let witness = Witness::new();
    let server = server(&witness).resource(resource("demo://one", async || "1"));
    let handle = server.handle();
    let mut peer = StatelessPeer::connect(&server.site().unwrap()).await;
    for count in 1..=3 {
        let go = async {
            witness.started(count).await;
            witness.let_go(1);
        };
        let (answer, ()) = tokio::join!(peer.tool("wait", json!({})), go);
        assert!(answer["result"].is_object(), "{answer}");
        assert!(peer.tool("add", json!({"a": 1, "b": 1})).await["result"].is_object());
    }
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["demo://one"]});
    let mut stream = peer.begin("subscriptions/listen", listen(filter)).await;
    assert!(stream.message().await.is_some());
    handle.enable_tool("echo", false);
    handle.resource_updated("demo://one");
    let first = stream.message().await.unwrap();
    assert_eq!(first["method"], "notifications/tools/list_changed");
    let second = stream.message().await.unwrap();
    assert_eq!(second["method"], "notifications/resources/updated");
}

#[tokio::test]
async fn a_pipe_holds_no_more_listen_streams_than_it_may() {
    let mut limits = Limits::default();
    limits.streams = 2;
    let site = server(&Witness::new()).limits(limits).site().unwrap();
    let mut client = PipeClient::connect(&site);
    let params = envelope(
        listen(json!({"toolsListChanged": true})),
        &json!({}),
        &json!({}),
    );
    for _ in 0..2 {
        client.begin("subscriptions/listen", params.clone()).await;
        client
            .hear("notifications/subscriptions/acknowledged")
            .await;
    }
    let refused = client.call("subscriptions/listen", params).await;
    assert_eq!(refused["error"]["code"], -31001, "{refused}");
    assert_eq!(refused["error"]["data"]["limit"], "streams", "{refused}");
    assert_eq!(site.refusals().counts()["streams"], 1);
}

#[tokio::test]
async fn tools_that_come_while_the_server_is_served_can_be_called() {
    let server = Server::new("empty", "1.0.0");
    let handle = server.handle();
    let mut peer = StatelessPeer::connect(&server.site().unwrap()).await;
    let refused = peer.call("tools/list", json!({})).await;
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    handle
        .add_tool(switchboard_server::tool("late", async || "here"))
        .unwrap();
    let answer = peer.tool("late", json!({})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "here", "{answer}");
}

/// One tool whose argument is repeated in a header.
struct Mirrored;

impl ToolHandler for Mirrored {
    fn list(&self) -> Vec<Tool> {
        let schema = json!({
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        });
        vec![Tool::new("dynamic", RawJson::encode(&schema).unwrap())]
    }

    fn call<'a>(
        &'a self,
        _: &'a str,
        arguments: switchboard_server::protocol::Payload,
        _: Context,
    ) -> std::pin::Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        let text = String::from_utf8(arguments.text().to_vec()).unwrap();
        Box::pin(std::future::ready(Outcome::Text(text)))
    }
}

#[tokio::test]
async fn arguments_that_headers_repeat_must_be_the_same_there() {
    let site = Server::new("mirrors", "1.0.0")
        .tools(Mirrored)
        .site()
        .unwrap();
    let mut peer = StatelessPeer::connect(&site).await;
    let call = json!({"name": "dynamic", "arguments": {"region": "north"}});
    for (headers, status) in [
        (vec!["mcp-param-region: north".to_owned()], 200),
        (vec!["mcp-param-region: south".to_owned()], 400),
        (vec![], 400),
    ] {
        peer.extra = headers;
        let response = peer.begin("tools/call", call.clone()).await;
        assert_eq!(response.status, status, "{:?}", peer.extra);
    }
}

#[tokio::test]
async fn a_silent_call_is_kept_alive() {
    let witness = Witness::new();
    let mut limits = Limits::default();
    limits.keep_alive = Duration::from_millis(50);
    let site = server(&witness).limits(limits).site().unwrap();
    let served = Served::new(&site).await;
    let mut peer = StatelessPeer::to(served);
    // After some silence it becomes a stream, so that nobody takes it for dead.
    let mut stream = peer.begin("tools/call", json!({"name": "wait"})).await;
    assert!(stream.is_stream());
    witness.let_go(1);
    assert_eq!(stream.message().await.unwrap()["id"], 1);
}
