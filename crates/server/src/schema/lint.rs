//! Says what a model or a client will stumble over in a tool's schema.

use serde_json::{Map, Value};
use switchboard_protocol::RawJson;

/// What is not clean in a schema, one sentence each, with the place; empty if it is.
pub fn lint(schema: &RawJson) -> Vec<String> {
    let mut warnings = Vec::new();
    let Ok(Value::Object(root)) = schema.decode() else {
        return vec!["the schema is not an object".into()];
    };
    if root.get("type").and_then(Value::as_str) != Some("object") {
        warnings.push("the root does not say `type: object`".into());
    }
    if ["oneOf", "anyOf", "allOf"]
        .iter()
        .any(|k| root.contains_key(*k))
    {
        warnings.push(
            "the root is a choice, which some model providers refuse; put it into a property"
                .into(),
        );
    } else if !root.contains_key("properties") {
        warnings.push("the root has no `properties`".into());
    }
    look(&root, "", true, &mut warnings);
    warnings
}

fn look(schema: &Map<String, Value>, place: &str, whole: bool, warnings: &mut Vec<String>) {
    if warnings.len() >= MOST {
        return;
    }
    let shown = if place.is_empty() { "the root" } else { place };
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    let is_closed = ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .any(|keyword| schema.contains_key(*keyword));
    let is_choice = ["oneOf", "anyOf"].iter().any(|k| schema.contains_key(*k));
    if is_object && whole && !is_closed && !is_choice {
        warnings.push(format!("{shown} does not say `additionalProperties`"));
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let has_properties = properties.is_some_and(|properties| !properties.is_empty());
    if has_properties && !schema.contains_key("required") {
        warnings.push(format!("{shown} does not say what is `required`"));
    }
    let number_format = schema.get("format").and_then(Value::as_str);
    if let Some(format) = number_format.filter(|f| f.contains("int") || f.contains("float")) {
        warnings.push(format!("{shown} has the format `{format}`, which few know"));
    }
    for (name, property) in properties.into_iter().flatten() {
        let place = if place.is_empty() {
            name.clone()
        } else {
            format!("{place}.{name}")
        };
        let described = property.get("description").and_then(Value::as_str);
        let is_tag = property.get("const").is_some()
            || property
                .get("enum")
                .and_then(Value::as_array)
                .is_some_and(|values| values.len() == 1);
        if described.is_none_or(|text| text.trim().is_empty()) && !is_tag {
            warnings.push(format!("{place} has no description"));
        }
        if let Some(property) = property.as_object() {
            look(property, &place, true, warnings);
        }
    }
    for (keyword, step) in [("items", "[]"), ("additionalProperties", ".*")] {
        if let Some(inner) = schema.get(keyword).and_then(Value::as_object) {
            look(inner, &format!("{place}{step}"), true, warnings);
        }
    }
    for keyword in ["oneOf", "anyOf", "allOf"] {
        let parts = schema.get(keyword).and_then(Value::as_array);
        for part in parts.into_iter().flatten().filter_map(Value::as_object) {
            look(part, place, properties.is_none(), warnings);
        }
    }
    let definitions = schema.get("$defs").and_then(Value::as_object);
    for (name, definition) in definitions.into_iter().flatten() {
        if let Some(definition) = definition.as_object() {
            look(definition, name, true, warnings);
        }
    }
}

/// Nobody reads more, and a hostile schema shall not make us write more.
const MOST: usize = 100;
