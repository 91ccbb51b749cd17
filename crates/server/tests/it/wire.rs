//! What every client may rely on, whichever wire and revision: the same on a pipe and over HTTP.
//!
//! Specification: basic, basic/lifecycle, basic/patterns/cancellation, server/tools.

use serde_json::{Value, json};

use crate::fixture::{Witness, site};
use crate::http_client::Response;
use crate::peer::{HttpPeer, Peer, StatelessPeer, WIRES, Wire, envelope};
use crate::pipe_client::{PipeClient, request};

const HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn text_of(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
}

async fn check_alive(peer: &mut Peer) {
    let answer = peer.tool("add", json!({"a": 1, "b": 2})).await;
    assert_eq!(text_of(&answer), "3");
}

#[tokio::test]
async fn initialize_at_each_revision_answers_that_revision() {
    let site = site(&Witness::new());
    for wire in WIRES {
        for revision in HANDSHAKE {
            let mut peer = Peer::open(wire, &site, revision, json!({})).await;
            check_alive(&mut peer).await;
        }
    }
}

#[tokio::test]
async fn the_stateless_revision_in_initialize_answers_the_newest_with_a_handshake() {
    let site = site(&Witness::new());
    for wire in WIRES {
        let mut peer = Peer::connect(wire, &site).await;
        let answer = peer.initialize("2026-07-28", json!({})).await;
        assert_eq!(
            answer["result"]["protocolVersion"], "2025-11-25",
            "{answer}"
        );
        check_alive(&mut peer).await;
    }
}

#[tokio::test]
async fn a_call_before_the_handshake_is_refused() {
    let site = site(&Witness::new());
    for wire in WIRES {
        let mut peer = Peer::connect(wire, &site).await;
        let call = request(1, "tools/list", json!({}));
        let messages = peer.send(&call.to_string()).await;
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert_eq!(messages[0]["error"]["code"], -32600, "{messages:?}");
        peer.initialize("2025-11-25", json!({})).await;
        check_alive(&mut peer).await;
    }
}

#[tokio::test]
async fn a_batch_is_answered_at_2025_03_26_and_refused_elsewhere() {
    let site = site(&Witness::new());
    for wire in WIRES {
        for revision in HANDSHAKE {
            let mut peer = Peer::open(wire, &site, revision, json!({})).await;
            let call = |id: u64| {
                let params = json!({"name": "add", "arguments": {"a": id, "b": 1}});
                request(id, "tools/call", params)
            };
            let told = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
            let batch = json!([call(101), told, call(102)]);
            let mut messages = peer.send(&batch.to_string()).await;
            if let (Wire::Pipe, [Value::Array(answers)]) = (wire, messages.as_slice()) {
                messages = answers.clone();
            }
            if revision == "2025-03-26" {
                messages.sort_by_key(|answer| answer["id"].as_u64());
                let texts: Vec<&str> = messages.iter().map(text_of).collect();
                assert_eq!(texts, ["102", "103"], "{wire:?}");
            } else {
                assert_eq!(messages.len(), 1, "{wire:?} {revision}: {messages:?}");
                assert_eq!(messages[0]["error"]["code"], -32600, "{messages:?}");
            }
            check_alive(&mut peer).await;
        }
    }
}

#[tokio::test]
async fn what_is_no_message_is_refused_and_the_server_lives_on() {
    let site = site(&Witness::new());
    let cases = [
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.0,"method":"tools/list"}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":true,"method":"tools/list"}"#,
            -32600,
        ),
        (r#"{"jsonrpc":"2.0","id":{},"method":"tools/list"}"#, -32600),
        (r#"{"id":77,"method":"tools/list"}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":77,"method":"tools/list"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":77}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":77,"method":"tools/list""#, -32700),
        (r#"{"jsonrpc":"2.0","id":77,"method":tools}"#, -32700),
        ("hello", -32700),
    ];
    for wire in WIRES {
        let mut peer = Peer::open(wire, &site, "2025-11-25", json!({})).await;
        for (text, code) in cases {
            let messages = peer.send(text).await;
            assert_eq!(messages.len(), 1, "{wire:?} {text}: {messages:?}");
            assert_eq!(messages[0]["error"]["code"], code, "{wire:?} {text}");
            let id = &messages[0]["id"];
            assert!(id.is_null() || *id == 77, "{wire:?} {text}: {id}");
        }
        check_alive(&mut peer).await;
    }
}

#[tokio::test]
async fn unknown_methods_and_unknown_tools_have_their_codes() {
    let site = site(&Witness::new());
    for wire in WIRES {
        let mut peer = Peer::open(wire, &site, "2025-11-25", json!({})).await;
        let answer = peer.call("tools/conjure", json!({})).await;
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
        // Known to the protocol, but this server has none.
        let answer = peer.call("prompts/list", json!({})).await;
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
        let answer = peer.tool("conjure", json!({})).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("conjure")
        );
        let answer = peer.call("tools/call", json!({"name": 7})).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

#[tokio::test]
async fn an_argument_of_the_wrong_type_is_told_to_the_model_with_its_name() {
    let site = site(&Witness::new());
    for wire in WIRES {
        let mut peer = Peer::open(wire, &site, "2025-11-25", json!({})).await;
        for (arguments, field) in [
            (json!({"a": 1, "b": "two"}), "b"),
            (json!({"a": 1}), "b"),
            (json!({"a": 1, "b": 2, "c": 3}), "c"),
        ] {
            let answer = peer.tool("add", arguments).await;
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            assert!(text_of(&answer).contains(field), "{answer}");
        }
    }
}

#[tokio::test]
async fn a_panic_in_a_handler_answers_an_error_and_harms_nobody() {
    let witness = Witness::new();
    let site = site(&witness);
    let mut other = PipeClient::open(&site, "2025-11-25", json!({})).await;
    let waiting = other.begin("tools/call", json!({"name": "wait"})).await;
    witness.started(1).await;
    for wire in WIRES {
        let mut peer = Peer::open(wire, &site, "2025-11-25", json!({})).await;
        let answer = peer.tool("panic", json!({})).await;
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        assert!(!answer.to_string().contains("own fault"), "{answer}");
        check_alive(&mut peer).await;
    }
    witness.let_go(1);
    assert_eq!(text_of(&other.answer(waiting).await), "waited");
}

#[tokio::test]
async fn a_fast_call_behind_a_slow_one_is_not_delayed_on_a_pipe() {
    let witness = Witness::new();
    let mut client = PipeClient::open(&site(&witness), "2025-11-25", json!({})).await;
    let slow = client.begin("tools/call", json!({"name": "wait"})).await;
    let fast = client.tool("add", json!({"a": 20, "b": 3})).await;
    assert_eq!(text_of(&fast), "23");
    assert_eq!(witness.dropped_so_far(), 0);
    witness.let_go(1);
    assert_eq!(text_of(&client.answer(slow).await), "waited");
}

#[tokio::test]
async fn a_fast_call_behind_a_slow_one_is_not_delayed_over_http() {
    let witness = Witness::new();
    let mut peer = HttpPeer::open(&site(&witness), "2025-11-25", json!({})).await;
    let text = request(900, "tools/call", json!({"name": "wait"})).to_string();
    let slow = peer.post(&text);
    let fast = async {
        witness.started(1).await;
        let params = json!({"name": "add", "arguments": {"a": 20, "b": 3}});
        let text = request(901, "tools/call", params).to_string();
        let fast = peer.post(&text).await.json().await;
        assert_eq!(text_of(&fast), "23");
        assert_eq!(witness.dropped_so_far(), 0);
        witness.let_go(1);
    };
    let (slow, ()) = tokio::join!(slow, fast);
    assert_eq!(text_of(&slow.json().await), "waited");
    assert_eq!(peer.call("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn a_cancelled_call_gets_no_reply_and_its_handler_has_stopped_on_a_pipe() {
    let witness = Witness::new();
    let mut client = PipeClient::open(&site(&witness), "2025-11-25", json!({})).await;
    let id = client.begin("tools/call", json!({"name": "wait"})).await;
    witness.started(1).await;
    client
        .tell("notifications/cancelled", json!({"requestId": id}))
        .await;
    witness.dropped(1).await;
    assert_eq!(client.settle().await, Vec::<Value>::new());
    // The id is free again.
    client
        .send(&request(id, "tools/call", json!({"name": "panic"})).to_string())
        .await;
    assert_eq!(client.answer(id).await["error"]["code"], -32603);
    assert_eq!(client.close().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_cancelled_call_gets_no_reply_and_its_handler_has_stopped_in_the_stateless_era() {
    let witness = Witness::new();
    let mut client = PipeClient::connect(&site(&witness));
    let params = envelope(json!({"name": "wait"}), &json!({}), &json!({}));
    let id = client.begin("tools/call", params).await;
    witness.started(1).await;
    client
        .tell("notifications/cancelled", json!({"requestId": id}))
        .await;
    witness.dropped(1).await;
    let params = envelope(json!({}), &json!({}), &json!({}));
    let answer = client.call("server/discover", params).await;
    assert!(answer["result"].is_object(), "{answer}");
    assert_eq!(client.close().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_cancelled_call_gets_no_reply_and_its_handler_has_stopped_over_http() {
    let witness = Witness::new();
    for revision in HANDSHAKE {
        let before = witness.dropped_so_far();
        let peer = HttpPeer::open(&site(&witness), revision, json!({})).await;
        let text = request(900, "tools/call", json!({"name": "wait"})).to_string();
        let cancel = async {
            witness.started(before + 1).await;
            let status = peer
                .tell("notifications/cancelled", json!({"requestId": 900}))
                .await;
            assert_eq!(status, 202);
            witness.dropped(before + 1).await;
        };
        // The request is over: the client does not wait for what will not come.
        let (response, ()): (Response, ()) = tokio::join!(peer.post(&text), cancel);
        assert_eq!(response.messages().await, Vec::<Value>::new(), "{revision}");
    }
}

#[tokio::test]
async fn a_cancelled_call_ends_the_stream_that_it_had_begun() {
    let witness = Witness::new();
    let mut peer = HttpPeer::open(&site(&witness), "2025-11-25", json!({})).await;
    let params = json!({"name": "progress", "_meta": {"progressToken": 1}});
    let mut response = peer.begin("tools/call", params).await;
    assert_eq!(
        response.message().await.unwrap()["method"],
        "notifications/progress"
    );
    let id = peer.last_id();
    peer.tell("notifications/cancelled", json!({"requestId": id}))
        .await;
    witness.dropped(1).await;
    assert_eq!(response.messages().await, Vec::<Value>::new());
}

#[tokio::test]
async fn the_same_id_twice_in_flight_is_refused_without_hurting_the_first() {
    let witness = Witness::new();
    let mut client = PipeClient::open(&site(&witness), "2025-11-25", json!({})).await;
    let id = client.begin("tools/call", json!({"name": "wait"})).await;
    witness.started(1).await;
    client
        .send(&request(id, "tools/list", json!({})).to_string())
        .await;
    let heard = client.settle().await;
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(heard[0]["error"]["code"], -32600);
    // With its id, it would be taken for the answer to the first.
    assert_ne!(heard[0]["id"], id);
    witness.let_go(1);
    assert_eq!(text_of(&client.answer(id).await), "waited");
}

#[tokio::test]
async fn the_same_id_twice_in_flight_is_refused_without_hurting_the_first_over_http() {
    let witness = Witness::new();
    let peer = HttpPeer::open(&site(&witness), "2025-11-25", json!({})).await;
    let text = request(900, "tools/call", json!({"name": "wait"})).to_string();
    let second = async {
        witness.started(1).await;
        let text = request(900, "tools/list", json!({})).to_string();
        let refused = peer.post(&text).await.json().await;
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
        witness.let_go(1);
    };
    let (first, ()) = tokio::join!(peer.post(&text), second);
    assert_eq!(text_of(&first.json().await), "waited");
}

#[tokio::test]
async fn ids_of_different_stateless_callers_have_nothing_to_do_with_each_other() {
    let witness = Witness::new();
    let site = site(&witness);
    let mut first = StatelessPeer::connect(&site).await;
    let mut second = StatelessPeer::connect(&site).await;
    let both = async {
        tokio::join!(
            first.tool("wait", json!({})),
            second.tool("wait", json!({}))
        )
    };
    let release = async {
        witness.started(2).await;
        witness.let_go(2);
    };
    let ((first, second), ()) = tokio::join!(both, release);
    assert_eq!((text_of(&first), text_of(&second)), ("waited", "waited"));
    assert_eq!(first["id"], second["id"]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_input_lets_calls_finish_for_a_while() {
    let witness = Witness::new();
    let mut client = PipeClient::open(&site(&witness), "2025-11-25", json!({})).await;
    let id = client.begin("tools/call", json!({"name": "wait"})).await;
    witness.started(1).await;
    client.finish().await;
    witness.let_go(1);
    assert_eq!(text_of(&client.answer(id).await), "waited");
    assert_eq!(client.close().await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn the_end_of_input_with_a_call_in_flight_ends_the_server_soon() {
    let witness = Witness::new();
    let mut client = PipeClient::open(&site(&witness), "2025-11-25", json!({})).await;
    let id = client.begin("tools/call", json!({"name": "wait"})).await;
    witness.started(1).await;
    let before = tokio::time::Instant::now();
    let heard = client.close().await;
    // By the clock of the test: the 2 s that calls have to finish, no more and no less.
    let took = before.elapsed().as_millis();
    assert!((2_000..2_100).contains(&took), "{took} ms");
    // Its caller is told, if it still listens.
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(heard[0]["id"], id);
    assert_eq!(heard[0]["error"]["code"], -32603);
    witness.dropped(1).await;
}
