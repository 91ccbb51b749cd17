//! Event streams: what reaches the client, and what is heard of a client that left.

use std::time::Duration;

use bytes::Bytes;
use switchboard_protocol::framing::EventId;
use switchboard_protocol::jsonrpc::{Message, MethodName, Notification};
use switchboard_transport::http::{SendError, StreamSettings, events};

use super::{Server, call};

fn message() -> Message {
    Message::Notification(Notification::new(MethodName::new("notifications/x"), None))
}

#[tokio::test]
async fn events_reach_the_client_as_they_are_sent_until_the_end() {
    let mut server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    client.write(&call("stream")).await;
    let head = client.head().await;
    assert!(
        head.contains("content-type: text/event-stream\r\n"),
        "{head}"
    );
    assert!(head.contains("cache-control: no-cache\r\n"), "{head}");
    let sender = server.next_stream().await;
    sender.send_message(&message(), None).unwrap();
    let text = r#"data: {"jsonrpc":"2.0","method":"notifications/x"}"#;
    assert_eq!(client.chunk().await, format!("{text}\n\n"));
    let id = EventId::new("3-17").unwrap();
    sender.send_message(&message(), Some(&id)).unwrap();
    assert_eq!(client.chunk().await, format!("id: 3-17\n{text}\n\n"));
    sender.send_retry(Duration::from_millis(1500)).unwrap();
    assert_eq!(client.chunk().await, "retry: 1500\n\n");
    sender.close();
    assert_eq!(client.chunk().await, "");
    assert_eq!(
        sender.send(Bytes::from_static(b"x")),
        Err(SendError::Closed)
    );
    client.write(&call("after")).await;
    assert!(client.response().await.0.starts_with("HTTP/1.1 200"));
    // The hook was not called: this is the first thing that is seen.
    assert_eq!(server.next_seen().await, "post after");
}

#[tokio::test]
async fn a_stream_ends_with_its_last_sender() {
    let mut server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    client.write(&call("stream")).await;
    client.head().await;
    let sender = server.next_stream().await;
    let other = sender.clone();
    drop(sender);
    other.send(Bytes::from_static(b"data: 1\n\n")).unwrap();
    drop(other);
    assert_eq!(client.chunk().await, "data: 1\n\n");
    assert_eq!(client.chunk().await, "");
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_is_noticed() {
    let mut server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    client.write(&call("stream")).await;
    client.head().await;
    let sender = server.next_stream().await;
    assert!(!sender.is_closed());
    drop(client);
    assert_eq!(server.next_seen().await, "client gone");
    std::future::poll_fn(|cx| sender.poll_closed(cx)).await;
    assert_eq!(
        sender.send(Bytes::from_static(b"x")),
        Err(SendError::Closed)
    );
}

#[tokio::test]
async fn a_client_that_leaves_before_the_response_is_noticed() {
    let mut server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    client.write(&call("wait")).await;
    assert_eq!(server.next_seen().await, "waiting");
    drop(client);
    assert_eq!(server.next_seen().await, "dropped");
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_kept_alive_by_comments() {
    let mut server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    client.write(&call("stream")).await;
    client.head().await;
    let sender = server.next_stream().await;
    let start = tokio::time::Instant::now();
    assert_eq!(client.chunk().await, ":\n\n");
    assert_eq!(start.elapsed().as_secs(), 15);
    tokio::time::sleep(Duration::from_secs(10)).await;
    sender.send(Bytes::from_static(b"data: 1\n\n")).unwrap();
    assert_eq!(client.chunk().await, "data: 1\n\n");
    assert_eq!(client.chunk().await, ":\n\n");
    assert_eq!(start.elapsed().as_secs(), 40);
}

#[tokio::test]
async fn a_slow_reader_holds_senders_back_and_memory_is_bounded() {
    let mut server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    client.write(&call("stream")).await;
    client.head().await;
    let sender = server.next_stream().await;
    let event = Bytes::from(format!("data: {}\n\n", "x".repeat(64 * 1024)));
    // A sender that waits for room gets there, in time with the reader.
    let count = 400;
    let producer = tokio::spawn({
        let (sender, event) = (sender.clone(), event.clone());
        async move {
            let mut most = 0;
            for _ in 0..count {
                sender.room().await;
                sender.send(event.clone()).unwrap();
                most = most.max(sender.queued());
            }
            sender.close();
            most
        }
    });
    for _ in 0..count {
        assert_eq!(client.chunk().await.len(), event.len());
    }
    assert_eq!(client.chunk().await, "");
    let most = producer.await.unwrap();
    assert!(most <= 1024 * 1024 + event.len(), "{most}");
}

#[test]
fn a_sender_that_does_not_wait_is_refused() {
    let mut settings = StreamSettings::default();
    settings.events = 2;
    let (sender, _body) = events(&settings);
    for _ in 0..8 {
        sender.send(Bytes::from_static(b"data: 1\n\n")).unwrap();
    }
    let refused = sender.send(Bytes::from_static(b"data: 1\n\n"));
    assert_eq!(refused, Err(SendError::Full));
    assert_eq!(sender.queued(), 72);
}

#[test]
fn a_hook_set_too_late_is_called_at_once() {
    let (sender, body) = events(&StreamSettings::default());
    drop(body);
    let (told, heard) = std::sync::mpsc::channel();
    sender.on_closed(move || told.send(()).unwrap());
    assert_eq!(heard.try_recv(), Ok(()));
}
