//! Brings what schemars writes into the form that this project promises.
//!
//! The rules are listed in `schema`. Everything here works on one schema at a
//! time and then on the schemas inside it; Rust types are finite, so it recurses.

use serde_json::{Map, Value, json};

/// Is the value read by us or written by us?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Arguments and answers: what serde accepts.
    Read,
    /// Results: what serde writes.
    Written,
}

/// Applies every rule to the schema and to all inside it.
pub(super) fn tidy(schema: &mut Value, direction: Direction) {
    tidy_part(schema, direction, Extent::Whole);
}

/// Makes sure that the root says `type: object`, if every value is an object.
pub(super) fn make_object_root(schema: &mut Value) -> bool {
    let all_objects = is_object_schema(schema, schema);
    let Some(members) = schema.as_object_mut() else {
        return false;
    };
    if !all_objects {
        return false;
    }
    members.insert("type".into(), "object".into());
    let is_choice = COMBINING
        .iter()
        .any(|keyword| members.contains_key(*keyword));
    if !is_choice {
        members.entry("properties").or_insert_with(|| json!({}));
    }
    true
}

/// Takes the description out of a schema.
pub(super) fn take_description(schema: &mut Value) -> Option<String> {
    match schema.as_object_mut()?.remove("description")? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Does a schema describe the whole of a value, or a part together with others?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Whole,
    /// Members that this part does not know may be known to another part.
    Part,
}

fn tidy_part(schema: &mut Value, direction: Direction, extent: Extent) {
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::String(text)) = members.get_mut("description") {
        *text = reflow(text);
    }
    drop_rust_formats(members);
    collapse_choice(members);
    const_to_enum(members);
    if direction == Direction::Read {
        optional_without_null(members);
    }
    let inner = close(members, extent);
    for (keyword, value) in members.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties" | "$defs" | "dependentSchemas", value) => {
                for value in value.as_object_mut().into_iter().flat_map(Map::values_mut) {
                    // A property that takes anything still wants a place for its description.
                    if *value == Value::Bool(true) {
                        *value = json!({});
                    }
                    tidy_part(value, direction, Extent::Whole);
                }
            }
            ("oneOf" | "anyOf" | "allOf", Value::Array(parts)) => {
                for part in parts {
                    tidy_part(part, direction, inner);
                }
            }
            ("prefixItems", Value::Array(parts)) => {
                for part in parts {
                    tidy_part(part, direction, Extent::Whole);
                }
            }
            ("items" | "contains" | "additionalProperties" | "propertyNames", value) => {
                tidy_part(value, direction, Extent::Whole);
            }
            _ => {}
        }
    }
}

/// Closes an object, and says what the parts of a choice beside it are.
fn close(members: &mut Map<String, Value>, extent: Extent) -> Extent {
    let combines = COMBINING
        .iter()
        .any(|keyword| members.contains_key(*keyword));
    if members.get("type") != Some(&json!("object")) {
        let has_properties = members.contains_key("properties");
        return if has_properties { Extent::Part } else { extent };
    }
    let is_map = members.contains_key("additionalProperties")
        || members.contains_key("unevaluatedProperties")
        || members.contains_key("patternProperties");
    if !is_map && extent == Extent::Whole {
        let keyword = if combines {
            // It sees the members that the parts describe.
            "unevaluatedProperties"
        } else {
            "additionalProperties"
        };
        members.insert(keyword.into(), false.into());
    }
    if !is_map || members.contains_key("properties") {
        let properties = members.entry("properties").or_insert_with(|| json!({}));
        let is_empty = properties.as_object().is_none_or(Map::is_empty);
        match members.get("required") {
            None if !is_empty => {
                members.insert("required".into(), json!([]));
            }
            Some(Value::Array(names)) if names.is_empty() && is_empty => {
                members.remove("required");
            }
            _ => {}
        }
    }
    Extent::Part
}

/// `uint32` and its kin are no formats of JSON Schema; some clients stumble over them.
fn drop_rust_formats(members: &mut Map<String, Value>) {
    let format = members.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| RUST_FORMATS.contains(&format)) {
        members.remove("format");
    }
}

/// Makes one `enum` of variants without data, their comments a list in the description.
///
/// Variants that all have titles stay as they are: that is how a form shows them.
fn collapse_choice(members: &mut Map<String, Value>) {
    let Some(Value::Array(parts)) = members.get("oneOf") else {
        return;
    };
    let mut values = Vec::new();
    let mut notes = String::new();
    for part in parts {
        let is_string = part.get("type") == Some(&json!("string"));
        if !is_string || part.get("title").is_some() {
            return;
        }
        match (part.get("const"), part.get("enum")) {
            (Some(value @ Value::String(name)), None) => {
                if let Some(text) = part.get("description").and_then(Value::as_str) {
                    notes.push_str(&format!("\n- `{name}`: {}", reflow(text)));
                }
                values.push(value.clone());
            }
            (None, Some(Value::Array(several))) => values.extend(several.iter().cloned()),
            _ => return,
        }
    }
    members.remove("oneOf");
    members.insert("type".into(), "string".into());
    members.insert("enum".into(), values.into());
    if !notes.is_empty() {
        let before = members.get("description").and_then(Value::as_str);
        let text = format!("{}{notes}", before.unwrap_or("One of:"));
        members.insert("description".into(), text.into());
    }
}

/// `enum` with one value says the same as `const`, and every client knows it.
fn const_to_enum(members: &mut Map<String, Value>) {
    let is_titled = members.contains_key("title");
    if is_titled || !members.get("const").is_some_and(Value::is_string) {
        return;
    }
    if let Some(value) = members.remove("const") {
        members.insert("enum".into(), json!([value]));
    }
}

/// Takes `null` out of properties that may be left out.
fn optional_without_null(members: &mut Map<String, Value>) {
    let required = match members.get("required") {
        Some(Value::Array(names)) => names.clone(),
        _ => Vec::new(),
    };
    let Some(Value::Object(properties)) = members.get_mut("properties") else {
        return;
    };
    for (name, property) in properties {
        let is_required = required.iter().any(|one| one.as_str() == Some(name));
        if let (false, Some(property)) = (is_required, property.as_object_mut()) {
            without_null(property);
        }
    }
}

fn without_null(property: &mut Map<String, Value>) {
    if property.get("default") == Some(&Value::Null) {
        property.remove("default");
    }
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            property.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(parts)) = property.get_mut("anyOf") else {
        return;
    };
    parts.retain(|part| *part != json!({"type": "null"}));
    let only = match parts.as_slice() {
        [Value::Object(only)] => only.clone(),
        _ => return,
    };
    property.remove("anyOf");
    for (keyword, value) in only {
        // What the field says of itself goes before what its type says.
        property.entry(keyword).or_insert(value);
    }
}

/// Joins the lines of a paragraph, which were broken for the width of the source.
fn reflow(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_code = false;
    for line in text.lines() {
        let trimmed = line.trim();
        let fence = trimmed.starts_with("```");
        let opens = trimmed.is_empty()
            || trimmed.starts_with(['-', '*', '#', '>', '|', '+'])
            || trimmed.starts_with(|c: char| c.is_ascii_digit());
        if !out.is_empty() {
            let joins = !in_code && !fence && !opens && !out.ends_with('\n');
            out.push(if joins { ' ' } else { '\n' });
        }
        out.push_str(if in_code { line.trim_end() } else { trimmed });
        if fence {
            in_code = !in_code;
            if !in_code {
                out.push('\n');
            }
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Is every value of this schema an object?
fn is_object_schema(schema: &Value, root: &Value) -> bool {
    if schema.get("type") == Some(&json!("object")) {
        return true;
    }
    if schema.get("type").is_some() {
        return false;
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|at| root.pointer(at));
        // One step only: a definition that is nothing but a reference is not made by anyone.
        return target.is_some_and(|target| target.get("type") == Some(&json!("object")));
    }
    let choice = schema.get("oneOf").or_else(|| schema.get("anyOf"));
    match choice.and_then(Value::as_array) {
        Some(parts) => !parts.is_empty() && parts.iter().all(|part| is_object_schema(part, root)),
        None => false,
    }
}

const COMBINING: &[&str] = &["oneOf", "anyOf", "allOf", "$ref", "if", "dependentSchemas"];

const RUST_FORMATS: &[&str] = &[
    "int", "int8", "int16", "int32", "int64", "int128", "uint", "uint8", "uint16", "uint32",
    "uint64", "uint128", "float", "double", "ip",
];
