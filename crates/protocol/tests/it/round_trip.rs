//! Reading and writing messages, on random text.
//!
//! What is read is compared with the rules of the envelope written down once more, in the
//! plainest way, over `serde_json::Value`.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::Value;
use switchboard_protocol::jsonrpc::{Frame, Limits, Malformed, Message, RequestId, Shape};
use switchboard_testkit::generate;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn a_message_that_is_written_is_read_as_the_same_message(text in generate::message_text()) {
        // A line cannot hold a line break: white space is the one thing that writing may change.
        let first = message(&one_line(&text));
        let written = first.to_bytes();
        let second = message(&written);
        prop_assert_eq!(&first, &second);
        prop_assert_eq!(&written, &second.to_bytes());
        prop_assert_eq!(&written, &message(text.as_bytes()).to_bytes());
        prop_assert!(!written.contains(&b'\n'));
    }

    #[test]
    fn nothing_of_a_message_is_lost_on_the_way(text in generate::message_text()) {
        let Ok(Value::Object(mut want)) = serde_json::from_str(&text) else {
            // Beyond what this type can hold, though not beyond JSON.
            return Ok(());
        };
        let mut got: Value = serde_json::from_slice(&message(text.as_bytes()).to_bytes()).unwrap();
        // Two ways to say the same.
        want.retain(|name, value| !(value.is_null() && (name == "id" || name == "params")));
        prop_assert_eq!(Value::Object(want), got.take());
    }

    #[test]
    fn made_messages_survive_the_wire(message in generate::message()) {
        let first = self::message(&message.to_bytes());
        prop_assert_eq!(first.to_bytes(), message.to_bytes());
    }

    #[test]
    fn ids_are_echoed_and_compared_by_meaning(one in generate::request_id(), other in generate::request_id()) {
        let json = |id: &RequestId| id.to_string();
        let again = RequestId::from_json(&Bytes::from(json(&one))).unwrap();
        prop_assert_eq!(&one, &again);
        prop_assert_eq!(json(&one), json(&again));
        let is_text = |id: &RequestId| json(id).starts_with('"');
        let value = |id: &RequestId| serde_json::from_str::<Value>(&json(id)).unwrap();
        if is_text(&one) || is_text(&other) {
            prop_assert_eq!(one == other, value(&one) == value(&other));
        } else {
            prop_assert_eq!(one == other, json(&one) == json(&other));
        }
    }

    #[test]
    fn frames_are_classified_as_the_rules_say(text in prop_oneof![
        4 => generate::odd_message_text(),
        2 => generate::message_text(),
        2 => generate::batch_text(),
        1 => generate::json_text(),
    ]) {
        let Ok(value) = serde_json::from_str::<Value>(&text) else {
            return Ok(());
        };
        if has_long_number(&text) {
            return Ok(());
        }
        let got = read(text.as_bytes());
        match (value, got) {
            (Value::Array(entries), Ok(Frame::Batch(got))) => {
                prop_assert_eq!(entries.len(), got.len());
                for (entry, got) in entries.iter().zip(&got) {
                    prop_assert_eq!(classify(entry), class_of(got), "{} in {}", entry, text);
                }
            }
            (Value::Array(entries), got) => {
                prop_assert!(entries.is_empty() && got.is_err(), "{} gave {:?}", text, got);
            }
            (value, Ok(Frame::Single(got))) => {
                prop_assert_eq!(classify(&value), class_of(&Ok(got)), "{}", text);
            }
            (value, Err(got)) => prop_assert_eq!(classify(&value), class_of(&Err(got)), "{}", text),
            (value, got) => prop_assert!(false, "{} gave {:?}", value, got),
        }
    }

    #[test]
    fn no_bytes_upset_the_reader(
        text in generate::message_text(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] = byte;
        }
        let is_json = serde_json::from_slice::<&serde_json::value::RawValue>(&bytes).is_ok();
        let got = read(&bytes);
        // Whatever is taken for a message is JSON.
        prop_assert!(is_json || got.is_err(), "{}", String::from_utf8_lossy(&bytes));
    }
}

/// What a frame is, as far as both sides of the comparison can say it.
#[derive(Debug, PartialEq)]
enum Class {
    Request(String),
    Notification,
    Result(String),
    Error(Option<String>),
    Malformed(Option<String>, Shape),
}

fn class_of(got: &Result<Message, Malformed>) -> Class {
    let text =
        |id: &RequestId| meaning(&serde_json::from_str(&id.to_string()).expect("an id is JSON"));
    match got {
        Ok(Message::Request(request)) => Class::Request(text(&request.id)),
        Ok(Message::Notification(_)) => Class::Notification,
        Ok(Message::Response(response)) => match (&response.id, &response.outcome) {
            (Some(id), Ok(_)) => Class::Result(text(id)),
            (id, _) => Class::Error(id.as_ref().map(text)),
        },
        Err(malformed) => {
            assert_eq!(malformed.error().code.0, -32600, "{malformed}");
            Class::Malformed(malformed.id.as_ref().map(text), malformed.shape)
        }
    }
}

/// The rules of the envelope: JSON-RPC 2.0 with the ids and params of MCP.
fn classify(value: &Value) -> Class {
    let Value::Object(members) = value else {
        return Class::Malformed(None, Shape::Unclear);
    };
    let is_id = |id: &&Value| id.is_string() || id.is_i64() || id.is_u64();
    let id = members.get("id").filter(is_id).map(meaning);
    let method = members.get("method");
    let (result, error) = (members.get("result"), members.get("error"));
    let has_outcome = result.is_some() || error.is_some();
    let shape = match (method, has_outcome) {
        (Some(Value::String(_)), false) if !members.contains_key("id") => Shape::Notification,
        (Some(_), false) => Shape::Request,
        (None, true) => Shape::Response,
        _ => Shape::Unclear,
    };
    let malformed = Class::Malformed(id.clone(), shape);
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return malformed;
    }
    if let Some(method) = method {
        let params = members.get("params").unwrap_or(&Value::Null);
        let is_good =
            method.is_string() && !has_outcome && (params.is_object() || params.is_null());
        return match id {
            Some(id) if is_good => Class::Request(id),
            None if is_good && !members.contains_key("id") => Class::Notification,
            _ => malformed,
        };
    }
    match (result, error, id) {
        (Some(_), None, Some(id)) => Class::Result(id),
        (None, Some(error), id) => {
            let code = error.get("code").is_some_and(Value::is_i64);
            let message = error.get("message").is_some_and(Value::is_string);
            if code && message {
                Class::Error(id)
            } else {
                malformed
            }
        }
        _ => malformed,
    }
}

/// Type and meaning of an id in one text.
fn meaning(id: &Value) -> String {
    id.to_string()
}

/// Does the text hold an integer that `Value` would take for a fraction?
fn has_long_number(text: &str) -> bool {
    let mut digits = 0;
    text.contains("-0")
        || text.chars().any(|c| {
            digits = if c.is_ascii_digit() { digits + 1 } else { 0 };
            digits > 18
        })
}

fn message(text: &[u8]) -> Message {
    match read(text) {
        Ok(Frame::Single(message)) => message,
        other => panic!("{} gave {other:?}", String::from_utf8_lossy(text)),
    }
}

fn read(text: &[u8]) -> Result<Frame, Malformed> {
    Frame::read(&Bytes::copy_from_slice(text), &Limits::default())
}

fn one_line(text: &str) -> Vec<u8> {
    text.replace(['\n', '\r'], " ").into_bytes()
}
