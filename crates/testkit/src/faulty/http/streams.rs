//! Kinds whose streams a client comes back for, or cannot open. They mean something in the
//! handshake era only.
//!
//! Fault matrix: 76, 79.

use super::exchange::{Exchange, event};
use super::{Defect, Kind};
use crate::faulty::honest::is_call;
use crate::faulty::message::tools_changed;

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "resumable",
        "gives an id and 30 ms to wait, closes the stream, and delivers to whoever comes back",
        Defect::Every(|exchange| match exchange.request.header("last-event-id") {
            Some(_) => deliver(exchange),
            None => begin_or_serve(exchange),
        }),
    ),
    Kind::new(
        "resumable-later",
        "the same, but closes the resumed stream twice before it delivers",
        Defect::Every(|exchange| match exchange.request.header("last-event-id") {
            Some(_) if exchange.shared.count() <= 2 => {
                exchange.begin_events();
                exchange.chunk(": not yet\n\n");
                exchange.finish();
            }
            Some(_) => deliver(exchange),
            None => begin_or_serve(exchange),
        }),
    ),
    Kind::new(
        "resume-refused",
        "gives an id, closes the stream, and does not know the id of whoever comes back",
        Defect::Every(|exchange| match exchange.request.header("last-event-id") {
            Some(_) => exchange.refuse("400 Bad Request", -32000, "Unknown event ID"),
            None => begin_or_serve(exchange),
        }),
    ),
    Kind::new(
        "resume-session-lost",
        "gives an id, closes the stream, and knows no session of whoever comes back",
        Defect::Every(|exchange| match exchange.request.header("last-event-id") {
            Some(_) => exchange.refuse("404 Not Found", -32001, "Session not found"),
            None => begin_or_serve(exchange),
        }),
    ),
    Kind::new(
        "resume-cut",
        "gives an id, and closes every resumed stream without an answer",
        Defect::Every(|exchange| match exchange.request.header("last-event-id") {
            Some(_) => {
                exchange.begin_events();
                exchange.close();
            }
            None => begin_or_serve(exchange),
        }),
    ),
    Kind::new(
        "get-not-allowed",
        "answers GET with 405",
        Defect::Method("GET", |exchange| {
            exchange.send("405 Method Not Allowed", &[("Allow", "POST")], "");
        }),
    ),
    Kind::new(
        "get-error",
        "answers GET with 500",
        Defect::Method("GET", |exchange| {
            exchange.send("500 Internal Server Error", &[], "");
        }),
    ),
    Kind::new(
        "get-closes",
        "closes the stream of GET at once",
        Defect::Method("GET", |exchange| {
            exchange.begin_events();
            exchange.finish();
            exchange.close();
        }),
    ),
    Kind::new(
        "get-silence",
        "never answers GET",
        Defect::Method("GET", |exchange| exchange.hold()),
    ),
    Kind::new(
        "get-flood",
        "sends notifications without end on the stream of GET",
        Defect::Method("GET", |exchange| {
            let events = event(&tools_changed(None)).repeat(100);
            exchange.begin_events();
            while exchange.chunk(&events) {}
        }),
    ),
];

/// Primes a stream for the call and closes it; anything else as it should be.
fn begin_or_serve(exchange: &mut Exchange<'_>) {
    if is_call(&exchange.message, "defect") {
        let id = format!("event-{}", exchange.message["id"]);
        exchange.shared.keep(&id, exchange.answer());
        exchange.begin_events();
        exchange.chunk(format!("id: {id}\nretry: 30\ndata:\n\n"));
        exchange.finish();
    } else {
        exchange.serve();
    }
}

/// Gives a client that comes back the answer that was kept for it.
fn deliver(exchange: &mut Exchange<'_>) {
    let id = exchange.request.header("last-event-id").unwrap_or_default();
    if let Some(answer) = exchange.shared.kept(id) {
        let event = format!("id: {id}-answer\n{}", event(&answer));
        exchange.begin_events();
        exchange.chunk(event);
        exchange.finish();
    } else {
        exchange.send("400 Bad Request", &[], "");
    }
}
