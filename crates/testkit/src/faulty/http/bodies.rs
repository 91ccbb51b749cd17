//! Kinds whose answer has the right status and the wrong body.
//!
//! Fault matrix: 66 to 68, and of 14, 18, 20 what concerns HTTP.

use serde_json::json;

use super::connections::head;
use super::exchange::{Exchange, HTML, JSON};
use super::statuses::PAGE;
use super::{Defect, Kind};
use crate::faulty::message::log;

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "html-ok",
        "answers with a page and 200",
        Defect::Call(|exchange| exchange.send("200 OK", &[HTML], PAGE)),
    ),
    Kind::new(
        "no-content-type",
        "answers without saying what it is",
        Defect::Call(|exchange| typed(exchange, &[])),
    ),
    Kind::new(
        "odd-content-type",
        "answers with a content type in odd case and with parameters",
        Defect::Call(|exchange| {
            typed(
                exchange,
                &[("CONTENT-TYPE", "Application/JSON ; Charset=\"UTF-8\"")],
            );
        }),
    ),
    Kind::new(
        "text-content-type",
        "answers with JSON and calls it text",
        Defect::Call(|exchange| typed(exchange, &[("Content-Type", "text/plain")])),
    ),
    Kind::new(
        "truncated-body",
        "closes the connection before the length that it has said",
        Defect::Call(|exchange| {
            let body = exchange.answer().to_string();
            exchange.raw(head(body.len() + 100) + &body);
            exchange.close();
        }),
    ),
    Kind::new(
        "truncated-chunks",
        "closes the connection before the last chunk",
        Defect::Call(|exchange| {
            let body = exchange.answer().to_string();
            exchange.begin("200 OK", &[JSON]);
            exchange.chunk(body);
            exchange.close();
        }),
    ),
    Kind::new(
        "trailing-garbage",
        "answers with text behind the message",
        Defect::Call(|exchange| {
            let body = exchange.answer().to_string() + "\n<!-- served by a proxy -->";
            exchange.send("200 OK", &[JSON], body);
        }),
    ),
    Kind::new(
        "invalid-json",
        "answers with half of a message and the right length",
        Defect::Call(|exchange| {
            let body = exchange.answer().to_string();
            exchange.send(
                "200 OK",
                &[JSON],
                body.as_bytes().split_at(body.len() / 2).0,
            );
        }),
    ),
    Kind::new(
        "invalid-utf8",
        "answers with bytes that are not UTF-8",
        Defect::Call(|exchange| {
            let body = exchange
                .answer()
                .to_string()
                .replace("as it should be", "?");
            let body = body.into_bytes().into_iter();
            let body = body.map(|byte| if byte == b'?' { 0xff } else { byte });
            exchange.send("200 OK", &[JSON], body.collect::<Vec<_>>());
        }),
    ),
    Kind::new(
        "deep-nesting",
        "answers with 200 000 arrays in each other",
        Defect::Call(|exchange| {
            exchange.send(
                "200 OK",
                &[JSON],
                "[".repeat(200_000) + &"]".repeat(200_000),
            );
        }),
    ),
    Kind::new(
        "endless-body",
        "answers with a message that never ends, in chunks",
        Defect::Call(|exchange| {
            let body = exchange.answer().to_string();
            exchange.begin("200 OK", &[JSON]);
            exchange.chunk(body.trim_end_matches('}'));
            while exchange.chunk([b' '; 64 * 1024]) {}
        }),
    ),
    Kind::new(
        "oversized-body",
        "answers with 64 MiB, and says so before",
        Defect::Call(|exchange| {
            let body = exchange.answer().to_string();
            let length = body.len() + 64 * 1024 * 1024;
            exchange.raw(head(length) + &body);
            // White space is part of a message.
            let spaces = [b' '; 64 * 1024];
            let _is_read = (0..1024).all(|_| exchange.raw(spaces));
        }),
    ),
    Kind::new(
        "gzip",
        "answers with a compressed body that nobody asked for",
        Defect::Call(|exchange| {
            let headers = [JSON, ("Content-Encoding", "gzip")];
            let zeros = [0; 4096];
            exchange.send("200 OK", &headers, [GZIP, zeros.as_slice()].concat());
        }),
    ),
    Kind::new(
        "wrong-id",
        "answers with an id that nobody used",
        Defect::Call(|exchange| {
            let mut answer = exchange.answer();
            answer["id"] = 1_000_000.into();
            exchange.send_json(&answer);
        }),
    ),
    Kind::new(
        "id-as-string",
        "answers with the id as a string",
        Defect::Call(|exchange| {
            let mut answer = exchange.answer();
            answer["id"] = answer["id"].to_string().into();
            exchange.send_json(&answer);
        }),
    ),
    Kind::new(
        "batch",
        "answers with an array of messages",
        Defect::Call(|exchange| {
            let answer = exchange.answer();
            exchange.send_json(&json!([answer]));
        }),
    ),
    Kind::new(
        "notification-as-answer",
        "answers with a notification instead of a response",
        Defect::Call(|exchange| {
            exchange.send_json(&log("hello"));
        }),
    ),
];

/// Answers as it should, with these headers.
fn typed(exchange: &mut Exchange<'_>, headers: &[(&str, &str)]) {
    let body = exchange.answer().to_string();
    exchange.send("200 OK", headers, body);
}

/// How a gzip file begins.
const GZIP: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
