//! A configuration that is changed: servers added, removed, switched on or off.

use std::path::Path;

use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value as Json;
use switchboard_hub::{Config, Dialect, Problem, Severity, nearest};

use super::diff::unified;
use super::file::EditedFile;
use super::hide::hidden;
use super::words::Manner;
use crate::exit::Failure;
use crate::import::{Reading, Syntax, read_text_as};

/// A configuration that is changed. Nothing is written before [`write`](Self::write).
#[derive(Debug)]
pub(crate) struct Change {
    file: EditedFile,
    before: String,
    text: String,
    config: Config,
}

impl Change {
    /// Reads a file; that there is none is fine.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let syntax = Syntax::of(path);
        if syntax != Syntax::Json {
            let path = path.display();
            let failure = Failure::usage(format!("{path} is {syntax}, which is not changed here"));
            let hint = format!("`switchboard import {path}` brings its servers over");
            return Err(failure.hint(hint));
        }
        let (file, text) = EditedFile::open(path)?;
        let config = read(path, &text)?;
        Ok(Self {
            file,
            before: text.clone(),
            text,
            config,
        })
    }

    /// What is in the file, with all changes so far.
    pub(crate) const fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn path(&self) -> &Path {
        &self.file.path
    }

    /// In whose words it is written.
    pub(crate) fn manner(&self) -> Manner {
        Manner::of(&self.file.path, &self.config)
    }

    /// Is there a server of this name, good or not?
    pub(crate) fn has(&self, name: &str) -> bool {
        self.config.server(name).is_some() || self.config.broken.iter().any(|it| it == name)
    }

    /// There must be a server of this name.
    pub(crate) fn check_there(&self, name: &str) -> Result<(), Failure> {
        if self.has(name) {
            return Ok(());
        }
        let path = self.file.path.display();
        let failure = Failure::usage(format!("there is no server {name:?} in {path}"));
        let servers = self.config.servers.iter();
        let names: Vec<&str> = servers.map(|server| server.name.as_str()).collect();
        Err(
            match (nearest(name, names.iter().copied()).first(), &names[..]) {
                (Some(near), _) => failure.hint(format!("did you mean {near:?}?")),
                (None, []) => failure,
                (None, names) => failure.hint(format!("there are: {}", names.join(", "))),
            },
        )
    }

    /// Adds a server, as it stands in such files, or puts it in the place of one of its name.
    /// Returns what is odd about it.
    pub(crate) fn add(&mut self, name: &str, json: &str) -> Result<Vec<Problem>, Failure> {
        let value = input(json)?;
        if !matches!(value, CstInputValue::Object(_)) {
            return Err(Failure::usage(format!("server {name:?} is no JSON object")));
        }
        let text = self.edit(|root, manner| {
            let servers = container(root, manner.container)?;
            match servers.get(name) {
                Some(member) => member.set_value(value),
                None => {
                    servers.append(name, value);
                }
            }
            Some(())
        })?;
        let config = read(&self.file.path, &text)?;
        let of_it = |problem: &&Problem| problem.server.as_deref() == Some(name);
        let problems = config.problems.iter().filter(of_it);
        if config.server(name).is_none() {
            let error = config.errors().find(of_it);
            let reason = error.map_or("it cannot be read".to_owned(), |it| it.kind.to_string());
            return Err(Failure::usage(format!("server {name:?}: {reason}")).server(name));
        }
        let odd = problems.filter(|problem| problem.severity == Severity::Warning);
        let odd = odd.cloned().collect();
        self.take(text, config, name)?;
        Ok(odd)
    }

    /// Removes a server.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), Failure> {
        self.check_there(name)?;
        let text = self.edit(|root, manner| {
            container(root, manner.container)?.get(name)?.remove();
            Some(())
        })?;
        let config = read(&self.file.path, &text)?;
        if config.server(name).is_some() || config.broken.iter().any(|it| it == name) {
            let path = self.file.path.display();
            let failure = Failure::usage(format!("server {name:?} is in {path} more than once"));
            return Err(failure.hint("remove the others by hand").server(name));
        }
        self.take(text, config, name)
    }

    /// Switches a server on or off, in the words of the file. False: it is so already.
    pub(crate) fn switch(&mut self, name: &str, is_on: bool) -> Result<bool, Failure> {
        self.check_there(name)?;
        let Some(server) = self.config.server(name) else {
            let mut errors = self.config.errors();
            let error = errors.find(|problem| problem.server.as_deref() == Some(name));
            let message = error.map(ToString::to_string).unwrap_or_default();
            return Err(Failure::usage(message).server(name));
        };
        if server.is_enabled == is_on {
            return Ok(false);
        }
        let text = match self.switch_in_line(name, is_on) {
            Some(text) => text,
            None => self.edit(|root, manner| switch(root, manner, name, is_on))?,
        };
        let config = read(&self.file.path, &text)?;
        if config.server(name).map(|server| server.is_enabled) != Some(is_on) {
            let path = self.file.path.display();
            let message = format!("how {path} switches {name:?} is not known here");
            return Err(Failure::usage(message).server(name));
        }
        self.take(text, config, name)?;
        Ok(true)
    }

    /// Adds what a person is to be asked for, as VS Code has it, unless it is there already.
    pub(crate) fn add_inputs(&mut self, inputs: &[Json]) -> Result<(), Failure> {
        let id = |input: &Json| Some(input.get("id")?.as_str()?.to_owned());
        let there = self.config.unknown.get("inputs").and_then(Json::as_array);
        let there: Vec<String> = there.into_iter().flatten().filter_map(id).collect();
        let new = |input: &&Json| id(input).is_some_and(|id| !there.contains(&id));
        let new: Vec<&Json> = inputs.iter().filter(new).collect();
        if new.is_empty() {
            return Ok(());
        }
        let mut values = Vec::new();
        for json in new {
            values.push(input(&json.to_string())?);
        }
        let text = self.edit(|root, _| {
            let list = root.object_value()?.array_value_or_create("inputs")?;
            for value in values {
                list.append(value);
            }
            Some(())
        })?;
        let config = read(&self.file.path, &text)?;
        self.take(text, config, "")
    }

    /// What changes, without what may be secret.
    pub(crate) fn diff(&self) -> String {
        let name = self.file.path.to_string_lossy();
        unified(&name, &hidden(&self.before), &hidden(&self.text))
    }

    /// Writes it.
    pub(crate) fn write(&self) -> Result<(), Failure> {
        match self.text == self.before && !self.file.is_new() {
            true => Ok(()),
            false => self.file.replace(&self.text),
        }
    }

    /// Changes the text, and nothing else yet.
    fn edit(
        &self,
        work: impl FnOnce(&CstRootNode, Manner) -> Option<()>,
    ) -> Result<String, Failure> {
        // Editors of Windows put a mark in front.
        let (mark, text) = match self.text.strip_prefix('\u{feff}') {
            Some(text) => ("\u{feff}", text),
            None => ("", self.text.as_str()),
        };
        let path = self.file.path.display();
        let root = CstRootNode::parse(text, &ParseOptions::default())
            .map_err(|error| Failure::usage(format!("{path}: {error}")))?;
        if root.value().is_none() {
            let _ = root.object_value_or_set();
        }
        work(&root, self.manner()).ok_or_else(|| {
            let place = self.manner().container;
            Failure::usage(format!(
                "{path}: {place:?} is no object, and stays as it is"
            ))
        })?;
        let end = if text.is_empty() { "\n" } else { "" };
        let text = root.to_string();
        let end = if text.ends_with('\n') { "" } else { end };
        Ok(format!("{mark}{text}{end}"))
    }

    /// Takes over a new text, in which nothing is different but what was meant.
    fn take(&mut self, text: String, config: Config, changed: &str) -> Result<(), Failure> {
        let others = |config: &Config| -> Vec<_> {
            let servers = config.servers.iter();
            let others = servers.filter(|server| server.name != changed);
            others.cloned().collect()
        };
        if others(&config) != others(&self.config) || config.settings != self.config.settings {
            let path = self.file.path.display();
            let message = format!("{path} is written so that other servers would change too");
            return Err(Failure::unexpected(message).hint("change it by hand"));
        }
        self.text = text;
        self.config = config;
        Ok(())
    }

    /// A server on one line stays on one line.
    fn switch_in_line(&self, name: &str, is_on: bool) -> Option<String> {
        let manner = self.manner();
        if is_on || switches_in_list(manner) {
            return None;
        }
        let options = CollectOptions::default();
        let parsed = parse_to_ast(&self.text, &options, &ParseOptions::default()).ok()?;
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
        let own = self.text.get(object.range.start..object.range.end)?;
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
        let (before, after) = self.text.split_at_checked(end)?;
        Some(format!("{before}{member}{after}"))
    }
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

fn switch(root: &CstRootNode, manner: Manner, name: &str, is_on: bool) -> Option<()> {
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
    let is_name = |element: &jsonc_parser::cst::CstNode| {
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

/// The object that the servers are in, made if it is not there.
fn container(root: &CstRootNode, path: &str) -> Option<CstObject> {
    let mut object = root.object_value_or_create()?;
    for key in path.split('.') {
        object = object.object_value_or_create(key)?;
    }
    Some(object)
}

/// What a file says, which may be nothing yet.
fn read(path: &Path, text: &str) -> Result<Config, Failure> {
    let text = match text.trim_start_matches('\u{feff}').trim().is_empty() {
        true => "{}",
        false => text,
    };
    Ok(read_text_as(path, text, &Reading::default())?)
}

/// JSON as it is put into a file, in its own order.
fn input(json: &str) -> Result<CstInputValue, Failure> {
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

#[cfg(test)]
mod tests;
