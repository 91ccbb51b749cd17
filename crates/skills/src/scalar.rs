//! What a scalar of YAML means, by the core schema of YAML 1.2.
//!
//! Specification: YAML 1.2.2 section 10.3 (core schema).

use granit_parser::{ScalarStyle, Tag};
use serde_json::{Number, Value};

/// What a scalar means.
pub(crate) fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    let Some(tag) = tag else {
        return match style {
            ScalarStyle::Plain => plain(text),
            _ => Ok(Value::String(text.to_owned())),
        };
    };
    // `!` alone: text, whatever it looks like.
    if tag.handle().is_empty() && tag.suffix() == "!" || tag.handle() == "!" && tag.suffix() == "" {
        return Ok(Value::String(text.to_owned()));
    }
    let Some(kind) = tag.core_suffix() else {
        return Err(no_json_form(tag));
    };
    if kind == "str" {
        return Ok(Value::String(text.to_owned()));
    }
    let value = plain(text)?;
    let fits = match (kind, &value) {
        ("null", Value::Null) | ("bool", Value::Bool(_)) => true,
        ("int", Value::Number(number)) => !number.is_f64(),
        ("float", Value::Number(_)) => true,
        _ => false,
    };
    match (fits, kind, &value) {
        (false, ..) => Err(format!("{text:?} is no {kind}")),
        (true, "float", Value::Number(number)) => Ok(number.as_f64().map_or(value, Value::from)),
        (true, ..) => Ok(value),
    }
}

/// What a scalar without quotes means in the core schema.
fn plain(text: &str) -> Result<Value, String> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        other => match number(other)? {
            Some(number) => Value::Number(number),
            None => Value::String(text.to_owned()),
        },
    })
}

/// The number that a word is, if it is one.
fn number(word: &str) -> Result<Option<Number>, String> {
    let lost = || format!("the number {word} has no exact JSON form; put it in quotes");
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = word.strip_prefix(prefix) {
            if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
                return Ok(None);
            }
            let value = u64::from_str_radix(digits, radix).map_err(|_| lost())?;
            return Ok(Some(value.into()));
        }
    }
    let unsigned = word.strip_prefix(['-', '+']).unwrap_or(word);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(word, ".nan" | ".NaN" | ".NAN") {
        return Err(lost());
    }
    if is_digits(unsigned) {
        let whole = if word.starts_with('-') {
            word.parse::<i64>().map(Number::from)
        } else {
            unsigned.parse::<u64>().map(Number::from)
        };
        return whole.map(Some).map_err(|_| lost());
    }
    if !is_decimal(unsigned) {
        return Ok(None);
    }
    let value = word.parse::<f64>().map_err(|_| lost())?;
    Number::from_f64(value).map(Some).ok_or_else(lost)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `1.`, `.5`, `1.5e-3`, `1e9`: digits on at least one side of the point.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |part: &str| part.is_empty() || is_digits(part);
    let has_mantissa = !(whole.is_empty() && fraction.is_empty());
    let has_exponent = exponent
        .is_none_or(|exponent| is_digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)));
    has_mantissa && digits(whole) && digits(fraction) && has_exponent
}

/// Says that a tag cannot be followed.
pub(crate) fn no_json_form(tag: &Tag) -> String {
    format!(
        "the tag {}{} has no JSON form",
        tag.original_handle(),
        tag.suffix()
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::yaml::to_json;

    fn check(yaml: &str, expected: Value) {
        assert_eq!(to_json(yaml), Ok(expected), "{yaml}");
    }

    fn check_refused(yaml: &str, reason: &str) {
        let bad = to_json(yaml).unwrap_err();
        assert!(bad.reason.contains(reason), "{yaml}: {}", bad.reason);
    }

    #[test]
    fn plain_words_mean_what_the_core_schema_says() {
        check("[~, null, '', ]", json!([null, null, ""]));
        check(
            "[true, FALSE, yes, off]",
            json!([true, false, "yes", "off"]),
        );
        check(
            "[1, -2, +3, 007, 0o17, 0xfF]",
            json!([1, -2, 3, 7, 15, 255]),
        );
        check("[1.5, .5, 2., 1e3]", json!([1.5, 0.5, 2.0, 1000.0]));
        check("[1.2.3, 2026-01-31, 0x, e5, '.', '-']", {
            json!(["1.2.3", "2026-01-31", "0x", "e5", ".", "-"])
        });
        check("18446744073709551615", json!(u64::MAX));
        check("", Value::Null);
    }

    #[test]
    fn tags_of_the_core_schema_are_followed() {
        check("[!!str 1, !!int \"2\", !!float 3]", json!(["1", 2, 3.0]));
        check("[! 1, !!map {}, !!seq []]", json!(["1", {}, []]));
        check_refused("a: !!int x", "is no int");
        check_refused("a: !!binary aGk=", "no JSON form");
        check_refused("a: !mine {}", "no JSON form");
    }
}
