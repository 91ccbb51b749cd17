//! serde's errors in words of JSON, for a model that has never heard of Rust.

use std::borrow::Cow;

use super::place::{join, offset_of, path_at};
use super::{ArgumentError, cut};

/// Says where an error of serde_json is and what it means.
pub(super) fn explain(text: &[u8], error: &serde_json::Error) -> ArgumentError {
    let mut path = match error.line() {
        0 => String::new(),
        line => path_at(text, offset_of(text, line, error.column())),
    };
    let full = error.to_string();
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    let message = full.strip_suffix(suffix.as_str()).unwrap_or(&full);
    if let Some(name) = quoted(message, "missing field ") {
        join(&mut path, name);
        return ArgumentError::new(path, "required, but missing".into());
    }
    if let Some(name) = quoted(message, "unknown field ") {
        join(&mut path, name);
        let known = message.split_once(", ").map_or("", |(_, known)| known);
        return ArgumentError::new(
            path,
            cut(&format!("not a known member, {known}"), MOST_REASON),
        );
    }
    if let Some(name) = quoted(message, "duplicate field ") {
        join(&mut path, name);
        return ArgumentError::new(path, "given more than once".into());
    }
    ArgumentError::new(path, cut(&reason(message), MOST_REASON))
}

/// What stands in backticks after the prefix.
fn quoted<'a>(message: &'a str, prefix: &str) -> Option<&'a str> {
    let rest = message.strip_prefix(prefix)?.strip_prefix('`')?;
    rest.split_once('`').map(|(name, _)| name)
}

fn reason(message: &str) -> String {
    let found = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))
        // The last one: what was found may be a string with these very words.
        .and_then(|rest| rest.rsplit_once(", expected "));
    if let Some((found, expected)) = found {
        return format!(
            "expected {}, found {}",
            expected_word(expected),
            found_word(found)
        );
    }
    if let Some((length, expected)) = message
        .strip_prefix("invalid length ")
        .and_then(|rest| rest.split_once(", expected "))
    {
        let size = expected.strip_prefix("a tuple of size ");
        return match size {
            Some(size) => format!("expected an array of {size} items, found {length}"),
            None => format!("expected {expected}, found {length}"),
        };
    }
    message.replace("unknown variant", "unknown value")
}

fn expected_word(expected: &str) -> Cow<'_, str> {
    let word = match expected {
        "i8" => "an integer from -128 to 127",
        "u8" => "an integer from 0 to 255",
        "i16" => "an integer from -32768 to 32767",
        "u16" => "an integer from 0 to 65535",
        "i32" => "an integer from -2147483648 to 2147483647",
        "u32" => "an integer from 0 to 4294967295",
        "i64" | "i128" | "isize" => "an integer",
        "u64" | "u128" | "usize" => "an integer that is not negative",
        "f32" | "f64" => "a number",
        "a sequence" => "an array",
        "a map" => "an object",
        "unit" => "null",
        "string or map" => "a string or an object",
        "a borrowed string" | "a string" => "a string",
        _ if expected.starts_with("struct ") || expected.starts_with("internally tagged ") => {
            "an object"
        }
        _ if expected.starts_with("variant identifier") => "one of the known values",
        _ if expected.starts_with("enum ") => "a string or an object",
        _ if expected.starts_with("tuple") || expected.starts_with("a tuple") => "an array",
        _ => return expected.into(),
    };
    word.into()
}

fn found_word(found: &str) -> String {
    match found {
        "map" => "an object".into(),
        "sequence" => "an array".into(),
        "null" | "unit value" | "Option value" => "null".into(),
        _ => {
            let value = ["integer ", "floating point ", "boolean ", "string "]
                .iter()
                .find_map(|prefix| found.strip_prefix(prefix));
            let value = value.unwrap_or(found);
            let plain = value.strip_prefix('`').and_then(|v| v.strip_suffix('`'));
            // It may be long.
            cut(plain.unwrap_or(value), MOST_FOUND)
        }
    }
}

// Characters; enough to recognise a value, and a reason of one line under 400.
const MOST_FOUND: usize = 80;
const MOST_REASON: usize = 250;
