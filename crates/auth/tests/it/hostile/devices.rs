//! Codes for other devices.

use switchboard_auth::OAuth;

use super::{Stage, bounded};
use crate::authority::{BACK, Client, Fault, Reply};

async fn stage() -> Stage {
    let mut stage = Stage::new().await;
    stage.person = stage.person.preferring_code();
    stage.authority.add_client(Client::public("known", BACK));
    stage
}

fn login(stage: &Stage) -> OAuth {
    stage.builder().client("known", None).build().unwrap()
}

#[tokio::test]
async fn a_code_that_cannot_be_entered_is_shown_to_nobody() {
    let answer = |member: &str, value: &str| {
        let mut answer = serde_json::json!({
            "device_code": "d3vice", "user_code": "WDJB-MJHT",
            "verification_uri": "https://a.example/enter", "expires_in": 600, "interval": 1,
        });
        answer[member] = serde_json::from_str(value).unwrap();
        answer.to_string()
    };
    for (member, value, says) in [
        ("device_code", "null", NO_DEVICE_CODE),
        ("device_code", r#""""#, NO_DEVICE_CODE),
        (
            "device_code",
            "7",
            "http://issuer/device was asked for a code for another device: the answer is not what \
             OAuth says it is",
        ),
        ("user_code", "null", NO_USER_CODE),
        ("user_code", r#""""#, NO_USER_CODE),
        ("user_code", r#""A\u001b[2J""#, NO_USER_CODE),
        ("user_code", r#""A\r\nB""#, NO_USER_CODE),
        ("user_code", r#""\u202e""#, NO_USER_CODE),
        (
            "verification_uri",
            "null",
            "http://issuer/device was asked for a code for another device: there is no \
             verification_uri in the answer",
        ),
        (
            "verification_uri",
            r#""javascript:alert(1)""#,
            "the page for the code is not asked: the URL \"javascript:alert(1)\" is not used: it \
             is neither https nor http",
        ),
        (
            "verification_uri",
            r#""file:///etc/passwd""#,
            "the page for the code is not asked: the URL \"file:///etc/passwd\" is not used: it \
             is neither https nor http",
        ),
        (
            "verification_uri",
            r#""http://a.example/enter""#,
            "the page for the code is not asked: the URL \"http://a.example/enter\" is not used: \
             it is not https, which only this machine itself may do without",
        ),
        (
            "verification_uri",
            r#""http://169.254.169.254/""#,
            "the page for the code is not asked: the URL \"http://169.254.169.254/\" is not used: \
             it is not https, which only this machine itself may do without",
        ),
        (
            "verification_uri",
            r#""https://u@a.example/""#,
            "the page for the code is not asked: the URL \"https://u@a.example/\" is not used: it \
             has a user in it",
        ),
        (
            "verification_uri",
            r#""https://a.example/\u001b""#,
            "the page for the code is not asked: the URL \"https://a.example/\\u{1b}\" is not \
             used: it has characters that do not belong in a URL",
        ),
        (
            "error",
            r#""access_denied""#,
            "http://issuer/device refused a code for another device: access_denied",
        ),
    ] {
        let stage = stage().await;
        let body = answer(member, value);
        let reply = Reply::new(200).body("application/json", &body);
        let path = stage.authority.path("/device");
        stage
            .authority
            .site
            .misbehave_always(&path, Fault::Answers(reply));
        assert_eq!(
            stage.refusal_of(&login(&stage)).await,
            says,
            "{member} {value}"
        );
        assert!(stage.person.codes().is_empty(), "{member} {value}");
        assert_eq!(stage.authority.count("/token"), 0, "{member} {value}");
    }
}

#[tokio::test]
async fn a_page_that_cannot_be_opened_is_not_offered_beside_one_that_can() {
    for page in [
        "javascript:alert(1)",
        "file:///x",
        "http://a.example/",
        "https://a.example/\\x",
    ] {
        let stage = stage().await;
        let answer = serde_json::json!({
            "device_code": "d3vice", "user_code": "WDJB-MJHT", "expires_in": 0,
            "verification_uri": "https://a.example/enter", "verification_uri_complete": page,
        });
        let path = stage.authority.path("/device");
        let fault = Fault::Answers(Reply::json(200, &answer));
        stage.authority.site.misbehave_always(&path, fault);
        // It has ended before it was entered.
        assert_eq!(
            stage.refusal_of(&login(&stage)).await,
            "nobody logged in within 0 s"
        );
        let codes = stage.person.codes();
        assert_eq!(codes.len(), 1);
        assert!(codes[0].complete_page.is_none());
        assert_eq!(stage.authority.count("/token"), 0);
    }
}

#[tokio::test]
async fn an_issuer_that_is_never_done_is_given_up_when_its_code_has_ended() {
    for (slow_down, pending, most) in [(u32::MAX, 0, 20), (0, u32::MAX, 700)] {
        let stage = stage().await;
        stage.authority.change(|knobs| {
            knobs.device_slow_down = slow_down;
            knobs.device_pending = pending;
        });
        let login = login(&stage);
        let (refusal, ()) = tokio::join!(stage.refusal_of(&login), async {
            bounded(stage.authority.site.reached("/device", 1)).await;
            tokio::time::pause();
        });
        assert_eq!(refusal, "nobody logged in within 600 s");
        let times = stage.authority.count("/token");
        assert!((5..=most).contains(&times), "{times}");
        tokio::time::resume();
    }
}

const NO_DEVICE_CODE: &str = "http://issuer/device was asked for a code for another device: there is no \
    device_code in the answer";

const NO_USER_CODE: &str = "http://issuer/device was asked for a code for another device: there is no \
    user_code that can be entered";
