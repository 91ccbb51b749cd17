//! Functions that can fill in prompts.

use std::collections::BTreeMap;
use std::future::Future;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::PromptArgument;

use crate::context::Context;
use crate::prompt::{FillFuture, IntoPrompt};
use crate::schema;
use crate::words;

/// A function that fills in a prompt: `async fn(Arguments) -> Prompt`, the same with a
/// [`Context`] after the arguments, and both without arguments.
///
/// `M` tells these forms apart and is never named.
pub trait PromptFunction<M>: Send + Sync + 'static {
    /// The arguments and the description, if there is one; or what is wrong with them.
    #[doc(hidden)]
    fn arguments() -> Result<(Vec<PromptArgument>, Option<String>), String>;

    /// Fills it in.
    #[doc(hidden)]
    fn fill(&self, arguments: &BTreeMap<String, String>, context: Context) -> FillFuture;
}

impl<F, A, Fut> PromptFunction<(A,)> for F
where
    F: Fn(A) -> Fut + Send + Sync + 'static,
    A: DeserializeOwned + JsonSchema,
    Fut: Future<Output: IntoPrompt> + Send + 'static,
{
    fn arguments() -> Result<(Vec<PromptArgument>, Option<String>), String> {
        arguments_of::<A>()
    }

    fn fill(&self, arguments: &BTreeMap<String, String>, _context: Context) -> FillFuture {
        match read(arguments) {
            Ok(arguments) => finish(self(arguments)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}

impl<F, A, Fut> PromptFunction<(A, Context)> for F
where
    F: Fn(A, Context) -> Fut + Send + Sync + 'static,
    A: DeserializeOwned + JsonSchema,
    Fut: Future<Output: IntoPrompt> + Send + 'static,
{
    fn arguments() -> Result<(Vec<PromptArgument>, Option<String>), String> {
        arguments_of::<A>()
    }

    fn fill(&self, arguments: &BTreeMap<String, String>, context: Context) -> FillFuture {
        match read(arguments) {
            Ok(arguments) => finish(self(arguments, context)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}

impl<F, Fut> PromptFunction<()> for F
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoPrompt> + Send + 'static,
{
    fn arguments() -> Result<(Vec<PromptArgument>, Option<String>), String> {
        Ok((Vec::new(), None))
    }

    fn fill(&self, _arguments: &BTreeMap<String, String>, _context: Context) -> FillFuture {
        finish(self())
    }
}

impl<F, Fut> PromptFunction<Context> for F
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoPrompt> + Send + 'static,
{
    fn arguments() -> Result<(Vec<PromptArgument>, Option<String>), String> {
        Ok((Vec::new(), None))
    }

    fn fill(&self, _arguments: &BTreeMap<String, String>, context: Context) -> FillFuture {
        finish(self(context))
    }
}

fn finish<R: IntoPrompt>(prompt: impl Future<Output = R> + Send + 'static) -> FillFuture {
    Box::pin(async move { prompt.await.into_prompt() })
}

fn read<A: DeserializeOwned>(arguments: &BTreeMap<String, String>) -> Result<A, ErrorObject> {
    words::of_arguments(arguments)
        .map_err(|error| ErrorObject::invalid_params(format!("arguments: {error}")))
}

/// The arguments of a prompt, from the fields of a type.
fn arguments_of<A: JsonSchema + DeserializeOwned>()
-> Result<(Vec<PromptArgument>, Option<String>), String> {
    #[derive(serde::Deserialize)]
    struct Object {
        #[serde(default)]
        properties: serde_json::Map<String, serde_json::Value>,
        #[serde(default)]
        required: Vec<String>,
    }
    let generated = schema::input_schema::<A>().map_err(|error| error.to_string())?;
    let object: Object = generated
        .schema
        .decode()
        .map_err(|error| error.to_string())?;
    let arguments = object.properties.into_iter().map(|(name, property)| {
        let mut argument = PromptArgument::new(name);
        let description = property.get("description").and_then(|text| text.as_str());
        argument.description = description.map(str::to_owned);
        argument.required = Some(object.required.contains(&argument.name));
        argument
    });
    Ok((arguments.collect(), generated.description))
}
