//! A plain reading of a frame, rule by rule, with the members that `serde_json` finds.
//!
//! Where this, and the library, differ from reading into a `serde_json::Value`:
//!
//! - A name that comes twice in the envelope, in `params`, in `result`, in `error` or
//!   in `error.data` is refused; a `Value` keeps the last one. Deeper ones pass.
//! - 128 levels of nesting are read; a `Value` has 127.
//! - A lone surrogate in a string, and a number like `1e999`, are valid JSON and stay
//!   text; a `Value` refuses both. A name with a lone surrogate counts as its text.
//!   A method or an error's message with one is not a string.
//! - An integer id may have any number of digits.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use switchboard_protocol::jsonrpc::{Problem, Shape};

/// What a frame is.
#[derive(Debug)]
pub(super) enum Verdict<'a> {
    NotJson,
    Single(Entry<'a>),
    Batch(Vec<Entry<'a>>),
}

/// What a message is, with the text of its parts.
#[derive(Debug)]
pub(super) enum Entry<'a> {
    Request {
        id: &'a str,
        method: String,
        params: Option<&'a str>,
    },
    Notification {
        method: String,
        params: Option<&'a str>,
    },
    Result {
        id: &'a str,
        result: &'a str,
    },
    Error {
        id: Option<&'a str>,
        code: i64,
        message: String,
        data: Option<&'a str>,
    },
    Refused {
        /// Those that apply before any other, in whichever order they are found.
        problems: Vec<Problem>,
        id: Option<&'a str>,
        shape: Shape,
    },
}

pub(super) fn read(frame: &[u8]) -> Verdict<'_> {
    let Some(text) = json(frame) else {
        return Verdict::NotJson;
    };
    if !text.starts_with('[') {
        return Verdict::Single(entry(text));
    }
    let items: Vec<&RawValue> = serde_json::from_str(text).expect("an array");
    Verdict::Batch(items.iter().map(|item| entry(item.get())).collect())
}

/// The text of the one value, if it is JSON of at most 128 levels.
pub(super) fn json(text: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(text).ok()?;
    let value: &RawValue = serde_json::from_str(text).ok()?;
    (depth(value.get()) <= 128).then_some(value.get())
}

/// The members of an object in their order, names by meaning, values as text.
pub(crate) fn members(text: &str) -> Option<Vec<(String, &str)>> {
    let Members(found) = text.starts_with('{').then(|| {
        let members = serde_json::from_str::<Members<'_>>(text);
        members.expect("an object")
    })?;
    let name = |raw: &RawValue| {
        let raw = raw.get();
        meaning(raw).unwrap_or_else(|| raw[1..raw.len() - 1].to_owned())
    };
    Some(
        found
            .iter()
            .map(|(raw, value)| (name(raw), value.get()))
            .collect(),
    )
}

/// What the text of a JSON string means.
pub(super) fn meaning(text: &str) -> Option<String> {
    serde_json::from_str(text).ok()
}

/// Is this an object in which a name comes twice?
pub(super) fn repeats(text: &str) -> bool {
    let mut seen = BTreeSet::new();
    members(text).is_some_and(|members| !members.into_iter().all(|(name, _)| seen.insert(name)))
}

fn entry(text: &str) -> Entry<'_> {
    let Some(members) = members(text) else {
        let problem = if text.starts_with('[') {
            Problem::NestedBatch
        } else {
            Problem::NotAnObject
        };
        return Entry::Refused {
            problems: vec![problem],
            id: None,
            shape: Shape::Unclear,
        };
    };
    let member = |wanted: &str| {
        let found = members.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| *value)
    };
    let any_id = member("id");
    let id = any_id.filter(|id| is_id(id));
    let (result, error) = (member("result"), member("error"));
    let shape = match (member("method"), result.or(error)) {
        (Some(method), None) if any_id.is_none() && method.starts_with('"') => Shape::Notification,
        (Some(_), None) => Shape::Request,
        (None, Some(_)) => Shape::Response,
        _ => Shape::Unclear,
    };
    let refuse = |problems: &[Problem]| Entry::Refused {
        problems: problems.to_vec(),
        id,
        shape,
    };
    let mut early = Vec::new();
    let of_payloads = members
        .iter()
        .any(|(name, value)| matches!(name.as_str(), "params" | "result") && repeats(value));
    if repeats(text) || of_payloads {
        early.push(Problem::RepeatedMember);
    }
    if members
        .iter()
        .filter(|(name, _)| !KNOWN.contains(&name.as_str()))
        .count()
        > 16
    {
        early.push(Problem::TooManyMembers);
    }
    if !early.is_empty() {
        return refuse(&early);
    }
    let version = member("jsonrpc").and_then(|text| serde_json::from_str::<String>(text).ok());
    if version.as_deref() != Some("2.0") {
        return refuse(&[Problem::WrongVersion]);
    }
    if let Some(method) = member("method") {
        if result.or(error).is_some() {
            return refuse(&[Problem::MethodAndOutcome]);
        }
        let Some(method) = meaning(method) else {
            return refuse(&[Problem::BadMethod]);
        };
        let params = member("params").filter(|params| *params != "null");
        if params.is_some_and(|params| !params.starts_with('{')) {
            return refuse(&[Problem::BadParams]);
        }
        return match (any_id, id) {
            (None, _) => Entry::Notification { method, params },
            (_, Some(id)) => Entry::Request { id, method, params },
            (Some(_), None) => refuse(&[Problem::BadId]),
        };
    }
    match (result, error) {
        (Some(_), Some(_)) => refuse(&[Problem::ResultAndError]),
        (None, None) => refuse(&[Problem::NeitherResultNorError]),
        (Some(result), None) => match (any_id, id) {
            (_, Some(id)) => Entry::Result { id, result },
            (Some(_), None) => refuse(&[Problem::BadId]),
            (None, None) => refuse(&[Problem::ResultWithoutId]),
        },
        (None, Some(error)) => {
            error_entry(id, error).unwrap_or_else(|| refuse(&[Problem::BadError]))
        }
    }
}

fn error_entry<'a>(id: Option<&'a str>, error: &'a str) -> Option<Entry<'a>> {
    if repeats(error) {
        return None;
    }
    let members = members(error)?;
    let member = |wanted: &str| {
        let found = members.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| *value)
    };
    let data = member("data");
    if data.is_some_and(repeats) {
        return None;
    }
    Some(Entry::Error {
        id,
        code: serde_json::from_str::<serde_json::Value>(member("code")?)
            .ok()?
            .as_i64()?,
        message: meaning(member("message")?)?,
        data,
    })
}

fn is_id(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    text.starts_with('"') || digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// How deeply valid JSON is nested.
fn depth(text: &str) -> usize {
    let (mut deepest, mut depth) = (0, 0_usize);
    let mut bytes = text.bytes();
    let mut in_string = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if in_string => drop(bytes.next()),
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth -= 1,
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Names and values of an object, each as its text, none left out.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Collect).map(Self)
    }
}

struct Collect;

impl<'de> Visitor<'de> for Collect {
    type Value = Vec<(&'de RawValue, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        while let Some(member) = members.next_entry()? {
            found.push(member);
        }
        Ok(found)
    }
}

const KNOWN: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
