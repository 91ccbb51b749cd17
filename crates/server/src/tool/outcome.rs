//! What a tool gives back.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use schemars::JsonSchema;
use serde::Serialize;
use switchboard_protocol::RawJson;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::types::{CallToolResult, ContentBlock};

use crate::failure::Failure;
use crate::schema::{self, SchemaError};

/// What a tool has done.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// A text, which is what most tools give.
    Text(String),
    /// Anything else that is a result.
    Result(Box<CallToolResult>),
    /// It could not do its work. The model is told why.
    Failed(String),
    /// The arguments are not what the tool takes. Nothing was done; the model is told which.
    BadArguments(String),
    /// The call itself was wrong. The client is told, the model may not be.
    Refused(ErrorObject),
}

/// An outcome that is still to come.
pub(crate) type OutcomeFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// What can be the result of a tool.
///
/// Texts, numbers and truth values become text; [`ContentBlock`]s and lists of them
/// are taken as they are; [`Json`] becomes structured content with a schema; of a
/// [`Result`], an error is told to the model as the tool's failure.
pub trait IntoToolResult {
    /// The schema of the structured content, if there is any.
    ///
    /// # Errors
    /// The type has none that could be written.
    #[doc(hidden)]
    fn output_schema() -> Result<Option<RawJson>, SchemaError> {
        Ok(None)
    }

    /// The result.
    fn into_tool_result(self) -> Outcome;
}

/// A result with structure: `structuredContent`, and the same as text for older clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema> IntoToolResult for Json<T> {
    fn output_schema() -> Result<Option<RawJson>, SchemaError> {
        Ok(Some(schema::output_schema::<T>()?.schema))
    }

    fn into_tool_result(self) -> Outcome {
        match RawJson::encode(&self.0) {
            Ok(value) => Outcome::Result(Box::new(CallToolResult::structured(value))),
            Err(error) => Outcome::Refused(ErrorObject::internal(format!(
                "the result cannot be written as JSON: {error}"
            ))),
        }
    }
}

impl<T, E> IntoToolResult for Result<T, E>
where
    T: IntoToolResult,
    E: fmt::Display + 'static,
{
    fn output_schema() -> Result<Option<RawJson>, SchemaError> {
        T::output_schema()
    }

    fn into_tool_result(self) -> Outcome {
        match self {
            Ok(value) => value.into_tool_result(),
            Err(error) => match Failure::of(&error) {
                Failure::Refused(error) => Outcome::Refused(error),
                Failure::Failed(reason) => Outcome::Failed(reason),
            },
        }
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> Outcome {
        Outcome::Text(self)
    }
}

impl IntoToolResult for &'static str {
    fn into_tool_result(self) -> Outcome {
        Outcome::Text(self.to_owned())
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Outcome {
        Outcome::Result(Box::default())
    }
}

impl IntoToolResult for ContentBlock {
    fn into_tool_result(self) -> Outcome {
        vec![self].into_tool_result()
    }
}

impl IntoToolResult for Vec<ContentBlock> {
    fn into_tool_result(self) -> Outcome {
        CallToolResult::new(self).into_tool_result()
    }
}

impl IntoToolResult for CallToolResult {
    fn into_tool_result(self) -> Outcome {
        Outcome::Result(Box::new(self))
    }
}

impl IntoToolResult for Outcome {
    fn into_tool_result(self) -> Outcome {
        self
    }
}

macro_rules! becomes_text {
    ($($type:ty)*) => {$(
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Outcome {
                Outcome::Text(self.to_string())
            }
        }
    )*};
}

becomes_text!(bool char i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64);
