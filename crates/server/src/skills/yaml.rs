//! YAML to JSON, for the frontmatter of a skill.
//!
//! Plain scalars mean what the core schema of YAML 1.2 says, the one schema that
//! hosts share: `yes` is text, `0o17` is fifteen, a date is text. What has no JSON
//! form is refused rather than bent, because a host compares the object that we
//! publish with the file, member by member, and loads nothing that differs.
//!
//! The crate below finds the structure; values, aliases and their cost are ours.
//! An alias copies what it names, so a few lines could ask for gigabytes: every
//! node is paid for out of one budget.
//!
//! Specification: YAML 1.2.2 section 10.3 (core schema), 3.2.1.3 (unique keys).

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Number, Value};

/// Why a text is no YAML that JSON can say.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadYaml {
    /// The line within the text, from one.
    pub(super) line: usize,
    /// What is wrong there.
    pub(super) reason: String,
}

/// The one document of a text as JSON; no document is null.
pub(super) fn to_json(text: &str) -> Result<Value, BadYaml> {
    let options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut builder = Builder::default();
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|error| BadYaml {
            line: error.marker().line(),
            reason: error.info(),
        })?;
        builder.handle(event).map_err(|reason| BadYaml {
            line: span.start.line(),
            reason,
        })?;
    }
    Ok(builder.document.unwrap_or(Value::Null))
}

/// Puts the events of a parser together.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    document: Option<Value>,
    documents: usize,
    spent: usize,
}

/// A sequence or mapping whose end has not come yet.
struct Open {
    anchor: usize,
    /// What had been spent before it began.
    before: usize,
    content: Content,
}

enum Content {
    Sequence(Vec<Value>),
    /// The members so far, and the key that waits for its value.
    Mapping(Map<String, Value>, Option<String>),
}

/// A value that an alias may name, and what a copy of it costs.
struct Anchored {
    value: Value,
    cost: usize,
}

impl Builder {
    fn handle(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err("there is a second document".to_owned());
                }
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                let before = self.spent;
                self.spend(text.len() + 1)?;
                let tag = tag.as_deref();
                if self.wants_key() {
                    self.keep(anchor, before, || Value::String(text.to_string()))?;
                    return self.key(text.into_owned());
                }
                let value = scalar(text, style, tag)?;
                self.keep(anchor, before, || value.clone())?;
                self.place(value)
            }
            Event::SequenceStart(_, anchor, tag) => {
                check_tag(tag.as_deref(), "seq")?;
                self.begin(anchor, Content::Sequence(Vec::new()))
            }
            Event::MappingStart(_, anchor, tag) => {
                check_tag(tag.as_deref(), "map")?;
                self.begin(anchor, Content::Mapping(Map::new(), None))
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else {
                    return Err("something ends that never began".to_owned());
                };
                let value = match open.content {
                    Content::Sequence(items) => Value::Array(items),
                    Content::Mapping(members, _) => Value::Object(members),
                };
                self.keep(open.anchor, open.before, || value.clone())?;
                self.place(value)
            }
            Event::Alias(anchor) => {
                let Some(named) = self.anchors.get(&anchor) else {
                    return Err("an alias stands inside of what it names".to_owned());
                };
                let cost = named.cost;
                // Paid before it is copied.
                self.spend(cost)?;
                let value = self.anchors.get(&anchor).map(|named| named.value.clone());
                let value = value.unwrap_or_default();
                match value {
                    Value::String(text) if self.wants_key() => self.key(text),
                    value => self.place(value),
                }
            }
            // The stream's own marks, and notes that the options leave out.
            _ => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, content: Content) -> Result<(), String> {
        if self.wants_key() {
            return Err("a key must be a plain word or text".to_owned());
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(format!("it is nested deeper than {MAX_DEPTH} levels"));
        }
        let before = self.spent;
        self.spend(1)?;
        self.open.push(Open {
            anchor,
            before,
            content,
        });
        Ok(())
    }

    /// Does a mapping wait for its next key?
    fn wants_key(&self) -> bool {
        matches!(
            self.open.last(),
            Some(Open {
                content: Content::Mapping(_, None),
                ..
            })
        )
    }

    fn key(&mut self, text: String) -> Result<(), String> {
        if let Some(Open {
            content: Content::Mapping(members, key),
            ..
        }) = self.open.last_mut()
        {
            if members.contains_key(&text) {
                return Err(format!("the key {text:?} is there twice"));
            }
            *key = Some(text);
        }
        Ok(())
    }

    fn place(&mut self, value: Value) -> Result<(), String> {
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.document = Some(value),
            Some(Content::Sequence(items)) => items.push(value),
            Some(Content::Mapping(members, key)) => {
                let Some(key) = key.take() else {
                    return Err("a key must be a plain word or text".to_owned());
                };
                members.insert(key, value);
            }
        }
        Ok(())
    }

    /// Keeps a copy of what has an anchor.
    fn keep(
        &mut self,
        anchor: usize,
        before: usize,
        value: impl FnOnce() -> Value,
    ) -> Result<(), String> {
        if anchor != 0 {
            let cost = self.spent.saturating_sub(before);
            self.spend(cost)?;
            let value = value();
            self.anchors.insert(anchor, Anchored { value, cost });
        }
        Ok(())
    }

    fn spend(&mut self, cost: usize) -> Result<(), String> {
        self.spent = self.spent.saturating_add(cost);
        if self.spent > MAX_COST {
            return Err("its aliases copy too much; write the values out".to_owned());
        }
        Ok(())
    }
}

fn check_tag(tag: Option<&Tag>, expected: &str) -> Result<(), String> {
    match tag {
        Some(tag) if tag.core_suffix() != Some(expected) => Err(no_json_form(tag)),
        _ => Ok(()),
    }
}

fn no_json_form(tag: &Tag) -> String {
    format!(
        "the tag {}{} has no JSON form",
        tag.original_handle(),
        tag.suffix()
    )
}

/// What a scalar means.
fn scalar(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    let Some(tag) = tag else {
        return match style {
            ScalarStyle::Plain => plain(text),
            _ => Ok(Value::String(text.into_owned())),
        };
    };
    // `!` alone: text, whatever it looks like.
    if tag.handle().is_empty() && tag.suffix() == "!" || tag.handle() == "!" && tag.suffix() == "" {
        return Ok(Value::String(text.into_owned()));
    }
    let Some(kind) = tag.core_suffix() else {
        return Err(no_json_form(tag));
    };
    if kind == "str" {
        return Ok(Value::String(text.into_owned()));
    }
    let shown = text.to_string();
    let value = plain(text)?;
    let fits = match (kind, &value) {
        ("null", Value::Null) | ("bool", Value::Bool(_)) => true,
        ("int", Value::Number(number)) => !number.is_f64(),
        ("float", Value::Number(_)) => true,
        _ => false,
    };
    match (fits, kind, &value) {
        (false, ..) => Err(format!("{shown:?} is no {kind}")),
        (true, "float", Value::Number(number)) => Ok(number.as_f64().map_or(value, Value::from)),
        (true, ..) => Ok(value),
    }
}

/// What a scalar without quotes means in the core schema.
fn plain(text: Cow<'_, str>) -> Result<Value, String> {
    Ok(match text.as_ref() {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        other => match number(other)? {
            Some(number) => Value::Number(number),
            None => Value::String(text.into_owned()),
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

// Deeper than anyone writes by hand, far below what a reader of JSON refuses.
const MAX_DEPTH: usize = 32;

// Bytes of text plus one for each node, copies included. Four times the longest
// frontmatter, which without aliases cannot spend more than twice its length.
const MAX_COST: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(yaml: &str, expected: Value) {
        assert_eq!(to_json(yaml), Ok(expected), "{yaml}");
    }

    fn check_refused(yaml: &str, line: usize, reason: &str) {
        let bad = to_json(yaml).unwrap_err();
        assert!(bad.reason.contains(reason), "{yaml}: {}", bad.reason);
        assert_eq!(bad.line, line, "{yaml}: {}", bad.reason);
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
    fn text_over_lines_keeps_the_breaks_that_it_means() {
        check("a: |\n  one\n  two\n", json!({"a": "one\ntwo\n"}));
        check(
            "a: >-\n  one\n  two\n\n  three\n",
            json!({"a": "one two\nthree"}),
        );
        check("a: one\n  two\n", json!({"a": "one two"}));
        check("a: \"x\\u00e9\\n\"", json!({"a": "xé\n"}));
    }

    #[test]
    fn mappings_and_sequences_nest() {
        check(
            "a:\n  b:\n    - c: 1\n      d: [x, {e: f}]\n  1: one\n  true: yes\n",
            json!({"a": {"b": [{"c": 1, "d": ["x", {"e": "f"}]}], "1": "one", "true": "yes"}}),
        );
        check("a:\nb:\n", json!({"a": null, "b": null}));
    }

    #[test]
    fn tags_of_the_core_schema_are_followed() {
        check("[!!str 1, !!int \"2\", !!float 3]", json!(["1", 2, 3.0]));
        check("[! 1, !!map {}, !!seq []]", json!(["1", {}, []]));
        check_refused("a: !!int x", 1, "is no int");
        check_refused("a: !!binary aGk=", 1, "no JSON form");
        check_refused("a: !mine {}", 1, "no JSON form");
    }

    #[test]
    fn an_alias_is_a_copy() {
        check(
            "a: &x {b: [1]}\nc: *x\n&k d: 1\ne: {*k : 2}\n",
            json!({"a": {"b": [1]}, "c": {"b": [1]}, "d": 1, "e": {"d": 2}}),
        );
        check_refused("a: &x [*x]", 1, "inside of what it names");
        check_refused("a: *x", 1, "anchor");
    }

    #[test]
    fn aliases_that_multiply_are_refused() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let below = vec![format!("*a{}", level - 1); 9].join(", ");
            text += &format!("a{level}: &a{level} [{below}]\n");
        }
        assert!(to_json(&text).unwrap_err().reason.contains("copy too much"));
    }

    #[test]
    fn what_json_cannot_say_is_refused_with_its_line() {
        check_refused("a: 1\nb: .nan", 2, ".nan");
        check_refused("a: 1\nb: -.inf", 2, "-.inf");
        check_refused("a: 18446744073709551616", 1, "put it in quotes");
        check_refused("a: 1e999", 1, "put it in quotes");
        check_refused("a: 1\nb: 2\na: 3", 3, "twice");
        check_refused("[a, b]: 1", 1, "key");
        check_refused("? {a: b}\n: 1", 1, "key");
        check_refused("a: 1\n...\n---\nb: 2", 3, "second document");
        check_refused(&"[".repeat(1000), 1, "");
        check_refused("a: [", 1, "");
        check_refused("a: b: c", 1, "");
    }
}
