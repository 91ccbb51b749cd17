//! A span while it goes on, and what is sent of it.
//!
//! Its fields become attributes of their own types, but for those that say what an OpenTelemetry
//! span has places for: ids, name, kind, status.

use std::fmt::Debug;
use std::time::{Instant, SystemTime};

use switchboard_hub::{SpanId, TraceId};
use tracing::field::{Field, Visit};

/// A span that is over.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FinishedSpan {
    pub(crate) trace: TraceId,
    pub(crate) span: SpanId,
    pub(crate) parent: Option<SpanId>,
    pub(crate) flags: u32,
    pub(crate) state: String,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) began: SystemTime,
    pub(crate) ended: SystemTime,
    pub(crate) attributes: Vec<(&'static str, Value)>,
    pub(crate) is_error: bool,
}

/// The numbers are those of OTLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Number(i64),
    Float(f64),
    Truth(bool),
}

/// A span that goes on.
#[derive(Debug)]
pub(crate) struct Draft {
    began: SystemTime,
    clock: Instant,
    /// By their places in the span's list of fields.
    fields: Vec<(usize, &'static str, Value)>,
}

impl Draft {
    pub(crate) fn begin() -> Self {
        Self {
            began: SystemTime::now(),
            clock: Instant::now(),
            fields: Vec::with_capacity(USUAL_FIELDS),
        }
    }

    /// The span, if it is one of a trace that is recorded.
    pub(crate) fn finish(self, name: &'static str) -> Option<FinishedSpan> {
        let ended = self.began.checked_add(self.clock.elapsed());
        let (mut trace, mut span, mut parent) = (None, None, None);
        let (mut flags, mut is_error) = (0, false);
        let (mut state, mut shown, mut kind) = (None, None, Kind::Internal);
        let mut attributes = Vec::with_capacity(self.fields.len());
        for (_, field, value) in self.fields {
            match (field, value) {
                ("trace_id", Value::Text(text)) => trace = TraceId::parse(&text),
                ("span_id", Value::Text(text)) => span = SpanId::parse(&text),
                ("parent_span_id", Value::Text(text)) => parent = SpanId::parse(&text),
                ("trace_flags", Value::Number(number)) => flags = u32::try_from(number).ok()?,
                ("trace_state", Value::Text(text)) => state = Some(text),
                ("otel.name", Value::Text(text)) => shown = Some(text),
                ("otel.kind", Value::Text(text)) => {
                    kind = match text.as_str() {
                        "client" => Kind::Client,
                        "server" => Kind::Server,
                        _ => Kind::Internal,
                    };
                }
                ("otel.status_code", Value::Text(text)) => is_error = text == "ERROR",
                (field, value) => attributes.push((field, value)),
            }
        }
        if flags & SAMPLED == 0 {
            return None;
        }
        Some(FinishedSpan {
            trace: trace?,
            span: span?,
            parent,
            flags: flags & 0xff,
            state: state.unwrap_or_default(),
            name: shown.unwrap_or_else(|| name.to_owned()),
            kind,
            began: self.began,
            ended: ended.unwrap_or(self.began),
            attributes,
            is_error,
        })
    }

    fn set(&mut self, field: &Field, value: Value) {
        let index = field.index();
        match self.fields.iter_mut().find(|(known, ..)| *known == index) {
            Some((.., old)) => *old = value,
            None => self.fields.push((index, field.name(), value)),
        }
    }
}

impl Visit for Draft {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, Value::Text(shorten(value.to_owned())));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, Value::Number(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        match i64::try_from(value) {
            Ok(number) => self.set(field, Value::Number(number)),
            Err(_) => self.set(field, Value::Text(value.to_string())),
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, Value::Float(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, Value::Truth(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.set(field, Value::Text(shorten(format!("{value:?}"))));
    }
}

/// A server may call its tools what it likes.
fn shorten(mut text: String) -> String {
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
    }
    text
}

const SAMPLED: u32 = 1;
const LONGEST: usize = 1024;
/// As many as a call of a tool over HTTP has.
const USUAL_FIELDS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(fields: &[(&'static str, Value)]) -> Draft {
        let mut draft = Draft::begin();
        let places = fields.iter().cloned().enumerate();
        let placed = places.map(|(place, (name, value))| (place, name, value));
        draft.fields.extend(placed);
        draft
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[test]
    fn what_is_not_of_a_recorded_trace_is_not_sent() {
        let trace = ("trace_id", text("0af7651916cd43dd8448eb211c80319c"));
        let span = ("span_id", text("00f067aa0ba902b7"));
        let sampled = ("trace_flags", Value::Number(1));
        let all = [trace.clone(), span.clone(), sampled.clone()];
        let finished = draft(&all).finish("mcp.call").unwrap();
        assert_eq!(finished.name, "mcp.call");
        assert_eq!(finished.kind, Kind::Internal);
        assert!(finished.attributes.is_empty());
        for fields in [
            vec![],
            vec![trace.clone(), span.clone()],
            vec![trace.clone(), sampled.clone()],
            vec![span.clone(), sampled.clone()],
            vec![trace.clone(), span, ("trace_flags", Value::Number(0))],
            vec![trace, ("span_id", text("nonsense")), sampled],
        ] {
            assert_eq!(draft(&fields).finish("mcp.call"), None, "{fields:?}");
        }
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        assert_eq!(shorten("a".repeat(1024)).len(), 1024);
        assert_eq!(shorten("ä".repeat(2000)).len(), 1024);
        assert_eq!(shorten(format!("a{}", "ä".repeat(2000))).len(), 1023);
    }
}
