//! Where a call stands among the calls of many systems: which trace, below which span.
//!
//! What callers give us is checked and bounded before it goes on to a server. Nothing is decided
//! here about when a trace is written down; a trace that its beginner does not record is not
//! recorded by us.
//!
//! Specification: 2026-07-28 basic (`_meta`, OpenTelemetry trace context); W3C Trace Context
//! level 1; W3C Baggage.

mod baggage;
mod id;
mod state;

use std::fmt;
use std::sync::Arc;

use switchboard_client::types::{Meta, meta_key};

pub use id::{SpanId, TraceId};

/// One span of a trace, as it is told to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    trace: TraceId,
    span: SpanId,
    is_sampled: bool,
    state: Option<Arc<str>>,
    baggage: Option<Arc<str>>,
}

impl TraceContext {
    /// A trace that begins here, and is recorded.
    pub fn begin() -> Self {
        let (trace, span) = id::both();
        Self {
            trace,
            span,
            is_sampled: true,
            state: None,
            baggage: None,
        }
    }

    /// Reads a `traceparent`.
    ///
    /// One of a later version is read as far as this one goes, as the specification wants it.
    ///
    /// # Errors
    /// When it is none. The specification wants a new trace to be begun then.
    pub fn parse(traceparent: &str) -> Result<Self, TraceError> {
        let text = traceparent.as_bytes();
        if text.len() < LENGTH || text.len() > LONGEST {
            return Err(TraceError::Length(text.len()));
        }
        let mut parts = traceparent.splitn(5, '-');
        let mut part = |length| parts.next().filter(|part: &&str| part.len() == length);
        let (Some(version), Some(trace), Some(span), Some(flags)) =
            (part(2), part(32), part(16), part(2))
        else {
            return Err(TraceError::Shape);
        };
        let [version] = id::bytes(version).ok_or(TraceError::Shape)?;
        if version == 0xff || version == 0 && text.len() != LENGTH {
            return Err(TraceError::Version);
        }
        let [flags] = id::bytes(flags).ok_or(TraceError::Shape)?;
        Ok(Self {
            trace: TraceId::parse(trace).ok_or(TraceError::TraceId)?,
            span: SpanId::parse(span).ok_or(TraceError::SpanId)?,
            // Bits of which nothing is known are not passed on.
            is_sampled: flags & SAMPLED != 0,
            state: None,
            baggage: None,
        })
    }

    /// What the `_meta` of a request says of its caller. None without a trace that can be read.
    pub fn of_meta(meta: &Meta) -> Option<Self> {
        let context = Self::parse(meta.traceparent().ok()??).ok()?;
        let text = |found: Result<Option<&str>, _>| found.ok().flatten().map(str::to_owned);
        let context = match text(meta.tracestate()) {
            Some(state) => context.with_state(&state),
            None => context,
        };
        Some(match text(meta.baggage()) {
            Some(baggage) => context.with_baggage(&baggage),
            None => context,
        })
    }

    /// With what vendors have added. What is not well formed is left out as a whole, what is
    /// long is shortened, as the specification says.
    pub fn with_state(mut self, tracestate: &str) -> Self {
        self.state = state::checked(tracestate);
        self
    }

    /// With what the caller wants every system to know. What is not well formed is left out as a
    /// whole. Servers of others will read it.
    pub fn with_baggage(mut self, baggage: &str) -> Self {
        self.baggage = baggage::checked(baggage);
        self
    }

    /// Whether the trace is to be recorded.
    pub const fn with_sampled(mut self, is_sampled: bool) -> Self {
        self.is_sampled = is_sampled;
        self
    }

    /// A new span below this one.
    pub fn child(&self) -> Self {
        Self {
            span: SpanId::random(),
            ..self.clone()
        }
    }

    /// The trace.
    pub const fn trace_id(&self) -> TraceId {
        self.trace
    }

    /// The span.
    pub const fn span_id(&self) -> SpanId {
        self.span
    }

    /// Is the trace recorded by whoever has begun it?
    pub const fn is_sampled(&self) -> bool {
        self.is_sampled
    }

    /// What vendors have added.
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// What the caller wants every system to know.
    pub fn baggage(&self) -> Option<&str> {
        self.baggage.as_deref()
    }

    /// The value of `traceparent`.
    pub fn traceparent(&self) -> String {
        self.to_string()
    }

    /// What goes into the `_meta` of a request.
    pub fn meta(&self) -> impl Iterator<Item = (&'static str, String)> {
        let state = self.state().map(str::to_owned);
        let baggage = self.baggage().map(str::to_owned);
        [
            (meta_key::TRACEPARENT, Some(self.traceparent())),
            (meta_key::TRACESTATE, state),
            (meta_key::BAGGAGE, baggage),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
    }
}

/// As a `traceparent`.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = if self.is_sampled { SAMPLED } else { 0 };
        write!(f, "00-{}-{}-{flags:02x}", self.trace, self.span)
    }
}

/// Why a text is no `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceError {
    /// It has this many bytes.
    Length(usize),
    /// It is not of version, trace, span and flags, in lower-case hexadecimal.
    Shape,
    /// There is no such version, or it is longer than its version allows.
    Version,
    /// The trace is not one: not hexadecimal, or nothing but zeros.
    TraceId,
    /// The span is not one: not hexadecimal, or nothing but zeros.
    SpanId,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the traceparent ")?;
        match self {
            Self::Length(length) => write!(f, "has {length} bytes, and has to have {LENGTH}"),
            Self::Shape => f.write_str("is not of the form 00-<trace>-<span>-<flags>"),
            Self::Version => f.write_str("is of a version that does not exist"),
            Self::TraceId => f.write_str("names no trace"),
            Self::SpanId => f.write_str("names no span"),
        }
    }
}

impl std::error::Error for TraceError {}

const SAMPLED: u8 = 1;
/// Of version 00.
const LENGTH: usize = 55;
/// Later versions may be longer.
const LONGEST: usize = 512;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_read_and_written_alike() {
        let context = TraceContext::parse(GOOD).unwrap();
        assert_eq!(context.traceparent(), GOOD);
        assert!(context.is_sampled());
        let unsampled = GOOD.replace("-01", "-00");
        let context = TraceContext::parse(&unsampled).unwrap();
        assert!(!context.is_sampled());
        assert_eq!(context.traceparent(), unsampled);
    }

    #[test]
    fn what_is_not_known_of_a_later_version_is_left_out() {
        for text in [
            GOOD.replacen("00", "cc", 1),
            format!("{}-what-comes-later", GOOD.replacen("00", "01", 1)),
            format!("{}-", GOOD.replacen("00", "01", 1)),
            GOOD.replace("-01", "-ff"),
            GOOD.replace("-01", "-03"),
        ] {
            let context = TraceContext::parse(&text).unwrap();
            assert_eq!(context.traceparent(), GOOD, "{text}");
        }
    }

    #[test]
    fn what_is_no_traceparent_says_why() {
        let zeros = "0".repeat(32);
        for (text, why) in [
            (String::new(), TraceError::Length(0)),
            (GOOD[..54].to_owned(), TraceError::Length(54)),
            ("a".repeat(600), TraceError::Length(600)),
            (format!("{GOOD}x"), TraceError::Shape),
            (format!("{GOOD}-x"), TraceError::Version),
            (GOOD.replacen("00", "ff", 1), TraceError::Version),
            (GOOD.replacen("00", "0g", 1), TraceError::Shape),
            (GOOD.replacen('-', "_", 1), TraceError::Shape),
            (GOOD.replace("-01", "-0G"), TraceError::Shape),
            (GOOD.replace("0af765", "0AF765"), TraceError::TraceId),
            (GOOD.replace("0af765", "+af765"), TraceError::TraceId),
            (
                GOOD.replace("0af7651916cd43dd8448eb211c80319c", &zeros),
                TraceError::TraceId,
            ),
            (
                GOOD.replace("00f067aa0ba902b7", &zeros[..16]),
                TraceError::SpanId,
            ),
            // As many bytes, but not of letters that are one byte each.
            (GOOD.replacen("00-0a", "00-é", 1), TraceError::TraceId),
            (
                format!("01{}xlater", GOOD.strip_prefix("00").unwrap()),
                TraceError::Shape,
            ),
        ] {
            assert_eq!(TraceContext::parse(&text), Err(why), "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_given_what_is_passed_on_is_well_formed(
            parent in "[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.{0,20})?|.{0,80}",
            state in "([a-z]{1,3}=[ -~]{0,200},?){0,6}|.{0,600}",
            baggage in "([a-z]{1,3}=[!-~]{0,9},?){0,6}|.{0,60}",
        ) {
            if let Ok(context) = TraceContext::parse(&parent) {
                let context = context.with_state(&state).with_baggage(&baggage);
                let again = TraceContext::parse(&context.traceparent()).unwrap();
                let again = match context.state() {
                    Some(state) => again.with_state(state),
                    None => again,
                };
                let again = match context.baggage() {
                    Some(baggage) => again.with_baggage(baggage),
                    None => again,
                };
                prop_assert_eq!(&again, &context);
                prop_assert!(context.state().is_none_or(|state| state.len() <= 512));
            }
        }
    }

    #[test]
    fn a_child_is_another_span_of_the_same_trace() {
        let parent = TraceContext::parse(GOOD).unwrap().with_state("a=1");
        let child = parent.child();
        assert_eq!(child.trace_id(), parent.trace_id());
        assert_ne!(child.span_id(), parent.span_id());
        assert_eq!(child.state(), Some("a=1"));
        let begun = TraceContext::begin();
        assert_ne!(begun.trace_id(), TraceContext::begin().trace_id());
        assert_eq!(TraceContext::parse(&begun.traceparent()), Ok(begun));
    }

    #[test]
    fn what_a_request_says_goes_into_the_next() {
        let given = json!({
            "traceparent": GOOD, "tracestate": "a=1,b@c=2", "baggage": "user=alice", "other": 1
        });
        let mut meta: Meta = serde_json::from_value(given).unwrap();
        let context = TraceContext::of_meta(&meta).unwrap();
        let entries: Vec<_> = context.meta().collect();
        let expected = [
            ("traceparent", GOOD),
            ("tracestate", "a=1,b@c=2"),
            ("baggage", "user=alice"),
        ];
        assert_eq!(
            entries,
            expected.map(|(key, value)| (key, value.to_owned()))
        );
        // One that is wrong does not spoil the others.
        meta.insert("tracestate", json!("A=1"));
        meta.insert("baggage", json!(7));
        let context = TraceContext::of_meta(&meta).unwrap();
        assert_eq!(context.meta().count(), 1);
        meta.insert("traceparent", json!("x"));
        assert_eq!(TraceContext::of_meta(&meta), None);
        assert_eq!(TraceContext::of_meta(&Meta::default()), None);
    }
}
