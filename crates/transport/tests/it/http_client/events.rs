//! Event streams.

use switchboard_protocol::framing::EventStreamError;
use switchboard_transport::http::client::{BodyError, Incoming};

use super::{Raw, client, post};
use crate::http::Server;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";

async fn open(server: &Raw) -> Incoming {
    let client = client(|settings| settings.limits.bytes = 100);
    client.send(post(&server.url("/mcp"))).await.unwrap().body
}

#[tokio::test]
async fn events_come_one_by_one_and_the_connection_is_kept() {
    let stream = "id: 7\ndata: one\n\n: still here\n\ndata: two\n\n";
    let size = stream.len();
    let head = format!("{HEAD}transfer-encoding: chunked\r\n\r\n");
    let server = Raw::answering(format!("{head}{size:x}\r\n{stream}\r\n0\r\n\r\n")).await;
    let client = client(|_| {});
    for _ in 0..3 {
        let mut body = client.send(post(&server.url("/mcp"))).await.unwrap().body;
        assert_eq!(body.last_event_id(), None);
        assert_eq!(body.next_event().await.unwrap().unwrap().data, "one");
        assert_eq!(body.last_event_id(), Some("7"));
        assert_eq!(body.next_event().await.unwrap().unwrap().data, "two");
        assert_eq!(body.next_event().await.unwrap(), None);
        assert_eq!(body.next_event().await.unwrap(), None);
        assert_eq!(body.received(), size as u64);
        assert_eq!(body.last_event_id(), Some("7"));
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_stream_that_is_cut_within_an_event_says_so_and_gives_nothing() {
    let server = Raw::once(format!("{HEAD}\r\nid: 1\ndata: one\n\ndata: tw")).await;
    let mut body = open(&server).await;
    assert_eq!(body.next_event().await.unwrap().unwrap().data, "one");
    let error = body.next_event().await.unwrap_err();
    assert_eq!(error.to_string(), "the stream ended within an event");
    assert_eq!(body.last_event_id(), Some("1"));
    assert_eq!(body.next_event().await.unwrap(), None);

    let head = format!("{HEAD}transfer-encoding: chunked\r\n\r\n");
    let server = Raw::once(format!("{head}d\r\ndata: one\n\ndat\r\n")).await;
    let mut body = open(&server).await;
    assert_eq!(body.next_event().await.unwrap().unwrap().data, "one");
    let error = body.next_event().await.unwrap_err();
    assert!(
        matches!(error, BodyError::Broken { source: Some(_) }),
        "{error:?}"
    );
    assert_eq!(body.next_event().await.unwrap(), None);
}

#[tokio::test]
async fn an_event_that_is_too_large_is_dropped_and_the_stream_goes_on() {
    let large = "x".repeat(200);
    let server = Raw::once(format!("{HEAD}\r\ndata: {large}\n\ndata: two\n\n")).await;
    let mut body = open(&server).await;
    let error = body.next_event().await.unwrap_err();
    let BodyError::Event(EventStreamError::TooLarge { limit: 100, .. }) = error else {
        panic!("{error:?}");
    };
    assert_eq!(body.next_event().await.unwrap().unwrap().data, "two");
    assert_eq!(body.next_event().await.unwrap(), None);
}

#[tokio::test]
async fn a_long_line_is_one_event_and_one_that_is_too_long_is_dropped() {
    const LIMIT: usize = 1 << 20;
    let (long, longer) = ("x".repeat(LIMIT - 100), "y".repeat(3 * LIMIT));
    for (stream, expected) in [
        (
            format!("data: {long}\n\ndata: two\n\n"),
            vec![Some(&*long), Some("two")],
        ),
        // What is said before counts as well.
        (
            format!("data: {long}\ndata: {long}\n\ndata: two\n\n"),
            vec![None, Some("two")],
        ),
        (
            format!("data: {longer}\n\ndata: two\n\n"),
            vec![None, Some("two")],
        ),
        // A comment is not kept, however long it is.
        (format!(": {longer}\n\ndata: two\n\n"), vec![Some("two")]),
    ] {
        let server = Raw::once(format!("{HEAD}\r\n{stream}")).await;
        let client = client(|settings| settings.limits.bytes = LIMIT);
        let mut body = client.send(post(&server.url("/mcp"))).await.unwrap().body;
        for expected in expected {
            match body.next_event().await {
                Ok(event) => assert_eq!(event.unwrap().data, expected.unwrap()),
                Err(BodyError::Event(EventStreamError::TooLarge { prefix, .. })) => {
                    assert!(
                        expected.is_none() && prefix.starts_with(b"x") | prefix.starts_with(b"y")
                    );
                }
                Err(error) => panic!("{error:?}"),
            }
        }
        assert_eq!(body.next_event().await.unwrap(), None);
    }
    let server = Raw::once(format!("{HEAD}\r\ndata: {long}")).await;
    let client = client(|settings| settings.limits.bytes = LIMIT);
    let mut body = client.send(post(&server.url("/mcp"))).await.unwrap().body;
    let error = body.next_event().await.unwrap_err();
    assert_eq!(error.to_string(), "the stream ended within an event");
}

#[tokio::test]
async fn a_future_that_is_dropped_loses_no_event() {
    let server = Raw::start(|_, mut peer| async move {
        peer.request().await;
        peer.say(&format!("{HEAD}\r\ndata: o")).await;
        peer.request().await;
    });
    let server = server.await;
    let mut body = open(&server).await;
    for _ in 0..3 {
        let limit = std::time::Duration::from_millis(20);
        assert!(
            tokio::time::timeout(limit, body.next_event())
                .await
                .is_err()
        );
    }
    assert_eq!(body.received(), 7);
}

#[tokio::test]
async fn our_own_server_is_understood_and_sees_a_stream_dropped() {
    let mut server = Server::start(|_| {}).await;
    let client = client(|_| {});
    let url = format!("http://{}/mcp", server.address);
    let ask = |method: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}"}}"#);
        http::Request::post(&url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-session-id", "s1")
            .body(bytes::Bytes::from(body))
            .unwrap()
    };
    for _ in 0..3 {
        let received = client.send(ask("ping")).await.unwrap();
        assert_eq!(received.status, 200);
        assert_eq!(received.body.collect().await.unwrap(), "{\"ok\":1}");
        assert_eq!(server.next_seen().await, "post ping");
    }
    let mut body = client.send(ask("stream")).await.unwrap().body;
    let sender = server.next_stream().await;
    let event = switchboard_protocol::framing::Event::message("{}".into());
    sender.send_event(&event).unwrap();
    assert_eq!(body.next_event().await.unwrap().unwrap().data, "{}");
    drop(body);
    assert_eq!(server.next_seen().await, "client gone");
}
