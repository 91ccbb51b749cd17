//! Objects of a configuration, member by member.
//!
//! Whoever takes a member names all the ways in which it is spelt. What nobody took is unknown,
//! and what was asked for is what it may have been meant to be, so there is no second list.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use serde_json::{Map, Number, Value as Json};

use super::near::nearest;
use super::origin::{Dialect, Grammar};
use super::page::{Page, Position};
use super::problem::{Problem, ProblemKind, Severity};
use super::quantity;
use crate::variables::{Shows, Template};

/// What is read, and what was found wrong with it.
#[derive(Debug)]
pub(super) struct Sheet<'a> {
    pub(super) page: Page<'a>,
    pub(super) file: Arc<str>,
    pub(super) grammar: Grammar,
    server: RefCell<Option<String>>,
    problems: RefCell<Vec<Problem>>,
    errors: Cell<usize>,
    /// What nobody took within a server, with the keys around it.
    kept: RefCell<Vec<(String, Map<String, Json>)>>,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(page: Page<'a>, file: Arc<str>, grammar: Grammar) -> Self {
        Self {
            page,
            file,
            grammar,
            server: RefCell::default(),
            problems: RefCell::default(),
            errors: Cell::default(),
            kept: RefCell::default(),
        }
    }

    /// From now on everything is about this server.
    pub(super) fn about(&self, server: Option<&str>) {
        self.server.replace(server.map(str::to_owned));
    }

    pub(super) fn report(&self, severity: Severity, offset: usize, kind: ProblemKind) {
        if severity == Severity::Error {
            self.errors.set(self.errors.get() + 1);
        }
        let problem = Problem {
            severity,
            file: Arc::clone(&self.file),
            position: self.page.position(offset),
            server: self.server.borrow().clone(),
            kind,
        };
        self.problems.borrow_mut().push(problem);
    }

    pub(super) fn error(&self, offset: usize, kind: ProblemKind) {
        self.report(Severity::Error, offset, kind);
    }

    pub(super) fn warn(&self, offset: usize, kind: ProblemKind) {
        self.report(Severity::Warning, offset, kind);
    }

    /// How many errors there were so far.
    pub(super) fn errors(&self) -> usize {
        self.errors.get()
    }

    /// What nobody took since it was last asked for, in the objects that it was in.
    pub(super) fn take_kept(&self) -> Map<String, Json> {
        let mut whole = Map::new();
        for (prefix, members) in self.kept.take() {
            put(&mut whole, prefix.split_terminator('.'), members);
        }
        whole
    }

    /// In the order of the file.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|problem| problem.position);
        problems
    }
}

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

    /// A member, however it is spelt. Two spellings at once are an error.
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
                    let kind = ProblemKind::Synonyms { one, other };
                    self.sheet.error(member.range.start, kind);
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
            sheet.kept.borrow_mut().push((prefix, rest));
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
                    _ => nearest(key, self.asked.iter().copied()),
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

/// A member of an object, or an item of a list in one.
#[derive(Debug)]
pub(super) struct Field<'s, 'a> {
    pub(super) sheet: &'s Sheet<'a>,
    /// With the keys around it.
    pub(super) key: String,
    /// Its own key.
    pub(super) name: &'s str,
    pub(super) value: &'s Value<'a>,
    /// Where its key is.
    pub(super) at: usize,
}

impl<'s, 'a> Field<'s, 'a> {
    fn new(sheet: &'s Sheet<'a>, prefix: &str, member: &'s ObjectProp<'a>) -> Self {
        Self {
            sheet,
            key: format!("{prefix}{}", member.name.as_str()),
            name: member.name.as_str(),
            value: &member.value,
            at: member.range.start,
        }
    }

    /// Where its value is.
    pub(super) fn place(&self) -> usize {
        self.value.range().start
    }

    pub(super) fn position(&self) -> Position {
        self.sheet.page.position(self.place())
    }

    pub(super) fn wrong_type(&self, expected: &'static str) {
        let kind = ProblemKind::WrongType {
            key: self.key.clone(),
            expected,
            found: kind(self.value),
        };
        self.sheet.error(self.place(), kind);
    }

    pub(super) fn wrong_value(&self, expected: &'static str) {
        let key = self.key.clone();
        let kind = ProblemKind::WrongValue { key, expected };
        self.sheet.error(self.place(), kind);
    }

    /// The key is one that cannot be there.
    pub(super) fn wrong_key(&self, expected: &'static str) {
        let key = self.key.clone();
        let kind = ProblemKind::WrongValue { key, expected };
        self.sheet.error(self.at, kind);
    }

    pub(super) fn unused(&self, because: &'static str) {
        let key = self.key.clone();
        let kind = ProblemKind::Unused { key, because };
        self.sheet.warn(self.at, kind);
    }

    pub(super) fn text(&self) -> Option<&'s str> {
        match self.value {
            Value::StringLit(text) => Some(&text.value),
            _ => {
                self.wrong_type("a text");
                None
            }
        }
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        match self.value {
            Value::BooleanLit(boolean) => Some(boolean.value),
            _ => {
                self.wrong_type("true or false");
                None
            }
        }
    }

    pub(super) fn object(&self) -> Option<Members<'s, 'a>> {
        match self.value {
            Value::Object(object) => {
                Some(Members::new(self.sheet, format!("{}.", self.key), object))
            }
            _ => {
                self.wrong_type("an object");
                None
            }
        }
    }

    /// The items of a list, each as if it had a key: `args[2]`.
    pub(super) fn items(&self) -> Option<Vec<Self>> {
        let Value::Array(list) = self.value else {
            self.wrong_type("a list");
            return None;
        };
        let items = list
            .elements
            .iter()
            .enumerate()
            .map(|(index, value)| Field {
                sheet: self.sheet,
                key: format!("{}[{index}]", self.key),
                name: self.name,
                value,
                at: value.range().start,
            });
        Some(items.collect())
    }

    /// A list of texts.
    pub(super) fn texts(&self) -> Option<Vec<String>> {
        let items = self.items()?;
        let texts = items
            .iter()
            .filter_map(|item| item.text().map(str::to_owned));
        Some(texts.collect())
    }

    /// A list of texts, or one text with words in it.
    pub(super) fn words(&self) -> Option<Vec<String>> {
        match self.value {
            Value::StringLit(text) => {
                Some(text.value.split_whitespace().map(str::to_owned).collect())
            }
            _ => self.texts(),
        }
    }

    /// A text, or a number or a truth that becomes one.
    pub(super) fn template(&self, shows: Shows) -> Option<Template> {
        let text = match self.value {
            Value::StringLit(text) => &*text.value,
            Value::NumberLit(number) => number.value,
            Value::BooleanLit(boolean) => match boolean.value {
                true => "true",
                false => "false",
            },
            _ => {
                self.wrong_type("a text");
                return None;
            }
        };
        self.template_of(text, shows)
    }

    /// A template that is not all of what is there.
    pub(super) fn template_of(&self, text: &str, shows: Shows) -> Option<Template> {
        if text.contains('\0') {
            self.wrong_value("a text without zero bytes");
            return None;
        }
        let template = Template::read(text, &self.sheet.grammar, shows, self.position());
        if template.left_alone().next().is_some() {
            let key = self.key.clone();
            self.sheet
                .warn(self.place(), ProblemKind::LeftAlone { key });
        }
        Some(template)
    }

    /// A template in which there is something.
    pub(super) fn some_template(&self, shows: Shows) -> Option<Template> {
        let template = self.template(shows)?;
        match template.to_string().trim().is_empty() {
            true => {
                self.wrong_value("something, and is empty");
                None
            }
            false => Some(template),
        }
    }

    /// One of a few words.
    pub(super) fn word<T>(
        &self,
        expected: &'static str,
        meaning: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text()?;
        let meant = meaning(text);
        if meant.is_none() {
            let kind = ProblemKind::UnknownWord {
                key: self.key.clone(),
                word: text.to_owned(),
                expected,
            };
            self.sheet.error(self.place(), kind);
        }
        meant
    }

    /// A time: a text with a unit, or a number of the unit that is usual in this file.
    pub(super) fn time(&self) -> Option<Duration> {
        self.time_in(self.sheet.grammar.dialect.unit())
    }

    /// A time under our own key, where a number is milliseconds in every file.
    pub(super) fn own_time(&self) -> Option<Duration> {
        self.time_in(Dialect::Standard.unit())
    }

    fn time_in(&self, unit: Duration) -> Option<Duration> {
        let (time, is_bare) = match self.value {
            Value::StringLit(text) => (quantity::time(&text.value, unit), false),
            Value::NumberLit(number) => (quantity::time(number.value, unit), true),
            _ => {
                self.wrong_type("a time");
                return None;
            }
        };
        let Some(time) = time else {
            self.wrong_value("a time such as \"30s\" or 30000, at least 1 ms and at most a year");
            return None;
        };
        let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        if is_bare && milliseconds < 1000 {
            let key = self.key.clone();
            let kind = ProblemKind::ShortTime { key, milliseconds };
            self.sheet.warn(self.place(), kind);
        }
        Some(time)
    }

    /// How much of something: a number, or a text with a unit of bytes.
    pub(super) fn size(&self) -> Option<usize> {
        let size = match self.value {
            Value::StringLit(text) => quantity::size(&text.value),
            Value::NumberLit(number) => quantity::size(number.value),
            _ => {
                self.wrong_type("a number");
                return None;
            }
        };
        if size.is_none() {
            self.wrong_value("a number above 0 or a size such as \"4MiB\", below 2 GiB");
        }
        size
    }
}

/// Puts members into the object at the end of a path.
fn put<'k>(
    object: &mut Map<String, Json>,
    mut path: impl Iterator<Item = &'k str>,
    members: Map<String, Json>,
) {
    let Some(key) = path.next() else {
        object.extend(members);
        return;
    };
    let inner = object.entry(key).or_insert_with(|| Map::new().into());
    // It is an object in the file, or nothing in it would have been kept.
    if let Json::Object(inner) = inner {
        put(inner, path, members);
    }
}

/// What a value is, in words.
pub(super) const fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a text",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(boolean) if boolean.value => "true",
        Value::BooleanLit(_) => "false",
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::NullKeyword(_) => "null",
    }
}

/// The value as others write it. Of two members of a name the last counts, as everywhere.
pub(super) fn json(value: &Value<'_>) -> Json {
    match value {
        Value::StringLit(text) => Json::String(text.value.clone().into_owned()),
        Value::NumberLit(number) => match number.value.parse::<Number>() {
            Ok(number) => Json::Number(number),
            // Beyond what a number can be.
            Err(_) => Json::String(number.value.to_owned()),
        },
        Value::BooleanLit(boolean) => Json::Bool(boolean.value),
        Value::Object(object) => {
            let members = object.properties.iter();
            let members =
                members.map(|member| (member.name.as_str().to_owned(), json(&member.value)));
            Json::Object(members.collect())
        }
        Value::Array(list) => list.elements.iter().map(json).collect(),
        Value::NullKeyword(_) => Json::Null,
    }
}

// Nobody misspells that many keys of one object.
const MOST_HINTS: usize = 100;
