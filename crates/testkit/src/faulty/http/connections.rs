//! Kinds that break HTTP itself, or the connection below it.
//!
//! Fault matrix: 62, 63, 69 to 71.

use super::exchange::JSON;
use super::{Defect, Kind};
use crate::faulty::message::{success, text};

pub(super) const KINDS: &[Kind] = &[
    Kind::new("honest", "does nothing wrong", Defect::None),
    Kind::new(
        "silence",
        "reads the request and says nothing",
        Defect::Call(|exchange| exchange.hold()),
    ),
    Kind::new(
        "half-head",
        "writes half of the head and says no more",
        Defect::Call(|exchange| {
            exchange.raw("HTTP/1.1 200 OK\r\nContent-Ty");
            exchange.hold();
        }),
    ),
    Kind::new(
        "slow-body",
        "writes its answer byte by byte, one in 50 ms",
        Defect::Call(|exchange| {
            let body = exchange.answer().to_string();
            exchange.raw(head(body.len()));
            for byte in body.into_bytes() {
                if !exchange.pause(50) || !exchange.raw([byte]) {
                    break;
                }
            }
        }),
    ),
    Kind::new(
        "stalled-body",
        "writes half of its answer and says no more",
        Defect::Call(|exchange| {
            let body = exchange.answer().to_string();
            exchange.raw(head(body.len()));
            exchange.raw(body.as_bytes().split_at(body.len() / 2).0);
            exchange.hold();
        }),
    ),
    Kind::new(
        "byte-by-byte",
        "writes head and body byte by byte, quickly",
        Defect::Call(|exchange| {
            let body = exchange.answer().to_string();
            for byte in (head(body.len()) + &body).into_bytes() {
                exchange.raw([byte]);
            }
        }),
    ),
    Kind::new(
        "not-http",
        "answers in another protocol",
        Defect::Call(|exchange| {
            exchange.raw("220 mail.example ESMTP ready\r\n");
            exchange.close();
        }),
    ),
    Kind::new(
        "empty-reply",
        "closes the connection without a byte",
        Defect::Call(|exchange| exchange.close()),
    ),
    Kind::new(
        "reset",
        "resets the connection when it has the request",
        Defect::Call(|exchange| exchange.reset()),
    ),
    Kind::new(
        "bad-chunk",
        "writes a chunk whose size is no number",
        Defect::Call(|exchange| {
            exchange.begin("200 OK", &[JSON]);
            exchange.raw("zz\r\n{}\r\n0\r\n\r\n");
            exchange.hold();
        }),
    ),
    Kind::new(
        "two-lengths",
        "says two different lengths of its body",
        Defect::Call(|exchange| {
            let body = exchange.answer().to_string();
            exchange.send("200 OK", &[JSON, ("Content-Length", "2")], body);
        }),
    ),
    Kind::new(
        "header-bomb",
        "answers with headers without end",
        Defect::Call(|exchange| {
            exchange.raw("HTTP/1.1 200 OK\r\n");
            while exchange.raw("X-Bomb: 0123456789\r\n".repeat(1000)) {}
        }),
    ),
    Kind::new(
        "long-header",
        "answers with one header of 1 MiB",
        Defect::Call(|exchange| {
            let body = exchange.answer().to_string();
            let bomb = "x".repeat(1024 * 1024);
            exchange.send("200 OK", &[JSON, ("X-Bomb", &bomb)], body);
        }),
    ),
    Kind::new(
        "closes-idle",
        "closes the connection after each answer and does not say so before",
        Defect::Every(|exchange| {
            exchange.serve();
            exchange.close();
        }),
    ),
    Kind::new(
        "extra-response",
        "leaves an answer on the connection that nobody asked for, with the id of the next call",
        Defect::Call(|exchange| {
            let next = exchange.message["id"].as_i64().unwrap_or(0) + 1;
            let extra = success(&next.into(), text("not asked for"));
            // In one write: what comes later may as well be the answer to the next request.
            let answers = [exchange.answer(), extra].map(|answer| {
                let body = answer.to_string();
                head(body.len()) + &body
            });
            exchange.raw(answers.concat());
        }),
    ),
    Kind::new(
        "interim",
        "sends 103 before its answer",
        Defect::Call(|exchange| {
            exchange.raw("HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n");
            exchange.serve();
        }),
    ),
];

/// The head of a JSON answer of this length.
pub(super) fn head(length: usize) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n")
}
