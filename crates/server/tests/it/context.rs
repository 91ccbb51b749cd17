//! What a handler says besides its answer: progress and logs, in each era.
//!
//! Specification: basic/patterns/progress, server/utilities/logging.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_server::protocol::types::LoggingLevel;
use switchboard_server::{Context, NoArguments, Progress, Server, Site, tool};

use crate::peer::{HttpPeer, StatelessPeer, envelope};
use crate::pipe_client::PipeClient;

/// `talk` says everything at once and never waits.
fn talking() -> Site {
    let talk = tool("talk", |_: NoArguments, context: Context| async move {
        context.log(LoggingLevel::Debug, "fine").await;
        context
            .log(LoggingLevel::Warning, &json!({"careful": true}))
            .await;
        context
            .progress(Progress::of(1.0, 3.0).message("begun"))
            .await;
        // No further than before.
        context.progress((0.5, 3.0)).await;
        context.progress((3.0, 3.0)).await;
        format!("{} {}", context.revision(), context.wants_progress())
    });
    Server::new("talking", "1.0.0").tool(talk).site().unwrap()
}

/// What came besides the answer: levels of logs, progress.
fn said(messages: &[Value]) -> (Vec<&str>, Vec<f64>) {
    let logs = messages
        .iter()
        .filter(|m| m["method"] == "notifications/message");
    let levels = logs
        .map(|log| log["params"]["level"].as_str().unwrap())
        .collect();
    let steps = messages
        .iter()
        .filter(|m| m["method"] == "notifications/progress");
    let steps = steps
        .map(|step| step["params"]["progress"].as_f64().unwrap())
        .collect();
    (levels, steps)
}

fn call(token: bool) -> Value {
    if token {
        json!({"name": "talk", "_meta": {"progressToken": "t"}})
    } else {
        json!({"name": "talk"})
    }
}

#[tokio::test]
async fn what_a_handler_says_comes_before_its_answer_on_a_pipe() {
    let mut client = PipeClient::open(&talking(), "2025-11-25", json!({})).await;
    let answer = client.call("tools/call", call(true)).await;
    assert_eq!(answer["result"]["content"][0]["text"], "2025-11-25 true");
    let heard = client.settle().await;
    assert_eq!(said(&heard), (vec!["warning"], vec![1.0, 3.0]), "{heard:?}");
    assert_eq!(heard[1]["params"]["message"], "begun");
    assert_eq!(heard[1]["params"]["progressToken"], "t");
    // Whoever wants no progress gets none; levels are as the client sets them.
    client
        .call("logging/setLevel", json!({"level": "debug"}))
        .await;
    client.call("tools/call", call(false)).await;
    assert_eq!(
        said(&client.settle().await),
        (vec!["debug", "warning"], vec![])
    );
    client
        .call("logging/setLevel", json!({"level": "emergency"}))
        .await;
    client.call("tools/call", call(true)).await;
    assert_eq!(said(&client.settle().await), (vec![], vec![1.0, 3.0]));
}

#[tokio::test]
async fn what_a_handler_says_comes_before_its_answer_over_http() {
    let mut peer = HttpPeer::open(&talking(), "2025-11-25", json!({})).await;
    let messages = peer.begin("tools/call", call(true)).await.messages().await;
    assert_eq!(said(&messages), (vec!["warning"], vec![1.0, 3.0]));
    assert_eq!(messages.last().unwrap()["id"], peer.last_id());
}

#[tokio::test]
async fn in_the_stateless_era_each_call_says_what_it_wants_to_hear() {
    let level = |level: &str| json!({"io.modelcontextprotocol/logLevel": level});
    let mut peer = StatelessPeer::connect(&talking()).await;
    let plain = peer.begin("tools/call", call(false)).await;
    assert!(!plain.is_stream());
    let mut client = PipeClient::connect(&talking());
    for (meta, expected) in [
        (level("debug"), vec!["debug", "warning"]),
        (level("error"), vec![]),
    ] {
        peer.meta = meta.clone();
        let messages = peer.begin("tools/call", call(false)).await.messages().await;
        assert_eq!(said(&messages), (expected.clone(), vec![]));
        client.heard.clear();
        client
            .call("tools/call", envelope(call(false), &json!({}), &meta))
            .await;
        assert_eq!(said(&client.heard), (expected, vec![]));
    }
    client.heard.clear();
    let token = json!({"progressToken": 7});
    client
        .call("tools/call", envelope(call(false), &json!({}), &token))
        .await;
    assert_eq!(said(&client.heard), (vec![], vec![1.0, 3.0]));
}

/// What a call was known by, as its context says it.
fn token_of(context: &Context) -> String {
    let meta = serde_json::to_value(context.meta()).unwrap();
    let token = meta["progressToken"].as_str().unwrap_or("none");
    format!("{token} {}", context.wants_progress())
}

#[tokio::test]
async fn a_context_that_is_kept_stays_that_of_its_call() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&kept);
    let look = tool("look", move |_: NoArguments, context: Context| {
        let token = token_of(&context);
        if token.starts_with("keep") {
            keep.lock().unwrap().push((token.clone(), context));
        }
        async move { token }
    });
    let site = Server::new("looking", "1.0.0").tool(look).site().unwrap();
    let mut client = PipeClient::open(&site, "2025-11-25", json!({})).await;
    // Written together, so that one is taken in right after the other.
    let tokens = [
        "\"keep 1\"",
        "null",
        "\"let go\"",
        "\"keep 2\"",
        "\"keep 3\"",
        "null",
    ];
    let lines: Vec<String> = tokens
        .iter()
        .enumerate()
        .map(|(id, token)| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"look","_meta":{{"progressToken":{token}}}}}}}"#
            ) + "\n"
        })
        .collect();
    client.send_bytes(lines.concat().as_bytes()).await.unwrap();
    for expected in [
        "keep 1 true",
        "none false",
        "let go true",
        "keep 2 true",
        "keep 3 true",
        "none false",
    ] {
        let answer = client.next().await;
        assert_eq!(answer["result"]["content"][0]["text"], expected, "{answer}");
    }
    let kept = std::mem::take(&mut *kept.lock().unwrap());
    assert_eq!(kept.len(), 3);
    for (token, context) in kept {
        assert_eq!(token_of(&context), token);
        assert!(context.has_ended(), "{token}");
    }
}
