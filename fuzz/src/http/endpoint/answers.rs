//! What an endpoint has written: answers of HTTP, one after another.

use http::Method;
use serde_json::Value;
use switchboard_protocol::framing::EventDecoder;

use super::stage::Talk;

/// Every answer is one, with a body of the kind that it says. Their status and body.
pub(super) fn check(talk: &Talk) -> Vec<(u16, Vec<u8>)> {
    let mut answers = Vec::new();
    let mut methods = talk.methods.iter();
    let mut rest = &talk.written[..];
    while !rest.is_empty() {
        let mut places = [httparse::EMPTY_HEADER; 64];
        let mut response = httparse::Response::new(&mut places);
        let parsed = response.parse(rest);
        let Ok(httparse::Status::Complete(length)) = parsed else {
            panic!("{parsed:?}: {}", rest.escape_ascii());
        };
        let status = response.code.expect("it is complete");
        let header = |wanted: &str| {
            let mut all = response.headers.iter();
            let found = all.find(|header| header.name.eq_ignore_ascii_case(wanted));
            found.map(|header| String::from_utf8_lossy(header.value).to_ascii_lowercase())
        };
        let kind = header("content-type").unwrap_or_default();
        rest = &rest[length..];
        if status == 100 {
            continue;
        }
        // A request that is none reaches nobody, and is the last.
        let is_head = methods.next() == Some(&Method::HEAD);
        let body = if is_head || matches!(status, 204 | 304) {
            Vec::new()
        } else if header("transfer-encoding").is_some_and(|encoding| encoding == "chunked") {
            take_chunks(&mut rest, &kind)
        } else {
            // To a client of HTTP/1.0 a stream ends with the connection.
            let length = header("content-length");
            let length = length.unwrap_or_else(|| rest.len().to_string());
            let length: usize = length.parse().expect("a length is a number");
            assert!(length <= rest.len(), "{} of {length} bytes", rest.len());
            let (body, after) = rest.split_at(length);
            rest = after;
            body.to_vec()
        };
        check_body(&kind, &body);
        answers.push((status, body));
    }
    answers
}

/// The body of an event stream may end with the connection; no other does.
fn take_chunks(rest: &mut &[u8], kind: &str) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        match httparse::parse_chunk_size(rest) {
            Ok(httparse::Status::Complete((line, size))) => {
                let size = size as usize;
                let chunk = rest.get(line..line + size + 2).expect("a whole chunk");
                assert!(chunk.ends_with(b"\r\n"));
                body.extend_from_slice(&chunk[..size]);
                *rest = &rest[line + size + 2..];
                if size == 0 {
                    return body;
                }
            }
            Ok(httparse::Status::Partial) if rest.is_empty() => {
                assert_eq!(kind, "text/event-stream", "a body is cut");
                return body;
            }
            other => panic!("{other:?}: {}", rest.escape_ascii()),
        }
    }
}

fn check_body(kind: &str, body: &[u8]) {
    match kind {
        "application/json" if !body.is_empty() => check_message(body),
        "text/event-stream" => {
            let mut decoder = EventDecoder::with_limit(1 << 20);
            decoder.push(body);
            while let Some(event) = decoder.next_event() {
                let event = event.expect("an event within its limit");
                let is_message = event.name.as_deref().is_none_or(|name| name == b"message");
                if is_message && !event.data.is_empty() {
                    check_message(&event.data);
                }
            }
            assert!(!decoder.finish(), "an event is cut");
        }
        _ => {}
    }
}

/// A message of JSON-RPC, or several.
fn check_message(text: &[u8]) {
    let value: Value = serde_json::from_slice(text)
        .unwrap_or_else(|error| panic!("{error}: {}", text.escape_ascii()));
    let is_message = |value: &Value| value["jsonrpc"] == "2.0";
    match &value {
        Value::Array(messages) => assert!(!messages.is_empty() && messages.iter().all(is_message)),
        message => assert!(is_message(message), "{message}"),
    }
}
