//! Which status answers what, before a host is asked.

use std::sync::Arc;

use http::Response;
use switchboard_protocol::Revision;
use switchboard_protocol::http::origin::Guard;
use switchboard_protocol::http::server;
use switchboard_transport::http::{Body, HttpSettings, OldPaths};

use super::{Tokens, endpoint, request};

const JSON: &str = "content-type: application/json\naccept: application/json, text/event-stream\n";
const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

async fn ask(
    change: impl FnOnce(&mut HttpSettings),
    (verb, path, headers, body): (&str, &str, &str, &str),
) -> Response<Body> {
    let (endpoint, ..) = endpoint(change);
    endpoint.handle(request(verb, path, headers, body)).await
}

async fn text(response: Response<Body>) -> String {
    let mut body = std::pin::pin!(response.into_body());
    let mut text = String::new();
    while let Some(Ok(frame)) =
        std::future::poll_fn(|cx| http_body::Body::poll_frame(body.as_mut(), cx)).await
    {
        let data = frame.into_data().expect("data");
        text.push_str(std::str::from_utf8(&data).expect("UTF-8"));
    }
    text
}

async fn check(verb: &str, path: &str, headers: &str, body: &str, status: u16) {
    let response = ask(|_| {}, (verb, path, headers, body)).await;
    assert_eq!(response.status(), status, "{verb} {path} {headers} {body}");
}

#[tokio::test]
async fn what_may_come_in_reaches_the_host() {
    let session = format!("{JSON}mcp-session-id: s1\n");
    check("POST", "/mcp", &session, PING, 200).await;
    check("POST", "/mcp/", &session, PING, 200).await;
    let told = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    check("POST", "/mcp", &session, told, 202).await;
    let listens = "mcp-session-id: s1\naccept: text/event-stream\nlast-event-id: 3-17\n";
    let (endpoint, mut seen, _streams) = endpoint(|_| {});
    let response = endpoint.handle(request("GET", "/mcp", listens, "")).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    assert_eq!(seen.recv().await.unwrap(), "get Some(\"3-17\")");
    check("DELETE", "/mcp", "mcp-session-id: s1\n", "", 204).await;
}

#[tokio::test]
async fn other_paths_are_not_found_unless_a_router_has_chosen() {
    check("POST", "/", JSON, PING, 404).await;
    check("POST", "/mcp/x", JSON, PING, 404).await;
    check("GET", "/.well-known/oauth-protected-resource", "", "", 404).await;
    check("GET", "/sse", "", "", 404).await;
    let mounted = |settings: &mut HttpSettings| settings.path = None;
    let session = format!("{JSON}mcp-session-id: s1\n");
    let response = ask(mounted, ("POST", "/anywhere", &session, PING)).await;
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn foreign_hosts_and_pages_are_forbidden() {
    let foreign = format!("{JSON}origin: https://evil.example\n");
    let response = ask(|_| {}, ("POST", "/mcp", &foreign, PING)).await;
    assert_eq!(response.status(), 403);
    assert!(
        !response
            .headers()
            .contains_key("access-control-allow-origin")
    );
    assert!(text(response).await.contains("-32600"));
    let other = |settings: &mut HttpSettings| {
        settings.guard = Guard::default();
        settings.guard.allow_host("mcp.example.com").unwrap();
    };
    let response = ask(other, ("POST", "/mcp", JSON, PING)).await;
    assert_eq!(response.status(), 403);
}

#[tokio::test]
async fn a_page_that_may_call_is_told_so() {
    let allow = |settings: &mut HttpSettings| {
        settings.guard.allow_origin("https://app.example").unwrap();
    };
    let asks = "origin: https://app.example\naccess-control-request-method: POST\n\
                access-control-request-headers: mcp-param-colour\n";
    let response = ask(allow, ("OPTIONS", "/mcp", asks, "")).await;
    assert_eq!(response.status(), 204);
    let headers = response.headers();
    assert_eq!(
        headers["access-control-allow-origin"],
        "https://app.example"
    );
    assert_eq!(headers["access-control-allow-headers"], "mcp-param-colour");
    assert_eq!(headers["access-control-allow-methods"], "GET, POST, DELETE");
    let call = format!("{JSON}mcp-session-id: s1\norigin: https://app.example\n");
    let response = ask(allow, ("POST", "/mcp", &call, PING)).await;
    assert_eq!(response.status(), 200);
    let headers = response.headers();
    assert_eq!(
        headers["access-control-allow-origin"],
        "https://app.example"
    );
    assert_eq!(headers["vary"], "origin");
}

#[tokio::test]
async fn verbs_and_formats_without_use_are_refused() {
    for verb in ["PUT", "HEAD", "OPTIONS", "PATCH"] {
        let response = ask(|_| {}, (verb, "/mcp", "", "")).await;
        assert_eq!(response.status(), 405, "{verb}");
        assert_eq!(response.headers()["allow"], "GET, POST, DELETE");
    }
    let stateless = |settings: &mut HttpSettings| {
        settings.endpoint = server::Endpoint::new([Revision::V2026_07_28]);
    };
    for verb in ["GET", "DELETE"] {
        let headers = "mcp-session-id: s1\naccept: text/event-stream\n";
        let response = ask(stateless, (verb, "/mcp", headers, "")).await;
        assert_eq!(response.status(), 405, "{verb}");
        assert_eq!(response.headers()["allow"], "POST");
    }
    check("POST", "/mcp", "content-type: text/plain\n", PING, 415).await;
    let html = "content-type: application/json\naccept: text/html\n";
    check("POST", "/mcp", html, PING, 406).await;
    check(
        "GET",
        "/mcp",
        "mcp-session-id: s1\naccept: text/html\n",
        "",
        406,
    )
    .await;
    check("GET", "/mcp", "accept: text/event-stream\n", "", 400).await;
}

#[tokio::test]
async fn what_is_not_a_message_is_a_bad_request_with_its_id() {
    let response = ask(|_| {}, ("POST", "/mcp", JSON, "{")).await;
    assert_eq!(response.status(), 400);
    assert!(text(response).await.contains("-32700"));
    let response = ask(|_| {}, ("POST", "/mcp", JSON, "")).await;
    assert_eq!(response.status(), 400);
    let no_session = ask(|_| {}, ("POST", "/mcp", JSON, PING)).await;
    assert_eq!(no_session.status(), 400);
    assert_eq!(no_session.headers()["content-type"], "application/json");
    let text = text(no_session).await;
    assert!(
        text.contains("\"id\":7") && text.contains("-32600"),
        "{text}"
    );
}

#[tokio::test]
async fn who_is_not_known_or_may_not_is_told_how_to_do_better() {
    let guarded = |settings: &mut HttpSettings| settings.access = Some(Arc::new(Tokens));
    let session = format!("{JSON}mcp-session-id: s1\n");
    let response = ask(guarded, ("POST", "/mcp", &session, PING)).await;
    assert_eq!(response.status(), 401);
    assert_eq!(
        response.headers()["www-authenticate"],
        "Bearer resource_metadata=\"https://h/.well-known/x\""
    );
    let small = format!("{session}authorization: Bearer small\n");
    let response = ask(guarded, ("POST", "/mcp", &small, PING)).await;
    assert_eq!(response.status(), 403);
    let challenge = &response.headers()["www-authenticate"];
    assert!(challenge.to_str().unwrap().contains("scope=\"tools\""));
    let (endpoint, mut seen, _) = endpoint(guarded);
    let good = format!("{session}authorization: Bearer good\n");
    let response = endpoint.handle(request("POST", "/mcp", &good, PING)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(seen.recv().await.unwrap(), "post ping ada");
    for verb in ["GET", "DELETE"] {
        let headers = "mcp-session-id: s1\naccept: text/event-stream\n";
        let response = endpoint.handle(request(verb, "/mcp", headers, "")).await;
        assert_eq!(response.status(), 401, "{verb}");
    }
}

#[tokio::test]
async fn the_metadata_document_is_public() {
    let guarded = |settings: &mut HttpSettings| settings.access = Some(Arc::new(Tokens));
    for path in ["", "/mcp"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let response = ask(guarded, ("GET", &path, "", "")).await;
        assert_eq!(response.status(), 200);
        assert_eq!(text(response).await, "{\"resource\":\"https://h/mcp\"}");
        let response = ask(guarded, ("POST", &path, "", "")).await;
        assert_eq!(response.status(), 405);
    }
}

#[tokio::test]
async fn the_old_pair_is_served_where_it_is_wanted() {
    let old = |settings: &mut HttpSettings| settings.old_transport = Some(OldPaths::default());
    let (endpoint, mut seen, mut streams) = endpoint(old);
    let response = endpoint.handle(request("GET", "/sse", "", "")).await;
    assert_eq!(response.status(), 200);
    streams.recv().await.unwrap().close();
    let event = "event: endpoint\ndata: /message?sessionId=s1\n\n";
    assert_eq!(text(response).await, event);
    let post = request("POST", "/message?sessionId=s1", JSON, PING);
    assert_eq!(endpoint.handle(post).await.status(), 202);
    assert_eq!(seen.recv().await.unwrap(), "old post s1");
    for path in [
        "/message",
        "/message?sessionId=",
        "/message?sessionId=a&sessionId=b",
    ] {
        let response = endpoint.handle(request("POST", path, JSON, PING)).await;
        assert_eq!(response.status(), 400, "{path}");
    }
    let response = endpoint.handle(request("POST", "/sse", JSON, PING)).await;
    assert_eq!(response.status(), 405);
}

#[tokio::test]
async fn the_old_pair_is_found_where_it_is_mounted() {
    let (endpoint, _seen, mut streams) = endpoint(|settings| {
        settings.path = None;
        settings.old_transport = Some(OldPaths::default());
    });
    let response = endpoint.handle(request("GET", "/sse", "", "")).await;
    streams.recv().await.unwrap().close();
    let event = "event: endpoint\ndata: message?sessionId=s1\n\n";
    assert_eq!(text(response).await, event);
}

#[tokio::test]
async fn an_endpoint_is_a_service() {
    let (mut endpoint, mut seen, _streams) = endpoint(|_| {});
    let session = format!("{JSON}mcp-session-id: s1\n");
    let request = request("POST", "/mcp", &session, PING);
    let Ok(response) = tower_service::Service::call(&mut endpoint, request).await;
    assert_eq!(response.status(), 200);
    assert_eq!(seen.recv().await.unwrap(), "post ping");
}

#[tokio::test]
async fn who_prints_the_headers_sees_no_credentials() {
    let (endpoint, mut seen, _streams) = endpoint(|_| {});
    let headers = format!(
        "{JSON}mcp-session-id: s-secret\nauthorization: Bearer a-secret\ncookie: b-secret\n\
         cookie: c-secret\nproxy-authorization: d-secret\nx-other: plain\n"
    );
    let text = r#"{"jsonrpc":"2.0","id":7,"method":"print"}"#;
    let response = endpoint.handle(request("POST", "/mcp", &headers, text));
    assert_eq!(response.await.status(), 202);
    let printed = seen.recv().await.unwrap();
    assert!(printed.contains("plain"), "{printed}");
    assert!(!printed.contains("secret"), "{printed}");
}
