//! Rust types for serde: a module for each server, a type for what each tool takes and gives.
//!
//! What Rust has no type for is a `serde_json::Value`. Names are made valid and renamed for serde.
//! How shapes become types is in `types`.

mod types;

use std::fmt::Write;

use super::comment;
use super::name::{Names, pascal, snake};
use super::{Definition, ServerTools, definitions, sorted};
use types::Types;

/// Writes types for the tools of servers.
pub(crate) fn write(servers: &[ServerTools<'_>]) -> String {
    let mut text = String::from(HEAD);
    let mut modules = Names::default();
    for server in sorted(servers) {
        let name = modules.take(&identifier(&snake(server.server)));
        text.push('\n');
        let about = format!("The tools of server {:?}.", server.server);
        push_comment(&mut text, &[about], "");
        push_line(&mut text, "", &format!("pub mod {name} {{"));
        let mut taken = Names::default();
        let mut constants = Names::default();
        for (index, definition) in definitions(server).iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            write_tool(&mut text, definition, &mut taken, &mut constants);
        }
        text.push_str("}\n");
    }
    text
}

fn write_tool(
    text: &mut String,
    definition: &Definition<'_>,
    taken: &mut Names,
    constants: &mut Names,
) {
    let tool = definition.tool;
    let about = tool.description.as_deref().or(tool.title.as_deref());
    push_comment(text, &comment::lines(about.unwrap_or_default()), INDENT);
    let constant = constants.take(&snake(&tool.name).to_uppercase());
    let constant = format!("pub const {constant}: &str = {:?};", tool.name);
    push_line(text, INDENT, &constant);
    let base = pascal(&tool.name);
    let mut items = Types::new(&definition.input, &format!("{base}Input"), taken).write();
    if let Some(output) = &definition.output {
        items.extend(Types::new(output, &format!("{base}Output"), taken).write());
    }
    for item in items {
        text.push('\n');
        for line in item.lines() {
            push_line(text, INDENT, line);
        }
    }
}

/// A name that is no keyword.
fn identifier(name: &str) -> String {
    match name {
        "self" | "super" | "crate" => format!("{name}_"),
        name if KEYWORDS.contains(&name) => format!("r#{name}"),
        name => name.to_owned(),
    }
}

/// The lines of a comment as documentation, in which nothing is a program to be tested.
fn push_comment(text: &mut String, lines: &[String], indent: &str) {
    let mut is_fenced = false;
    for line in lines {
        let words = line.trim_start();
        // Four spaces would be a program.
        let spaces = (line.len() - words.len()).min(3);
        let spaces: String = std::iter::repeat_n(' ', spaces).collect();
        let mut words = format!("{spaces}{words}");
        if words.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            if is_fenced {
                words = format!("{spaces}```text");
            }
        }
        push_line(text, indent, format!("/// {words}").trim_end());
    }
    if is_fenced {
        push_line(text, indent, "/// ```");
    }
}

fn push_line(text: &mut String, indent: &str, line: &str) {
    // Writing to a text does not fail.
    let _ = match line.is_empty() {
        true => writeln!(text),
        false => writeln!(text, "{indent}{line}"),
    };
}

const INDENT: &str = "    ";
const HEAD: &str = "\
// Types for the tools of MCP servers, written by `switchboard codegen --lang rust`.
// They need the crates `serde`, with its feature `derive`, and `serde_json`.
";
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];
