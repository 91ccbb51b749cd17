//! A compiled schema, and the check that it makes.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use jsonschema::{Draft, Keyword, PatternOptions, ValidationError};
use serde_json::Value;

use crate::path::cut;
use crate::survey::{Dialect, MAX_BYTES, Shape, measure, survey};
use crate::{CheckError, Finding, SchemaError, words};

/// A schema, ready to check values. Cheap to clone.
///
/// Made from JSON text, in the dialect 2020-12, or draft-07 where `$schema` says so. `format`
/// is not checked: it is a hint to whoever writes the value.
#[derive(Clone)]
pub struct Schema {
    compiled: Arc<jsonschema::Validator>,
    shape: Arc<Shape>,
}

impl Schema {
    /// Reads a schema, which is JSON text.
    ///
    /// # Errors
    /// When it is no schema, too large, in a dialect that is not spoken here, refers
    /// to something outside, or would never end.
    pub fn compile(text: &str) -> Result<Self, SchemaError> {
        if text.len() > MAX_BYTES {
            return Err(SchemaError::TooLarge {
                what: "bytes",
                limit: MAX_BYTES,
            });
        }
        let malformed = |reason: String| SchemaError::Malformed(cut(&reason, 300));
        let mut schema: Value =
            serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        let shape = survey(&mut schema, COUNTER)?;
        let draft = match shape.dialect {
            Dialect::Draft07 => Draft::Draft7,
            Dialect::Draft202012 => Draft::Draft202012,
        };
        let patterns = PatternOptions::regex()
            .size_limit(MAX_PATTERN)
            .dfa_size_limit(MAX_PATTERN);
        let compiled = jsonschema::options()
            .offline()
            .with_draft(draft)
            // A format is a hint to whoever writes the value (2020-12, 7.2.1).
            .should_validate_formats(false)
            .with_pattern_options(patterns)
            .with_keyword(COUNTER, |_, _, _| Ok(Box::new(Counter)))
            .build(&schema)
            .map_err(|error| malformed(error.to_string()))?;
        Ok(Self {
            compiled: Arc::new(compiled),
            shape: Arc::new(shape),
        })
    }

    /// Checks a value, which is JSON text.
    ///
    /// # Errors
    /// When it does not fit the schema, with the first few reasons; or cannot be checked.
    pub fn check(&self, text: &[u8]) -> Result<(), CheckError> {
        let value: Value = serde_json::from_slice(text).map_err(|_| CheckError::NotJson)?;
        self.check_measured(&value, measure(&value), text.len())
    }

    /// Checks a value that was read already.
    ///
    /// # Errors
    /// As of [`check`](Self::check).
    pub fn check_value(&self, value: &Value) -> Result<(), CheckError> {
        let size = measure(value);
        let bytes = size.0.saturating_mul(BYTES_PER_VALUE);
        self.check_measured(value, size, bytes)
    }

    fn check_measured(
        &self,
        value: &Value,
        (values, levels): (usize, usize),
        bytes: usize,
    ) -> Result<(), CheckError> {
        if levels.saturating_mul(self.shape.longest + 1) > MAX_FRAMES {
            return Err(CheckError::TooDeep);
        }
        // Room for each value to be looked at by many subschemas, and no more than that.
        start_counting(bytes);
        let is_valid = self.compiled.is_valid(value);
        if is_exhausted() {
            return Err(CheckError::TooCostly);
        }
        if is_valid {
            return Ok(());
        }
        // Unlike the check, the search for reasons does not stop where the counter says so, and
        // keeps what it finds: all of it in a small search, the first one in a larger.
        start_counting(bytes);
        let mut findings: Vec<Finding> = Vec::new();
        if self.shape.cost(levels, values) <= MAX_SEARCH {
            for error in self.compiled.iter_errors(value).take(MAX_FINDINGS) {
                let finding = words::explain(&error);
                if !findings.contains(&finding) {
                    findings.push(finding);
                }
            }
        } else if !self.shape.has_choice {
            let first = self.compiled.validate(value);
            findings.extend(first.err().map(|error| words::explain(&error)));
        }
        if is_exhausted() {
            findings.clear();
        }
        Err(CheckError::Misfit(findings))
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").finish_non_exhaustive()
    }
}

/// Stands in every subschema and counts how often one is entered.
struct Counter;

impl<'i> Keyword<'i> for Counter {
    fn validate(&self, _instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if count() {
            Ok(())
        } else {
            Err(ValidationError::custom("too costly to check"))
        }
    }

    fn is_valid(&self, _instance: &'i Value) -> bool {
        count()
    }
}

thread_local! {
    /// How many subschemas the check on this thread may still enter. A check never waits.
    static LEFT: Cell<u64> = const { Cell::new(0) };
}

fn start_counting(bytes: usize) {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    LEFT.set(
        bytes
            .saturating_mul(STEPS_PER_BYTE)
            .saturating_add(LEAST_STEPS),
    );
}

/// `false` when nothing is left; once there, a check fails wherever it goes on.
fn count() -> bool {
    let left = LEFT.get();
    LEFT.set(left.saturating_sub(1));
    left > 0
}

fn is_exhausted() -> bool {
    LEFT.get() == 0
}

// Sorts before every keyword of JSON Schema, so that it is asked first.
const COUNTER: &str = "!entered";
// About 50 ms of work for a small value; a schema that needs more does not mean well.
const LEAST_STEPS: u64 = 500_000;
const STEPS_PER_BYTE: u64 = 16;
// What a value that was read already is taken for; text is longer, if anything.
const BYTES_PER_VALUE: usize = 8;
// Bytes of a compiled pattern: far above any that people write.
const MAX_PATTERN: usize = 256 * 1024;
const MAX_FINDINGS: usize = 5;
// Steps of recursion: about 1 KiB of stack each without optimization, and a thread has 2 MiB.
const MAX_FRAMES: usize = 1024;
// Subschemas entered, each of which may leave an error of some hundred bytes.
const MAX_SEARCH: u64 = 100_000;
