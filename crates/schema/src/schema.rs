//! A compiled schema, and the check that it makes.

use std::fmt;
use std::sync::Arc;

use jsonschema::{Draft, PatternOptions};
use serde_json::Value;

use crate::counter::{self, Counter};
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
        // Together they have a bound too.
        let most = MAX_PATTERN.min(MAX_ALL_PATTERNS / shape.patterns.max(1));
        let patterns = PatternOptions::regex()
            .size_limit(most)
            .dfa_size_limit(most);
        let compiled = jsonschema::options()
            .offline()
            .with_draft(draft)
            // A format is a hint to whoever writes the value (2020-12, 7.2.1).
            .should_validate_formats(false)
            .with_pattern_options(patterns)
            .with_keyword(COUNTER, |members, _, _| Ok(Box::new(Counter::of(members))))
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
        counter::start(bytes);
        let is_valid = self.compiled.is_valid(value);
        if counter::is_exhausted() {
            return Err(CheckError::TooCostly);
        }
        if is_valid {
            return Ok(());
        }
        // Unlike the check, the search for reasons does not stop where the counter says so, and
        // keeps what it finds: all of it in a small search, the first one in a larger.
        counter::start(bytes);
        let mut findings: Vec<Finding> = Vec::new();
        if self.shape.may_search(levels, values, bytes) {
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
        if counter::is_exhausted() {
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

// No keyword of JSON Schema, nor what a vendor would write.
const COUNTER: &str = "!entered";
// What a value that was read already is taken for; text is longer, if anything.
const BYTES_PER_VALUE: usize = 8;
// Bytes of a compiled pattern: far above any that people write.
const MAX_PATTERN: usize = 256 * 1024;
const MAX_ALL_PATTERNS: usize = 32 * 1024 * 1024;
const MAX_FINDINGS: usize = 5;
// Steps of recursion: about 1 KiB of stack each without optimization, and a thread has 2 MiB.
const MAX_FRAMES: usize = 1024;
