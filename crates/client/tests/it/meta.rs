//! What a caller adds to the `_meta` of its requests.

use serde_json::json;
use switchboard_client::NoHost;

use crate::peer::{Peer, text};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";

#[tokio::test]
async fn what_a_caller_adds_stands_beside_what_the_protocol_wants() {
    for is_stateless in [false, true] {
        let (client, mut peer) = Peer::open(is_stateless, NoHost).await;
        let call = client
            .call("add")
            .args(&json!({"a": 1}))
            .meta("traceparent", PARENT)
            .meta("com.example/a", json!([1, {"b": null}]))
            // What only the protocol may say.
            .meta("progressToken", "mine")
            .meta("io.modelcontextprotocol/protocolVersion", "1999-01-01");
        let answering = async {
            let request = peer.next().await;
            peer.answer(&request, text("done")).await;
            request
        };
        let (result, request) = tokio::join!(call, answering);
        assert_eq!(result.unwrap().joined_text(), "done");
        let params = &request["params"];
        assert_eq!(params["name"], "add");
        assert_eq!(params["arguments"], json!({"a": 1}));
        let meta = &params["_meta"];
        assert_eq!(meta["traceparent"], PARENT);
        assert_eq!(meta["com.example/a"], json!([1, {"b": null}]));
        assert_eq!(meta["progressToken"], request["id"]);
        let version = meta.get("io.modelcontextprotocol/protocolVersion");
        match is_stateless {
            true => assert_eq!(version, Some(&json!("2026-07-28"))),
            // It means nothing there, and is not ours to take away.
            false => assert_eq!(version, Some(&json!("1999-01-01"))),
        }
    }
}

#[tokio::test]
async fn any_request_can_carry_it_and_one_without_carries_nothing() {
    for is_stateless in [false, true] {
        let (client, mut peer) = Peer::open(is_stateless, NoHost).await;
        for (parent, call) in [
            (
                json!(PARENT),
                client.call("add").meta("traceparent", PARENT),
            ),
            (json!(null), client.call("add")),
        ] {
            let answering = async {
                let request = peer.next().await;
                peer.answer(&request, text("done")).await;
                request
            };
            let (result, request) = tokio::join!(call, answering);
            assert!(result.is_ok());
            assert_eq!(request["params"]["_meta"]["traceparent"], parent);
        }
        let params = json!({"uri": "file:///a", "_meta": {"com.example/b": 2}});
        let read = client.raw("example/read", Some(&params));
        let read = read.meta("traceparent", PARENT);
        let refusing = async {
            let request = peer.next().await;
            let error = json!({"code": -32602, "message": "no"});
            peer.send(json!({"jsonrpc": "2.0", "id": request["id"], "error": error}))
                .await;
            request
        };
        let (result, request) = tokio::join!(read, refusing);
        assert!(result.is_err());
        assert_eq!(request["params"]["uri"], "file:///a");
        assert_eq!(request["params"]["_meta"]["traceparent"], PARENT);
        assert_eq!(request["params"]["_meta"]["com.example/b"], 2);
    }
}
