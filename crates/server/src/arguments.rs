//! Typed arguments from the text that a client sent.
//!
//! One pass over text that is known to be JSON. Only when that pass meets something unusual
//! is the text read again by serde_json; and when that finds something wrong, it is looked at
//! once more, to say where it is in words that a model can act on.
//!
//! The schemas that we list are closed, so a member that the type does not know is
//! refused and the nearest name suggested: a model that writes `colour` for an
//! optional `color` should hear of it. serde steps over such members; `strict` notices
//! that without another pass, and the listed schema decides whether the
//! member was really unknown. Inside enums with a tag and flattened members serde reads
//! from a buffer of its own, where unknown members stay unnoticed.
//!
//! Specification: server/tools (error handling).

pub(crate) mod place;
mod quick;
mod strict;
#[cfg(test)]
mod tests;
mod unknown;
mod words;

use std::cell::Cell;
use std::fmt;

use serde::de::DeserializeOwned;
use switchboard_protocol::RawJson;

/// Decodes what a tool was called with. Absent arguments are an empty object.
///
/// `schema` is the one that was listed for the type.
///
/// # Errors
/// When the arguments do not fit the type or have members that the schema does not allow.
pub(crate) fn decode_arguments<T: DeserializeOwned>(
    arguments: Option<&[u8]>,
    schema: &RawJson,
) -> Result<T, ArgumentError> {
    let text = arguments.unwrap_or(b"{}");
    // serde would take a list as the fields of a struct in their order.
    if text.trim_ascii_start().first() != Some(&b'{') {
        return Err(ArgumentError::at_root("expected an object"));
    }
    match quick::read(text) {
        Some(value) => Ok(value),
        None => decode_any(text, schema),
    }
}

/// Decodes what is unusual or wrong.
fn decode_any<T: DeserializeOwned>(text: &[u8], schema: &RawJson) -> Result<T, ArgumentError> {
    let ignored = Cell::new(false);
    let mut reader = serde_json::Deserializer::from_slice(text);
    let decoded = T::deserialize(strict::Noting::new(&mut reader, &ignored));
    match decoded.and_then(|value| reader.end().map(|()| value)) {
        Ok(value) if !ignored.get() => Ok(value),
        Ok(value) => match unknown::find(text, schema) {
            Some(error) => Err(error),
            None => Ok(value),
        },
        Err(error) => {
            // A misspelt required member is both missing and unknown; the latter says more.
            let is_missing = error.to_string().starts_with("missing field");
            let unknown = if is_missing {
                unknown::find(text, schema).filter(|error| error.has_suggestion)
            } else {
                None
            };
            Err(unknown.unwrap_or_else(|| words::explain(text, &error)))
        }
    }
}

/// What is wrong with an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArgumentError {
    /// Where: `items[2].name`; empty for the arguments as a whole.
    pub(crate) path: String,
    /// What was expected and what was found.
    pub(crate) reason: String,
    has_suggestion: bool,
}

impl ArgumentError {
    fn new(path: String, reason: String) -> Self {
        Self {
            // The names in it are the client's.
            path: cut(&path, MOST_PATH),
            reason,
            has_suggestion: false,
        }
    }

    fn at_root(reason: &str) -> Self {
        Self::new(String::new(), reason.into())
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = match self.path.as_str() {
            "" => "arguments",
            path => path,
        };
        write!(f, "{path}: {}", self.reason)
    }
}

impl std::error::Error for ArgumentError {}

/// The beginning of a text that may be long.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.into(),
    }
}

// Characters. With the reason it stays under 400, one line of any log.
const MOST_PATH: usize = 120;
