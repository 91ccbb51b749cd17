//! A word as a value of the type that a schema says.

use serde_json::Value;
use switchboard_hub::nearest;

use super::{Said, guess};
use crate::exit::Failure;
use crate::json::Json;
use crate::signature;

/// Makes values of the type that a schema says.
pub(super) struct Typing<'a> {
    pub(super) schema: &'a Json,
}

impl Typing<'_> {
    pub(super) fn value(&self, said: &Said, own: &Json) -> Result<Value, Failure> {
        let kinds = kinds(own, self.schema);
        let text = said.value.as_str();
        let fits = |kind: &str| kinds.contains(&kind);
        let structured = text.trim_start().starts_with(['[', '{']);
        if structured && (fits("array") || fits("object")) {
            match serde_json::from_str::<Value>(text) {
                Ok(value) if value.is_array() && fits("array") => return Ok(value),
                Ok(value) if value.is_object() && fits("object") => return Ok(value),
                Err(error) if !fits("string") => {
                    return Err(Failure::usage(format!("{}: {error}", said.name)));
                }
                _ => {}
            }
        }
        if let Some(values) = choices(own, self.schema) {
            return choose(said, values);
        }
        if kinds.is_empty() {
            return Ok(guess(text));
        }
        if fits("string") {
            return Ok(Value::String(text.to_owned()));
        }
        if fits("array") {
            let items = signature::followed(own, self.schema).get("items");
            let item = match items {
                Some(items) => self.value(said, items)?,
                None => guess(text),
            };
            return Ok(Value::Array(vec![item]));
        }
        let value = match text {
            "true" | "yes" | "1" if fits("boolean") => Some(Value::Bool(true)),
            "false" | "no" | "0" if fits("boolean") => Some(Value::Bool(false)),
            "null" if fits("null") => Some(Value::Null),
            _ => number(text, fits("integer"), fits("number")),
        };
        value.ok_or_else(|| {
            let kind = signature::type_of(signature::followed(own, self.schema));
            Failure::usage(format!("{} wants {kind}, not {text:?}", said.name))
        })
    }
}

fn number(text: &str, is_integer: bool, is_number: bool) -> Option<Value> {
    let number: serde_json::Number = serde_json::from_str(text).ok()?;
    let fits = is_number || is_integer && (number.is_i64() || number.is_u64());
    fits.then_some(Value::Number(number))
}

/// The one of these values that was said.
fn choose(said: &Said, values: Vec<&Json>) -> Result<Value, Failure> {
    let text = said.value.as_str();
    let shown = |value: &Json| match value {
        Json::Text(text) => text.clone(),
        other => other.to_string(),
    };
    if let Some(value) = values.iter().find(|value| shown(value) == text) {
        return serde_json::to_value(value).map_err(|error| Failure::unexpected(error.to_string()));
    }
    let words: Vec<String> = values.iter().map(|value| shown(value)).collect();
    let name = &said.name;
    let failure = Failure::usage(format!(
        "{name} is one of {}, not {text:?}",
        words.join(", ")
    ));
    Err(
        match nearest(text, words.iter().map(String::as_str)).first() {
            Some(near) => failure.hint(format!("did you mean {name}={near}?")),
            None => failure,
        },
    )
}

/// The values to choose from, if nothing else is allowed.
fn choices<'a>(own: &'a Json, schema: &'a Json) -> Option<Vec<&'a Json>> {
    let own = signature::followed(own, schema);
    if let Some(value) = own.get("const") {
        return Some(vec![value]);
    }
    if let Some(values) = own.get("enum") {
        return Some(values.items().iter().collect());
    }
    let all = alternatives(own)?;
    let mut values = Vec::new();
    for one in all {
        let one = signature::followed(one, schema);
        match one.get("type").and_then(Json::as_str) {
            Some("null") => {}
            _ => values.extend(
                one.get("enum")
                    .map(Json::items)
                    .or_else(|| one.get("const").map(std::slice::from_ref))?,
            ),
        }
    }
    Some(values)
}

fn alternatives(schema: &Json) -> Option<&[Json]> {
    let found = ["anyOf", "oneOf"]
        .into_iter()
        .find_map(|key| schema.get(key));
    found.map(Json::items).filter(|items| !items.is_empty())
}

/// The types that a value may have. None is named where everything is allowed.
pub(super) fn kinds<'a>(own: &'a Json, schema: &'a Json) -> Vec<&'a str> {
    let own = signature::followed(own, schema);
    match own.get("type") {
        Some(Json::Text(kind)) => vec![kind],
        Some(Json::List(kinds)) => kinds.iter().filter_map(Json::as_str).collect(),
        _ => {
            let all = alternatives(own).unwrap_or_default();
            let all = all.iter().map(|one| signature::followed(one, schema));
            let named = all.flat_map(|one| match one.get("type") {
                Some(Json::Text(kind)) => vec![kind.as_str()],
                Some(Json::List(kinds)) => kinds.iter().filter_map(Json::as_str).collect(),
                _ => Vec::new(),
            });
            named.collect()
        }
    }
}
