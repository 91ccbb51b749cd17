//! Servers that ask in the midst of a call, in all four cells.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_client::types::{ElicitAction, ElicitResult};
use switchboard_client::{Change, Handlers};
use switchboard_protocol::Era;
use switchboard_protocol::jsonrpc::ErrorCode;
use tokio::sync::mpsc;

use crate::cell::{Cell, Eras, ask, connect, in_each, in_flight, question, soon};

#[tokio::test]
async fn a_form_is_filled_in_by_the_one_who_called() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        assert_eq!(cell.text("one__greet").await, "Hello, Ada!");
        assert_eq!(*cell.asked.lock().unwrap(), ["Who are you?"]);
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_server_may_ask_again() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        assert_eq!(cell.text("one__twice").await, "Ada and Ada");
        assert_eq!(*cell.asked.lock().unwrap(), ["The first?", "The second?"]);
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_page_is_visited_by_the_one_who_called() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        assert_eq!(cell.text("one__visit").await, "visited: true");
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn models_and_folders_are_those_of_the_client() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        assert_eq!(cell.text("one__think").await, "a-model says so");
        assert_eq!(cell.text("one__folders").await, "file:///srv");
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn whoever_was_sent_to_a_page_hears_when_he_is_done_there() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let (heard, mut hearing) = mpsc::unbounded_channel();
        let user = Handlers::new()
            .on_url(|_, _| async { Ok(ElicitResult::new(ElicitAction::Accept)) })
            .on_change(move |change| drop(heard.send(change)));
        let client = connect(&cell.gateway, eras.client, user).await;
        let visited = soon(client.call("one__visit")).await.unwrap();
        assert_eq!(visited.joined_text(), "visited: true", "{eras:?}");
        // A stateless server does not say it, and a stateless client does not hear it.
        if (eras.client, eras.server) == (Era::Handshake, Era::Handshake) {
            let change = soon(hearing.recv()).await;
            assert_eq!(change, Some(Change::Visit("seven".to_owned())));
        }
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_told_so() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let other = connect(&cell.gateway, eras.client, Handlers::new()).await;
        let outcome = soon(other.call("one__greet")).await;
        let failed = match outcome {
            Ok(result) => result.is_error(),
            Err(error) => error.refusal().is_some(),
        };
        assert!(failed);
        assert!(cell.asked.lock().unwrap().is_empty());
        // The other client's calls go on.
        assert_eq!(cell.text("one__greet").await, "Hello, Ada!");
        other.close().await;
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_stateless_client_is_told_what_it_would_have_to_declare() {
    for server in [Era::Handshake, Era::Stateless] {
        let client = Era::Stateless;
        let cell = Cell::open(Eras { client, server }, &["one"]).await;
        let other = connect(&cell.gateway, client, Handlers::new()).await;
        let error = soon(other.call("one__greet")).await.unwrap_err();
        let refusal = error.refusal().unwrap();
        assert_eq!(refusal.code, ErrorCode::MISSING_CLIENT_CAPABILITY);
        let data: Value = refusal.data.as_ref().unwrap().decode().unwrap();
        assert!(
            data["requiredCapabilities"]["elicitation"].is_object(),
            "{data}"
        );
        cell.close().await;
    }
}

#[tokio::test]
async fn a_question_that_is_left_open_is_asked_again_and_its_call_runs_once() {
    let cell = Cell::open(ACROSS, &["one"]).await;
    let first = ask(&cell.client, json!({"name": "one__greet"}))
        .await
        .unwrap();
    let (name, state) = question(&first);
    // Somebody who goes away does not keep others from being asked.
    let away = ask(&cell.client, json!({"name": "one__greet"}))
        .await
        .unwrap();
    assert_ne!(question(&away).1, state);
    let nothing = json!({"name": "one__greet", "requestState": state, "inputResponses": {}});
    let again = ask(&cell.client, nothing.clone()).await.unwrap();
    let (same, state) = question(&again);
    assert_eq!(same, name);
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    let answers = json!({"name": "one__greet", "requestState": state,
        "inputResponses": {name: answer}});
    let last = ask(&cell.client, answers.clone()).await.unwrap();
    assert_eq!(last["content"][0]["text"], "Hello, Ada!");
    // What was taken up once is not taken up again.
    for spent in [nothing, answers] {
        let error = ask(&cell.client, spent).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{error:?}");
        assert!(error.message.contains("requestState"), "{error:?}");
    }
    cell.close().await;
}

#[tokio::test]
async fn a_call_that_ends_while_its_client_is_asked_keeps_its_outcome() {
    let cell = Cell::open(ACROSS, &["one"]).await;
    let first = ask(&cell.client, json!({"name": "one__greet"}))
        .await
        .unwrap();
    let (name, state) = question(&first);
    // The server ends. Nobody waits for the call, and all the same it is over.
    assert_eq!(in_flight(&cell.gateway), 1);
    soon(cell.gateway.hub().disconnect("one")).await.unwrap();
    soon(async {
        while in_flight(&cell.gateway) > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    let answers = json!({"name": "one__greet", "requestState": state,
        "inputResponses": {name: answer}});
    let error = ask(&cell.client, answers).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::INTERNAL_ERROR, "{error:?}");
    cell.close().await;
}

#[tokio::test]
async fn questions_of_many_calls_reach_those_who_made_them() {
    let eras = Eras {
        client: Era::Stateless,
        server: Era::Stateless,
    };
    let cell = Arc::new(Cell::open(eras, &["one", "two"]).await);
    let calls: Vec<_> = (0..20)
        .map(|number| {
            let cell = Arc::clone(&cell);
            tokio::spawn(async move { cell.text(["one__greet", "two__twice"][number % 2]).await })
        })
        .collect();
    for (number, call) in calls.into_iter().enumerate() {
        let expected = ["Hello, Ada!", "Ada and Ada"][number % 2];
        assert_eq!(soon(call).await.unwrap(), expected);
    }
}

/// The client is asked by ending its request, the server asks in the midst of its call.
const ACROSS: Eras = Eras {
    client: Era::Stateless,
    server: Era::Handshake,
};
