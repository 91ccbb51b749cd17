//! Checks values against JSON Schemas that someone else wrote.
//!
//! For raw tools, whose arguments no Rust type decodes, and for structured results.
//! Behind the cargo feature `validate`; without it [`Validator`] takes every
//! schema and every value, so that callers do not ask which it is.
//!
//! A schema may come from a stranger, so its cost is bounded. `survey` reads it first and
//! refuses what is too large, what refers to anything outside the schema (nothing is ever
//! fetched) and what would turn in circles. While a value is checked, every subschema
//! that is entered is counted, and a check that needs too many is given up.
//! Patterns run on an engine that takes linear time; it has neither look-around
//! nor back-references, and a schema with those is refused.
//!
//! Specification: basic (JSON Schema usage), server/tools.

#[cfg(feature = "validate")]
mod checked;
#[cfg(feature = "validate")]
mod survey;
#[cfg(feature = "validate")]
#[cfg(test)]
mod tests;
#[cfg(feature = "validate")]
mod words;

use std::fmt;

#[cfg(feature = "validate")]
pub(crate) use checked::Validator;

/// Takes every schema and every value: the feature `validate` is off.
#[cfg(not(feature = "validate"))]
#[derive(Clone, Debug)]
pub(crate) struct Validator(());

#[cfg(not(feature = "validate"))]
impl Validator {
    /// Takes the schema unread.
    ///
    /// # Errors
    /// Never.
    #[expect(clippy::unnecessary_wraps, reason = "the one that checks may refuse")]
    pub(crate) fn compile(_schema: &switchboard_protocol::RawJson) -> Result<Self, Unusable> {
        Ok(Self(()))
    }

    /// Takes the value unread.
    ///
    /// # Errors
    /// Never.
    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "the one that checks may refuse"
    )]
    pub(crate) fn check(&self, _text: &[u8]) -> Result<(), Invalid> {
        Ok(())
    }
}

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(
    not(feature = "validate"),
    expect(dead_code, reason = "only the one that checks refuses")
)]
pub(crate) enum Unusable {
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
pub(crate) struct Invalid {
    /// One `path: reason` each, at least one.
    pub(crate) reasons: Vec<String>,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reasons.join("\n"))
    }
}

impl std::error::Error for Invalid {}

#[cfg(not(feature = "validate"))]
#[cfg(test)]
mod tests {
    use switchboard_protocol::RawJson;

    use super::*;

    #[test]
    fn without_the_feature_every_schema_and_value_is_taken() {
        let validator = Validator::compile(&RawJson::parse("false").unwrap()).unwrap();
        assert_eq!(validator.check(b"1"), Ok(()));
    }
}
