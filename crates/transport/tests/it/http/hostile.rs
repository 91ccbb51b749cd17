//! Clients that attack: pages of foreign names on every route, requests within requests, many
//! connections that are never finished.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http_body::Frame;
use switchboard_transport::http::OldPaths;

use super::{Server, Tokens, call, endpoint};

/// A body that nobody may look at.
struct Unread;

impl http_body::Body for Unread {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        panic!("a body was read of a request that must be refused before")
    }
}

/// Every route, and what it wants if it is to be served.
const ROUTES: [(&str, &str); 8] = [
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("DELETE", "/mcp"),
    ("OPTIONS", "/mcp"),
    ("GET", "/.well-known/oauth-protected-resource"),
    ("GET", "/.well-known/oauth-protected-resource/mcp"),
    ("GET", "/sse"),
    ("POST", "/message?sessionId=s1"),
];

/// What a browser sends for a page that was given our address by its own name server, and its kin.
const FOREIGN: [&[(&str, &str)]; 9] = [
    &[("host", "evil.example")],
    &[("host", "evil.example:80")],
    &[("host", "localhost.evil.example")],
    &[("host", "localhost"), ("host", "evil.example")],
    &[("host", "localhost, evil.example")],
    &[("host", "localhost"), ("origin", "http://evil.example")],
    &[("host", "localhost"), ("origin", "null")],
    &[
        ("host", "localhost"),
        ("origin", "http://localhost"),
        ("origin", "http://evil.example"),
    ],
    &[("host", "localhost@evil.example")],
];

#[tokio::test]
async fn every_route_refuses_foreign_names_before_anything_is_read_or_run() {
    let (endpoint, mut seen, mut streams) = endpoint(|settings| {
        settings.old_transport = Some(OldPaths::default());
        settings.access = Some(Arc::new(Tokens));
    });
    for (verb, path) in ROUTES {
        for foreign in FOREIGN {
            let mut request = Request::builder().method(verb).uri(path);
            for (name, value) in foreign {
                request = request.header(*name, *value);
            }
            let request = request
                .header("authorization", "Bearer good")
                .header("mcp-session-id", "s1")
                .header("content-type", "application/json")
                .header("accept", "application/json, text/event-stream")
                .header("access-control-request-method", "POST");
            let response = endpoint.handle(request.body(Unread).unwrap()).await;
            assert_eq!(response.status(), 403, "{verb} {path} {foreign:?}");
            let told = response.headers().keys();
            let told = told.filter(|name| name.as_str().starts_with("access-control-"));
            assert_eq!(told.count(), 0, "{verb} {path} {foreign:?}");
        }
    }
    assert!(seen.try_recv().is_err(), "a handler was run");
    assert!(streams.try_recv().is_err(), "a stream was opened");
}

#[tokio::test]
async fn another_format_runs_no_handler() {
    let (endpoint, mut seen, _streams) = endpoint(|settings| {
        settings.old_transport = Some(OldPaths::default());
    });
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "text/plain, application/json",
    ] {
        for path in ["/mcp", "/message?sessionId=s1"] {
            let request = Request::post(path)
                .header("host", "localhost")
                .header("mcp-session-id", "s1")
                .header("accept", "application/json, text/event-stream")
                .header("content-type", kind);
            let response = endpoint.handle(request.body(Unread).unwrap()).await;
            assert_eq!(response.status(), 415, "{kind} {path}");
        }
    }
    assert!(seen.try_recv().is_err(), "a handler was run");
}

/// What stands after the head that an attacker wants to be read as a request of its own.
const WITHIN: &str = r#"{"jsonrpc":"2.0","id":9,"method":"within"}"#;

/// A request whose end can be found in two ways. `framing` are its lines, `body` follows.
fn ambiguous(framing: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: s1\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         {framing}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn a_request_that_ends_in_two_ways_hides_no_other() {
    let outer = r#"{"jsonrpc":"2.0","id":7,"method":"outer"}"#;
    let inner = ambiguous(&format!("content-length: {}", WITHIN.len()), WITHIN);
    // The length is that of the message alone, or of the message with the request behind it.
    let (short, long) = (outer.len(), outer.len() + inner.len());
    let chunked = format!("{short:x}\r\n{outer}\r\n0\r\n\r\n");
    let whole = chunked.len() + inner.len();
    let cases = [
        format!("content-length: {short}\r\ncontent-length: {long}"),
        format!("content-length: {long}\r\ncontent-length: {short}"),
        format!("content-length: {short}, {long}"),
        format!("content-length: +{short}"),
        format!("content-length: -{short}"),
        format!("content-length: 0x{short:x}"),
        format!("content-length: {short} {long}"),
        format!("content-length : {short}"),
        format!(" content-length: {short}"),
        format!("x: y\r\n content-length: {short}"),
        format!("content-length: {short}\r\ntransfer-encoding: identity"),
        format!("content-length: {short}\r\ntransfer-encoding: xchunked"),
        format!("content-length: {short}\r\ntransfer-encoding: chunked, identity"),
        format!("content-length: {short}\r\ntransfer-encoding: \u{b}chunked"),
        "content-length: 18446744073709551617".to_owned(),
        "transfer-encoding: chunked\r\ntransfer-encoding: identity".to_owned(),
        "transfer-encoding : chunked".to_owned(),
    ];
    for framing in cases {
        let (answers, seen) = send(&ambiguous(&framing, &format!("{outer}{inner}"))).await;
        assert_eq!(seen, [""; 0], "{framing:?} {answers:?}");
        assert!(answers.starts_with("HTTP/1.1 400"), "{framing:?} {answers}");
        assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{answers}");
    }
    // RFC 9112, 6.1: chunks count, and nothing is read after them on this connection.
    for framing in [
        format!("content-length: {whole}\r\ntransfer-encoding: chunked"),
        format!("transfer-encoding: chunked\r\ncontent-length: {whole}"),
        format!("transfer-encoding: chunked\r\ncontent-length: {short}"),
        "content-length: 0\r\ntransfer-encoding: chunked".to_owned(),
    ] {
        let (answers, seen) = send(&ambiguous(&framing, &format!("{chunked}{inner}"))).await;
        assert_eq!(seen, ["post outer"], "{framing:?} {answers}");
        assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{answers}");
    }
    // Sizes of chunks that others read otherwise.
    for size in [
        format!("+{short:x}"),
        format!("0x{short:x}"),
        format!("-{short:x}"),
        format!("ffffffffffffffff{short:x}"),
        String::new(),
    ] {
        let body = format!("{size}\r\n{outer}\r\n0\r\n\r\n{inner}");
        let (answers, seen) = send(&ambiguous("transfer-encoding: chunked", &body)).await;
        assert_eq!(seen, [""; 0], "{size:?} {answers:?}");
        assert!(answers.matches("HTTP/1.1 ").count() <= 1, "{answers}");
    }
}

#[tokio::test]
async fn a_head_that_others_read_otherwise_is_refused() {
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"outer"}"#;
    let length = format!("content-length: {}", body.len());
    for head in [
        // No host, two of them, and one that is not the target's.
        "POST /mcp HTTP/1.1\r\nmcp-session-id: s1",
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\nmcp-session-id: s1",
        "POST http://evil.example/mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: s1",
        // A line that ends in a carriage return alone, a name with a space or a zero in it.
        "POST /mcp HTTP/1.1\r\nhost: localhost\rmcp-session-id: s1",
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nmcp session-id: s1",
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: s1\0",
        // A session twice.
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: s1\r\nmcp-session-id: s2",
        "POST /mcp HTTP/9.9\r\nhost: localhost\r\nmcp-session-id: s1",
        "POST  /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: s1",
    ] {
        let text = format!("{head}\r\ncontent-type: application/json\r\n{length}\r\n\r\n{body}");
        let (answers, seen) = send(&text).await;
        assert_eq!(seen, [""; 0], "{head:?} {answers}");
        let is_refused = answers.is_empty() || answers.starts_with("HTTP/1.1 4");
        assert!(
            is_refused || answers.starts_with("HTTP/1.1 505"),
            "{head:?} {answers}"
        );
    }
}

/// Writes this on a connection of its own, and gives what was answered until the end, and what
/// reached the host.
async fn send(text: &str) -> (String, Vec<String>) {
    let mut server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    client.write(text).await;
    // The end of what we send: who would read on sees that no more comes, and ends.
    tokio::io::AsyncWriteExt::shutdown(&mut client.0)
        .await
        .unwrap();
    let answers = client.rest().await;
    server.stop();
    server.task.await.unwrap().unwrap();
    let mut seen = Vec::new();
    while let Ok(one) = server.seen.try_recv() {
        seen.push(one);
    }
    seen.retain(|one| one != "stopping");
    (answers, seen)
}

#[tokio::test]
async fn others_are_served_while_many_are_half_open() {
    let mut server = Server::start(|_| {}).await;
    let mut halves = Vec::new();
    let begun = call("never");
    for end in 1..begun.len() {
        let mut client = server.connect().await;
        client.write(&begun[..end]).await;
        halves.push(client);
        if end % 20 == 0 {
            let mut other = server.connect().await;
            other.write(&call("ping")).await;
            assert!(other.response().await.0.starts_with("HTTP/1.1 200"));
            assert_eq!(server.next_seen().await, "post ping");
        }
    }
    assert!(halves.len() > 100, "{}", halves.len());
    // The last byte of any of them is still enough.
    let mut last = halves.pop().unwrap();
    last.write(&begun[begun.len() - 1..]).await;
    let (head, _) = last.response().await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(server.next_seen().await, "post never");
}
