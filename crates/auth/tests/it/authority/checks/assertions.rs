//! What others say about people and workloads.

use serde_json::{Value, json};

use super::{BACK, Form, RESOURCE, error, text, with_app};
use crate::authority::{Authority, Client, Key, Reply, fresh, now};

const BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const PLATFORM: &str = "https://platform.example";

async fn ask(authority: &Authority, form: &Form) -> Reply {
    form.post(&authority.url("/token")).await
}

fn claims(authority: &Authority) -> Value {
    json!({
        "iss": PLATFORM,
        "sub": "workload",
        "aud": authority.issuer(),
        "iat": now(),
        "exp": now() + 300,
        "jti": fresh("id"),
    })
}

fn workload(assertion: &str) -> Form {
    Form::new(&[
        ("grant_type", BEARER),
        ("assertion", assertion),
        ("resource", RESOURCE),
    ])
}

#[tokio::test]
async fn a_workload_is_whoever_its_platform_says() {
    let authority = Authority::start().await;
    let key = Key::generate();
    authority.trust(PLATFORM, key.point());
    let correct = workload(&key.sign(&json!({}), &claims(&authority)));
    let reply = ask(&authority, &correct).await;
    assert!(!text(&reply, "access_token").is_empty(), "{}", reply.body);
    assert_eq!(error(&ask(&authority, &correct).await), "invalid_grant");
    for (name, value) in [
        ("iss", json!("https://evil.example")),
        ("iss", Value::Null),
        ("sub", Value::Null),
        ("aud", json!("https://evil.example")),
        ("aud", Value::Null),
        ("exp", json!(now() - 1)),
        ("iat", json!(now() + 600)),
        ("jti", Value::Null),
    ] {
        let mut claims = claims(&authority);
        claims[name] = value.clone();
        let form = workload(&key.sign(&json!({}), &claims));
        assert_eq!(
            error(&ask(&authority, &form).await),
            "invalid_grant",
            "{name} {value}"
        );
    }
    let other_key = Key::generate().sign(&json!({}), &claims(&authority));
    for wrong in [other_key.as_str(), "a.b.c", ""] {
        let reply = ask(&authority, &workload(wrong)).await;
        assert_eq!(error(&reply), "invalid_grant");
    }
    let fresh = workload(&key.sign(&json!({}), &claims(&authority))).without("resource");
    assert_eq!(error(&ask(&authority, &fresh).await), "invalid_target");
}

fn exchange(identity: &str, audience: &str) -> Form {
    Form::new(&[
        (
            "grant_type",
            "urn:ietf:params:oauth:grant-type:token-exchange",
        ),
        (
            "requested_token_type",
            "urn:ietf:params:oauth:token-type:id-jag",
        ),
        (
            "subject_token_type",
            "urn:ietf:params:oauth:token-type:id_token",
        ),
        ("subject_token", identity),
        ("audience", audience),
        ("resource", RESOURCE),
        ("scope", "read"),
        ("client_id", "desk"),
        ("client_secret", "word"),
    ])
}

/// An identity provider, with a client that somebody is logged in to.
async fn provider() -> (Authority, String) {
    let provider = Authority::start().await;
    let desk = Client::with_secret("desk", BACK, "client_secret_post", "word");
    provider.add_client(desk);
    provider.add_client(Client::with_secret(
        "other",
        BACK,
        "client_secret_post",
        "word",
    ));
    let identity = provider.add_id_token("desk", "somebody");
    (provider, identity)
}

#[tokio::test]
async fn an_identity_becomes_an_assertion_and_the_assertion_a_token() {
    let (provider, identity) = provider().await;
    let authority = with_app().await;
    authority.trust(provider.issuer(), provider.point());
    let form = exchange(&identity, authority.issuer()).with("client_id", "other");
    let reply = ask(&provider, &form).await;
    assert_eq!(
        error(&reply),
        "invalid_request",
        "the login was for another client"
    );
    let provided = ask(&provider, &exchange(&identity, authority.issuer())).await;
    assert_eq!(text(&provided, "token_type"), "N_A");
    let assertion = text(&provided, "access_token");
    assert!(provider.secrets().contains(&assertion));
    let correct = workload(&assertion)
        .with("client_id", "desk")
        .with("client_secret", "word");
    // Not yet a client of this one.
    assert_eq!(error(&ask(&authority, &correct).await), "invalid_client");
    let client = |id| Client::with_secret(id, BACK, "client_secret_post", "word");
    authority.add_client(client("desk"));
    authority.add_client(client("other"));
    let wrong = correct
        .clone()
        .with("resource", "https://example.com/other");
    assert_eq!(error(&ask(&authority, &wrong).await), "invalid_target");
    let provided = ask(&provider, &exchange(&identity, authority.issuer())).await;
    let correct = correct.with("assertion", &text(&provided, "access_token"));
    let reply = ask(&authority, &correct).await;
    assert_eq!(text(&reply, "scope"), "read", "{}", reply.body);
    assert_eq!(error(&ask(&authority, &correct).await), "invalid_grant");
    for (client, audience, code) in [
        ("other", authority.issuer(), "invalid_grant"),
        ("desk", "https://evil.example", "invalid_grant"),
    ] {
        let provided = ask(&provider, &exchange(&identity, audience)).await;
        let assertion = text(&provided, "access_token");
        let wrong = correct
            .clone()
            .with("assertion", &assertion)
            .with("client_id", client);
        assert_eq!(
            error(&ask(&authority, &wrong).await),
            code,
            "{client} {audience}"
        );
    }
}

#[tokio::test]
async fn an_identity_provider_looks_at_what_it_is_shown() {
    let (provider, identity) = provider().await;
    let correct = exchange(&identity, "https://issuer.example");
    for (name, value, code) in [
        (
            "requested_token_type",
            "urn:ietf:params:oauth:token-type:jwt",
            "invalid_request",
        ),
        (
            "subject_token_type",
            "urn:ietf:params:oauth:token-type:jwt",
            "invalid_request",
        ),
        ("subject_token", "identity-made-up", "invalid_request"),
        ("audience", "", "invalid_request"),
        ("resource", "example.com", "invalid_target"),
        ("scope", "everything", "invalid_scope"),
        ("client_secret", "sword", "invalid_client"),
        ("client_secret", "", "invalid_client"),
    ] {
        let wrong = correct.clone().with(name, value);
        assert_eq!(error(&ask(&provider, &wrong).await), code, "{name}={value}");
    }
    assert_eq!(ask(&provider, &correct).await.status, 200);
}
