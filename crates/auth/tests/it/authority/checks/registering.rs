//! Clients that register themselves.

use serde_json::{Value, json};

use super::{BACK, error, text};
use crate::authority::{Authority, Edit, Reply, ask};

fn correct() -> Value {
    json!({
        "client_name": "A test",
        "redirect_uris": [BACK],
        "application_type": "native",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    })
}

async fn register(authority: &Authority, wanted: &Value) -> Reply {
    let url = authority.url("/register");
    let json = [("content-type", "application/json")];
    ask("POST", &url, &json, &wanted.to_string()).await
}

#[tokio::test]
async fn a_client_is_given_an_id_and_a_secret_if_it_wants_one() {
    let authority = Authority::start().await;
    let public = register(&authority, &correct()).await;
    assert_eq!(public.status, 201);
    assert_eq!(text(&public, "client_secret"), "");
    assert_eq!(text(&public, "token_endpoint_auth_method"), "none");
    authority.change(|knobs| {
        knobs.needs_secret = true;
        knobs.secret_expires_at = 77;
        knobs.registered = Edit::new(|answer| answer["extra"] = json!("yes"));
    });
    for method in [
        json!("client_secret_basic"),
        json!("client_secret_post"),
        Value::Null,
    ] {
        let mut wanted = correct();
        wanted["token_endpoint_auth_method"] = method.clone();
        let reply = register(&authority, &wanted).await;
        assert_eq!(reply.status, 201, "{method}");
        let secret = text(&reply, "client_secret");
        assert!(authority.secrets().contains(&secret));
        assert!(reply.body.contains("\"client_secret_expires_at\":77"));
        assert_eq!(text(&reply, "extra"), "yes");
    }
    let ids: Vec<String> = authority
        .clients()
        .into_iter()
        .map(|client| client.id)
        .collect();
    assert_eq!(ids.len(), 4);
    assert!(ids.contains(&text(&public, "client_id")));
    authority.forget_clients();
    assert!(authority.clients().is_empty());
}

#[tokio::test]
async fn what_is_no_client_is_refused() {
    let authority = Authority::start_with(|knobs| knobs.needs_secret = true).await;
    let metadata = "invalid_client_metadata";
    let redirect = "invalid_redirect_uri";
    let cases = [
        ("redirect_uris", Value::Null, redirect),
        ("redirect_uris", json!([]), redirect),
        (
            "redirect_uris",
            json!(["http://evil.example/callback"]),
            redirect,
        ),
        (
            "redirect_uris",
            json!(["http://127.0.0.1.evil.example:1/"]),
            redirect,
        ),
        (
            "redirect_uris",
            json!([BACK, "javascript:alert(1)"]),
            redirect,
        ),
        (
            "redirect_uris",
            json!(["https://example.com/#part"]),
            redirect,
        ),
        ("application_type", json!("web"), redirect),
        ("application_type", Value::Null, redirect),
        ("grant_types", json!(["password"]), metadata),
        ("response_types", json!(["token"]), metadata),
        ("token_endpoint_auth_method", json!("none"), metadata),
        (
            "token_endpoint_auth_method",
            json!("private_key_jwt"),
            metadata,
        ),
        (
            "token_endpoint_auth_method",
            json!("tls_client_auth"),
            metadata,
        ),
        ("token_endpoint_auth_method", json!(7), metadata),
    ];
    for (name, value, code) in cases {
        let mut wanted = correct();
        wanted["token_endpoint_auth_method"] = json!("client_secret_basic");
        wanted[name] = value.clone();
        let reply = register(&authority, &wanted).await;
        assert_eq!(
            (reply.status, error(&reply).as_str()),
            (400, code),
            "{name} {value}"
        );
    }
    assert_eq!(error(&register(&authority, &json!([])).await), metadata);
    let url = authority.url("/register");
    let mut wanted = correct();
    wanted["token_endpoint_auth_method"] = json!("client_secret_basic");
    let text = wanted.to_string();
    assert_eq!(error(&ask("POST", &url, &[], &text).await), metadata);
    let json = [("content-type", "application/json")];
    assert_eq!(error(&ask("PUT", &url, &json, &text).await), metadata);
    assert!(authority.clients().is_empty());
    assert_eq!(ask("POST", &url, &json, &text).await.status, 201);
}
