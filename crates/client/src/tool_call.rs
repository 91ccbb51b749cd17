//! A call of a tool: its arguments, the task it may become, the schema its result must fit.
//!
//! Specification: server/tools; 2026-07-28 basic/transports/streamable-http (custom headers);
//! tasks extension and 2025-11-25 basic/utilities/tasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_protocol::jsonrpc::ErrorCode;
use switchboard_protocol::machine::client::CallRequest;
use switchboard_protocol::types::{
    CallToolResult, TaskMetadata, TaskSupport, TasksCapability, Tool,
};
use switchboard_protocol::{Era, Method, Payload, RawJson};

use crate::call::{Body, Call, Options, decode};
use crate::error::ErrorKind;
use crate::shared::Shared;
use crate::state::State;
use crate::task;

/// What a call of a tool asks for.
#[derive(Debug)]
pub(crate) struct ToolCall {
    name: Name,
    arguments: Arguments,
    as_task: bool,
    /// Somebody else wrote it and reads what comes of it.
    passed_on: Option<PassedOn>,
}

/// What is known of a call that somebody else wrote.
#[derive(Debug)]
struct PassedOn {
    /// He wants it to be a task, and follows it himself.
    wants_task: bool,
}

/// What a tool is called.
#[derive(Debug)]
enum Name {
    Own(String),
    /// A piece of the parameters that somebody else wrote.
    Shared(Bytes),
}

#[derive(Debug)]
enum Arguments {
    None,
    Named(Map<String, Value>),
    /// With the name: all that is sent, as a rule.
    Encoded(Payload),
    Unusable(Arc<serde_json::Error>),
}

impl ToolCall {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self {
            name: Name::Own(name.into()),
            arguments: Arguments::None,
            as_task: false,
            passed_on: None,
        }
    }

    /// A call with parameters that were written elsewhere.
    pub(crate) fn passed_on(params: Payload) -> Self {
        Self {
            name: match params.plain_name() {
                Some(name) => Name::Shared(name),
                None => Name::Own(params.name().unwrap_or_default().into_owned()),
            },
            passed_on: Some(PassedOn {
                wants_task: params.member("task").is_some(),
            }),
            arguments: Arguments::Encoded(params),
            as_task: false,
        }
    }

    pub(crate) fn name(&self) -> &str {
        match &self.name {
            Name::Own(name) => name,
            Name::Shared(name) => str::from_utf8(name).unwrap_or_default(),
        }
    }

    /// Fills in the parameters, if it takes but one request as far as is known before.
    #[inline]
    pub(crate) fn fill(
        &mut self,
        request: &mut CallRequest,
        shared: &Shared,
        era: Era,
    ) -> Option<Result<(), ErrorKind>> {
        let mirrors = mirrors(shared, era);
        let manner = self.manner(shared, era);
        if mirrors && !shared.lists.knows_tools() || manner == Manner::Task {
            return None;
        }
        if let Arguments::Encoded(params) = &mut self.arguments
            && !mirrors
            && !(manner == Manner::Unknown && takes_tasks(shared))
        {
            // They are not sent again, so they need not stay.
            request.params = Some(std::mem::replace(params, Payload::empty()));
            return Some(Ok(()));
        }
        let params = self.params(false);
        Some(params.map(|params| request.params = Some(params)))
    }

    /// Is this result of the first request all there is?
    pub(crate) fn is_all(era: Era, result: &Payload) -> bool {
        matches!(task::begun(era, false, result), Ok(None))
    }

    /// Is there no more to be done after this came of the first request?
    pub(crate) fn is_over(shared: &Shared, era: Era, outcome: &Result<Payload, ErrorKind>) -> bool {
        match outcome {
            Ok(payload) => Self::is_all(era, payload),
            Err(kind) => {
                let is_mismatch = mirrors(shared, era) && is_mismatch(kind);
                !is_mismatch && !may_want_task(shared, era, kind)
            }
        }
    }

    /// Makes the call and, if it becomes a task, waits for the task.
    pub(crate) async fn run(&self, options: &mut Options) -> Result<Payload, ErrorKind> {
        options.begin();
        let era = options.era().await?;
        let shared = options.client.shared();
        // Headers repeat arguments there. Which ones is in the tool's schema; a server that does
        // not list is called without.
        if mirrors(shared, era) && !shared.lists.knows_tools() {
            let _ = Box::pin(options.client.refresh_tools()).await;
        }
        let as_task = self.manner(options.client.shared(), era) == Manner::Task;
        let params = self.params(as_task)?;
        let outcome = options.send(Method::ToolsCall.into(), Some(params)).await;
        self.run_on(options, era, as_task, outcome).await
    }

    /// Goes on after the first request.
    pub(crate) async fn run_on(
        &self,
        options: &mut Options,
        era: Era,
        mut as_task: bool,
        mut outcome: Result<Payload, ErrorKind>,
    ) -> Result<Payload, ErrorKind> {
        options.begin();
        if !as_task
            && let Err(kind) = &outcome
            && may_want_task(options.client.shared(), era, kind)
        {
            // It may run as a task only, and was refused before it ran. What it says of itself is
            // in the list; a server that does not list has said no.
            let listed = Box::pin(options.client.refresh_tools()).await;
            as_task = listed.is_ok() && self.manner(options.client.shared(), era) == Manner::Task;
            if as_task {
                let params = self.params(as_task)?;
                outcome = options.send(Method::ToolsCall.into(), Some(params)).await;
            }
        }
        let is_mismatch = outcome.as_ref().is_err_and(is_mismatch);
        if is_mismatch && mirrors(options.client.shared(), era) {
            // The schema has changed since it was listed. The call was refused before it ran.
            Box::pin(options.client.refresh_tools())
                .await
                .map_err(|error| error.kind().clone())?;
            let params = self.params(as_task)?;
            outcome = options.send(Method::ToolsCall.into(), Some(params)).await;
        }
        let payload = outcome?;
        if options.is_for_another() {
            return Ok(payload);
        }
        match task::begun(era, as_task, &payload)? {
            Some(task) => Box::pin(task::follow(options, era, task)).await,
            None => Ok(payload),
        }
    }

    /// How the server is to run it.
    fn manner(&self, shared: &Shared, era: Era) -> Manner {
        let passed_on = self.passed_on.as_ref();
        if era == Era::Stateless || passed_on.is_some_and(|passed_on| passed_on.wants_task) {
            return Manner::Call;
        }
        if self.as_task {
            return Manner::Task;
        }
        match shared.lists.last_tools() {
            None => Manner::Unknown,
            Some(tools) => match tools.by_name(self.name()).map(Tool::task_support) {
                Some(TaskSupport::Required) => Manner::Task,
                _ => Manner::Call,
            },
        }
    }

    fn params(&self, as_task: bool) -> Result<Payload, ErrorKind> {
        let task = as_task.then(TaskMetadata::default);
        match &self.arguments {
            Arguments::None => self.encode(&Map::new(), task),
            Arguments::Named(arguments) => self.encode(arguments, task),
            Arguments::Encoded(params) if task.is_none() => Ok(params.clone()),
            // Whoever wrote them may have said more than the arguments, or not even those.
            Arguments::Encoded(params) if self.passed_on.is_some() => with_task(params),
            Arguments::Encoded(params) => {
                arguments_of::<RawJson>(params).and_then(|arguments| self.encode(&arguments, task))
            }
            Arguments::Unusable(error) => Err(Arc::clone(error)),
        }
        .map_err(ErrorKind::BadArguments)
    }

    fn encode(
        &self,
        arguments: &(impl Serialize + ?Sized),
        task: Option<TaskMetadata>,
    ) -> Result<Payload, Arc<serde_json::Error>> {
        let params = Params {
            name: self.name(),
            arguments,
            task,
        };
        Payload::encode(&params).map_err(Arc::new)
    }

    /// Holds the structured result to the tool's output schema, if the tool was listed.
    #[cfg(feature = "validate")]
    pub(crate) fn check_output(
        &self,
        client: &crate::Client,
        payload: &Payload,
    ) -> Result<(), ErrorKind> {
        if self.passed_on.is_some() {
            return Ok(());
        }
        let Some(tools) = client.shared().lists.last_tools() else {
            return Ok(());
        };
        let Some(schema) = tools.output_schema(self.name()) else {
            return Ok(());
        };
        if payload.is_error() {
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
    pub(crate) fn check_output(&self, _: &crate::Client, _: &Payload) -> Result<(), ErrorKind> {
        Ok(())
    }
}

/// How a server runs a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// Its answer is all there is, unless the server decides otherwise.
    Call,
    /// As a task (2025-11-25).
    Task,
    /// As a call, unless the tool says otherwise, which was not listed yet.
    Unknown,
}

/// Does a server of 2025-11-25 run tools as tasks?
fn takes_tasks(shared: &Shared) -> bool {
    match &*shared.state.borrow() {
        State::Ready(ready) => {
            let tasks = ready.capabilities.tasks.as_ref();
            tasks.is_some_and(TasksCapability::accepts_tool_calls)
        }
        _ => false,
    }
}

/// Can it have been refused because the tool runs as a task only?
fn may_want_task(shared: &Shared, era: Era, kind: &ErrorKind) -> bool {
    let is_refused =
        matches!(kind, ErrorKind::Refused(error) if error.code == ErrorCode::METHOD_NOT_FOUND);
    is_refused && era == Era::Handshake && !shared.lists.knows_tools() && takes_tasks(shared)
}

/// Do headers repeat arguments?
fn mirrors(shared: &Shared, era: Era) -> bool {
    shared.is_http && era == Era::Stateless
}

/// Was it refused because the headers do not repeat what they should?
fn is_mismatch(kind: &ErrorKind) -> bool {
    matches!(kind, ErrorKind::Refused(error) if error.code == ErrorCode::HEADER_MISMATCH)
}

#[derive(Serialize)]
struct Params<'a, A: ?Sized> {
    name: &'a str,
    arguments: &'a A,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskMetadata>,
}

/// Parameters that somebody else wrote, with the wish that the call become a task.
fn with_task(params: &Payload) -> Result<Payload, Arc<serde_json::Error>> {
    let mut members: BTreeMap<String, RawJson> = params.decode().map_err(Arc::new)?;
    let task = RawJson::encode(&TaskMetadata::default()).map_err(Arc::new)?;
    members.insert("task".to_owned(), task);
    Payload::encode(&members).map_err(Arc::new)
}

/// The arguments among the parameters that were written before.
fn arguments_of<A: DeserializeOwned>(params: &Payload) -> Result<A, Arc<serde_json::Error>> {
    #[derive(Deserialize)]
    struct Written<A> {
        arguments: A,
    }
    let written: Written<A> = params.decode().map_err(Arc::new)?;
    Ok(written.arguments)
}

/// What only calls of tools can be told.
impl<T> Call<T> {
    #[inline(always)]
    fn tool(mut self, change: impl FnOnce(&mut ToolCall)) -> Self {
        if let Body::Tool(tool) = &mut self.body {
            change(tool);
        }
        self
    }
}

impl Call<CallToolResult> {
    /// All arguments at once: anything that is written as a JSON object.
    #[inline(always)]
    pub fn args(self, arguments: &(impl Serialize + ?Sized)) -> Self {
        self.tool(|tool| {
            tool.arguments = match Payload::encode_call(tool.name(), arguments) {
                Ok(params) => Arguments::Encoded(params),
                Err(error) => Arguments::Unusable(Arc::new(error)),
            };
        })
    }

    /// One argument more.
    pub fn arg(self, name: impl Into<String>, value: impl Serialize) -> Self {
        let value = serde_json::to_value(value);
        self.tool(|tool| {
            let named = match (&mut tool.arguments, value) {
                (_, Err(error)) => Err(Arc::new(error)),
                (Arguments::None, Ok(value)) => Ok(Map::from_iter([(name.into(), value)])),
                (Arguments::Named(map), Ok(value)) => {
                    map.insert(name.into(), value);
                    return;
                }
                (Arguments::Encoded(params), Ok(value)) => {
                    arguments_of::<Map<String, Value>>(params).map(|mut map| {
                        map.insert(name.into(), value);
                        map
                    })
                }
                (Arguments::Unusable(_), Ok(_)) => return,
            };
            tool.arguments = match named {
                Ok(map) => Arguments::Named(map),
                Err(error) => Arguments::Unusable(error),
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
            if payload.is_error() {
                let result: CallToolResult = decode(&payload)?;
                return Err(ErrorKind::ToolFailed(result.joined_text()));
            }
            let structured: Structured<U> = decode(&payload)?;
            Ok(structured.structured_content)
        })
    }
}

/// Reads a result: the usual ones in one go, all others through the type that keeps everything.
/// What comes out is the same.
pub(crate) fn read_result(payload: &Payload) -> Result<CallToolResult, ErrorKind> {
    match CallToolResult::read_plain(payload) {
        Some(result) => Ok(result),
        None => decode(payload),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> Call<CallToolResult> {
        // Nothing is at the other end, and nothing is sent.
        let client = crate::Client::start(crate::Spec::in_memory(), crate::NoHost);
        client.call("add")
    }

    fn check(call: &Call<CallToolResult>, as_task: bool, expected: &str) {
        let Body::Tool(tool) = &call.body else {
            panic!("a call of a tool");
        };
        let params = tool.params(as_task).expect("arguments that can be written");
        assert_eq!(params.text(), expected);
    }

    #[tokio::test]
    async fn arguments_can_be_given_at_once_and_one_by_one() {
        let all = serde_json::json!({"a": 1});
        check(&call(), false, r#"{"name":"add","arguments":{}}"#);
        check(&call().args(&()), false, r#"{"name":"add","arguments":{}}"#);
        check(
            &call().args(&all),
            false,
            r#"{"name":"add","arguments":{"a":1}}"#,
        );
        let both = call().args(&all).arg("b", 2);
        check(&both, false, r#"{"name":"add","arguments":{"a":1,"b":2}}"#);
        let within = serde_json::json!({"arguments": null});
        let text = r#"{"name":"add","arguments":{"arguments":null}}"#;
        check(&call().args(&within), false, text);
    }

    #[tokio::test]
    async fn a_task_is_asked_for_beside_the_arguments() {
        let all = serde_json::json!({"a": 1});
        let text = r#"{"name":"add","arguments":{"a":1},"task":{}}"#;
        check(&call().args(&all), true, text);
        check(&call().arg("a", 1), true, text);
    }
}
