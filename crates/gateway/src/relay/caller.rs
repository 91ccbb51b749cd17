//! What servers are told of the client for which a call is made, and what he is held to.
//!
//! Specification: 2026-07-28 basic (`_meta`); W3C Trace Context; W3C Baggage.

use std::sync::Arc;

use memchr::memmem;
use switchboard_client::{OnBehalf, Payload};
use switchboard_hub::{Catalog, TraceContext, Whom};
use switchboard_protocol::envelope::Envelope;
use switchboard_protocol::http::parameter::Parameters;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::revision::StepDown;
use switchboard_protocol::types::{ClientCapabilities, LoggingLevel, TASKS_EXTENSION, meta_key};
use switchboard_protocol::{Era, RawJson, Revision};
use switchboard_server::Context;

/// For whom a call is made. What a server of the stateless era asks is for him to answer, in
/// whichever way he is asked.
pub(super) fn whom(context: &Context) -> Whom {
    let context = context.clone();
    Arc::new(move || {
        let mut whom = match context.revision().era() {
            Era::Stateless => stateless(&context),
            Era::Handshake => handshake(&context),
        };
        whom.is_asked_himself = true;
        whom
    })
}

/// The same, for somebody who knows tasks of the extension, or for whom we do.
pub(super) fn whom_with_tasks(context: &Context) -> Whom {
    let whom = whom(context);
    Arc::new(move || {
        let mut whom = whom();
        let declared = whom.capabilities.decode();
        let mut capabilities: ClientCapabilities = declared.unwrap_or_default();
        let extensions = capabilities.extensions.get_or_insert_default();
        extensions
            .entry(TASKS_EXTENSION)
            .or_insert_with(|| serde_json::json!({}));
        if let Ok(written) = RawJson::encode(&capabilities) {
            whom.capabilities = written;
        }
        whom
    })
}

/// In his own words.
fn stateless(context: &Context) -> OnBehalf {
    let envelope = Envelope::of(context.params());
    let declared = envelope.client_capabilities.and_then(read);
    let mut whom = OnBehalf::new(declared.unwrap_or_else(empty));
    whom.log_level = envelope.log_level.and_then(read);
    whom
}

/// As he would say it now. Whether he wants to hear of a log is seen when there is one.
fn handshake(context: &Context) -> OnBehalf {
    let mut capabilities = context.capabilities().clone();
    capabilities.step_down(Revision::LATEST);
    let written = RawJson::encode(&capabilities);
    let mut whom = OnBehalf::new(written.unwrap_or_else(|_| empty()));
    whom.log_level = Some(LoggingLevel::Debug);
    whom
}

/// Nothing that could not be read counts as declared.
fn empty() -> RawJson {
    RawJson::parse("{}").expect("invariant: this is JSON")
}

fn read<T: serde::de::DeserializeOwned>(text: &[u8]) -> Option<T> {
    serde_json::from_slice(text).ok()
}

/// The trace that a client's call is part of: as its `_meta` says, or the HTTP request it came by.
pub(super) fn trace(context: &Context) -> Option<TraceContext> {
    let params = context.params();
    params.and_then(of_meta).or_else(|| of_headers(context))
}

fn of_meta(params: &Payload) -> Option<TraceContext> {
    // Few have one, and only those are read.
    let meta = params.meta()?;
    memmem::find(meta, meta_key::TRACEPARENT.as_bytes())?;
    TraceContext::of_meta(&read(meta)?)
}

/// The span of the client that its HTTP request names, for clients whose calls name none.
fn of_headers(context: &Context) -> Option<TraceContext> {
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

/// Arguments that headers repeat must be the same there. The server never sees those headers.
pub(super) fn check_headers(
    context: &Context,
    catalog: &Catalog,
    tool: &str,
) -> Result<(), ErrorObject> {
    if context.headers().is_none() {
        return Ok(());
    }
    let Ok(entry) = catalog.find_tool(tool) else {
        return Ok(());
    };
    let schema = &entry.tool.input_schema;
    if memmem::find(schema.as_str().as_bytes(), ANNOTATION).is_none() {
        return Ok(());
    }
    // A tool whose annotations are not valid repeats nothing in headers.
    match Parameters::read(schema) {
        Ok(repeated) => context.check_headers(&repeated),
        Err(_) => Ok(()),
    }
}

const ANNOTATION: &[u8] = b"\"x-mcp-header\"";
