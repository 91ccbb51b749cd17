//! A configuration that is changed: servers added, removed, switched on or off.

use std::path::Path;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::Value as Json;
use switchboard_hub::{Config, Problem, Severity, nearest};

use super::diff::unified;
use super::file::EditedFile;
use super::hide::hidden;
use super::tree::{container, input, switch, switch_in_line};
use super::words::Manner;
use crate::exit::Failure;
use crate::import::{Reading, Syntax, read_text_as};
use crate::trust;

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
        let text = match switch_in_line(&self.text, self.manner(), name, is_on) {
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
            false => {
                let before = (!self.file.is_new()).then_some(&*self.before);
                let undo = trust::follow(&self.file.path, before, &self.text, &self.config);
                self.file.replace(&self.text).inspect_err(|_| undo())
            }
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
}

/// What a file says, which may be nothing yet.
fn read(path: &Path, text: &str) -> Result<Config, Failure> {
    let text = match text.trim_start_matches('\u{feff}').trim().is_empty() {
        true => "{}",
        false => text,
    };
    Ok(read_text_as(path, text, &Reading::default())?)
}

#[cfg(test)]
mod tests;
