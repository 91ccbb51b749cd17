//! Counts what a check costs, and ends it when that is too much.
//!
//! A keyword of our own stands in every subschema. It weighs what the others have looked at: most
//! look at one value once, but a pattern reads a whole text, and `enum` may compare with every
//! option.
//!
//! It is asked after the others, and not at all where one of them fails: alternatives that do
//! not fit are bounded by `survey` only, which limits how many ways there are.

use std::cell::Cell;

use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Value};

use crate::survey::pattern_names;

/// Stands in every subschema and counts how often a value has passed one.
pub(crate) struct Counter {
    /// What entering costs, whatever the value is.
    entering: u64,
    /// Whether a text is read from beginning to end.
    reads_text: bool,
    /// Whether the items of an array are compared with each other.
    compares_items: bool,
    /// Patterns that every name of an object is compared with.
    names: u64,
}

impl Counter {
    /// For the subschema with these members.
    pub(crate) fn of(members: &Map<String, Value>) -> Self {
        Self {
            entering: 1 + compared(members) / COMPARISONS_PER_STEP,
            reads_text: ["pattern", "minLength", "maxLength"]
                .into_iter()
                .any(|keyword| members.contains_key(keyword)),
            compares_items: members.get("uniqueItems") == Some(&Value::Bool(true)),
            names: count(pattern_names(members).count()),
        }
    }

    /// `false` when nothing is left; once there, a check fails wherever it goes on.
    fn count(&self, value: &Value) -> bool {
        let weight = match value {
            Value::String(text) if self.reads_text => count(text.len()) / BYTES_PER_STEP,
            Value::Array(items) if self.compares_items => count(items.len()),
            Value::Object(members) if self.names > 0 => {
                let bytes: usize = members.keys().map(|name| name.len() + 1).sum();
                count(bytes).saturating_mul(self.names) / BYTES_PER_STEP
            }
            _ => 0,
        };
        let left = LEFT.get();
        LEFT.set(left.saturating_sub(self.entering.saturating_add(weight)));
        left > 0
    }
}

impl<'i> Keyword<'i> for Counter {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.count(instance) {
            Ok(())
        } else {
            Err(ValidationError::custom("too costly to check"))
        }
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        self.count(instance)
    }
}

/// Gives the check that begins on this thread its steps.
pub(crate) fn start(bytes: usize) {
    LEFT.set(
        count(bytes)
            .saturating_mul(STEPS_PER_BYTE)
            .saturating_add(LEAST_STEPS),
    );
}

/// Has the check on this thread used them up?
pub(crate) fn is_exhausted() -> bool {
    LEFT.get() == 0
}

/// How much of a subschema a value is compared with, one by one.
pub(crate) fn compared(members: &Map<String, Value>) -> u64 {
    let lists = ["enum", "required"].into_iter();
    let listed = lists.filter_map(|keyword| members.get(keyword)?.as_array());
    let properties = members.get("properties").and_then(Value::as_object);
    count(listed.map(Vec::len).sum::<usize>() + properties.map_or(0, Map::len))
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

thread_local! {
    /// How many steps the check on this thread has left. A check never waits.
    static LEFT: Cell<u64> = const { Cell::new(0) };
}

// About 50 ms of work for a small value; a schema that needs more does not mean well.
const LEAST_STEPS: u64 = 500_000;
const STEPS_PER_BYTE: u64 = 16;
// Comparing two numbers, or finding a name, is far less than entering a subschema.
const COMPARISONS_PER_STEP: u64 = 16;
// What the engine of patterns reads in that time, and less where it does badly.
const BYTES_PER_STEP: u64 = 4;
