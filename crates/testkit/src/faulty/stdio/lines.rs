//! Kinds whose messages are right and whose lines are not.
//!
//! Fault matrix: 10 to 13, 15.

use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::server::end;
use super::{Defect, Kind};

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "noise-before",
        "prints a banner on stdout before anything else",
        Defect::Start(|server| server.raw("Welcome!\nlistening on stdio {\n\n")),
    ),
    Kind::new(
        "noise-between",
        "prints a log line on stdout before each message",
        Defect::Line(|pipe, text| pipe.raw(format!("[info] writing\n{text}\n").as_bytes())),
    ),
    Kind::new(
        "noise-after",
        "prints a log line on stdout behind each message",
        Defect::Line(|pipe, text| pipe.raw(format!("{text}\n{{\"level\":30}}\n").as_bytes())),
    ),
    Kind::new(
        "noise-at-end",
        "prints on stdout when its input has ended",
        Defect::End(|server| server.raw("Goodbye!\n")),
    ),
    Kind::new(
        "glued",
        "prints text before the answer to the call, on the same line",
        Defect::Call(|server, request| {
            let answer = server.answer(request);
            server.raw(format!("debug: {answer}\n"));
        }),
    ),
    Kind::new(
        "glued-behind",
        "prints text behind the answer to the call, on the same line",
        Defect::Call(|server, request| {
            let answer = server.answer(request);
            server.raw(format!("{answer} done in 3 ms\n"));
        }),
    ),
    Kind::new(
        "crlf",
        "ends its lines with CR LF",
        Defect::Line(|pipe, text| pipe.raw(format!("{text}\r\n").as_bytes())),
    ),
    Kind::new(
        "bom",
        "begins its output with a byte order mark",
        Defect::Start(|server| server.raw("\u{feff}")),
    ),
    Kind::new(
        "bom-on-each-line",
        "begins each line with a byte order mark",
        Defect::Line(|pipe, text| pipe.raw(format!("\u{feff}{text}\n").as_bytes())),
    ),
    Kind::new(
        "blank-lines",
        "writes blank lines around each message",
        Defect::Line(|pipe, text| pipe.raw(format!("\n\r\n  {text}\n \t\n").as_bytes())),
    ),
    Kind::new(
        "line-separators",
        "has U+2028, U+2029, U+0085 and a form feed in its texts, unescaped where JSON allows it",
        Defect::Call(|server, request| {
            let mut request = request.clone();
            request["params"]["arguments"]["text"] = SEPARATORS.into();
            let answer = server.answer(&request);
            server.send(&answer);
        }),
    ),
    Kind::new(
        "byte-by-byte",
        "writes each byte by itself",
        Defect::Line(|pipe, text| {
            for byte in format!("{text}\n").into_bytes() {
                pipe.raw(&[byte]);
                thread::sleep(Duration::from_micros(20));
            }
        }),
    ),
    Kind::new(
        "one-write",
        "waits for `after` calls and writes all answers at once",
        Defect::Call(|server, request| {
            let held = server.hold(request);
            let lines = held.iter().map(|held| format!("{}\n", server.answer(held)));
            server.raw(lines.collect::<String>());
        }),
    ),
    Kind::new(
        "complete-half-line",
        "answers the call without a line feed and exits",
        Defect::Call(|server, request| {
            server.raw(server.answer(request).to_string());
            end(0)
        }),
    ),
    Kind::new(
        "truncated-half-line",
        "writes half of an answer and exits",
        Defect::Call(|server, request| {
            server.raw(half(&server.answer(request)));
            end(0)
        }),
    ),
];

/// The text that `line-separators` answers with.
const SEPARATORS: &str = "a\u{2028}b\u{2029}c\u{85}d\u{c}e";

/// The first half of a message.
pub(super) fn half(message: &Value) -> String {
    let text = message.to_string();
    text.chars().take(text.chars().count() / 2).collect()
}
