//! Writes a schema as text in the order in which one reads it.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use switchboard_protocol::RawJson;

/// The text of a schema. `declared` is the order of the root's properties.
pub(super) fn to_raw(schema: &Value, declared: &[&str]) -> Result<RawJson, serde_json::Error> {
    RawJson::encode(&Written {
        value: schema,
        role: Role::Schema { declared },
    })
}

struct Written<'a> {
    value: &'a Value,
    role: Role<'a>,
}

/// What a value is in a schema: that decides the order of its members.
#[derive(Clone, Copy)]
enum Role<'a> {
    Schema {
        declared: &'a [&'a str],
    },
    /// Names and their schemas.
    Named {
        first: &'a [&'a str],
        then: &'a Value,
    },
    /// A list of schemas.
    Listed,
    /// Not a schema.
    Plain,
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.role, self.value) {
            (Role::Schema { declared }, Value::Object(members)) => {
                let mut keys: Vec<&String> = members.keys().collect();
                keys.sort_by_key(|key| rank(key));
                let mut map = serializer.serialize_map(Some(keys.len()))?;
                for key in keys {
                    let Some(value) = members.get(key) else {
                        continue;
                    };
                    let role = role_of(key, members, declared);
                    map.serialize_entry(key, &Written { value, role })?;
                }
                map.end()
            }
            (Role::Named { first, then }, Value::Object(members)) => {
                let required = then.as_array().into_iter().flatten();
                let required: Vec<&str> = required.filter_map(Value::as_str).collect();
                let place = |key: &str| {
                    let declared = first.iter().position(|name| *name == key);
                    let required = required.iter().position(|name| *name == key);
                    let last = usize::MAX;
                    (declared.unwrap_or(last), required.unwrap_or(last))
                };
                let mut keys: Vec<&String> = members.keys().collect();
                keys.sort_by_key(|key| place(key));
                let mut map = serializer.serialize_map(Some(keys.len()))?;
                for key in keys {
                    let Some(value) = members.get(key) else {
                        continue;
                    };
                    let role = Role::Schema { declared: &[] };
                    map.serialize_entry(key, &Written { value, role })?;
                }
                map.end()
            }
            (Role::Listed, Value::Array(items)) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for value in items {
                    let role = Role::Schema { declared: &[] };
                    list.serialize_element(&Written { value, role })?;
                }
                list.end()
            }
            (_, value) => value.serialize(serializer),
        }
    }
}

fn role_of<'a>(key: &str, members: &'a Map<String, Value>, declared: &'a [&'a str]) -> Role<'a> {
    match key {
        "properties" => Role::Named {
            first: declared,
            then: members.get("required").unwrap_or(&Value::Null),
        },
        "patternProperties" | "$defs" | "dependentSchemas" => Role::Named {
            first: &[],
            then: &Value::Null,
        },
        "oneOf" | "anyOf" | "allOf" | "prefixItems" => Role::Listed,
        "items"
        | "contains"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "propertyNames"
        | "not"
        | "if"
        | "then"
        | "else" => Role::Schema { declared: &[] },
        _ => Role::Plain,
    }
}

/// Keywords not named here stand between the two halves, sorted by name.
fn rank(keyword: &str) -> usize {
    let position = |list: &[&str]| list.iter().position(|name| *name == keyword);
    match (position(FIRST), position(LAST)) {
        (Some(at), _) => at,
        (None, Some(at)) => FIRST.len() + 1 + at,
        (None, None) => FIRST.len(),
    }
}

const FIRST: &[&str] = &[
    "$schema",
    "$id",
    "$ref",
    "type",
    "title",
    "description",
    "format",
    "enum",
    "const",
];

const LAST: &[&str] = &[
    "default",
    "properties",
    "required",
    "additionalProperties",
    "unevaluatedProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "$defs",
];
