//! How clients prove who they are.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{BACK, Form, RESOURCE, error, with_app};
use crate::authority::{Authority, Client, Key, Reply, encode, fresh, now};

fn form() -> Form {
    Form::new(&[("grant_type", "client_credentials"), ("resource", RESOURCE)])
}

async fn ask_with(authority: &Authority, form: &Form, authorization: Option<&str>) -> Reply {
    let headers: Vec<(&str, &str)> = authorization
        .map(|value| ("authorization", value))
        .into_iter()
        .collect();
    form.post_with(&authority.url("/token"), &headers).await
}

fn basic(id: &str, secret: &str) -> String {
    let encode =
        |text: &str| -> String { form_urlencoded::byte_serialize(text.as_bytes()).collect() };
    let pair = format!("{}:{}", encode(id), encode(secret));
    format!("Basic {}", STANDARD.encode(pair))
}

#[tokio::test]
async fn a_secret_is_shown_in_the_one_way_that_was_agreed() {
    let authority = with_app().await;
    // Both halves need their encoding.
    let (id, secret) = ("https://a.example/b c", "p:ss w%rd+");
    for (method, other) in [
        ("client_secret_basic", "client_secret_post"),
        ("client_secret_post", "client_secret_basic"),
    ] {
        authority.add_client(Client::with_secret(id, BACK, method, secret));
        let in_form = form().with("client_id", id).with("client_secret", secret);
        let in_header = basic(id, secret);
        let by = async |method: &str| match method {
            "client_secret_basic" => ask_with(&authority, &form(), Some(&in_header)).await,
            _ => ask_with(&authority, &in_form, None).await,
        };
        assert_eq!(by(method).await.status, 200);
        assert_eq!(error(&by(other).await), "invalid_client");
        let nothing = form().with("client_id", id);
        let reply = ask_with(&authority, &nothing, None).await;
        assert_eq!(
            (reply.status, error(&reply).as_str()),
            (401, "invalid_client")
        );
        let both = ask_with(&authority, &in_form, Some(&in_header)).await;
        assert_eq!(error(&both), "invalid_request");
        let wrong = in_form.clone().with("client_secret", "another");
        assert_eq!(
            error(&ask_with(&authority, &wrong, None).await),
            "invalid_client"
        );
        authority.change(|knobs| knobs.methods.retain(|known| *known != method));
        assert_eq!(error(&by(method).await), "invalid_client");
        authority.change(|knobs| knobs.methods.extend([method]));
        assert_eq!(by(method).await.status, 200);
    }
}

#[tokio::test]
async fn a_wrong_header_is_answered_with_a_challenge() {
    let authority = with_app().await;
    authority.add_client(Client::with_secret(
        "a",
        BACK,
        "client_secret_basic",
        "word",
    ));
    for wrong in [basic("a", "sword"), basic("b", "word")] {
        let reply = ask_with(&authority, &form(), Some(&wrong)).await;
        assert_eq!(
            (reply.status, error(&reply).as_str()),
            (401, "invalid_client")
        );
        assert!(reply.headers.contains_key("www-authenticate"));
    }
    for wrong in ["Basic ???", "Bearer a", "Basic YQ=="] {
        let reply = ask_with(&authority, &form(), Some(wrong)).await;
        assert_eq!(error(&reply), "invalid_client", "{wrong}");
    }
    let other = form().with("client_id", "app");
    let reply = ask_with(&authority, &other, Some(&basic("a", "word"))).await;
    assert_eq!(error(&reply), "invalid_request");
    let same = form().with("client_id", "a");
    let reply = ask_with(&authority, &same, Some(&basic("a", "word"))).await;
    assert_eq!(reply.status, 200);
    authority.forget_clients();
    let reply = ask_with(&authority, &same, Some(&basic("a", "word"))).await;
    assert_eq!(error(&reply), "invalid_client");
}

#[tokio::test]
async fn a_secret_may_end() {
    let authority = with_app().await;
    let mut client = Client::with_secret("a", BACK, "client_secret_post", "word");
    let form = form().with("client_id", "a").with("client_secret", "word");
    for (end, status) in [(0, 200), (now() + 600, 200), (now() - 1, 401)] {
        client.secret_end = end;
        authority.add_client(client.clone());
        let reply = ask_with(&authority, &form, None).await;
        assert_eq!(reply.status, status, "{end}");
    }
}

#[tokio::test]
async fn a_client_that_signs_is_believed_once_for_each_signature() {
    let authority = with_app().await;
    let key = Key::generate();
    authority.add_client(Client::with_key("signer", BACK, &key));
    let assertion = key.sign(&json!({}), &claims(&authority));
    let signed = signed(&assertion);
    let reply = ask_with(&authority, &signed, None).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(
        error(&ask_with(&authority, &signed, None).await),
        "invalid_client"
    );
}

#[tokio::test]
async fn a_signature_counts_for_its_client_its_issuer_and_its_time_only() {
    let authority = with_app().await;
    let key = Key::generate();
    authority.add_client(Client::with_key("signer", BACK, &key));
    for (name, value) in [
        ("iss", json!("app")),
        ("iss", Value::Null),
        ("sub", json!("app")),
        ("aud", json!("https://evil.example")),
        ("aud", json!(authority.url("/token"))),
        ("exp", json!(now() - 1)),
        ("exp", json!(now() + 7200)),
        ("exp", Value::Null),
        ("iat", json!(now() + 600)),
        ("iat", Value::Null),
        ("jti", Value::Null),
    ] {
        let mut claims = claims(&authority);
        claims[name] = value.clone();
        let form = signed(&key.sign(&json!({}), &claims));
        let reply = ask_with(&authority, &form, None).await;
        assert_eq!(error(&reply), "invalid_client", "{name} {value}");
    }
    let claims = claims(&authority);
    let other_key = Key::generate().sign(&json!({}), &claims);
    let unsigned = [json!({ "alg": "none" }), claims.clone()];
    let unsigned = unsigned.map(|part| encode(part.to_string().as_bytes()));
    let unsigned = format!("{}.", unsigned.join("."));
    let misnamed = key.sign(&json!({ "alg": "HS256" }), &claims);
    for wrong in [&other_key, &unsigned, &misnamed, "a.b.c", "a"] {
        let reply = ask_with(&authority, &signed(wrong), None).await;
        assert_eq!(error(&reply), "invalid_client", "{wrong}");
    }
    let form = signed(&key.sign(&json!({}), &claims));
    for wrong in [
        form.clone().without("client_assertion_type"),
        form.clone().with("client_id", "app"),
        form.clone().with("client_secret", "word"),
    ] {
        let reply = ask_with(&authority, &wrong, None).await;
        assert_eq!(error(&reply), "invalid_request", "{wrong:?}");
    }
    assert_eq!(ask_with(&authority, &form, None).await.status, 200);
}

fn claims(authority: &Authority) -> Value {
    json!({
        "iss": "signer",
        "sub": "signer",
        "aud": authority.issuer(),
        "iat": now(),
        "exp": now() + 300,
        "jti": fresh("id"),
    })
}

fn signed(assertion: &str) -> Form {
    form().with("client_assertion", assertion).with(
        "client_assertion_type",
        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    )
}
