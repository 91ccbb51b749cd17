//! One call as others see it from outside: a span, a trace context, a line of the metrics.
//!
//! The span is there for whoever listens with `tracing`; without anybody, a call costs a
//! comparison and the counters. No arguments, no results, no words of a server are written down,
//! and of a URI only what names a place. What is done with all this (logs, exporters) is for
//! others.
//!
//! Specification: OpenTelemetry semantic conventions for MCP, client spans (in development).

mod context;
mod endpoint;
mod outcome;

use std::cell::{LazyCell, OnceCell};
use std::fmt::Display;
use std::sync::Arc;

use switchboard_client::{Call, Revision};
use switchboard_protocol::Method;
use switchboard_protocol::jsonrpc::MethodName;
use tracing::field::{Empty, display};
use tracing::{Span, info_span};

use crate::metrics::{ServerMeter, Timed};

pub use context::{SpanId, TraceContext, TraceError, TraceId};
pub use endpoint::{Attribute, Endpoint};
pub use outcome::Outcome;

/// What is asked of a server, as far as traces and metrics say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject<'a> {
    /// A tool of this name.
    Tool(&'a str),
    /// A prompt of this name.
    Prompt(&'a str),
    /// A resource at this URI, which is read.
    Resource(&'a str),
    /// Another method.
    Other(&'a str),
}

impl<'a> Subject<'a> {
    /// What a method of this name asks for, of this tool, prompt or URI.
    pub fn of(method: &'a MethodName, name: &'a str) -> Self {
        match method.known() {
            Some(Method::ToolsCall) => Self::Tool(name),
            Some(Method::PromptsGet) => Self::Prompt(name),
            Some(Method::ResourcesRead) => Self::Resource(name),
            _ => Self::Other(method.as_str()),
        }
    }

    /// The method.
    pub const fn method(self) -> &'a str {
        match self {
            Self::Tool(_) => Method::ToolsCall.name(),
            Self::Prompt(_) => Method::PromptsGet.name(),
            Self::Resource(_) => Method::ResourcesRead.name(),
            Self::Other(method) => method,
        }
    }

    /// What it is about, if there are few of its kind: a tool, a prompt.
    pub const fn name(self) -> Option<&'a str> {
        match self {
            Self::Tool(name) | Self::Prompt(name) => Some(name),
            Self::Resource(_) | Self::Other(_) => None,
        }
    }

    const fn tool(self) -> Option<&'a str> {
        match self {
            Self::Tool(name) => Some(name),
            _ => None,
        }
    }

    const fn prompt(self) -> Option<&'a str> {
        match self {
            Self::Prompt(name) => Some(name),
            _ => None,
        }
    }

    fn place(self) -> Option<String> {
        match self {
            Self::Resource(uri) => Some(endpoint::place(uri)),
            _ => None,
        }
    }
}

/// A call that is under way. Dropped before its end, it counts as cancelled.
#[derive(Debug)]
pub struct CallTrace {
    span: Span,
    /// In a box: nearly all calls have none, and it is large.
    context: Option<Box<TraceContext>>,
    timed: Option<Timed>,
}

impl CallTrace {
    /// A call begins.
    ///
    /// If somebody listens, it is a span below its parent, or the first of a trace. If nobody
    /// does, the parent is passed on as it is, and without one there is no trace: a server is
    /// not made to record what has no beginning.
    pub fn begin(
        meter: &Arc<ServerMeter>,
        subject: Subject<'_>,
        parent: Option<&TraceContext>,
    ) -> Self {
        Self::begin_timed(meter, subject, parent, meter.begin(subject))
    }

    /// The same for a call that is measured already.
    pub(crate) fn begin_timed(
        meter: &Arc<ServerMeter>,
        subject: Subject<'_>,
        parent: Option<&TraceContext>,
        timed: Timed,
    ) -> Self {
        let server = meter.name();
        // Both are only asked for if somebody listens.
        let endpoint = LazyCell::new(|| meter.endpoint());
        let own = OnceCell::new();
        let context =
            || own.get_or_init(|| parent.map_or_else(TraceContext::begin, TraceContext::child));
        let span = info_span!(
            "mcp.call",
            otel.name = display(format_args!("mcp.{server}.{}", named(subject))),
            otel.kind = "client",
            otel.status_code = Empty,
            switchboard.server = server,
            mcp.method.name = subject.method(),
            mcp.protocol.version = Empty,
            mcp.resource.uri = subject.place(),
            gen_ai.operation.name = subject.tool().map(|_| "execute_tool"),
            gen_ai.tool.name = subject.tool(),
            gen_ai.prompt.name = subject.prompt(),
            jsonrpc.request.id = Empty,
            rpc.response.status_code = Empty,
            error.type = Empty,
            network.transport = endpoint.transport(),
            network.protocol.name = endpoint.protocol(),
            network.protocol.version = endpoint.protocol_version(),
            server.address = endpoint.address(),
            server.port = endpoint.port(),
            trace_id = display(context().trace_id()),
            span_id = display(context().span_id()),
            parent_span_id = parent.map(|parent| display(parent.span_id())),
            trace_flags = u64::from(context().is_sampled()),
            trace_state = context().state(),
        );
        let context = own.into_inner().or_else(|| parent.cloned());
        Self {
            span,
            context: context.map(Box::new),
            timed: Some(timed),
        }
    }

    /// The span, for what happens meanwhile.
    pub const fn span(&self) -> &Span {
        &self.span
    }

    /// What the server is told of the trace.
    pub fn context(&self) -> Option<&TraceContext> {
        self.context.as_deref()
    }

    /// Writes into the request of a call what the server is told of the trace, and into the span
    /// under which id it goes.
    #[inline]
    pub fn write_to<T>(&self, call: Call<T>) -> Call<T> {
        match self.context.is_none() && self.span.is_disabled() {
            true => call,
            false => self.write_all_to(call),
        }
    }

    fn write_all_to<T>(&self, call: Call<T>) -> Call<T> {
        let call = match &self.context {
            Some(context) => {
                let entries = context.meta();
                entries.fold(call, |call, (key, value)| call.meta(key, value))
            }
            None => call,
        };
        if self.span.is_disabled() {
            return call;
        }
        let span = self.span.clone();
        call.on_sent(move |id| record_id(&span, id))
    }

    /// The request goes out now: what is measured begins here, not where the call waited for its
    /// server to start.
    pub fn sent(&mut self, revision: Revision) {
        if let Some(timed) = &mut self.timed {
            timed.restart();
        }
        self.speaks(revision);
    }

    /// The request is in the words of this revision.
    pub(crate) fn speaks(&self, revision: Revision) {
        self.span.record("mcp.protocol.version", revision.as_str());
    }

    /// The request has this id, if it is not made by [`write_to`](Self::write_to).
    pub fn has_id(&self, id: impl Display) {
        record_id(&self.span, id);
    }

    /// The call is over.
    pub fn end(mut self, outcome: &Outcome) {
        self.finish(outcome);
    }

    /// The call is over, and its result or an error says how.
    pub fn end_with<'e, T, E>(self, result: &'e Result<T, E>)
    where
        &'e T: Into<Outcome>,
        &'e E: Into<Outcome>,
    {
        match result {
            Ok(result) => self.end(&result.into()),
            Err(error) => self.end(&error.into()),
        }
    }

    fn finish(&mut self, outcome: &Outcome) {
        let Some(timed) = self.timed.take() else {
            return;
        };
        timed.end(outcome.error_type());
        if let Outcome::Failed { kind, code } = outcome {
            self.span.record("otel.status_code", "ERROR");
            self.span.record("error.type", &**kind);
            if let Some(code) = code {
                self.span.record("rpc.response.status_code", display(code));
            }
        }
    }
}

/// The future of a call that is dropped has no other end.
impl Drop for CallTrace {
    fn drop(&mut self) {
        self.finish(&Outcome::CANCELLED);
    }
}

fn record_id(span: &Span, id: impl Display) {
    span.record("jsonrpc.request.id", display(id));
}

/// What stands behind the server in the name of a span. Of a URI there are too many.
const fn named(subject: Subject<'_>) -> &str {
    match subject.name() {
        Some(name) => name,
        None => subject.method(),
    }
}
