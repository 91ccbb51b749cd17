//! Checks values against JSON Schemas that someone else wrote.
//!
//! A schema may come from a stranger, so its cost is bounded. `survey` reads it first and
//! refuses what is too large, what refers to anything outside the schema (nothing is ever
//! fetched) and what would turn in circles. While a value is checked, every subschema
//! that is entered is counted, and a check that needs too many is given up.
//! Patterns run on an engine that takes linear time; it has neither look-around
//! nor back-references, and a schema with those is refused.
//!
//! Specification: basic (JSON Schema usage), server/tools.

mod path;
mod schema;
mod survey;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;

pub use schema::Validator;

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unusable {
    /// More than the limit of what a schema may be.
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much of it there may be.
        limit: usize,
    },
    /// `$schema` names a dialect other than 2020-12 and draft-07.
    Dialect(String),
    /// A reference to something outside the schema, which is never fetched.
    Remote(String),
    /// A reference to a place in the schema where there is no schema.
    Dangling(String),
    /// A schema that applies itself to the same value again.
    Circular(String),
    /// Not a schema of its dialect.
    Malformed(String),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { what, limit } => {
                write!(f, "the schema has more than {limit} {what}")
            }
            Self::Dialect(name) => write!(
                f,
                "the schema is written in `{name}`; use 2020-12 or draft-07"
            ),
            Self::Remote(reference) => write!(
                f,
                "`$ref` to `{reference}` leads outside the schema; put the definition into `$defs`"
            ),
            Self::Dangling(reference) => {
                write!(f, "`$ref` to `{reference}` finds no schema there")
            }
            Self::Circular(place) => write!(
                f,
                "the schema at `{place}` applies itself to the same value without end"
            ),
            Self::Malformed(reason) => write!(f, "not a valid schema: {reason}"),
        }
    }
}

impl std::error::Error for Unusable {}

/// Why a value does not fit its schema: the first few reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// One `path: reason` each, at least one.
    pub reasons: Vec<String>,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reasons.join("\n"))
    }
}

impl std::error::Error for Invalid {}
