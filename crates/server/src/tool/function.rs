//! Functions that can be tools.

use std::future::Future;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::schema::NoArguments;
use crate::tool::{IntoToolResult, OutcomeFuture};

/// A function that can be a tool: `async fn(Arguments) -> Result`, the same with a
/// [`Context`] after the arguments, and both without arguments.
///
/// `M` tells these forms apart and is never named.
pub trait ToolFunction<M>: Send + Sync + 'static {
    /// What it takes.
    #[doc(hidden)]
    type Arguments: DeserializeOwned + JsonSchema;

    /// What it gives.
    #[doc(hidden)]
    type Output: IntoToolResult;

    /// Calls it.
    #[doc(hidden)]
    fn run(&self, arguments: Self::Arguments, context: &Context) -> OutcomeFuture;
}

/// `async fn(Arguments) -> Result`
impl<F, A, Fut> ToolFunction<(A,)> for F
where
    F: Fn(A) -> Fut + Send + Sync + 'static,
    A: DeserializeOwned + JsonSchema,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    type Arguments = A;
    type Output = Fut::Output;

    fn run(&self, arguments: A, _: &Context) -> OutcomeFuture {
        finish(self(arguments))
    }
}

/// `async fn(Arguments, Context) -> Result`
impl<F, A, Fut> ToolFunction<(A, Context)> for F
where
    F: Fn(A, Context) -> Fut + Send + Sync + 'static,
    A: DeserializeOwned + JsonSchema,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    type Arguments = A;
    type Output = Fut::Output;

    fn run(&self, arguments: A, context: &Context) -> OutcomeFuture {
        finish(self(arguments, context.clone()))
    }
}

/// `async fn() -> Result`
impl<F, Fut> ToolFunction<()> for F
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    type Arguments = NoArguments;
    type Output = Fut::Output;

    fn run(&self, _: NoArguments, _: &Context) -> OutcomeFuture {
        finish(self())
    }
}

/// `async fn(Context) -> Result`
impl<F, Fut> ToolFunction<Context> for F
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    type Arguments = NoArguments;
    type Output = Fut::Output;

    fn run(&self, _: NoArguments, context: &Context) -> OutcomeFuture {
        finish(self(context.clone()))
    }
}

pub(super) fn finish<R: IntoToolResult>(
    result: impl Future<Output = R> + Send + 'static,
) -> OutcomeFuture {
    Box::pin(async move { result.await.into_tool_result() })
}
