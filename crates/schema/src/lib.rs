//! Values against JSON Schemas that someone else wrote, at bounded cost.
//!
//! ```
//! use switchboard_schema::{CheckError, Schema};
//!
//! let schema = Schema::compile(r#"{"type":"object","required":["name"]}"#)?;
//! assert_eq!(schema.check(br#"{"name":"Ada"}"#), Ok(()));
//!
//! let error = schema.check(b"{}").unwrap_err();
//! assert_eq!(error.to_string(), "name: required, but missing");
//! # Ok::<(), switchboard_schema::SchemaError>(())
//! ```
//!
//! Read in this order:
//!
//! 1. [`Schema`]: compiled once, asked often, shared by cloning
//! 2. [`CheckError`] and [`Finding`]: what is wrong with a value
//! 3. [`SchemaError`]: what is wrong with a schema
//!
//! A schema may come from a stranger, so its cost is bounded. `survey` reads it first and
//! refuses what is too large, what refers to anything outside the schema (nothing is ever
//! fetched) and what would turn in circles. While a value is checked, every subschema
//! that is entered is counted, heavier where it reads a long text or compares with many options,
//! and a check that needs too many steps is given up.
//! Patterns run on an engine that takes linear time; it has neither look-around
//! nor back-references, and a schema with those is refused.
//!
//! The crate knows nothing of messages: what a value or a schema that is refused means for a
//! call is the caller's to say. How large a value may be is too.
//!
//! Specification: basic (JSON Schema usage), server/tools.

mod counter;
mod error;
mod path;
mod schema;
mod survey;
#[cfg(test)]
mod tests;
mod words;

pub use error::{CheckError, Finding, SchemaError};
pub use schema::Schema;
