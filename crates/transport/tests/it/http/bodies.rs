//! Bodies: too large, too slow, broken, in one piece and in many.

use std::time::Duration;

use switchboard_protocol::Refusals;
use tokio::io::AsyncWriteExt;

use super::{Server, call};

const HEAD: &str = "POST /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: s1\r\n\
                    content-type: application/json\r\n";

#[tokio::test]
async fn a_call_is_answered_in_one_piece_and_the_connection_stays() {
    let mut server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    for _ in 0..3 {
        client.write(&call("ping")).await;
        let (head, body) = client.response().await;
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains("content-type: application/json\r\n"));
        assert_eq!(body, "{\"ok\":1}");
        assert_eq!(server.next_seen().await, "post ping");
    }
}

#[tokio::test]
async fn a_body_may_come_in_pieces_and_in_chunks() {
    let mut server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    let text = call("pieces");
    for piece in text.as_bytes().chunks(7) {
        client.0.write_all(piece).await.unwrap();
        client.0.flush().await.unwrap();
        tokio::task::yield_now().await;
    }
    assert!(client.response().await.0.starts_with("HTTP/1.1 200"));
    assert_eq!(server.next_seen().await, "post pieces");
    client
        .write(&format!("{HEAD}transfer-encoding: chunked\r\n\r\n"))
        .await;
    for piece in [
        "{\"jsonrpc\":\"2.0\",",
        "\"id\":1,\"method\":",
        "\"chunks\"}",
    ] {
        client
            .write(&format!("{:x}\r\n{piece}\r\n", piece.len()))
            .await;
        tokio::task::yield_now().await;
    }
    client.write("0\r\n\r\n").await;
    assert!(client.response().await.0.starts_with("HTTP/1.1 200"));
    assert_eq!(server.next_seen().await, "post chunks");
}

#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_refused_unread() {
    let server = Server::start(|settings| settings.body_limit = 1000).await;
    let mut client = server.connect().await;
    client
        .write(&format!("{HEAD}content-length: 1001\r\n\r\n"))
        .await;
    let (head, body) = client.response().await;
    assert!(head.starts_with("HTTP/1.1 413"), "{head}");
    assert!(body.contains("-32600"), "{body}");
}

#[tokio::test]
async fn a_client_is_not_asked_for_a_body_that_is_too_large() {
    let server = Server::start(|settings| settings.body_limit = 1000).await;
    let mut client = server.connect().await;
    let head = format!("{HEAD}content-length: 1001\r\nexpect: 100-continue\r\n\r\n");
    client.write(&head).await;
    let (head, _) = client.response().await;
    assert!(head.starts_with("HTTP/1.1 413"), "{head}");
}

#[tokio::test]
async fn a_body_that_grows_too_large_is_refused_with_its_id() {
    let server = Server::start(|settings| settings.body_limit = 1000).await;
    let mut client = server.connect().await;
    client
        .write(&format!("{HEAD}transfer-encoding: chunked\r\n\r\n"))
        .await;
    let begins = r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":""#;
    client
        .write(&format!("{:x}\r\n{begins}\r\n", begins.len()))
        .await;
    let more = "a".repeat(1000);
    client
        .write(&format!("{:x}\r\n{more}\r\n", more.len()))
        .await;
    let (head, body) = client.response().await;
    assert!(head.starts_with("HTTP/1.1 413"), "{head}");
    assert!(
        body.contains("-32600") && body.contains("\"id\":7"),
        "{body}"
    );
}

#[tokio::test]
async fn a_client_that_goes_on_sending_still_reads_the_refusal() {
    let server = Server::start(|settings| settings.body_limit = 1000).await;
    let mut client = server.connect().await;
    let size = 600 * 1024;
    client
        .write(&format!("{HEAD}content-length: {size}\r\n\r\n"))
        .await;
    client.write(&"a".repeat(size)).await;
    assert!(client.response().await.0.starts_with("HTTP/1.1 413"));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_times_out() {
    let refusals = Refusals::default();
    let counting = refusals.clone();
    let server = Server::start(|settings| {
        settings.body_timeout = Duration::from_secs(30);
        settings.refusals = counting;
    })
    .await;
    let mut client = server.connect().await;
    let start = tokio::time::Instant::now();
    client
        .write(&format!("{HEAD}content-length: 100\r\n\r\n{{\"json"))
        .await;
    let (head, _) = client.response().await;
    assert!(head.starts_with("HTTP/1.1 408"), "{head}");
    assert!(start.elapsed() >= Duration::from_secs(30));
    assert_eq!(refusals.counts()["bodySeconds"], 1);
}

#[tokio::test]
async fn a_body_with_broken_framing_is_refused() {
    let server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    let text = format!("{HEAD}transfer-encoding: chunked\r\n\r\nnot a size\r\n");
    client.write(&text).await;
    let (head, _) = client.response().await;
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
}

#[tokio::test]
async fn who_does_not_take_large_answers_gets_no_more_of_them() {
    let refusals = Refusals::default();
    let counting = refusals.clone();
    let server = Server::start(move |settings| {
        settings.refusals = counting;
        settings.answers = Some(5 * super::LARGE / 2);
    })
    .await;
    let mut idle = Vec::new();
    for _ in 0..2 {
        let mut client = server.connect().await;
        client.write(&call("large")).await;
        assert!(client.head().await.starts_with("HTTP/1.1 200"));
        idle.push(client);
    }
    let mut client = server.connect().await;
    client.write(&call("large")).await;
    let (head, body) = client.response().await;
    assert!(head.starts_with("HTTP/1.1 429"), "{head}");
    assert!(head.contains("retry-after: 1\r\n"), "{head}");
    assert!(body.contains(r#""limit":"answers""#), "{body}");
    assert_eq!(refusals.counts(), [("answers", 1)].into());
    // Small ones are as before.
    client.write(&call("ping")).await;
    assert!(client.head().await.starts_with("HTTP/1.1 200"));
    // Those of one who left are no longer held.
    drop(idle.pop());
    loop {
        let mut client = server.connect().await;
        client.write(&call("large")).await;
        let (head, body) = client.response().await;
        if head.starts_with("HTTP/1.1 200") {
            assert!(body.len() > super::LARGE);
            break;
        }
    }
}
