//! Payloads: what was noted on the way agrees with what a second look finds.

use bytes::Bytes;
use serde_json::value::RawValue;
use switchboard_protocol::envelope::Envelope;
use switchboard_protocol::jsonrpc::Limits;
use switchboard_protocol::{Fault, Payload};

use super::reference::{json, meaning, members, repeats};

/// Any bytes are a payload exactly when they are JSON without a repeated name.
pub(super) fn check_parse(text: &Bytes) {
    match (Payload::parse(text.clone(), &Limits::default()), json(text)) {
        (Ok(payload), Some(value)) => {
            assert_eq!(payload.text(), value.as_bytes());
            assert!(!repeats(value));
            check(&payload);
        }
        (Err(Fault::Repeated { .. }), expected) => {
            // What comes behind the second name is not read.
            assert!(expected.is_none_or(repeats));
        }
        (Err(_), None) => {}
        (found, expected) => panic!("expected {expected:?}, found {found:?}"),
    }
}

/// Noted, looked up and read by serde_json, a payload says the same.
pub(crate) fn check(noted: &Payload) {
    let text = std::str::from_utf8(noted.text()).expect("a payload is text");
    let raw = RawValue::from_string(text.to_owned()).expect("a payload is JSON");
    let plain = Payload::encode(&raw).expect("JSON can be written");
    assert_eq!(plain, *noted);
    assert_eq!(noted.is_object(), text.starts_with('{'));
    assert_eq!(noted.is_one_line(), !text.contains(['\r', '\n']));

    let members = members(text).unwrap_or_default();
    let member = |wanted: &str| {
        let found = members.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| *value)
    };
    for name in ["_meta", "resultType", "name", "uri", "", "\\n"] {
        let expected = member(name);
        assert_eq!(noted.member(name), expected.map(str::as_bytes), "{name}");
        assert_eq!(noted.part(name).is_some(), expected.is_some());
        let expected = expected.and_then(meaning);
        assert_eq!(noted.string_member(name).as_deref(), expected.as_deref());
    }
    for payload in [noted, &plain] {
        assert_eq!(payload.meta(), noted.member("_meta"));
        let result_type = noted.string_member("resultType");
        assert_eq!(payload.result_type().as_deref(), result_type.as_deref());
        assert_eq!(payload.name(), noted.string_member("name"));
        assert_eq!(payload.is_one_line(), noted.is_one_line());
        check_envelope(payload, member("_meta"));
    }
}

/// The reserved keys are those that serde_json finds: of several, the last.
fn check_envelope(payload: &Payload, meta: Option<&str>) {
    let envelope = Envelope::of(Some(payload));
    assert_eq!(
        envelope.is_object,
        meta.is_some_and(|meta| meta.starts_with('{'))
    );
    let members = meta.and_then(members).unwrap_or_default();
    let member = |wanted: &str| {
        let found = members.iter().rfind(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_bytes())
    };
    let reserved = |name: &str| member(&format!("io.modelcontextprotocol/{name}"));
    assert_eq!(envelope.protocol_version, reserved("protocolVersion"));
    assert_eq!(envelope.client_capabilities, reserved("clientCapabilities"));
    assert_eq!(envelope.client_info, reserved("clientInfo"));
    assert_eq!(envelope.log_level, reserved("logLevel"));
    assert_eq!(envelope.subscription_id, reserved("subscriptionId"));
    assert_eq!(envelope.progress_token, member("progressToken"));
    let version = envelope
        .protocol_version
        .and_then(|text| serde_json::from_slice::<String>(text).ok());
    assert_eq!(envelope.protocol_version().as_deref(), version.as_deref());
}
