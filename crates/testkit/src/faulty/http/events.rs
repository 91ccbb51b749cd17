//! Kinds that answer with an event stream, in all the forms that there are.
//!
//! Fault matrix: 73 to 75.

use serde_json::Value;

use super::exchange::{Exchange, event};
use super::{Defect, Kind};
use crate::faulty::message::{log, success, text};

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "events",
        "answers with an event stream as it should be",
        Defect::Call(|exchange| stream(exchange, |answer| event(&answer))),
    ),
    Kind::new(
        "events-cr",
        "ends the lines of its events with CR",
        Defect::Call(|exchange| stream(exchange, |answer| event(&answer).replace('\n', "\r"))),
    ),
    Kind::new(
        "events-crlf",
        "ends the lines of its events with CR LF",
        Defect::Call(|exchange| stream(exchange, |answer| event(&answer).replace('\n', "\r\n"))),
    ),
    Kind::new(
        "events-bom",
        "begins its stream with a byte order mark",
        Defect::Call(|exchange| stream(exchange, |answer| format!("\u{feff}{}", event(&answer)))),
    ),
    Kind::new(
        "events-comments",
        "writes comments between and inside its events",
        Defect::Call(|exchange| {
            stream(exchange, |answer| {
                format!(": hello\n\n:\n:x\ndata: {answer}\n: y\n\n: bye\n\n")
            });
        }),
    ),
    Kind::new(
        "events-unknown-fields",
        "writes fields that nobody knows, and some without a colon",
        Defect::Call(|exchange| {
            stream(exchange, |answer| {
                format!("foo: bar\nnonsense\nretry: soon\nid\ndata:{answer}\n\n")
            });
        }),
    ),
    Kind::new(
        "events-split-data",
        "writes its message as many data lines",
        Defect::Call(|exchange| {
            stream(exchange, |answer| {
                let lines = serde_json::to_string_pretty(&answer).unwrap_or_default();
                let lines = lines.lines().map(|line| format!("data: {line}\n"));
                lines.collect::<String>() + "\n"
            });
        }),
    ),
    Kind::new(
        "events-empty",
        "writes events without data, and ones with empty data",
        Defect::Call(|exchange| {
            stream(exchange, |answer| {
                format!(
                    "\n\n\nevent: message\n\ndata\n\ndata:\n\n{}",
                    event(&answer)
                )
            });
        }),
    ),
    Kind::new(
        "events-other-type",
        "writes events of other types, and one that is no JSON",
        Defect::Call(|exchange| {
            stream(exchange, |answer| {
                format!("event: ping\ndata: 1\n\ndata: hello\n\n{}", event(&answer))
            });
        }),
    ),
    Kind::new(
        "events-byte-by-byte",
        "writes each byte of its stream as a chunk of its own",
        Defect::Call(|exchange| {
            let answer = exchange.answer();
            exchange.begin_events();
            for byte in event(&answer).into_bytes() {
                exchange.chunk([byte]);
            }
            exchange.finish();
        }),
    ),
    Kind::new(
        "events-between",
        "writes notifications and answers to nobody around the answer",
        Defect::Call(|exchange| {
            stream(exchange, |answer| {
                let log = log("hello");
                let stranger = success(&1_000_000.into(), text("a stranger's"));
                let again = success(&answer["id"], text("second"));
                [&log, &stranger, &log, &answer, &again].map(event).concat()
            });
        }),
    ),
    Kind::new(
        "events-no-answer",
        "ends its stream without an answer",
        Defect::Call(|exchange| stream(exchange, |_| ": nothing\n\n".to_owned())),
    ),
    Kind::new(
        "events-cut",
        "closes the connection in the middle of the event",
        Defect::Call(|exchange| {
            let event = event(&exchange.answer());
            exchange.begin_events();
            exchange.chunk(event.as_bytes().split_at(event.len() / 2).0);
            exchange.close();
        }),
    ),
    Kind::new(
        "events-unfinished",
        "ends its stream before the blank line of the event",
        Defect::Call(|exchange| stream(exchange, |answer| format!("data: {answer}\n"))),
    ),
    Kind::new(
        "events-keep-alive",
        "writes comments every 20 ms and never the answer",
        Defect::Call(|exchange| {
            exchange.begin_events();
            while exchange.pause(20) && exchange.chunk(": still here\n\n") {}
        }),
    ),
    Kind::new(
        "events-endless",
        "writes an event that never ends",
        Defect::Call(|exchange| {
            exchange.begin_events();
            exchange.chunk("data: {\"jsonrpc\":\"2.0\",\"x\":\"");
            while exchange.chunk([b'x'; 64 * 1024]) {}
        }),
    ),
    Kind::new(
        "events-endless-lines",
        "writes an event of data lines without end",
        Defect::Call(|exchange| {
            exchange.begin_events();
            while exchange.chunk("data: x\n".repeat(8 * 1024)) {}
        }),
    ),
    Kind::new(
        "events-flood",
        "writes 100 000 notifications before the answer",
        Defect::Call(|exchange| {
            let answer = exchange.answer();
            let logs = event(&log("flood")).repeat(1000);
            exchange.begin_events();
            let is_read = (0..100).all(|_| exchange.chunk(&logs));
            if is_read {
                exchange.chunk(event(&answer));
            }
            exchange.finish();
        }),
    ),
    Kind::new(
        "events-stay-open",
        "leaves its stream open after the answer",
        Defect::Call(|exchange| {
            let answer = exchange.answer();
            exchange.begin_events();
            exchange.chunk(event(&answer));
            exchange.hold();
        }),
    ),
];

/// A stream of this text, which ends as it should.
fn stream(exchange: &mut Exchange<'_>, text: impl FnOnce(Value) -> String) {
    let text = text(exchange.answer());
    exchange.begin_events();
    exchange.chunk(text);
    exchange.finish();
}
