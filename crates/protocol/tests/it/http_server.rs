//! What becomes of a POST: its status, the code of its error, and its id, end to end.

use switchboard_protocol::Revision;
use switchboard_protocol::http::negotiate::Format;
use switchboard_protocol::http::server::Refusal;
use switchboard_protocol::jsonrpc::RequestId;

use crate::http_driver::{Reply, Server};

type Pair = (&'static str, &'static str);

const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const SESSION: Pair = ("mcp-session-id", "s1");
const NEW: Pair = (VERSION, "2026-07-28");
const ENVELOPE: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
const BATCH: &str = r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#;

fn dual() -> Server {
    Server::new(&Revision::ALL)
}

fn stateless_only() -> Server {
    Server::new(&[Revision::V2026_07_28])
}

fn handshake_only() -> Server {
    Server::new(&[Revision::V2025_06_18, Revision::V2025_11_25])
}

fn without_sessions() -> Server {
    let mut server = dual();
    server.endpoint.requires_session = false;
    server
}

/// A request whose id is 7.
fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{{params}}}}}"#)
}

fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{{params}}}}}"#)
}

/// A request with an envelope; `more` are further parameters.
fn enveloped(method: &str, more: &str) -> String {
    request(method, &format!("{ENVELOPE}{more}"))
}

/// The same, of another version.
fn of_version(method: &str, version: &str) -> String {
    enveloped(method, "").replace("2026-07-28", version)
}

fn opening() -> String {
    let params = r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}"#;
    request("initialize", params)
}

/// Checks status and code (0: no error), and that a request gets its id back.
fn check(
    server: &Server,
    pairs: &[(&'static str, &str)],
    body: &str,
    expected: (u16, i64),
) -> Reply {
    let reply = server.post(pairs, body);
    let case = format!("{pairs:?} {body}");
    assert_eq!((reply.status, reply.code()), expected, "{case}: {reply:?}");
    if reply.answer.is_some() {
        let id = body
            .starts_with(r#"{"jsonrpc":"2.0","id":7,"method""#)
            .then(|| RequestId::from(7));
        assert_eq!(reply.id(), id.as_ref(), "{case}");
    }
    reply
}

fn modern(method: &str) -> [(&'static str, &str); 2] {
    [NEW, (METHOD, method)]
}

fn stateless(method: &str, expected: (u16, i64)) {
    check(&dual(), &modern(method), &enveloped(method, ""), expected);
}

/// A call of the tool `add` with these values of `Mcp-Name`.
fn named(names: &[&str], expected: (u16, i64)) {
    let mut pairs = modern("tools/call").to_vec();
    pairs.extend(names.iter().map(|name| (NAME, *name)));
    check(
        &dual(),
        &pairs,
        &enveloped("tools/call", r#","name":"add""#),
        expected,
    );
}

// Which era: FEATURES 3.3, a test for each row.

#[test]
fn rule_1_an_array_is_allowed_only_under_2025_03_26() {
    let list = request("ping", "");
    let batch = format!("[{list}]");
    check(&without_sessions(), &[], &batch, (200, 0));
    check(
        &without_sessions(),
        &[(VERSION, "2025-03-26")],
        &batch,
        (200, 0),
    );
    for version in ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"] {
        check(&dual(), &[(VERSION, version)], &batch, (400, -32600));
    }
    check(&stateless_only(), &[], &batch, (400, -32600));
    check(&handshake_only(), &[SESSION], &batch, (400, -32600));
    // The header does not say, but the session knows.
    check(&dual(), &[SESSION], &batch, (400, -32600));
    let mut server = dual();
    server.agreed = Revision::V2025_03_26;
    check(&server, &[SESSION], &batch, (200, 0));
}

#[test]
fn rule_2_an_envelope_is_stateless_whatever_else_is_sent() {
    let [version, method] = modern("tools/list");
    let pairs = [version, method, SESSION, ("last-event-id", "7")];
    let ended = [version, method, ("mcp-session-id", "ended")];
    for server in [dual(), stateless_only()] {
        check(&server, &pairs, &enveloped("tools/list", ""), (200, 0));
        check(&server, &ended, &enveloped("tools/list", ""), (200, 0));
    }
    stateless("initialize", (404, -32601));
}

#[test]
fn rule_3_a_stateless_version_without_envelope_is_malformed() {
    for server in [dual(), stateless_only()] {
        for method in ["server/discover", "tools/list", "initialize", "x/y"] {
            check(
                &server,
                &modern(method),
                &request(method, ""),
                (400, -32602),
            );
            check(&server, &[NEW], &request(method, ""), (400, -32602));
        }
    }
    check(
        &dual(),
        &[NEW, SESSION],
        &request("tools/list", ""),
        (400, -32602),
    );
    // A method that no other era has says as much as the header.
    check(
        &dual(),
        &[SESSION],
        &request("server/discover", ""),
        (400, -32602),
    );
}

#[test]
fn rule_4_initialize_opens_a_handshake() {
    for pairs in [
        &[][..],
        &[(VERSION, "2025-11-25")],
        &[(VERSION, "1900-01-01")],
        &[SESSION],
    ] {
        let reply = check(&dual(), pairs, &opening(), (200, 0));
        assert_eq!(reply.opened, Some(Revision::V2025_11_25));
    }
}

#[test]
fn rule_5_a_session_id_belongs_to_its_session() {
    let list = request("tools/list", "");
    check(&dual(), &[SESSION], &list, (200, 0));
    check(
        &dual(),
        &[SESSION, (VERSION, "2025-11-25")],
        &list,
        (200, 0),
    );
    check(
        &dual(),
        &[("mcp-session-id", "ended")],
        &list,
        (404, -32600),
    );
}

#[test]
fn rule_6_an_unknown_version_is_refused_with_the_code_of_the_stateless_era() {
    let list = request("tools/list", "");
    for version in [
        "1900-01-01",
        "v999.0.0",
        "2027-01-01",
        "",
        "2025-11-25, 2025-06-18",
    ] {
        let reply = check(&dual(), &[(VERSION, version)], &list, (400, -32022));
        let error = reply.answer.unwrap().outcome.unwrap_err();
        let data = String::from_utf8_lossy(error.data.unwrap().text()).into_owned();
        assert!(
            data.contains("2025-11-25") && data.contains("2026-07-28"),
            "{data}"
        );
    }
    // Known, but not served here.
    check(
        &handshake_only(),
        &[(VERSION, "2025-03-26")],
        &list,
        (400, -32022),
    );
}

#[test]
fn rule_7_the_rest_is_session_less_and_assumed_to_be_2025_03_26() {
    let list = request("tools/list", "");
    check(&without_sessions(), &[], &list, (200, 0));
    check(
        &without_sessions(),
        &[(VERSION, "2025-06-18")],
        &list,
        (200, 0),
    );
    // Only the assumed revision has batches.
    check(&without_sessions(), &[], BATCH, (200, 0));
    let mut server = handshake_only();
    server.endpoint.requires_session = false;
    assert_eq!(server.post(&[], &list).status, 400);
}

#[test]
fn a_stateless_server_names_its_versions_to_an_old_client() {
    let reply = check(&stateless_only(), &[], &opening(), (400, -32022));
    let error = reply.answer.unwrap().outcome.unwrap_err();
    assert_eq!(
        error.data.unwrap().text().as_ref(),
        br#"{"supported":["2026-07-28"],"requested":"2025-11-25"}"#
    );
    let list = request("tools/list", "");
    check(&stateless_only(), &[], &list, (400, -32602));
    check(&stateless_only(), &[SESSION], &list, (400, -32602));
}

#[test]
fn a_handshake_server_names_its_versions_to_a_new_client() {
    let pairs = modern("server/discover");
    for body in [
        enveloped("server/discover", ""),
        request("server/discover", ""),
    ] {
        check(&handshake_only(), &pairs, &body, (400, -32022));
    }
    // It does not know the era's headers, so it does not miss any.
    check(
        &handshake_only(),
        &[],
        &enveloped("tools/list", ""),
        (400, -32022),
    );
}

// The handshake era: FEATURES 4.1.

#[test]
fn a_request_is_answered_with_json_or_a_stream() {
    let list = request("tools/list", "");
    let reply = check(&dual(), &[SESSION], &list, (200, 0));
    assert_eq!(reply.format, Some(Format::Json));
    let pairs = [SESSION, ("accept", "text/event-stream")];
    let reply = check(&dual(), &pairs, &list, (200, 0));
    assert_eq!(reply.format, Some(Format::EventStream));
    // Errors of a request are answers like any other.
    check(
        &dual(),
        &[SESSION],
        &request("unknown/method", ""),
        (200, -32601),
    );
    check(
        &dual(),
        &[SESSION],
        &request("server/unknown", ""),
        (200, -32601),
    );
    check(
        &dual(),
        &[SESSION],
        &request("tools/call", r#""name":"x""#),
        (200, -32602),
    );
    check(
        &dual(),
        &[SESSION],
        &request("logging/setLevel", ""),
        (200, -32602),
    );
    check(&dual(), &[], &request("initialize", ""), (200, -32602));
}

#[test]
fn what_wants_no_answer_is_202_or_refused() {
    let told = notification("notifications/initialized", "");
    let answer = r#"{"jsonrpc":"2.0","id":3,"result":{}}"#;
    for body in [
        told.as_str(),
        answer,
        r#"[{"jsonrpc":"2.0","method":"notifications/x"}]"#,
    ] {
        let mut server = dual();
        server.agreed = Revision::V2025_03_26;
        let reply = check(&server, &[SESSION], body, (202, 0));
        assert!(reply.format.is_none());
        check(&dual(), &[], body, (400, -32600));
    }
    // Of a broken answer too only the session can make something.
    let broken = r#"{"jsonrpc":"2.0","id":3,"result":{},"error":{"code":1,"message":"m"}}"#;
    check(&dual(), &[SESSION], broken, (202, 0));
    check(&dual(), &[], broken, (400, -32600));
}

#[test]
fn initialize_in_a_batch_is_refused_by_name() {
    let batch = format!("[{}]", opening());
    let reply = check(&dual(), &[], &batch, (400, -32600));
    let error = reply.answer.unwrap().outcome.unwrap_err();
    assert_eq!(error.message, Refusal::BatchedInitialize.to_string());
}

// the forty: 28
#[test]
fn a_missing_session_is_400_and_an_unknown_one_404() {
    let list = request("tools/list", "");
    check(&dual(), &[], &list, (400, -32600));
    check(&dual(), &[(VERSION, "2025-11-25")], &list, (400, -32600));
    check(&dual(), &[SESSION, SESSION], &list, (400, -32600));
    check(&dual(), &[("mcp-session-id", "a b")], &list, (400, -32600));
    check(
        &dual(),
        &[("mcp-session-id", "ended")],
        &list,
        (404, -32600),
    );
}

#[test]
fn a_bad_version_in_a_session_is_400() {
    let list = request("tools/list", "");
    check(
        &dual(),
        &[SESSION, (VERSION, "1900-01-01")],
        &list,
        (400, -32022),
    );
    let twice = [SESSION, (VERSION, "2025-11-25"), (VERSION, "2025-11-25")];
    assert_eq!(dual().post(&twice, &list).status, 400);
}

// The stateless era: FEATURES 4.3.

#[test]
fn a_request_with_envelope_and_mirrors_is_served() {
    stateless("server/discover", (200, 0));
    let served = [
        ("tools/call", r#","name":"世""#, "=?base64?5LiW?="),
        ("tools/call", r#","n\u0061me":"\u0061dd""#, "add"),
        ("prompts/get", r#","name":"get""#, "  get  "),
        ("resources/read", r#","uri":"file:///a""#, "file:///a"),
    ];
    for (method, more, name) in served {
        let [version, method_header] = modern(method);
        let pairs = [version, method_header, (NAME, name)];
        check(&dual(), &pairs, &enveloped(method, more), (200, 0));
    }
    let body = enveloped("tasks/cancel", r#","taskId":"t-1""#).replace(
        r#"Capabilities":{}"#,
        r#"Capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
    );
    let [version, method] = modern("tasks/cancel");
    check(&dual(), &[version, method, (NAME, "t-1")], &body, (200, 0));
}

#[test]
fn a_subscription_is_a_stream() {
    let pairs = modern("subscriptions/listen");
    let body = enveloped(
        "subscriptions/listen",
        r#","notifications":{"toolsListChanged":true}"#,
    );
    let reply = check(&dual(), &pairs, &body, (200, 0));
    assert_eq!(reply.format, Some(Format::EventStream));
    assert!(reply.answer.is_none());
}

#[test]
fn a_notification_needs_no_mirrors_but_must_not_lie() {
    let bare = notification("notifications/x", "");
    let whole = notification("notifications/x", ENVELOPE);
    for body in [&bare, &whole] {
        check(&stateless_only(), &[], body, (202, 0));
        check(&dual(), &modern("notifications/x"), body, (202, 0));
        check(&dual(), &modern("notifications/y"), body, (400, -32020));
    }
    check(&dual(), &[], &whole, (202, 0));
    for version in ["1900-01-01", "2025-11-25"] {
        let other = whole.replace("2026-07-28", version);
        check(&dual(), &[(VERSION, version)], &other, (400, -32022));
        check(&dual(), &[NEW], &other, (400, -32020));
    }
}

#[test]
fn a_client_of_the_stateless_era_sends_no_responses() {
    let answer = r#"{"jsonrpc":"2.0","id":3,"result":{}}"#;
    check(&dual(), &[NEW], answer, (400, -32600));
    check(&stateless_only(), &[], answer, (400, -32600));
}

#[test]
fn what_is_no_message_is_400_whatever_its_headers() {
    for pairs in [&[][..], &[NEW], &[SESSION], &[(VERSION, "1900-01-01")]] {
        for (body, code) in [
            ("{", -32700),
            ("", -32700),
            ("1", -32600),
            ("[]", -32600),
            (r#"{"jsonrpc":"2.0"}"#, -32600),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"a","params":[]}"#,
                -32600,
            ),
            (r#"{"jsonrpc":"2.0","id":7,"method":"a","params":{"#, -32700),
            (r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, -32600),
        ] {
            check(&dual(), pairs, body, (400, code));
        }
    }
}

// the forty: 8
#[test]
fn errors_of_the_envelope_are_400_and_an_unknown_method_404() {
    stateless("server/discover", (200, 0));
    for (before, after) in [
        (
            r#""io.modelcontextprotocol/clientCapabilities":{}"#,
            r#""x":1"#,
        ),
        (r#"Capabilities":{}"#, r#"Capabilities":[]"#),
        (r#"Capabilities":{}"#, r#"Capabilities":{"sampling":1}"#),
        (
            r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#,
            r#""x":1"#,
        ),
        (r#""2026-07-28""#, "20260728"),
    ] {
        let body = enveloped("server/discover", "").replace(before, after);
        check(&dual(), &modern("server/discover"), &body, (400, -32602));
        check(
            &stateless_only(),
            &modern("server/discover"),
            &body,
            (400, -32602),
        );
    }
    stateless("unknown/method", (404, -32601));
}

#[test]
fn what_the_envelope_lacks_is_told_before_the_mirrors_are_judged() {
    let body = enveloped("tools/call", r#","name":"add""#).replace("Capabilities", "");
    check(&dual(), &[], &body, (400, -32602));
    check(&dual(), &modern("tools/list"), &body, (400, -32602));
    let body = enveloped("tools/list", "").replace(r#""2026-07-28""#, "1");
    check(&dual(), &[], &body, (400, -32602));
}

#[test]
fn a_mirror_that_is_missing_malformed_or_unequal_is_400_and_32020() {
    let [version, method] = modern("tools/list");
    for pairs in [
        &[version][..],
        &[method],
        &[version, (METHOD, "prompts/list")],
        &[version, (METHOD, "TOOLS/LIST")],
        &[version, method, method],
        &[version, version, method],
        &[(VERSION, "2025-11-25"), method],
    ] {
        let reply = check(&dual(), pairs, &enveloped("tools/list", ""), (400, -32020));
        assert_eq!(reply.format, Some(Format::Json));
    }
    named(&["add"], (200, 0));
    for names in [&[][..], &["other"], &["ADD"], &["add", "add"]] {
        named(names, (400, -32020));
    }
    // The body has none, so there is nothing to repeat.
    let [version, method] = modern("tools/call");
    let body = enveloped("tools/call", "");
    check(&dual(), &[version, method], &body, (400, -32020));
    check(
        &dual(),
        &[version, method, (NAME, "add")],
        &body,
        (400, -32020),
    );
}

// the forty: 30
#[test]
fn a_name_is_decoded_before_it_is_compared() {
    named(&["=?base64?YWRk?="], (200, 0));
    for name in [
        "=?base64?YWRk!?=",
        "=?base64?YWR?=",
        "=?BASE64?YWRk?=",
        "YWRk",
    ] {
        named(&[name], (400, -32020));
    }
    // A literal that looks encoded is encoded once more.
    let [version, method] = modern("prompts/get");
    let body = enveloped("prompts/get", r#","name":"=?base64?YWRk?=""#);
    let twice = (NAME, "=?base64?PT9iYXNlNjQ/WVdSaz89?=");
    check(&dual(), &[version, method, twice], &body, (200, 0));
    let once = (NAME, "=?base64?YWRk?=");
    check(&dual(), &[version, method, once], &body, (400, -32020));
}

// the forty: 9
#[test]
fn header_and_body_that_disagree_on_the_version_are_32020_not_32022() {
    let pairs = modern("tools/list");
    check(
        &dual(),
        &pairs,
        &of_version("tools/list", "v999.0.0"),
        (400, -32020),
    );
    let missing = [(METHOD, "tools/list")];
    check(
        &dual(),
        &missing,
        &enveloped("tools/list", ""),
        (400, -32020),
    );
    check(
        &dual(),
        &missing,
        &of_version("tools/list", "v999.0.0"),
        (400, -32020),
    );
}

#[test]
fn a_version_not_served_is_400_and_32022() {
    for version in ["v999.0.0", "2025-11-25", "2027-01-01"] {
        for method in ["tools/list", "unknown/method", "initialize"] {
            let pairs = [(VERSION, version), (METHOD, method)];
            check(&dual(), &pairs, &of_version(method, version), (400, -32022));
        }
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
        // Nobody advertised it.
        "completion/complete",
    ] {
        stateless(method, (404, -32601));
    }
}

#[test]
fn a_capability_that_the_client_lacks_is_400_and_32021() {
    let call = |method, name, more: &str| {
        let [version, method_header] = modern(method);
        let pairs = [version, method_header, (NAME, name)];
        check(&dual(), &pairs, &enveloped(method, more), (400, -32021));
    };
    // Known by the machine, and found out by a handler.
    call("tasks/get", "t-1", r#","taskId":"t-1""#);
    call("tools/call", "ask", r#","name":"ask""#);
}

#[test]
fn other_errors_are_answers() {
    for (name, code) in [("unknown", -32602), ("break", -32603)] {
        let [version, method] = modern("tools/call");
        let body = enveloped("tools/call", &format!(r#","name":"{name}""#));
        check(
            &dual(),
            &[version, method, (NAME, name)],
            &body,
            (200, code),
        );
    }
}

// the forty: 32
#[test]
fn the_header_of_a_parameter_is_compared_with_its_argument() {
    let [version, method] = modern("tools/call");
    let paint = |colour: &str, headers: &[&str], expected| {
        let more = format!(r#","name":"paint","arguments":{{{colour}}}"#);
        let mut pairs = vec![version, method, (NAME, "paint")];
        pairs.extend(headers.iter().map(|value| ("mcp-param-colour", *value)));
        check(&dual(), &pairs, &enveloped("tools/call", &more), expected);
    };
    paint(r#""colour":"red""#, &["red"], (200, 0));
    paint(r#""colour":"red""#, &["blue"], (400, -32020));
    paint(r#""colour":"red""#, &[], (400, -32020));
    paint(r#""colour":"""#, &[""], (200, 0));
    paint(r#""colour":"""#, &[], (400, -32020));
    paint(r#""colour":null"#, &[], (200, 0));
    paint(r#""colour":null"#, &["red"], (400, -32020));
    paint("", &[], (200, 0));
    paint("", &["red"], (400, -32020));
}

// the forty: 12
#[test]
fn a_stream_begins_only_when_something_comes_before_the_answer() {
    let stream = ("accept", "application/json;q=0.1, text/event-stream");
    let either = ("accept", "application/json, text/event-stream");
    let call = |name: &'static str, accept, expected| {
        let [version, method] = modern("tools/call");
        let pairs = [version, method, (NAME, name), accept];
        let body = enveloped("tools/call", &format!(r#","name":"{name}""#));
        check(&dual(), &pairs, &body, expected).format
    };
    assert_eq!(call("add", either, (200, 0)), Some(Format::Json));
    assert_eq!(call("tell", either, (200, 0)), Some(Format::EventStream));
    // An error keeps its status even for a client that would rather have a stream.
    assert_eq!(call("add", stream, (200, 0)), Some(Format::EventStream));
    assert_eq!(call("ask", stream, (400, -32021)), Some(Format::Json));
    let unknown = [NEW, (METHOD, "x/y"), stream];
    let reply = check(&dual(), &unknown, &enveloped("x/y", ""), (404, -32601));
    assert_eq!(reply.format, Some(Format::Json));
}
