//! Answers with clients.

use super::Stage;
use crate::authority::{Fault, Reply};

#[tokio::test]
async fn a_client_that_cannot_be_one_is_refused_before_anybody_is_sent_there() {
    let long = format!(r#"{{"client_id":"{}"}}"#, "x".repeat(3000));
    for (status, body, says) in [
        (201, "", UNREADABLE),
        (201, "{}", NO_CLIENT),
        (201, "[]", UNREADABLE),
        (201, "<html></html>", UNREADABLE),
        (201, r#"{"client_id":""}"#, NO_CLIENT),
        (201, r#"{"client_id":null}"#, NO_CLIENT),
        (201, r#"{"client_id":7}"#, UNREADABLE),
        (201, r#"{"client_id":"a\r\nb"}"#, NO_CLIENT),
        (201, r#"{"client_id":"a\u001b[2J"}"#, NO_CLIENT),
        (201, r#"{"client_id":"\u00e4"}"#, NO_CLIENT),
        (201, &long, NO_CLIENT),
        (
            201,
            r#"{"client_id":"a","client_secret":{"a":1}}"#,
            UNREADABLE,
        ),
        (201, r#"{"client_id":"a","client_secret":7}"#, UNREADABLE),
        (
            200,
            r#"{"client_id":"a","error":"no\u001b[2J"}"#,
            "http://issuer/register refused the registration of this client: no\\x1b[2J",
        ),
        (
            400,
            r#"{"error":"invalid_redirect_uri","error_description":"\u0007"}"#,
            "http://issuer/register refused the registration of this client: invalid_redirect_uri \
             (\\x07)",
        ),
        (
            403,
            "no",
            "http://issuer/register was asked for the registration of this client: status 403 \
             without a reason",
        ),
        (
            418,
            "",
            "http://issuer/register was asked for the registration of this client: status 418 \
             without a reason",
        ),
        (
            500,
            "",
            "http://issuer/register refused the registration of this client: \
             temporarily_unavailable (status 500)",
        ),
    ] {
        let stage = Stage::new().await;
        let reply = Reply::new(status).body("application/json", body);
        let path = stage.authority.path("/register");
        stage
            .authority
            .site
            .misbehave_always(&path, Fault::Answers(reply));
        let case = &body[..body.len().min(100)];
        assert_eq!(stage.refusal().await, says, "{status} {case}");
        let asked = [
            "GET /.well-known/oauth-authorization-server",
            "POST /register",
        ];
        stage.check_asked(case, &asked);
    }
}

#[tokio::test]
async fn a_registration_that_is_never_good_enough_is_tried_twice() {
    let stage = Stage::new().await;
    let path = stage.authority.path("/register");
    let fault = Fault::refuses(400, "invalid_client_metadata");
    stage.authority.site.misbehave_always(&path, fault);
    assert_eq!(
        stage.refusal().await,
        "http://issuer/register refused the registration of this client: \
             invalid_client_metadata (as it was told)"
    );
    assert_eq!(stage.authority.count("/register"), 2);
    assert!(stage.person.pages().is_empty());
}

#[tokio::test]
async fn a_secret_with_control_characters_reaches_no_header() {
    let stage = Stage::new().await;
    let edit = stage.edit("client_secret", r#""a\r\nx-evil: 1""#);
    stage.authority.change(|knobs| {
        knobs.needs_secret = true;
        knobs.methods = vec!["client_secret_basic"];
        knobs.registered = edit;
    });
    // It is not the secret that the issuer has, which is all that becomes of it.
    assert_eq!(
        stage.refusal().await,
        "http://issuer/token refused a token: invalid_client (this is not the secret)"
    );
    let asked = stage.authority.asked("/token");
    assert!(asked.iter().all(|asked| asked.header("x-evil").is_none()));
}

const UNREADABLE: &str = "http://issuer/register was asked for the registration of this client: the answer \
    is not what OAuth says it is";

const NO_CLIENT: &str = "http://issuer/register was asked for the registration of this client: there is \
    no client_id in the answer that can be used";
