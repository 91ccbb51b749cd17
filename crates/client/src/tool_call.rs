//! A call of a tool: its arguments, the task it may become, the schema its result must fit.
//!
//! Specification: server/tools; 2026-07-28 basic/transports/streamable-http (custom headers);
//! tasks extension and 2025-11-25 basic/utilities/tasks.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_protocol::jsonrpc::ErrorCode;
use switchboard_protocol::types::{CallToolResult, TaskMetadata, TaskSupport};
use switchboard_protocol::{Era, Method, Payload, RawJson};

use crate::call::{Body, Call, Options, decode};
use crate::error::ErrorKind;
use crate::state::Ready;
use crate::task;

/// What a call of a tool asks for.
#[derive(Debug)]
pub(crate) struct ToolCall {
    name: String,
    arguments: Arguments,
    as_task: bool,
}

#[derive(Debug)]
enum Arguments {
    Named(Map<String, Value>),
    Encoded(RawJson),
    Unusable(Arc<serde_json::Error>),
}

impl ToolCall {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments: Arguments::Named(Map::new()),
            as_task: false,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Makes the call and, if it becomes a task, waits for the task.
    pub(crate) async fn run(self, options: &mut Options) -> Result<Payload, ErrorKind> {
        let client = options.client.clone();
        let ready = client.ready_for(options.timeouts()).await?;
        if client.mirrors_arguments(&ready) && !client.shared().lists.knows_tools() {
            // Which arguments the headers repeat is in the tool's schema. A server that does not
            // list is called without.
            let _ = client.refresh_tools().await;
        }
        let params = self.params(&client, &ready)?;
        let mut outcome = options
            .send(Method::ToolsCall.into(), Some(params.clone()))
            .await;
        let is_mismatch = matches!(&outcome, Err(ErrorKind::Refused(error))
            if error.code == ErrorCode::HEADER_MISMATCH);
        if is_mismatch && client.mirrors_arguments(&ready) {
            // The schema has changed since it was listed. The call was refused before it ran.
            client
                .refresh_tools()
                .await
                .map_err(|error| error.kind().clone())?;
            outcome = options.send(Method::ToolsCall.into(), Some(params)).await;
        }
        let payload = task::follow(options, &ready, outcome?).await?;
        self.check_output(&client, &payload)?;
        Ok(payload)
    }

    fn params(&self, client: &crate::Client, ready: &Ready) -> Result<Payload, ErrorKind> {
        let must_be_task = || {
            let tool = client.shared().lists.tool(&self.name);
            let support = tool.and_then(|tool| tool.execution.as_ref()?.task_support);
            support == Some(TaskSupport::Required)
        };
        let has_task = ready.revision.era() == Era::Handshake && (self.as_task || must_be_task());
        let params = Params {
            name: &self.name,
            arguments: match &self.arguments {
                Arguments::Named(map) => Written::Named(map),
                Arguments::Encoded(text) => Written::Encoded(text),
                Arguments::Unusable(error) => {
                    return Err(ErrorKind::BadArguments(Arc::clone(error)));
                }
            },
            task: has_task.then(TaskMetadata::default),
        };
        Payload::encode(&params).map_err(|error| ErrorKind::BadArguments(Arc::new(error)))
    }

    /// Holds the structured result to the tool's output schema, if the tool was listed.
    #[cfg(feature = "validate")]
    fn check_output(&self, client: &crate::Client, payload: &Payload) -> Result<(), ErrorKind> {
        let Some(tools) = client.shared().lists.last_tools() else {
            return Ok(());
        };
        let Some(schema) = tools.output_schema(&self.name) else {
            return Ok(());
        };
        if is_error(payload) {
            return Ok(());
        }
        match payload.member("structuredContent") {
            Some(text) => schema.check(text).map_err(ErrorKind::InvalidOutput),
            None => Err(ErrorKind::InvalidOutput(
                "there is no structuredContent".to_owned(),
            )),
        }
    }

    #[cfg(not(feature = "validate"))]
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "the feature has a body"
    )]
    fn check_output(&self, _: &crate::Client, _: &Payload) -> Result<(), ErrorKind> {
        Ok(())
    }
}

#[derive(Serialize)]
struct Params<'a> {
    name: &'a str,
    arguments: Written<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskMetadata>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Written<'a> {
    Named(&'a Map<String, Value>),
    Encoded(&'a RawJson),
}

/// What only calls of tools can be told.
impl<T> Call<T> {
    fn tool(mut self, change: impl FnOnce(&mut ToolCall)) -> Self {
        if let Body::Tool(tool) = &mut self.body {
            change(tool);
        }
        self
    }
}

impl Call<CallToolResult> {
    /// All arguments at once: anything that is written as a JSON object.
    pub fn args(self, arguments: &(impl Serialize + ?Sized)) -> Self {
        let arguments = match RawJson::encode(arguments) {
            Ok(text) if text.is_null() => Arguments::Named(Map::new()),
            Ok(text) => Arguments::Encoded(text),
            Err(error) => Arguments::Unusable(Arc::new(error)),
        };
        self.tool(|tool| tool.arguments = arguments)
    }

    /// One argument more.
    pub fn arg(self, name: impl Into<String>, value: impl Serialize) -> Self {
        let value = serde_json::to_value(value);
        self.tool(|tool| {
            let named = match (&mut tool.arguments, value) {
                (_, Err(error)) => Err(error),
                (Arguments::Named(map), Ok(value)) => {
                    map.insert(name.into(), value);
                    return;
                }
                (Arguments::Encoded(text), Ok(value)) => {
                    text.decode::<Map<String, Value>>().map(|mut map| {
                        map.insert(name.into(), value);
                        map
                    })
                }
                (Arguments::Unusable(_), Ok(_)) => return,
            };
            tool.arguments = match named {
                Ok(map) => Arguments::Named(map),
                Err(error) => Arguments::Unusable(Arc::new(error)),
            };
        })
    }

    /// Has the server run it as a task, in revision 2025-11-25, and waits for the task. Later
    /// revisions leave it to the server.
    pub fn as_task(self) -> Self {
        self.tool(|tool| tool.as_task = true)
    }

    /// The structured content of the result, as a type of yours.
    ///
    /// A tool that could not do its work gives [`ToolFailed`](ErrorKind::ToolFailed).
    pub fn structured<U: DeserializeOwned>(self) -> Call<U> {
        self.read_as(|payload| {
            #[derive(Deserialize)]
            #[serde(rename_all = "camelCase")]
            struct Structured<U> {
                structured_content: U,
            }
            if is_error(payload) {
                let result: CallToolResult = decode(payload)?;
                return Err(ErrorKind::ToolFailed(result.joined_text()));
            }
            let structured: Structured<U> = decode(payload)?;
            Ok(structured.structured_content)
        })
    }
}

/// Does the tool say that it could not do its work?
fn is_error(payload: &Payload) -> bool {
    payload
        .member("isError")
        .is_some_and(|text| text == b"true")
}
