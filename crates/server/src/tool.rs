//! Tools: what a model may call.
//!
//! [`tool`] makes one of a function; [`ToolHandler`] answers for any number of them that
//! are not known when the program is written. Listing and calling are in `router.rs`.
//!
//! Specification: server/tools.

mod function;
mod handler;
mod outcome;

use std::future::Future;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use switchboard_protocol::http::parameter::Parameters;
use switchboard_protocol::types::{
    Icon, Meta, TaskSupport, Tool, ToolAnnotations, ToolExecution, is_valid_tool_name,
};
use switchboard_protocol::{Payload, RawJson};

use crate::arguments::decode_arguments;
use crate::context::Context;
use crate::error::BuildError;
use crate::schema;
use crate::validate::Validator;

pub use function::ToolFunction;
pub use handler::ToolHandler;
pub use outcome::{IntoToolResult, Json, Outcome};

pub(crate) use outcome::OutcomeFuture;

/// A tool that calls a function.
///
/// The arguments are any type that can be read from JSON and describe itself; its doc
/// comments become the descriptions of the tool and of its parameters. The result is
/// anything that [becomes one](IntoToolResult). The function may take a
/// [`Context`](crate::Context) besides, and it need not take arguments at all.
///
/// Until it first waits it runs where the connection is served: what blocks or computes for
/// long belongs into `tokio::task::spawn_blocking`, or other calls wait for it.
///
/// ```
/// use serde::Deserialize;
/// use schemars::JsonSchema;
/// use switchboard_server::{Server, tool};
///
/// /// Adds two numbers.
/// #[derive(Deserialize, JsonSchema)]
/// struct Add {
///     /// The first.
///     a: i64,
///     /// The second.
///     b: i64,
/// }
///
/// let server = Server::new("demo", "1.0.0")
///     .tool(tool("add", |add: Add| async move { add.a + add.b }).read_only());
/// ```
pub fn tool<F, M>(name: impl Into<String>, function: F) -> ToolBuilder
where
    F: ToolFunction<M>,
{
    let name = name.into();
    let mut problems = Vec::new();
    let (input_schema, description) = match schema::input_schema::<F::Arguments>() {
        Ok(generated) => (generated.schema, generated.description),
        Err(error) => {
            problems.push(error.to_string());
            (no_arguments(), None)
        }
    };
    let mut definition = Tool::new(name, input_schema);
    definition.description = description;
    match F::Output::output_schema() {
        Ok(schema) => definition.output_schema = schema,
        Err(error) => problems.push(error.to_string()),
    }
    let schema = definition.input_schema.clone();
    ToolBuilder {
        definition,
        problems,
        task: TaskMode::Never,
        is_typed: true,
        // Arguments that are not what the function takes do not reach it; the model is told.
        run: Arc::new(
            move |given, context| match decode_arguments(given.text(), &schema) {
                Ok(arguments) => function.run(arguments, context),
                Err(error) => {
                    let wrong = Outcome::BadArguments(error.to_string());
                    Box::pin(std::future::ready(wrong))
                }
            },
        ),
    }
}

/// A tool with a schema of your own, whose function gets the arguments as they came.
///
/// The schema is sent to clients as it is. With the feature `validate`, arguments that do
/// not fit it do not reach the function.
pub fn raw_tool<F, Fut, R>(
    name: impl Into<String>,
    input_schema: RawJson,
    function: F,
) -> ToolBuilder
where
    F: Fn(Payload, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolResult,
{
    ToolBuilder {
        definition: Tool::new(name, input_schema),
        problems: Vec::new(),
        task: TaskMode::Never,
        is_typed: false,
        run: Arc::new(move |given, context| {
            function::finish(function(given.payload(), context.clone()))
        }),
    }
}

/// A tool in the making.
#[must_use = "a tool does nothing until it is given to a server"]
pub struct ToolBuilder {
    definition: Tool,
    problems: Vec<String>,
    task: TaskMode,
    is_typed: bool,
    run: Run,
}

/// Whether a tool answers with a task that goes on, where the client can deal with one.
///
/// ```
/// use switchboard_server::{Context, Failure, NoArguments, Server, TaskMode, tool};
///
/// async fn report(_: NoArguments, context: Context) -> Result<String, Failure> {
///     let roots = context.roots("where").await?;
///     // Where this is refused, the client waits for the result instead.
///     let _ = context.continue_as_task().await;
///     Ok(format!("looked into {} folders", roots.len()))
/// }
///
/// let server = Server::new("demo", "1.0.0")
///     .tool(tool("report", report).task(TaskMode::ByHandler));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskMode {
    /// It answers with its result.
    #[default]
    Never,
    /// It becomes a task where its handler says so, with
    /// [`Context::continue_as_task`]: after it has asked what it must, say, or if the work
    /// turns out to be long.
    ByHandler,
    /// It becomes a task before it begins, if the client can deal with one.
    WhenPossible,
    /// It becomes a task before it begins, and clients that cannot deal with one cannot
    /// call it.
    Always,
}

impl TaskMode {
    /// What the definition of a tool says, in the words of 2025-11-25.
    pub(crate) fn of(tool: &Tool) -> Self {
        let execution = tool.execution.as_ref();
        match execution.and_then(|execution| execution.task_support.as_ref()) {
            Some(TaskSupport::Optional) => Self::WhenPossible,
            Some(TaskSupport::Required) => Self::Always,
            _ => Self::Never,
        }
    }
}

/// What runs a tool.
pub(crate) type Run = Arc<dyn Fn(Given<'_>, &Context) -> OutcomeFuture + Send + Sync>;

/// The arguments of a call, still part of its parameters: an object, or not there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'a> {
    params: &'a Payload,
    text: Option<&'a [u8]>,
}

impl<'a> Given<'a> {
    /// None if there are arguments that are not an object.
    pub(crate) fn of(params: &'a Payload) -> Option<Self> {
        let text = params.arguments();
        match text.and_then(|text| text.first()) {
            None | Some(b'{') => Some(Self { params, text }),
            // Some clients say that there are none in this way.
            Some(b'n') => Some(Self { params, text: None }),
            Some(_) => None,
        }
    }

    pub(crate) const fn text(self) -> Option<&'a [u8]> {
        self.text
    }

    pub(crate) const fn params(self) -> &'a Payload {
        self.params
    }

    /// As a value of its own. None are an empty object.
    pub(crate) fn payload(self) -> Payload {
        self.text
            .map_or_else(Payload::empty, |text| self.params.part_of(text))
    }
}

impl ToolBuilder {
    /// What it does, for the model. Replaces the doc comment of the arguments.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = Some(description.into());
        self
    }

    /// Its name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// It changes nothing.
    pub fn read_only(self) -> Self {
        self.annotate(|hints| hints.read_only_hint = Some(true))
    }

    /// It may destroy.
    pub fn destructive(self, may_destroy: bool) -> Self {
        self.annotate(|hints| hints.destructive_hint = Some(may_destroy))
    }

    /// Calling it twice is calling it once.
    pub fn idempotent(self) -> Self {
        self.annotate(|hints| hints.idempotent_hint = Some(true))
    }

    /// Whether it deals with things outside the server.
    pub fn open_world(self, is_open: bool) -> Self {
        self.annotate(|hints| hints.open_world_hint = Some(is_open))
    }

    /// Its icons.
    pub fn icons(mut self, icons: Vec<Icon>) -> Self {
        self.definition.icons = Some(icons);
        self
    }

    /// Something beside the data.
    pub fn meta(mut self, key: impl Into<String>, value: impl Serialize) -> Self {
        match serde_json::to_value(value) {
            Ok(value) => {
                let meta = self.definition.meta.get_or_insert_with(Meta::new);
                meta.insert(key, value);
            }
            Err(error) => self.problems.push(error.to_string()),
        }
        self
    }

    /// The schema of the structured result, for tools that give one without a type.
    pub fn output_schema(mut self, schema: RawJson) -> Self {
        self.definition.output_schema = Some(schema);
        self
    }

    /// The schema of the structured result, taken from a type.
    pub fn output<T: JsonSchema>(mut self) -> Self {
        match schema::output_schema::<T>() {
            Ok(output) => self.definition.output_schema = Some(output.schema),
            Err(error) => self.problems.push(error.to_string()),
        }
        self
    }

    /// Whether it answers with a task that goes on.
    pub fn task(mut self, mode: TaskMode) -> Self {
        self.task = mode;
        let support = match mode {
            TaskMode::Never => None,
            TaskMode::ByHandler | TaskMode::WhenPossible => Some(TaskSupport::Optional),
            TaskMode::Always => Some(TaskSupport::Required),
        };
        self.definition.execution = support.map(|support| {
            let mut execution = ToolExecution::default();
            execution.task_support = Some(support);
            execution
        });
        self
    }

    /// Makes it ready to be called.
    pub(crate) fn build(self) -> Result<ToolEntry, BuildError> {
        let name = self.definition.name.clone();
        let fault = |reason: String| BuildError::Tool {
            name: name.clone(),
            reason,
        };
        if !is_valid_tool_name(&name) {
            return Err(fault(
                "the name must be 1 to 128 of A-Z, a-z, 0-9, '_', '.', '-'".to_owned(),
            ));
        }
        if let Some(problem) = self.problems.into_iter().next() {
            return Err(fault(problem));
        }
        let schema = &self.definition.input_schema;
        let parameters = Parameters::read(schema).map_err(|error| fault(error.to_string()))?;
        let compile =
            |schema: &RawJson| Validator::compile(schema).map_err(|e| fault(e.to_string()));
        // Typed arguments are checked by being read.
        let input = (!self.is_typed).then(|| compile(schema)).transpose()?;
        let output = self.definition.output_schema.as_ref();
        let output = output.map(compile).transpose()?;
        Ok(ToolEntry {
            definition: self.definition,
            parameters: (!parameters.is_empty()).then_some(parameters),
            input,
            output,
            task: self.task,
            run: self.run,
        })
    }

    fn annotate(mut self, set: impl FnOnce(&mut ToolAnnotations)) -> Self {
        set(self.definition.annotations.get_or_insert_default());
        self
    }
}

impl std::fmt::Debug for ToolBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolBuilder")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

/// A tool that can be called.
pub(crate) struct ToolEntry {
    pub(crate) definition: Tool,
    /// Which arguments are repeated in headers, if any are.
    pub(crate) parameters: Option<Parameters>,
    /// Checks arguments that are not read as a type.
    pub(crate) input: Option<Validator>,
    /// Checks the structured result.
    pub(crate) output: Option<Validator>,
    pub(crate) task: TaskMode,
    pub(crate) run: Run,
}

/// The schema of a tool without arguments.
fn no_arguments() -> RawJson {
    RawJson::parse(r#"{"type":"object","properties":{},"additionalProperties":false}"#)
        .expect("invariant: the text above is JSON")
}
