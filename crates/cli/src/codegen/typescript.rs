//! TypeScript declarations: a namespace for each server, a function for each tool.
//!
//! Everything is in one namespace, so that a server called `fetch` declares nothing anew. Property
//! names stay as they are; names of functions and types are made valid, and `Tools` has the
//! original ones. Values are described as they are in JSON.

use std::fmt::Write;

use super::comment;
use super::name::{Names, pascal, plain};
use super::node::{Node, quoted, written};
use super::shape::{Comment, Object, Rest, Schema, Shape, Tuple};
use super::{Definition, ServerTools, definitions, sorted};

/// Writes declarations for the tools of servers.
pub(crate) fn write(servers: &[ServerTools<'_>]) -> String {
    let mut text = String::from(HEAD);
    let mut names = Names::default();
    for server in sorted(servers) {
        write_server(&mut text, server, &mut names);
    }
    text.push_str("}\n");
    text
}

fn write_server(text: &mut String, server: &ServerTools<'_>, names: &mut Names) {
    let mut place = Place { text, depth: 1 };
    place.text.push('\n');
    place.comment(&[format!("The tools of server {:?}.", server.server)]);
    let name = names.take(&identifier(server.server));
    place.open(&format!("namespace {name} {{"));
    let mut types = Names::without(&["Tools"]);
    let mut functions = Names::default();
    let mut listed = Vec::new();
    for (index, definition) in definitions(server).iter().enumerate() {
        if index > 0 {
            place.text.push('\n');
        }
        let tool = place.tool(definition, &mut types, &mut functions);
        listed.push((definition.tool.name.clone(), tool));
    }
    if !listed.is_empty() {
        place.text.push('\n');
    }
    place.comment(&[
        "What each tool takes and gives, by the name that the server knows.".to_owned(),
    ]);
    place.open("interface Tools {");
    for (name, (input, output)) in listed {
        place.line(&format!(
            "{}: {{ input: {input}; output: {output} }};",
            quoted(&name)
        ));
    }
    place.close("}");
    place.close("}");
}

/// Where text is written to, and how far to the right.
struct Place<'a> {
    text: &'a mut String,
    depth: usize,
}

impl Place<'_> {
    /// The types and the function of a tool; the names of its two types.
    fn tool(
        &mut self,
        definition: &Definition<'_>,
        types: &mut Names,
        functions: &mut Names,
    ) -> (String, String) {
        let tool = definition.tool;
        let base = pascal(&tool.name);
        let input = self.types(&definition.input, &format!("{base}Input"), types);
        let output = match &definition.output {
            Some(schema) => self.types(schema, &format!("{base}Output"), types),
            None => RESULT.to_owned(),
        };
        let function = functions.take(&identifier(&tool.name));
        let mut lines = comment::lines(tool.description.as_deref().unwrap_or_default());
        if lines.is_empty() {
            lines = comment::lines(tool.title.as_deref().unwrap_or_default());
        }
        if function != tool.name {
            lines.push(format!("@remarks Tool {}", quoted(&tool.name)));
        }
        self.comment(&lines);
        let is_needed = match definition.input.definitions.first().map(|root| &root.shape) {
            Some(Shape::Object(object)) => object.fields.iter().any(|field| field.is_required),
            _ => true,
        };
        let mark = if is_needed { "" } else { "?" };
        self.line(&format!(
            "function {function}(input{mark}: {input}): Promise<{output}>;"
        ));
        (input, output)
    }

    /// The definitions of a schema; the name of the first, which is the whole.
    fn types(&mut self, schema: &Schema, base: &str, types: &mut Names) -> String {
        let names: Vec<String> = schema
            .definitions
            .iter()
            .map(|definition| match definition.hint.is_empty() {
                true => types.take(base),
                false => types.take(&format!("{base}{}", pascal(&definition.hint))),
            })
            .collect();
        for (definition, name) in schema.definitions.iter().zip(&names) {
            self.comment(&jsdoc(&definition.comment));
            match &definition.shape {
                Shape::Object(object) => {
                    self.open(&format!("interface {name} {{"));
                    self.members(object, &names);
                    self.close("}");
                }
                shape => {
                    let shape = self.shape(shape, &names);
                    self.line(&format!("type {name} = {shape};"));
                }
            }
        }
        names
            .into_iter()
            .next()
            .unwrap_or_else(|| "unknown".to_owned())
    }

    fn members(&mut self, object: &Object, names: &[String]) {
        let mut shown = Vec::new();
        for field in &object.fields {
            self.comment(&jsdoc(&field.comment));
            let mark = if field.is_required { "" } else { "?" };
            let shape = self.shape(&field.shape, names);
            self.line(&format!("{}{mark}: {shape};", key(&field.name)));
            if !field.is_required {
                shown.push("undefined".to_owned());
            }
            shown.push(shape);
        }
        let rest = match &object.rest {
            Rest::Some(rest) => rest,
            // An empty interface would let everything through.
            Rest::None if object.fields.is_empty() => &Shape::Never,
            Rest::Unsaid if object.fields.is_empty() => &Shape::Unknown,
            Rest::None | Rest::Unsaid => return,
        };
        // TypeScript wants what it says about all members to be true of those that have a name.
        let rest = self.shape(rest, names);
        let mut all = vec![rest];
        for shape in shown {
            if !all.contains(&shape) {
                all.push(shape);
            }
        }
        let all = match all.iter().any(|shape| shape == "unknown") {
            true => "unknown".to_owned(),
            false => all.join(" | "),
        };
        self.line(&format!("[key: string]: {all};"));
    }

    fn shape(&self, shape: &Shape, names: &[String]) -> String {
        match shape {
            Shape::Unknown => "unknown".to_owned(),
            Shape::Never => "never".to_owned(),
            Shape::Null => "null".to_owned(),
            Shape::Boolean => "boolean".to_owned(),
            Shape::Integer | Shape::Number => "number".to_owned(),
            Shape::Text => "string".to_owned(),
            Shape::Literal(value) => literal(value),
            Shape::List(item) => format!("{}[]", self.tight(item, names)),
            Shape::Tuple(tuple) => self.tuple(tuple, names),
            Shape::Object(object) => self.object(object, names),
            Shape::Union(parts) => {
                let mut shown: Vec<String> = Vec::new();
                for part in parts {
                    let part = match part {
                        Shape::Both(_) => self.tight(part, names),
                        part => self.shape(part, names),
                    };
                    if !shown.contains(&part) {
                        shown.push(part);
                    }
                }
                shown.join(" | ")
            }
            Shape::Both(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.tight(part, names)).collect();
                parts.join(" & ")
            }
            Shape::Named(number) => {
                let name = names.get(*number).map(String::as_str);
                name.unwrap_or("unknown").to_owned()
            }
        }
    }

    /// In parentheses if something else would tear it apart.
    fn tight(&self, shape: &Shape, names: &[String]) -> String {
        let text = self.shape(shape, names);
        match shape {
            Shape::Union(_) | Shape::Both(_) => format!("({text})"),
            _ => text,
        }
    }

    fn tuple(&self, tuple: &Tuple, names: &[String]) -> String {
        let mut parts = Vec::new();
        for (index, item) in tuple.items.iter().enumerate() {
            parts.push(match index < tuple.required {
                true => self.shape(item, names),
                false => format!("{}?", self.tight(item, names)),
            });
        }
        if let Some(rest) = &tuple.rest {
            parts.push(format!("...{}[]", self.tight(rest, names)));
        }
        format!("[{}]", parts.join(", "))
    }

    fn object(&self, object: &Object, names: &[String]) -> String {
        match (&object.rest, object.fields.is_empty()) {
            (Rest::Unsaid, true) => return "{ [key: string]: unknown }".to_owned(),
            (Rest::None, true) => return "{ [key: string]: never }".to_owned(),
            (Rest::Some(rest), true) => {
                return format!("{{ [key: string]: {} }}", self.shape(rest, names));
            }
            (_, false) => {}
        }
        let mut text = String::from("{\n");
        let mut inner = Place {
            text: &mut text,
            depth: self.depth + 1,
        };
        inner.members(object, names);
        text.extend(std::iter::repeat_n("  ", self.depth));
        text.push('}');
        text
    }

    fn comment(&mut self, lines: &[String]) {
        let safe = |line: &String| line.replace("*/", "*\\/");
        match lines {
            [] => {}
            [line] => self.line(&format!("/** {} */", safe(line))),
            lines => {
                self.line("/**");
                for line in lines {
                    self.line(format!(" * {}", safe(line)).trim_end());
                }
                self.line(" */");
            }
        }
    }

    fn open(&mut self, line: &str) {
        self.line(line);
        self.depth += 1;
    }

    fn close(&mut self, line: &str) {
        self.depth -= 1;
        self.line(line);
    }

    fn line(&mut self, line: &str) {
        self.text.extend(std::iter::repeat_n("  ", self.depth));
        // Writing to a text does not fail.
        let _ = writeln!(self.text, "{line}");
    }
}

/// A name for a function or a namespace.
fn identifier(name: &str) -> String {
    let name = plain(name);
    match RESERVED.contains(&name.as_str()) {
        true => format!("{name}_"),
        false => name,
    }
}

fn jsdoc(comment: &Comment) -> Vec<String> {
    comment.lines(|name, value| format!("@{name} {value}"))
}

fn key(name: &str) -> String {
    let mut letters = name.chars();
    let begins = letters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '$'));
    let is_plain = begins && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'));
    match is_plain {
        true => name.to_owned(),
        false => quoted(name),
    }
}

fn literal(value: &Node) -> String {
    match value {
        Node::List(items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("[{}]", items.join(", "))
        }
        Node::Object(members) if members.is_empty() => "{ [key: string]: never }".to_owned(),
        Node::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| format!("{}: {}", key(name), literal(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join("; "))
        }
        value => written(value),
    }
}

const RESULT: &str = "ToolResult";

const HEAD: &str = "\
// Types for the tools of MCP servers, written by `switchboard codegen`.

declare namespace mcp {
  /** What a tool gives whose server does not say more. */
  interface ToolResult {
    content: Content[];
    structuredContent?: unknown;
    isError?: boolean;
  }

  /** A part of a result. */
  type Content =
    | { type: \"text\"; text: string }
    | { type: \"image\" | \"audio\"; data: string; mimeType: string }
    | { type: \"resource_link\"; uri: string; name: string; mimeType?: string }
    | { type: \"resource\"; resource: { uri: string; mimeType?: string; text?: string; blob?: string } };
";

/// Words that no function or namespace can be called.
const RESERVED: &[&str] = &[
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "globalThis",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
];
