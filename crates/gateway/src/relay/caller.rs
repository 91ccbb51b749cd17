//! What servers are told of the client for which a call is made, and what he is held to.
//!
//! Specification: 2026-07-28 basic (`_meta`); W3C Trace Context; W3C Baggage.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use bytes::Bytes;
use http::HeaderName;
use memchr::memmem::Finder;
use switchboard_client::{OnBehalf, Payload};
use switchboard_hub::{ToolEntry, TraceContext};
use switchboard_protocol::envelope::Envelope;
use switchboard_protocol::http::parameter::Parameters;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::machine::server::Caller;
use switchboard_protocol::revision::StepDown;
use switchboard_protocol::types::{ClientCapabilities, LoggingLevel, TASKS_EXTENSION, meta_key};
use switchboard_protocol::{Era, RawJson, Revision};
use switchboard_server::Context;

/// Who called last: most callers say the same of themselves with every call.
#[derive(Debug, Default)]
pub(crate) struct LastCaller(Mutex<Option<Known>>);

#[derive(Debug)]
struct Known {
    caller: Arc<Caller>,
    log_level: Option<LoggingLevel>,
    /// What he has said with his request.
    said: Option<Bytes>,
    whom: Arc<OnBehalf>,
    /// A `_meta` of which nothing goes further.
    meta: Option<Bytes>,
}

impl Known {
    /// Whoever makes this call. Of the last `_meta` nothing went further.
    fn by(context: &Context, meta: Option<Bytes>) -> Self {
        Self {
            caller: Arc::clone(context.caller()),
            log_level: context.log_level(),
            said: context
                .params()
                .and_then(Payload::meta)
                .map(Bytes::copy_from_slice),
            whom: whom(context),
            meta,
        }
    }

    /// The parameters of a call of his.
    fn params(&mut self, context: &Context) -> Payload {
        let Some(params) = context.params() else {
            return Payload::empty();
        };
        let Some(meta) = params.meta() else {
            return params.clone();
        };
        if self.meta.as_deref() != Some(meta) {
            if !Envelope::is_all_of(meta) {
                return params.clone();
            }
            self.meta = Some(Bytes::copy_from_slice(meta));
        }
        params.without_meta()
    }

    /// Does whoever makes this call say the same of himself? He may be somebody else, or have no
    /// connection by which he could be known again.
    fn says_as_much_as(&self, context: &Context) -> bool {
        let caller = context.caller();
        let is_same = || match (self.caller.revision.era(), caller.revision.era()) {
            (Era::Handshake, Era::Handshake) => self.caller.capabilities == caller.capabilities,
            (Era::Stateless, Era::Stateless) => {
                let said = context.params().and_then(Payload::meta);
                said == self.said.as_deref() || declared(said) == declared(self.said.as_deref())
            }
            _ => false,
        };
        self.log_level == context.log_level() && (Arc::ptr_eq(&self.caller, caller) || is_same())
    }
}

impl LastCaller {
    /// For whom a call is made, and its parameters without a `_meta` that is known to go no further.
    /// What a server of the stateless era asks is for him to answer, in whichever way he is asked.
    pub(super) fn of(&self, context: &Context) -> (Arc<OnBehalf>, Payload) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match &mut *last {
            Some(known) if known.says_as_much_as(context) => known,
            last => {
                let meta = last.take().and_then(|known| known.meta);
                last.insert(Known::by(context, meta))
            }
        };
        let params = known.params(context);
        (Arc::clone(&known.whom), params)
    }
}

/// For whom a call is made, as he says it with this one.
pub(super) fn whom(context: &Context) -> Arc<OnBehalf> {
    Arc::new(said_by(context))
}

/// The same, for somebody who knows tasks of the extension, or for whom we do.
pub(super) fn whom_with_tasks(context: &Context) -> Arc<OnBehalf> {
    let mut whom = said_by(context);
    let declared = whom.capabilities.decode();
    let mut capabilities: ClientCapabilities = declared.unwrap_or_default();
    let extensions = capabilities.extensions.get_or_insert_default();
    extensions
        .entry(TASKS_EXTENSION)
        .or_insert_with(|| serde_json::json!({}));
    if let Ok(written) = RawJson::encode(&capabilities) {
        whom.capabilities = written;
    }
    Arc::new(whom)
}

fn said_by(context: &Context) -> OnBehalf {
    let mut whom = match context.revision().era() {
        Era::Stateless => stateless(context),
        Era::Handshake => handshake(context),
    };
    whom.is_asked_himself = true;
    whom
}

/// In his own words.
fn stateless(context: &Context) -> OnBehalf {
    let said = context.params().and_then(Payload::meta);
    let declared = declared(said).and_then(read);
    let mut whom = OnBehalf::new(declared.unwrap_or_else(empty));
    whom.log_level = context.log_level();
    whom
}

/// What somebody can do who says this of himself.
fn declared(said: Option<&[u8]>) -> Option<&[u8]> {
    Envelope::of_meta(said?).client_capabilities
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
    TRACEPARENT.find(meta)?;
    TraceContext::of_meta(&read(meta)?)
}

/// The span of the client that its HTTP request names, for clients whose calls name none.
fn of_headers(context: &Context) -> Option<TraceContext> {
    let headers = context.headers()?;
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let mut parent = TraceContext::parse(text(&TRACE_PARENT)?).ok()?;
    if let Some(state) = text(&TRACE_STATE) {
        parent = parent.with_state(state);
    }
    if let Some(baggage) = text(&BAGGAGE) {
        parent = parent.with_baggage(baggage);
    }
    Some(parent)
}

/// Arguments that headers repeat must be the same there. The server never sees those headers.
pub(super) fn check_headers(context: &Context, entry: &ToolEntry) -> Result<(), ErrorObject> {
    if context.headers().is_none() || context.revision().era() != Era::Stateless {
        return Ok(());
    }
    let schema = &entry.tool.input_schema;
    if ANNOTATION.find(schema.as_str().as_bytes()).is_none() {
        return Ok(());
    }
    // A tool whose annotations are not valid repeats nothing in headers.
    match Parameters::read(schema) {
        Ok(repeated) => context.check_headers(&repeated),
        Err(_) => Ok(()),
    }
}

// As headers; looking for a name that was read before costs less.
static TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
static TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");
static BAGGAGE: HeaderName = HeaderName::from_static("baggage");

static ANNOTATION: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"x-mcp-header\""));
static TRACEPARENT: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(meta_key::TRACEPARENT));
