//! Servers that ask in the midst of a call, in all four cells.

use std::sync::Arc;

use switchboard_client::Handlers;
use switchboard_protocol::Era;

use crate::cell::{Cell, Eras, connect, in_each, soon};

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
