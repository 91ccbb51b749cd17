//! Calling tools.
//!
//! Specification: server/tools (calling, error handling); 2026-07-28
//! basic/transports/streamable-http (`Mcp-Param-*`).

use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use switchboard_protocol::http::parameter::Parameters;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::machine::server::Answer;
use switchboard_protocol::types::{CallToolResult, Tool};

use super::planning::Plan;
use super::{Router, answer_with};
use crate::context::Context;
use crate::service::{Call, Reply};
use crate::tool::{Given, Outcome, TaskMode, ToolEntry, ToolHandler};
use crate::validate::Validator;

impl Router {
    pub(super) fn call_tool(&self, call: Call<'_>) -> Reply {
        let context = call.context;
        let Some(params) = context.params() else {
            return refuse("tools/call needs params with a name");
        };
        let Some(name) = params.name_bytes() else {
            return refuse("tools/call needs a name, which is a string");
        };
        let Some(given) = Given::of(params) else {
            return refuse("arguments must be an object");
        };
        let changed;
        let found = if let Some(tools) = self.first_tools() {
            let handlers = || self.catalog().tool_handlers.clone();
            tools.find(&name).ok_or_else(handlers)
        } else {
            let catalog = self.catalog();
            changed = catalog.tools.find(&name).cloned();
            let handlers = || catalog.tool_handlers.clone();
            changed.as_ref().ok_or_else(handlers)
        };
        let entry = match found {
            Ok(entry) => entry,
            Err(handlers) => {
                let name = String::from_utf8_lossy(&name);
                return self.call_handler(&handlers, &name, given, context);
            }
        };
        if let Some(parameters) = &entry.parameters
            && let Err(error) = context.check_headers(parameters)
        {
            return Reply::Now(Answer::Error(error));
        }
        if let Some(validator) = &entry.input
            && let Err(outcome) = check_text(validator, given.text().unwrap_or(b"{}"))
        {
            return Reply::Now(answer(outcome, None, context));
        }
        let plan = match self.plan(entry.task, params, context) {
            Ok(plan) => plan,
            Err(error) => return Reply::Now(Answer::Error(error)),
        };
        if plan == Plan::Stay {
            let mut outcome = (entry.run)(given, context);
            // Most tools are done at once, and need no future around theirs.
            let mut task = TaskContext::from_waker(Waker::noop());
            if let Poll::Ready(outcome) = outcome.as_mut().poll(&mut task) {
                return Reply::Now(answer(outcome, promise_of(entry), context));
            }
            let (entry, context) = (Arc::clone(entry), context.clone());
            return Reply::later(
                async move { answer(outcome.await, promise_of(&entry), &context) },
            );
        }
        let (entry, context) = (Arc::clone(entry), context.clone());
        Reply::later(async move {
            if let Err(error) = plan.begin(&context).await {
                return Answer::Error(error);
            }
            let outcome = match context.params().and_then(Given::of) {
                Some(given) => (entry.run)(given, &context),
                None => return Answer::Error(ErrorObject::internal("the parameters are gone")),
            };
            answer(outcome.await, promise_of(&entry), &context)
        })
    }

    /// Calls the handler that has a tool of this name.
    fn call_handler(
        &self,
        handlers: &[Arc<dyn ToolHandler>],
        name: &str,
        given: Given<'_>,
        context: &Context,
    ) -> Reply {
        let found = handlers.iter().find_map(|handler| {
            let tool = handler.list().into_iter().find(|tool| tool.name == name)?;
            Some((Arc::clone(handler), tool))
        });
        let Some((handler, tool)) = found else {
            return Reply::Now(Answer::Error(unknown_tool(name)));
        };
        // A tool whose annotations are not valid repeats nothing in headers.
        if let Ok(parameters) = Parameters::read(&tool.input_schema)
            && !parameters.is_empty()
            && let Err(error) = context.check_headers(&parameters)
        {
            return Reply::Now(Answer::Error(error));
        }
        if let Err(outcome) = check_against(&tool, given) {
            return Reply::Now(answer(outcome, None, context));
        }
        let plan = match self.plan(TaskMode::of(&tool), given.params(), context) {
            Ok(plan) => plan,
            Err(error) => return Reply::Now(Answer::Error(error)),
        };
        let (name, arguments, context) = (name.to_owned(), given.payload(), context.clone());
        Reply::later(async move {
            if let Err(error) = plan.begin(&context).await {
                return Answer::Error(error);
            }
            let outcome = handler.call(&name, arguments, context.clone()).await;
            let promise = tool.output_schema.as_ref().map(Validator::compile);
            match promise.transpose() {
                Ok(promise) => answer(outcome, promise.as_ref().map(|p| (&*name, p)), &context),
                Err(error) => Answer::Error(bad_schema(&name, &error)),
            }
        })
    }
}

fn check_against(tool: &Tool, given: Given<'_>) -> Result<(), Outcome> {
    match Validator::compile(&tool.input_schema) {
        Ok(validator) => check_text(&validator, given.text().unwrap_or(b"{}")),
        Err(error) => Err(Outcome::Refused(bad_schema(&tool.name, &error))),
    }
}

fn check_text(validator: &Validator, arguments: &[u8]) -> Result<(), Outcome> {
    validator
        .check(arguments)
        .map_err(|invalid| Outcome::BadArguments(invalid.to_string()))
}

fn bad_schema(name: &str, error: &impl std::fmt::Display) -> ErrorObject {
    ErrorObject::internal(format!("the schema of tool {name:?} is not one: {error}"))
}

/// The name of a tool, and what its structured result must be.
type Promise<'a> = (&'a str, &'a Validator);

fn promise_of(entry: &ToolEntry) -> Option<Promise<'_>> {
    Some((&entry.definition.name, entry.output.as_ref()?))
}

/// What a tool has done, as the answer to its call.
fn answer(outcome: Outcome, promise: Option<Promise<'_>>, context: &Context) -> Answer {
    let revision = context.revision();
    match outcome {
        Outcome::Text(text) if promise.is_none() => Answer::Text(text),
        Outcome::Text(text) => answer(
            Outcome::Result(Box::new(CallToolResult::text(text))),
            promise,
            context,
        ),
        Outcome::Result(result) => match check_output(&result, promise) {
            Ok(()) => answer_with(*result, revision),
            Err(error) => Answer::Error(error),
        },
        Outcome::Failed(reason) => match context.refusal() {
            Some(refusal) => Answer::Error(refusal),
            None => answer_with(CallToolResult::error(reason), revision),
        },
        Outcome::BadArguments(reason) => answer_with(
            CallToolResult::error(format!("the arguments are not valid: {reason}")),
            revision,
        ),
        Outcome::Refused(error) => Answer::Error(context.refusal().unwrap_or(error)),
    }
}

/// A structured result must be what the tool said it would be.
fn check_output(result: &CallToolResult, promise: Option<Promise<'_>>) -> Result<(), ErrorObject> {
    let Some((name, validator)) = promise else {
        return Ok(());
    };
    if result.is_error() {
        return Ok(());
    }
    let Some(structured) = &result.structured_content else {
        return Err(ErrorObject::internal(format!(
            "tool {name:?} has an output schema but gave no structured content"
        )));
    };
    validator
        .check(structured.as_str().as_bytes())
        .map_err(|invalid| {
            ErrorObject::internal(format!(
                "the result of tool {name:?} does not fit its output schema: {invalid}"
            ))
        })
}

fn unknown_tool(name: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("Unknown tool: {name}"))
}

fn refuse(message: &str) -> Reply {
    Reply::Now(Answer::Error(ErrorObject::invalid_params(message)))
}
