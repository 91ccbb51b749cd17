//! One field of a form: how it is asked for, and what an answer means.
//!
//! Pure: lines in, values out.
//!
//! Specification: client/elicitation (requested schema).

use serde_json::{Number, Value};
use switchboard_client::types::{NumberKind, PrimitiveSchemaDefinition, StringFormat};

use crate::output::{Line, Page};

/// How a field is asked for.
pub(super) fn question(name: &str, field: &PrimitiveSchemaDefinition, is_required: bool) -> Page {
    let said = words(field);
    let mut line = Line::new().strong(said.title.unwrap_or(name));
    let mut notes = vec![kind(field).to_owned()];
    if is_required {
        notes.push("required".to_owned());
    }
    if let Some(default) = default(field) {
        notes.push(format!("Enter for {}", shown(&default)));
    } else if !is_required {
        notes.push("Enter to leave it out".to_owned());
    }
    line = line.faint(format!(" ({})", notes.join(", ")));
    let mut page = Page::new().line(line);
    if let Some(description) = said.description {
        page = page.line(Line::new().plain("  ").plain(description));
    }
    for (place, (value, title)) in field.options().into_iter().enumerate() {
        let number = format!("  {}. ", place + 1);
        let mut line = Line::new().plain(number).plain(title);
        if title != value {
            line = line.faint(format!(" ({value})"));
        }
        page = page.line(line);
    }
    page
}

/// What a line means. None, if the field is left out.
///
/// # Errors
/// When it means nothing that the field allows: what it allows.
pub(super) fn answer(
    line: &str,
    field: &PrimitiveSchemaDefinition,
    is_required: bool,
) -> Result<Option<Value>, String> {
    let text = line.trim();
    if text.is_empty() {
        return match default(field) {
            Some(default) => Ok(Some(default)),
            None if is_required => Err("an answer is required".to_owned()),
            None => Ok(None),
        };
    }
    let value = match field {
        PrimitiveSchemaDefinition::Number(_) => {
            let number = text.parse::<Number>();
            Value::Number(number.map_err(|_| format!("{text:?} is no number"))?)
        }
        PrimitiveSchemaDefinition::Boolean(_) => match &*text.to_lowercase() {
            "y" | "yes" | "true" | "1" => Value::Bool(true),
            "n" | "no" | "false" | "0" => Value::Bool(false),
            _ => return Err("yes or no".to_owned()),
        },
        PrimitiveSchemaDefinition::MultiSelect(_)
        | PrimitiveSchemaDefinition::TitledMultiSelect(_) => {
            let words = text
                .split(',')
                .map(str::trim)
                .filter(|word| !word.is_empty());
            Value::Array(words.map(|word| chosen(word, field)).collect())
        }
        PrimitiveSchemaDefinition::String(_) => Value::String(text.to_owned()),
        _ => chosen(text, field),
    };
    check(&value, field)?;
    Ok(Some(value))
}

/// Does a value fit its field?
///
/// # Errors
/// When it does not: what would.
pub(super) fn check(value: &Value, field: &PrimitiveSchemaDefinition) -> Result<(), String> {
    let options = field.options();
    let is_option = |value: &Value| options.iter().any(|(one, _)| value.as_str() == Some(one));
    let one_of = || {
        let values: Vec<&str> = options.iter().map(|(value, _)| *value).collect();
        format!("one of {}", values.join(", "))
    };
    let number = |number: &Option<Number>| number.as_ref().and_then(Number::as_f64);
    match field {
        PrimitiveSchemaDefinition::String(schema) => {
            let text = value.as_str().ok_or("a text")?;
            let length = text.chars().count() as f64;
            if let Some(least) = number(&schema.min_length).filter(|least| length < *least) {
                return Err(format!("at least {least} characters"));
            }
            if let Some(most) = number(&schema.max_length).filter(|most| length > *most) {
                return Err(format!("at most {most} characters"));
            }
            match &schema.format {
                Some(StringFormat::Email) if !looks_like_email(text) => {
                    Err("an e-mail address".to_owned())
                }
                Some(StringFormat::Uri) if !text.contains(':') => Err("a URI".to_owned()),
                Some(StringFormat::Date) if !looks_like_date(text) => {
                    Err("a date, as 2026-12-31".to_owned())
                }
                Some(StringFormat::DateTime)
                    if !text.split_at_checked(10).is_some_and(|(date, rest)| {
                        looks_like_date(date) && rest.starts_with(['T', 't'])
                    }) =>
                {
                    Err("a date and a time, as 2026-12-31T23:59:00Z".to_owned())
                }
                _ => Ok(()),
            }
        }
        PrimitiveSchemaDefinition::Number(schema) => {
            let given = value.as_f64().ok_or("a number")?;
            if schema.kind == NumberKind::Integer && given.fract() != 0.0 {
                return Err("a whole number".to_owned());
            }
            if let Some(least) = number(&schema.minimum).filter(|least| given < *least) {
                return Err(format!("at least {least}"));
            }
            match number(&schema.maximum).filter(|most| given > *most) {
                Some(most) => Err(format!("at most {most}")),
                None => Ok(()),
            }
        }
        PrimitiveSchemaDefinition::Boolean(_) => match value.is_boolean() {
            true => Ok(()),
            false => Err("true or false".to_owned()),
        },
        PrimitiveSchemaDefinition::MultiSelect(schema) => {
            let many = (number(&schema.min_items), number(&schema.max_items));
            check_many(value, many, is_option, one_of)
        }
        PrimitiveSchemaDefinition::TitledMultiSelect(schema) => {
            let many = (number(&schema.min_items), number(&schema.max_items));
            check_many(value, many, is_option, one_of)
        }
        _ if is_option(value) => Ok(()),
        _ => Err(one_of()),
    }
}

fn check_many(
    value: &Value,
    (least, most): (Option<f64>, Option<f64>),
    is_option: impl Fn(&Value) -> bool,
    one_of: impl Fn() -> String,
) -> Result<(), String> {
    let values = value.as_array().ok_or("a list")?;
    if !values.iter().all(is_option) {
        return Err(format!("some, each {}", one_of()));
    }
    let count = values.len() as f64;
    if let Some(least) = least.filter(|least| count < *least) {
        return Err(format!("at least {least} of them"));
    }
    match most.filter(|most| count > *most) {
        Some(most) => Err(format!("at most {most} of them")),
        None => Ok(()),
    }
}

/// What a field is if the user changes nothing.
pub(super) fn default(field: &PrimitiveSchemaDefinition) -> Option<Value> {
    let many = |values: &Option<Vec<String>>| values.clone().map(Value::from);
    match field {
        PrimitiveSchemaDefinition::String(schema) => schema.default.clone().map(Value::String),
        PrimitiveSchemaDefinition::Number(schema) => schema.default.clone().map(Value::Number),
        PrimitiveSchemaDefinition::Boolean(schema) => schema.default.map(Value::Bool),
        PrimitiveSchemaDefinition::SingleSelect(schema) => {
            schema.default.clone().map(Value::String)
        }
        PrimitiveSchemaDefinition::TitledSingleSelect(schema) => {
            schema.default.clone().map(Value::String)
        }
        PrimitiveSchemaDefinition::MultiSelect(schema) => many(&schema.default),
        PrimitiveSchemaDefinition::TitledMultiSelect(schema) => many(&schema.default),
        PrimitiveSchemaDefinition::LegacyTitled(schema) => {
            schema.default.clone().map(Value::String)
        }
        _ => None,
    }
}

/// The option that a word means: its number, its value or its title.
fn chosen(word: &str, field: &PrimitiveSchemaDefinition) -> Value {
    let options = field.options();
    let by_name = options
        .iter()
        .find(|(value, title)| *value == word || title.eq_ignore_ascii_case(word));
    let by_number = || {
        let number: usize = word.parse().ok()?;
        options.get(number.checked_sub(1)?)
    };
    let value = by_name.or_else(by_number).map(|(value, _)| *value);
    Value::String(value.unwrap_or(word).to_owned())
}

struct Words<'a> {
    title: Option<&'a str>,
    description: Option<&'a str>,
}

fn words(field: &PrimitiveSchemaDefinition) -> Words<'_> {
    macro_rules! of {
        ($schema:expr) => {
            ($schema.title.as_deref(), $schema.description.as_deref())
        };
    }
    let (title, description) = match field {
        PrimitiveSchemaDefinition::String(schema) => of!(schema),
        PrimitiveSchemaDefinition::Number(schema) => of!(schema),
        PrimitiveSchemaDefinition::Boolean(schema) => of!(schema),
        PrimitiveSchemaDefinition::SingleSelect(schema) => of!(schema),
        PrimitiveSchemaDefinition::TitledSingleSelect(schema) => of!(schema),
        PrimitiveSchemaDefinition::MultiSelect(schema) => of!(schema),
        PrimitiveSchemaDefinition::TitledMultiSelect(schema) => of!(schema),
        PrimitiveSchemaDefinition::LegacyTitled(schema) => of!(schema),
        _ => (None, None),
    };
    Words { title, description }
}

const fn kind(field: &PrimitiveSchemaDefinition) -> &'static str {
    match field {
        PrimitiveSchemaDefinition::Number(schema) => match schema.kind {
            NumberKind::Integer => "whole number",
            NumberKind::Number => "number",
        },
        PrimitiveSchemaDefinition::Boolean(_) => "yes or no",
        PrimitiveSchemaDefinition::String(schema) => match &schema.format {
            Some(StringFormat::Email) => "e-mail address",
            Some(StringFormat::Uri) => "URI",
            Some(StringFormat::Date) => "date",
            Some(StringFormat::DateTime) => "date and time",
            _ => "text",
        },
        PrimitiveSchemaDefinition::MultiSelect(_)
        | PrimitiveSchemaDefinition::TitledMultiSelect(_) => "some of these, with commas",
        _ => "one of these",
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(values) => {
            let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            values.join(", ")
        }
        other => other.to_string(),
    }
}

fn looks_like_email(text: &str) -> bool {
    let parts = text.split_once('@');
    parts.is_some_and(|(name, host)| {
        !name.is_empty() && host.contains('.') && !text.contains(char::is_whitespace)
    })
}

fn looks_like_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_number = |text: &str, length: usize, least: u32, most: u32| {
        let number = text.parse::<u32>();
        text.len() == length && number.is_ok_and(|number| (least..=most).contains(&number))
    };
    match *parts {
        [year, month, day] => {
            is_number(year, 4, 0, 9999) && is_number(month, 2, 1, 12) && is_number(day, 2, 1, 31)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field(schema: Value) -> PrimitiveSchemaDefinition {
        serde_json::from_value(schema).unwrap()
    }

    fn check_answer(schema: Value, line: &str, expected: Result<Value, &str>) {
        let answer = answer(line, &field(schema), true);
        let answer = answer.map(|value| value.unwrap_or(Value::Null));
        assert_eq!(answer, expected.map_err(str::to_owned), "{line:?}");
    }

    #[test]
    fn a_line_is_what_its_field_says() {
        let text = json!({"type": "string", "maxLength": 3});
        check_answer(text.clone(), " ab\n", Ok(json!("ab")));
        check_answer(text.clone(), "abcd", Err("at most 3 characters"));
        check_answer(text, "\n", Err("an answer is required"));
        let number = json!({"type": "integer", "minimum": 1, "maximum": 9, "default": 5});
        check_answer(number.clone(), "7", Ok(json!(7)));
        check_answer(number.clone(), "", Ok(json!(5)));
        check_answer(number.clone(), "0", Err("at least 1"));
        check_answer(number.clone(), "1.5", Err("a whole number"));
        check_answer(number, "x", Err("\"x\" is no number"));
        let switch = json!({"type": "boolean"});
        check_answer(switch.clone(), "Y", Ok(json!(true)));
        check_answer(switch, "maybe", Err("yes or no"));
        let date = json!({"type": "string", "format": "date"});
        check_answer(date.clone(), "2026-11-15", Ok(json!("2026-11-15")));
        check_answer(date, "tomorrow", Err("a date, as 2026-12-31"));
        let email = json!({"type": "string", "format": "email"});
        check_answer(email, "a@b", Err("an e-mail address"));
    }

    #[test]
    fn a_choice_is_made_by_number_value_or_title() {
        let one = json!({"type": "string", "oneOf": [
            {"const": "s", "title": "Small"}, {"const": "m", "title": "Medium"}]});
        check_answer(one.clone(), "2", Ok(json!("m")));
        check_answer(one.clone(), "small", Ok(json!("s")));
        check_answer(one.clone(), "m", Ok(json!("m")));
        check_answer(one, "3", Err("one of s, m"));
        let some = json!({"type": "array", "maxItems": 1,
            "items": {"type": "string", "enum": ["a", "b"]}});
        check_answer(some.clone(), "b", Ok(json!(["b"])));
        check_answer(some.clone(), "1, 2", Err("at most 1 of them"));
        check_answer(some, "c", Err("some, each one of a, b"));
    }
}
