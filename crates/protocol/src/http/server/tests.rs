use http::Method as Verb;
use proptest::prelude::*;

use super::*;
use crate::http::origin::Foreign;

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

fn handshake_only() -> Endpoint {
    Endpoint::new([Revision::V2025_06_18, Revision::V2025_11_25])
}

fn without_sessions() -> Endpoint {
    Endpoint {
        requires_session: false,
        ..dual()
    }
}

fn old(method: &str) -> Body<'_> {
    Body {
        shape: Shape::Request,
        method,
        version: Member::Absent,
        has_capabilities: false,
        name: Member::Absent,
        offered: Member::Absent,
    }
}

fn enveloped(method: &str) -> Body<'_> {
    Body {
        version: Member::Text("2026-07-28"),
        has_capabilities: true,
        ..old(method)
    }
}

fn batch() -> Body<'static> {
    Body {
        shape: Shape::Batch,
        ..old("")
    }
}

/// The status and code of the refusal.
fn refused(endpoint: &Endpoint, pairs: &[(&'static str, &str)], body: Body<'_>) -> (u16, i64) {
    let refusal = admit(endpoint, &headers(pairs), &body).unwrap_err();
    (
        refusal.status().as_u16(),
        refusal.error(&Revision::ALL).code.0,
    )
}

fn admitted(endpoint: &Endpoint, pairs: &[(&'static str, &str)], body: Body<'_>) -> Admission {
    admit(endpoint, &headers(pairs), &body).unwrap()
}

fn session(revision: Option<Revision>) -> Admission {
    Admission::Session {
        id: SessionId::new("s1").unwrap(),
        revision,
    }
}

fn modern(method: &str) -> [(&'static str, &str); 2] {
    [(VERSION, "2026-07-28"), ("mcp-method", method)]
}

const SL: Admission = Admission::Stateless {
    revision: Revision::V2026_07_28,
};

// Which era (FEATURES 3.3).

#[test]
fn rule_1_an_array_is_allowed_only_under_2025_03_26() {
    let assumed = Admission::Sessionless {
        revision: Revision::V2025_03_26,
    };
    assert_eq!(admitted(&without_sessions(), &[], batch()), assumed);
    assert_eq!(
        admitted(&without_sessions(), &[(VERSION, "2025-03-26")], batch()),
        assumed
    );
    assert_eq!(
        admitted(&dual(), &[(SESSION, "s1")], batch()),
        session(None)
    );
    for version in ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"] {
        assert_eq!(
            refused(&dual(), &[(VERSION, version)], batch()),
            (400, -32600),
            "{version}"
        );
    }
    assert_eq!(refused(&stateless_only(), &[], batch()), (400, -32600));
    assert_eq!(
        refused(&handshake_only(), &[(SESSION, "s1")], batch()),
        (400, -32600)
    );
    assert!(check_batch(Revision::V2025_03_26, Shape::Batch).is_ok());
    assert!(check_batch(Revision::V2025_06_18, Shape::Batch).is_err());
    assert!(check_batch(Revision::V2025_06_18, Shape::Request).is_ok());
}

#[test]
fn rule_2_an_envelope_is_stateless_whatever_else_is_sent() {
    let [version, method] = modern("tools/list");
    let with_session = [version, method, (SESSION, "s1"), ("last-event-id", "7")];
    assert_eq!(
        admitted(&dual(), &with_session, enveloped("tools/list")),
        SL
    );
    assert_eq!(
        admitted(&stateless_only(), &with_session, enveloped("tools/list")),
        SL
    );
    let opening = enveloped("initialize");
    assert_eq!(
        refused(&dual(), &modern("initialize"), opening),
        (404, -32601)
    );
}

#[test]
fn rule_3_a_stateless_version_without_envelope_is_malformed() {
    for endpoint in [dual(), stateless_only()] {
        for method in ["server/discover", "tools/list", "initialize"] {
            assert_eq!(
                refused(&endpoint, &modern(method), old(method)),
                (400, -32602)
            );
        }
    }
    let not_text = Body {
        version: Member::NotText,
        ..enveloped("tools/list")
    };
    assert_eq!(refused(&dual(), &[], not_text), (400, -32602));
}

#[test]
fn rule_4_initialize_opens_a_handshake() {
    for pairs in [
        &[][..],
        &[(VERSION, "2025-11-25")],
        &[(VERSION, "1900-01-01")],
        &[(SESSION, "s1")],
    ] {
        assert_eq!(
            admitted(&dual(), pairs, old("initialize")),
            Admission::Opening
        );
    }
}

#[test]
fn rule_5_a_session_id_belongs_to_its_session() {
    assert_eq!(
        admitted(&dual(), &[(SESSION, "s1")], old("tools/list")),
        session(None)
    );
    let named = [(SESSION, "s1"), (VERSION, "2025-11-25")];
    let expected = session(Some(Revision::V2025_11_25));
    assert_eq!(admitted(&dual(), &named, old("tools/list")), expected);
}

#[test]
fn rule_6_an_unknown_version_is_refused_with_the_code_of_the_stateless_era() {
    for version in [
        "1900-01-01",
        "v999.0.0",
        "2027-01-01",
        "",
        "2025-11-25, 2025-06-18",
    ] {
        assert_eq!(
            refused(&dual(), &[(VERSION, version)], old("tools/list")),
            (400, -32022)
        );
    }
    // Known, but not served here.
    let pairs = [(VERSION, "2025-03-26")];
    assert_eq!(
        refused(&handshake_only(), &pairs, old("tools/list")),
        (400, -32022)
    );
}

#[test]
fn rule_7_the_rest_is_session_less_and_assumed_to_be_2025_03_26() {
    let endpoint = without_sessions();
    let sessionless = |revision| Admission::Sessionless { revision };
    let found = admitted(&endpoint, &[], old("tools/list"));
    assert_eq!(found, sessionless(Revision::V2025_03_26));
    let found = admitted(&endpoint, &[(VERSION, "2025-06-18")], old("tools/list"));
    assert_eq!(found, sessionless(Revision::V2025_06_18));
    let endpoint = Endpoint {
        requires_session: false,
        ..handshake_only()
    };
    assert_eq!(refused(&endpoint, &[], old("tools/list")).0, 400);
}

#[test]
fn a_stateless_server_names_its_versions_to_an_old_client() {
    let body = Body {
        offered: Member::Text("2025-11-25"),
        ..old("initialize")
    };
    assert_eq!(refused(&stateless_only(), &[], body), (400, -32022));
    let refusal = admit(&stateless_only(), &HeaderMap::new(), &body).unwrap_err();
    assert_eq!(
        refusal,
        Refusal::Version {
            requested: "2025-11-25".into()
        }
    );
    assert_eq!(
        refused(&stateless_only(), &[], old("tools/list")),
        (400, -32020)
    );
    assert_eq!(
        refused(&stateless_only(), &[(SESSION, "s1")], old("tools/list")),
        (400, -32020)
    );
}

#[test]
fn a_handshake_server_names_its_versions_to_a_new_client() {
    let body = enveloped("server/discover");
    assert_eq!(
        refused(&handshake_only(), &modern("server/discover"), body),
        (400, -32022)
    );
    let body = old("server/discover");
    assert_eq!(
        refused(&handshake_only(), &modern("server/discover"), body),
        (400, -32022)
    );
}

// Handshake era (FEATURES 4.1).

#[test]
fn a_missing_session_is_400_where_one_is_required() {
    assert_eq!(refused(&dual(), &[], old("tools/list")), (400, -32600));
    assert_eq!(
        refused(&dual(), &[(VERSION, "2025-11-25")], old("tools/list")),
        (400, -32600)
    );
    let twice = [(SESSION, "s1"), (SESSION, "s1")];
    assert_eq!(refused(&dual(), &twice, old("tools/list")), (400, -32600));
    assert_eq!(
        refused(&dual(), &[(SESSION, "a b")], old("tools/list")),
        (400, -32600)
    );
}

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

#[test]
fn a_bad_version_in_a_session_is_400() {
    let pairs = [(SESSION, "s1"), (VERSION, "1900-01-01")];
    assert_eq!(refused(&dual(), &pairs, old("tools/list")), (400, -32022));
    let twice = [
        (SESSION, "s1"),
        (VERSION, "2025-11-25"),
        (VERSION, "2025-11-25"),
    ];
    assert_eq!(refused(&dual(), &twice, old("tools/list")).0, 400);
}

#[test]
fn responses_and_notifications_are_taken_in_a_session() {
    for shape in [Shape::Response, Shape::Notification] {
        let body = Body { shape, ..old("") };
        assert_eq!(admitted(&dual(), &[(SESSION, "s1")], body), session(None));
        assert_eq!(accepted_status(shape, false), 202);
    }
    assert_eq!(accepted_status(Shape::Request, true), 200);
    assert_eq!(accepted_status(Shape::Batch, true), 200);
    assert_eq!(accepted_status(Shape::Batch, false), 202);
}

fn head(endpoint: &Endpoint, verb: Verb, pairs: &[(&'static str, &str)]) -> Result<Head, Refusal> {
    check_head(endpoint, &verb, &headers(pairs))
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

// Stateless era (FEATURES 4.3).

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
fn a_request_with_envelope_and_mirrors_is_served() {
    assert_eq!(
        admitted(
            &dual(),
            &modern("server/discover"),
            enveloped("server/discover")
        ),
        SL
    );
    let body = Body {
        name: Member::Text("世"),
        ..enveloped("tools/call")
    };
    let [version, method] = modern("tools/call");
    assert_eq!(
        admitted(
            &dual(),
            &[version, method, ("mcp-name", "=?base64?5LiW?=")],
            body
        ),
        SL
    );
    let body = Body {
        name: Member::Text("get"),
        ..enveloped("prompts/get")
    };
    let [version, method] = modern("prompts/get");
    assert_eq!(
        admitted(&dual(), &[version, method, ("mcp-name", "  get  ")], body),
        SL
    );
    let body = Body {
        name: Member::Text("t-1"),
        ..enveloped("tasks/cancel")
    };
    let [version, method] = modern("tasks/cancel");
    assert_eq!(
        admitted(&dual(), &[version, method, ("mcp-name", "t-1")], body),
        SL
    );
}

#[test]
fn a_missing_envelope_field_is_400_and_32602() {
    let body = Body {
        has_capabilities: false,
        ..enveloped("server/discover")
    };
    assert_eq!(
        refused(&dual(), &modern("server/discover"), body),
        (400, -32602)
    );
    // It is asked before the mirrors.
    assert_eq!(refused(&dual(), &[], body), (400, -32602));
    let refusal = admit(&dual(), &HeaderMap::new(), &body).unwrap_err();
    assert!(refusal.to_string().contains("clientCapabilities"));
}

#[test]
fn a_mirror_that_is_missing_malformed_or_unequal_is_400_and_32020() {
    let list = enveloped("tools/list");
    let [version, method] = modern("tools/list");
    let mut cases = vec![
        (vec![version], list),
        (vec![method], list),
        (vec![version, ("mcp-method", "prompts/list")], list),
        (vec![version, ("mcp-method", "TOOLS/LIST")], list),
        (vec![version, method, method], list),
        (vec![version, version, method], list),
        (vec![(VERSION, "2025-11-25"), method], list),
    ];
    let call = Body {
        name: Member::Text("add"),
        ..enveloped("tools/call")
    };
    let [version, method] = modern("tools/call");
    for names in [
        &[][..],
        &["other"],
        &["ADD"],
        &["add", "add"],
        &["=?base64?YWRk!?="],
        &["=?base64?YWR?="],
        &["=?BASE64?YWRk?="],
    ] {
        let mut pairs = vec![version, method];
        pairs.extend(names.iter().map(|name| ("mcp-name", *name)));
        cases.push((pairs, call));
    }
    cases.push((vec![version, method], enveloped("tools/call")));
    cases.push((
        vec![version, method, ("mcp-name", "add")],
        enveloped("tools/call"),
    ));
    for (pairs, body) in cases {
        assert_eq!(refused(&dual(), &pairs, body), (400, -32020), "{pairs:?}");
    }
}

#[test]
fn header_and_body_that_disagree_on_the_version_are_32020_not_32022() {
    let body = Body {
        version: Member::Text("v999.0.0"),
        ..enveloped("tools/list")
    };
    assert_eq!(refused(&dual(), &modern("tools/list"), body), (400, -32020));
    assert_eq!(
        refused(
            &dual(),
            &[("mcp-method", "tools/list")],
            enveloped("tools/list")
        ),
        (400, -32020)
    );
}

#[test]
fn a_version_not_served_is_400_and_32022() {
    for version in ["v999.0.0", "2025-11-25", "2027-01-01"] {
        let body = Body {
            version: Member::Text(version),
            ..enveloped("tools/list")
        };
        let pairs = [(VERSION, version), ("mcp-method", "tools/list")];
        assert_eq!(refused(&dual(), &pairs, body), (400, -32022), "{version}");
    }
}

#[test]
fn a_method_unknown_to_the_era_is_404_and_32601() {
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "unknown/method",
        "sampling/createMessage",
        "notifications/cancelled",
        "tasks/result",
    ] {
        assert_eq!(
            refused(&dual(), &modern(method), enveloped(method)),
            (404, -32601),
            "{method}"
        );
    }
    let endpoint = Endpoint {
        own_methods: vec!["unknown/method".into()],
        ..dual()
    };
    assert_eq!(
        admitted(
            &endpoint,
            &modern("unknown/method"),
            enveloped("unknown/method")
        ),
        SL
    );
}

#[test]
fn the_version_is_asked_before_the_method() {
    let body = Body {
        version: Member::Text("v999"),
        ..enveloped("unknown/method")
    };
    let pairs = [(VERSION, "v999"), ("mcp-method", "unknown/method")];
    assert_eq!(refused(&dual(), &pairs, body), (400, -32022));
}

#[test]
fn a_notification_needs_no_mirrors_but_must_not_lie() {
    let body = Body {
        shape: Shape::Notification,
        ..enveloped("notifications/x")
    };
    assert_eq!(admitted(&dual(), &[], body), SL);
    assert_eq!(admitted(&dual(), &modern("notifications/x"), body), SL);
    assert_eq!(
        refused(&dual(), &modern("notifications/y"), body),
        (400, -32020)
    );
    let bare = Body {
        shape: Shape::Notification,
        ..old("notifications/x")
    };
    assert_eq!(admitted(&dual(), &modern("notifications/x"), bare), SL);
}

#[test]
fn a_client_of_the_stateless_era_sends_no_responses() {
    let body = Body {
        shape: Shape::Response,
        ..old("")
    };
    assert_eq!(
        refused(&dual(), &[(VERSION, "2026-07-28")], body),
        (400, -32600)
    );
}

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
        (ErrorCode::PARSE_ERROR, Handshake, Before, 400),
        (ErrorCode::UNSUPPORTED_VERSION, Handshake, Before, 400),
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

#[test]
fn a_refusal_says_which_header_and_what_was_expected() {
    let refusal = admit(&dual(), &HeaderMap::new(), &enveloped("tools/list")).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "header mcp-protocol-version is missing, expected \"2026-07-28\""
    );
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

#[test]
fn a_compressed_body_is_415() {
    let pairs = [
        ("content-type", "application/json"),
        ("content-encoding", "gzip"),
    ];
    assert_eq!(head_status(&dual(), Verb::POST, &pairs), 415);
}

proptest! {
    #[test]
    fn no_header_makes_admission_panic_or_mix_eras(
        version in "(2026-07-28|2025-11-25|2025-03-26|\\PC{0,9})",
        method in "(tools/list|tools/call|initialize|\\PC{0,9})",
        name in "\\PC{0,9}",
        has_envelope in any::<bool>(),
        shape in prop_oneof![Just(Shape::Request), Just(Shape::Notification), Just(Shape::Response), Just(Shape::Batch)],
    ) {
        let mut headers = HeaderMap::new();
        for (key, value) in [(VERSION, &version), (SESSION, &name), ("mcp-method", &method), ("mcp-name", &name)] {
            if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
                headers.insert(key, value);
            }
        }
        let text = Member::Text(version.as_str());
        let body = Body {
            shape,
            version: if has_envelope { text } else { Member::Absent },
            has_capabilities: true,
            name: Member::Text(&name),
            ..old(&method)
        };
        match admit(&dual(), &headers, &body) {
            Ok(Admission::Stateless { .. }) => prop_assert!(shape != Shape::Batch && version == "2026-07-28"),
            Ok(_) => prop_assert!(!has_envelope || shape == Shape::Batch),
            Err(refusal) => prop_assert!(refusal.status().is_client_error()),
        }
    }
}
