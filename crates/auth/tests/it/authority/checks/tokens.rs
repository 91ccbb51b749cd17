//! Codes for tokens, and tokens for clients of their own.

use serde_json::json;

use super::{
    BACK, Form, RESOURCE, VERIFIER, code_form, error, go, location, log_in, text, visit, with_app,
};
use crate::authority::{Client, Edit, ask, hash};

#[tokio::test]
async fn a_code_is_good_for_tokens() {
    let authority = with_app().await;
    let reply = log_in(&authority, "app").await;
    assert_eq!(text(&reply, "token_type"), "Bearer");
    assert_eq!(text(&reply, "scope"), "read write");
    assert!(reply.body.contains("\"expires_in\":3600"));
    assert_eq!(reply.headers["cache-control"], "no-store");
    for name in ["access_token", "refresh_token"] {
        assert!(authority.secrets().contains(&text(&reply, name)), "{name}");
    }
    assert_eq!(authority.count("/token"), 1);
}

#[tokio::test]
async fn a_code_is_good_only_for_those_who_asked_for_it() {
    let authority = with_app().await;
    authority.add_client(Client::public("other", BACK));
    let long = "x".repeat(129);
    let grant = "invalid_grant";
    for (name, value, code) in [
        ("code", "code-made-up", grant),
        ("code", "", grant),
        ("client_id", "other", grant),
        ("client_id", "nobody", "invalid_client"),
        ("client_id", "", "invalid_client"),
        ("redirect_uri", "http://127.0.0.1:1/callback", grant),
        ("redirect_uri", "", grant),
        (
            "code_verifier",
            "another-verifier-that-is-long-enough-to-be-one",
            grant,
        ),
        ("code_verifier", "", grant),
        ("resource", "https://example.com/other", "invalid_target"),
        ("resource", "", "invalid_target"),
        ("grant_type", "password", "unsupported_grant_type"),
        ("grant_type", "", "unsupported_grant_type"),
    ] {
        let form = code_form(&authority, "app").await.with(name, value);
        let reply = form.post(&authority.url("/token")).await;
        assert_eq!(error(&reply), code, "{name}={value}");
        assert_eq!(text(&reply, "access_token"), "");
    }
    // They fit their challenges, but anybody could guess the first, and the others are none.
    for verifier in [
        "short",
        &long,
        "a verifier with spaces, which are not allowed",
    ] {
        let visit = visit("app").with("code_challenge", &hash(verifier));
        let came_back = location(&go(&authority, &visit).await);
        let form = code_form(&authority, "app").await;
        let form = form.with("code", came_back.find("code").unwrap());
        let form = form.with("code_verifier", verifier);
        let reply = form.post(&authority.url("/token")).await;
        assert_eq!(error(&reply), grant, "{verifier}");
    }
}

#[tokio::test]
async fn a_code_is_good_for_once() {
    let authority = with_app().await;
    let url = authority.url("/token");
    let form = code_form(&authority, "app").await;
    let first = form.post(&url).await;
    assert_eq!(error(&form.post(&url).await), "invalid_grant");
    // Whoever came second may have been the right one: what the first got has ended.
    let refresh = Form::new(&[
        ("grant_type", "refresh_token"),
        ("client_id", "app"),
        ("refresh_token", &text(&first, "refresh_token")),
        ("resource", RESOURCE),
    ]);
    assert_eq!(error(&refresh.post(&url).await), "invalid_grant");
    // A code that did not fit is used up as well.
    let form = code_form(&authority, "app").await;
    let wrong = form.clone().with("code_verifier", &VERIFIER.to_uppercase());
    assert_eq!(error(&wrong.post(&url).await), "invalid_grant");
    assert_eq!(error(&form.post(&url).await), "invalid_grant");
    let form = code_form(&authority, "app").await;
    authority.expire_codes();
    assert_eq!(error(&form.post(&url).await), "invalid_grant");
}

#[tokio::test]
async fn only_a_form_is_read() {
    let authority = with_app().await;
    let url = authority.url("/token");
    let form = code_form(&authority, "app").await;
    let kind = [("content-type", "application/x-www-form-urlencoded")];
    let reply = ask("GET", &url, &kind, &form.text()).await;
    assert_eq!(
        (reply.status, error(&reply).as_str()),
        (405, "invalid_request")
    );
    let json = [("content-type", "application/json")];
    assert_eq!(
        error(&ask("POST", &url, &json, &form.text()).await),
        "invalid_request"
    );
    let in_query = format!("{url}?client_id=app");
    assert_eq!(error(&form.post(&in_query).await), "invalid_request");
    let twice = form.clone().also("client_id", "app");
    assert_eq!(error(&twice.post(&url).await), "invalid_request");
    assert_eq!(form.post(&url).await.status, 200);
}

#[tokio::test]
async fn an_answer_may_lie_about_its_tokens() {
    let authority = with_app().await;
    authority.change(|knobs| {
        knobs.expires_in = None;
        knobs.consents_to = Some(vec!["read"]);
        knobs.tokens = Edit::new(|answer| answer["token_type"] = json!("mac"));
    });
    let reply = log_in(&authority, "app").await;
    assert_eq!(text(&reply, "token_type"), "mac");
    assert_eq!(text(&reply, "scope"), "read");
    assert!(!reply.body.contains("expires_in"));
}

#[tokio::test]
async fn a_client_with_credentials_needs_no_person() {
    let authority = with_app().await;
    let machine = Client::with_secret("machine", BACK, "client_secret_post", "word");
    authority.add_client(machine);
    let correct = Form::new(&[
        ("grant_type", "client_credentials"),
        ("client_id", "machine"),
        ("client_secret", "word"),
        ("scope", "read"),
        ("resource", RESOURCE),
    ]);
    let url = authority.url("/token");
    let reply = correct.post(&url).await;
    assert_eq!(text(&reply, "scope"), "read");
    assert!(!text(&reply, "access_token").is_empty());
    assert_eq!(text(&reply, "refresh_token"), "");
    let public = correct
        .clone()
        .with("client_id", "app")
        .without("client_secret");
    for (wrong, code) in [
        (
            correct.clone().with("client_secret", "sword"),
            "invalid_client",
        ),
        (correct.clone().without("resource"), "invalid_target"),
        (correct.clone().with("scope", "everything"), "invalid_scope"),
        (public, "unauthorized_client"),
    ] {
        assert_eq!(error(&wrong.post(&url).await), code, "{wrong:?}");
    }
    let mut person = Client::with_secret("person", BACK, "client_secret_post", "word");
    person.grants = vec!["authorization_code".to_owned()];
    authority.add_client(person);
    let wrong = correct.with("client_id", "person");
    assert_eq!(error(&wrong.post(&url).await), "unauthorized_client");
}
