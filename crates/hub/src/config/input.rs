//! What a person is to be asked for: the inputs of VS Code, which `${input:id}` refers to.
//!
//! Who asks, and how, is for whoever has a person: see
//! [`Surroundings::input`](crate::Surroundings::input).

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use switchboard_auth::Secret;

use super::field::kind;
use super::problem::ProblemKind;
use super::sheet::Sheet;

/// What a person is to be asked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InputConfig {
    /// What `${input:…}` calls it.
    pub id: String,
    /// What is asked for.
    pub kind: InputKind,
    /// What the person is told.
    pub description: Option<String>,
    /// The answer of a person who gives none.
    pub default: Option<Secret>,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputKind {
    /// A text: `promptString`.
    Text {
        /// Whether nobody may see it: `password`.
        is_secret: bool,
    },
    /// One of these: `pickString`.
    Choice(Vec<InputOption>),
    /// What a command of the editor gives, which nobody else has: `command`.
    Command(String),
}

/// One of several answers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputOption {
    /// What the person sees.
    pub label: String,
    /// What is filled in.
    pub value: String,
}

/// Reads the inputs beside the servers. What cannot be read is as if it were not there: the servers
/// do not depend on it, only the question does.
pub(super) fn read(sheet: &Sheet<'_>, beside: &Object<'_>) -> Vec<InputConfig> {
    let Some(Value::Array(list)) = member(beside, "inputs") else {
        return Vec::new();
    };
    let mut inputs: Vec<InputConfig> = Vec::new();
    for (index, item) in list.elements.iter().enumerate() {
        let key = format!("inputs[{index}]");
        let Some(input) = read_one(sheet, &key, item) else {
            continue;
        };
        // The first of a name counts.
        if inputs.iter().all(|known| known.id != input.id) {
            inputs.push(input);
        }
    }
    inputs
}

fn read_one(sheet: &Sheet<'_>, key: &str, item: &Value<'_>) -> Option<InputConfig> {
    let Value::Object(object) = item else {
        let kind = ProblemKind::WrongType {
            key: key.to_owned(),
            expected: "an object",
            found: kind(item),
        };
        sheet.warn(item.range().start, kind);
        return None;
    };
    let id = text(object, "id").filter(|id| !id.is_empty());
    let word = text(object, "type");
    let kind = match word.as_deref() {
        Some("promptString") => {
            let is_secret = member(object, "password");
            let is_secret = matches!(is_secret, Some(Value::BooleanLit(said)) if said.value);
            Some(InputKind::Text { is_secret })
        }
        Some("pickString") => Some(InputKind::Choice(options(object))),
        Some("command") => text(object, "command").map(InputKind::Command),
        _ => None,
    };
    let (Some(id), Some(kind)) = (id, kind) else {
        let expected = "an id, and a type: promptString, pickString or command";
        let key = key.to_owned();
        sheet.warn(
            item.range().start,
            ProblemKind::WrongValue { key, expected },
        );
        return None;
    };
    Some(InputConfig {
        id,
        kind,
        description: text(object, "description"),
        default: text(object, "default").map(Secret::new),
    })
}

/// Texts, or labels and values.
fn options(object: &Object<'_>) -> Vec<InputOption> {
    let Some(Value::Array(list)) = member(object, "options") else {
        return Vec::new();
    };
    let options = list.elements.iter().filter_map(|item| {
        let (label, value) = match item {
            Value::StringLit(word) => (word.value.to_string(), word.value.to_string()),
            Value::Object(option) => {
                let value = text(option, "value")?;
                let label = text(option, "label").unwrap_or_else(|| value.clone());
                (label, value)
            }
            _ => return None,
        };
        Some(InputOption { label, value })
    });
    options.collect()
}

fn member<'v, 'a>(object: &'v Object<'a>, key: &str) -> Option<&'v Value<'a>> {
    let mut members = object.properties.iter();
    let found = members.find(|member| member.name.as_str() == key);
    found.map(|member| &member.value)
}

fn text(object: &Object<'_>, key: &str) -> Option<String> {
    match member(object, key)? {
        Value::StringLit(text) => Some(text.value.to_string()),
        _ => None,
    }
}
