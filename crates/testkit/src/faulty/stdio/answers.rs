//! Kinds whose answer to the call is not what JSON, JSON-RPC or MCP allow.
//!
//! Fault matrix: 14, 16 to 19, 22 to 24.

use serde_json::{Value, json};

use super::server::Server;
use super::{Defect, Kind};
use crate::faulty::message::text;

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "invalid-utf8",
        "answers with a text that is not UTF-8",
        Defect::Call(|server, request| splice(server, request, b"\"a\xff\xfe\xc3(b\"")),
    ),
    Kind::new(
        "lone-surrogate",
        "answers with half of a surrogate pair, escaped",
        Defect::Call(|server, request| splice(server, request, br#""a\ud83db""#)),
    ),
    Kind::new(
        "huge-numbers",
        "answers with numbers that no integer and no float holds",
        Defect::Call(|server, request| {
            let numbers = format!(
                "\"x\",\"n\":[1e999,-1e-999,{},0.{}]",
                "9".repeat(400),
                "3".repeat(400)
            );
            splice(server, request, numbers.as_bytes());
        }),
    ),
    Kind::new(
        "huge-line",
        "answers with a text of 64 MiB",
        Defect::Call(|server, request| {
            let (head, tail) = around(server, request);
            server.raw(head + "\"");
            (0..64).for_each(|_| server.raw(MEBIBYTE.as_slice()));
            server.raw(format!("\"{tail}\n"));
        }),
    ),
    Kind::new(
        "huge-line-id-last",
        "answers with a text of 64 MiB and names the id behind it",
        Defect::Call(|server, request| {
            server.raw(r#"{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":""#);
            (0..64).for_each(|_| server.raw(MEBIBYTE.as_slice()));
            server.raw(format!("\"}}]}},\"id\":{}}}\n", request["id"]));
        }),
    ),
    Kind::new(
        "endless-line",
        "answers with a line that never ends",
        Defect::Call(|server, request| {
            let (head, _) = around(server, request);
            server.raw(head + "\"");
            loop {
                server.raw(MEBIBYTE.as_slice());
            }
        }),
    ),
    Kind::new(
        "deep-nesting",
        "answers with 200 000 arrays in each other",
        Defect::Call(|server, request| {
            let nested = "[".repeat(200_000) + &"]".repeat(200_000);
            splice(
                server,
                request,
                format!("\"x\",\"deep\":{nested}").as_bytes(),
            );
        }),
    ),
    Kind::new(
        "duplicate-names",
        "answers with two results in one message",
        Defect::Call(|server, request| {
            let (id, result) = (&request["id"], text("first"));
            let second = text("second");
            server.raw(format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result},\"result\":{second}}}\n"
            ));
        }),
    ),
    Kind::new(
        "folded-names",
        "answers with the names of members in capitals",
        Defect::Call(|server, request| {
            let answer = server.answer(request);
            server.send(&json!({"jsonrpc": "2.0", "Id": answer["id"], "Result": answer["result"]}));
        }),
    ),
    Kind::new(
        "both",
        "answers with a result and an error",
        Defect::Call(|server, request| {
            change(server, request, |answer| {
                answer["error"] = json!({"code": -32603, "message": "both"});
            });
        }),
    ),
    Kind::new(
        "neither",
        "answers with neither a result nor an error",
        Defect::Call(|server, request| {
            server.send(&json!({"jsonrpc": "2.0", "id": request["id"]}));
        }),
    ),
    Kind::new(
        "malformed-error",
        "answers with an error that is a text",
        Defect::Call(|server, request| {
            server.send(&json!({"jsonrpc": "2.0", "id": request["id"], "error": "it broke"}));
        }),
    ),
    Kind::new(
        "error-without-code",
        "answers with an error whose code is a text and whose message is missing",
        Defect::Call(|server, request| {
            server.send(&json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": "E1"}}));
        }),
    ),
    Kind::new(
        "wrong-result",
        "answers with a result whose content is a number",
        Defect::Call(|server, request| {
            change(server, request, |answer| {
                answer["result"]["content"] = 5.into()
            });
        }),
    ),
    Kind::new(
        "result-is-text",
        "answers with a result that is no object",
        Defect::Call(|server, request| {
            change(server, request, |answer| answer["result"] = "done".into());
        }),
    ),
    Kind::new(
        "unknown-result-type",
        "answers with a kind of result that no revision has",
        Defect::Call(|server, request| {
            change(server, request, |answer| {
                answer["result"]["resultType"] = "riddle".into();
            });
        }),
    ),
    Kind::new(
        "unknown-content",
        "answers with a kind of content that no revision has",
        Defect::Call(|server, request| {
            change(server, request, |answer| {
                answer["result"]["content"] = json!([{"type": "smell", "intensity": 3}]);
            });
        }),
    ),
    Kind::new(
        "batch",
        "answers with an array of messages",
        Defect::Call(|server, request| server.send(&json!([server.answer(request)]))),
    ),
    Kind::new(
        "wrong-jsonrpc",
        "answers with version 1.0 of JSON-RPC",
        Defect::Call(|server, request| {
            change(server, request, |answer| answer["jsonrpc"] = "1.0".into());
        }),
    ),
    Kind::new(
        "no-jsonrpc",
        "answers without the version of JSON-RPC",
        Defect::Call(|server, request| {
            let answer = server.answer(request);
            server.send(&json!({"id": answer["id"], "result": answer["result"]}));
        }),
    ),
];

/// Sends the honest answer, changed.
fn change(server: &Server, request: &Value, change: impl FnOnce(&mut Value)) {
    let mut answer = server.answer(request);
    change(&mut answer);
    server.send(&answer);
}

/// Sends the honest answer with these bytes in the place of its text.
fn splice(server: &Server, request: &Value, bytes: &[u8]) {
    let (head, tail) = around(server, request);
    server.raw([head.as_bytes(), bytes, tail.as_bytes(), b"\n"].concat());
}

/// What stands before and behind the text of the honest answer.
fn around(server: &Server, request: &Value) -> (String, String) {
    let mut request = request.clone();
    request["params"]["arguments"] = json!({"text": "MARK"});
    let answer = server.answer(&request).to_string();
    let parts = answer.split_once("\"MARK\"");
    let (head, tail) = parts.expect("the answer to `defect` has a text");
    (head.to_owned(), tail.to_owned())
}

static MEBIBYTE: [u8; 1024 * 1024] = [b'x'; 1024 * 1024];
