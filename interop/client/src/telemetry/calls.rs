//! A hub of two servers that others wrote, and calls through it that end in every way.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use switchboard_hub::{Hub, HubError, ServerConfig, TraceContext};

use crate::report::chain;

/// What was done.
pub(crate) struct Made {
    /// What the server was told in the calls of `told`, one by one.
    pub(crate) told: Vec<Told>,
    /// The version of the catalogue.
    pub(crate) version: u64,
}

/// What a server says of the request of a call: its id, its `_meta`, the trace that its SDK finds.
pub(crate) struct Told(Value);

impl Told {
    pub(crate) fn id(&self) -> String {
        self.0["id"].to_string()
    }

    pub(crate) fn meta(&self) -> &Value {
        &self.0["meta"]
    }

    pub(crate) fn trace(&self) -> &str {
        self.part(1)
    }

    pub(crate) fn span(&self) -> &str {
        self.part(2)
    }

    /// The trace and the span that the server's SDK has read.
    pub(crate) fn read(&self) -> Value {
        Value::from(vec![self.0["trace_id"].clone(), self.0["span_id"].clone()])
    }

    fn part(&self, number: usize) -> &str {
        let parent = self.meta()["traceparent"].as_str().unwrap_or_default();
        parent.split('-').nth(number).unwrap_or_default()
    }
}

/// A hub of the server at this URL and of one that the hub starts itself.
pub(crate) async fn connect(url: &str, python: &Path, script: &Path) -> Result<Hub, String> {
    let program = [python.join("python"), script.to_owned()].map(|path| path.display().to_string());
    let hub = Hub::builder()
        .server(ServerConfig::url("töld", &format!("{url}?key=secret")))
        .server(ServerConfig::command(
            "other",
            program.each_ref().map(|word| &**word),
        ))
        .build();
    for server in hub.connect_all().await {
        if !server.state.is_ready() {
            return Err(format!("{}: {}", server.name, server.state));
        }
    }
    Ok(hub)
}

/// Calls at `töld`: `told` twice, the second below [`PARENT`]; `fails`; one that is refused.
/// At `other`: a prompt that nobody waits for, a resource that times out, a tool that ends the
/// server, and `told` once it runs again.
pub(crate) async fn make(hub: &Hub) -> Result<Made, String> {
    let parent = TraceContext::parse(PARENT).map_err(|error| error.to_string())?;
    let parent = parent.with_state(STATE);
    let exposed = |tool: &str| -> Result<String, String> {
        let catalog = hub.catalog();
        let entry = catalog.find_on("töld", tool);
        Ok(entry.map_err(|error| error.to_string())?.name.to_string())
    };
    let mut told = Vec::new();
    for parent in [None, Some(parent)] {
        let mut call = hub.call(&exposed("told")?);
        if let Some(parent) = parent {
            call = call.parent(parent);
        }
        let result = call.await.map_err(|error| chain(&error))?;
        told.push(Told(read(&result.joined_text())?));
    }
    let failed = hub.call(&exposed("fails")?).await;
    if !failed.map_err(|error| chain(&error))?.is_error() {
        return Err("the tool that fails has not failed".to_owned());
    }
    fails("refuses", hub.call(&exposed("refuses")?).await)?;
    let nobody_waits = tokio::time::sleep(SHORT);
    let plan = hub.prompt_on("other", "plan", NO_ARGUMENTS);
    fails("plan", plan.cancel_on(nobody_waits).await)?;
    let customers = hub.read_on("other", CUSTOMERS).idle_timeout(SHORT);
    fails("customers", customers.await)?;
    fails("ends", hub.call_on("other", "ends").await)?;
    let result = hub.call_on("other", "told").await;
    let result = result.map_err(|error| chain(&error))?;
    told.push(Told(read(&result.joined_text())?));
    let version = hub.catalog().version();
    Ok(Made { told, version })
}

fn read(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|_| format!("the server says {text}"))
}

fn fails<T>(what: &str, result: Result<T, HubError>) -> Result<(), String> {
    match result {
        Ok(_) => Err(format!("{what}: it was answered")),
        Err(_) => Ok(()),
    }
}

pub(crate) const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
pub(crate) const STATE: &str = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE";
/// As many spans.
pub(crate) const MADE: u64 = 8;
const CUSTOMERS: &str = "postgres://user:secret@db/customers?key=secret";
const NO_ARGUMENTS: [(&str, &str); 0] = [];
const SHORT: Duration = Duration::from_millis(300);
