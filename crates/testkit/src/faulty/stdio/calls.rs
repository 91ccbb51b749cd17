//! Kinds that mix up which answer belongs to which call, and when, or ask back.
//!
//! Fault matrix: 20, 21, 25 to 27, 35, 38, 40.

use serde_json::{Value, json};

use super::server::Server;
use super::{Defect, Kind};
use crate::faulty::honest::is_call;
use crate::faulty::message::{form, request as question, success, text};

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "never-answers",
        "never answers the call",
        Defect::Call(|_, _| {}),
    ),
    Kind::new(
        "answers-twice",
        "answers the call, and again with the text `second`",
        Defect::Call(|server, request| {
            server.serve(request);
            server.answer_with(request, text("second"));
        }),
    ),
    Kind::new(
        "wrong-id",
        "answers the call with an id that nobody used",
        Defect::Call(|server, request| {
            with_id(
                server,
                request,
                json!(request["id"].as_i64().unwrap_or(0) + 1_000_000),
            );
        }),
    ),
    Kind::new(
        "old-id",
        "answers the call with the id of the opening, then as it should be",
        Defect::Call(|server, request| {
            let first = server.received.first().map(|first| first["id"].clone());
            with_id(server, request, first.unwrap_or_default());
            server.serve(request);
        }),
    ),
    Kind::new(
        "id-as-string",
        "answers the call with its id as a string",
        Defect::Call(|server, request| {
            let id = request["id"].to_string();
            with_id(server, request, id.trim_matches('"').into());
        }),
    ),
    Kind::new(
        "id-as-float",
        "answers the call with its id as a float",
        Defect::Call(|server, request| {
            with_id(
                server,
                request,
                json!(request["id"].as_f64().unwrap_or(0.0)),
            );
        }),
    ),
    Kind::new(
        "id-null",
        "answers the call with the id null",
        Defect::Call(|server, request| with_id(server, request, Value::Null)),
    ),
    Kind::new(
        "id-missing",
        "answers the call without an id",
        Defect::Call(|server, request| {
            let mut answer = server.answer(request);
            if let Some(members) = answer.as_object_mut() {
                members.remove("id");
            }
            server.send(&answer);
        }),
    ),
    Kind::new(
        "answers-after-cancel",
        "answers the call when it is cancelled",
        Defect::Message(|server, message| {
            if message["method"] == "notifications/cancelled" {
                answer_held(server);
            }
            hold_or_serve(server, message);
        }),
    ),
    Kind::new(
        "answers-late",
        "answers the call when another comes, before that one",
        Defect::Message(|server, message| {
            if message["method"] == "tools/call" && !is_call(message, "defect") {
                answer_held(server);
            }
            hold_or_serve(server, message);
        }),
    ),
    Kind::new(
        "reverse-order",
        "waits for `after` calls and answers the last one first",
        Defect::Call(|server, request| {
            let held = server.hold(request);
            held.iter().rev().for_each(|held| server.serve(held));
        }),
    ),
    Kind::new(
        "pending-id",
        "sends a request with the id of the call, then answers the call",
        Defect::Call(|server, request| {
            server.send(&question(&request["id"], "roots/list", json!({})));
            server.serve(request);
        }),
    ),
    Kind::new(
        "unsolicited",
        "asks for a sample, a form, the roots and something unknown, then answers the call",
        Defect::Call(|server, request| {
            let sample = json!({"messages": [], "maxTokens": 10});
            let questions = [
                ("sampling/createMessage", sample),
                ("elicitation/create", form("Password?")),
                ("roots/list", json!({})),
                ("files/delete", json!({})),
            ];
            for (method, params) in questions {
                let id = format!("ask-{method}").into();
                server.send(&question(&id, method, params));
            }
            server.serve(request);
        }),
    ),
    Kind::new(
        "input-required-for-ever",
        "wants the same form filled in again and again",
        Defect::Call(|server, request| {
            let questions =
                json!({"who": {"method": "elicitation/create", "params": form("Who?")}});
            want(server, request, json!({"inputRequests": questions}));
        }),
    ),
    Kind::new(
        "state-for-ever",
        "wants the call made again and again with another state",
        Defect::Call(|server, request| want(server, request, json!({}))),
    ),
];

fn with_id(server: &Server, request: &Value, id: Value) {
    let mut answer = server.answer(request);
    answer["id"] = id;
    server.send(&answer);
}

fn hold_or_serve(server: &mut Server, message: &Value) {
    if is_call(message, "defect") {
        server.held.push(message.clone());
    } else {
        server.serve(message);
    }
}

fn answer_held(server: &mut Server) {
    for held in std::mem::take(&mut server.held) {
        server.serve(&held);
    }
}

fn want(server: &Server, request: &Value, mut result: Value) {
    result["resultType"] = "input_required".into();
    result["requestState"] = format!("round {}", server.received.len()).into();
    server.send(&success(&request["id"], result));
}
