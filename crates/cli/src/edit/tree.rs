//! The syntax tree of a file: where its servers are, and how it switches them.

use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use switchboard_hub::Dialect;

use super::words::Manner;
use crate::exit::Failure;

/// The object that the servers are in, made if it is not there.
pub(super) fn container(root: &CstRootNode, path: &str) -> Option<CstObject> {
    let mut object = root.object_value_or_create()?;
    for key in path.split('.') {
        object = object.object_value_or_create(key)?;
    }
    Some(object)
}

/// Switches a server on or off, in the words of the file, also where that is said beside it.
pub(super) fn switch(root: &CstRootNode, manner: Manner, name: &str, is_on: bool) -> Option<()> {
    let top = root.object_value()?;
    let server = container(root, manner.container)?.get(name)?;
    let server = server.object_value()?;
    let lists = [
        top.array_value("disabledMcpServers"),
        top.object_value("mcp")
            .and_then(|mcp| mcp.array_value("excluded")),
    ];
    let allowed = top
        .object_value("mcp")
        .and_then(|mcp| mcp.array_value("allowed"));
    let is_name = |element: &CstNode| {
        let text = element.as_string_lit();
        text.and_then(|text| text.decoded_value().ok()).as_deref() == Some(name)
    };
    if is_on {
        for list in lists.into_iter().flatten() {
            let elements = list.elements().into_iter();
            elements
                .filter(is_name)
                .for_each(|element| element.remove());
        }
        if let Some(allowed) = allowed
            && !allowed.elements().iter().any(is_name)
        {
            allowed.append(CstInputValue::from(name));
        }
        if let Some(disabled) = server.get("disabled") {
            disabled.remove();
        }
        if let Some(enabled) = server.get("enabled") {
            enabled.set_value(CstInputValue::Bool(true));
        }
        return Some(());
    }
    let words = [("enabled", false), ("disabled", true)];
    let there = words
        .into_iter()
        .find_map(|(key, value)| Some((server.get(key)?, value)));
    match there {
        Some((member, value)) => member.set_value(CstInputValue::Bool(value)),
        None if switches_in_list(manner) => {
            let mcp = top.object_value_or_create("mcp")?;
            let excluded = mcp.array_value_or_create("excluded")?;
            excluded.append(CstInputValue::from(name));
        }
        None => {
            let (key, value) = off(manner);
            server.append(key, CstInputValue::Bool(value));
        }
    }
    Some(())
}

/// Switches a server off that stands on one line, which then stays one. None: it does not, or is
/// not switched so.
pub(super) fn switch_in_line(
    text: &str,
    manner: Manner,
    name: &str,
    is_on: bool,
) -> Option<String> {
    if is_on || switches_in_list(manner) {
        return None;
    }
    let options = CollectOptions::default();
    let parsed = parse_to_ast(text, &options, &ParseOptions::default()).ok()?;
    let mut value = parsed.value?;
    for key in manner.container.split('.').chain([name]) {
        let Value::Object(object) = value else {
            return None;
        };
        let mut members = object.properties.into_iter();
        let is_it = |member: &ObjectProp<'_>| member.name.as_str() == key;
        value = members.find(is_it)?.value;
    }
    let Value::Object(object) = value else {
        return None;
    };
    let own = text.get(object.range.start..object.range.end)?;
    let mut members = object.properties.iter();
    let is_there = members.any(|it| ["enabled", "disabled"].contains(&it.name.as_str()));
    let end = object.properties.last()?.range.end;
    if own.contains('\n') || is_there {
        return None;
    }
    let (key, value) = off(manner);
    let member = match own.contains("\": ") {
        true => format!(", \"{key}\": {value}"),
        false => format!(",\"{key}\":{value}"),
    };
    let (before, after) = text.split_at_checked(end)?;
    Some(format!("{before}{member}{after}"))
}

/// Gemini has a list of those that are off.
fn switches_in_list(manner: Manner) -> bool {
    manner.dialect == Dialect::Gemini
}

/// How a file says that a server is off.
fn off(manner: Manner) -> (&'static str, bool) {
    match manner.dialect {
        Dialect::Zed | Dialect::OpenCode => ("enabled", false),
        _ => ("disabled", true),
    }
}

/// JSON as it is put into a file, in its own order.
pub(super) fn input(json: &str) -> Result<CstInputValue, Failure> {
    let parsed = parse_to_ast(json, &CollectOptions::default(), &ParseOptions::default());
    let parsed = parsed.map_err(|error| Failure::usage(format!("not JSON: {error}")))?;
    let value = parsed
        .value
        .ok_or_else(|| Failure::usage("expected JSON, found nothing"))?;
    Ok(convert(&value))
}

fn convert(value: &Value<'_>) -> CstInputValue {
    match value {
        Value::StringLit(text) => CstInputValue::String(text.value.to_string()),
        Value::NumberLit(number) => CstInputValue::Number(number.value.to_owned()),
        Value::BooleanLit(boolean) => CstInputValue::Bool(boolean.value),
        Value::NullKeyword(_) => CstInputValue::Null,
        Value::Array(list) => CstInputValue::Array(list.elements.iter().map(convert).collect()),
        Value::Object(object) => {
            let members = object.properties.iter();
            let members =
                members.map(|member| (member.name.as_str().to_owned(), convert(&member.value)));
            CstInputValue::Object(members.collect())
        }
    }
}
