//! Kinds that speak the transport of 2024-11-05 only.
//!
//! GET gives a stream whose first event says where to post; answers come on that stream.
//!
//! Fault matrix: 81.

use std::io::Write;

use super::exchange::{Exchange, event};
use super::{Defect, Kind};
use crate::faulty::honest::is_call;

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "old-sse",
        "speaks the old transport as it should be",
        Defect::Every(|exchange| serve(exchange, "event: endpoint\ndata: /post?s=1\n\n")),
    ),
    Kind::new(
        "old-sse-other-origin",
        "wants the client to post to another port",
        Defect::Every(|exchange| {
            let elsewhere = exchange.shared.elsewhere;
            serve(
                exchange,
                &format!("event: endpoint\ndata: http://{elsewhere}/post\n\n"),
            );
        }),
    ),
    Kind::new(
        "old-sse-no-endpoint",
        "begins its stream with a message instead of the endpoint",
        Defect::Every(|exchange| serve(exchange, "event: message\ndata: {}\n\n")),
    ),
    Kind::new(
        "old-sse-silence",
        "never says where to post",
        Defect::Every(|exchange| serve(exchange, ": hello\n\n")),
    ),
    Kind::new(
        "old-sse-file",
        "wants the client to post to a file",
        Defect::Every(|exchange| serve(exchange, "event: endpoint\ndata: file:///tmp/x\n\n")),
    ),
    Kind::new(
        "old-sse-closes",
        "closes its stream when the call comes",
        Defect::Every(|exchange| {
            if is_call(&exchange.message, "defect") {
                if let Some(stream) = exchange.shared.old_stream() {
                    stream.shutdown(std::net::Shutdown::Both).ok();
                }
                exchange.send("202 Accepted", &[], "");
            } else {
                serve(exchange, "event: endpoint\ndata: /post?s=1\n\n");
            }
        }),
    ),
    Kind::new(
        "old-sse-refuses-post",
        "answers the post of the call with 500",
        Defect::Every(|exchange| {
            if is_call(&exchange.message, "defect") {
                exchange.send("500 Internal Server Error", &[], "");
            } else {
                serve(exchange, "event: endpoint\ndata: /post?s=1\n\n");
            }
        }),
    ),
];

/// The old transport, with this as the beginning of its stream.
fn serve(exchange: &mut Exchange<'_>, first: &str) {
    let is_post = exchange.request.path.starts_with("/post");
    match exchange.request.method.as_str() {
        "GET" => {
            exchange.begin_events();
            exchange.shared.set_old_stream(exchange.request.connection);
            exchange.chunk(first);
            exchange.hold();
        }
        "POST" if is_post => {
            let answer = exchange.answer();
            let stream = exchange.shared.old_stream();
            exchange.send("202 Accepted", &[], "");
            if let Some(mut stream) = stream.filter(|_| !answer.is_null()) {
                let event = event(&answer);
                let chunk = format!("{:x}\r\n{event}\r\n", event.len());
                stream.write_all(chunk.as_bytes()).ok();
            }
        }
        _ => exchange.send("405 Method Not Allowed", &[("Allow", "GET")], ""),
    }
}
