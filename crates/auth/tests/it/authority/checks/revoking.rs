//! Tokens that shall count no longer.

use super::{BACK, Form, RESOURCE, error, log_in, text, with_app};
use crate::authority::{Authority, Client, Protected, Reply, ask};

async fn revoke(authority: &Authority, client: &str, token: &str) -> Reply {
    let form = Form::new(&[("client_id", client), ("token", token)]);
    form.post(&authority.url("/revoke")).await
}

async fn refresh(authority: &Authority, token: &str) -> Reply {
    let form = Form::new(&[
        ("grant_type", "refresh_token"),
        ("client_id", "app"),
        ("refresh_token", token),
        ("resource", RESOURCE),
    ]);
    form.post(&authority.url("/token")).await
}

#[tokio::test]
async fn a_refresh_token_ends_with_its_family_and_an_access_token_alone() {
    let authority = with_app().await;
    let server = Protected::start_with(&authority, |knobs| knobs.checks_resource = false).await;
    let call = async |token: &str| {
        let headers = [("authorization", format!("Bearer {token}"))];
        let headers = headers
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        ask("GET", &server.url(), &headers, "").await.status
    };
    let tokens = log_in(&authority, "app").await;
    let [access, renewing] = ["access_token", "refresh_token"].map(|name| text(&tokens, name));
    assert_eq!(call(&access).await, 200);
    assert_eq!(revoke(&authority, "app", &access).await.status, 200);
    assert_eq!(call(&access).await, 401);
    let tokens = refresh(&authority, &renewing).await;
    let [access, renewing] = ["access_token", "refresh_token"].map(|name| text(&tokens, name));
    assert_eq!(call(&access).await, 200);
    assert_eq!(revoke(&authority, "app", &renewing).await.status, 200);
    assert_eq!(call(&access).await, 401);
    assert_eq!(
        error(&refresh(&authority, &renewing).await),
        "invalid_grant"
    );
}

#[tokio::test]
async fn nobody_ends_the_tokens_of_others() {
    let authority = with_app().await;
    authority.add_client(Client::public("other", BACK));
    let renewing = text(&log_in(&authority, "app").await, "refresh_token");
    assert_eq!(
        error(&revoke(&authority, "other", &renewing).await),
        "invalid_request"
    );
    assert_eq!(
        error(&revoke(&authority, "nobody", &renewing).await),
        "invalid_client"
    );
    assert_eq!(
        error(&revoke(&authority, "app", "").await),
        "invalid_request"
    );
    assert_eq!(revoke(&authority, "app", "made-up").await.status, 200);
    assert_eq!(refresh(&authority, &renewing).await.status, 200);
}
