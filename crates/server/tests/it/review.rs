//! What a review of the crate found, as its user would meet it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_server::protocol::jsonrpc::{ErrorObject, Notification};
use switchboard_server::protocol::machine::server::Caller;
use switchboard_server::protocol::types::{
    CallToolResult, Implementation, ServerCapabilities, Tool, ToolsCapability,
};
use switchboard_server::protocol::{Payload, RawJson, Revision};
use switchboard_server::{
    About, Answer, Call, Change, Context, Failure, Limits, NoArguments, Outcome, Reply, Server,
    Service, Site, ToolHandler, tool,
};

use crate::fixture::{Witness, server, site};
use crate::http_client::{Connection, Response, Served};
use crate::peer::{HttpPeer, Peer, StatelessPeer, WIRES};
use crate::pipe_client::{PipeClient, request};

#[tokio::test]
async fn a_call_that_its_own_batch_cancels_does_not_run_on() {
    for wire in WIRES {
        let witness = Witness::new();
        let site = site(&witness);
        let mut peer = Peer::open(wire, &site, "2025-03-26", json!({})).await;
        let told = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 101}});
        let add = json!({"name": "add", "arguments": {"a": 1, "b": 1}});
        let batch = json!([
            request(101, "tools/call", json!({"name": "wait"})),
            told,
            request(102, "tools/call", add),
        ]);
        peer.send(&batch.to_string()).await;
        let all = tokio::time::timeout(Duration::from_secs(2), witness.all_dropped()).await;
        assert!(all.is_ok(), "{wire:?}: the handler works for nobody");
    }
}

#[tokio::test]
async fn a_page_is_offered_to_clients_of_2025_11_25_too() {
    let visit = tool("visit", |_: NoArguments, context: Context| async move {
        let agreed = context
            .elicit_url("page", "Please sign in", "https://a.example/in")
            .await?;
        Ok::<_, Failure>(agreed.to_string())
    });
    let site = Server::new("visits", "1.0.0").tool(visit).site().unwrap();
    let capabilities = json!({"elicitation": {"url": {}}});
    let mut client = PipeClient::open(&site, "2025-11-25", capabilities).await;
    let id = client.begin("tools/call", json!({"name": "visit"})).await;
    let question = client.next().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    assert!(
        question["params"]["elicitationId"].is_string(),
        "{question}"
    );
    client.reply(&question, json!({"action": "accept"})).await;
    let answer = client.answer(id).await;
    assert_eq!(answer["result"]["content"][0]["text"], "true", "{answer}");
}

/// A tool that promises a number and gives a text.
struct Promising;

impl ToolHandler for Promising {
    fn list(&self) -> Vec<Tool> {
        let input = RawJson::parse(r#"{"type":"object","properties":{}}"#).unwrap();
        let output = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
        let mut tool = Tool::new("promise", input);
        tool.output_schema = Some(RawJson::parse(output).unwrap());
        vec![tool]
    }

    fn call<'a>(
        &'a self,
        _: &'a str,
        _: Payload,
        _: Context,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        let mut result = CallToolResult::text("none");
        result.structured_content = Some(RawJson::parse(r#"{"n":"none"}"#).unwrap());
        Box::pin(std::future::ready(Outcome::Result(Box::new(result))))
    }
}

#[tokio::test]
async fn what_a_tool_handler_gives_must_fit_the_schema_of_its_tool() {
    if cfg!(not(feature = "validate")) {
        return;
    }
    let site: Site = Server::new("promises", "1.0.0")
        .tools(Promising)
        .site()
        .unwrap();
    let mut client = PipeClient::open(&site, "2025-11-25", json!({})).await;
    let answer = client.tool("promise", json!({})).await;
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
}

/// The stream of a client of 2024-11-05, and where it posts.
async fn open_old(served: &Served) -> (Response, String) {
    let accept = ["accept: text/event-stream".to_owned()];
    let mut stream = served.request("GET", "/sse", &accept, "").await;
    let place = stream.event().await.unwrap().data.unwrap();
    (stream, place)
}

async fn post_old(served: &Served, place: &str, message: &Value) {
    let headers = ["content-type: application/json".to_owned()];
    let text = message.to_string();
    let response = served.request("POST", place, &headers, &text).await;
    assert_eq!(response.status, 202);
}

#[tokio::test]
async fn a_batch_on_the_transport_of_2024_11_05_is_answered() {
    let site = site(&Witness::new());
    let mut settings = site.http_settings();
    settings.old_transport = Some(Default::default());
    let served = Served::with(&site, settings).await;
    let (mut stream, place) = open_old(&served).await;
    let params = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}});
    post_old(&served, &place, &request(1, "initialize", params)).await;
    let answer = stream.message().await.unwrap();
    assert_eq!(
        answer["result"]["protocolVersion"], "2025-03-26",
        "{answer}"
    );
    let batch = json!([request(2, "ping", json!({})), request(3, "ping", json!({})),]);
    post_old(&served, &place, &batch).await;
    post_old(&served, &place, &request(4, "ping", json!({}))).await;
    let mut answered = Vec::new();
    while !answered.contains(&json!(4)) {
        match stream.message().await.unwrap() {
            Value::Array(answers) => answered.extend(answers.iter().map(|a| a["id"].clone())),
            answer => answered.push(answer["id"].clone()),
        }
    }
    assert_eq!(answered, [2, 3, 4]);
}

#[tokio::test]
async fn a_result_that_is_larger_than_a_message_may_be_is_an_error() {
    let mut limits = Limits::default();
    limits.message.bytes = 10_000;
    let site = server(&Witness::new()).limits(limits).site().unwrap();
    for wire in WIRES {
        let mut peer = Peer::open(wire, &site, "2025-11-25", json!({})).await;
        let answer = peer.tool("large", json!({})).await;
        assert_eq!(answer["error"]["code"], -32603, "{wire:?}");
    }
}

#[tokio::test]
async fn a_limit_of_time_may_be_as_long_as_can_be() {
    let mut limits = Limits::default();
    limits.handler = Some(Duration::MAX);
    limits.answer = Duration::MAX;
    limits.drain = Duration::MAX;
    limits.drain_http = Duration::MAX;
    limits.session_idle = Duration::MAX;
    limits.session_life = Duration::MAX;
    limits.keep_alive = Duration::MAX;
    let witness = Witness::new();
    let site = server(&witness).limits(limits).site().unwrap();
    for wire in WIRES {
        let mut peer = Peer::open(wire, &site, "2025-11-25", json!({})).await;
        let answer = peer.tool("add", json!({"a": 1, "b": 1})).await;
        assert!(answer["result"].is_object(), "{wire:?}: {answer}");
    }
    PipeClient::open(&site, "2025-11-25", json!({}))
        .await
        .close()
        .await;
    HttpPeer::open(&site, "2025-11-25", json!({}))
        .await
        .served
        .ended()
        .await;
}

#[tokio::test]
async fn calls_that_clients_without_a_session_leave_behind_are_bounded() {
    let witness = Witness::new();
    let mut limits = Limits::default();
    limits.sessions = 4;
    let site = server(&witness).limits(limits).site().unwrap();
    let mut settings = site.http_settings();
    settings.endpoint.requires_session = false;
    let served = Served::with(&site, settings).await;
    let headers = [
        "accept: application/json, text/event-stream".to_owned(),
        "content-type: application/json".to_owned(),
    ];
    let wait = request(1, "tools/call", json!({"name": "wait"})).to_string();
    for count in 1..=4 {
        let mut connection = Connection::open(served.address).await;
        connection.send("POST", "/mcp", &headers, &wait).await;
        witness.started(count).await;
    }
    let fifth = served.request("POST", "/mcp", &headers, &wait);
    let fifth = tokio::time::timeout(Duration::from_secs(2), fifth).await;
    let is_bounded = fifth.is_ok() || witness.dropped_so_far() > 0;
    assert!(is_bounded, "five handlers work for clients that are gone");
}

#[tokio::test]
async fn an_endpoint_that_stops_leaves_the_streams_of_another_alone() {
    let site = site(&Witness::new());
    let staying = HttpPeer::open(&site, "2025-11-25", json!({})).await;
    let mut stream = staying.listen(None).await;
    assert!(stream.event().await.is_some(), "it is primed");
    Served::new(&site).await.ended().await;
    let end = tokio::time::timeout(Duration::from_millis(500), stream.event()).await;
    assert!(end.is_err(), "{end:?}");
}

#[test]
fn what_may_wait_for_a_slow_client_is_the_same_on_every_wire() {
    let mut limits = Limits::default();
    limits.queued = 12_345;
    let site = server(&Witness::new()).limits(limits).site().unwrap();
    assert_eq!(site.http_settings().stream.bytes, 12_345);
}

/// Has tools, and calls none.
struct Listing;

impl Service for Listing {
    fn about(&self) -> About {
        let mut capabilities = ServerCapabilities::default();
        let tools: &mut ToolsCapability = capabilities.tools.get_or_insert_default();
        tools.list_changed = Some(true);
        About::new(Implementation::new("listing", "1.0.0"), capabilities)
    }

    fn call(&self, call: Call<'_>) -> Reply {
        let error = ErrorObject::method_not_found(call.method.as_str());
        Reply::Now(Answer::Error(error))
    }
}

#[tokio::test]
async fn a_service_has_limits_and_revisions_and_tells_of_changes() {
    let mut limits = Limits::default();
    limits.body = 1_000;
    let site = Site::new(Listing)
        .limits(limits)
        .revisions([Revision::V2025_06_18]);
    assert_eq!(site.http_settings().body_limit, 1_000);
    let mut client = PipeClient::connect(&site);
    let answer = client.initialize("2025-11-25", json!({})).await;
    assert_eq!(
        answer["result"]["protocolVersion"], "2025-06-18",
        "{answer}"
    );
    client.settle().await;
    site.tell(&Change::Tools);
    client.hear("notifications/tools/list_changed").await;
}

#[cfg(feature = "skills")]
#[tokio::test]
async fn whoever_subscribed_to_a_file_of_a_skill_hears_of_its_change() {
    use switchboard_server::skills::Skills;

    let folder = std::env::temp_dir().join(format!("switchboard-review-{}", std::process::id()));
    let skill = folder.join("greet");
    std::fs::create_dir_all(&skill).unwrap();
    let write = |text: &str| {
        let text = format!("---\nname: greet\ndescription: How to greet.\n---\n{text}\n");
        std::fs::write(skill.join("SKILL.md"), text).unwrap();
    };
    write("Say hello.");
    let skills = Skills::folder(&folder).unwrap();
    let server = Server::new("skilled", "1.0.0").skills(skills.clone());
    let handle = server.handle();
    let site = server.site().unwrap();
    let mut client = PipeClient::open(&site, "2025-11-25", json!({})).await;
    let uri = json!({"uri": "skill://greet/SKILL.md"});
    let subscribed = client.call("resources/subscribe", uri.clone()).await;
    assert!(subscribed["result"].is_object(), "{subscribed}");
    write("Say hello, and smile.");
    handle.skills_changed(&skills.reload().unwrap());
    let told = client.hear("notifications/resources/updated").await;
    assert_eq!(told["params"]["uri"], uri["uri"]);
    client.hear("notifications/resources/list_changed").await;
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn whoever_listens_without_taking_a_stream_is_told_at_once() {
    let peer = StatelessPeer::connect(&site(&Witness::new())).await;
    let params = json!({"notifications": {"toolsListChanged": true}});
    let mut headers = peer.headers("subscriptions/listen", &params);
    headers[0] = "accept: application/json".to_owned();
    let text = request(1, "subscriptions/listen", peer.params(params)).to_string();
    let response = peer.served.request("POST", "/mcp", &headers, &text).await;
    assert_eq!(response.status, 406);
    assert_eq!(response.json().await["id"], 1);
}

#[tokio::test]
async fn a_client_of_2024_11_05_that_only_listens_is_not_idle() {
    let mut limits = Limits::default();
    limits.session_idle = Duration::from_millis(50);
    let site = server(&Witness::new()).limits(limits).site().unwrap();
    let mut settings = site.http_settings();
    settings.old_transport = Some(Default::default());
    let served = Served::with(&site, settings).await;
    let (mut stream, place) = open_old(&served).await;
    // Long enough for the session to lapse and for the sweep that would end it.
    let end = tokio::time::timeout(Duration::from_millis(1_500), stream.event()).await;
    assert!(end.is_err(), "{end:?}");
    post_old(&served, &place, &request(1, "ping", json!({}))).await;
    assert_eq!(stream.message().await.unwrap()["id"], 1);
}

#[tokio::test]
async fn without_any_silence_a_client_that_takes_no_stream_is_waited_with() {
    let mut limits = Limits::default();
    limits.keep_alive = Duration::ZERO;
    let witness = Witness::new();
    let site = server(&witness).limits(limits).site().unwrap();
    let peer = HttpPeer::open(&site, "2025-11-25", json!({})).await;
    let mut connection = Connection::open(peer.served.address).await;
    let wait = request(7, "tools/call", json!({"name": "wait"})).to_string();
    let headers = peer.headers("application/json");
    connection.send("POST", "/mcp", &headers, &wait).await;
    witness.started(1).await;
    witness.let_go(1);
    assert_eq!(connection.response().await.json().await["id"], 7);
}

#[tokio::test]
async fn calls_that_are_under_way_when_an_endpoint_ends_are_told_so() {
    let witness = Witness::new();
    let mut limits = Limits::default();
    limits.drain_http = Duration::from_millis(50);
    let site = server(&witness).limits(limits).site().unwrap();
    let mut peer = StatelessPeer::connect(&site).await;
    let params = json!({"name": "wait"});
    let headers = peer.headers("tools/call", &params);
    let text = request(1, "tools/call", peer.params(params)).to_string();
    let mut connection = Connection::open(peer.served.address).await;
    connection.send("POST", "/mcp", &headers, &text).await;
    witness.started(1).await;
    peer.served.stop();
    let answer = connection.response().await.json().await;
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
}

/// Breaks when it is told something.
struct Fragile;

impl Service for Fragile {
    fn about(&self) -> About {
        Listing.about()
    }

    fn call(&self, call: Call<'_>) -> Reply {
        Listing.call(call)
    }

    fn told(&self, _: Notification, _: Option<&Arc<Caller>>) {
        panic!("at the service's own fault")
    }
}

#[tokio::test]
async fn a_service_that_breaks_when_it_is_told_something_harms_nobody() {
    let site = Site::new(Fragile);
    for wire in WIRES {
        let mut peer = Peer::open(wire, &site, "2025-11-25", json!({})).await;
        let told = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
        peer.send(&told.to_string()).await;
        let answer = peer.call("ping", json!({})).await;
        assert!(answer["result"].is_object(), "{wire:?}: {answer}");
    }
}
