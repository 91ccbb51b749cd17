//! Answers with tokens, and without.

use super::{Stage, bounded, chain};
use crate::authority::{Fault, Reply, now};

#[tokio::test]
async fn an_answer_without_a_token_that_can_be_used_is_refused_and_not_asked_for_again() {
    let long = format!(
        r#"{{"access_token":"{}","token_type":"Bearer"}}"#,
        "x".repeat(1024 * 1024)
    );
    let longer_than_a_header = format!(
        r#"{{"access_token":"{}","token_type":"Bearer"}}"#,
        "x".repeat(100 * 1024)
    );
    for (body, says) in [
        ("", UNREADABLE),
        ("{}", NO_TOKEN),
        ("null", UNREADABLE),
        ("[]", UNREADABLE),
        (r#""token""#, UNREADABLE),
        ("<html>token</html>", UNREADABLE),
        (r#"{"access_token":"#, UNREADABLE),
        (r#"{"access_token":"","token_type":"Bearer"}"#, NO_TOKEN),
        (r#"{"access_token":null,"token_type":"Bearer"}"#, NO_TOKEN),
        (r#"{"access_token":7,"token_type":"Bearer"}"#, UNREADABLE),
        (r#"{"access_token":"a","access_token":"b"}"#, UNREADABLE),
        (r#"{"access_token":"a","token_type":"mac"}"#, NO_TYPE),
        (r#"{"access_token":"a","token_type":"N_A"}"#, NO_TYPE),
        (
            r#"{"access_token":"a","token_type":"DPoP"}"#,
            "http://issuer/token was asked for a token: the token is bound to a key, although \
             none was shown",
        ),
        (
            r#"{"access_token":"a\r\nx-evil: 1","token_type":"Bearer"}"#,
            NO_HEADER,
        ),
        (
            r#"{"access_token":"a\u0000","token_type":"Bearer"}"#,
            NO_HEADER,
        ),
        (r#"{"access_token":"a b","token_type":"Bearer"}"#, NO_HEADER),
        (
            r#"{"access_token":"a","token_type":"Bearer","expires_in":1e400}"#,
            UNREADABLE,
        ),
        (
            r#"{"error":"invalid_grant\u001b[31m","error_description":"\u202e\r\nno"}"#,
            "http://issuer/token refused a token: invalid_grant\\x1b[31m (\\u{202e}\\r\\nno)",
        ),
        (
            &long,
            "http://issuer/token was asked for a token and its answer cannot be read: the body of \
             1048617 bytes or more is over the limit of 262144",
        ),
        (
            &longer_than_a_header,
            "http://issuer/token was asked for a token: the access_token is longer than 64 KiB",
        ),
    ] {
        let stage = Stage::new().await;
        let reply = Reply::new(200).body("application/json", body);
        let path = stage.authority.path("/token");
        stage
            .authority
            .site
            .misbehave_always(&path, Fault::Answers(reply));
        let case = &body[..body.len().min(100)];
        assert_eq!(stage.refusal().await, says, "{case}");
        assert_eq!(stage.authority.count("/token"), 1, "{case}");
        assert_eq!(stage.person.pages().len(), 1, "{case}");
        assert_eq!(stage.canary.lines(), [""; 0]);
    }
}

#[tokio::test]
async fn what_was_sent_for_a_token_is_never_sent_elsewhere() {
    for status in [301, 302, 303, 307, 308] {
        for place in ["/token", "/register"] {
            for to in ["http://canary/token", "http://issuer/other", "//x", ""] {
                let stage = Stage::new().await;
                let to = stage.with_places(to);
                let fault = Fault::redirects(status, &to);
                let site = &stage.authority.site;
                site.misbehave_always(&stage.authority.path(place), fault);
                let what = match place {
                    "/token" => "a token",
                    _ => "the registration of this client",
                };
                let says = format!(
                    "http://issuer{place} was asked for {what}: status {status}, and what was \
                     sent is not sent elsewhere"
                );
                assert_eq!(stage.refusal().await, says);
                assert_eq!(stage.canary.lines(), [""; 0], "{to}");
                assert_eq!(site.count("/other"), 0);
                assert_eq!(site.count(place), 1);
            }
        }
    }
}

#[tokio::test]
async fn a_life_that_makes_no_sense_is_bounded_or_unknown() {
    let ten_years = 10 * 365 * 24 * 60 * 60;
    for (life, expected) in [
        ("3600", Some(3600)),
        (r#""3600""#, Some(3600)),
        ("3600.9", Some(3600)),
        ("99999999999999999999999", Some(ten_years)),
        ("18446744073709551615", Some(ten_years)),
        (r#""1e300""#, Some(ten_years)),
        ("0", None),
        ("-1", None),
        ("-1e300", None),
        ("null", None),
        (r#""soon""#, None),
        (r#""NaN""#, None),
        ("[3600]", None),
        ("true", None),
    ] {
        let stage = Stage::new().await;
        let body = format!(r#"{{"access_token":"a","token_type":"bearer","expires_in":{life}}}"#);
        let reply = Reply::new(200).body("application/json", &body);
        let path = stage.authority.path("/token");
        stage
            .authority
            .site
            .misbehave_always(&path, Fault::Answers(reply));
        let before = now();
        let status = match bounded(Box::pin(stage.login().login())).await {
            Ok(status) => status,
            Err(error) => panic!("{life}: {}", chain(&error)),
        };
        match (status.expires_at, expected) {
            (None, None) => {}
            (Some(end), Some(life)) => {
                assert!(
                    (before + life..=now() + life).contains(&end),
                    "{life}: {end}"
                );
            }
            (found, _) => panic!("{life}: {found:?}"),
        }
    }
}

#[tokio::test]
async fn an_issuer_that_never_gives_a_token_is_given_up() {
    let stage = Stage::new().await;
    let path = stage.authority.path("/token");
    let site = &stage.authority.site;
    site.misbehave_always(&path, Fault::StaysSilent);
    let login = stage.login();
    let (refusal, ()) = tokio::join!(stage.refusal_of(&login), async {
        bounded(site.reached(&path, 1)).await;
        tokio::time::pause();
    });
    assert_eq!(
        refusal,
        "http://issuer/token was asked for a token and did not answer within 30s"
    );
    assert_eq!(site.count(&path), 1);
}

const UNREADABLE: &str = "http://issuer/token was asked for a token: the answer is not what OAuth says it \
    is";

const NO_TOKEN: &str = "http://issuer/token was asked for a token: there is no access_token in the \
    answer";

const NO_HEADER: &str = "http://issuer/token was asked for a token: the access_token cannot stand in a \
    header";

const NO_TYPE: &str = "http://issuer/token was asked for a token: the token_type is neither Bearer nor \
    DPoP";
