//! What the services of the big models refuse in a schema.
//!
//! What one of them refuses outright is found wherever it is. Keywords that only a strict mode
//! refuses, and that hosts take out before, are gathered: one finding for a tool.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Desk;
use super::rule::{self, Rule};
use super::walk::{Visited, walk};
use crate::pointer::step as pointer;

pub(super) fn check(desk: &mut Desk<'_>, schema: &Value, base: &str) {
    let mut found = Found::default();
    walk(schema, base, &mut |visited| {
        look(desk, &mut found, base, visited)
    });
    if let Some(place) = found.too_deep {
        desk.report(&rule::TOO_DEEP, place, "");
    }
    if found.properties > PROPERTIES {
        desk.report(
            &rule::TOO_MANY_PROPERTIES,
            base,
            found.properties.to_string(),
        );
    }
    if found.values > VALUES {
        desk.report(&rule::TOO_MANY_VALUES, base, found.values.to_string());
    }
    for (rule, gathered) in [
        (&rule::STRICT_OPTIONAL, found.optional),
        (&rule::KEYWORD_OPENAI, found.openai),
        (&rule::KEYWORD_ANTHROPIC, found.anthropic),
        (&rule::KEYWORD_GEMINI, found.gemini),
    ] {
        gathered.report(desk, rule);
    }
}

/// What is counted and gathered on the way.
#[derive(Default)]
struct Found {
    properties: usize,
    values: usize,
    too_deep: Option<String>,
    optional: Gathered,
    openai: Gathered,
    anthropic: Gathered,
    gemini: Gathered,
}

/// Words, how often each came, and where the first was.
#[derive(Default)]
struct Gathered {
    words: BTreeMap<String, usize>,
    place: Option<String>,
}

impl Gathered {
    fn add(&mut self, word: &str, place: impl FnOnce() -> String) {
        if self.words.len() < SHOWN || self.words.contains_key(word) {
            *self.words.entry(word.to_owned()).or_default() += 1;
        }
        self.place.get_or_insert_with(place);
    }

    fn report(self, desk: &mut Desk<'_>, rule: &'static Rule) {
        let Some(place) = self.place else {
            return;
        };
        let words = self.words.iter().map(|(word, times)| match times {
            1 => word.clone(),
            times => format!("{word} ({times})"),
        });
        let words: Vec<String> = words.collect();
        desk.report(rule, place, words.join(", "));
    }
}

fn look(desk: &mut Desk<'_>, found: &mut Found, base: &str, visited: Visited<'_>) {
    let place = visited.place;
    let Some(keywords) = visited.keywords() else {
        if visited.is_property {
            desk.report(&rule::BOOLEAN_SCHEMA, place, "");
        }
        return;
    };
    if visited.depth > DEPTH {
        found.too_deep.get_or_insert_with(|| place.to_owned());
    }
    for keyword in keywords.keys().map(String::as_str) {
        let at = || pointer(place, keyword);
        if OPENAI_STRICT.contains(&keyword) {
            found.openai.add(keyword, at);
        }
        if ANTHROPIC_STRICT.contains(&keyword) {
            found.anthropic.add(keyword, at);
        }
        // It is refused there, and wanted everywhere else.
        if GEMINI.contains(&keyword) && keyword != "additionalProperties" {
            found.gemini.add(keyword, at);
        }
    }
    check_type(desk, keywords, visited);
    check_values(desk, found, keywords, place);
    check_properties(desk, found, keywords, place, base);
}

fn check_type(desk: &mut Desk<'_>, keywords: &Map<String, Value>, visited: Visited<'_>) {
    let place = visited.place;
    let types: Vec<&str> = match keywords.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => {
            desk.report(&rule::TYPE_LIST, pointer(place, "type"), "");
            many.iter().filter_map(Value::as_str).collect()
        }
        Some(_) => {
            desk.report(&rule::TYPE_UNKNOWN, pointer(place, "type"), "");
            return;
        }
        None => {
            let says_otherwise = SHAPES.iter().any(|keyword| keywords.contains_key(*keyword));
            if visited.is_property && !says_otherwise {
                desk.report(&rule::UNTYPED, place, "");
            }
            Vec::new()
        }
    };
    for unknown in types.iter().filter(|name| !TYPES.contains(name)) {
        desk.report(
            &rule::TYPE_UNKNOWN,
            pointer(place, "type"),
            (*unknown).to_owned(),
        );
    }
    if types.contains(&"array") && !keywords.contains_key("items") {
        desk.report(&rule::ARRAY_ITEMS, place, "");
    }
    if types.contains(&"string") && !keywords.contains_key("enum") {
        let description = keywords.get("description").and_then(Value::as_str);
        if let Some(values) = description.and_then(listed_values) {
            desk.report(&rule::ENUM_WANTED, place, values);
        }
    }
    let format = keywords.get("format").and_then(Value::as_str);
    if let Some(format) =
        format.filter(|format| types.contains(&"string") && !FORMATS.contains(format))
    {
        desk.report(&rule::FORMAT, pointer(place, "format"), format);
    }
}

fn check_values(
    desk: &mut Desk<'_>,
    found: &mut Found,
    keywords: &Map<String, Value>,
    place: &str,
) {
    let Some(values) = keywords.get("enum").and_then(Value::as_array) else {
        return;
    };
    let at = || pointer(place, "enum");
    found.values += values.len();
    if values.is_empty() {
        desk.report(&rule::ENUM_EMPTY, at(), "");
    }
    if values
        .iter()
        .any(|value| !value.is_string() && !value.is_null())
    {
        desk.report(&rule::ENUM_TEXTS, at(), "");
    }
    let fits = |value: &Value, name: &str| match name {
        "string" => value.is_string(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    let is_fitting = |value: &Value| match keywords.get("type") {
        Some(Value::String(name)) => {
            let is_nullable = keywords.get("nullable") == Some(&Value::Bool(true));
            fits(value, name) || (is_nullable && value.is_null())
        }
        Some(Value::Array(names)) => {
            let mut names = names.iter().filter_map(Value::as_str);
            names.any(|name| fits(value, name))
        }
        _ => true,
    };
    if let Some(value) = values.iter().find(|value| !is_fitting(value)) {
        desk.report(&rule::ENUM_MISMATCH, at(), value.to_string());
    }
}

fn check_properties(
    desk: &mut Desk<'_>,
    found: &mut Found,
    keywords: &Map<String, Value>,
    place: &str,
    base: &str,
) {
    let properties = keywords.get("properties").and_then(Value::as_object);
    let required: Vec<&str> = match keywords.get("required") {
        Some(Value::Array(names)) if names.iter().all(Value::is_string) => {
            names.iter().filter_map(Value::as_str).collect()
        }
        Some(_) => {
            desk.report(&rule::REQUIRED_FORM, pointer(place, "required"), "");
            return;
        }
        None => Vec::new(),
    };
    // The parts of a choice may require what the whole describes.
    let is_part =
        place.contains("/anyOf/") || place.contains("/oneOf/") || place.contains("/allOf/");
    let has = |name: &str| properties.is_some_and(|properties| properties.contains_key(name));
    if let Some(unknown) = required.iter().find(|name| !has(name) && !is_part) {
        desk.report(
            &rule::REQUIRED_UNKNOWN,
            pointer(place, "required"),
            *unknown,
        );
    }
    for name in properties.into_iter().flatten().map(|(name, _)| name) {
        found.properties += 1;
        let at = || pointer(&pointer(place, "properties"), name);
        if !required.contains(&name.as_str()) {
            found.optional.add(name, at);
        }
        // Only those at the top are looked at there.
        if place == base && !is_plain(name) {
            desk.report(&rule::PROPERTY_NAME, at(), name.as_str());
        }
    }
}

fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    !name.is_empty() && name.len() <= 64 && name.bytes().all(plain)
}

/// The values, if a description lists them: `One of: "a", "b"`, `either 'a' or 'b'`.
fn listed_values(description: &str) -> Option<String> {
    let lower = description.to_ascii_lowercase();
    let start = [
        "one of",
        "either",
        "must be",
        "allowed values",
        "possible values",
        "valid values",
        "options:",
    ]
    .iter()
    .filter_map(|words| lower.find(words))
    .min()?;
    let rest = description.get(start..)?;
    let sentence = rest.split(['\n', '.']).next()?;
    let mut values = Vec::new();
    for quote in ['"', '\'', '`'] {
        let mut parts = sentence.split(quote).skip(1);
        while let (Some(value), between) = (parts.next(), parts.next()) {
            let is_word = !value.is_empty() && value.len() <= 40 && !value.contains(' ');
            // Without a second mark it is an apostrophe.
            if is_word && between.is_some() {
                values.push(value);
            }
        }
    }
    (values.len() >= 2).then(|| values.join(", "))
}

const DEPTH: usize = 10;
const PROPERTIES: usize = 5_000;
const VALUES: usize = 1_000;
const SHOWN: usize = 8;

const TYPES: &[&str] = &[
    "string", "number", "integer", "boolean", "object", "array", "null",
];

/// With one of these there need be no type.
const SHAPES: &[&str] = &[
    "enum",
    "const",
    "$ref",
    "oneOf",
    "anyOf",
    "allOf",
    "properties",
    "items",
    "$dynamicRef",
];

/// What OpenAI's strict mode lists as not supported, and what its service refuses beside.
const OPENAI_STRICT: &[&str] = &[
    "allOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
    "prefixItems",
    "minProperties",
    "maxProperties",
    "$dynamicRef",
];

/// What Anthropic's strict mode refuses.
const ANTHROPIC_STRICT: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "patternProperties",
    "propertyNames",
    "contains",
    "prefixItems",
];

/// What Gemini's `Schema` has no field for: the whole request is refused.
const GEMINI: &[&str] = &[
    "$ref",
    "$defs",
    "definitions",
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "const",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "dependentRequired",
    "dependentSchemas",
    "prefixItems",
    "contains",
    "uniqueItems",
    "multipleOf",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "examples",
    "readOnly",
    "writeOnly",
    "deprecated",
    "contentEncoding",
    "contentMediaType",
];

/// What OpenAI's strict mode and most others know.
const FORMATS: &[&str] = &[
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];
