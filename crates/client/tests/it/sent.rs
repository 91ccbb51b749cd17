//! Under which id a call went out.

use std::collections::HashSet;
use std::future::{Future as _, IntoFuture as _};
use std::pin::pin;
use std::sync::mpsc::{Receiver, channel};
use std::task::{Context, Waker};

use serde_json::{Value, json};
use switchboard_client::types::CallToolResult;
use switchboard_client::{Call, Client, NoHost};

use crate::peer::{Peer, text};

/// A call, and what is heard of its id.
fn call(client: &Client) -> (Call<CallToolResult>, Receiver<i64>) {
    let (hear, heard) = channel();
    let call = client.call("add").args(&json!({"a": 1}));
    (
        call.on_sent(move |id| hear.send(id).expect("the test listens")),
        heard,
    )
}

fn number(request: &Value) -> i64 {
    request["id"].as_i64().expect("a number")
}

#[tokio::test]
async fn no_two_calls_have_the_same_number_whichever_client_makes_them() {
    let (one, _) = Peer::open(false, NoHost).await;
    let (other, _) = Peer::open(false, NoHost).await;
    let made = (0..100).flat_map(|_| [call(&one).0.id(), call(&other).0.id()]);
    let numbers: HashSet<u64> = made.collect();
    assert_eq!(numbers.len(), 200);
}

#[tokio::test]
async fn a_caller_hears_the_id_of_its_request() {
    for is_stateless in [false, true] {
        let (client, mut peer) = Peer::open(is_stateless, NoHost).await;
        let refusal = json!({"code": -32602, "message": "no"});
        for error in [None, Some(refusal)] {
            let (call, heard) = call(&client);
            let answering = async {
                let request = peer.next().await;
                match error {
                    None => peer.answer(&request, text("done")).await,
                    Some(error) => {
                        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "error": error});
                        peer.send(answer).await;
                    }
                }
                request
            };
            let (_, request) = tokio::join!(call, answering);
            assert_eq!(heard.try_iter().collect::<Vec<_>>(), [number(&request)]);
        }
    }
}

#[tokio::test]
async fn it_is_heard_of_a_call_that_is_given_up_as_well() {
    let (client, mut peer) = Peer::open(true, NoHost).await;
    let (call, heard) = call(&client);
    let request = {
        let mut call = pin!(call.into_future());
        let mut context = Context::from_waker(Waker::noop());
        assert!(call.as_mut().poll(&mut context).is_pending());
        peer.next().await
    };
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [number(&request)]);
}

#[tokio::test]
async fn a_call_that_is_not_sent_has_none() {
    let (client, _peer) = Peer::open(true, NoHost).await;
    client.close().await;
    let (call, heard) = call(&client);
    call.await.unwrap_err();
    assert_eq!(heard.try_iter().count(), 0);
}
