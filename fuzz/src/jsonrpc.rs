//! JSON-RPC frames: what is one, which message it holds, and what it says of itself.
//!
//! Compared with a plain reading of the rules in `reference`, which also says where
//! the library differs from `serde_json::Value` on purpose.

mod payload;
mod reference;

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use serde_json::Value;
use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::{
    ErrorCode, Frame, FrameReader, LargeFrame, Limits, Malformed, Message, Problem, RequestId,
};

pub(crate) use payload::check as check_payload_text;
pub(crate) use reference::members;
use reference::{Entry, Verdict, meaning, read};

/// A frame is accepted, refused and classified as the rules say, also if it is looked through before; what was
/// accepted is written and read again as the same message; ids are found in any beginning.
pub fn jsonrpc(data: &[u8]) {
    let frame = Bytes::copy_from_slice(data);
    let found = Frame::read(&frame, &Limits::default());
    check_verdict(&frame, &found);
    check_looked_through(&frame, &found);
    payload::check_parse(&frame);
    found_id(&frame);
    match &found {
        Ok(Frame::Single(message)) => {
            check_id_in_beginnings(&frame, message);
            check_written(&frame, message);
        }
        Ok(Frame::Batch(entries)) => {
            assert_eq!(found_id(&frame), None);
            for message in entries.iter().flatten() {
                check_written_again(message);
            }
            check_equality_of_ids(entries);
        }
        Err(refused) => check_refusal(&frame, refused),
    }
}

fn check_looked_through(frame: &Bytes, found: &Result<Frame, Malformed>) {
    let limits = Limits::default();
    let mut large = LargeFrame::new(frame.clone(), &limits);
    while !large.step() {}
    match (FrameReader::new(limits).read_large(large), found) {
        // Of one that is no JSON the id is looked for in another way.
        (Err(seen), Err(found)) => assert!(
            seen.problem == found.problem || is_long_batch(frame, found.problem),
            "{seen:?} {found:?}"
        ),
        (seen, found) => assert_eq!(&seen, found),
    }
}

fn check_verdict(frame: &Bytes, found: &Result<Frame, Malformed>) {
    match (read(frame), found) {
        (Verdict::NotJson, Err(refused)) => assert!(
            matches!(refused.problem, Problem::NotJson(_))
                // The limit of a batch is found before its end is.
                || is_long_batch(frame, refused.problem),
            "{refused:?}"
        ),
        (Verdict::Batch(entries), Err(refused)) => match refused.problem {
            Problem::EmptyBatch => assert!(entries.is_empty()),
            problem => assert!(is_long_batch(frame, problem), "{refused:?}"),
        },
        (Verdict::Batch(expected), Ok(Frame::Batch(entries))) => {
            assert!(!entries.is_empty());
            assert_eq!(expected.len(), entries.len());
            for (expected, entry) in expected.iter().zip(entries) {
                check_entry(expected, entry.as_ref());
            }
        }
        (Verdict::Single(expected), Ok(Frame::Single(message))) => {
            check_entry(&expected, Ok(message));
        }
        (Verdict::Single(expected), Err(refused)) => check_entry(&expected, Err(refused)),
        (expected, found) => panic!("expected {expected:?}, found {found:?}"),
    }
}

fn is_long_batch(frame: &[u8], problem: Problem) -> bool {
    let commas = frame.iter().filter(|byte| **byte == b',').count();
    problem == Problem::BatchTooLong && commas >= Limits::default().batch
}

fn check_entry(expected: &Entry<'_>, found: Result<&Message, &Malformed>) {
    match (expected, found) {
        (Entry::Request { id, method, params }, Ok(Message::Request(request))) => {
            assert_eq!(
                request.id.to_string(),
                *id,
                "an id is echoed as it was written"
            );
            assert_eq!(request.method.as_str(), method);
            check_payload(request.params.as_ref(), *params);
        }
        (Entry::Notification { method, params }, Ok(Message::Notification(notification))) => {
            assert_eq!(notification.method.as_str(), method);
            check_payload(notification.params.as_ref(), *params);
        }
        (Entry::Result { id, result }, Ok(Message::Response(response))) => {
            let found = response.id.as_ref().map(ToString::to_string);
            assert_eq!(found.as_deref(), Some(*id));
            let found = response.outcome.as_ref().expect("a result");
            check_payload(Some(found), Some(result));
        }
        (
            Entry::Error {
                id,
                code,
                message,
                data,
            },
            Ok(Message::Response(response)),
        ) => {
            let found = response.id.as_ref().map(ToString::to_string);
            assert_eq!(found.as_deref(), *id);
            let found = response.outcome.as_ref().expect_err("an error");
            assert_eq!(found.code, ErrorCode(*code));
            assert_eq!(found.message, *message);
            check_payload(found.data.as_ref(), *data);
        }
        (
            Entry::Refused {
                problems,
                id,
                shape,
            },
            Err(refused),
        ) => {
            assert!(
                problems.contains(&refused.problem),
                "{problems:?} {refused:?}"
            );
            let found = refused.id.as_ref().map(ToString::to_string);
            assert_eq!(found.as_deref(), *id);
            assert_eq!(refused.shape, *shape);
            let code = match refused.problem {
                Problem::NotJson(_) => ErrorCode::PARSE_ERROR,
                _ => ErrorCode::INVALID_REQUEST,
            };
            assert_eq!(refused.error().code, code);
        }
        (expected, found) => panic!("expected {expected:?}, found {found:?}"),
    }
}

fn check_payload(found: Option<&Payload>, expected: Option<&str>) {
    assert_eq!(
        found.map(|payload| payload.text().as_ref()),
        expected.map(str::as_bytes)
    );
    if let Some(payload) = found {
        payload::check(payload);
    }
}

/// Written, it is one line; read again, it is the same message; as a value, it says
/// what the frame said.
fn check_written(frame: &[u8], message: &Message) {
    let again = check_written_again(message);
    if !frame.iter().any(|byte| matches!(byte, b'\r' | b'\n')) {
        assert_eq!(again, *message);
    }
    let value = |text: &[u8]| serde_json::from_slice::<Value>(text).ok();
    if let (Some(mut before), Some(after)) = (value(frame), value(&message.to_bytes())) {
        normalize(&mut before, message);
        assert_eq!(before, after);
    }
}

fn check_written_again(message: &Message) -> Message {
    let line = message.to_bytes();
    assert!(!line.iter().any(|byte| matches!(byte, b'\r' | b'\n')));
    let Ok(Frame::Single(again)) = Frame::read(&line, &Limits::default()) else {
        panic!("{line:?} cannot be read again");
    };
    assert_eq!(again.to_bytes(), line);

    let mut parts = Vec::new();
    let rest = message.write_head(&mut parts);
    parts.extend_from_slice(rest.text().map_or(&[][..], |text| text));
    parts.extend_from_slice(rest.tail());
    assert_eq!(parts.len(), line.len());
    again
}

/// Takes out what a message loses when it is written: null for no parameters, parameters
/// of an answer, an id that is none, and all but sixteen unknown members of an error.
fn normalize(value: &mut Value, message: &Message) {
    let Some(members) = value.as_object_mut() else {
        return;
    };
    if members.get("params").is_some_and(Value::is_null) {
        members.remove("params");
    }
    let Message::Response(response) = message else {
        return;
    };
    members.remove("params");
    if response.id.is_none() {
        members.remove("id");
    }
    if let (Some(Value::Object(error)), Err(kept)) = (members.get_mut("error"), &response.outcome) {
        let names = kept
            .extra
            .iter()
            .map(|(name, _)| String::from_utf8_lossy(name));
        let names: Vec<_> = names.map(|name| meaning(&format!("\"{name}\""))).collect();
        let is_kept = |wanted: &str| names.iter().flatten().any(|name| name == wanted);
        error.retain(|name, _| {
            ["code", "message", "data"].contains(&name.as_str()) || is_kept(name)
        });
    }
}

fn check_id_in_beginnings(frame: &Bytes, message: &Message) {
    let id = match message {
        Message::Request(request) => Some(&request.id),
        Message::Response(response) => response.id.as_ref(),
        Message::Notification(_) => None,
    };
    assert_eq!(found_id(frame).as_ref(), id);
    // Each cut costs a walk, so long frames are cut at a few places only.
    for cut in (0..frame.len()).step_by(frame.len() / 16 + 1) {
        let found = found_id(&frame.slice(..cut));
        assert!(
            found.is_none() || found.as_ref() == id,
            "{found:?} at {cut}"
        );
    }
}

fn check_refusal(frame: &Bytes, refused: &Malformed) {
    let too_large = Malformed::too_large(frame, 1);
    assert!(matches!(too_large.problem, Problem::TooLarge { limit: 1 }));
    assert!(!refused.to_string().is_empty());
}

/// Ids are equal when type and meaning are, and then their hashes are.
fn check_equality_of_ids(entries: &[Result<Message, Malformed>]) {
    let ids: Vec<_> = entries.iter().filter_map(id_of).take(MOST_IDS).collect();
    for one in &ids {
        for other in &ids {
            let (left, right) = (one.to_string(), other.to_string());
            let is_same_text = left == right;
            let meanings = (meaning(&left), meaning(&right));
            let is_same_meaning = matches!(&meanings, (Some(left), Some(right)) if left == right);
            assert_eq!(
                one == other,
                is_same_text || is_same_meaning,
                "{left} {right}"
            );
            if one == other {
                assert_eq!(hash(one), hash(other));
            }
        }
    }
}

fn id_of(entry: &Result<Message, Malformed>) -> Option<&RequestId> {
    match entry {
        Ok(Message::Request(request)) => Some(&request.id),
        Ok(Message::Response(response)) => response.id.as_ref(),
        Ok(Message::Notification(_)) => None,
        Err(refused) => refused.id.as_ref(),
    }
}

fn hash(id: &RequestId) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

const MOST_IDS: usize = 8;

/// The id that is told of a frame of which only this much was kept.
fn found_id(beginning: &Bytes) -> Option<RequestId> {
    Malformed::too_large(beginning, 0).id
}
