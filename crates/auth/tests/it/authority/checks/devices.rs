//! Codes that are entered on another device.

use super::{BACK, Form, RESOURCE, error, text, with_app};
use crate::authority::{Authority, Client, DeviceEnd, Reply};

const DEVICE: &str = "urn:ietf:params:oauth:grant-type:device_code";

async fn begin(authority: &Authority) -> Form {
    let form = Form::new(&[
        ("client_id", "app"),
        ("scope", "read"),
        ("resource", RESOURCE),
    ]);
    let reply = form.post(&authority.url("/device")).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert!(text(&reply, "verification_uri").starts_with(authority.issuer()));
    Form::new(&[
        ("grant_type", DEVICE),
        ("client_id", "app"),
        ("device_code", &text(&reply, "device_code")),
        ("resource", RESOURCE),
    ])
}

async fn ask(authority: &Authority, form: &Form) -> Reply {
    form.post(&authority.url("/token")).await
}

#[tokio::test]
async fn a_device_waits_for_its_person() {
    let authority = with_app().await;
    authority.change(|knobs| {
        knobs.device_interval = 0;
        knobs.device_slow_down = 1;
        knobs.device_pending = 2;
    });
    let form = begin(&authority).await;
    for code in [
        "slow_down",
        "authorization_pending",
        "authorization_pending",
    ] {
        assert_eq!(error(&ask(&authority, &form).await), code);
    }
    let reply = ask(&authority, &form).await;
    assert_eq!(text(&reply, "scope"), "read");
    assert!(!text(&reply, "refresh_token").is_empty());
    assert_eq!(error(&ask(&authority, &form).await), "invalid_grant");
}

#[tokio::test]
async fn a_device_that_asks_too_soon_is_told_so() {
    let authority = with_app().await;
    authority.change(|knobs| {
        knobs.device_interval = 600;
        knobs.device_pending = 1;
    });
    let form = begin(&authority).await;
    assert_eq!(
        error(&ask(&authority, &form).await),
        "authorization_pending"
    );
    assert_eq!(error(&ask(&authority, &form).await), "slow_down");
}

#[tokio::test]
async fn a_person_may_not_agree() {
    let authority = with_app().await;
    for (end, code) in [
        (DeviceEnd::Denies, "access_denied"),
        (DeviceEnd::Waits, "expired_token"),
    ] {
        authority.change(|knobs| knobs.device_end = end);
        let form = begin(&authority).await;
        assert_eq!(error(&ask(&authority, &form).await), code);
    }
}

#[tokio::test]
async fn a_device_code_is_good_only_for_those_who_asked_for_it() {
    let authority = with_app().await;
    authority.add_client(Client::public("other", BACK));
    let correct = begin(&authority).await;
    for (name, value, code) in [
        ("device_code", "device-made-up", "invalid_grant"),
        ("client_id", "other", "invalid_grant"),
        ("client_id", "nobody", "invalid_client"),
        ("resource", "https://example.com/other", "invalid_target"),
    ] {
        let wrong = correct.clone().with(name, value);
        assert_eq!(
            error(&ask(&authority, &wrong).await),
            code,
            "{name}={value}"
        );
    }
    assert_eq!(ask(&authority, &correct).await.status, 200);
    let first = Form::new(&[("client_id", "app"), ("resource", RESOURCE)]);
    for (name, value, code) in [
        ("client_id", "nobody", "invalid_client"),
        ("resource", "", "invalid_target"),
        ("scope", "everything", "invalid_scope"),
    ] {
        let reply = first
            .clone()
            .with(name, value)
            .post(&authority.url("/device"))
            .await;
        assert_eq!(error(&reply), code, "{name}={value}");
    }
}
