//! Functions that can fill in prompts.

use std::future::Future;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use switchboard_protocol::types::PromptArgument;

use crate::context::Context;
use crate::prompt::{FillFuture, IntoPrompt};
use crate::schema::{self, NoArguments};

/// A function that fills in a prompt: `async fn(Arguments) -> Prompt`, the same with a
/// [`Context`] after the arguments, and both without arguments.
///
/// `M` tells these forms apart and is never named.
pub trait PromptFunction<M>: Send + Sync + 'static {
    /// What it takes.
    #[doc(hidden)]
    type Arguments: DeserializeOwned + JsonSchema;

    /// Fills it in.
    #[doc(hidden)]
    fn fill(&self, arguments: Self::Arguments, context: Context) -> FillFuture;
}

impl<F, A, Fut> PromptFunction<(A,)> for F
where
    F: Fn(A) -> Fut + Send + Sync + 'static,
    A: DeserializeOwned + JsonSchema,
    Fut: Future<Output: IntoPrompt> + Send + 'static,
{
    type Arguments = A;

    fn fill(&self, arguments: A, _: Context) -> FillFuture {
        finish(self(arguments))
    }
}

impl<F, A, Fut> PromptFunction<(A, Context)> for F
where
    F: Fn(A, Context) -> Fut + Send + Sync + 'static,
    A: DeserializeOwned + JsonSchema,
    Fut: Future<Output: IntoPrompt> + Send + 'static,
{
    type Arguments = A;

    fn fill(&self, arguments: A, context: Context) -> FillFuture {
        finish(self(arguments, context))
    }
}

impl<F, Fut> PromptFunction<()> for F
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoPrompt> + Send + 'static,
{
    type Arguments = NoArguments;

    fn fill(&self, _: NoArguments, _: Context) -> FillFuture {
        finish(self())
    }
}

impl<F, Fut> PromptFunction<Context> for F
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoPrompt> + Send + 'static,
{
    type Arguments = NoArguments;

    fn fill(&self, _: NoArguments, context: Context) -> FillFuture {
        finish(self(context))
    }
}

fn finish<R: IntoPrompt>(prompt: impl Future<Output = R> + Send + 'static) -> FillFuture {
    Box::pin(async move { prompt.await.into_prompt() })
}

/// The arguments of a prompt, from the fields of a type.
pub(super) fn arguments_of<A: JsonSchema + DeserializeOwned>()
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
    let mut properties: Vec<_> = object.properties.into_iter().collect();
    // A user fills them in as their author wrote them down.
    let declared = schema::fields::declared::<A>();
    properties.sort_by_key(|(name, _)| declared.iter().position(|field| field == name));
    let arguments = properties.into_iter().map(|(name, property)| {
        let mut argument = PromptArgument::new(name);
        let description = property.get("description").and_then(|text| text.as_str());
        argument.description = description.map(str::to_owned);
        argument.required = Some(object.required.contains(&argument.name));
        argument
    });
    Ok((arguments.collect(), generated.description))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, JsonSchema)]
    struct Letter {
        #[expect(dead_code, reason = "only its name matters")]
        to: String,
        #[expect(dead_code, reason = "only its name matters")]
        about: Option<String>,
    }

    #[test]
    fn arguments_come_in_the_order_in_which_they_are_declared() {
        let (arguments, _) = arguments_of::<Letter>().unwrap();
        let names: Vec<_> = arguments.iter().map(|a| (&*a.name, a.required)).collect();
        assert_eq!(names, [("to", Some(true)), ("about", Some(false))]);
    }
}
