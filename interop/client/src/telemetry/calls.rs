//! A server in memory, and calls of it that end in every way.

use serde_json::{Value, json};
use switchboard_client::{Client, NoHost, Revision, memory};
use switchboard_hub::{CallTrace, Endpoint, Metrics, Outcome, Subject, TraceContext};
use switchboard_server::{Context, NoArguments, Server, tool};

/// What was done.
pub(crate) struct Made {
    /// What the server was told in the calls of `told`, one by one.
    pub(crate) told: Vec<Told>,
}

/// The trace context of a call, as its server found it in `_meta`.
pub(crate) struct Told {
    pub(crate) meta: Value,
}

impl Told {
    pub(crate) fn trace(&self) -> &str {
        self.part(1)
    }

    pub(crate) fn span(&self) -> &str {
        self.part(2)
    }

    fn part(&self, number: usize) -> &str {
        let parent = self.meta["traceparent"].as_str().unwrap_or_default();
        parent.split('-').nth(number).unwrap_or_default()
    }
}

/// Calls: `told` twice, the second below [`PARENT`]; `fails`; one that is not there; a prompt
/// that nobody waits for; a resource that times out.
pub(crate) async fn make(metrics: &Metrics) -> Result<Made, String> {
    let client = connect().await?;
    let meter = metrics.server("töld");
    meter.set_endpoint(Endpoint::http(
        "https://user:secret@example.com/mcp?key=secret",
    ));
    let parent = TraceContext::parse(PARENT).map_err(|error| error.to_string())?;
    let parent = parent.with_state(STATE);
    let mut told = Vec::new();
    for (tool, parent) in [
        ("told", None),
        ("told", Some(&parent)),
        ("fails", None),
        ("nothing", None),
    ] {
        let mut trace = CallTrace::begin(&meter, Subject::Tool(tool), parent);
        trace.sent(Revision::V2026_07_28);
        trace.has_id(7);
        let result = trace.write_to(client.call(tool)).await;
        trace.end_with(&result);
        if let ("told", Ok(result)) = (tool, &result) {
            let meta = serde_json::from_str(&result.joined_text());
            let meta = meta.map_err(|error| error.to_string())?;
            told.push(Told { meta });
        }
    }
    let other = metrics.server("other");
    other.set_endpoint(Endpoint::pipe());
    other.restarted();
    other.catalog_changed();
    drop(CallTrace::begin(&other, Subject::Prompt("plan"), None));
    let uri = "postgres://user:secret@db/customers?key=secret";
    let trace = CallTrace::begin(&other, Subject::Resource(uri), None);
    trace.end(&Outcome::failed("timeout"));
    metrics.catalog_changed(3);
    Ok(Made { told })
}

async fn connect() -> Result<Client, String> {
    let told = tool("told", |_: NoArguments, context: Context| async move {
        let meta = context.meta().unwrap_or_default();
        let text = |found: Option<&str>| found.map(str::to_owned);
        let parent = text(meta.traceparent().unwrap_or_default());
        match text(meta.tracestate().unwrap_or_default()) {
            Some(state) => json!({"traceparent": parent, "tracestate": state}).to_string(),
            None => json!({"traceparent": parent}).to_string(),
        }
    });
    let fails = tool("fails", async || -> Result<String, String> {
        Err("it cannot be done".to_owned())
    });
    let server = Server::new("told", "1.0.0").tool(told).tool(fails);
    let site = server.site().map_err(|error| error.to_string())?;
    let (ours, theirs) = memory::pair();
    tokio::spawn(async move {
        let (read, write) = tokio::io::split(theirs);
        site.serve(read, write).await
    });
    let client = Client::connect_in_memory(ours, NoHost).await;
    client.map_err(|error| error.to_string())
}

pub(crate) const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
pub(crate) const STATE: &str = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE";
/// As many spans.
pub(crate) const MADE: u64 = 6;
