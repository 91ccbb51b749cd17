//! The way through a schema: every schema within it, with its place.

use serde_json::{Map, Value};

use crate::pointer::step as pointer;

/// A schema within a schema.
#[derive(Clone, Copy)]
pub(super) struct Visited<'a> {
    /// Itself.
    pub(super) schema: &'a Value,
    /// As a JSON pointer, from the definition of the tool.
    pub(super) place: &'a str,
    /// How many objects it is in.
    pub(super) depth: usize,
    /// Is it the value of a property?
    pub(super) is_property: bool,
}

impl<'a> Visited<'a> {
    /// Its keywords, if it is an object.
    pub(super) fn keywords(&self) -> Option<&'a Map<String, Value>> {
        self.schema.as_object()
    }
}

/// Visits the schema and all within it, the outer before the inner.
pub(super) fn walk<'a>(schema: &'a Value, place: &str, visit: &mut dyn FnMut(Visited<'_>)) {
    let mut left = MOST;
    step(schema, place, 0, false, &mut left, visit);
}

fn step(
    schema: &Value,
    place: &str,
    depth: usize,
    is_property: bool,
    left: &mut usize,
    visit: &mut dyn FnMut(Visited<'_>),
) {
    let Some(rest) = left.checked_sub(1) else {
        return;
    };
    *left = rest;
    visit(Visited {
        schema,
        place,
        depth,
        is_property,
    });
    let Some(keywords) = schema.as_object() else {
        return;
    };
    for (keyword, value) in keywords {
        let kind = Kind::of(keyword);
        let place = pointer(place, keyword);
        match (kind, value) {
            (Kind::Map { are_properties }, Value::Object(members)) => {
                let depth = depth + usize::from(are_properties);
                for (name, inner) in members {
                    step(
                        inner,
                        &pointer(&place, name),
                        depth,
                        are_properties,
                        left,
                        visit,
                    );
                }
            }
            // Whether others are allowed at all is no schema that anybody stumbles over.
            (Kind::One | Kind::Either, Value::Object(_)) => {
                step(value, &place, depth, false, left, visit);
            }
            (Kind::List | Kind::Either, Value::Array(parts)) => {
                for (index, inner) in parts.iter().enumerate() {
                    let place = pointer(&place, &index.to_string());
                    step(inner, &place, depth, false, left, visit);
                }
            }
            _ => {}
        }
    }
}

/// What stands behind a keyword.
#[derive(Clone, Copy)]
enum Kind {
    /// Schemas by name.
    Map { are_properties: bool },
    /// A schema.
    One,
    /// Schemas in a row.
    List,
    /// Either of the two.
    Either,
    /// No schema.
    Other,
}

impl Kind {
    fn of(keyword: &str) -> Self {
        match keyword {
            "properties" => Self::Map {
                are_properties: true,
            },
            "$defs" | "definitions" | "patternProperties" | "dependentSchemas" => Self::Map {
                are_properties: false,
            },
            "additionalProperties"
            | "unevaluatedProperties"
            | "propertyNames"
            | "contains"
            | "unevaluatedItems"
            | "additionalItems"
            | "not"
            | "if"
            | "then"
            | "else" => Self::One,
            "oneOf" | "anyOf" | "allOf" | "prefixItems" => Self::List,
            "items" => Self::Either,
            _ => Self::Other,
        }
    }
}

/// Schemas of one tool that are looked at; real ones have some hundreds.
const MOST: usize = 20_000;
