//! Says what a model or a client will stumble over in a tool's schema.

use std::fmt;

use serde_json::{Map, Value};
use switchboard_protocol::RawJson;

/// What is not clean in a schema, one sentence each, with the place; empty if it is.
pub fn lint(schema: &RawJson) -> Vec<String> {
    let faults = faults(schema);
    faults.iter().map(ToString::to_string).collect()
}

/// What is not clean in a schema, for programs; empty if it is.
pub fn faults(schema: &RawJson) -> Vec<SchemaFault> {
    let mut faults = Vec::new();
    let root = Place::default();
    let Ok(Value::Object(schema)) = schema.decode() else {
        return vec![root.fault(SchemaFaultKind::NoObjectSchema)];
    };
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        faults.push(root.fault(SchemaFaultKind::RootType));
    }
    if ["oneOf", "anyOf", "allOf"]
        .iter()
        .any(|keyword| schema.contains_key(*keyword))
    {
        faults.push(root.fault(SchemaFaultKind::RootChoice));
    } else if !schema.contains_key("properties") {
        faults.push(root.fault(SchemaFaultKind::RootProperties));
    }
    look(&schema, &root, true, &mut faults);
    faults
}

/// Something that a model or a client will stumble over in a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaFault {
    /// What it is.
    pub kind: SchemaFaultKind,
    /// The place in the schema, as a JSON pointer: `/properties/a/items`.
    pub pointer: String,
    /// The same for people: `a[]`; empty for the root.
    pub path: String,
}

/// What a model or a client will stumble over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaFaultKind {
    /// The whole is not an object.
    NoObjectSchema,
    /// The root does not say `type: object`.
    RootType,
    /// The root is a choice.
    RootChoice,
    /// The root has no `properties`.
    RootProperties,
    /// An object does not say whether it is closed.
    Open,
    /// An object does not say what is required.
    Required,
    /// A property has no description.
    Undescribed,
    /// A number has a format that only some languages know.
    NumberFormat(String),
}

impl fmt::Display for SchemaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = match self.path.as_str() {
            "" => "the root",
            path => path,
        };
        match &self.kind {
            SchemaFaultKind::NoObjectSchema => f.write_str("the schema is not an object"),
            SchemaFaultKind::RootType => f.write_str("the root does not say `type: object`"),
            SchemaFaultKind::RootChoice => f.write_str(
                "the root is a choice, which some model providers refuse; put it into a property",
            ),
            SchemaFaultKind::RootProperties => f.write_str("the root has no `properties`"),
            SchemaFaultKind::Open => write!(f, "{shown} does not say `additionalProperties`"),
            SchemaFaultKind::Required => write!(f, "{shown} does not say what is `required`"),
            SchemaFaultKind::Undescribed => write!(f, "{shown} has no description"),
            SchemaFaultKind::NumberFormat(format) => {
                write!(f, "{shown} has the format `{format}`, which few know")
            }
        }
    }
}

fn look(schema: &Map<String, Value>, place: &Place, whole: bool, faults: &mut Vec<SchemaFault>) {
    if faults.len() >= MOST {
        return;
    }
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    let is_closed = ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .any(|keyword| schema.contains_key(*keyword));
    let is_choice = ["oneOf", "anyOf"].iter().any(|k| schema.contains_key(*k));
    if is_object && whole && !is_closed && !is_choice {
        faults.push(place.fault(SchemaFaultKind::Open));
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let has_properties = properties.is_some_and(|properties| !properties.is_empty());
    if has_properties && !schema.contains_key("required") {
        faults.push(place.fault(SchemaFaultKind::Required));
    }
    let number_format = schema.get("format").and_then(Value::as_str);
    if let Some(format) = number_format.filter(|f| f.contains("int") || f.contains("float")) {
        faults.push(place.fault(SchemaFaultKind::NumberFormat(format.to_owned())));
    }
    for (name, property) in properties.into_iter().flatten() {
        let place = place.property(name);
        let described = property.get("description").and_then(Value::as_str);
        let is_tag = property.get("const").is_some()
            || property
                .get("enum")
                .and_then(Value::as_array)
                .is_some_and(|values| values.len() == 1);
        if described.is_none_or(|text| text.trim().is_empty()) && !is_tag {
            faults.push(place.fault(SchemaFaultKind::Undescribed));
        }
        if let Some(property) = property.as_object() {
            look(property, &place, true, faults);
        }
    }
    for (keyword, step) in [("items", "[]"), ("additionalProperties", ".*")] {
        if let Some(inner) = schema.get(keyword).and_then(Value::as_object) {
            let path = format!("{}{step}", place.path);
            look(inner, &place.inner(&[keyword], path), true, faults);
        }
    }
    for keyword in ["oneOf", "anyOf", "allOf"] {
        let parts = schema.get(keyword).and_then(Value::as_array);
        for (index, part) in parts.into_iter().flatten().enumerate() {
            if let Some(part) = part.as_object() {
                let inner = place.inner(&[keyword, &index.to_string()], place.path.clone());
                look(part, &inner, properties.is_none(), faults);
            }
        }
    }
    let definitions = schema.get("$defs").and_then(Value::as_object);
    for (name, definition) in definitions.into_iter().flatten() {
        if let Some(definition) = definition.as_object() {
            look(
                definition,
                &place.inner(&["$defs", name], name.clone()),
                true,
                faults,
            );
        }
    }
}

/// Where in the schema, twice: for programs and for people.
#[derive(Default)]
struct Place {
    pointer: String,
    path: String,
}

impl Place {
    fn property(&self, name: &str) -> Self {
        let path = match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        self.inner(&["properties", name], path)
    }

    fn inner(&self, steps: &[&str], path: String) -> Self {
        let mut pointer = self.pointer.clone();
        for step in steps {
            pointer.push('/');
            pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
        }
        Self { pointer, path }
    }

    fn fault(&self, kind: SchemaFaultKind) -> SchemaFault {
        SchemaFault {
            kind,
            pointer: self.pointer.clone(),
            path: self.path.clone(),
        }
    }
}

/// Nobody reads more, and a hostile schema shall not make us write more.
const MOST: usize = 100;
