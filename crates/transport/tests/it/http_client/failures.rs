//! Servers that cannot be reached or do not speak HTTP.

use std::time::Duration;

use switchboard_transport::http::client::{Phase, Reach, SendError};
use tokio::net::TcpListener;

use super::{Raw, answer, call, chain, client, post, refused};

// Fault matrix: 61.
#[tokio::test]
async fn a_refused_connection_names_the_url_and_no_secret() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let url = format!("http://ada:secret@{address}/mcp?token=secret");
    let error = refused(&client(|_| {}), &url).await;
    assert!(matches!(error, SendError::Connect { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        format!(
            "no connection to http://{address}/mcp: connection refused, is the server running?"
        )
    );
    assert_eq!(error.url(), format!("http://{address}/mcp"));
    assert!(!error.may_have_run());
    assert!(!format!("{error:?}").contains("secret"));
}

// Fault matrix: 61.
#[tokio::test]
async fn a_name_that_nobody_has_is_named() {
    // Reserved, so that no resolver knows it: RFC 6761.
    let error = refused(&client(|_| {}), "http://server.invalid/mcp").await;
    assert!(matches!(error, SendError::NameNotFound { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "the host of http://server.invalid/mcp is not known, check its name"
    );
    assert!(!error.may_have_run());
}

// Fault matrix: 85.
#[tokio::test]
async fn a_client_for_public_places_does_not_connect_to_this_machine() {
    let mut server = Raw::answering(answer("{}")).await;
    let port = server.address.port();
    let public = client(|settings| settings.reach = Reach::Public);
    for (host, address) in [
        ("127.0.0.1", "127.0.0.1"),
        ("[::ffff:127.0.0.1]", "::ffff:127.0.0.1"),
        ("localhost", ""),
        ("169.254.169.254", "169.254.169.254"),
        ("10.0.0.1", "10.0.0.1"),
    ] {
        let error = refused(&public, &format!("http://{host}:{port}/x?token=secret")).await;
        assert!(matches!(error, SendError::Address { .. }), "{error:?}");
        assert!(!error.may_have_run());
        let text = error.to_string();
        let start = format!("http://{host}:{port}/x is not asked: it leads to {address}");
        assert!(text.starts_with(&start), "{text}");
        assert!(text.ends_with(", which is not a public address"), "{text}");
    }
    assert_eq!((server.accepted(), server.unread()), (0, 0));
    assert_eq!(call(&client(|_| {}), &server.url("/")).await, "{}");
}

#[tokio::test]
async fn what_is_no_url_of_the_web_is_not_asked() {
    for (url, reason) in [
        ("ftp://host/", "neither http nor https"),
        ("/mcp", "neither http nor https"),
        ("http://host:99999/", "its port is not a number up to 65535"),
    ] {
        let error = refused(&client(|_| {}), url).await;
        assert!(error.to_string().contains(reason), "{error}");
        assert!(!error.may_have_run());
    }
}

// Fault matrix: 61. The listener's queue takes the connection, but nobody answers in TLS.
#[tokio::test(start_paused = true)]
async fn a_silent_handshake_ends_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    let client = client(|settings| {
        settings.roots.platform = false;
        settings.roots.pem = vec![super::tls::AUTHORITY.into()];
    });
    let start = tokio::time::Instant::now();
    let error = client.send(post(&url)).await.unwrap_err();
    let SendError::TimedOut { phase, after, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!((*phase, *after), (Phase::Tls, Duration::from_secs(10)));
    assert!(start.elapsed() < Duration::from_secs(11));
    assert_eq!(
        error.to_string(),
        format!("no connection to {url}: the TLS handshake took over 10s")
    );
    assert!(error.is_timeout() && !error.may_have_run());
}

// Fault matrix: 61. Linux drops who wants to connect where too many wait to be accepted.
#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn a_silent_host_ends_in_time() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    loop {
        let stream = tokio::net::TcpStream::connect(address);
        match tokio::time::timeout(Duration::from_secs(1), stream).await {
            Ok(stream) => waiting.push(stream.unwrap()),
            Err(_) => break,
        }
    }
    let start = tokio::time::Instant::now();
    let url = format!("http://{address}/mcp");
    let error = client(|_| {}).send(post(&url)).await.unwrap_err();
    assert_eq!(start.elapsed().as_secs(), 10);
    assert_eq!(
        error.to_string(),
        format!("no connection to {url}: the TCP connection took over 10s")
    );
    assert!(error.is_timeout() && !error.may_have_run());
}

// Fault matrix: 63.
#[tokio::test]
async fn what_is_not_http_is_refused_and_its_connection_discarded() {
    for text in [
        "SSH-2.0-OpenSSH_9.6\r\n",
        "{\"jsonrpc\":\"2.0\"}\n",
        "HTTP/1.1 2OO OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
    ] {
        let server = Raw::start(move |number, mut peer| async move {
            peer.request().await;
            match number {
                0 => peer.say(text).await,
                _ => peer.say(&answer("{}")).await,
            }
            peer.request().await;
        });
        let server = server.await;
        let client = client(|_| {});
        let error = refused(&client, &server.url("/mcp")).await;
        assert!(
            matches!(error, SendError::NotHttp { .. }),
            "{text:?} {error:?}"
        );
        let start = format!("the answer of {} is not HTTP/1.1: ", server.url("/mcp"));
        assert!(chain(&error).starts_with(&start), "{}", chain(&error));
        assert!(error.may_have_run());
        assert_eq!(call(&client, &server.url("/mcp")).await, "{}");
        assert_eq!(server.accepted(), 2);
    }
}

// Fault matrix: 63.
#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let many: String = (0..101).map(|n| format!("x-{n}: 1\r\n")).collect();
    let long = format!("x: {}\r\n", "y".repeat(70_000));
    for headers in [many, long] {
        let server = Raw::once(format!("HTTP/1.1 200 OK\r\n{headers}\r\n")).await;
        let error = refused(&client(|_| {}), &server.url("/mcp")).await;
        assert!(
            matches!(error, SendError::HeaderTooLarge { limit: 65_536, .. }),
            "{error:?}"
        );
        assert!(
            error.to_string().contains("over the limit of 65536 bytes"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_head_within_the_limits_is_read() {
    let many: String = (0..98)
        .map(|n| format!("x-{n}: {}\r\n", "y".repeat(600)))
        .collect();
    let response = format!("HTTP/1.1 200 OK\r\n{many}content-length: 2\r\n\r\n{{}}");
    let server = Raw::answering(response).await;
    assert_eq!(call(&client(|_| {}), &server.url("/mcp")).await, "{}");
}

// Fault matrix: 69.
#[tokio::test]
async fn a_connection_that_is_lost_after_the_request_is_not_tried_again() {
    for begins in ["", "HTTP/1.1 20"] {
        let server = Raw::start(move |number, mut peer| async move {
            peer.request().await;
            // The second request comes on a kept connection.
            if number == 0 {
                peer.say(&answer("{}")).await;
                peer.request().await;
            }
            peer.say(begins).await;
            let _ = socket2::SockRef::from(&peer.stream).set_linger(Some(Duration::ZERO));
        });
        let mut server = server.await;
        let client = client(|_| {});
        call(&client, &server.url("/mcp")).await;
        let error = refused(&client, &server.url("/mcp")).await;
        assert!(
            matches!(error, SendError::Lost { was_sent: true, .. }),
            "{error:?}"
        );
        assert_eq!(
            error.to_string(),
            format!(
                "the connection to {} was lost after the request was sent, it may have run",
                server.url("/mcp")
            )
        );
        assert!(error.may_have_run());
        assert_eq!(server.unread(), 2);
        assert_eq!(server.accepted(), 1);
    }
}
