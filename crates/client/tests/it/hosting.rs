//! What a server asks and tells, and hosts that are not as they should be.
//!
//! Fault matrix: 25 to 27.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::types::{ElicitAction, ElicitResult};
use switchboard_client::{Class, Client, ErrorKind, Handlers, NoHost, Refusal};
use switchboard_testkit::faulty::Eras;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::case::{alive, check_error};
use crate::peer::{Peer, text};
use crate::server::{MOMENT, Server};
use crate::stdio::received;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_wants_input_for_ever_is_stopped_after_ten_rounds() {
    let asked = Arc::new(AtomicUsize::new(0));
    let host = {
        let asked = Arc::clone(&asked);
        Handlers::new().on_form(move |_, _| {
            asked.fetch_add(1, Ordering::Relaxed);
            async { Ok(ElicitResult::new(ElicitAction::Decline)) }
        })
    };
    let server = Server::stdio("input-required-for-ever", Eras::Modern);
    let client = Client::connect_with(server.spec(), host).await.unwrap();
    let error = client
        .call("defect")
        .await
        .expect_err("it never has enough");
    assert!(
        matches!(error.kind(), ErrorKind::TooManyRounds(10)),
        "{error:?}"
    );
    check_error(&error, Class::Peer, &["more input 10 times"], true).unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 10);
    alive(&client).await.unwrap();
    client.close().await;
    server.check_gone().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_wants_the_same_call_for_ever_is_asked_ever_more_seldom_and_then_not() {
    let (client, mut peer) = Peer::open(true, NoHost).await;
    let started = tokio::time::Instant::now();
    let call = tokio::spawn(client.call("x").deadline(None).into_future());
    let served = tokio::spawn(async move {
        let mut count = 0;
        loop {
            let request = peer.next().await;
            if request["params"]["name"] != "x" {
                return count;
            }
            count += 1;
            let again = json!({"resultType": "input_required", "requestState": "s"});
            peer.answer(&request, again).await;
        }
    });
    let error = call.await.unwrap().expect_err("it never has enough");
    assert!(
        matches!(error.kind(), ErrorKind::TooManyRounds(10)),
        "{error:?}"
    );
    assert!(started.elapsed() > MOMENT, "{:?}", started.elapsed());
    drop(tokio::spawn(client.call("end").into_future()));
    assert_eq!(served.await.unwrap(), 11);
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_wants_the_same_call_for_ever_holds_up_nobody_else() {
    let server = Server::stdio("state-for-ever", Eras::Modern);
    let client = server.connect().await.unwrap();
    let call = client.call("defect").deadline(Duration::from_millis(500));
    let (outcome, beside) = tokio::join!(call.into_future(), alive(&client));
    beside.unwrap();
    let error = outcome.expect_err("it never has enough");
    check_error(&error, Class::Timeout, &["500ms"], true).unwrap();
    client.close().await;
    server.check_gone().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_never_declared_is_refused_and_nobody_is_asked() {
    let server = Server::stdio("unsolicited", Eras::Legacy);
    let client = server.connect().await.unwrap();
    client.call("defect").await.unwrap();
    let messages = received(&client).await;
    for method in [
        "sampling/createMessage",
        "elicitation/create",
        "roots/list",
        "files/delete",
    ] {
        let id = Value::from(format!("ask-{method}"));
        let answers: Vec<_> = messages
            .iter()
            .filter(|message| message["id"] == id)
            .collect();
        assert_eq!(answers.len(), 1, "{method}");
        assert_eq!(answers[0]["error"]["code"], -32601, "{method}");
    }
    client.close().await;
    server.check_gone().unwrap();

    // The stateless era asks within results only; requests are passed over.
    let asked = Arc::new(AtomicUsize::new(0));
    let host = {
        let asked = Arc::clone(&asked);
        Handlers::new().on_form(move |_, _| {
            asked.fetch_add(1, Ordering::Relaxed);
            async { Ok(ElicitResult::new(ElicitAction::Decline)) }
        })
    };
    let server = Server::stdio("unsolicited", Eras::Modern);
    let client = Client::connect_with(server.spec(), host).await.unwrap();
    client.call("defect").await.unwrap();
    alive(&client).await.unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    client.close().await;
    server.check_gone().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_panics_has_refused_and_harms_nobody() {
    let host = || {
        Handlers::new()
            .on_form(|_, _| async { panic!("on purpose: the form") })
            .on_log(|_| panic!("on purpose: the log"))
            .on_change(|_| panic!("on purpose: the change"))
            .on_notification(|_| panic!("on purpose: the notification"))
    };
    // By handshake: the question is answered with an error.
    let (client, mut peer) = Peer::open(false, host()).await;
    let call = tokio::spawn(client.call("x").into_future());
    let request = peer.next().await;
    peer.tell(
        "notifications/message",
        json!({"level": "info", "data": "a"}),
    )
    .await;
    peer.tell("notifications/tools/list_changed", json!({}))
        .await;
    peer.tell("notifications/unheard-of", json!({})).await;
    peer.send(question("q", "elicitation/create")).await;
    let answer = peer.next().await;
    assert_eq!(answer["id"], "q");
    assert_eq!(answer["error"]["code"], -32603);
    peer.answer(&request, text("done")).await;
    assert_eq!(call.await.unwrap().unwrap().joined_text(), "done");
    client.close().await;

    // Within a result: the call cannot go on, others can.
    let (client, mut peer) = Peer::open(true, host()).await;
    let call = tokio::spawn(client.call("x").into_future());
    let request = peer.next().await;
    peer.answer(&request, wants_form()).await;
    let error = call.await.unwrap().expect_err("the host panicked");
    assert!(
        matches!(error.kind(), ErrorKind::NotAnswered(_)),
        "{error:?}"
    );
    check_error(&error, Class::Caller, &["question", "no answer"], true).unwrap();
    let call = tokio::spawn(client.call("y").into_future());
    let request = peer.next().await;
    peer.answer(&request, text("fine")).await;
    assert_eq!(call.await.unwrap().unwrap().joined_text(), "fine");
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_refuses_says_why() {
    let host = Handlers::new().on_form(|_, _| async { Err(Refusal::by_user("not today")) });
    let (client, mut peer) = Peer::open(true, host).await;
    let call = tokio::spawn(client.call("x").into_future());
    let request = peer.next().await;
    peer.answer(&request, wants_form()).await;
    let error = call.await.unwrap().expect_err("the host refused");
    check_error(&error, Class::Caller, &["not today"], true).unwrap();
    client.close().await;
}

/// A host that thinks for ever about a form; told is when it begins, and when it is stopped.
fn thinking() -> (
    Handlers,
    mpsc::UnboundedReceiver<()>,
    mpsc::UnboundedReceiver<()>,
) {
    let (begun, has_begun) = mpsc::unbounded_channel();
    let (ended, has_ended) = mpsc::unbounded_channel();
    let host = Handlers::new().on_form(move |_, _| {
        let guard = Ended(ended.clone());
        begun.send(()).expect("the test waits for it");
        async move {
            std::future::pending::<()>().await;
            drop(guard);
            Ok(ElicitResult::new(ElicitAction::Accept))
        }
    });
    (host, has_begun, has_ended)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_is_withdrawn_is_dropped_and_not_answered() {
    let (host, mut has_begun, mut has_ended) = thinking();
    let (client, mut peer) = Peer::open(false, host).await;
    let call = tokio::spawn(client.call("x").into_future());
    let request = peer.next().await;
    peer.send(question("q", "elicitation/create")).await;
    has_begun.recv().await.unwrap();
    peer.tell("notifications/cancelled", json!({"requestId": "q"}))
        .await;
    timeout(MOMENT, has_ended.recv())
        .await
        .expect("it is dropped at once");
    peer.answer(&request, text("done")).await;
    assert_eq!(call.await.unwrap().unwrap().joined_text(), "done");
    // The next thing that comes is no answer to the question.
    let next = tokio::spawn(client.call("y").into_future());
    let message = peer.next().await;
    assert_eq!(message["method"], "tools/call", "{message}");
    peer.answer(&message, text("fine")).await;
    next.await.unwrap().unwrap();
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_questions_of_a_call_that_is_dropped_are_dropped_with_it() {
    let (host, mut has_begun, mut has_ended) = thinking();
    let (client, mut peer) = Peer::open(true, host).await;
    let call = tokio::spawn(client.call("x").into_future());
    let request = peer.next().await;
    peer.answer(&request, wants_form()).await;
    has_begun.recv().await.unwrap();
    call.abort();
    timeout(MOMENT, has_ended.recv())
        .await
        .expect("it is dropped at once");
    client.close().await;
}

/// Tells when it is dropped.
struct Ended(mpsc::UnboundedSender<()>);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

fn question(id: &str, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": form()})
}

fn wants_form() -> Value {
    let question = json!({"method": "elicitation/create", "params": form()});
    json!({"resultType": "input_required", "requestState": "s", "inputRequests": {"who": question}})
}

fn form() -> Value {
    let schema = json!({"type": "object", "properties": {}});
    json!({"message": "Who?", "requestedSchema": schema})
}

#[tokio::test(start_paused = true)]
async fn once_a_call_was_left_nobody_says_which_call_a_question_is_about() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let host = Handlers::new().on_form(move |_, asked| {
        tell.send(asked.call).expect("somebody listens");
        async { Ok(ElicitResult::new(ElicitAction::Decline)) }
    });
    let (client, mut peer) = Peer::open(false, host).await;
    let question = json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create",
        "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}});
    let left = tokio::spawn(client.call("left").into_future());
    assert_eq!(peer.next().await["method"], "tools/call");
    peer.send(question.clone()).await;
    assert!(told.recv().await.expect("it is asked").is_some());
    assert_eq!(peer.next().await["result"]["action"], "decline");

    left.abort();
    assert_eq!(peer.next().await["method"], "notifications/cancelled");
    let waiting = tokio::spawn(client.call("waiting").into_future());
    assert_eq!(peer.next().await["method"], "tools/call");
    // It may have been on its way before.
    peer.send(question).await;
    assert_eq!(told.recv().await, Some(None));
    waiting.abort();
}
