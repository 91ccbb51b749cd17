//! Redirects: where they are followed to, and that nothing goes anywhere else.

use std::sync::Arc;

use switchboard_transport::http::client::SendError;

use super::{Raw, answer, call, chain, client, post, refused};

/// Redirects by the path that is asked for; `to` is where `/leave` leads.
async fn redirecting(to: String) -> Raw {
    let to = Arc::new(to);
    Raw::start(move |_, mut peer| {
        let to = Arc::clone(&to);
        async move {
            while let Some(request) = peer.request().await {
                let path = request.split(' ').nth(1).unwrap_or_default();
                let (status, location) = match path {
                    "/mcp" => (307, "/mcp/"),
                    "/mcp/" => (308, "/v2/mcp?x=1"),
                    "/see" => (302, "/v2/mcp?x=1"),
                    "/loop" => (307, "/loop"),
                    "/file" => (307, "file:///etc/passwd"),
                    "/leave" => (307, to.as_str()),
                    _ => {
                        peer.say(&answer("{}")).await;
                        continue;
                    }
                };
                let head = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n");
                peer.say(&format!("{head}location: {location}\r\n\r\n"))
                    .await;
            }
        }
    })
    .await
}

// Fault matrix: 72.
#[tokio::test]
async fn a_redirect_within_the_origin_is_followed_with_verb_body_and_headers() {
    let mut server = redirecting(String::new()).await;
    let client = client(|_| {});
    let mut request = post(&server.url("/mcp"));
    request
        .headers_mut()
        .insert("authorization", "Bearer t".parse().unwrap());
    let received = client.send(request).await.unwrap();
    assert_eq!(received.status, 200);
    assert_eq!(received.uri.to_string(), server.url("/v2/mcp?x=1"));
    received.body.collect().await.unwrap();
    for path in ["/mcp", "/mcp/", "/v2/mcp?x=1"] {
        let seen = server.next_request().await;
        assert!(
            seen.starts_with(&format!("POST {path} HTTP/1.1\r\n")),
            "{seen}"
        );
        assert!(seen.contains("authorization: Bearer t\r\n"), "{seen}");
        assert!(seen.ends_with("\r\n\r\n{}"), "{seen}");
    }
    assert_eq!(server.accepted(), 1);
}

// Fault matrix: 72.
#[tokio::test]
async fn a_redirect_to_another_origin_leaks_nothing() {
    let mut canary = Raw::answering(answer("{}")).await;
    let port = canary.address.port();
    // The same port by another name is another origin, too.
    for to in [
        canary.url("/mcp?code=secret"),
        format!("http://localhost:{port}/"),
        format!("//localhost:{port}/"),
    ] {
        let server = redirecting(to.clone()).await;
        let error = refused(&client(|_| {}), &server.url("/leave")).await;
        assert!(matches!(error, SendError::Redirect { .. }), "{error:?}");
        let place = to.split('?').next().unwrap();
        assert_eq!(
            error.to_string(),
            format!("{} sends us elsewhere, to {place:?}", server.url("/leave"))
        );
        assert!(!error.may_have_run());
    }
    assert_eq!((canary.accepted(), canary.unread()), (0, 0));
}

// Fault matrix: 72.
#[tokio::test]
async fn other_redirects_are_refused() {
    for (path, asked, reason) in [
        (
            "/see",
            1,
            "the server redirects with status 302, expected 307 or 308",
        ),
        ("/loop", 6, "the server redirects more than 5 times"),
        (
            "/file",
            1,
            "\"file:///etc/passwd\" is neither http nor https",
        ),
    ] {
        let mut server = redirecting(String::new()).await;
        let error = refused(&client(|_| {}), &server.url(path)).await;
        assert!(chain(&error).ends_with(reason), "{}", chain(&error));
        assert_eq!(server.unread(), asked, "{path}");
    }
}

#[tokio::test]
async fn a_client_that_follows_nothing_gives_the_redirect_to_its_caller() {
    let mut server = redirecting("http://127.0.0.1:1/".to_owned()).await;
    let client = client(|settings| settings.follows_redirects = false);
    for (path, status) in [
        ("/mcp", 307),
        ("/mcp/", 308),
        ("/see", 302),
        ("/leave", 307),
    ] {
        let received = client.send(post(&server.url(path))).await.unwrap();
        assert_eq!(received.status, status);
        assert!(received.headers.contains_key("location"));
    }
    assert_eq!(server.unread(), 4);
}

#[tokio::test]
async fn a_client_goes_on_after_a_redirect_it_refused() {
    let server = redirecting("http://127.0.0.1:1/".to_owned()).await;
    let client = client(|_| {});
    refused(&client, &server.url("/leave")).await;
    assert_eq!(call(&client, &server.url("/other")).await, "{}");
}
