//! The schema of an elicitation form, from a Rust type.
//!
//! A form is flat: texts, numbers, yes and no, one choice or several.
//! What a client may do with it is in the protocol's `ElicitSchema`, which also
//! decides here whether a property may stand in a form.
//!
//! Specification: client/elicitation (requested schema).

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use switchboard_protocol::RawJson;
use switchboard_protocol::types::{ElicitSchema, PrimitiveSchemaDefinition};

use super::{Generated, SchemaError, fields, tidy, write};

/// The schema of a form whose answer has this type.
///
/// Variants that all have a `#[schemars(title = "…")]` are shown by it (since 2025-11-25).
///
/// # Errors
/// When values of the type are not objects, or a property cannot stand in a form.
pub(crate) fn form_schema<T: JsonSchema + DeserializeOwned>() -> Result<Form, SchemaError> {
    let type_name = std::any::type_name::<T>();
    let mut schema = super::generate::<T>(tidy::Direction::Read);
    if !tidy::make_object_root(&mut schema) {
        return Err(SchemaError::NotAnObject { type_name });
    }
    let description = tidy::take_description(&mut schema);
    let Some(root) = schema.as_object_mut() else {
        return Err(SchemaError::NotAnObject { type_name });
    };
    // The form's own schema knows no other members, and older clients refuse them.
    root.retain(|keyword, _| matches!(keyword.as_str(), "type" | "properties" | "required"));
    let properties = root.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        if !reduce(property) {
            return Err(SchemaError::NoFormField {
                type_name,
                property: name.clone(),
            });
        }
    }
    let schema = write::to_raw(&schema, fields::declared::<T>())?;
    Ok(Form {
        fields: schema.decode()?,
        generated: Generated {
            schema,
            description,
        },
    })
}

/// A form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Form {
    /// Its text, and the doc comment of the type as words for the user.
    pub(crate) generated: Generated,
    /// The same, as its fields.
    pub(crate) fields: ElicitSchema,
}

impl Form {
    /// The text that goes to the client.
    pub(crate) fn schema(&self) -> &RawJson {
        &self.generated.schema
    }
}

/// Brings a property into the form's form; `false` if it has none.
fn reduce(property: &mut Value) -> bool {
    let Some(members) = property.as_object_mut() else {
        return false;
    };
    if let Some(Value::Array(parts)) = members.get("oneOf") {
        let all_titled = parts.iter().all(is_titled_value);
        members.insert("type".into(), "string".into());
        strip_options(members, "oneOf");
        if !all_titled {
            return false;
        }
    }
    match members.get("type").and_then(Value::as_str) {
        Some("string") => members.retain(|keyword, _| STRING.contains(&keyword.as_str())),
        Some("number" | "integer") => {
            members.retain(|keyword, _| NUMBER.contains(&keyword.as_str()));
        }
        Some("boolean") => members.retain(|keyword, _| BOOLEAN.contains(&keyword.as_str())),
        Some("array") => {
            if !reduce_items(members.get_mut("items")) {
                return false;
            }
            members.retain(|keyword, _| ARRAY.contains(&keyword.as_str()));
        }
        _ => return false,
    }
    serde_json::from_value::<PrimitiveSchemaDefinition>(property.clone()).is_ok()
}

/// The items of a list of choices, whose titled form is `anyOf`.
fn reduce_items(items: Option<&mut Value>) -> bool {
    let Some(items) = items.and_then(Value::as_object_mut) else {
        return false;
    };
    if let Some(parts) = items.remove("oneOf") {
        let all_titled = parts
            .as_array()
            .is_some_and(|parts| parts.iter().all(is_titled_value));
        items.clear();
        items.insert("anyOf".into(), parts);
        strip_options(items, "anyOf");
        return all_titled;
    }
    items.retain(|keyword, _| matches!(keyword.as_str(), "type" | "enum"));
    items.contains_key("enum")
}

fn is_titled_value(part: &Value) -> bool {
    let has = |keyword| part.get(keyword).is_some_and(Value::is_string);
    has("const") && has("title")
}

fn strip_options(members: &mut Map<String, Value>, keyword: &str) {
    let parts = members.get_mut(keyword).and_then(Value::as_array_mut);
    for part in parts.into_iter().flatten().filter_map(Value::as_object_mut) {
        part.retain(|keyword, _| matches!(keyword.as_str(), "const" | "title"));
    }
}

const STRING: &[&str] = &[
    "type",
    "title",
    "description",
    "format",
    "minLength",
    "maxLength",
    "enum",
    // Titles as they were written before 2025-11-25, if a type has them.
    "enumNames",
    "oneOf",
    "default",
];

const NUMBER: &[&str] = &[
    "type",
    "title",
    "description",
    "minimum",
    "maximum",
    "default",
];

const BOOLEAN: &[&str] = &["type", "title", "description", "default"];

const ARRAY: &[&str] = &[
    "type",
    "title",
    "description",
    "items",
    "minItems",
    "maxItems",
    "default",
];
