//! Finds the member that a closed schema does not allow, and the name that was meant.

use std::borrow::Cow;

use serde_json::{Map, Value};
use switchboard_protocol::RawJson;

use super::ArgumentError;
use super::place::{join, join_index};

/// The first member that the schema does not allow, if there is one.
///
/// Looks where the schema is plain: through properties, items and map values,
/// not into choices, where it depends on the value which names are known.
pub(super) fn find(text: &[u8], schema: &RawJson) -> Option<ArgumentError> {
    let value: Value = serde_json::from_slice(text).ok()?;
    let root: Value = schema.decode().ok()?;
    look(&value, &root, &root, &mut String::new())
}

fn look(value: &Value, schema: &Value, root: &Value, path: &mut String) -> Option<ArgumentError> {
    let schema = resolve(schema, root)?;
    match value {
        Value::Object(members) => {
            let known = schema.get("properties").and_then(Value::as_object);
            let others = schema.get("additionalProperties");
            for (name, value) in members {
                let end = path.len();
                join(path, name);
                match (known.and_then(|known| known.get(name)), others) {
                    (None, Some(Value::Bool(false))) => {
                        return Some(refuse(std::mem::take(path), name, known, members));
                    }
                    (Some(inner), _) | (None, Some(inner)) => {
                        if let Some(error) = look(value, inner, root, path) {
                            return Some(error);
                        }
                    }
                    (None, None) => {}
                }
                path.truncate(end);
            }
            None
        }
        Value::Array(items) => {
            let schema = schema.get("items")?;
            for (index, item) in items.iter().enumerate() {
                let end = path.len();
                join_index(path, index);
                if let Some(error) = look(item, schema, root, path) {
                    return Some(error);
                }
                path.truncate(end);
            }
            None
        }
        _ => None,
    }
}

/// Follows one reference: a recursive type points at its definition, which is no reference.
fn resolve<'a>(schema: &'a Value, root: &'a Value) -> Option<&'a Value> {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => root.pointer(reference.strip_prefix('#')?),
        None => Some(schema),
    }
}

fn refuse(
    path: String,
    name: &str,
    known: Option<&Map<String, Value>>,
    given: &Map<String, Value>,
) -> ArgumentError {
    let names: Vec<&str> = known
        .into_iter()
        .flatten()
        .map(|(n, _)| n.as_str())
        .collect();
    // A name that is already given was not what this one stands for.
    let free = names.iter().filter(|one| !given.contains_key(**one));
    let near = nearest(name, free.copied());
    let reason: Cow<'_, str> = match (near, names.as_slice()) {
        (Some(near), _) => format!("not a known member; did you mean `{near}`?").into(),
        (None, []) => "not a known member; there are none".into(),
        (None, names) => {
            let listed: Vec<String> = names.iter().take(20).map(|n| format!("`{n}`")).collect();
            format!("not a known member; the members are {}", listed.join(", ")).into()
        }
    };
    ArgumentError {
        has_suggestion: near.is_some(),
        ..ArgumentError::new(path, reason.into_owned())
    }
}

/// The name that is close enough to be what was meant.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| -> Vec<char> {
        let letters = text.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
        // Longer names are not compared: they are no slips, and the table is quadratic.
        letters.flat_map(char::to_lowercase).take(65).collect()
    };
    let wanted = plain(name);
    if wanted.len() > 64 {
        return None;
    }
    let near = names.map(|one| (distance(&wanted, &plain(one)), one));
    let (distance, near) = near.min_by_key(|(distance, _)| *distance)?;
    // A third of the letters: `nmae` is `name`, `id` is not `at`.
    (distance * 3 <= wanted.len().max(3)).then_some(near)
}

/// How many letters must be changed, added, removed or swapped with their neighbour.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, a) in from.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, b) in to.iter().enumerate() {
            let cell = |line: &[usize], at: usize| line.get(at).copied().unwrap_or(usize::MAX / 2);
            let mut best = (cell(&last, column) + usize::from(a != b))
                .min(cell(&last, column + 1) + 1)
                .min(cell(&next, column) + 1);
            let swapped = row > 0
                && column > 0
                && from.get(row - 1) == Some(b)
                && to.get(column - 1) == Some(a);
            if swapped {
                best = best.min(cell(&before, column - 1) + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().unwrap_or(0)
}
