//! Calls that go through, in all four cells.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use switchboard_client::types::{
    CompleteRequestParams, CompletionArgument, CompletionReference, ContentBlock, ResourceContents,
};
use switchboard_gateway::Names;
use switchboard_protocol::Era;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use crate::cell::{Cell, in_each, soon};

#[tokio::test]
async fn tools_are_called_and_errors_come_back() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one", "two"]).await;
        let sum = cell.client.call("two__add").arg("a", 2).arg("b", 3);
        assert_eq!(soon(sum).await.unwrap().joined_text(), "5");
        assert_ne!(cell.text("one__pid").await, cell.text("two__pid").await);
        let failed = soon(cell.client.call("one__fail")).await.unwrap();
        assert!(failed.is_error());
        assert_eq!(failed.joined_text(), "it cannot");
        let error = soon(cell.client.call("one__ad")).await.unwrap_err();
        let refusal = error.refusal().unwrap();
        assert_eq!(refusal.code.0, -32602);
        assert!(refusal.message.contains("one__add"), "{refusal:?}");
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn what_a_client_attaches_reaches_the_server() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let call = cell.client.call("one__said").meta("com.example/a", 1);
        let said = soon(call).await.unwrap().joined_text();
        assert_eq!(said, r#"{"com.example/a":1}"#);
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn what_becomes_a_task_comes_to_its_end() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let mut call = cell.client.call("one__slow");
        if (eras.client, eras.server) == (Era::Handshake, Era::Handshake) {
            // In the other era the server decides; across eras the call itself is waited for.
            call = call.as_task();
        }
        let result = soon(call).await;
        assert_eq!(result.unwrap().joined_text(), "at last", "{eras:?}");
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn resources_prompts_and_completions_are_found_where_they_are() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let client = &cell.client;
        let read = soon(client.read("demo://state")).await.unwrap();
        let [ResourceContents::Text(text)] = &*read.contents else {
            panic!("{read:?}");
        };
        assert_eq!(text.text, "fine");
        let read = soon(client.read("rows://7")).await.unwrap();
        assert_eq!(read.contents.len(), 1);
        let error = soon(client.read("nothing://here")).await.unwrap_err();
        let code = error.refusal().unwrap().code.0;
        let expected = match eras.client {
            Era::Handshake => -32002,
            Era::Stateless => -32602,
        };
        assert_eq!(code, expected, "{error}");

        let prompt = soon(client.prompt("one__review", [("name", "Ada")])).await;
        let prompt = prompt.unwrap();
        let ContentBlock::Text(text) = &prompt.messages[0].content else {
            panic!("{prompt:?}");
        };
        assert_eq!(text.text, "Review it for Ada.");

        let params = CompleteRequestParams::new(
            CompletionReference::resource_template("rows://{id}"),
            CompletionArgument::new("id", "4"),
        );
        let completed = soon(client.complete(&params)).await.unwrap();
        assert_eq!(completed.completion.values, ["41"]);
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn links_lead_back_to_the_server_they_came_from() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one", "two"]).await;
        let result = soon(cell.client.call("two__link")).await.unwrap();
        let [ContentBlock::ResourceLink(link)] = &*result.content else {
            panic!("{result:?}");
        };
        let read = soon(cell.client.read(&link.resource.uri)).await.unwrap();
        assert_eq!(read.contents.len(), 1);
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn progress_comes_through() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hearing = Arc::clone(&heard);
        let call = cell.client.call("one__steps").on_progress(move |progress| {
            hearing.lock().unwrap().push(progress.progress.as_f64());
        });
        assert_eq!(soon(call).await.unwrap().joined_text(), "done");
        assert_eq!(*heard.lock().unwrap(), [Some(1.0), Some(2.0), Some(3.0)]);
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn cancelling_reaches_the_right_server_and_only_the_call() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one", "two"]).await;
        let before = cell.text("one__pid").await;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let call = cell.client.call("one__hold").arg("port", port);
        let call = tokio::spawn(async move { drop(call.await) });
        let (mut connection, _) = soon(listener.accept()).await.unwrap();
        call.abort();
        let ended = soon(connection.read(&mut [0])).await;
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
        assert_eq!(cell.text("one__pid").await, before);
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn names_are_as_the_servers_have_them_where_that_is_wanted() {
    in_each(|eras| async move {
        let cell = Cell::open_as(eras, &["one"], Names::Plain).await;
        let sum = cell.client.call("add").arg("a", 2).arg("b", 3);
        assert_eq!(soon(sum).await.unwrap().joined_text(), "5");
        let prompt = soon(cell.client.prompt("review", [("name", "Ada")])).await;
        assert!(prompt.is_ok());
        cell.close().await;
    })
    .await;
}
