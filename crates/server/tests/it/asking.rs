//! Questions to the client: the same handler in both eras.
//!
//! Specification: client/elicitation, client/sampling, client/roots; 2026-07-28
//! basic/patterns/mrtr.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_server::access::{BearerTokens, Principal};
use switchboard_server::protocol::types::{
    ContentBlock, CreateMessageRequestParams, SamplingMessage,
};
use switchboard_server::{Context, Elicited, Failure, NoArguments, Server, Site, tool};

use crate::fixture::Echo;
use crate::http_client::Served;
use crate::peer::{HttpPeer, StatelessPeer, envelope};
use crate::pipe_client::PipeClient;

/// What the user is asked.
#[derive(Deserialize, JsonSchema)]
struct Person {
    /// His name.
    name: String,
    /// His age.
    age: u32,
}

/// `greet` asks who the user is, then where the client works, then the client's model, and
/// counts what it does once.
fn asking() -> (Site, Arc<AtomicUsize>) {
    let done = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&done);
    let greet = tool("greet", move |echo: Echo, context: Context| {
        let count = Arc::clone(&count);
        async move {
            let order: usize = context
                .once("order", async { count.fetch_add(1, Ordering::SeqCst) + 1 })
                .await?;
            let who = context.elicit::<Person>("who", "Who are you?").await?;
            let Elicited::Accepted(person) = who else {
                return Err(Failure::failed("nobody is there"));
            };
            let roots = context.roots("where").await?;
            let messages = vec![SamplingMessage::user(person.name.clone())];
            let params = CreateMessageRequestParams::new(messages, 10);
            let said = context.sample("say", params).await?;
            let said = serde_json::to_value(&said).unwrap();
            Ok(format!(
                "{} {} {} {} {} {order}",
                echo.text,
                person.name,
                person.age,
                roots.len(),
                said["content"]["text"]
            ))
        }
    });
    let site = Server::new("asking", "1.0.0").tool(greet).site().unwrap();
    (site, done)
}

fn everything() -> Value {
    json!({"elicitation": {}, "sampling": {}, "roots": {}})
}

fn answer_to(method: &str) -> Value {
    match method {
        "elicitation/create" => json!({"action": "accept", "content": {"name": "Ada", "age": 36}}),
        "roots/list" => json!({"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]}),
        "sampling/createMessage" => json!({
            "role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"},
        }),
        other => panic!("{other}"),
    }
}

const GREETING: &str = "hello Ada 36 2 \"hi\" 1";

fn call() -> Value {
    json!({"name": "greet", "arguments": {"text": "hello"}})
}

#[tokio::test]
async fn a_client_of_the_handshake_era_is_asked_by_requests() {
    for revision in ["2025-06-18", "2025-11-25"] {
        let (site, done) = asking();
        let mut client = PipeClient::open(&site, revision, everything()).await;
        let id = client.begin("tools/call", call()).await;
        for method in ["elicitation/create", "roots/list", "sampling/createMessage"] {
            let question = client.hear(method).await;
            client.reply(&question, answer_to(method)).await;
        }
        let answer = client.answer(id).await;
        assert_eq!(answer["result"]["content"][0]["text"], GREETING, "{answer}");
        assert_eq!(done.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn a_client_of_the_handshake_era_is_asked_on_the_stream_of_its_call() {
    let (site, _) = asking();
    let mut peer = HttpPeer::open(&site, "2025-11-25", everything()).await;
    let mut stream = peer.begin("tools/call", call()).await;
    for _ in 0..3 {
        let question = stream.message().await.unwrap();
        let answer = answer_to(question["method"].as_str().unwrap());
        assert_eq!(peer.reply(&question, answer).await, 202);
    }
    let answer = stream.message().await.unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], GREETING, "{answer}");
}

/// Calls again with the answers until there is a result.
async fn rounds(mut ask: impl AsyncFnMut(Value) -> Value) -> (Value, usize) {
    let mut params = call();
    for round in 1..10 {
        let answer = ask(params.clone()).await;
        let result = &answer["result"];
        if result["resultType"] != "input_required" {
            return (answer, round);
        }
        let mut answers = json!({});
        for (name, request) in result["inputRequests"].as_object().unwrap() {
            answers[name] = answer_to(request["method"].as_str().unwrap());
        }
        params = call();
        params["inputResponses"] = answers;
        if let Some(state) = result.get("requestState") {
            params["requestState"] = state.clone();
        }
    }
    panic!("it asks without end");
}

#[tokio::test]
async fn a_client_of_the_stateless_era_calls_again_with_the_answers() {
    let (site, done) = asking();
    let mut peer = StatelessPeer::connect(&site).await;
    peer.capabilities = everything();
    let (answer, count) = rounds(async |params| peer.call("tools/call", params).await).await;
    assert_eq!(answer["result"]["content"][0]["text"], GREETING, "{answer}");
    assert_eq!((count, done.load(Ordering::SeqCst)), (4, 1));

    let (site, done) = asking();
    let mut client = PipeClient::connect(&site);
    let (answer, count) = rounds(async |params| {
        let params = envelope(params, &everything(), &json!({}));
        client.call("tools/call", params).await
    })
    .await;
    assert_eq!(answer["result"]["content"][0]["text"], GREETING, "{answer}");
    assert_eq!((count, done.load(Ordering::SeqCst)), (4, 1));
}

/// The state after the first round.
async fn first_state(peer: &mut StatelessPeer) -> String {
    let answer = peer.call("tools/call", call()).await;
    let state = answer["result"]["requestState"].as_str();
    state.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn retry(state: &str) -> Value {
    let mut params = call();
    params["requestState"] = json!(state);
    params["inputResponses"] = json!({"who": answer_to("elicitation/create")});
    params
}

#[tokio::test]
async fn a_state_that_was_tampered_with_is_refused() {
    let (site, done) = asking();
    let mut peer = StatelessPeer::connect(&site).await;
    peer.capabilities = everything();
    let state = first_state(&mut peer).await;
    assert!(!state.contains("order"), "{state}");
    let mut forged = state.clone().into_bytes();
    let middle = forged.len() / 2;
    forged[middle] = if forged[middle] == b'A' { b'B' } else { b'A' };
    let forged = String::from_utf8(forged).unwrap();
    for state in [forged.as_str(), "", "nonsense", &state[..state.len() - 4]] {
        let answer = peer.call("tools/call", retry(state)).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    // One that was made for other arguments is none for these.
    let mut other = retry(&state);
    other["arguments"]["text"] = json!("bye");
    let answer = peer.call("tools/call", other).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(done.load(Ordering::SeqCst), 1);
    let answer = peer.call("tools/call", retry(&state)).await;
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
}

#[tokio::test]
async fn the_state_of_another_caller_is_refused() {
    let (site, _) = asking();
    let mut settings = site.http_settings();
    let tokens = [
        ("ada-token", Principal::new("ada")),
        ("bob-token", Principal::new("bob")),
    ];
    settings.access = Some(Arc::new(BearerTokens::new(tokens).unwrap()));
    let mut peer = StatelessPeer::to(Served::with(&site, settings).await);
    peer.capabilities = everything();
    peer.extra = vec!["authorization: Bearer ada-token".to_owned()];
    let state = first_state(&mut peer).await;
    peer.extra = vec!["authorization: Bearer bob-token".to_owned()];
    let answer = peer.call("tools/call", retry(&state)).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    peer.extra = vec!["authorization: Bearer ada-token".to_owned()];
    let answer = peer.call("tools/call", retry(&state)).await;
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_told_what_is_missing() {
    let (site, _) = asking();
    let mut peer = StatelessPeer::connect(&site).await;
    let response = peer.begin("tools/call", call()).await;
    assert_eq!(response.status, 400);
    let answer = response.json().await;
    assert_eq!(answer["error"]["code"], -32021, "{answer}");
    let required = &answer["error"]["data"]["requiredCapabilities"];
    assert!(required["elicitation"].is_object(), "{answer}");

    let mut client = PipeClient::open(&site, "2025-11-25", json!({})).await;
    let answer = client.call("tools/call", call()).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("elicitation/create"), "{text}");
}

#[tokio::test]
async fn a_user_may_decline_and_a_client_may_refuse() {
    let (site, _) = asking();
    let mut client = PipeClient::open(&site, "2025-11-25", everything()).await;
    let id = client.begin("tools/call", call()).await;
    let question = client.hear("elicitation/create").await;
    assert_eq!(question["params"]["message"], "Who are you?");
    let schema = &question["params"]["requestedSchema"];
    assert_eq!(schema["properties"]["age"]["type"], "integer", "{schema}");
    client.reply(&question, json!({"action": "decline"})).await;
    let answer = client.answer(id).await;
    assert_eq!(
        answer["result"]["content"][0]["text"], "nobody is there",
        "{answer}"
    );
    let id = client.begin("tools/call", call()).await;
    let question = client.hear("elicitation/create").await;
    let refusal =
        json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "no"}});
    client.send(&refusal.to_string()).await;
    let answer = client.answer(id).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    // An answer that is not one.
    let id = client.begin("tools/call", call()).await;
    let question = client.hear("elicitation/create").await;
    client
        .reply(
            &question,
            json!({"action": "accept", "content": {"name": 7}}),
        )
        .await;
    let answer = client.answer(id).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

#[tokio::test]
async fn a_question_of_a_cancelled_call_is_taken_back() {
    let (site, _) = asking();
    let mut client = PipeClient::open(&site, "2025-11-25", everything()).await;
    let id = client.begin("tools/call", call()).await;
    let question = client.hear("elicitation/create").await;
    client
        .tell("notifications/cancelled", json!({"requestId": id}))
        .await;
    let taken_back = client.hear("notifications/cancelled").await;
    assert_eq!(taken_back["params"]["requestId"], question["id"]);
    assert_eq!(client.settle().await, Vec::<Value>::new());
}

#[tokio::test]
async fn two_questions_at_once_are_asked_at_once() {
    let both = tool("both", |_: NoArguments, context: Context| async move {
        let (first, second) = tokio::join!(context.roots("first"), context.roots("second"));
        Ok::<_, Failure>(vec![ContentBlock::text(format!(
            "{} {}",
            first?.len(),
            second?.len()
        ))])
    });
    let site = Server::new("both", "1.0.0").tool(both).site().unwrap();
    let mut peer = StatelessPeer::connect(&site).await;
    peer.capabilities = everything();
    let answer = peer.tool("both", json!({})).await;
    assert_eq!(
        answer["result"]["inputRequests"].as_object().unwrap().len(),
        2,
        "{answer}"
    );
    let mut client = PipeClient::open(&site, "2025-11-25", everything()).await;
    let id = client.begin("tools/call", json!({"name": "both"})).await;
    for _ in 0..2 {
        let question = client.hear("roots/list").await;
        client.reply(&question, answer_to("roots/list")).await;
    }
    assert_eq!(
        client.answer(id).await["result"]["content"][0]["text"],
        "2 2"
    );
}
