//! The parts of a transport: a program and its words, variables, headers, a URL.

use std::collections::HashMap;

use jsonc_parser::ast::Value;

use crate::config::field::Field;
use crate::config::origin::Dialect;
use crate::config::problem::ProblemKind;
use crate::variables::{Shows, Template};

pub(super) type Program = (Template, Vec<Template>, Vec<(String, Option<Template>)>);

/// A program: its name, a list that begins with it, or, in older files of Zed, an object.
pub(super) fn program(command: &Field<'_, '_>) -> Option<Program> {
    match command.value {
        Value::Array(_) => {
            let items = command.items()?;
            let Some((program, args)) = items.split_first() else {
                command.wrong_value("a program, and is empty");
                return None;
            };
            let program = program.some_template(Shows::All)?;
            let args: Option<_> = args.iter().map(|item| item.template(Shows::All)).collect();
            Some((program, args?, Vec::new()))
        }
        Value::Object(_) if command.sheet.grammar.dialect == Dialect::Zed => {
            let mut members = command.object()?;
            let Some(path) = members.take(&["path"]) else {
                command.wrong_value("a \"path\"");
                return None;
            };
            let args = match members.take(&["args"]) {
                Some(args) => templates(&args)?,
                None => Vec::new(),
            };
            let env = match members.take(&["env"]) {
                Some(env) => variables(&env)?,
                None => Vec::new(),
            };
            members.keep_rest();
            Some((path.some_template(Shows::All)?, args, env))
        }
        _ => Some((command.some_template(Shows::All)?, Vec::new(), Vec::new())),
    }
}

pub(super) fn templates(list: &Field<'_, '_>) -> Option<Vec<Template>> {
    let items = list.items()?;
    items.iter().map(|item| item.template(Shows::All)).collect()
}

pub(super) fn variables(object: &Field<'_, '_>) -> Option<Vec<(String, Option<Template>)>> {
    let members = object.object()?;
    let mut variables = Vec::new();
    for field in members.all() {
        if field.name.is_empty() || field.name.contains(['=', '\0']) {
            // What follows the sign was meant as a value, and may be secret.
            let name = field.name.split('=').next().unwrap_or_default();
            let kind = ProblemKind::WrongValue {
                key: format!("{}.{name}", object.key),
                expected: "the name of a variable, without \"=\"",
            };
            field.sheet.error(field.at, kind);
            continue;
        }
        let value = match field.value {
            Value::NullKeyword(_) => None,
            Value::StringLit(_) | Value::NumberLit(_) | Value::BooleanLit(_) => {
                field.template(Shows::References)
            }
            _ => {
                field.wrong_type("a text, or null to take it away");
                continue;
            }
        };
        variables.push((field.name.to_owned(), value));
    }
    Some(variables)
}

/// Names of variables. Codex also has objects with a name and where it comes from.
pub(super) fn names(list: &Field<'_, '_>) -> Option<Vec<String>> {
    let items = list.items()?;
    let names = items.iter().filter_map(|item| match item.value {
        Value::Object(_) => {
            let name = item.object()?.take(&["name"]);
            name.as_ref().and_then(Field::text).map(str::to_owned)
        }
        _ => item.text().map(str::to_owned),
    });
    Some(names.collect())
}

pub(super) fn headers(object: &Field<'_, '_>) -> Option<Vec<(String, Template)>> {
    let members = object.object()?;
    if members.all().nth(MOST_HEADERS).is_some() {
        object.wrong_value("at most 100 headers");
        return None;
    }
    let mut headers: Vec<(String, Template)> = Vec::new();
    let mut seen: HashMap<String, &str> = HashMap::new();
    for field in members.all() {
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if field.name.is_empty() || !field.name.bytes().all(is_token) {
            field.wrong_key("the name of a header");
            continue;
        }
        // The same name in the same letters is reported as any key that is there twice.
        let first = seen.entry(field.name.to_ascii_lowercase());
        let one = *first.or_insert(field.name);
        if one != field.name {
            let (one, other) = (format!("{}.{one}", object.key), field.key.clone());
            let kind = ProblemKind::Synonyms { one, other };
            field.sheet.error(field.at, kind);
        } else if let Some(value) = field.template(Shows::References) {
            headers.push((field.name.to_owned(), value));
        }
    }
    Some(headers)
}

/// Headers whose values are in variables, of which the names are given.
pub(super) fn variable_headers(object: &Field<'_, '_>) -> Option<Vec<(String, Template)>> {
    let members = object.object()?;
    let mut headers = Vec::new();
    for field in members.all() {
        if let Some(value) = field.variable() {
            headers.push((field.name.to_owned(), value));
        }
    }
    Some(headers)
}

/// Why nobody can connect to this.
pub(in crate::config) fn bad_url(text: &str) -> Option<&'static str> {
    let text = text.trim();
    if text.starts_with("unix:") || text.starts_with("pipe:") {
        return Some("sockets and pipes are not supported here");
    }
    let rest = text
        .strip_prefix("https://")
        .or(text.strip_prefix("http://"));
    let Some(rest) = rest else {
        return Some("it does not begin with https:// or http://");
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Some("it has a user or a password in it, set a header instead");
    }
    match switchboard_client::Spec::url(text) {
        Ok(_) => None,
        Err(_) => Some("it is no URL"),
    }
}

/// `npx -y something` as one word. A path may have spaces.
pub(super) fn looks_like_a_line(program: &Template) -> bool {
    let Some(text) = program.as_literal() else {
        return false;
    };
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    words.next().is_some() && !first.contains(['/', '\\', ':'])
}

/// No server takes more; of many thousand, not even the map that they are kept in.
pub(in crate::config) const MOST_HEADERS: usize = 100;
