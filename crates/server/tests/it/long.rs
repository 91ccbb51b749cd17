//! Handlers without a task of their own: everything must be as if they had one.

use serde_json::{Value, json};
use switchboard_protocol::Payload;
use switchboard_protocol::types::{CallToolResult, Implementation, ServerCapabilities};
use switchboard_server::{About, Answer, Call, Context, Reply, Service, Site};

use crate::fixture::Witness;
use crate::peer::{HttpPeer, Peer, StatelessPeer, WIRES};
use crate::pipe_client::PipeClient;

/// The tools of the fixture that wait, said to do nothing else.
struct Patient(Witness);

impl Service for Patient {
    fn about(&self) -> About {
        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = Some(Default::default());
        About::new(Implementation::new("patient", "1.0.0"), capabilities)
    }

    fn call(&self, call: Call<'_>) -> Reply {
        let name = call.params().and_then(Payload::name).unwrap_or_default();
        let (witness, context) = (self.0.clone(), call.context.clone());
        match &*name {
            "wait" => Reply::long(async move {
                let _working = witness.start();
                witness.wait().await;
                text("waited")
            }),
            "progress" => Reply::long(async move { progress(&witness, &context).await }),
            "panic" => Reply::long(async { panic!("at the handler's own fault") }),
            "last words" => Reply::long(async move {
                let _working = LastWords(witness.start(), context);
                witness.wait().await;
                text("said")
            }),
            _ => Reply::long(async { text("ready") }),
        }
    }
}

/// Says something to its client when it is dropped.
struct LastWords<T>(T, Context);

impl<T> Drop for LastWords<T> {
    fn drop(&mut self) {
        let said = self.1.progress(1.0);
        let mut said = std::pin::pin!(said);
        let mut task = std::task::Context::from_waker(std::task::Waker::noop());
        let _ = std::future::Future::poll(said.as_mut(), &mut task);
    }
}

async fn progress(witness: &Witness, context: &Context) -> Answer {
    let _working = witness.start();
    context.progress((1.0, 2.0)).await;
    witness.wait().await;
    context.progress((2.0, 2.0)).await;
    text("done")
}

fn text(text: &str) -> Answer {
    Answer::Result(CallToolResult::text_payload(text))
}

fn said(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

fn site(witness: &Witness) -> Site {
    Site::new(Patient(witness.clone()))
}

fn with_progress(name: &str) -> Value {
    json!({"name": name, "_meta": {"progressToken": 1}})
}

#[tokio::test]
async fn it_answers_at_once_or_later_and_breaks_alone() {
    for wire in WIRES {
        let witness = Witness::new();
        let mut peer = Peer::open(wire, &site(&witness), "2025-11-25", json!({})).await;
        assert_eq!(said(&peer.tool("other", json!({})).await), "ready");
        let broken = peer.tool("panic", json!({})).await;
        assert_eq!(broken["error"]["code"], -32603, "{wire:?}: {broken}");
        let waiting = peer.tool("wait", json!({}));
        let opening = async {
            witness.started(1).await;
            witness.let_go(1);
        };
        let (answer, ()) = tokio::join!(waiting, opening);
        assert_eq!(said(&answer), "waited", "{wire:?}");
        witness.all_dropped().await;
    }
}

#[tokio::test]
async fn many_on_one_pipe_are_answered_each_when_it_is_ready() {
    let witness = Witness::new();
    let mut client = PipeClient::open(&site(&witness), "2025-11-25", json!({})).await;
    let mut ids = Vec::new();
    for _ in 0..50 {
        ids.push(client.begin("tools/call", json!({"name": "wait"})).await);
    }
    witness.started(50).await;
    let ready = client.call("tools/call", json!({"name": "other"})).await;
    assert_eq!(said(&ready), "ready");
    witness.let_go(50);
    for id in ids {
        // Whichever order they come in.
        let place = client.heard.iter().position(|heard| heard["id"] == id);
        let answer = match place {
            Some(place) => client.heard.remove(place),
            None => client.answer(id).await,
        };
        assert_eq!(said(&answer), "waited");
    }
    assert!(client.close().await.is_empty());
    witness.all_dropped().await;
}

#[tokio::test]
async fn what_it_says_comes_before_its_answer() {
    let witness = Witness::new();
    let mut client = PipeClient::open(&site(&witness), "2025-11-25", json!({})).await;
    let id = client.begin("tools/call", with_progress("progress")).await;
    witness.started(1).await;
    witness.let_go(1);
    assert_eq!(said(&client.answer(id).await), "done");
    let heard: Vec<_> = client.heard.iter().map(|told| &told["method"]).collect();
    assert_eq!(heard, ["notifications/progress", "notifications/progress"]);

    let mut peer = HttpPeer::open(&site(&witness), "2025-11-25", json!({})).await;
    let response = peer.begin("tools/call", with_progress("progress")).await;
    // The response has begun, so that nobody waits for it any more but the stream.
    witness.let_go(1);
    let messages = response.messages().await;
    let last = messages.last().unwrap();
    assert_eq!(said(last), "done", "{messages:?}");
    assert_eq!(messages.len(), 3, "{messages:?}");
}

#[tokio::test]
async fn it_is_dropped_when_its_call_is_cancelled_and_may_speak_then() {
    let witness = Witness::new();
    let mut client = PipeClient::open(&site(&witness), "2025-11-25", json!({})).await;
    for (count, name) in [(1, "wait"), (2, "last words")] {
        let id = client.begin("tools/call", with_progress(name)).await;
        witness.started(count).await;
        let cancelled = json!({"requestId": id});
        client.tell("notifications/cancelled", cancelled).await;
        witness.dropped(count).await;
    }
    let ready = client.call("tools/call", json!({"name": "other"})).await;
    assert_eq!(said(&ready), "ready");

    let mut peer = HttpPeer::open(&site(&witness), "2025-11-25", json!({})).await;
    for (count, name) in [(3, "wait"), (4, "last words")] {
        let id = peer.last_id() + 1;
        let headers = peer.headers("application/json, text/event-stream");
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}).to_string();
        let address = peer.served.address;
        let cancelling = async {
            witness.started(count).await;
            let connection = crate::http_client::Connection::open(address).await;
            let told = connection.request("POST", "/mcp", &headers, &cancelled);
            assert_eq!(told.await.status, 202);
            witness.dropped(count).await;
        };
        let calling = peer.begin("tools/call", with_progress(name));
        let (_, ()) = tokio::join!(calling, cancelling);
    }
}

#[tokio::test]
async fn a_client_that_goes_takes_it_along_in_the_stateless_era_and_not_before() {
    let witness = Witness::new();
    let mut peer = StatelessPeer::connect(&site(&witness)).await;
    {
        let response = peer.begin("tools/call", json!({"name": "wait"}));
        tokio::select! {
            _ = response => panic!("nobody let it go on"),
            () = witness.started(1) => {}
        }
    }
    witness.dropped(1).await;

    let mut peer = HttpPeer::open(&site(&witness), "2025-11-25", json!({})).await;
    {
        let response = peer.begin("tools/call", json!({"name": "wait"}));
        tokio::select! {
            _ = response => panic!("nobody let it go on"),
            () = witness.started(2) => {}
        }
    }
    // Its client may come back for what comes of it.
    let ready = peer.call("tools/call", json!({"name": "other"})).await;
    assert_eq!(said(&ready), "ready");
    assert_eq!(witness.dropped_so_far(), 1);
    witness.let_go(1);
    witness.dropped(2).await;
}
