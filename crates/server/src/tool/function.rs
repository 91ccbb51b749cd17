//! Functions that can be tools.

use std::future::Future;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use switchboard_protocol::RawJson;

use crate::arguments::decode_arguments;
use crate::context::Context;
use crate::schema::{self, NoArguments, SchemaError};
use crate::tool::{Given, IntoToolResult, Outcome, OutcomeFuture};

/// A function that can be a tool: `async fn(Arguments) -> Result`, the same with a
/// [`Context`] after the arguments, and both without arguments.
///
/// `M` tells these forms apart and is never named.
pub trait ToolFunction<M>: Send + Sync + 'static {
    /// What the arguments look like.
    #[doc(hidden)]
    fn input_schema() -> Result<(RawJson, Option<String>), SchemaError>;

    /// What a structured result looks like.
    #[doc(hidden)]
    fn output_schema() -> Result<Option<RawJson>, SchemaError>;

    /// Reads the arguments and calls the function.
    #[doc(hidden)]
    fn run(&self, given: Given<'_>, schema: &RawJson, context: &Context) -> OutcomeFuture;
}

/// `async fn(Arguments) -> Result`
impl<F, A, Fut> ToolFunction<(A,)> for F
where
    F: Fn(A) -> Fut + Send + Sync + 'static,
    A: DeserializeOwned + JsonSchema,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    fn input_schema() -> Result<(RawJson, Option<String>), SchemaError> {
        let generated = schema::input_schema::<A>()?;
        Ok((generated.schema, generated.description))
    }

    fn output_schema() -> Result<Option<RawJson>, SchemaError> {
        Fut::Output::output_schema()
    }

    fn run(&self, given: Given<'_>, schema: &RawJson, _: &Context) -> OutcomeFuture {
        match read(given, schema) {
            Ok(arguments) => finish(self(arguments)),
            Err(wrong) => Box::pin(std::future::ready(wrong)),
        }
    }
}

/// `async fn(Arguments, Context) -> Result`
impl<F, A, Fut> ToolFunction<(A, Context)> for F
where
    F: Fn(A, Context) -> Fut + Send + Sync + 'static,
    A: DeserializeOwned + JsonSchema,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    fn input_schema() -> Result<(RawJson, Option<String>), SchemaError> {
        let generated = schema::input_schema::<A>()?;
        Ok((generated.schema, generated.description))
    }

    fn output_schema() -> Result<Option<RawJson>, SchemaError> {
        Fut::Output::output_schema()
    }

    fn run(&self, given: Given<'_>, schema: &RawJson, context: &Context) -> OutcomeFuture {
        match read(given, schema) {
            Ok(arguments) => finish(self(arguments, context.clone())),
            Err(wrong) => Box::pin(std::future::ready(wrong)),
        }
    }
}

/// `async fn() -> Result`
impl<F, Fut> ToolFunction<()> for F
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    fn input_schema() -> Result<(RawJson, Option<String>), SchemaError> {
        let generated = schema::input_schema::<NoArguments>()?;
        Ok((generated.schema, generated.description))
    }

    fn output_schema() -> Result<Option<RawJson>, SchemaError> {
        Fut::Output::output_schema()
    }

    fn run(&self, given: Given<'_>, schema: &RawJson, _: &Context) -> OutcomeFuture {
        match read::<NoArguments>(given, schema) {
            Ok(_) => finish(self()),
            Err(wrong) => Box::pin(std::future::ready(wrong)),
        }
    }
}

/// `async fn(Context) -> Result`
impl<F, Fut> ToolFunction<Context> for F
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    fn input_schema() -> Result<(RawJson, Option<String>), SchemaError> {
        let generated = schema::input_schema::<NoArguments>()?;
        Ok((generated.schema, generated.description))
    }

    fn output_schema() -> Result<Option<RawJson>, SchemaError> {
        Fut::Output::output_schema()
    }

    fn run(&self, given: Given<'_>, schema: &RawJson, context: &Context) -> OutcomeFuture {
        match read::<NoArguments>(given, schema) {
            Ok(_) => finish(self(context.clone())),
            Err(wrong) => Box::pin(std::future::ready(wrong)),
        }
    }
}

fn finish<R: IntoToolResult>(result: impl Future<Output = R> + Send + 'static) -> OutcomeFuture {
    Box::pin(async move { result.await.into_tool_result() })
}

/// Reads arguments as the type that the function wants; if they are not that, the model is told.
fn read<A: DeserializeOwned>(given: Given<'_>, schema: &RawJson) -> Result<A, Outcome> {
    decode_arguments(given.text(), schema).map_err(|error| Outcome::BadArguments(error.to_string()))
}
