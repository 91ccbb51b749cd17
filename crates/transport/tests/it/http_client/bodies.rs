//! Bodies: their bounds, their encodings, their ends.

use std::time::Duration;

use switchboard_transport::http::client::BodyError;

use super::{Raw, answer, call, chain, client, post, text};

async fn body_error(response: &str) -> BodyError {
    let server = Raw::once(response).await;
    let client = client(|settings| settings.limits.bytes = 1000);
    let received = client.send(post(&server.url("/mcp"))).await.unwrap();
    let collected = tokio::time::timeout(Duration::from_secs(5), received.body.collect());
    collected.await.expect("in time").unwrap_err()
}

#[tokio::test]
async fn bodies_of_every_framing_are_read() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    for response in [
        answer("{\"a\":1}"),
        format!("{head}transfer-encoding: chunked\r\n\r\n3\r\n{{\"a\r\n4\r\n\":1}}\r\n0\r\n\r\n"),
        format!("{head}connection: close\r\n\r\n{{\"a\":1}}"),
        format!("HTTP/1.1 100 Continue\r\n\r\n{}", answer("{\"a\":1}")),
        format!("{head}content-encoding: Identity\r\ncontent-length: 7\r\n\r\n{{\"a\":1}}"),
    ] {
        let server = Raw::once(response.as_str()).await;
        let found = call(&client(|_| {}), &server.url("/mcp")).await;
        assert_eq!(found, "{\"a\":1}", "{response}");
    }
}

#[tokio::test]
async fn an_answer_is_the_same_wherever_it_is_cut_and_none_where_it_ends_early() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                   3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\nx: y\r\n\r\n";
    for response in [chunked.to_owned(), answer("{\"a\":1}")] {
        let whole = response.clone();
        let server = Raw::start(move |number, mut peer| {
            let (cut, is_whole) = (number / 2, number % 2 == 0);
            let (first, second) = whole.split_at(cut);
            let (first, second) = (first.to_owned(), second.to_owned());
            async move {
                peer.request().await;
                peer.say(&first).await;
                if is_whole {
                    // Lets the client read, or not: it must not matter.
                    for _ in 0..4 {
                        tokio::task::yield_now().await;
                    }
                    peer.say(&second).await;
                }
            }
        });
        let server = server.await;
        let url = server.url("/mcp");
        for cut in 0..response.len() {
            let client = client(|_| {});
            assert_eq!(call(&client, &url).await, "{\"a\":1}", "{cut}");
            if let Ok(received) = client.send(post(&url)).await {
                assert!(received.body.collect().await.is_err(), "{cut}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_held_of_all_large_answers_of_a_server_is_bounded() {
    let server = Raw::start(|_, mut peer| async move {
        peer.request().await;
        peer.say("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ")
            .await;
        peer.say(&"x".repeat(WHOLE)).await;
        peer.closed().await;
    });
    let server = server.await;
    let client = client(|settings| settings.limits.bytes = WHOLE * 5 / 4);
    let mut bodies = Vec::new();
    for _ in 0..3 {
        let received = client.send(post(&server.url("/mcp"))).await.unwrap();
        bodies.push(received.body);
    }
    let [first, second, third] = bodies.as_mut_slice() else {
        panic!("there are three");
    };
    // An event that never ends: nothing comes of it, but it is read as far as there is any.
    for body in [first, second] {
        while body.received() < WHOLE as u64 {
            let _ = tokio::time::timeout(Duration::from_millis(1), body.next_event()).await;
        }
    }
    for _ in 0..50 {
        let _ = tokio::time::timeout(Duration::from_millis(1), third.next_event()).await;
    }
    assert!(third.received() < WHOLE as u64 / 2, "{}", third.received());
    let mut third = bodies.remove(2);
    bodies.clear();
    while third.received() < WHOLE as u64 {
        let _ = tokio::time::timeout(Duration::from_millis(1), third.next_event()).await;
    }
}

/// More than is read of an answer without a place, several times.
const WHOLE: usize = 1 << 20;

#[tokio::test]
async fn a_large_request_is_answered_before_it_was_read() {
    let server = Raw::start(|_, mut peer| async move {
        let mut begin = [0; 16];
        tokio::io::AsyncReadExt::read_exact(&mut peer.stream, &mut begin)
            .await
            .unwrap();
        peer.say("HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno")
            .await;
        peer.closed().await;
    });
    let mut server = server.await;
    let mut request = post(&server.url("/mcp"));
    *request.body_mut() = vec![b'x'; 30_000_000].into();
    let received = client(|_| {}).send(request).await.unwrap();
    assert_eq!(received.status, 413);
    assert_eq!(text(received).await, "no");
    // The rest of the request is never sent, so nothing else can follow it.
    assert_eq!(server.next_request().await, "closed");
}

#[tokio::test]
async fn a_large_request_arrives_as_it_is() {
    let server = Raw::start(|_, mut peer| async move {
        while let Some(request) = peer.request().await {
            let (_, body) = request.split_once("\r\n\r\n").unwrap();
            peer.say(&answer(body)).await;
        }
    });
    let server = server.await;
    let client = client(|_| {});
    for size in [0, 32 * 1024, 32 * 1024 + 1, 1_000_003] {
        let body: String = ('a'..='z').cycle().take(size).collect();
        let mut request = post(&server.url("/mcp"));
        *request.body_mut() = body.clone().into();
        let received = client.send(request).await.unwrap();
        assert!(text(received).await == body, "{size}");
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_body_of_the_largest_size_is_read_in_pieces() {
    let body = "x".repeat(1_000_000);
    let server = Raw::answering(answer(&body)).await;
    let client = client(|settings| settings.limits.bytes = 1_000_000);
    for _ in 0..3 {
        assert_eq!(call(&client, &server.url("/mcp")).await, body);
    }
    assert_eq!(server.accepted(), 1);
}

// Fault matrix: 68.
#[tokio::test]
async fn a_body_that_is_announced_as_too_large_is_refused_at_once() {
    // Nothing of it ever comes.
    let server = Raw::start(|_, mut peer| async move {
        peer.request().await;
        peer.say("HTTP/1.1 200 OK\r\ncontent-length: 67108864\r\n\r\n")
            .await;
        peer.closed().await;
    });
    let mut server = server.await;
    let client = client(|_| {});
    let received = client.send(post(&server.url("/mcp"))).await.unwrap();
    let error = received.body.collect().await.unwrap_err();
    assert!(
        matches!(
            error,
            BodyError::TooLarge {
                limit: 16_777_216,
                seen: 67_108_864
            }
        ),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        "the body of 67108864 bytes or more is over the limit of 16777216"
    );
    server.next_request().await;
    assert_eq!(server.next_request().await, "closed");
}

// Fault matrix: 68.
#[tokio::test]
async fn an_endless_body_ends_at_the_limit() {
    let server = Raw::start(|_, mut peer| async move {
        use tokio::io::AsyncWriteExt;
        peer.request().await;
        peer.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            .await;
        while peer.stream.write_all(b"5\r\nhello\r\n").await.is_ok() {}
    })
    .await;
    let client = client(|settings| settings.limits.bytes = 10_000);
    let received = client.send(post(&server.url("/mcp"))).await.unwrap();
    let error = received.body.collect().await.unwrap_err();
    assert!(
        matches!(error, BodyError::TooLarge { limit: 10_000, .. }),
        "{error}"
    );
}

// Fault matrix: 68.
#[tokio::test]
async fn a_packed_body_is_refused_and_named() {
    for header in [
        "content-encoding: gzip",
        "content-encoding: identity, br",
        "transfer-encoding: gzip, chunked",
    ] {
        let error = body_error(&format!("HTTP/1.1 200 OK\r\n{header}\r\n\r\n0\r\n\r\n")).await;
        let BodyError::Encoding { found } = &error else {
            panic!("{header}: {error:?}");
        };
        assert_eq!(*found, header.split_once(": ").unwrap().1);
    }
}

#[tokio::test]
async fn no_encoding_is_asked_for_and_lengths_are_ours() {
    let mut server = Raw::answering(answer("{}")).await;
    let mut request = post(&server.url("/mcp?key=1"));
    let headers = request.headers_mut();
    for (name, value) in [
        ("accept-encoding", "gzip"),
        ("host", "evil.test"),
        ("content-length", "77"),
        ("transfer-encoding", "chunked"),
    ] {
        headers.insert(name, value.parse().unwrap());
    }
    client(|_| {}).send(request).await.unwrap();
    let seen = server.next_request().await;
    let mut lines: Vec<&str> = seen.lines().collect();
    assert_eq!(lines.remove(0), "POST /mcp?key=1 HTTP/1.1");
    lines.sort_unstable();
    let host = format!("host: {}", server.address);
    assert_eq!(
        lines,
        [
            "",
            "accept-encoding: identity",
            "content-length: 2",
            "content-type: application/json",
            host.as_str(),
            "{}",
        ]
    );
}

// Fault matrix: 67.
#[tokio::test]
async fn a_body_that_is_cut_short_gives_no_half_result() {
    for response in [
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{\"a\"",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{\"a\"\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    ] {
        let error = body_error(response).await;
        assert!(
            matches!(error, BodyError::Broken { source: Some(_) }),
            "{response}"
        );
        assert!(chain(&error).starts_with("the body ended before its end: "));
    }
}

// Fault matrix: 64, 65, 66.
#[tokio::test]
async fn every_status_is_given_to_the_caller_and_nothing_is_repeated() {
    for status in [200, 202, 204, 400, 401, 403, 404, 405, 429, 500, 503] {
        let length = if status == 204 {
            ""
        } else {
            "content-length: 0\r\n"
        };
        let head = format!("HTTP/1.1 {status} X\r\nretry-after: 7\r\nCONTENT-TYPE: text/html\r\n");
        let mut server = Raw::answering(format!("{head}{length}\r\n")).await;
        let received = client(|_| {})
            .send(post(&server.url("/mcp")))
            .await
            .unwrap();
        assert_eq!(received.status.as_u16(), status);
        assert_eq!(received.headers["retry-after"], "7");
        assert_eq!(received.headers["content-type"], "text/html");
        assert_eq!(text(received).await, "");
        assert_eq!(server.unread(), 1);
    }
}
