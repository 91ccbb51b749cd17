//! What others see of a call: its span, its trace, its numbers.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::{Client, NoHost, memory};
use switchboard_hub::{CallTrace, Endpoint, Metrics, Outcome, Subject, TraceContext};
use switchboard_server::{Context, NoArguments, Server, tool};
use tracing::subscriber::with_default;

use crate::child::server;
use crate::listener::Listener;
use crate::running::{hub, sum};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
const START: Duration = Duration::from_millis(2);

/// The fields, without the ids that are made by chance.
fn known(mut fields: BTreeMap<&'static str, String>) -> Vec<String> {
    for (name, length) in [("trace_id", 32), ("span_id", 16)] {
        assert_eq!(fields.remove(name).map(|id| id.len()), Some(length));
    }
    let line = |(name, value)| format!("{name}={value}");
    fields.into_iter().map(line).collect()
}

#[test]
fn a_call_of_a_tool_says_what_the_conventions_want() {
    let metrics = Metrics::new();
    let meter = metrics.server("github");
    meter.set_endpoint(Endpoint::http(
        "https://user:secret@example.com/mcp?key=secret",
    ));
    let listener = Listener::new();
    with_default(listener.clone(), || {
        let mut trace = CallTrace::begin(&meter, Subject::Tool("create_issue"), None);
        trace.sent(switchboard_client::Revision::V2026_07_28);
        trace.has_id(7);
        assert!(trace.context().unwrap().is_sampled());
        trace.end(&Outcome::Done);
    });
    assert_eq!(
        known(listener.one()),
        [
            "gen_ai.operation.name=execute_tool",
            "gen_ai.tool.name=create_issue",
            "jsonrpc.request.id=7",
            "mcp.method.name=tools/call",
            "mcp.protocol.version=2026-07-28",
            "network.protocol.name=http",
            "network.protocol.version=1.1",
            "network.transport=tcp",
            "otel.kind=client",
            "otel.name=mcp.github.create_issue",
            "server.address=example.com",
            "server.port=443",
            "switchboard.server=github",
            "trace_flags=1",
        ]
    );
}

#[test]
fn a_call_that_fails_says_how_and_below_which_span() {
    let metrics = Metrics::new();
    let meter = metrics.server("files");
    meter.set_endpoint(Endpoint::pipe());
    let parent = TraceContext::parse(PARENT).unwrap().with_state("a=1");
    let listener = Listener::new();
    let operation = Subject::Resource("file:///a.txt?token=secret");
    let told = with_default(listener.clone(), || {
        let trace = CallTrace::begin(&meter, operation, Some(&parent));
        let told = trace.context().cloned().unwrap();
        let code = Some(-32002);
        let kind = "-32002".into();
        trace.end(&Outcome::Failed { kind, code });
        told
    });
    let fields = listener.one();
    assert_eq!(fields["trace_id"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(fields["parent_span_id"], "00f067aa0ba902b7");
    assert_ne!(fields["span_id"], fields["parent_span_id"]);
    // The span and what the server is told agree.
    let (trace, span) = (&fields["trace_id"], &fields["span_id"]);
    assert_eq!(told.traceparent(), format!("00-{trace}-{span}-01"));
    assert_eq!(
        known(fields),
        [
            "error.type=-32002",
            "mcp.method.name=resources/read",
            "mcp.resource.uri=file:///a.txt",
            "network.transport=pipe",
            "otel.kind=client",
            "otel.name=mcp.files.resources/read",
            "otel.status_code=ERROR",
            "parent_span_id=00f067aa0ba902b7",
            "rpc.response.status_code=-32002",
            "switchboard.server=files",
            "trace_flags=1",
            "trace_state=a=1",
        ]
    );
}

#[test]
fn a_call_that_nobody_waits_for_any_more_is_cancelled() {
    let metrics = Metrics::new();
    let meter = metrics.server("slow");
    let listener = Listener::new();
    with_default(listener.clone(), || {
        drop(CallTrace::begin(&meter, Subject::Prompt("plan"), None));
    });
    let fields = listener.one();
    assert_eq!(fields["gen_ai.prompt.name"], "plan");
    assert_eq!(fields["error.type"], "cancelled");
    assert_eq!(fields["otel.status_code"], "ERROR");
    let server = &metrics.snapshot().servers[0];
    assert_eq!((server.calls(), server.errors()), (1, 1));
    assert_eq!(server.in_flight(), 0);
}

#[test]
fn without_anybody_who_listens_a_parent_is_passed_on_and_the_rest_is_counted() {
    let metrics = Metrics::new();
    let meter = metrics.server("quiet");
    let parent = TraceContext::parse(PARENT).unwrap();
    let trace = CallTrace::begin(&meter, Subject::Tool("add"), Some(&parent));
    assert!(trace.span().is_disabled());
    assert_eq!(trace.context(), Some(&parent));
    trace.end(&Outcome::Done);
    let trace = CallTrace::begin(&meter, Subject::Tool("add"), None);
    assert_eq!(trace.context(), None);
    trace.end(&Outcome::Done);
    assert_eq!(metrics.snapshot().servers[0].calls(), 2);
}

#[test]
fn a_trace_that_is_not_recorded_is_not_recorded_further_on() {
    let meter = Metrics::new().server("quiet");
    let parent = TraceContext::parse(PARENT).unwrap().with_sampled(false);
    let listener = Listener::new();
    with_default(listener.clone(), || {
        let trace = CallTrace::begin(&meter, Subject::Tool("add"), Some(&parent));
        assert!(!trace.context().unwrap().is_sampled());
        trace.end(&Outcome::Done);
    });
    assert_eq!(listener.one()["trace_flags"], "0");
}

#[test]
fn the_time_that_a_server_takes_to_start_is_not_that_of_the_call() {
    let metrics = Metrics::new();
    let meter = metrics.server("lazy");
    let mut trace = CallTrace::begin(&meter, Subject::Tool("add"), None);
    let waited = std::time::Instant::now();
    while waited.elapsed() < START {}
    trace.sent(switchboard_client::Revision::V2025_11_25);
    trace.end(&Outcome::Done);
    let snapshot = metrics.snapshot();
    let durations = &snapshot.servers[0].operations[0].outcomes[0].durations;
    assert!(durations.sum + START <= waited.elapsed());
}

#[tokio::test]
async fn a_server_is_told_the_trace_of_its_call() {
    let told = tool("told", |_: NoArguments, context: Context| async move {
        let meta = context.meta().unwrap_or_default();
        json!([meta.traceparent().unwrap(), meta.tracestate().unwrap()]).to_string()
    });
    let (ours, theirs) = memory::pair();
    let site = Server::new("told", "1.0.0").tool(told).site().unwrap();
    tokio::spawn(async move {
        let (read, write) = tokio::io::split(theirs);
        site.serve(read, write).await
    });
    let client = Client::connect_in_memory(ours, NoHost).await.unwrap();
    let metrics = Metrics::new();
    let meter = metrics.server("told");
    let parent = TraceContext::parse(PARENT).unwrap().with_state("a=1,b=2");
    for (parent, expected) in [
        (Some(&parent), json!([PARENT, "a=1,b=2"])),
        (None, json!([null, null])),
    ] {
        let trace = CallTrace::begin(&meter, Subject::Tool("told"), parent);
        let result = trace.write_to(client.call("told")).await;
        trace.end_with(&result);
        assert_eq!(result.unwrap().joined_text(), expected.to_string());
    }
    let trace = CallTrace::begin(&meter, Subject::Tool("none"), None);
    let result = trace.write_to(client.call("none")).await;
    trace.end_with(&result);
    let snapshot = metrics.snapshot();
    let rows = &snapshot.servers[0].operations;
    assert_eq!((rows[1].calls(), rows[1].errors()), (2, 0));
    assert_eq!(rows[0].outcomes[0].code(), Some("-32602"));
}

#[tokio::test]
async fn calls_of_a_hub_are_traced_and_counted() {
    let hub = hub([server("one"), server("two")]).await;
    let listener = Listener::new();
    let listening = tracing::subscriber::set_default(listener.clone());
    let parent = TraceContext::parse(PARENT).unwrap();
    let result = hub.call_on("one", "meta").parent(parent).await.unwrap();
    drop(listening);
    let fields = listener.one();
    let meta: Value = serde_json::from_str(&result.joined_text()).unwrap();
    let (trace, span) = (&fields["trace_id"], &fields["span_id"]);
    assert_eq!(meta["traceparent"], format!("00-{trace}-{span}-01"));
    // The id serves as the token of progress.
    let id = meta["progressToken"].as_i64().unwrap();
    assert_eq!(
        known(fields),
        [
            "gen_ai.operation.name=execute_tool",
            "gen_ai.tool.name=meta",
            &format!("jsonrpc.request.id={id}"),
            "mcp.method.name=tools/call",
            "mcp.protocol.version=2026-07-28",
            "network.transport=pipe",
            "otel.kind=client",
            "otel.name=mcp.one.meta",
            "parent_span_id=00f067aa0ba902b7",
            "switchboard.server=one",
            "trace_flags=1",
        ]
    );
    assert_eq!(sum(&hub, "one", 2).await, "3");
    let wrong = hub.call_on("one", "add").arg("a", "x").await;
    assert!(wrong.unwrap().is_error());
    let snapshot = hub.metrics().snapshot();
    assert_eq!(snapshot.catalog_version, hub.catalog().version());
    let names: Vec<_> = snapshot
        .servers
        .iter()
        .map(|found| &*found.server)
        .collect();
    assert_eq!(names, ["one", "two"]);
    let one = &snapshot.servers[0];
    assert_eq!((one.calls(), one.errors(), one.in_flight()), (3, 1, 0));
    assert_eq!(one.restarts, 0);
    assert!(one.catalog_changes > 0);
    let outcomes = &one.operations[0].outcomes;
    assert_eq!(outcomes[1].error.as_deref(), Some("tool_error"));
    hub.close().await;
}
