//! Where a call comes from: the trace that the HTTP request of a client is in.
//!
//! Specification: W3C Trace Context; W3C Baggage.

use switchboard_hub::TraceContext;
use switchboard_server::Context;

/// The span of the client that its HTTP request names, for clients whose calls name none.
pub(super) fn of_request(context: &Context) -> Option<TraceContext> {
    let headers = context.headers()?;
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let mut parent = TraceContext::parse(text("traceparent")?).ok()?;
    if let Some(state) = text("tracestate") {
        parent = parent.with_state(state);
    }
    if let Some(baggage) = text("baggage") {
        parent = parent.with_baggage(baggage);
    }
    Some(parent)
}
