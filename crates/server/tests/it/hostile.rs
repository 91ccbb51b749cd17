//! Clients that attack a server: sessions that they propose, calls of others that they cancel, and
//! handlers of every kind that they make break.

use serde_json::{Value, json};
use switchboard_server::{NoArguments, Server, prompt, resource, template, tool};

use crate::fixture::{Add, Witness, site};
use crate::http_client::Connection;
use crate::peer::{HttpPeer, Peer, WIRES};

const NEWEST: &str = "2025-11-25";

fn text_of(answer: &Value) -> &str {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}"))
}

/// Who could choose the id would know it before its owner does.
#[tokio::test]
async fn a_session_that_a_client_proposes_is_not_the_one_it_gets() {
    let mut peer = HttpPeer::open(&site(&Witness::new()), NEWEST, json!({})).await;
    let known = peer.session.clone().unwrap();
    for planted in ["0123456789abcdef0123456789abcdef", &known, "../admin", "*"] {
        peer.session = Some(planted.to_owned());
        let answer = peer.initialize(NEWEST, json!({})).await;
        // Refused, or begun with an id of our own.
        let own = peer.session.take();
        assert_ne!(own.as_deref(), Some(planted), "{answer}");
        assert!(own.is_none_or(|own| own.len() == 32), "{answer}");
        if planted != known {
            peer.session = Some(planted.to_owned());
            assert_eq!(peer.begin("tools/list", json!({})).await.status, 404);
            assert_eq!(peer.listen(None).await.status, 404);
            assert_eq!(peer.delete().await, 404);
        }
    }
    // In the query and in cookies it is nothing at all.
    peer.session = None;
    peer.extra = vec![format!("cookie: mcp-session-id={known}")];
    let headers = peer.headers("application/json, text/event-stream");
    let path = format!("/mcp?sessionId={known}&mcp-session-id={known}");
    let list = r#"{"jsonrpc":"2.0","id":9,"method":"tools/list"}"#;
    let refused = peer.served.request("POST", &path, &headers, list).await;
    assert_eq!(refused.status, 400);
    peer.session = Some(known);
    let listed = peer.call("tools/list", json!({})).await;
    assert!(listed["result"].is_object(), "{listed}");
}

/// Two sessions of one server, each with a call of the same id.
#[tokio::test]
async fn who_cancels_by_an_id_ends_the_call_of_his_own_session_alone() {
    let witness = Witness::new();
    let mut peer = HttpPeer::connect(&site(&witness)).await;
    let mut sessions = Vec::new();
    let mut calls = Vec::new();
    let call = r#"{"jsonrpc":"2.0","id":"same","method":"tools/call","params":{"name":"wait"}}"#;
    for count in 1..=3 {
        peer.session = None;
        peer.initialize(NEWEST, json!({})).await;
        sessions.push(peer.session.clone());
        // The third has no call, and cancels all the same.
        if count < 3 {
            let headers = peer.headers("application/json, text/event-stream");
            let mut connection = Connection::open(peer.served.address).await;
            connection.send("POST", "/mcp", &headers, call).await;
            calls.push(connection);
            witness.started(count).await;
        }
    }
    let cancel = json!({"requestId": "same", "reason": "not mine"});
    for (session, dropped) in [(2, 0), (1, 1)] {
        peer.session.clone_from(&sessions[session]);
        let status = peer.tell("notifications/cancelled", cancel.clone()).await;
        assert_eq!(status, 202);
        // Answered after what was told before it.
        let listed = peer.call("tools/list", json!({})).await;
        assert!(listed["result"].is_object(), "{listed}");
        witness.dropped(dropped).await;
        assert_eq!(witness.dropped_so_far(), dropped);
    }
    witness.let_go(1);
    let answer = calls.remove(0).response().await.messages().await;
    assert_eq!(text_of(answer.last().unwrap()), "waited");
}

fn breaking() -> Server {
    Server::new("breaking", "1.0.0")
        .tool(tool("add", |add: Add| async move { add.a + add.b }))
        .prompt(
            prompt("broken", async |_: NoArguments| -> String {
                panic!("a secret of the prompt")
            })
            .title("Broken"),
        )
        .resource(
            resource("broken://one", async || -> String {
                panic!("a secret of the resource")
            })
            .name("one"),
        )
        .template(
            template("broken://{a}/{b}", |add: Add| async move {
                assert!(add.a == 1, "a secret of the template");
                "fine"
            })
            .complete("a", async |_| -> Vec<String> {
                panic!("a secret of the completion")
            }),
        )
}

#[tokio::test]
async fn a_handler_of_any_kind_that_breaks_is_an_error_of_its_call_alone() {
    let site = breaking().site().unwrap();
    let reference = json!({"type": "ref/resource", "uri": "broken://{a}/{b}"});
    for wire in WIRES {
        let mut peer = Peer::open(wire, &site, NEWEST, json!({})).await;
        for (method, params) in [
            ("prompts/get", json!({"name": "broken"})),
            ("resources/read", json!({"uri": "broken://one"})),
            ("resources/read", json!({"uri": "broken://2/2"})),
            (
                "completion/complete",
                json!({"ref": reference, "argument": {"name": "a", "value": "x"}}),
            ),
        ] {
            let answer = peer.call(method, params).await;
            assert_eq!(
                answer["error"]["code"], -32603,
                "{wire:?} {method} {answer}"
            );
            assert!(!answer.to_string().contains("secret"), "{method} {answer}");
            let answer = peer.tool("add", json!({"a": 1, "b": 2})).await;
            assert_eq!(text_of(&answer), "3", "{wire:?} after {method}");
        }
        let fine = peer
            .call("resources/read", json!({"uri": "broken://1/2"}))
            .await;
        assert_eq!(fine["result"]["contents"][0]["text"], "fine", "{fine}");
    }
}
