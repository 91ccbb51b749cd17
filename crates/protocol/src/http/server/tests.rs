use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method as Verb, StatusCode};
use proptest::prelude::*;

use super::*;
use crate::http::negotiate::{Accepted, Format};
use crate::http::origin::Foreign;
use crate::jsonrpc::{ErrorCode, Frame, Limits, Malformed};

const VERSION: &str = "mcp-protocol-version";
const SESSION: &str = "mcp-session-id";

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn dual() -> Endpoint {
    Endpoint::new(Revision::ALL)
}

fn stateless_only() -> Endpoint {
    Endpoint::new([Revision::V2026_07_28])
}

fn without_sessions() -> Endpoint {
    Endpoint {
        requires_session: false,
        ..dual()
    }
}

fn frame(text: &str) -> Result<Frame, Malformed> {
    Frame::read(&Bytes::copy_from_slice(text.as_bytes()), &Limits::default())
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

#[test]
fn an_ended_or_unknown_session_is_404() {
    let refusal = Refusal::from(SessionError::Unknown);
    assert_eq!(
        (
            refusal.status().as_u16(),
            refusal.error(&Revision::ALL).code.0
        ),
        (404, -32600)
    );
    assert!(refusal.to_string().contains("mcp-session-id"));
}

fn head(endpoint: &Endpoint, verb: Verb, pairs: &[(&'static str, &str)]) -> Result<Head, Refusal> {
    check_head(endpoint, &verb, &Fields::of(&headers(pairs)))
}

fn head_status(endpoint: &Endpoint, verb: Verb, pairs: &[(&'static str, &str)]) -> u16 {
    head(endpoint, verb, pairs).unwrap_err().status().as_u16()
}

#[test]
fn a_post_brings_json_and_accepts_an_answer() {
    let json = ("content-type", "application/json; charset=utf-8");
    let both = ("accept", "application/json, text/event-stream");
    let found = head(&dual(), Verb::POST, &[json, both]).unwrap();
    assert!(matches!(found, Head::Post { accepted } if accepted.accepts_both()));
    assert_eq!(head_status(&dual(), Verb::POST, &[both]), 415);
    assert_eq!(
        head_status(&dual(), Verb::POST, &[("content-type", "text/plain"), both]),
        415
    );
    assert_eq!(
        head_status(&dual(), Verb::POST, &[json, ("accept", "text/html")]),
        406
    );
}

#[test]
fn get_opens_a_stream_or_is_405() {
    let accept = ("accept", "text/event-stream");
    let session = (SESSION, "s1");
    let found = head(
        &dual(),
        Verb::GET,
        &[accept, session, ("last-event-id", "e-7")],
    )
    .unwrap();
    let expected = Head::Get {
        session: Some(SessionId::new("s1").unwrap()),
        last_event_id: Some("e-7".into()),
    };
    assert_eq!(found, expected);
    assert_eq!(head_status(&dual(), Verb::GET, &[accept]), 400);
    assert!(head(&without_sessions(), Verb::GET, &[accept]).is_ok());
    assert_eq!(
        head_status(
            &dual(),
            Verb::GET,
            &[session, ("accept", "application/json")]
        ),
        406
    );
    let bad = [accept, session, (VERSION, "1900-01-01")];
    assert_eq!(head_status(&dual(), Verb::GET, &bad), 400);
    let agreed = [accept, session, (VERSION, "2025-11-25")];
    assert!(head(&dual(), Verb::GET, &agreed).is_ok());
    let silent = Endpoint {
        offers_stream: false,
        ..dual()
    };
    let refusal = head(&silent, Verb::GET, &[accept, session]).unwrap_err();
    assert_eq!(
        (refusal.status().as_u16(), refusal.allow()),
        (405, Some("POST, DELETE"))
    );
}

#[test]
fn delete_ends_a_session_or_is_405() {
    let found = head(&dual(), Verb::DELETE, &[(SESSION, "s1")]).unwrap();
    assert_eq!(
        found,
        Head::Delete {
            session: SessionId::new("s1").unwrap()
        }
    );
    assert_eq!(head_status(&dual(), Verb::DELETE, &[]), 400);
    let lasting = Endpoint {
        ends_sessions: false,
        ..dual()
    };
    let refusal = head(&lasting, Verb::DELETE, &[(SESSION, "s1")]).unwrap_err();
    assert_eq!(
        (refusal.status().as_u16(), refusal.allow()),
        (405, Some("GET, POST"))
    );
}

#[test]
fn a_foreign_origin_is_403() {
    let refusal = Refusal::from(Foreign::Origin("null".into()));
    assert_eq!(
        (
            refusal.status().as_u16(),
            refusal.error(&Revision::ALL).code.0
        ),
        (403, -32600)
    );
    assert!(refusal.to_string().contains("origin"));
}

#[test]
fn other_verbs_are_405_with_allow_post() {
    let accept = ("accept", "text/event-stream");
    let ignored = [accept, (SESSION, "s1"), ("last-event-id", "7")];
    for verb in [
        Verb::GET,
        Verb::DELETE,
        Verb::PUT,
        Verb::PATCH,
        Verb::HEAD,
        Verb::OPTIONS,
    ] {
        let refusal = head(&stateless_only(), verb.clone(), &ignored).unwrap_err();
        assert_eq!(
            (refusal.status().as_u16(), refusal.allow()),
            (405, Some("POST")),
            "{verb}"
        );
    }
    assert_eq!(
        head(&dual(), Verb::PUT, &[]).unwrap_err().allow(),
        Some("GET, POST, DELETE")
    );
    let modern = [accept, (SESSION, "s1"), (VERSION, "2026-07-28")];
    assert_eq!(
        head(&dual(), Verb::GET, &modern).unwrap_err().allow(),
        Some("POST")
    );
}

#[test]
fn a_compressed_body_is_415() {
    let pairs = [
        ("content-type", "application/json"),
        ("content-encoding", "gzip"),
    ];
    assert_eq!(head_status(&dual(), Verb::POST, &pairs), 415);
}

#[test]
fn a_stream_is_not_held_back_by_proxies() {
    let stream = answer_headers(Format::EventStream);
    assert_eq!(stream["content-type"], "text/event-stream");
    assert_eq!(stream["x-accel-buffering"], "no");
    let json = answer_headers(Format::Json);
    assert_eq!(json["content-type"], "application/json");
    assert_eq!(json.len(), 1);
}

// the forty: 8
#[test]
fn every_error_has_its_status() {
    use Era::{Handshake, Stateless};
    use Stage::{Admission as Before, Answer};
    for (error, era, stage, status) in [
        (ErrorCode::PARSE_ERROR, Stateless, Before, 400),
        (ErrorCode::INVALID_REQUEST, Stateless, Before, 400),
        (ErrorCode::INVALID_REQUEST, Stateless, Answer, 400),
        (ErrorCode::INVALID_PARAMS, Stateless, Before, 400),
        (ErrorCode::INVALID_PARAMS, Stateless, Answer, 200),
        (ErrorCode::HEADER_MISMATCH, Stateless, Answer, 400),
        (ErrorCode::MISSING_CLIENT_CAPABILITY, Stateless, Answer, 400),
        (ErrorCode::UNSUPPORTED_VERSION, Stateless, Answer, 400),
        (ErrorCode::METHOD_NOT_FOUND, Stateless, Before, 404),
        (ErrorCode::METHOD_NOT_FOUND, Stateless, Answer, 404),
        (ErrorCode::INTERNAL_ERROR, Stateless, Answer, 200),
        (ErrorCode::USER_REJECTED, Stateless, Answer, 200),
        (ErrorCode::BUSY, Stateless, Before, 503),
        (ErrorCode::TOO_MANY, Stateless, Answer, 429),
        (ErrorCode::TOO_MANY, Handshake, Answer, 429),
        (ErrorCode::PARSE_ERROR, Handshake, Before, 400),
        (ErrorCode::INVALID_REQUEST, Handshake, Before, 400),
        (ErrorCode::UNSUPPORTED_VERSION, Handshake, Before, 400),
        (ErrorCode::METHOD_NOT_FOUND, Handshake, Before, 200),
        (ErrorCode::INVALID_PARAMS, Handshake, Before, 200),
        (ErrorCode::METHOD_NOT_FOUND, Handshake, Answer, 200),
        (ErrorCode::INVALID_REQUEST, Handshake, Answer, 200),
        (ErrorCode::INVALID_PARAMS, Handshake, Answer, 200),
        (ErrorCode::RESOURCE_NOT_FOUND, Handshake, Answer, 200),
    ] {
        assert_eq!(
            status_for(error, era, stage),
            status,
            "{error:?} {era:?} {stage:?}"
        );
    }
}

fn admitted(
    endpoint: &Endpoint,
    pairs: &[(&'static str, &str)],
    text: &str,
) -> Result<Admission, Refusal> {
    admit(
        endpoint,
        &Fields::of(&headers(pairs)),
        &Body::of(&frame(text)),
    )
}

#[test]
fn in_a_session_what_may_be_a_broken_answer_is_brought_to_whoever_asked() {
    for (text, is_brought) in [
        (r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#, true),
        (r#"{"jsonrpc":"2.0","id":7}"#, true),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"a","params":[]}"#,
            false,
        ),
        ("{", false),
    ] {
        match admitted(&dual(), &[(SESSION, "s1")], text) {
            Ok(Admission::Session { .. }) => assert!(is_brought, "{text}"),
            Err(Refusal::Malformed(_)) => assert!(!is_brought, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn a_batch_is_refused_by_what_is_wrong_with_it() {
    let ping = r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#;
    let refusal = |endpoint: &Endpoint, pairs: &[(&'static str, &str)], text: &str| {
        admitted(endpoint, pairs, text).unwrap_err()
    };
    let nowhere = Refusal::Batch { revision: None };
    assert_eq!(refusal(&stateless_only(), &[], ping), nowhere);
    let revision = Some(Revision::V2025_06_18);
    let named = refusal(&dual(), &[(VERSION, "2025-06-18")], ping);
    assert_eq!(named, Refusal::Batch { revision });
    let missing = Refusal::Session(SessionError::Missing);
    assert_eq!(refusal(&dual(), &[], ping), missing);
    let opening = ping.replace("ping", "initialize");
    let batched = Refusal::BatchedInitialize;
    assert_eq!(refusal(&dual(), &[], &opening), batched);
}

#[test]
fn an_unsupported_version_is_named_where_there_is_one() {
    for (requested, expected) in [
        (
            "",
            "unsupported protocol version, expected one of the supported",
        ),
        (
            "1900-01-01",
            "unsupported protocol version \"1900-01-01\", expected one of the supported",
        ),
    ] {
        let requested = requested.to_owned();
        assert_eq!(Refusal::Version { requested }.to_string(), expected);
    }
}

#[test]
fn a_refusal_says_which_header_and_what_was_expected() {
    let refusal = admitted(&dual(), &[], LIST).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "header mcp-protocol-version is missing, expected \"2026-07-28\""
    );
}

#[test]
fn a_body_is_looked_at_and_not_copied() {
    let text = r#"{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"file:///a"}}"#;
    let plain = frame(text);
    let escaped = frame(&text.replace("file", r"f\u0069le"));
    for (frame, is_borrowed) in [(&plain, true), (&escaped, false)] {
        let Some(("uri", Some(uri))) = Body::of(frame).mirrored() else {
            panic!("expected a uri");
        };
        assert_eq!(uri, "file:///a");
        assert_eq!(matches!(uri, std::borrow::Cow::Borrowed(_)), is_borrowed);
    }
}

#[test]
fn a_client_that_accepts_json_alone_is_told_nothing_on_the_way() {
    let accepted = Accepted::read(&headers(&[("accept", "application/json")]));
    let Ok(Frame::Single(told)) = frame(r#"{"jsonrpc":"2.0","method":"a"}"#) else {
        panic!("expected a notification");
    };
    let Ok(Frame::Single(result)) = frame(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#) else {
        panic!("expected a result");
    };
    let begin = |first| begin_answer(first, Era::Stateless, Stage::Answer, accepted);
    assert_eq!(begin(&told), None);
    assert_eq!(begin(&result), Some((StatusCode::OK, Format::Json)));
}

proptest! {
    #[test]
    fn no_header_makes_admission_panic_or_mix_eras(
        version in "(2026-07-28|2025-11-25|2025-03-26|[ -~&&[^\"\\\\]]{0,9})",
        method in "(tools/list|tools/call|initialize|[a-z/]{0,9})",
        name in "\\PC{0,9}",
        has_envelope in any::<bool>(),
        kind in 0..4,
    ) {
        let mut headers = HeaderMap::new();
        for (key, value) in [(VERSION, &version), (SESSION, &name), ("mcp-method", &method), ("mcp-name", &name)] {
            if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
                headers.insert(key, value);
            }
        }
        let envelope = format!(r#""io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}"#);
        let meta = if has_envelope { envelope.as_str() } else { "" };
        let id = if kind == 1 { "" } else { r#""id":7,"# };
        let message = format!(r#"{{"jsonrpc":"2.0",{id}"method":"{method}","params":{{"_meta":{{{meta}}}}}}}"#);
        let text = match kind {
            2 => r#"{"jsonrpc":"2.0","id":7,"result":{}}"#.to_owned(),
            3 => format!("[{message}]"),
            _ => message,
        };
        let frame = frame(&text);
        let body = Body::of(&frame);
        match admit(&dual(), &Fields::of(&headers), &body) {
            // A request of any version is the machine's to judge, once header and body agree.
            Ok(Admission::Stateless) => {
                prop_assert!(kind < 2 && (has_envelope || version == "2026-07-28"));
            }
            Ok(_) => prop_assert!(!has_envelope || kind >= 2),
            Err(refusal) => {
                prop_assert!(refusal.status().is_client_error());
                let answer = refusal.response(&dual(), &body);
                prop_assert_eq!(answer.id.is_some(), kind == 0);
            }
        }
    }
}
