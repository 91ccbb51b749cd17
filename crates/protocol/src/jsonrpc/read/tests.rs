//! What is a message, and what is told about one that is not.

use super::*;

fn read(text: &str) -> Result<Frame, Malformed> {
    Frame::read(&Bytes::copy_from_slice(text.as_bytes()), &Limits::default())
}

fn rewritten(text: &str) -> String {
    match read(text) {
        Ok(Frame::Single(message)) => String::from_utf8(message.to_bytes().to_vec()).unwrap(),
        other => panic!("{text} gave {other:?}"),
    }
}

fn refused(text: &str) -> (Problem, Option<String>, Shape, i64) {
    let bad = read(text).unwrap_err();
    let code = bad.error().code.0;
    (
        bad.problem,
        bad.id.map(|id| id.to_string()),
        bad.shape,
        code,
    )
}

#[test]
fn a_message_is_written_as_it_was_read() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"a","arguments":{"n":1.0}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"vendor/\u00e9","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":[1, 2 ,3]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":{"x":1e400}}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"what"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"x":{"y": [ ]},"method":"ping"}"#,
    ] {
        let again = rewritten(text);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&again).map_err(|e| e.to_string()),
            serde_json::from_str::<serde_json::Value>(text).map_err(|e| e.to_string()),
        );
        assert_eq!(rewritten(&again), again, "writing is stable");
    }
}

#[test]
fn unknown_members_survive_with_their_text() {
    let text = r#"{"jsonrpc":"2.0","id":1,"x":{"y": [ ]},"result":{},"z":1.50}"#;
    assert_eq!(
        rewritten(text),
        r#"{"jsonrpc":"2.0","id":1,"x":{"y": [ ]},"z":1.50,"result":{}}"#
    );
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","more":[1.0]}}"#;
    assert_eq!(rewritten(error), error);
}

#[test]
fn a_message_says_what_it_asks_for_and_what_it_carries() {
    let check = |text: &str, method: Option<&str>, payload: Option<&str>| {
        let Ok(Frame::Single(message)) = read(text) else {
            panic!("{text}");
        };
        assert_eq!(message.method().map(MethodName::as_str), method, "{text}");
        let carried = message.payload().map(|payload| payload.text().to_vec());
        assert_eq!(carried.as_deref(), payload.map(str::as_bytes), "{text}");
        let rest_is_one_line = message.write_head(&mut Vec::new()).is_one_line();
        assert_eq!(rest_is_one_line, !text.contains('\n'), "{text:?}");
    };
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        Some("ping"),
        None,
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"a/b","params":{"c":1}}"#,
        Some("a/b"),
        Some(r#"{"c":1}"#),
    );
    check(
        r#"{"jsonrpc":"2.0","method":"a/b","params":{"c":1}}"#,
        Some("a/b"),
        Some(r#"{"c":1}"#),
    );
    check(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\n}}",
        None,
        Some("{\n}"),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":[1]}}"#,
        None,
        Some("[1]"),
    );
}

#[test]
fn names_of_the_envelope_mean_what_their_escapes_mean() {
    let text = r#"{"\u006asonrpc":"2.0","\u0069d":1,"\u006dethod":"a","\u0070arams":{},"b":2}"#;
    assert_eq!(
        rewritten(text),
        r#"{"jsonrpc":"2.0","id":1,"method":"a","b":2,"params":{}}"#
    );
    let text = r#"{"\u006asonrpc":"2.0","id":1,"\u0072esult":{}}"#;
    assert_eq!(rewritten(text), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
}

#[test]
fn a_limit_is_told_by_its_name() {
    let limits = Limits {
        bytes: 100,
        depth: 3,
        items: 12,
        batch: 2,
    };
    let check = |text: &str, limit: Option<&str>| {
        let read = Frame::read(&Bytes::copy_from_slice(text.as_bytes()), &limits);
        assert_eq!(read.err().and_then(|bad| bad.limit()), limit, "{text}");
    };
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    check(ping, None);
    check("{]", None);
    check(&" ".repeat(101), Some("message"));
    check(r#"{"jsonrpc":"2.0","id":1,"result":{"a":[1]}}"#, None);
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":[[1]]}}"#,
        Some("depth"),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":[1,2,3,4,5,6,7,8,9,0]}"#,
        Some("items"),
    );
    check("[1,2]", None);
    check("[1,2,3]", Some("batch"));
}

#[test]
fn line_breaks_between_tokens_become_spaces() {
    let text = "{\n\"jsonrpc\":\"2.0\",\r\n\"id\":1,\"result\":{\n \"a\":\"b\\n\"\r}}";
    assert_eq!(
        rewritten(text),
        r#"{"jsonrpc":"2.0","id":1,"result":{  "a":"b\n" }}"#
    );
}

#[test]
fn broken_json_is_a_parse_error_with_the_id_if_it_came_first() {
    let (problem, id, _, code) = refused(r#"{"jsonrpc":"2.0","id":5,"method":"#);
    assert_eq!(problem, Problem::NotJson(Fault::Truncated));
    assert_eq!((id.as_deref(), code), (Some("5"), -32700));
    assert_eq!(refused("hello").3, -32700);
    assert_eq!(refused("{} x").3, -32700);
    assert_eq!(refused("").3, -32700);
    assert_eq!(
        refused(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},"#).3,
        -32700
    );
}

#[test]
fn what_is_cut_is_known_for_what_it_begins_as() {
    let cases = [
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"#,
            Some("5"),
            Shape::Request,
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"meth"#,
            Some("5"),
            Shape::Unclear,
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"error":{"code":-3"#,
            Some("5"),
            Shape::Response,
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"result":{"#,
            Some("5"),
            Shape::Response,
        ),
        (r#"{"result":{},"id":"5""#, None, Shape::Response),
        // The number may go on behind the cut.
        (
            r#"{"jsonrpc":"2.0","method":"ping","id":5"#,
            None,
            Shape::Request,
        ),
        (r#"{"jsonrpc":"2.0","id":5"#, None, Shape::Unclear),
    ];
    for (text, id, shape) in cases {
        let (problem, read, known, _) = refused(text);
        assert!(matches!(problem, Problem::NotJson(_)), "{text}");
        assert_eq!((read.as_deref(), known), (id, shape), "{text}");
    }
}

#[test]
fn a_broken_notification_is_known_as_one() {
    let shape = |text| refused(text).2;
    assert_eq!(
        shape(r#"{"jsonrpc":"2.0","method":"a","params":[1]}"#),
        Shape::Notification
    );
    assert_eq!(
        shape(r#"{"jsonrpc":"2.0","method":"a","params":1,"id":null}"#),
        Shape::Request
    );
    assert_eq!(shape(r#"{"jsonrpc":"2.0","method":1}"#), Shape::Request);
}

#[test]
fn a_broken_envelope_keeps_its_id() {
    let cases = [
        (
            r#"{"id":1,"method":"ping"}"#,
            Problem::WrongVersion,
            Some("1"),
            Shape::Request,
        ),
        (
            r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#,
            Problem::WrongVersion,
            Some("1"),
            Shape::Request,
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            Problem::BadId,
            None,
            Shape::Request,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#,
            Problem::BadId,
            None,
            Shape::Request,
        ),
        (
            r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
            Problem::BadId,
            None,
            Shape::Request,
        ),
        (
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            Problem::BadId,
            None,
            Shape::Request,
        ),
        (
            r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
            Problem::BadId,
            None,
            Shape::Request,
        ),
        (
            r#"{"jsonrpc":"2.0","method":7,"id":2}"#,
            Problem::BadMethod,
            Some("2"),
            Shape::Request,
        ),
        (
            r#"{"jsonrpc":"2.0","method":"m","id":2,"params":[1]}"#,
            Problem::BadParams,
            Some("2"),
            Shape::Request,
        ),
        (
            r#"{"jsonrpc":"2.0","method":"m","id":2,"params":"x"}"#,
            Problem::BadParams,
            Some("2"),
            Shape::Request,
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"result":{},"error":{"code":1,"message":""}}"#,
            Problem::ResultAndError,
            Some("3"),
            Shape::Response,
        ),
        (
            r#"{"jsonrpc":"2.0","id":3}"#,
            Problem::NeitherResultNorError,
            Some("3"),
            Shape::Unclear,
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"m","result":{}}"#,
            Problem::MethodAndOutcome,
            Some("3"),
            Shape::Unclear,
        ),
        (
            r#"{"jsonrpc":"2.0","result":{}}"#,
            Problem::ResultWithoutId,
            None,
            Shape::Response,
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
            Problem::BadId,
            None,
            Shape::Response,
        ),
        (
            r#"{"jsonrpc":"2.0","id":4,"error":"no"}"#,
            Problem::BadError,
            Some("4"),
            Shape::Response,
        ),
        (
            r#"{"jsonrpc":"2.0","id":4,"error":{"code":1.5,"message":"m"}}"#,
            Problem::BadError,
            Some("4"),
            Shape::Response,
        ),
        (
            r#"{"jsonrpc":"2.0","id":4,"error":{"code":1}}"#,
            Problem::BadError,
            Some("4"),
            Shape::Response,
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"id":6,"method":"m"}"#,
            Problem::RepeatedMember,
            Some("5"),
            Shape::Request,
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"\u0069d":6,"method":"m"}"#,
            Problem::RepeatedMember,
            Some("5"),
            Shape::Request,
        ),
        (
            r#"{"jsonrpc":"2.0","params":{"a":1,"a":2},"method":"m","id":7}"#,
            Problem::RepeatedMember,
            Some("7"),
            Shape::Request,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{},"name":"a","_meta":{}}}"#,
            Problem::RepeatedMember,
            Some("7"),
            Shape::Request,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","x":1,"x":1}"#,
            Problem::RepeatedMember,
            Some("1"),
            Shape::Request,
        ),
        ("7", Problem::NotAnObject, None, Shape::Unclear),
        ("[]", Problem::EmptyBatch, None, Shape::Unclear),
    ];
    for (text, problem, id, shape) in cases {
        let got = refused(text);
        assert_eq!(
            got,
            (problem, id.map(str::to_owned), shape, -32600),
            "{text}"
        );
    }
}

#[test]
fn member_names_are_exact() {
    let text = r#"{"jsonrpc":"2.0","ID":1,"Method":"ping","id":2,"method":"ping"}"#;
    let Ok(Frame::Single(Message::Request(request))) = read(text) else {
        panic!("not a request");
    };
    assert_eq!(request.id, RequestId::from(2));
    assert_eq!(request.extra.iter().count(), 2);
    assert!(!request.extra.is_empty());
    assert!(Request::new(1.into(), Method::Ping, None).extra.is_empty());
}

#[test]
fn each_entry_of_a_batch_is_good_or_bad_on_its_own() {
    let text =
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}, 7, [], {"jsonrpc":"2.0","method":"m"}]"#;
    let Ok(Frame::Batch(entries)) = read(text) else {
        panic!("not a batch");
    };
    let good: Vec<bool> = entries.iter().map(Result::is_ok).collect();
    assert_eq!(good, [true, false, false, true]);
    assert_eq!(
        entries[2].as_ref().unwrap_err().problem,
        Problem::NestedBatch
    );
}

#[test]
fn an_id_is_found_in_the_beginning_of_a_message() {
    let find = |text: &str| {
        let beginning = Bytes::copy_from_slice(text.as_bytes());
        Malformed::too_large(&beginning, 8)
            .id
            .map(|id| id.to_string())
    };
    assert_eq!(
        find(r#"{"jsonrpc":"2.0","id":12,"result":{"a":"aaa"#).as_deref(),
        Some("12")
    );
    assert_eq!(
        find(r#"{"result":{"id":3},"id":"x","#).as_deref(),
        Some("\"x\"")
    );
    assert_eq!(find(r#"{"jsonrpc":"2.0","id":12"#), None);
    assert_eq!(find(r#"{"jsonrpc":"2.0","result":{"id":12,"#), None);
    assert_eq!(find("garbage"), None);
}

#[test]
fn what_a_message_is_shows_wherever_its_id_stands() {
    fn check(text: &'static str, expected: Shape) {
        let malformed = Malformed::too_large(&Bytes::from_static(text.as_bytes()), 8);
        assert_eq!((malformed.id, malformed.shape), (Some(1.into()), expected));
    }
    check(r#"{"id":1,"jsonrpc":"2.0","result":{"a"#, Shape::Response);
    check(r#"{"result":{},"id":1,"jsonrpc":"2"#, Shape::Response);
    check(r#"{"id":1,"x":2,"method":"a"#, Shape::Request);
    check(r#"{"id":1,"jsonrpc":"2"#, Shape::Unclear);
}

#[test]
fn what_is_asked_often_is_noted_on_the_way() {
    let text = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"resultType":"complete","_meta":{"a":1}}}"#;
    let Ok(Frame::Single(Message::Response(response))) = read(text) else {
        panic!("not a response");
    };
    let result = response.outcome.unwrap();
    assert_eq!(result.result_type().as_deref(), Some("complete"));
    assert_eq!(result.meta(), Some(&br#"{"a":1}"#[..]));
    assert!(result.is_one_line());
    let made = Payload::encode(&serde_json::json!({"resultType": "task"})).unwrap();
    assert_eq!(made.result_type().as_deref(), Some("task"));
    assert_eq!(made.meta(), None);
}

#[test]
fn a_result_type_means_what_its_escapes_mean() {
    let text = r#"{"resultType":"input\u005frequired"}"#;
    let limits = Limits::default();
    let result = Payload::parse(Bytes::from_static(text.as_bytes()), &limits).unwrap();
    assert_eq!(result.result_type().as_deref(), Some("input_required"));
}

#[test]
fn unknown_members_are_kept_as_long_as_they_are_few() {
    let message = |count: usize| {
        let extra: String = (0..count).map(|n| format!(r#""x{n}":{n},"#)).collect();
        format!(r#"{{{extra}"jsonrpc":"2.0","id":7,"method":"ping"}}"#)
    };
    assert!(read(&message(MAX_EXTRA)).is_ok());
    let (problem, id, shape, code) = refused(&message(MAX_EXTRA + 1));
    assert_eq!(problem, Problem::TooManyMembers);
    assert_eq!(
        (id.as_deref(), shape, code),
        (Some("7"), Shape::Request, -32600)
    );
    let malformed = read(&message(MAX_EXTRA + 1)).unwrap_err();
    assert_eq!(malformed.limit(), Some("members"));
}

#[test]
fn an_error_keeps_a_few_members_that_are_unknown() {
    for count in [MAX_EXTRA, MAX_EXTRA + 1] {
        let extra: String = (0..count).map(|n| format!(r#","x{n}":{n}"#)).collect();
        let text =
            format!(r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":1,"message":"m"{extra}}}}}"#);
        let Ok(Frame::Single(Message::Response(response))) = read(&text) else {
            panic!("{text}");
        };
        let error = response.outcome.unwrap_err();
        assert_eq!(error.extra.iter().count(), MAX_EXTRA);
    }
}
