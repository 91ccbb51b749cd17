//! From shapes to Rust types.

use std::fmt::Write;

use super::{identifier, push_comment, push_line};
use crate::codegen::cycles::is_recursive;
use crate::codegen::name::{Names, pascal, snake};
use crate::codegen::node::Node;
use crate::codegen::shape::{Comment, Field, Object, Rest, Schema, Shape};

/// The types of one schema.
pub(super) struct Types<'a> {
    schema: &'a Schema,
    /// Of the definitions.
    names: Vec<String>,
    recursive: Vec<bool>,
    taken: &'a mut Names,
    /// What is written, the outer before the inner.
    items: Vec<String>,
}

/// What a type is called, if it needs a name.
#[derive(Clone)]
enum Hint {
    /// Exactly this; it is taken already.
    Exactly(String),
    /// This, or something like it.
    Like(String),
}

impl<'a> Types<'a> {
    pub(super) fn new(schema: &'a Schema, base: &str, taken: &'a mut Names) -> Self {
        let definitions = &schema.definitions;
        let names = definitions
            .iter()
            .map(|definition| match definition.hint.is_empty() {
                true => taken.take(base),
                false => taken.take(&format!("{base}{}", pascal(&definition.hint))),
            });
        Self {
            names: names.collect(),
            recursive: (0..definitions.len())
                .map(|number| is_recursive(schema, number))
                .collect(),
            schema,
            taken,
            items: Vec::new(),
        }
    }

    pub(super) fn write(mut self) -> Vec<String> {
        let schema = self.schema;
        for (number, definition) in schema.definitions.iter().enumerate() {
            let name = self.names.get(number).cloned().unwrap_or_default();
            let place = self.items.len();
            let hint = Hint::Exactly(name.clone());
            let shown = self.type_of(&definition.shape, &hint, Some(&definition.comment));
            if shown == name {
                continue;
            }
            let mut item = documented(&definition.comment);
            // Another name for a type cannot contain itself; a new type can.
            match self.recursive.get(number) {
                Some(true) => {
                    push_line(&mut item, "", DERIVES);
                    push_line(&mut item, "", &format!("pub struct {name}(pub {shown});"));
                }
                _ => push_line(&mut item, "", &format!("pub type {name} = {shown};")),
            }
            self.items.insert(place, item);
        }
        self.items
    }

    /// The type of a shape. What needs a name is written.
    fn type_of(&mut self, shape: &Shape, hint: &Hint, comment: Option<&Comment>) -> String {
        match shape {
            Shape::Unknown | Shape::Never => VALUE.to_owned(),
            Shape::Null => "()".to_owned(),
            Shape::Boolean => "bool".to_owned(),
            Shape::Integer => "i64".to_owned(),
            Shape::Number => "f64".to_owned(),
            Shape::Text => "String".to_owned(),
            Shape::Literal(value) => match value {
                Node::Text(text) => self.words(&[text], hint, comment),
                Node::Null => "()".to_owned(),
                Node::Bool(_) => "bool".to_owned(),
                Node::Number(number) if number.is_f64() => "f64".to_owned(),
                Node::Number(_) => "i64".to_owned(),
                Node::List(_) | Node::Object(_) => VALUE.to_owned(),
            },
            Shape::List(item) => {
                let item = self.type_of(item, &hint.below("Item"), None);
                format!("Vec<{item}>")
            }
            Shape::Tuple(tuple) => {
                let len = tuple.items.len();
                if tuple.rest.is_some() || tuple.required < len || !(1..=MOST_PLACES).contains(&len)
                {
                    return format!("Vec<{VALUE}>");
                }
                let mut text = String::from("(");
                for (place, item) in tuple.items.iter().enumerate() {
                    let item = self.held(item, &hint.below(&format!("Item{place}")));
                    // Writing to a text does not fail.
                    let _ = write!(text, "{item},");
                }
                text + ")"
            }
            Shape::Object(object) => self.object(object, hint, comment),
            Shape::Union(parts) => self.union(parts, hint, comment),
            Shape::Both(parts) => self.both(parts, hint, comment),
            Shape::Named(number) => {
                let name = self.names.get(*number).map(String::as_str);
                name.unwrap_or(VALUE).to_owned()
            }
        }
    }

    /// The type of a shape in a place that must have a size.
    fn held(&mut self, shape: &Shape, hint: &Hint) -> String {
        let shown = self.type_of(shape, hint, None);
        match shape {
            Shape::Named(number) if self.recursive.get(*number) == Some(&true) => {
                format!("Box<{shown}>")
            }
            _ => shown,
        }
    }

    fn object(&mut self, object: &Object, hint: &Hint, comment: Option<&Comment>) -> String {
        match (&object.rest, object.fields.is_empty()) {
            (Rest::Unsaid, true) => format!("serde_json::Map<String, {VALUE}>"),
            (Rest::Some(rest), true) => {
                let rest = self.type_of(rest, &hint.below("Value"), None);
                format!("std::collections::BTreeMap<String, {rest}>")
            }
            _ => self.structure(object, &[], hint, comment),
        }
    }

    /// A struct: the fields of an object, and others whose fields are its own.
    fn structure(
        &mut self,
        object: &Object,
        joined: &[&Shape],
        hint: &Hint,
        comment: Option<&Comment>,
    ) -> String {
        let name = self.claim(hint);
        let place = self.reserve();
        let mut text = comment.map(documented).unwrap_or_default();
        push_line(&mut text, "", DERIVES);
        if object.rest == Rest::None && joined.is_empty() {
            push_line(&mut text, "", "#[serde(deny_unknown_fields)]");
        }
        push_line(&mut text, "", &format!("pub struct {name} {{"));
        let mut fields = Names::default();
        for field in &object.fields {
            self.field(&mut text, field, &name, &mut fields);
        }
        for shape in joined {
            let shown = self.type_of(shape, &Hint::Like(format!("{name}Choice")), None);
            let own = match shape {
                Shape::Named(number) => self
                    .schema
                    .definitions
                    .get(*number)
                    .map(|own| snake(&own.hint)),
                _ => None,
            };
            let own = identifier(&fields.take(own.as_deref().unwrap_or("choice")));
            push_line(&mut text, INNER, "#[serde(flatten)]");
            push_line(&mut text, INNER, &format!("pub {own}: {shown},"));
        }
        if let Rest::Some(rest) = &object.rest {
            let rest = self.type_of(rest, &Hint::Like(format!("{name}Value")), None);
            let own = fields.take("others");
            push_line(&mut text, INNER, "#[serde(flatten)]");
            let line = format!("pub {own}: std::collections::BTreeMap<String, {rest}>,");
            push_line(&mut text, INNER, &line);
        }
        push_line(&mut text, "", "}");
        self.fill(place, text);
        name
    }

    fn field(&mut self, text: &mut String, field: &Field, of: &str, fields: &mut Names) {
        push_comment(text, &doc_lines(&field.comment), INNER);
        let plain = fields.take(&snake(&field.name));
        let own = identifier(&plain);
        let hint = Hint::Like(format!("{of}{}", pascal(&field.name)));
        let mut shown = self.held(&field.shape, &hint);
        let mut attributes = Vec::new();
        if own.trim_start_matches("r#") != field.name {
            attributes.push(format!("rename = {:?}", field.name));
        }
        if !field.is_required {
            attributes.push("default".to_owned());
            attributes.push("skip_serializing_if = \"Option::is_none\"".to_owned());
            if !shown.starts_with("Option<") {
                shown = format!("Option<{shown}>");
            }
        }
        if !attributes.is_empty() {
            push_line(text, INNER, &format!("#[serde({})]", attributes.join(", ")));
        }
        push_line(text, INNER, &format!("pub {own}: {shown},"));
    }

    fn union(&mut self, parts: &[Shape], hint: &Hint, comment: Option<&Comment>) -> String {
        if parts.contains(&Shape::Null) {
            let rest = parts.iter().filter(|part| **part != Shape::Null).cloned();
            let rest = Shape::union(rest);
            // The name is for the whole.
            let shown = self.held(&rest, &hint.below_if_exact("Value"));
            return format!("Option<{shown}>");
        }
        let words: Vec<&String> = parts.iter().filter_map(as_word).collect();
        if words.len() == parts.len() {
            return self.words(&words, hint, comment);
        }
        if parts.iter().all(is_integer) {
            return "i64".to_owned();
        }
        if parts.iter().all(|part| is_integer(part) || is_number(part)) {
            return "f64".to_owned();
        }
        if parts
            .iter()
            .all(|part| matches!(part, Shape::Boolean | Shape::Literal(Node::Bool(_))))
        {
            return "bool".to_owned();
        }
        self.choice(parts, hint, comment)
    }

    /// An enum whose variants are told apart by their shapes.
    fn choice(&mut self, parts: &[Shape], hint: &Hint, comment: Option<&Comment>) -> String {
        let name = self.claim(hint);
        let place = self.reserve();
        let mut text = comment.map(documented).unwrap_or_default();
        push_line(&mut text, "", DERIVES);
        push_line(&mut text, "", "#[serde(untagged)]");
        push_line(&mut text, "", &format!("pub enum {name} {{"));
        let mut variants = Names::without(&["Self"]);
        let mut types: Vec<String> = Vec::new();
        let words: Vec<&String> = parts.iter().filter_map(as_word).collect();
        if !words.is_empty() {
            let hint = Hint::Like(format!("{name}Word"));
            let shown = self.words(&words, &hint, None);
            let variant = variants.take("Word");
            push_line(&mut text, INNER, &format!("{variant}({shown}),"));
            types.push(shown);
        }
        let mut others: Vec<&Shape> = parts
            .iter()
            .filter(|part| as_word(part).is_none())
            .collect();
        // The first that fits is taken: the narrower comes before the wider.
        others.sort_by_key(|part| match part {
            Shape::Number => 1,
            Shape::Text => 2,
            _ => 0,
        });
        for part in others {
            let label = self.label(part);
            let shown = self.held(part, &Hint::Like(format!("{name}{label}")));
            if types.contains(&shown) {
                continue;
            }
            let variant = variants.take(&label);
            push_line(&mut text, INNER, &format!("{variant}({shown}),"));
            types.push(shown);
        }
        push_line(&mut text, "", "}");
        self.fill(place, text);
        name
    }

    /// All of these at once, if they are all objects.
    fn both(&mut self, parts: &[Shape], hint: &Hint, comment: Option<&Comment>) -> String {
        let mut object = Object::default();
        let mut joined = Vec::new();
        for part in parts {
            match part {
                Shape::Object(own) => object = own.clone(),
                // Says what is required together, for which there is no type.
                Shape::Union(choices) if choices.iter().all(only_requires) => {}
                part if self.is_open_object(part, MOST_STEPS) => joined.push(part),
                _ => return VALUE.to_owned(),
            }
        }
        match (joined.as_slice(), object.fields.is_empty()) {
            ([], _) => self.object(&object, hint, comment),
            ([only], true) if object.rest == Rest::Unsaid => self.type_of(only, hint, comment),
            _ => self.structure(&object, &joined, hint, comment),
        }
    }

    /// Is it an object that others can be joined with?
    fn is_open_object(&self, shape: &Shape, left: usize) -> bool {
        let Some(left) = left.checked_sub(1) else {
            return false;
        };
        match shape {
            Shape::Object(object) => object.rest != Rest::None,
            Shape::Union(parts) | Shape::Both(parts) => {
                parts.iter().all(|part| self.is_open_object(part, left))
            }
            Shape::Named(number) => {
                let is_recursive = self.recursive.get(*number) != Some(&false);
                let definition = self.schema.definitions.get(*number);
                !is_recursive && definition.is_some_and(|own| self.is_open_object(&own.shape, left))
            }
            _ => false,
        }
    }

    /// An enum of texts.
    fn words(&mut self, words: &[&String], hint: &Hint, comment: Option<&Comment>) -> String {
        let name = self.claim(hint);
        let mut text = comment.map(documented).unwrap_or_default();
        push_line(
            &mut text,
            "",
            "#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize)]",
        );
        push_line(&mut text, "", &format!("pub enum {name} {{"));
        let mut variants = Names::without(&["Self"]);
        for word in words {
            let variant = match word.is_empty() {
                true => "Empty".to_owned(),
                false => pascal(word),
            };
            let variant = variants.take(&variant);
            if variant != **word {
                push_line(&mut text, INNER, &format!("#[serde(rename = {word:?})]"));
            }
            push_line(&mut text, INNER, &format!("{variant},"));
        }
        push_line(&mut text, "", "}");
        self.items.push(text);
        name
    }

    /// What a variant with this shape is called.
    fn label(&self, shape: &Shape) -> String {
        let fixed = match shape {
            Shape::Unknown | Shape::Never | Shape::Both(_) | Shape::Union(_) => "Any",
            Shape::Null => "Null",
            Shape::Boolean | Shape::Literal(Node::Bool(_)) => "Boolean",
            Shape::Integer => "Integer",
            Shape::Number => "Number",
            Shape::Text => "Text",
            Shape::Literal(Node::Number(_)) => "Number",
            Shape::Literal(_) => "Any",
            Shape::List(_) | Shape::Tuple(_) => "List",
            Shape::Object(object) => {
                let tag = object.fields.iter().find_map(|field| as_word(&field.shape));
                return tag.map_or_else(|| "Object".to_owned(), |tag| pascal(tag));
            }
            Shape::Named(number) => {
                let definition = self.schema.definitions.get(*number);
                let hint = definition
                    .map(|own| own.hint.as_str())
                    .filter(|hint| !hint.is_empty());
                return hint.map_or_else(|| "Whole".to_owned(), pascal);
            }
        };
        fixed.to_owned()
    }

    fn claim(&mut self, hint: &Hint) -> String {
        match hint {
            Hint::Exactly(name) => name.clone(),
            Hint::Like(name) => self.taken.take(name),
        }
    }

    fn reserve(&mut self) -> usize {
        self.items.push(String::new());
        self.items.len() - 1
    }

    fn fill(&mut self, place: usize, text: String) {
        if let Some(item) = self.items.get_mut(place) {
            *item = text;
        }
    }
}

impl Hint {
    /// For something within.
    fn below(&self, word: &str) -> Self {
        match self {
            Self::Exactly(name) | Self::Like(name) => Self::Like(format!("{name}{word}")),
        }
    }

    /// For something within that may have the name itself, unless it is needed outside.
    fn below_if_exact(&self, word: &str) -> Self {
        match self {
            Self::Exactly(_) => self.below(word),
            Self::Like(_) => self.clone(),
        }
    }
}

fn as_word(shape: &Shape) -> Option<&String> {
    match shape {
        Shape::Literal(Node::Text(text)) => Some(text),
        _ => None,
    }
}

fn is_integer(shape: &Shape) -> bool {
    match shape {
        Shape::Integer => true,
        Shape::Literal(Node::Number(number)) => !number.is_f64(),
        _ => false,
    }
}

fn is_number(shape: &Shape) -> bool {
    matches!(shape, Shape::Number | Shape::Literal(Node::Number(_)))
}

fn only_requires(shape: &Shape) -> bool {
    match shape {
        Shape::Object(object) => {
            object.rest == Rest::Unsaid
                && object
                    .fields
                    .iter()
                    .all(|field| field.shape == Shape::Unknown)
        }
        Shape::Unknown => true,
        _ => false,
    }
}

fn documented(comment: &Comment) -> String {
    let mut text = String::new();
    push_comment(&mut text, &doc_lines(comment), "");
    text
}

fn doc_lines(comment: &Comment) -> Vec<String> {
    let mut lines = comment.lines(|name, value| match value {
        "" => format!("- {name}"),
        value => format!("- {name}: `{value}`"),
    });
    let tags = comment.tags.len();
    let text = lines.len().saturating_sub(tags);
    if text > 0 && tags > 0 {
        lines.insert(text, String::new());
    }
    lines
}

const VALUE: &str = "serde_json::Value";
const DERIVES: &str = "#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]";
const INNER: &str = "    ";
/// Longer tuples have no traits.
const MOST_PLACES: usize = 12;
/// Deeper than any schema nests.
const MOST_STEPS: usize = 64;
