//! New tokens for old ones.

use super::{BACK, Form, RESOURCE, error, log_in, text, with_app};
use crate::authority::{Authority, Client, Refresh, Reply};

fn form(reply: &Reply) -> Form {
    Form::new(&[
        ("grant_type", "refresh_token"),
        ("client_id", "app"),
        ("refresh_token", &text(reply, "refresh_token")),
        ("resource", RESOURCE),
    ])
}

async fn refresh(authority: &Authority, form: &Form) -> Reply {
    form.post(&authority.url("/token")).await
}

#[tokio::test]
async fn a_refresh_token_is_good_for_once_and_twice_ends_them_all() {
    let authority = with_app().await;
    let first = form(&log_in(&authority, "app").await);
    let second = refresh(&authority, &first).await;
    assert_eq!(text(&second, "scope"), "read write");
    let third = refresh(&authority, &form(&second)).await;
    assert_eq!(third.status, 200);
    let other = form(&log_in(&authority, "app").await);
    assert_eq!(error(&refresh(&authority, &first).await), "invalid_grant");
    assert_eq!(
        error(&refresh(&authority, &form(&third)).await),
        "invalid_grant"
    );
    // Another consent is another family.
    assert_eq!(refresh(&authority, &other).await.status, 200);
}

#[tokio::test]
async fn a_refresh_token_stays_where_it_is_told_to() {
    let authority = with_app().await;
    authority.change(|knobs| knobs.refresh = Refresh::Stays);
    let first = form(&log_in(&authority, "app").await);
    for _ in 0..2 {
        let reply = refresh(&authority, &first).await;
        assert!(!text(&reply, "access_token").is_empty());
        assert_eq!(text(&reply, "refresh_token"), "");
    }
    authority.revoke_all();
    assert_eq!(error(&refresh(&authority, &first).await), "invalid_grant");
}

#[tokio::test]
async fn there_is_no_refresh_token_where_nobody_wants_one() {
    let authority = with_app().await;
    let mut client = Client::public("once", BACK);
    client.grants = vec!["authorization_code".to_owned()];
    authority.add_client(client);
    assert_eq!(text(&log_in(&authority, "once").await, "refresh_token"), "");
    let of_app = form(&log_in(&authority, "app").await);
    let wrong = of_app.with("client_id", "once");
    assert_eq!(
        error(&refresh(&authority, &wrong).await),
        "unauthorized_client"
    );
    authority.change(|knobs| knobs.refresh = Refresh::None);
    assert_eq!(text(&log_in(&authority, "app").await, "refresh_token"), "");
}

#[tokio::test]
async fn a_refresh_token_gives_no_more_than_it_had() {
    let authority = with_app().await;
    authority.add_client(Client::public("other", BACK));
    let correct = form(&log_in(&authority, "app").await);
    for (name, value, code) in [
        ("refresh_token", "refresh-made-up", "invalid_grant"),
        ("refresh_token", "", "invalid_grant"),
        ("client_id", "other", "invalid_grant"),
        ("resource", "https://example.com/other", "invalid_target"),
        ("resource", "", "invalid_target"),
        ("scope", "read admin", "invalid_scope"),
        ("scope", "everything", "invalid_scope"),
    ] {
        let wrong = correct.clone().with(name, value);
        assert_eq!(
            error(&refresh(&authority, &wrong).await),
            code,
            "{name}={value}"
        );
    }
    let narrow = refresh(&authority, &correct.with("scope", "read")).await;
    assert_eq!(text(&narrow, "scope"), "read");
    let wide = refresh(&authority, &form(&narrow)).await;
    assert_eq!(text(&wide, "scope"), "read write");
}
