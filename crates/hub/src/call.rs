//! One call through the hub: found, allowed, sent to its server, its result made to fit.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use switchboard_client::Call;
use switchboard_client::types::{CallToolResult, ProgressNotificationParams};
use tracing::{Instrument, field, info_span};

use crate::error::HubError;
use crate::hub::Hub;
use crate::registry::{NotFound, ToolEntry};

/// A call that is made when it is awaited. Dropping its future cancels it at the server.
#[must_use = "a call is made when it is awaited"]
pub struct HubCall {
    hub: Hub,
    target: Target,
    /// What the client's call is told, once there is one.
    steps: Vec<Step>,
}

enum Target {
    Exposed(String),
    On { server: String, tool: String },
}

impl Target {
    fn find(&self, hub: &Hub) -> Result<Arc<ToolEntry>, NotFound> {
        let catalog = hub.catalog();
        let found = match self {
            Self::Exposed(name) => catalog.find_tool(name),
            Self::On { server, tool } => catalog.find_on(server, tool),
        };
        found.cloned()
    }

    /// The tool; one of a server that sleeps and was never listed is looked for once it is awake.
    async fn find_awake(&self, hub: &Hub) -> Result<Arc<ToolEntry>, HubError> {
        let error = match self.find(hub) {
            Ok(entry) => return Ok(entry),
            Err(error) => error,
        };
        let asleep = match self {
            Self::Exposed(name) => hub.asleep(|_, prefix| name.starts_with(prefix)),
            Self::On { server, .. } => hub.asleep(|name, _| name == server),
        };
        if asleep.is_empty() {
            return Err(error.into());
        }
        for server in asleep {
            hub.client(&server).await?;
        }
        Ok(self.find(hub)?)
    }
}

type Step = Box<dyn FnOnce(Call<CallToolResult>) -> Call<CallToolResult> + Send>;

impl HubCall {
    pub(crate) fn of_tool(hub: &Hub, name: &str) -> Self {
        Self::new(hub, Target::Exposed(name.to_owned()))
    }

    pub(crate) fn of_tool_on(hub: &Hub, server: &str, tool: &str) -> Self {
        Self::new(
            hub,
            Target::On {
                server: server.to_owned(),
                tool: tool.to_owned(),
            },
        )
    }

    fn new(hub: &Hub, target: Target) -> Self {
        Self {
            hub: hub.clone(),
            target,
            steps: Vec::new(),
        }
    }

    /// One argument.
    pub fn arg(self, name: &str, value: impl Serialize) -> Self {
        let name = name.to_owned();
        let value = serde_json::to_value(value);
        self.step(move |call| match value {
            Ok(value) => call.arg(&name, value),
            Err(error) => call.arg(&name, Unwritable(error.to_string())),
        })
    }

    /// All arguments.
    pub fn args(self, arguments: &impl Serialize) -> Self {
        let arguments = serde_json::to_value(arguments);
        self.step(move |call| match arguments {
            Ok(arguments) => call.args(&arguments),
            Err(error) => call.args(&Unwritable(error.to_string())),
        })
    }

    /// How long there may be neither an answer nor progress.
    pub fn idle_timeout(self, limit: impl Into<Option<Duration>>) -> Self {
        let limit = limit.into();
        self.step(move |call| call.idle_timeout(limit))
    }

    /// How long it may take in all, whatever progress it makes.
    pub fn deadline(self, limit: impl Into<Option<Duration>>) -> Self {
        let limit = limit.into();
        self.step(move |call| call.deadline(limit))
    }

    /// Hears of progress, in the task that awaits the call.
    pub fn on_progress(
        self,
        hear: impl FnMut(ProgressNotificationParams) + Send + 'static,
    ) -> Self {
        self.step(move |call| call.on_progress(hear))
    }

    /// Cancels the call when this is ready: a token of yours, a signal, a timer.
    pub fn cancel_on(self, token: impl Future<Output = ()> + Send + 'static) -> Self {
        self.step(move |call| call.cancel_on(token))
    }

    fn step(
        mut self,
        step: impl FnOnce(Call<CallToolResult>) -> Call<CallToolResult> + Send + 'static,
    ) -> Self {
        self.steps.push(Box::new(step));
        self
    }

    async fn make(self) -> Result<CallToolResult, HubError> {
        let entry = self.target.find_awake(&self.hub).await?;
        let (server, tool) = (&*entry.server, &*entry.tool.name);
        let span = info_span!(
            "mcp.call",
            otel.name = format!("mcp.{server}.{tool}"),
            otel.kind = "client",
            mcp.method.name = "tools/call",
            gen_ai.tool.name = tool,
            server.name = server,
            mcp.protocol.version = field::Empty,
            error.type = field::Empty,
        );
        let hub = self.hub.clone();
        let outcome = self.send(&entry).instrument(span.clone()).await;
        match outcome {
            Ok(mut result) => {
                if result.is_error() {
                    span.record("error.type", "tool_error");
                }
                hub.catalog().expose_tool_result(server, &mut result);
                Ok(result)
            }
            Err(error) => {
                span.record("error.type", error.class());
                Err(error)
            }
        }
    }

    async fn send(self, entry: &ToolEntry) -> Result<CallToolResult, HubError> {
        let client = self.hub.client(&entry.server).await?;
        if let switchboard_client::State::Ready(ready) = client.state() {
            tracing::Span::current().record("mcp.protocol.version", field::display(ready.revision));
        }
        let call = client.call(&entry.tool.name);
        let call = self.steps.into_iter().fold(call, |call, step| step(call));
        Ok(call.await?)
    }
}

impl IntoFuture for HubCall {
    type Output = Result<CallToolResult, HubError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.make())
    }
}

impl std::fmt::Debug for HubCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let target = match &self.target {
            Target::Exposed(name) => name.clone(),
            Target::On { server, tool } => format!("{tool} on {server}"),
        };
        f.debug_struct("HubCall")
            .field("target", &target)
            .finish_non_exhaustive()
    }
}

/// What could not be written as JSON, to say so where the call is made.
struct Unwritable(String);

impl Serialize for Unwritable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom(&self.0))
    }
}
