//! Parameters that are written anew on their way: the input is a line of parameters, a line of
//! changes and a line of members for `_meta`, each an object.
//!
//! Compared by the text of each member with what serde_json finds, so that nothing is taken for
//! equal that is only worth the same.

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::Limits;

use crate::jsonrpc::{check_payload_text, members};

/// What is changed is changed, what is not keeps its text, and what comes out is noted as a second
/// reading would.
pub fn payload(data: &[u8]) {
    // A name with half a surrogate is told by its text, which may be that of another; `jsonrpc` has
    // such names.
    if data
        .windows(3)
        .any(|part| part.eq_ignore_ascii_case(b"\\ud"))
    {
        return;
    }
    let mut lines = data.split(|byte| *byte == b'\n');
    let mut line = || Bytes::copy_from_slice(lines.next().unwrap_or_default());
    let (params, changes, meta) = (line(), line(), line());
    let Some(params) = object(params) else {
        return;
    };
    check_passed_on(&params, object(changes).as_ref());
    let meta: Map<String, Value> = serde_json::from_slice(&meta).unwrap_or_default();
    check_with_meta(&params, &meta);
    check_call(&params);
}

fn object(text: Bytes) -> Option<Payload> {
    let payload = Payload::parse(text, &Limits::default()).ok()?;
    payload.is_object().then_some(payload)
}

fn check_passed_on(params: &Payload, changes: Option<&Payload>) {
    let named = changes.map(parts).unwrap_or_default();
    let changes: Vec<(&str, Option<&[u8]>)> = named
        .iter()
        .map(|(name, value)| {
            let value = (*value != "null").then_some(value.as_bytes());
            (name.as_str(), value)
        })
        .collect();
    let passed = params.clone().passed_on(&changes);
    check_own(&passed);
    let mut expected = Vec::new();
    for (name, value) in parts(params) {
        if name == "_meta" {
            let left = further(value);
            if !left.is_empty() {
                assert_eq!(parts_of(passed.meta().unwrap_or_default()), left);
                expected.push((name, String::from_utf8_lossy(passed.meta().unwrap()).into()));
            }
            continue;
        }
        match changes.iter().find(|(changed, _)| *changed == name) {
            Some((_, Some(value))) => {
                expected.push((name, String::from_utf8_lossy(value).into_owned()));
            }
            Some((_, None)) => {}
            None => expected.push((name, value.to_owned())),
        }
    }
    assert_same(&passed, expected);

    let plain = params.without_meta();
    check_own(&plain);
    let rest = parts(params)
        .into_iter()
        .filter(|(name, _)| name != "_meta");
    assert_same(
        &plain,
        rest.map(|(name, value)| (name, value.to_owned())).collect(),
    );
}

fn check_with_meta(params: &Payload, meta: &Map<String, Value>) {
    let without = Payload::with_meta(None, meta);
    check_own(&without);
    let written = without.part("_meta").expect("it was set");
    assert_eq!(
        written.decode::<Map<String, Value>>().ok().as_ref(),
        Some(meta)
    );

    let with = Payload::with_meta(Some(params), meta);
    check_own(&with);
    let old = params.meta().unwrap_or_default();
    let mut expected: Vec<(String, String)> = meta
        .iter()
        .map(|(name, value)| (name.clone(), value.to_string()))
        .collect();
    let kept = parts_of(old)
        .into_iter()
        .filter(|(name, _)| !meta.contains_key(name));
    expected.extend(kept);
    let written = with.part("_meta").expect("it was set");
    assert_eq!(sorted(parts_of(written.text())), sorted(expected));
    let is_rest = |(name, _): &(String, &str)| name != "_meta";
    let rest = |payload: &Payload| -> Vec<(String, String)> {
        let rest = parts(payload).into_iter().filter(is_rest);
        rest.map(|(name, value)| (name, value.to_owned())).collect()
    };
    assert_eq!(rest(&with), rest(params), "the rest keeps its order too");
}

/// A call is written as serde_json has it.
fn check_call(params: &Payload) {
    let raw: &RawValue = params.decode().expect("a payload is JSON");
    let name = params.name().unwrap_or_default();
    let written = Payload::encode_call(&name, raw).expect("it has a JSON form");
    check_own(&written);
    assert_eq!(written.name().as_deref(), Some(&*name));
    assert_eq!(written.arguments(), Some(raw.get().as_bytes()));
    if let Ok(value) = params.decode::<Value>() {
        let written = Payload::encode_call(&name, &value).expect("it has a JSON form");
        check_own(&written);
        let expected = serde_json::json!({"name": name, "arguments": value});
        assert_eq!(written.decode::<Value>().ok(), Some(expected));
    }
}

/// What was written is JSON, and noted as if it had been read.
fn check_own(payload: &Payload) {
    let mut limits = Limits::default();
    limits.depth = 200;
    let again = Payload::parse(payload.text().clone(), &limits);
    let again = again.unwrap_or_else(|fault| panic!("{payload:?}: {fault}"));
    assert_eq!(again, *payload);
    assert_eq!(again.name(), payload.name());
    assert_eq!(again.arguments(), payload.arguments());
    assert_eq!(again.is_one_line(), payload.is_one_line());
    check_payload_text(payload);
}

/// The members of a `_meta` that concern more than two neighbours.
fn further(meta: &str) -> Vec<(String, String)> {
    let is_further = |name: &str| match name.strip_prefix("io.modelcontextprotocol/") {
        Some(own) => !RESERVED.contains(&own),
        None => name != "progressToken",
    };
    let members = parts_of(meta.as_bytes()).into_iter();
    members.filter(|(name, _)| is_further(name)).collect()
}

fn parts(payload: &Payload) -> Vec<(String, &str)> {
    let text = std::str::from_utf8(payload.text()).expect("a payload is text");
    members(text).unwrap_or_default()
}

fn parts_of(text: &[u8]) -> Vec<(String, String)> {
    let text = std::str::from_utf8(text).expect("a part is text");
    let members = members(text).unwrap_or_default();
    let owned = |(name, value): (String, &str)| (name, value.to_owned());
    members.into_iter().map(owned).collect()
}

/// A call of the usual form is written in the usual order, so that is not compared.
fn assert_same(payload: &Payload, expected: Vec<(String, String)>) {
    assert_eq!(sorted(parts_of(payload.text())), sorted(expected));
}

fn sorted(mut members: Vec<(String, String)>) -> Vec<(String, String)> {
    members.sort();
    members
}

const RESERVED: [&str; 5] = [
    "protocolVersion",
    "clientCapabilities",
    "clientInfo",
    "logLevel",
    "subscriptionId",
];
