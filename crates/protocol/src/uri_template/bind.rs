//! What the pieces of a URI mean: values for the variables of an expression.

use std::collections::btree_map::Entry;

use super::parse::{Expression, Operator, Variable};
use super::{Value, Variables, is_reserved, triplet};

/// The values of all expressions, or `None` if they contradict each other.
pub(super) fn bind(pieces: &[(&Expression, &str)]) -> Option<Variables> {
    let mut found = Vec::new();
    for (expression, piece) in pieces {
        let Some(values) = strip_first(expression.operator, piece) else {
            continue;
        };
        if expression.operator.is_named() {
            bind_named(expression, values, &mut found)?;
        } else {
            bind_unnamed(expression, values, &mut found);
        }
    }
    // Whole values first, so that a prefix can be compared with its value.
    found.sort_by_key(|(variable, _)| variable.prefix.is_some());
    let mut variables = Variables::new();
    for (variable, value) in found {
        match variables.entry(variable.name.clone()) {
            Entry::Vacant(entry) => {
                entry.insert(value);
            }
            Entry::Occupied(entry) => {
                let agrees = match (entry.get(), &value) {
                    (Value::Text(whole), Value::Text(start)) if variable.prefix.is_some() => {
                        whole.starts_with(start.as_str())
                    }
                    (known, value) => known == value,
                };
                if !agrees {
                    return None;
                }
            }
        }
    }
    Some(variables)
}

/// The values of an expression that is there.
fn strip_first(operator: Operator, piece: &str) -> Option<&str> {
    match operator.first() {
        Some(first) => piece.strip_prefix(char::from(first)),
        None => Some(piece),
    }
}

type Found<'a> = Vec<(&'a Variable, Value)>;

/// One value each, in order; a surplus goes to the variable that is exploded, or
/// to the last one.
fn bind_unnamed<'a>(expression: &'a Expression, values: &str, found: &mut Found<'a>) {
    let operator = expression.operator;
    let variables = &expression.variables;
    if let [variable] = variables.as_slice()
        && !variable.explode
    {
        found.push((variable, one_value(operator, variable, values)));
        return;
    }
    let separator = char::from(operator.separator());
    let values: Vec<&str> = values.split(separator).collect();
    let surplus = values.len().saturating_sub(variables.len());
    let exploded = variables.iter().position(|variable| variable.explode);
    let taker = exploded.unwrap_or(variables.len().saturating_sub(1));
    let mut rest = values.as_slice();
    for (index, variable) in variables.iter().enumerate() {
        let count = if index == taker { 1 + surplus } else { 1 };
        let Some((own, after)) = rest.split_at_checked(count) else {
            break;
        };
        rest = after;
        let value = match own {
            own if variable.explode => several_values(operator, own),
            [value] => one_value(operator, variable, value),
            own if operator == Operator::Simple && variable.prefix.is_none() => {
                Value::List(own.iter().map(|value| decode(operator, value)).collect())
            }
            own => Value::Text(decode(operator, &own.join(separator.to_string().as_str()))),
        };
        found.push((variable, value));
    }
}

/// Each pair to the variable of its name; a name that is not known, or comes again,
/// goes to the first variable that is exploded.
fn bind_named<'a>(expression: &'a Expression, values: &str, found: &mut Found<'a>) -> Option<()> {
    let operator = expression.operator;
    let variables = &expression.variables;
    let mut owned: Vec<Vec<(&str, &str)>> = vec![Vec::new(); variables.len()];
    for pair in values.split(char::from(operator.separator())) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let mut free = variables.iter().zip(&owned);
        let known = free.position(|(variable, pairs)| {
            variable.name == name && (variable.explode || pairs.is_empty())
        });
        let owner = known.or_else(|| variables.iter().position(|variable| variable.explode))?;
        owned.get_mut(owner)?.push((name, value));
    }
    for (variable, pairs) in variables.iter().zip(owned) {
        let decode = |text| decode(operator, text);
        let value = match pairs.as_slice() {
            [] => continue,
            pairs if variable.explode && pairs.iter().all(|(name, _)| *name == variable.name) => {
                Value::List(pairs.iter().map(|(_, value)| decode(value)).collect())
            }
            pairs if variable.explode => Value::Pairs(
                pairs
                    .iter()
                    .map(|(name, value)| (decode(name), decode(value)))
                    .collect(),
            ),
            [(_, value)] => one_value(operator, variable, value),
            // Twice the same name, and nothing says which one counts.
            _ => return None,
        };
        found.push((variable, value));
    }
    Some(())
}

/// The value of a variable that is not exploded. A comma in it makes a list,
/// unless commas may stand in a text there.
fn one_value(operator: Operator, variable: &Variable, value: &str) -> Value {
    if operator.keeps_reserved() || variable.prefix.is_some() || !value.contains(',') {
        return Value::Text(decode(operator, value));
    }
    Value::List(
        value
            .split(',')
            .map(|item| decode(operator, item))
            .collect(),
    )
}

fn several_values(operator: Operator, values: &[&str]) -> Value {
    let pairs: Option<Vec<_>> = values.iter().map(|value| value.split_once('=')).collect();
    let decode = |value| decode(operator, value);
    match pairs {
        Some(pairs) => {
            let pairs = pairs.into_iter();
            Value::Pairs(
                pairs
                    .map(|(key, value)| (decode(key), decode(value)))
                    .collect(),
            )
        }
        None => Value::List(values.iter().map(|value| decode(value)).collect()),
    }
}

/// Undoes percent-encoding. Where reserved characters stand for themselves, an
/// encoded one means something else and stays encoded. What is not UTF-8 then
/// stays as it was.
fn decode(operator: Operator, text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let stays = |byte| operator.keeps_reserved() && (is_reserved(byte) || byte == b'%');
        match triplet(bytes, at).filter(|byte| !stays(*byte)) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).unwrap_or_else(|_| text.to_owned())
}
