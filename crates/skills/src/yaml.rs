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

use std::collections::HashMap;

use granit_parser::{Event, Parser, Tag};
use serde_json::{Map, Value};

use crate::scalar::{no_json_form, scalar};

/// Why a text is no YAML that JSON can say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadYaml {
    /// The line within the text, from one.
    pub(crate) line: usize,
    /// What is wrong there.
    pub(crate) reason: String,
}

/// The one document of a text as JSON; no document is null.
pub(crate) fn to_json(text: &str) -> Result<Value, BadYaml> {
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
                let value = scalar(&text, style, tag.as_deref())?;
                self.keep(anchor, before, || value.clone())?;
                if self.wants_key() {
                    return self.key(key_text(&value, &text)?);
                }
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
                if self.wants_key() {
                    return self.key(key_text(&value, "*")?);
                }
                self.place(value)
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

/// The name of a member whose key has this value and was written so.
///
/// Readers make different names of `1.0`, `TRUE` or `~`; only what all of them call
/// the same may stand without quotes.
fn key_text(value: &Value, written: &str) -> Result<String, String> {
    let is_clear = match value {
        Value::String(text) => return Ok(text.clone()),
        Value::Number(number) => !number.is_f64(),
        Value::Bool(_) => true,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    };
    let text = value.to_string();
    if is_clear && text == written {
        return Ok(text);
    }
    Err(format!("the key {written:?} is not text; put it in quotes"))
}

fn check_tag(tag: Option<&Tag>, expected: &str) -> Result<(), String> {
    match tag {
        Some(tag) if tag.core_suffix() != Some(expected) => Err(no_json_form(tag)),
        _ => Ok(()),
    }
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
        for key in ["~", "", "1.0", "TRUE", "0x1"] {
            check_refused(&format!("{key}: 1"), 1, "put it in quotes");
        }
        check_refused("? {a: b}\n: 1", 1, "key");
        check_refused("a: 1\n...\n---\nb: 2", 3, "second document");
        check_refused(&"[".repeat(1000), 1, "");
        check_refused("a: [", 1, "");
        check_refused("a: b: c", 1, "");
    }
}
