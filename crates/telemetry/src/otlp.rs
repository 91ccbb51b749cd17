//! What is sent, as messages of OTLP.
//!
//! A list of spans, or the numbers of one moment, with who sends them. The numbers of the fields
//! are those of opentelemetry-proto 1.x.
//!
//! Specification: opentelemetry-proto: common, resource, trace, metrics; collector services.

mod metrics;
mod spans;

use std::time::{SystemTime, UNIX_EPOCH};

use crate::draft::Value;
use crate::protobuf::{self, Reader, Writer};

pub(crate) use metrics::metrics_request;
pub(crate) use spans::spans_request;

/// Who sends: the attributes of a resource.
pub(crate) type Resource = [(String, String)];

fn resource(out: &mut Writer, field: u32, resource: &Resource) {
    out.message(field, |out| {
        for (key, value) in resource {
            attribute(out, 1, key, |out| out.text_always(TEXT, value));
        }
    });
}

/// Who says what is sent.
fn scope(out: &mut Writer, field: u32) {
    out.message(field, |out| {
        out.text(1, "switchboard-hub");
        out.text(2, env!("CARGO_PKG_VERSION"));
    });
}

fn attribute(out: &mut Writer, field: u32, key: &str, value: impl FnOnce(&mut Writer)) {
    out.message(field, |out| {
        out.text(1, key);
        out.message(2, value);
    });
}

fn text_attribute(out: &mut Writer, field: u32, key: &str, value: &str) {
    attribute(out, field, key, |out| out.text_always(TEXT, value));
}

fn number_attribute(out: &mut Writer, field: u32, key: &str, value: i64) {
    attribute(out, field, key, |out| {
        out.number_always(NUMBER, value.cast_unsigned());
    });
}

fn value_attribute(out: &mut Writer, field: u32, key: &str, value: &Value) {
    match value {
        Value::Text(text) => text_attribute(out, field, key, text),
        Value::Number(number) => number_attribute(out, field, key, *number),
        Value::Float(number) => {
            attribute(out, field, key, |out| out.double_always(FLOAT, *number));
        }
        Value::Truth(is_true) => attribute(out, field, key, |out| {
            out.number_always(TRUTH, u64::from(*is_true));
        }),
    }
}

fn nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// What a collector says of what it took: how much of it it did not want after all, and why.
pub(crate) fn rejected(answer: &[u8]) -> Option<(u64, String)> {
    let (_, partial) = Reader(answer).find(|(field, _)| *field == 1)?;
    let protobuf::Value::Bytes(partial) = partial else {
        return None;
    };
    let (mut number, mut words) = (0, String::new());
    for (field, value) in Reader(partial) {
        match (field, value) {
            (1, protobuf::Value::Number(rejected)) => number = rejected,
            (2, protobuf::Value::Bytes(text)) => {
                let text = text
                    .get(..text.len().min(LONGEST_WORDS))
                    .unwrap_or_default();
                words = String::from_utf8_lossy(text).into_owned();
            }
            _ => {}
        }
    }
    (number > 0 || !words.is_empty()).then_some((number, words))
}

// Of `AnyValue`.
const TEXT: u32 = 1;
const TRUTH: u32 = 2;
const NUMBER: u32 = 3;
const FLOAT: u32 = 4;

const LONGEST_WORDS: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_may_take_a_part_only() {
        assert_eq!(rejected(b""), None);
        assert_eq!(rejected(b"nonsense"), None);
        let answer = |number, words: &str| {
            let mut out = Writer::default();
            out.message(1, |out| {
                out.number(1, number);
                out.text(2, words);
            });
            rejected(&out.into_bytes())
        };
        assert_eq!(answer(0, ""), None);
        assert_eq!(answer(3, "too old"), Some((3, "too old".to_owned())));
        assert_eq!(answer(0, "use gzip"), Some((0, "use gzip".to_owned())));
    }
}
