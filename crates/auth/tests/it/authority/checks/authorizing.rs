//! Where a browser is sent, and where it is not.

use serde_json::{Value, json};

use super::{BACK, RESOURCE, error, go, location, visit, with_app};
use crate::authority::{Authority, Client, Iss, ask};

#[tokio::test]
async fn a_browser_comes_back_with_a_code() {
    let authority = with_app().await;
    let came_back = location(&go(&authority, &visit("app")).await);
    assert!(
        authority
            .secrets()
            .iter()
            .any(|code| came_back.find("code") == Some(code))
    );
    assert_eq!(came_back.find("state"), Some("a state"));
    assert_eq!(came_back.find("iss"), Some(authority.issuer()));
    assert_eq!(
        authority.asked("/authorize")[0].query.find("resource"),
        Some(RESOURCE)
    );
}

#[tokio::test]
async fn the_issuer_names_itself_as_it_is_told() {
    let authority = with_app().await;
    let slash = format!("{}/", authority.issuer());
    let wrong = "https://evil.example";
    for (iss, expected) in [
        (Iss::Missing, None),
        (Iss::WithSlash, Some(slash.as_str())),
        (Iss::Wrong(wrong.to_owned()), Some(wrong)),
    ] {
        authority.change(|knobs| knobs.iss = iss);
        let came_back = location(&go(&authority, &visit("app")).await);
        assert_eq!(came_back.find("iss"), expected);
    }
}

#[tokio::test]
async fn a_browser_is_sent_nowhere_that_the_client_is_not() {
    let authority = with_app().await;
    let correct = visit("app");
    for wrong in [
        correct.clone().with("client_id", "other"),
        correct.clone().without("client_id"),
        correct.clone().without("redirect_uri"),
        correct
            .clone()
            .with("redirect_uri", "https://evil.example/callback"),
        correct
            .clone()
            .with("redirect_uri", "http://127.0.0.1:7777/other"),
        correct.clone().with(
            "redirect_uri",
            "http://127.0.0.1:7777.evil.example/callback",
        ),
        correct
            .clone()
            .with("redirect_uri", "http://localhost:7777/callback"),
        correct.clone().also("redirect_uri", BACK),
    ] {
        let reply = go(&authority, &wrong).await;
        assert_eq!(reply.status, 400, "{wrong:?}");
        assert!(!reply.headers.contains_key("location"));
    }
    let url = format!("{}?{}", authority.url("/authorize"), correct.text());
    assert_eq!(ask("POST", &url, &[], "").await.status, 400);
    // Only the port is free, and only of an address of this machine.
    let other_port = correct.with("redirect_uri", "http://127.0.0.1:1/callback");
    assert_eq!(go(&authority, &other_port).await.status, 302);
}

#[tokio::test]
async fn what_is_no_login_comes_back_as_an_error() {
    let authority = with_app().await;
    let mut machine = Client::public("machine", BACK);
    machine.grants = vec!["client_credentials".to_owned()];
    authority.add_client(machine);
    let correct = visit("app");
    let request = "invalid_request";
    for (wrong, code) in [
        (
            correct.clone().with("response_type", "token"),
            "unsupported_response_type",
        ),
        (
            correct.clone().without("response_type"),
            "unsupported_response_type",
        ),
        (correct.clone().without("code_challenge"), request),
        (correct.clone().with("code_challenge", "short"), request),
        (correct.clone().without("code_challenge_method"), request),
        (
            correct.clone().with("code_challenge_method", "plain"),
            request,
        ),
        (correct.clone().without("resource"), "invalid_target"),
        (
            correct.clone().with("resource", "example.com"),
            "invalid_target",
        ),
        (
            correct.clone().with("resource", "https://a/#b"),
            "invalid_target",
        ),
        (
            correct.clone().with("scope", "read everything"),
            "invalid_scope",
        ),
        (visit("machine"), "unauthorized_client"),
    ] {
        let came_back = location(&go(&authority, &wrong).await);
        assert_eq!(came_back.find("error"), Some(code), "{wrong:?}");
        assert_eq!(came_back.find("code"), None);
        assert_eq!(came_back.find("state"), Some("a state"));
        assert_eq!(came_back.find("iss"), Some(authority.issuer()));
    }
    authority.change(|knobs| knobs.needs_resource = false);
    let came_back = location(&go(&authority, &correct.without("resource")).await);
    assert!(came_back.find("code").is_some());
}

#[tokio::test]
async fn a_document_is_a_client_where_documents_are_taken() {
    let id = "https://app.example/client.json";
    let document = json!({ "client_id": id, "client_name": "A test", "redirect_uris": [BACK] });
    let authority = Authority::start().await;
    authority.change(|knobs| drop(knobs.documents.insert(id.to_owned(), document.clone())));
    assert_eq!(error(&go(&authority, &visit(id)).await), "invalid_client");
    authority.change(|knobs| knobs.takes_documents = true);
    assert_eq!(go(&authority, &visit(id)).await.status, 302);
    let elsewhere = visit(id).with("redirect_uri", "https://evil.example/");
    assert_eq!(error(&go(&authority, &elsewhere).await), "invalid_request");
    let other = visit("https://app.example/other.json");
    assert_eq!(error(&go(&authority, &other).await), "invalid_client");
    for (name, value) in [
        ("client_id", json!("https://app.example/other.json")),
        ("client_name", Value::Null),
        ("redirect_uris", json!([])),
    ] {
        let mut wrong = document.clone();
        wrong[name] = value;
        authority.change(|knobs| drop(knobs.documents.insert(id.to_owned(), wrong)));
        assert_eq!(
            error(&go(&authority, &visit(id)).await),
            "invalid_client",
            "{name}"
        );
    }
}
