//! The short way of a call through the machine, beside the long one.

use bytes::Bytes;

use super::*;
use crate::jsonrpc::{FrameReader, Limits, Message};
use crate::machine::client::{ClientConfig, Mode};
use crate::machine::now;
use crate::payload::RawJson;
use crate::revision::Revision;
use crate::types::{Implementation, LoggingLevel, SetLevelRequestParams, SubscriptionFilter};

fn frame(id: i64, result: &str) -> Bytes {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into()
}

fn received(bytes: &Bytes) -> Input {
    Input::Received {
        lane: Lane::SHARED,
        frame: Frame::read(bytes, &Limits::default()),
    }
}

/// A client that has just opened a connection to a server of this revision.
fn ready(now: Instant, revision: Revision) -> ClientMachine {
    let mut config = ClientConfig::new(Implementation::new("a", "1"));
    config.mode = Mode::Pinned(revision);
    config.capabilities = serde_json::from_str(r#"{"roots":{}}"#).unwrap();
    let mut machine = ClientMachine::new(config);
    let mut out = Vec::new();
    machine.handle(now, Input::Opened, &mut out);
    let answer = match revision.era() {
        Era::Handshake => {
            r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{},"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}"#
        }
        Era::Stateless => {
            r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":1,"cacheScope":"public"}"#
        }
    };
    machine.handle(now, received(&frame(1, answer)), &mut out);
    assert!(matches!(machine.state(), ClientState::Ready(_)));
    machine
}

/// The short way of a call and its result ends where the long one does.
fn check(revision: Revision, method: Method, params: Option<&Payload>, id: i64, result: &str) {
    let now = now();
    let call = || CallRequest::new(CallKey(7), method, params.cloned());
    let (mut long, mut short) = (ready(now, revision), ready(now, revision));
    let (mut expected, mut found) = (Vec::new(), Vec::new());

    long.handle(now, Input::Call(call()), &mut expected);
    if let Some(departure) = short.call(now, call(), &mut found) {
        let message = Message::from(departure.request());
        found.push(Output::send(departure.lane(), message));
    }
    assert_eq!(found, expected);
    assert_eq!(short.deadline(), long.deadline());

    let bytes = frame(id, result);
    long.handle(now, received(&bytes), &mut expected);
    let usual = FrameReader::new(Limits::default()).read_result(bytes);
    if let Some((key, result)) = short.receive(now, usual.unwrap(), &mut found) {
        let outcome = Ok(result);
        found.push(Output::Finished { key, outcome });
    }
    assert_eq!(found, expected, "{result}");
    assert_eq!(short.open_calls(), long.open_calls());
    assert_eq!(short.session.log_level, long.session.log_level);

    let later = now + Duration::from_secs(3600);
    long.handle(later, Input::Tick, &mut expected);
    short.handle(later, Input::Tick, &mut found);
    assert_eq!(found, expected, "{result}");
}

#[test]
fn the_short_way_ends_where_the_long_one_does() {
    let plain = Payload::encode_call("a", &()).unwrap();
    let text = br#"{"name":"a","arguments":{},"_meta":{"x":1}}"#;
    let own = Payload::parse(Bytes::from_static(text), &Limits::default()).unwrap();
    let level = Payload::encode(&SetLevelRequestParams::new(LoggingLevel::Error)).unwrap();
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        for (method, params) in [
            (Method::ToolsCall, Some(&plain)),
            (Method::ToolsCall, Some(&own)),
            (Method::ToolsList, None),
            (Method::LoggingSetLevel, Some(&level)),
            (Method::ResourcesList, None),
        ] {
            for result in [
                "{}",
                r#"{"content":[{"type":"text","text":"a"}]}"#,
                r#"{"resultType":"complete","content":[{"type":"text","text":"a"}]}"#,
                r#"{"resultType":"input_required","requestState":"s"}"#,
                r#"{"resultType":"task"}"#,
                r#"{"resultType":1}"#,
            ] {
                // The answer to the call, and one to nothing.
                check(revision, method, params, 2, result);
                check(revision, method, params, 9, result);
            }
        }
    }
}

#[test]
fn the_request_of_a_plain_call_is_lent_to_whoever_writes_it() {
    let now = now();
    let params = Payload::encode_call("a", &()).unwrap();
    let somebody = Arc::new(OnBehalf::new(RawJson::parse("{}").unwrap()));
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        for on_behalf in [None, Some(Arc::clone(&somebody))] {
            let mut machine = ready(now, revision);
            let mut call = CallRequest::new(CallKey(7), Method::ToolsCall, Some(params.clone()));
            call.on_behalf = on_behalf;
            let mut out = Vec::new();
            let departure = machine.call(now, call, &mut out).unwrap();
            assert_eq!(departure.params(), Some(&params));
            assert_eq!(out, []);
        }
    }
}

#[test]
fn a_client_says_that_it_opens_a_lost_session_anew() {
    let now = now();
    let mut machine = ready(now, Revision::V2025_11_25);
    machine.config.wire = Wire::Http;
    assert!(!machine.is_reopening());
    machine.handle(now, Input::SessionLost, &mut Vec::new());
    assert!(machine.is_reopening());
}

/// What is sent for somebody else, and what comes of a result.
fn check_on_behalf(revision: Revision, is_asked_himself: bool, sent: &str, result: &str) -> bool {
    let now = now();
    let mut machine = ready(now, revision);
    let mut call = CallRequest::new(CallKey(7), Method::ToolsCall, None);
    call.params = Payload::encode_call("a", &()).ok();
    let mut whom = OnBehalf::new(RawJson::parse(r#"{"roots":{}}"#).unwrap());
    whom.log_level = Some(LoggingLevel::Error);
    whom.is_asked_himself = is_asked_himself;
    call.on_behalf = Some(Arc::new(whom));
    let mut out = Vec::new();
    machine.handle(now, Input::Call(call), &mut out);
    let Some(Output::Send { message, .. }) = out.pop() else {
        panic!("it is sent");
    };
    let text = String::from_utf8(message.to_bytes().to_vec()).unwrap();
    assert!(text.contains(sent), "{text}");
    machine.handle(now, received(&frame(2, result)), &mut out);
    let finished = |output: &Output| matches!(output, Output::Finished { outcome: Ok(_), .. });
    out.iter().any(finished)
}

#[test]
fn a_call_for_somebody_else_says_what_he_can_do_and_asks_him() {
    let asks = r#"{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}"#;
    let sent = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/logLevel":"error","progressToken":2}"#;
    assert!(check_on_behalf(Revision::V2026_07_28, true, sent, asks));
    assert!(!check_on_behalf(Revision::V2026_07_28, false, sent, asks));
    let task = r#"{"resultType":"task","taskId":"t"}"#;
    assert!(check_on_behalf(Revision::V2026_07_28, true, sent, task));
    assert!(!check_on_behalf(Revision::V2026_07_28, false, sent, task));
    let sent = r#""_meta":{"progressToken":2}"#;
    assert!(check_on_behalf(Revision::V2025_11_25, true, sent, "{}"));
}

#[test]
fn the_id_of_the_first_request_is_told_to_whoever_wants_it() {
    let now = now();
    let own = br#"{"name":"a","arguments":{},"_meta":{"x":1}}"#;
    let own = Payload::parse(Bytes::from_static(own), &Limits::default()).unwrap();
    let asks = r#"{"resultType":"input_required","requestState":"x"}"#;
    for params in [Payload::encode_call("a", &()).unwrap(), own] {
        let mut machine = ready(now, Revision::V2026_07_28);
        let mut call = CallRequest::new(CallKey(7), Method::ToolsCall, Some(params));
        call.tells_id = true;
        let mut out = Vec::new();
        machine.handle(now, Input::Call(call.clone()), &mut out);
        let sent = Output::Sent {
            key: CallKey(7),
            id: 2,
        };
        assert_eq!(out.remove(0), sent);
        assert!(matches!(out[..], [Output::Send { lane: Lane(2), .. }]));
        out.clear();
        // It is asked again under another id, and of that nothing is said.
        machine.handle(now, received(&frame(2, asks)), &mut out);
        assert!(
            matches!(out[..], [Output::Send { lane: Lane(3), .. }]),
            "{out:?}"
        );
        // A call that is not sent has none.
        out.clear();
        machine.handle(now, Input::Call(call), &mut out);
        assert!(matches!(out[..], [Output::Finished { .. }]));
    }
}

/// May a question that comes now be about a call that was given up before?
fn is_unheard(machine: &mut ClientMachine, now: Instant, id: i64) -> bool {
    let question = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#);
    let mut out = Vec::new();
    machine.handle(now, received(&question.into()), &mut out);
    let asked = out.into_iter().find_map(|output| match output {
        Output::Asked(question) => Some(question.is_unheard),
        _ => None,
    });
    asked.unwrap()
}

#[test]
fn a_server_has_heard_that_a_call_was_given_up_once_it_answers_what_was_sent_later() {
    let (now, mut out) = (now(), Vec::new());
    let mut machine = ready(now, Revision::V2025_11_25);
    let call = |key| Input::Call(CallRequest::new(CallKey(key), Method::Ping, None));
    machine.handle(now, call(1), &mut out);
    machine.handle(now, call(2), &mut out);
    let (key, reason) = (CallKey(1), None);
    machine.handle(now, Input::Cancel { key, reason }, &mut out);
    assert!(is_unheard(&mut machine, now, 10));
    // What was sent before says nothing.
    machine.handle(now, received(&frame(3, "{}")), &mut out);
    assert!(is_unheard(&mut machine, now, 11));
    // Nor does it that nothing is waited for any more that was sent later.
    let filter = SubscriptionFilter {
        resource_subscriptions: Some(vec!["demo://a".to_owned()]),
        ..SubscriptionFilter::default()
    };
    let key = CallKey(3);
    machine.handle(now, Input::Listen { key, filter }, &mut out);
    let later = machine.deadline().unwrap();
    machine.handle(later, Input::Tick, &mut out);
    assert!(is_unheard(&mut machine, later, 12));
    // An answer does, also one that is too late.
    machine.handle(later, received(&frame(4, "{}")), &mut out);
    assert!(!is_unheard(&mut machine, later, 13));
}
