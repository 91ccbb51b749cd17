//! Spans, as the request that brings them to a collector.
//!
//! Specification: opentelemetry-proto: `ExportTraceServiceRequest`.

use super::{Resource, nanos, resource, scope, value_attribute};
use crate::draft::FinishedSpan;
use crate::protobuf::Writer;

/// The request that brings these spans.
pub(crate) fn spans_request(from: &Resource, spans: &[FinishedSpan]) -> Vec<u8> {
    let mut out = Writer::default();
    out.message(1, |out| {
        resource(out, 1, from);
        out.message(2, |out| {
            scope(out, 1);
            for span in spans {
                out.message(2, |out| write(out, span));
            }
        });
    });
    out.into_bytes()
}

fn write(out: &mut Writer, span: &FinishedSpan) {
    out.bytes(1, &span.trace.bytes());
    out.bytes(2, &span.span.bytes());
    out.text(3, &span.state);
    if let Some(parent) = span.parent {
        out.bytes(4, &parent.bytes());
    }
    out.text(5, &span.name);
    out.number(6, span.kind as u64);
    out.fixed64(7, nanos(span.began));
    out.fixed64(8, nanos(span.ended));
    for (key, value) in &span.attributes {
        value_attribute(out, 9, key, value);
    }
    if span.is_error {
        out.message(15, |out| out.number(3, STATUS_ERROR));
    }
    out.fixed32(16, span.flags);
}

const STATUS_ERROR: u64 = 2;
