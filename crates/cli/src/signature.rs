//! The schema of a tool as people read it: `create_task(title: string, due?: string)`.
//!
//! Pure: a schema in, words out. Types are written as in TypeScript, because most readers know
//! that. Schemas of servers are believed in nothing: depth and length are bounded.

use switchboard_protocol::types::{Prompt, Tool};

use crate::json::Json;

/// A tool as one line.
pub(crate) fn of_tool(tool: &Tool) -> String {
    let schema = Json::read(tool.input_schema.as_str().as_bytes());
    let words: Vec<String> = arguments(&schema).iter().map(Argument::to_string).collect();
    let mut line = format!("{}({})", tool.name, words.join(", "));
    if let Some(schema) = &tool.output_schema {
        let result = type_of(&Json::read(schema.as_str().as_bytes()));
        line.push_str(" -> ");
        line.push_str(match result.chars().count() > LONGEST_RESULT {
            true => "{…}",
            false => &result,
        });
    }
    line
}

/// A prompt as one line.
pub(crate) fn of_prompt(prompt: &Prompt) -> String {
    let arguments = prompt.arguments.iter().flatten();
    let words = arguments.map(|argument| match argument.is_required() {
        true => argument.name.clone(),
        false => format!("{}?", argument.name),
    });
    let words: Vec<String> = words.collect();
    format!("{}({})", prompt.name, words.join(", "))
}

/// One argument of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) is_required: bool,
    pub(crate) default: Option<String>,
    pub(crate) description: Option<String>,
}

impl std::fmt::Display for Argument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mark = if self.is_required { "" } else { "?" };
        write!(f, "{}{mark}: {}", self.name, self.kind)?;
        match &self.default {
            Some(default) => write!(f, " = {default}"),
            None => Ok(()),
        }
    }
}

/// The arguments that a schema describes: the required ones first, each in the schema's order.
pub(crate) fn arguments(schema: &Json) -> Vec<Argument> {
    let required: Vec<&str> = schema
        .get("required")
        .map(Json::items)
        .unwrap_or_default()
        .iter()
        .filter_map(Json::as_str)
        .collect();
    let properties = schema.get("properties").map(Json::members);
    let mut arguments: Vec<Argument> = properties
        .unwrap_or_default()
        .iter()
        .map(|(name, own)| {
            let words = |key: &str| own.get(key).or_else(|| followed(own, schema).get(key));
            Argument {
                name: name.clone(),
                kind: Reader { root: schema }.read(own, 0),
                is_required: required.contains(&name.as_str()),
                default: words("default")
                    .filter(|default| **default != Json::Null)
                    .map(|default| cut(&default.to_string(), LONGEST_DEFAULT)),
                description: words("description")
                    .and_then(Json::as_str)
                    .map(str::to_owned),
            }
        })
        .collect();
    arguments.sort_by_key(|argument| !argument.is_required);
    arguments
}

/// The type that a schema describes.
pub(crate) fn type_of(schema: &Json) -> String {
    Reader { root: schema }.read(schema, 0)
}

/// The schema that a reference leads to, or the schema itself.
pub(crate) fn followed<'a>(schema: &'a Json, root: &'a Json) -> &'a Json {
    let mut schema = schema;
    for _ in 0..MOST_REFERENCES {
        let Some(path) = schema.get("$ref").and_then(Json::as_str) else {
            return schema;
        };
        let Some(path) = path.strip_prefix("#/") else {
            return schema;
        };
        let mut found = Some(root);
        for part in path.split('/') {
            let part = part.replace("~1", "/").replace("~0", "~");
            found = found.and_then(|schema| schema.get(&part));
        }
        match found {
            Some(found) => schema = found,
            None => return schema,
        }
    }
    schema
}

struct Reader<'a> {
    root: &'a Json,
}

impl Reader<'_> {
    fn read(&self, schema: &Json, depth: usize) -> String {
        if depth > DEEPEST {
            return "…".to_owned();
        }
        let schema = followed(schema, self.root);
        if let Some(value) = schema.get("const") {
            return cut(&value.to_string(), LONGEST_DEFAULT);
        }
        if let Some(values) = schema.get("enum").map(Json::items) {
            let shown = values.iter().take(MOST_VALUES);
            let mut words: Vec<String> = shown.map(Json::to_string).collect();
            if values.len() > MOST_VALUES {
                words.push("…".to_owned());
            }
            return words.join(" | ");
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(choices) = schema.get(key).map(Json::items)
                && !choices.is_empty()
            {
                let shown = choices.iter().take(MOST_VALUES);
                return union(shown.map(|choice| self.read(choice, depth + 1)));
            }
        }
        if let Some([only]) = schema.get("allOf").map(Json::items) {
            return self.read(only, depth + 1);
        }
        match schema.get("type") {
            Some(Json::Text(kind)) => self.of_type(kind, schema, depth),
            Some(Json::List(kinds)) => {
                let kinds = kinds.iter().filter_map(Json::as_str);
                union(kinds.map(|kind| self.of_type(kind, schema, depth)))
            }
            _ if schema.get("properties").is_some() => self.of_type("object", schema, depth),
            _ if schema.get("items").is_some() => self.of_type("array", schema, depth),
            _ => "any".to_owned(),
        }
    }

    fn of_type(&self, kind: &str, schema: &Json, depth: usize) -> String {
        match kind {
            "array" => match schema.get("items") {
                Some(items) => {
                    let items = self.read(items, depth + 1);
                    match items.contains(" | ") {
                        true => format!("({items})[]"),
                        false => format!("{items}[]"),
                    }
                }
                None => "any[]".to_owned(),
            },
            "object" => {
                let members = schema.get("properties").map(Json::members);
                let members = members.unwrap_or_default();
                let named = schema.get("additionalProperties");
                match (members, named) {
                    ([], Some(values @ Json::Object(_))) => {
                        format!("{{[name]: {}}}", self.read(values, depth + 1))
                    }
                    ([], _) => "object".to_owned(),
                    (members, _) => self.of_members(members, schema, depth),
                }
            }
            "string" => match schema.get("format").and_then(Json::as_str) {
                Some(format) => format!("string<{format}>"),
                None => "string".to_owned(),
            },
            other => other.to_owned(),
        }
    }

    fn of_members(&self, members: &[(String, Json)], schema: &Json, depth: usize) -> String {
        let required = schema.get("required").map(Json::items).unwrap_or_default();
        let is_required = |name: &str| required.iter().any(|one| one.as_str() == Some(name));
        let shown = members.iter().take(MOST_MEMBERS).map(|(name, own)| {
            let mark = if is_required(name) { "" } else { "?" };
            format!("{name}{mark}: {}", self.read(own, depth + 1))
        });
        let mut words: Vec<String> = shown.collect();
        if members.len() > MOST_MEMBERS {
            words.push("…".to_owned());
        }
        format!("{{{}}}", words.join(", "))
    }
}

/// Each once.
fn union(words: impl Iterator<Item = String>) -> String {
    let mut different: Vec<String> = Vec::new();
    for word in words {
        if !different.contains(&word) {
            different.push(word);
        }
    }
    different.join(" | ")
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

const DEEPEST: usize = 3;
const MOST_REFERENCES: usize = 8;
const MOST_VALUES: usize = 12;
const MOST_MEMBERS: usize = 12;
const LONGEST_DEFAULT: usize = 40;
const LONGEST_RESULT: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &str, expected: &str) {
        let tool = format!(r#"{{"name":"f","inputSchema":{schema}}}"#);
        let tool: Tool = serde_json::from_str(&tool).unwrap();
        assert_eq!(of_tool(&tool), expected, "{schema}");
    }

    #[test]
    fn a_schema_is_written_as_types() {
        check(r#"{"type":"object"}"#, "f()");
        check(
            r#"{"properties":{"b":{"type":"integer","default":3},"a":{"type":"string"}},"required":["a"]}"#,
            "f(a: string, b?: integer = 3)",
        );
        check(
            r#"{"properties":{"x":{"enum":["low","high"]},"y":{"type":["string","null"]}}}"#,
            r#"f(x?: "low" | "high", y?: string | null)"#,
        );
        check(
            r##"{"properties":{"x":{"anyOf":[{"$ref":"#/$defs/d"},{"type":"null"}]}},"$defs":{"d":{"type":"string","format":"date"}}}"##,
            "f(x?: string<date> | null)",
        );
        check(
            r#"{"properties":{"x":{"type":"array","items":{"enum":[1,2]}},"y":{"type":"object","properties":{"z":{"type":"boolean"}}}}}"#,
            "f(x?: (1 | 2)[], y?: {z?: boolean})",
        );
        check(
            r#"{"properties":{"x":{"type":"object","additionalProperties":{"type":"number"}},"y":{}}}"#,
            "f(x?: {[name]: number}, y?: any)",
        );
    }

    #[test]
    fn a_schema_that_leads_round_in_a_circle_ends() {
        check(
            r##"{"properties":{"x":{"$ref":"#/$defs/d"}},"$defs":{"d":{"type":"array","items":{"$ref":"#/$defs/d"}}}}"##,
            "f(x?: …[][][][])",
        );
        check(
            r##"{"properties":{"x":{"$ref":"#/$defs/d"}},"$defs":{"d":{"$ref":"#/$defs/d"}}}"##,
            "f(x?: any)",
        );
    }
}
