//! The machines and any frames: the input is a transcript, as `crates/protocol/tests/transcripts`
//! has them, and those are its seeds.
//!
//! What comes out is not compared with what the transcript expects: after a change nobody knows
//! what should. It is counted: no call has two outcomes, none is without one in the end, no request
//! has two answers, and what is sent can be read.

mod client;
mod server;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Map, Value};
use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject, Frame, Limits, Message};

/// Every call has one outcome at most, and one when all is over; every request has one answer at
/// most; what comes out is bounded and can be read.
pub fn transcript(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let script = Script::read(&text);
    if script.is_client {
        client::play(&script);
    } else {
        server::play(&script);
    }
}

/// A transcript, as far as there is one in the text.
struct Script<'a> {
    is_client: bool,
    is_http: bool,
    config: Map<String, Value>,
    lines: Vec<Line<'a>>,
}

/// `who[lane]> what`
struct Line<'a> {
    who: &'a str,
    lane: u64,
    what: &'a str,
}

impl<'a> Script<'a> {
    fn read(text: &'a str) -> Self {
        let mut script = Self {
            is_client: false,
            is_http: false,
            config: Map::new(),
            lines: Vec::new(),
        };
        for line in text.lines() {
            match line.split_once(": ") {
                Some(("Machine", rest)) => script.is_client = rest == "client",
                Some(("Wire", rest)) => script.is_http = rest == "http",
                Some(("Config", rest)) => {
                    script.config = serde_json::from_str(rest).unwrap_or_default();
                }
                _ => script.lines.extend(Line::read(line)),
            }
        }
        script
    }

    fn number(&self, name: &str, default: usize) -> usize {
        let number = self.config.get(name).and_then(Value::as_u64);
        number.map_or(default, |number| number.min(64) as usize)
    }

    fn duration(&self, name: &str) -> Option<Duration> {
        duration(self.config.get(name)?.as_str()?)
    }
}

impl<'a> Line<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (who, what) = line.split_once('>')?;
        let (who, lane) = who.split_once('[').unwrap_or((who, "0"));
        Some(Self {
            who,
            lane: lane.trim_end_matches(']').parse().ok()?,
            what: what.strip_prefix(' ').unwrap_or(what),
        })
    }

    fn words(&self) -> (&'a str, &'a str, &'a str) {
        let (first, rest) = self.what.split_once(' ').unwrap_or((self.what, ""));
        let (second, third) = rest.split_once(' ').unwrap_or((rest, ""));
        (first, second, third)
    }

    fn rest(&self) -> &'a str {
        self.what.split_once(' ').map_or("", |(_, rest)| rest)
    }
}

/// A machine on a clock that a script moves.
trait Stage {
    fn now(&mut self) -> &mut Instant;

    /// When the machine wants to be told the time.
    fn deadline(&self) -> Option<Instant>;

    fn tick(&mut self);

    fn wait(&mut self, time: Duration) {
        let until = *self.now() + time;
        // Every tick that was wanted leaves something to wait for, or nothing.
        for _ in 0..1_000 {
            match self.deadline().filter(|next| *next <= until) {
                Some(next) => *self.now() = next.max(*self.now()),
                None => break,
            }
            self.tick();
            let (now, next) = (*self.now(), self.deadline());
            assert!(next.is_none_or(|next| next > now), "it does not move");
        }
        *self.now() = until;
    }
}

/// `250ms`, `2s`, `10min`, and never for ever.
fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u32 = digits.parse().ok()?;
    let unit = match &text[digits.len()..] {
        "ms" => Duration::from_millis(1),
        "s" => Duration::from_secs(1),
        _ => Duration::from_secs(60),
    };
    Some(unit * (number % 10_000))
}

/// Names stand for keys that count from one.
#[derive(Default)]
struct Names<'a>(BTreeMap<&'a str, u64>);

impl<'a> Names<'a> {
    fn key(&mut self, name: &'a str) -> u64 {
        let next = self.0.len() as u64 + 1;
        *self.0.entry(name).or_insert(next)
    }
}

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

/// Parameters or a result, if the text is such.
fn payload(text: &str) -> Option<Payload> {
    let text = if text.is_empty() { "{}" } else { text };
    let payload = Payload::parse(bytes(text), &Limits::default()).ok()?;
    payload.is_object().then_some(payload)
}

fn error(text: &str) -> ErrorObject {
    let json: Value = serde_json::from_str(text).unwrap_or_default();
    let code = json["code"].as_i64().unwrap_or(-32603);
    ErrorObject::new(ErrorCode(code), json["message"].as_str().unwrap_or("no"))
}

/// What is sent is one line, which is read as what it is.
fn check_readable(message: &Message) {
    let line = message.to_bytes();
    assert!(!line.contains(&b'\n') && !line.contains(&b'\r'));
    let mut limits = Limits::default();
    limits.depth = 1_000;
    match Frame::read(&line, &limits) {
        Ok(Frame::Single(again)) => assert_eq!(
            std::mem::discriminant(&again),
            std::mem::discriminant(message)
        ),
        other => panic!("{line:?} is read as {other:?}"),
    }
}

/// No input brings out more than this; a batch has its own limit, which is above it.
const MOST_OUTPUTS: usize = 4_096;
