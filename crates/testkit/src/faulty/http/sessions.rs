//! Kinds that lose or mistake the session of a client. They mean something in the handshake era
//! only.
//!
//! Fault matrix: 77, 78, 80.

use std::time::Duration;

use serde_json::{Value, json};

use super::exchange::{Exchange, JSON, Recorded, event};
use super::serving::SESSION;
use super::shared::Seen;
use super::{Defect, Kind};

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "session-lost-once",
        "has forgotten the session at the first call, and keeps the next one",
        Defect::Call(|exchange| {
            if exchange.session().is_some() && exchange.shared.count() == 1 {
                forget(exchange);
            }
            exchange.serve();
        }),
    ),
    Kind::new(
        "session-lost-always",
        "has forgotten the session at every call",
        Defect::Call(|exchange| {
            forget(exchange);
            exchange.serve();
        }),
    ),
    Kind::new(
        "session-lost-for-good",
        "has forgotten the session at the call, and answers no other initialize than the first",
        Defect::Method("POST", |exchange| {
            match exchange.message["method"].as_str() {
                Some("initialize") if exchange.shared.count() > 1 => {
                    exchange.send("503 Service Unavailable", &[], "");
                }
                Some("tools/call") => {
                    forget(exchange);
                    exchange.serve();
                }
                _ => exchange.serve(),
            }
        }),
    ),
    Kind::new(
        "session-lost-on-get",
        "answers GET as if there were no session",
        Defect::Method("GET", |exchange| {
            exchange.refuse("404 Not Found", -32001, "Session not found");
        }),
    ),
    Kind::new(
        "session-changes",
        "names another session in its answer to the call",
        Defect::Call(|exchange| {
            let body = exchange.answer().to_string();
            exchange.send("200 OK", &[JSON, (SESSION, "another")], body);
        }),
    ),
    Kind::new(
        "session-malformed",
        "names a session that is not visible ASCII",
        Defect::Method("POST", |exchange| greet(exchange, "two words\u{e9}")),
    ),
    Kind::new(
        "session-too-long",
        "names a session of 10 KiB",
        Defect::Method("POST", |exchange| greet(exchange, &"x".repeat(10 * 1024))),
    ),
    Kind::new(
        "session-not-given",
        "names no session and wants none",
        Defect::Method("POST", |exchange| match exchange.answer() {
            serde_json::Value::Null => exchange.send("202 Accepted", &[], ""),
            answer => exchange.send_json(&answer),
        }),
    ),
    Kind::new(
        "notification-silence",
        "never answers the post of a notification",
        Defect::Method("POST", |exchange| match exchange.message.get("id") {
            Some(_) => exchange.serve(),
            None => exchange.hold(),
        }),
    ),
    Kind::new(
        "answer-cut-once",
        "asks for roots during the call, and closes the connection that brings the first answer",
        Defect::Method("POST", |exchange| {
            let is_call = exchange.message["method"] == "tools/call";
            if is_call {
                let answer = exchange.answer();
                exchange.begin_events();
                exchange.chunk(event(
                    &json!({"jsonrpc": "2.0", "id": ASKED, "method": "roots/list"}),
                ));
                let is_answered = |seen: &Seen| {
                    let messages = seen.requests.iter().map(Recorded::message);
                    messages.filter(is_answer).count() == 2
                };
                if exchange.shared.wait_until(PATIENCE, &is_answered) {
                    exchange.chunk(event(&answer));
                    exchange.finish();
                }
            } else if !is_answer(&exchange.message) {
                exchange.serve();
            } else if exchange.shared.count() == 1 {
                exchange.close();
            } else {
                exchange.send("202 Accepted", &[], "");
            }
        }),
    ),
    Kind::new(
        "delete-silence",
        "never answers DELETE",
        Defect::Method("DELETE", |exchange| exchange.hold()),
    ),
    Kind::new(
        "delete-not-allowed",
        "answers DELETE with 405",
        Defect::Method("DELETE", |exchange| {
            exchange.send("405 Method Not Allowed", &[("Allow", "GET, POST")], "");
        }),
    ),
    Kind::new(
        "delete-error",
        "answers DELETE with 500",
        Defect::Method("DELETE", |exchange| {
            exchange.send("500 Internal Server Error", &[], "");
        }),
    ),
];

/// Is this the answer to the question of `answer-cut-once`?
fn is_answer(message: &Value) -> bool {
    message["id"] == ASKED && message.get("method").is_none()
}

fn forget(exchange: &Exchange<'_>) {
    if let Some(session) = exchange.session() {
        exchange.shared.end_session(session);
    }
}

/// Answers `initialize` with this session, anything else as it should be.
fn greet(exchange: &mut Exchange<'_>, session: &str) {
    if exchange.message["method"] == "initialize" {
        let body = exchange.answer().to_string();
        exchange.send("200 OK", &[JSON, (SESSION, session)], body);
    } else {
        exchange.serve();
    }
}

const ASKED: &str = "asked";
/// Longer than any client takes that answers at all.
const PATIENCE: Duration = Duration::from_secs(10);
