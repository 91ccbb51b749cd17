//! Prompts: messages that a user picks and fills in.
//!
//! Specification: server/prompts.

mod function;
mod messages;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{GetPromptResult, Icon, Prompt};

use crate::completion::{Completers, Completing};
use crate::context::Context;
use crate::error::BuildError;
use crate::words;

pub use function::PromptFunction;
pub use messages::IntoPrompt;

/// A prompt that a function fills in.
///
/// The arguments are a type with a field for each, whose doc comments become the
/// descriptions; fields that are [`Option`]s need not be given. Clients send texts: fields of
/// other simple types are read from them.
///
/// ```
/// use serde::Deserialize;
/// use schemars::JsonSchema;
/// use switchboard_server::{Server, prompt};
///
/// /// Asks for a review.
/// #[derive(Deserialize, JsonSchema)]
/// struct Review {
///     /// The code to review.
///     code: String,
/// }
///
/// let server = Server::new("demo", "1.0.0").prompt(prompt("review", |review: Review| async move {
///     format!("Review this code:\n\n{}", review.code)
/// }));
/// ```
pub fn prompt<F, M>(name: impl Into<String>, function: F) -> PromptBuilder
where
    F: PromptFunction<M>,
{
    let mut definition = Prompt::new(name);
    let mut problem = None;
    match function::arguments_of::<F::Arguments>() {
        Ok((arguments, description)) => {
            definition.arguments = (!arguments.is_empty()).then_some(arguments);
            definition.description = description;
        }
        Err(reason) => problem = Some(reason),
    }
    PromptBuilder {
        definition,
        problem,
        completers: Completers::default(),
        fill: Arc::new(
            move |arguments, context| match words::of_arguments(arguments) {
                Ok(arguments) => function.fill(arguments, context),
                Err(error) => {
                    let error = ErrorObject::invalid_params(format!("arguments: {error}"));
                    Box::pin(std::future::ready(Err(error)))
                }
            },
        ),
    }
}

/// What fills in a prompt.
pub(crate) type FillFuture =
    Pin<Box<dyn Future<Output = Result<GetPromptResult, ErrorObject>> + Send>>;
type Fill = Arc<dyn Fn(&BTreeMap<String, String>, Context) -> FillFuture + Send + Sync>;

/// A prompt in the making.
#[must_use = "a prompt does nothing until it is given to a server"]
pub struct PromptBuilder {
    definition: Prompt,
    problem: Option<String>,
    completers: Completers,
    fill: Fill,
}

impl PromptBuilder {
    /// What it is for. Replaces the doc comment of the arguments.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = Some(description.into());
        self
    }

    /// Its name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// Its icons.
    pub fn icons(mut self, icons: Vec<Icon>) -> Self {
        self.definition.icons = Some(icons);
        self
    }

    /// Suggests values for an argument while a user types.
    pub fn complete<F, Fut>(mut self, argument: impl Into<String>, function: F) -> Self
    where
        F: Fn(Completing) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<String>> + Send + 'static,
    {
        self.completers.add(argument.into(), function);
        self
    }

    pub(crate) fn build(self) -> Result<PromptEntry, BuildError> {
        let name = self.definition.name.clone();
        let fault = |reason: String| BuildError::Prompt {
            name: name.clone(),
            reason,
        };
        if name.is_empty() {
            return Err(fault("the name is empty".to_owned()));
        }
        if let Some(reason) = self.problem {
            return Err(fault(reason));
        }
        let arguments = self.definition.arguments.as_deref().unwrap_or_default();
        let is_known = |name: &&str| arguments.iter().any(|argument| argument.name == **name);
        if let Some(unknown) = self.completers.names().find(|name| !is_known(name)) {
            return Err(fault(format!("it has no argument {unknown:?} to complete")));
        }
        Ok(PromptEntry {
            definition: self.definition,
            completers: self.completers,
            fill: self.fill,
        })
    }
}

impl std::fmt::Debug for PromptBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PromptBuilder")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

/// A prompt that can be filled in.
pub(crate) struct PromptEntry {
    pub(crate) definition: Prompt,
    pub(crate) completers: Completers,
    pub(crate) fill: Fill,
}
