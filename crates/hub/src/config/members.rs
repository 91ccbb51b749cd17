//! Objects of a configuration, member by member.
//!
//! Whoever takes a member names all the ways in which it is spelt. What nobody took is unknown,
//! and what was asked for is what it may have been meant to be, so there is no second list.

use std::collections::HashMap;

use jsonc_parser::ast::{Object, Value};
use serde_json::{Map, Value as Json};

use super::field::{Field, json};
use super::problem::{ProblemKind, Severity};
use super::sheet::Sheet;
use crate::near::nearest;

/// An object whose members are taken one after the other.
#[derive(Debug)]
pub(super) struct Members<'s, 'a> {
    sheet: &'s Sheet<'a>,
    /// The keys around it, each with a dot.
    prefix: String,
    object: &'s Object<'a>,
    /// Where in the object a key is, and whether it was taken.
    places: HashMap<&'s str, (usize, bool)>,
    asked: Vec<&'static str>,
}

impl<'s, 'a> Members<'s, 'a> {
    /// A key that is there twice is an error.
    pub(super) fn new(sheet: &'s Sheet<'a>, prefix: String, object: &'s Object<'a>) -> Self {
        let mut places: HashMap<&'s str, (usize, bool)> = HashMap::new();
        for (index, member) in object.properties.iter().enumerate() {
            let key = member.name.as_str();
            if let Some((first, _)) = places.get(key) {
                let first = object.properties.get(*first);
                let first = first.map_or(0, |first| first.range.start);
                let kind = ProblemKind::DuplicateKey {
                    key: format!("{prefix}{key}"),
                    first: sheet.page.position(first),
                };
                sheet.error(member.range.start, kind);
            } else {
                places.insert(key, (index, false));
            }
        }
        Self {
            sheet,
            prefix,
            object,
            places,
            asked: Vec::new(),
        }
    }

    /// A member, however it is spelt. Two spellings that say different things are an error.
    pub(super) fn take(&mut self, spellings: &[&'static str]) -> Option<Field<'s, 'a>> {
        self.asked.extend(spellings);
        let mut found: Option<Field<'s, 'a>> = None;
        for key in spellings {
            let Some((index, is_taken)) = self.places.get_mut(key) else {
                continue;
            };
            *is_taken = true;
            let Some(member) = self.object.properties.get(*index) else {
                continue;
            };
            // Programs that write all keys write this for what is not there.
            if matches!(member.value, Value::NullKeyword(_)) {
                continue;
            }
            let field = Field::new(self.sheet, &self.prefix, member);
            match &found {
                Some(first) => {
                    let one = first.key.clone();
                    let other = field.key;
                    let severity = match json(first.value) == json(field.value) {
                        true => Severity::Warning,
                        false => Severity::Error,
                    };
                    let kind = ProblemKind::Synonyms { one, other };
                    self.sheet.report(severity, member.range.start, kind);
                }
                None => found = Some(field),
            }
        }
        found
    }

    /// A member that is a list. Anything else is another product's, and left.
    pub(super) fn take_list(&mut self, key: &'static str) -> Option<Field<'s, 'a>> {
        let (index, _) = self.places.get(key)?;
        let member = self.object.properties.get(*index)?;
        match member.value {
            Value::Array(_) => self.take(&[key]),
            _ => {
                self.leave(&[key]);
                None
            }
        }
    }

    /// What is known and has no meaning for us, such as what a host may approve by itself.
    pub(super) fn leave(&mut self, keys: &[&'static str]) {
        self.asked.extend(keys);
    }

    /// Keeps what nobody took for [`Sheet::take_kept`]. What nobody asked for either is reported.
    pub(super) fn keep_rest(self) {
        let (sheet, prefix) = (self.sheet, self.prefix.clone());
        let rest = self.rest();
        if !rest.is_empty() {
            sheet.keep(prefix, rest);
        }
    }

    fn rest(self) -> Map<String, Json> {
        let mut kept = Map::new();
        let mut hints = MOST_HINTS;
        for member in &self.object.properties {
            let key = member.name.as_str();
            let is_taken = self.places.get(key).is_some_and(|(_, is_taken)| *is_taken);
            if is_taken {
                continue;
            }
            if !self.asked.contains(&key) {
                let near = match hints {
                    0 => None,
                    _ => nearest(key, self.asked.iter().copied()).into_iter().next(),
                };
                hints = hints.saturating_sub(1);
                let severity = match near {
                    Some(_) => Severity::Warning,
                    None => Severity::Note,
                };
                let key = format!("{}{key}", self.prefix);
                let kind = ProblemKind::UnknownKey { key, near };
                self.sheet.report(severity, member.range.start, kind);
            }
            kept.insert(key.to_owned(), json(&member.value));
        }
        kept
    }

    /// All of them, for objects whose keys are names.
    pub(super) fn all(&self) -> impl Iterator<Item = Field<'s, 'a>> {
        let (sheet, prefix) = (self.sheet, self.prefix.clone());
        let members = self.object.properties.iter();
        members.map(move |member| Field::new(sheet, &prefix, member))
    }
}

// Nobody misspells that many keys of one object.
const MOST_HINTS: usize = 100;
