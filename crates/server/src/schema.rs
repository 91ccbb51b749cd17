//! JSON Schemas of Rust types, as models and clients read them best.
//!
//! schemars says what serde accepts; `tidy` brings that into the form this
//! project promises: every object closed, `properties` and `required` always
//! written, a description on every property, `enum` for constrained values,
//! definitions in place unless a type contains itself, no formats that only
//! Rust knows. The dialect is 2020-12, which is what a missing `$schema` means.
//! What decodes values is in `arguments`, what checks them in `validate`.
//!
//! - A type that is a map stays open, as does one that says so with
//!   `#[schemars(extend("additionalProperties" = true))]`.
//! - An optional argument is left out of `required` and its schema does not
//!   mention `null`: that would only tempt a model to write it. Decoding accepts it
//!   nevertheless. In an output schema `null` stays, because it is what serde writes.
//! - Integers of 8 and 16 bits keep their bounds, unsigned ones their zero; wider
//!   bounds would be noise, and decoding refuses what does not fit.
//! - The arguments of a tool and the fields of a form stand in the order in which the
//!   type declares them; inside them the required ones come first.
//!
//! Specification: server/tools (input and output schema), client/elicitation.

pub(crate) mod fields;
mod form;
mod lint;
#[cfg(test)]
mod tests;
mod tidy;
mod write;

use std::fmt;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_protocol::RawJson;

pub(crate) use form::form_schema;
pub use lint::{SchemaFault, SchemaFaultKind, faults, lint};

use tidy::Direction;

/// What a type says about itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Generated {
    /// The schema.
    pub(crate) schema: RawJson,
    /// The doc comment of the type, which the schema does not repeat.
    pub(crate) description: Option<String>,
}

/// The schema of what a tool takes.
///
/// # Errors
/// When values of the type are not JSON objects.
pub(crate) fn input_schema<T: JsonSchema + DeserializeOwned>() -> Result<Generated, SchemaError> {
    let mut schema = generate::<T>(Direction::Read);
    if !tidy::make_object_root(&mut schema) {
        return Err(SchemaError::NotAnObject {
            type_name: std::any::type_name::<T>(),
        });
    }
    let description = tidy::take_description(&mut schema);
    Ok(Generated {
        schema: write::to_raw(&schema, fields::declared::<T>())?,
        description,
    })
}

/// The schema of what a tool gives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Output {
    /// The schema.
    pub(crate) schema: RawJson,
    /// Does it describe an object? Until 2025-11-25 an output schema must.
    pub(crate) is_object: bool,
}

/// The schema of what a tool gives.
///
/// # Errors
/// When the schema has no text, which no derived one lacks.
pub(crate) fn output_schema<T: JsonSchema>() -> Result<Output, SchemaError> {
    let mut schema = generate::<T>(Direction::Written);
    let is_object = tidy::make_object_root(&mut schema);
    Ok(Output {
        schema: write::to_raw(&schema, &[])?,
        is_object,
    })
}

/// For tools that take nothing.
///
/// ```
/// let none: switchboard_server::NoArguments = serde_json::from_str("{}").unwrap();
/// # let _ = none;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
// The comment is about the type; it would become the description of every such tool.
#[schemars(description = "")]
#[non_exhaustive]
pub struct NoArguments {}

/// Why a type has no schema for its purpose.
#[derive(Debug)]
#[non_exhaustive]
pub enum SchemaError {
    /// Arguments and forms are objects; values of this type are something else.
    NotAnObject {
        /// The Rust type.
        type_name: &'static str,
    },
    /// A form has only texts, numbers, yes and no, and choices.
    NoFormField {
        /// The Rust type.
        type_name: &'static str,
        /// The property that is something else.
        property: String,
    },
    /// The schema has no text.
    Unwritable(serde_json::Error),
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnObject { type_name } => write!(
                f,
                "type `{type_name}` is not written as a JSON object; use a struct with named fields"
            ),
            Self::NoFormField {
                type_name,
                property,
            } => write!(
                f,
                "property `{property}` of `{type_name}` cannot stand in a form; use a string, \
                 a number, a bool, an enum without data or a list of such an enum"
            ),
            Self::Unwritable(_) => f.write_str("the schema has no JSON text"),
        }
    }
}

impl std::error::Error for SchemaError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unwritable(cause) => Some(cause),
            Self::NotAnObject { .. } | Self::NoFormField { .. } => None,
        }
    }
}

impl From<serde_json::Error> for SchemaError {
    fn from(cause: serde_json::Error) -> Self {
        Self::Unwritable(cause)
    }
}

fn generate<T: JsonSchema>(direction: Direction) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let settings = match direction {
        Direction::Read => settings.for_deserialize(),
        Direction::Written => settings.for_serialize(),
    };
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // schemars puts the name of the type there; a title of one's own stays.
    if schema.get("title").and_then(Value::as_str) == Some(&T::schema_name()) {
        schema.remove("title");
    }
    let mut schema = schema.to_value();
    tidy::tidy(&mut schema, direction);
    schema
}
