//! What does not fit, in words for a model.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use crate::Finding;
use crate::path::{cut, join, join_index};

/// Where it is and why.
pub(crate) fn explain(error: &ValidationError<'_>) -> Finding {
    let mut path = path_of(error.instance_path().as_str());
    let found = || found(error.instance());
    let reason = match error.kind() {
        ValidationErrorKind::Required { property } => {
            join(&mut path, property.as_str().unwrap_or_default());
            "required, but missing".into()
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let first = unexpected.first().map_or("", String::as_str);
            join(&mut path, first);
            "not a known member".into()
        }
        ValidationErrorKind::Type { kind } => {
            let expected = match kind {
                TypeKind::Single(kind) => kind.to_string(),
                TypeKind::Multiple(kinds) => {
                    let kinds: Vec<String> = kinds.iter().map(|kind| kind.to_string()).collect();
                    kinds.join(" or ")
                }
            };
            format!("expected {expected}, found {}", found())
        }
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().into_iter().flatten().take(20);
            let options: Vec<String> = options.map(Value::to_string).collect();
            format!("expected one of {}, found {}", options.join(", "), found())
        }
        ValidationErrorKind::Constant { expected_value } => {
            format!("expected {expected_value}, found {}", found())
        }
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            format!("fits none of the alternatives, found {}", found())
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            "fits more than one of the alternatives".into()
        }
        ValidationErrorKind::Pattern { pattern } => {
            format!(
                "does not match the pattern `{}`, found {}",
                cut(pattern, 100),
                found()
            )
        }
        ValidationErrorKind::FalseSchema => "no value is allowed here".into(),
        ValidationErrorKind::Not { .. } => "a value that is not allowed".into(),
        // Lengths and bounds; the value is left out, as it may be long or secret.
        _ => error.masked_with("the value").to_string(),
    };
    Finding {
        path: cut(&path, MOST_PATH),
        reason: cut(&reason, MOST_REASON),
    }
}

/// `/items/2/name` as `items[2].name`.
fn path_of(pointer: &str) -> String {
    let mut path = String::new();
    for step in pointer.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        match name.parse() {
            Ok(index) => join_index(&mut path, index),
            Err(_) => join(&mut path, &name),
        }
    }
    path
}

fn found(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".into(),
        Value::Array(_) => "an array".into(),
        other => cut(&other.to_string(), 80),
    }
}

// Characters. Together they stay under 400, one line of any log.
const MOST_PATH: usize = 120;
const MOST_REASON: usize = 250;
