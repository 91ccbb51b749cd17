//! Texts of one server that speak of the tools of another.
//!
//! Only names that are no words of a language count: with a separator or a capital letter within.
//! Linear in the length of all texts.

use std::collections::HashMap;

use serde_json::Value;

use super::Subject;
use super::finding::Finding;
use super::rule;
use crate::pointer::step as pointer;

pub(super) fn check(subjects: &[Subject<'_>], findings: &mut Vec<Finding>) {
    let mut names: HashMap<&str, Vec<&str>> = HashMap::new();
    for subject in subjects {
        let name = subject.tool.name.as_str();
        if is_telling(name) {
            names.entry(name).or_default().push(subject.server);
        }
    }
    let has_others = |subject: &Subject<'_>| {
        let first = subjects.first();
        first.is_some_and(|first| first.server != subject.server)
            || subjects
                .last()
                .is_some_and(|last| last.server != subject.server)
    };
    for subject in subjects.iter().filter(|subject| has_others(subject)) {
        let Ok(definition) = serde_json::to_value(subject.tool) else {
            continue;
        };
        let mut search = Search {
            names: &names,
            subject,
            found: Vec::new(),
            left: MOST_TEXTS,
        };
        search.look(&definition, "");
        for (place, other, server) in search.found {
            let detail = format!("{other:?} of {server:?}");
            findings.push(Finding::new(&rule::NAMES_OTHER, subject, place, detail));
        }
    }
}

struct Search<'a> {
    names: &'a HashMap<&'a str, Vec<&'a str>>,
    subject: &'a Subject<'a>,
    /// Where, which tool, and whose.
    found: Vec<(String, &'a str, &'a str)>,
    left: usize,
}

impl Search<'_> {
    fn look(&mut self, value: &Value, place: &str) {
        let Some(left) = self.left.checked_sub(1) else {
            return;
        };
        self.left = left;
        match value {
            Value::String(text) => self.check_text(text, place),
            Value::Array(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    self.look(part, &pointer(place, &index.to_string()));
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    let is_text = !matches!(name.as_str(), "name" | "icons" | "_meta");
                    if !place.is_empty() || is_text {
                        self.look(member, &pointer(place, name));
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn check_text(&mut self, text: &str, place: &str) {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        for word in text.split(|c| !is_part(c)) {
            // As hosts call it, and as its server does.
            let own = word.rsplit("__").next().unwrap_or(word);
            let Some((name, servers)) = self
                .names
                .get_key_value(word)
                .or_else(|| self.names.get_key_value(own))
            else {
                continue;
            };
            let is_own = servers.contains(&self.subject.server);
            let is_known = self.found.iter().any(|(_, known, _)| known == name);
            if let Some(server) = servers.first().filter(|_| !is_own && !is_known)
                && self.found.len() < MOST
            {
                self.found.push((place.to_owned(), name, server));
            }
        }
    }
}

/// Is it a name, and no word that may stand in any text?
fn is_telling(name: &str) -> bool {
    let has_capital = name
        .chars()
        .zip(name.chars().skip(1))
        .any(|(one, next)| one.is_lowercase() && next.is_uppercase());
    name.len() >= SHORTEST && (has_capital || name.contains('_'))
}

const SHORTEST: usize = 6;
/// Nobody reads more about one tool.
const MOST: usize = 20;
/// Texts of one tool that are looked at.
const MOST_TEXTS: usize = 20_000;
