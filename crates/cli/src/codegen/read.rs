//! From a JSON Schema to shapes.
//!
//! Keywords of 2020-12 and, where they differ, of draft-07 and OpenAPI. What types cannot say (`not`, `if`,
//! bounds) is left out or becomes a comment; what cannot be found is unknown. A shape may always
//! let more through than its schema, never less.

use std::collections::{HashMap, VecDeque};

use super::cycles;
use super::node::{self, Node};
use super::shape::{Comment, Field, Named, Object, Rest, Schema, Shape, Tuple};
use crate::pointer;

/// Reads a schema.
pub(super) fn read(text: &str) -> Schema {
    let root = Node::read(text.as_bytes());
    let mut reader = Reader {
        root: &root,
        places: HashMap::from([(String::new(), 0)]),
        waiting: VecDeque::from([(String::new(), &root)]),
        left: MOST,
    };
    let mut schema = Schema::default();
    // One after the other: definitions may refer to each other in a long row.
    while let Some((hint, node)) = reader.waiting.pop_front() {
        let shape = reader.shape(node);
        let comment = comment(node);
        schema.definitions.push(Named {
            hint,
            comment,
            shape,
        });
    }
    cycles::cut(&mut schema);
    schema
}

struct Reader<'a> {
    root: &'a Node,
    /// The definitions that were referred to, by their JSON pointer.
    places: HashMap<String, usize>,
    /// Those that are still to be read, in the order of their numbers.
    waiting: VecDeque<(String, &'a Node)>,
    left: usize,
}

impl<'a> Reader<'a> {
    fn shape(&mut self, node: &'a Node) -> Shape {
        match (node, self.left.checked_sub(1)) {
            (Node::Object(_), Some(left)) => self.left = left,
            (Node::Bool(false), _) => return Shape::Never,
            _ => return Shape::Unknown,
        }
        let mut parts = Vec::new();
        if let Some(reference) = node.get("$ref").and_then(Node::as_str) {
            parts.push(self.reference(reference));
        }
        parts.push(self.own(node));
        for keyword in ["anyOf", "oneOf"] {
            if let Some(choice) = node.get(keyword).filter(|list| !list.items().is_empty()) {
                let shapes: Vec<Shape> =
                    choice.items().iter().map(|part| self.shape(part)).collect();
                parts.push(Shape::union(shapes));
            }
        }
        for part in node.get("allOf").map(Node::items).unwrap_or_default() {
            parts.push(self.shape(part));
        }
        let shape = Shape::both(parts);
        match node.get("nullable") {
            Some(Node::Bool(true)) => Shape::union([shape, Shape::Null]),
            _ => shape,
        }
    }

    /// What is said without other schemas.
    fn own(&mut self, node: &'a Node) -> Shape {
        if let Some(value) = node.get("const") {
            return Shape::Literal(value.clone());
        }
        if let Some(values) = node.get("enum").filter(|list| !list.items().is_empty()) {
            return Shape::union(values.items().iter().map(|value| match value {
                Node::Null => Shape::Null,
                value => Shape::Literal(value.clone()),
            }));
        }
        match node.get("type") {
            Some(Node::Text(name)) => self.of_type(name, node),
            Some(Node::List(names)) if !names.is_empty() => {
                let names = names.iter().filter_map(Node::as_str);
                Shape::union(
                    names
                        .map(|name| self.of_type(name, node))
                        .collect::<Vec<_>>(),
                )
            }
            _ if OBJECT.iter().any(|keyword| node.get(keyword).is_some()) => self.object(node),
            _ if LIST.iter().any(|keyword| node.get(keyword).is_some()) => self.list(node),
            _ => Shape::Unknown,
        }
    }

    fn of_type(&mut self, name: &str, node: &'a Node) -> Shape {
        match name {
            "null" => Shape::Null,
            "boolean" => Shape::Boolean,
            "integer" => Shape::Integer,
            "number" => Shape::Number,
            "string" => Shape::Text,
            "array" => self.list(node),
            "object" => self.object(node),
            _ => Shape::Unknown,
        }
    }

    fn object(&mut self, node: &'a Node) -> Shape {
        let required = node.get("required").map(Node::items).unwrap_or_default();
        let required: Vec<&str> = required.iter().filter_map(Node::as_str).collect();
        let mut fields: Vec<Field> = Vec::new();
        for (name, property) in node
            .get("properties")
            .map(Node::members)
            .unwrap_or_default()
        {
            // Of two of a name the last counts.
            fields.retain(|field| field.name != *name);
            fields.push(Field {
                name: name.clone(),
                comment: comment(property),
                is_required: required.contains(&name.as_str()),
                shape: self.shape(property),
            });
        }
        for name in required {
            if !fields.iter().any(|field| field.name == name) {
                fields.push(Field {
                    name: name.to_owned(),
                    comment: Comment::default(),
                    is_required: true,
                    shape: Shape::Unknown,
                });
            }
        }
        let patterns = node
            .get("patternProperties")
            .map(Node::members)
            .unwrap_or_default();
        let patterns: Vec<Shape> = patterns
            .iter()
            .map(|(_, inner)| self.shape(inner))
            .collect();
        let said = node.get("additionalProperties");
        let rest = match said.or_else(|| node.get("unevaluatedProperties")) {
            Some(Node::Bool(false)) if patterns.is_empty() => Rest::None,
            Some(Node::Bool(false)) => Rest::Some(Box::new(Shape::union(patterns))),
            Some(other) => {
                let other = self.shape(other);
                Rest::Some(Box::new(Shape::union(patterns.into_iter().chain([other]))))
            }
            None if patterns.is_empty() => Rest::Unsaid,
            None => Rest::Some(Box::new(Shape::Unknown)),
        };
        Shape::Object(Object { fields, rest })
    }

    fn list(&mut self, node: &'a Node) -> Shape {
        let items = node.get("items");
        // Before 2020-12 the places were in `items`, and what follows in `additionalItems`.
        let (places, rest) = match (node.get("prefixItems"), items) {
            (Some(places @ Node::List(_)), rest) => (places.items(), rest),
            (_, Some(Node::List(places))) => (places.as_slice(), node.get("additionalItems")),
            (_, Some(item)) => {
                return Shape::List(Box::new(self.shape(item)));
            }
            _ => return Shape::List(Box::new(Shape::Unknown)),
        };
        let most = node.get("maxItems").and_then(node::count);
        let least = node.get("minItems").and_then(node::count);
        let shapes: Vec<Shape> = places.iter().map(|place| self.shape(place)).collect();
        let is_whole = most.is_some_and(|most| most <= shapes.len());
        let rest = match rest {
            _ if is_whole => None,
            Some(Node::Bool(false)) => None,
            Some(rest) => Some(Box::new(self.shape(rest))),
            None => Some(Box::new(Shape::Unknown)),
        };
        Shape::Tuple(Tuple {
            required: least.unwrap_or(0).min(shapes.len()),
            items: shapes,
            rest,
        })
    }

    fn reference(&mut self, reference: &str) -> Shape {
        let root = self.root;
        let Some(place) = pointer::of_reference(reference) else {
            return Shape::Unknown;
        };
        if let Some(number) = self.places.get(&place) {
            return Shape::Named(*number);
        }
        let target = node::find(root, &place);
        let Some(target) = target.filter(|_| self.places.len() < MOST_DEFINITIONS) else {
            return Shape::Unknown;
        };
        let hint = place.rsplit('/').next().unwrap_or_default();
        let hint = hint.replace("~1", "/").replace("~0", "~");
        let number = self.places.len();
        self.places.insert(place, number);
        self.waiting.push_back((hint, target));
        Shape::Named(number)
    }
}

fn comment(node: &Node) -> Comment {
    let text = |name: &str| node.get(name).and_then(Node::as_str);
    let text = text("description").or_else(|| text("title"));
    let text = text.filter(|text| !text.trim().is_empty());
    let mut tags = Vec::new();
    for keyword in TAGS {
        match node.get(keyword) {
            None | Some(Node::Object(_)) => {}
            Some(Node::Bool(false)) if *keyword == "deprecated" => {}
            Some(Node::Bool(true)) if *keyword == "deprecated" => {
                tags.push((*keyword, String::new()));
            }
            Some(Node::Text(text)) if *keyword != "default" => tags.push((*keyword, text.clone())),
            Some(value) => tags.push((*keyword, node::written(value))),
        }
    }
    Comment {
        text: text.map(str::to_owned),
        tags,
    }
}

const OBJECT: &[&str] = &[
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
];
const LIST: &[&str] = &["items", "prefixItems"];
/// What types do not say.
const TAGS: &[&str] = &[
    "default",
    "format",
    "pattern",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "deprecated",
];
/// Shapes of one schema; real ones have some hundreds.
const MOST: usize = 50_000;
/// Definitions of one schema; which of them contain themselves is asked for each.
const MOST_DEFINITIONS: usize = 1_000;
