//! Connections: how many, how long, and how they end.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use switchboard_protocol::Refusals;
use switchboard_transport::http::serve_stream;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf};
use tokio::time::Instant;

use super::{Server, call, endpoint};

#[tokio::test(start_paused = true)]
async fn a_head_that_does_not_come_ends_the_connection() {
    let (server, refusals) = counted().await;
    for begins in ["", "POST /mcp HTTP/1.1\r\nhost: loc"] {
        let start = Instant::now();
        let mut client = server.connect().await;
        client.write(begins).await;
        assert_eq!(client.rest().await, "");
        let seconds = start.elapsed().as_secs();
        assert!((10..=15).contains(&seconds), "{begins:?} {seconds}");
    }
    assert_eq!(refusals.counts(), BTreeMap::from([("headSeconds", 2)]));
}

/// A server, and where it counts what was over a limit.
async fn counted() -> (Server, Refusals) {
    let refusals = Refusals::default();
    let counting = refusals.clone();
    let server = Server::start(|settings| settings.refusals = counting).await;
    (server, refusals)
}

#[tokio::test(start_paused = true)]
async fn a_head_that_trickles_ends_the_connection() {
    let server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    client.write(&call("ping")).await;
    client.response().await;
    let start = Instant::now();
    let mut trickle = "POST /mcp HTTP/1.1\r\nx: yyyyyyyyyyyyyyyyyyyyyyy".chars();
    while start.elapsed() < Duration::from_secs(40) {
        let next = trickle.next().unwrap().to_string();
        let written = tokio::io::AsyncWriteExt::write_all(&mut client.0, next.as_bytes()).await;
        if written.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(
        (10..=17).contains(&start.elapsed().as_secs()),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_kept_for_a_while() {
    let (server, refusals) = counted().await;
    let mut client = server.connect().await;
    for pause in [1, 20, 60] {
        client.write(&call("ping")).await;
        assert!(
            client.response().await.0.starts_with("HTTP/1.1 200"),
            "{pause}"
        );
        tokio::time::sleep(Duration::from_secs(pause)).await;
    }
    let start = Instant::now();
    assert_eq!(client.rest().await, "");
    assert!(start.elapsed() <= Duration::from_secs(25));
    assert_eq!(refusals.counts(), BTreeMap::from([("idleSeconds", 1)]));
}

/// A client on a pipe, and the connection that serves it, which is counted here.
fn piped() -> (DuplexStream, impl Future<Output = ()>, Refusals) {
    let refusals = Refusals::default();
    let (endpoint, ..) = endpoint(|settings| settings.refusals = refusals.clone());
    let (client, stream) = tokio::io::duplex(1 << 16);
    (client, serve_stream(stream, endpoint), refusals)
}

#[tokio::test(start_paused = true)]
async fn empty_lines_between_requests_begin_none() {
    let (mut client, connection, refusals) = piped();
    tokio::spawn(connection);
    for lines in ["\r\n", "\n\r\n\n", ""] {
        client.write_all(call("ping").as_bytes()).await.unwrap();
        client.write_all(lines.as_bytes()).await.unwrap();
        let mut response = [0; 200];
        let count = client.read(&mut response).await.unwrap();
        assert!(response[..count].starts_with(b"HTTP/1.1 200"), "{lines:?}");
        tokio::time::sleep(Duration::from_secs(30)).await;
        client.write_all(lines.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    assert_eq!(refusals.counts(), BTreeMap::from([("idleSeconds", 1)]));
}

#[tokio::test(start_paused = true)]
async fn a_pause_of_the_whole_process_costs_no_client_its_patience() {
    let (mut client, connection, refusals) = piped();
    tokio::spawn(connection);
    let request = call("ping");
    let (begins, ends) = request.split_at(20);
    client.write_all(begins.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    tokio::time::advance(Duration::from_secs(100)).await;
    tokio::task::yield_now().await;
    client.write_all(ends.as_bytes()).await.unwrap();
    let mut begins = [0; 12];
    client.read_exact(&mut begins).await.unwrap();
    assert_eq!(&begins, b"HTTP/1.1 200");
    assert_eq!(refusals.counts(), BTreeMap::new());
}

#[tokio::test(start_paused = true)]
async fn a_connection_keeps_its_time_in_whichever_task_it_is() {
    let (mut client, connection, refusals) = piped();
    let mut connection = Box::pin(connection);
    let mut elsewhere = Context::from_waker(Waker::noop());
    assert!(connection.as_mut().poll(&mut elsewhere).is_pending());
    tokio::spawn(connection);
    let read = tokio::time::timeout(Duration::from_secs(60), client.read(&mut [0])).await;
    assert_eq!(read.expect("it is given up").unwrap(), 0);
    assert_eq!(refusals.counts(), BTreeMap::from([("headSeconds", 1)]));
}

/// Takes whatever is written, and never has all of it sent, as one of TLS whose peer does not read.
struct Swallows(DuplexStream);

impl AsyncRead for Swallows {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(task, buffer)
    }
}

impl AsyncWrite for Swallows {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_of_what_a_stream_holds_is_given_up() {
    let refusals = Refusals::default();
    let (endpoint, ..) = endpoint(|settings| settings.refusals = refusals.clone());
    let (mut client, stream) = tokio::io::duplex(1 << 16);
    client.write_all(call("ping").as_bytes()).await.unwrap();
    let served = serve_stream(Swallows(stream), endpoint);
    let ended = tokio::time::timeout(Duration::from_secs(100), served).await;
    ended.expect("it is given up");
    assert_eq!(refusals.counts(), BTreeMap::from([("stallSeconds", 1)]));
}

#[tokio::test(start_paused = true)]
async fn a_long_call_and_a_long_stream_are_left_alone() {
    let mut server = Server::start(|_| {}).await;
    let mut waiting = server.connect().await;
    waiting.write(&call("wait")).await;
    assert_eq!(server.next_seen().await, "waiting");
    let mut listening = server.connect().await;
    listening.write(&call("stream")).await;
    listening.head().await;
    let sender = server.next_stream().await;
    for _ in 0..40 {
        assert_eq!(listening.chunk().await, ":\n\n");
    }
    assert!(!sender.is_closed());
    assert!(server.seen.try_recv().is_err());
}

#[tokio::test]
async fn a_client_that_goes_before_its_answer_is_noticed_however_its_body_came() {
    let mut server = Server::start(|_| {}).await;
    let whole = call("wait");
    let (head, body) = whole.split_once("\r\n\r\n").unwrap();
    let lines = head
        .lines()
        .filter(|line| !line.starts_with("content-length"));
    let lines: Vec<&str> = lines.collect();
    let chunked = format!("{}\r\ntransfer-encoding: chunked", lines.join("\r\n"));
    let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let (begins, ends) = body.split_at(9);
    for pieces in [
        vec![whole.clone()],
        vec![format!("{head}\r\n\r\n"), body.to_owned()],
        vec![format!("{head}\r\n\r\n{begins}"), ends.to_owned()],
        vec![format!("{chunked}\r\n\r\n"), chunk],
        // Some end a body with a line that is none of it.
        vec![format!("{whole}\r\n\n")],
    ] {
        let mut client = server.connect().await;
        for (place, piece) in pieces.iter().enumerate() {
            if place > 0 {
                // So that what was written is read before this comes.
                let mut other = server.connect().await;
                other.write(&call("ping")).await;
                other.response().await;
                assert_eq!(server.next_seen().await, "post ping");
            }
            client.write(piece).await;
        }
        assert_eq!(server.next_seen().await, "waiting", "{pieces:?}");
        drop(client);
        assert_eq!(server.next_seen().await, "dropped", "{pieces:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_given_up() {
    let (mut server, refusals) = counted().await;
    let mut client = server.connect().await;
    client.write(&call("stream")).await;
    client.head().await;
    let sender = server.next_stream().await;
    let event = bytes::Bytes::from(format!("data: {}\n\n", "x".repeat(256 * 1024)));
    let start = Instant::now();
    while !sender.is_closed() {
        sender.room().await;
        if sender.send(event.clone()).is_err() {
            break;
        }
    }
    assert_eq!(server.next_seen().await, "client gone");
    let seconds = start.elapsed().as_secs();
    assert!((30..=40).contains(&seconds), "{seconds}");
    assert_eq!(refusals.counts(), BTreeMap::from([("stallSeconds", 1)]));
    drop(client);
}

#[tokio::test]
async fn too_many_headers_and_too_large_ones_are_refused() {
    let (mut server, refusals) = counted().await;
    let many = "x: y\r\n".repeat(101);
    let large = format!("x: {}\r\n", "y".repeat(65 * 1024));
    for headers in [many, large] {
        let mut client = server.connect().await;
        client
            .write(&format!(
                "GET /mcp HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n"
            ))
            .await;
        let head = client.head().await;
        assert!(head.starts_with("HTTP/1.1 431"), "{head}");
        client.rest().await;
    }
    // What was closed has been counted when the server has ended.
    server.stop();
    server.task.await.unwrap().unwrap();
    assert_eq!(refusals.counts(), BTreeMap::from([("headers", 2)]));
}

#[tokio::test]
async fn more_connections_than_allowed_wait_their_turn() {
    let refusals = Refusals::default();
    let counting = refusals.clone();
    let mut server = Server::start(|settings| {
        settings.max_connections = 1;
        settings.refusals = counting;
    })
    .await;
    let mut first = server.connect().await;
    first.write(&call("first")).await;
    first.response().await;
    let mut second = server.connect().await;
    second.write(&call("second")).await;
    assert_eq!(server.next_seen().await, "post first");
    first.write(&call("again")).await;
    first.response().await;
    assert_eq!(server.next_seen().await, "post again");
    // Once, however often the one place is used.
    assert_eq!(refusals.counts()["connections"], 1);
    drop(first);
    second.response().await;
    assert_eq!(server.next_seen().await, "post second");
}

#[tokio::test]
async fn a_host_that_breaks_harms_only_its_own_connection() {
    let server = Server::start(|_| {}).await;
    let mut other = server.connect().await;
    let mut client = server.connect().await;
    client.write(&call("panic")).await;
    assert_eq!(client.rest().await, "");
    other.write(&call("ping")).await;
    assert!(other.response().await.0.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn the_end_waits_for_what_is_under_way() {
    let mut server = Server::start(|_| {}).await;
    let mut idle = server.connect().await;
    idle.write(&call("ping")).await;
    idle.response().await;
    let mut client = server.connect().await;
    client.write(&call("stream")).await;
    client.head().await;
    let sender = server.next_stream().await;
    server.stop();
    assert_eq!(server.next_seen().await, "post ping");
    assert_eq!(server.next_seen().await, "stopping");
    assert_eq!(idle.rest().await, "");
    sender
        .send(bytes::Bytes::from_static(b"data: last\n\n"))
        .unwrap();
    sender.close();
    assert_eq!(client.chunk().await, "data: last\n\n");
    assert_eq!(client.chunk().await, "");
    drop((client, idle));
    server.task.await.unwrap().unwrap();
    assert!(
        tokio::net::TcpStream::connect(server.address)
            .await
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn the_end_does_not_wait_for_ever() {
    let mut server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    client.write(&call("wait")).await;
    assert_eq!(server.next_seen().await, "waiting");
    let start = Instant::now();
    server.stop();
    assert_eq!(server.next_seen().await, "stopping");
    assert_eq!(server.next_seen().await, "dropped");
    (&mut server.task).await.unwrap().unwrap();
    // The drain, and a moment for the last word of those who did not make it.
    assert_eq!(start.elapsed().as_secs(), 11);
    assert_eq!(client.rest().await, "");
}
