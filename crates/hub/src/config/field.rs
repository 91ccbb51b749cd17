//! One value of a configuration, read as what it should be.
//!
//! What it is not is reported where it stands, and nothing comes of it then.

use std::time::Duration;

use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::common::Ranged;
use serde_json::{Number, Value as Json};

use super::members::Members;
use super::origin::Dialect;
use super::page::Position;
use super::problem::ProblemKind;
use super::quantity;
use super::sheet::Sheet;
use crate::policy::Pattern;
use crate::variables::{Shows, Template};

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
    pub(super) fn new(sheet: &'s Sheet<'a>, prefix: &str, member: &'s ObjectProp<'a>) -> Self {
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

    /// It is reported and kept.
    pub(super) fn unused(&self, because: &'static str) {
        let is_empty = match self.value {
            Value::Object(object) => object.properties.is_empty(),
            Value::Array(list) => list.elements.is_empty(),
            _ => false,
        };
        // Goose writes all keys, whatever they are for.
        if is_empty && self.sheet.grammar.dialect == Dialect::Goose {
            return;
        }
        let key = self.key.clone();
        let kind = ProblemKind::Unused { key, because };
        self.sheet.warn(self.at, kind);
        self.keep();
    }

    /// Has no meaning for us, and stays with what nobody knows.
    pub(super) fn keep(&self) {
        let around = self.key.strip_suffix(self.name).unwrap_or_default();
        let member = (self.name.to_owned(), json(self.value));
        self.sheet
            .keep(around.to_owned(), [member].into_iter().collect());
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

    /// What a variable holds, of which the name is given.
    pub(super) fn variable(&self) -> Option<Template> {
        let name = self.text()?;
        // What none can have, and what would end a reference to it.
        if name.is_empty() || name.contains(['\0', '=', '$', '{', '}']) {
            self.wrong_value("the name of a variable");
            return None;
        }
        Some(Template::variable(name, self.position()))
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

    /// A list of patterns.
    pub(super) fn patterns(&self) -> Option<Vec<Pattern>> {
        Some(self.texts()?.into_iter().map(Pattern::from).collect())
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
        let literal = template.as_literal();
        match literal.is_some_and(|text| text.trim().is_empty()) {
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
