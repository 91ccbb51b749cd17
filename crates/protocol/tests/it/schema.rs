//! Every type at every revision against the official JSON schema.
//!
//! Two things are proved for each definition. What we write is valid. And the
//! samples together have every member that the definition declares and no other,
//! so that no member was forgotten and none is sent to a peer that lacks it.

use std::collections::{BTreeMap, BTreeSet};

use boon::{Compiler, Schemas};
use serde_json::Value;
use switchboard_protocol::Revision;

use crate::official::{read_json, schema_folder};
use crate::samples;

#[test]
fn every_type_at_every_revision_is_valid_and_complete() {
    let Some(folder) = schema_folder() else {
        return;
    };
    let mut problems = Vec::new();
    let mut known = BTreeSet::new();
    let mut named = BTreeSet::new();
    for revision in Revision::ALL {
        let schema = read_json(&folder.join(format!("{revision}.json")));
        let table = samples::at(revision);
        known.extend(definitions(&schema).1.keys().cloned());
        named.extend(table.named);
        let mut samples: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for (definition, value) in table.rows {
            samples.entry(definition).or_default().push(value);
        }
        check(revision, &schema, &samples, &mut problems);
    }
    for name in named.difference(&known) {
        problems.push(format!("no revision defines {name}"));
    }
    for (name, _) in NOT_COVERED {
        if !known.contains(*name) {
            problems.push(format!("no revision defines {name}, which is not covered"));
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

fn check(
    revision: Revision,
    schema: &Value,
    samples: &BTreeMap<String, Vec<Value>>,
    problems: &mut Vec<String>,
) {
    let (key, definitions) = definitions(schema);
    let mut compiled = Schemas::new();
    let mut compiler = Compiler::new();
    let place = format!("memory:///{revision}.json");
    compiler
        .add_resource(&place, schema.clone())
        .expect("a place is added once");
    for (name, definition) in definitions {
        let excused = NOT_COVERED.iter().any(|(excused, _)| excused == name);
        let Some(values) = samples.get(name) else {
            if !excused {
                problems.push(format!("{revision} {name}: no sample"));
            }
            continue;
        };
        if excused {
            problems.push(format!("{revision} {name}: excused, yet it has a sample"));
        }
        let index = compiler
            .compile(&format!("{place}#/{key}/{name}"), &mut compiled)
            .expect("the official schema is a schema");
        for value in values {
            if let Err(error) = compiled.validate(value, index) {
                problems.push(format!("{revision} {name}: {error:#}\n  {value}"));
            }
        }
        let values: Vec<&Value> = values.iter().collect();
        let is_base = BASES.contains(&name.as_str());
        check_members(
            definition,
            &values,
            is_base,
            &format!("{revision} {name}"),
            problems,
        );
    }
}

/// The values together have all members that the schema declares, and no other.
fn check_members(
    schema: &Value,
    values: &[&Value],
    is_base: bool,
    place: &str,
    problems: &mut Vec<String>,
) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    for (name, inner) in properties {
        let present: Vec<&Value> = values.iter().filter_map(|v| v.get(name)).collect();
        if present.is_empty() {
            problems.push(format!("{place}: no sample has {name}"));
        } else {
            check_members(inner, &present, false, &format!("{place}.{name}"), problems);
        }
    }
    let is_open = schema.get("additionalProperties").is_some();
    for object in values.iter().filter_map(|value| value.as_object()) {
        for name in object.keys() {
            // Inline params of older schemas leave out `_meta`, which their base allows.
            let is_declared = properties.contains_key(name) || name == "_meta";
            if !is_declared && !is_open && !is_base {
                problems.push(format!(
                    "{place}: a sample has {name}, which is not declared"
                ));
            }
        }
    }
}

pub(crate) fn definitions(schema: &Value) -> (&'static str, &serde_json::Map<String, Value>) {
    ["$defs", "definitions"]
        .into_iter()
        .find_map(|key| Some((key, schema.get(key)?.as_object()?)))
        .expect("a schema has definitions")
}

/// Definitions that others extend: a sample has more members than they declare.
const BASES: &[&str] = &[
    "Annotated",
    "BaseMetadata",
    "CacheableResult",
    "Icons",
    "InputResponseRequestParams",
    "JSONRPCNotification",
    "JSONRPCRequest",
    "MetaObject",
    "Notification",
    "NotificationMetaObject",
    "NotificationParams",
    "PaginatedRequest",
    "PaginatedRequestParams",
    "PaginatedResult",
    "Request",
    "RequestMetaObject",
    "RequestParams",
    "ResourceContents",
    "ResourceRequestParams",
    "Result",
    "ResultMetaObject",
    "SubscriptionsListenResultMetaObject",
    "TaskAugmentedRequestParams",
];

/// Definitions without a sample, and why.
const NOT_COVERED: &[(&str, &str)] = &[
    ("JSONValue", "any JSON"),
    ("JSONObject", "any object"),
    ("JSONArray", "any array"),
];
