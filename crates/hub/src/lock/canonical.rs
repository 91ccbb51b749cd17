//! A definition as a tree with one spelling: what is hashed, written down and compared.
//!
//! Members are sorted by the bytes of their names, numbers are spelt by their value, and there is no
//! white space. Members that come twice are all kept.

use std::fmt::{self, Write as _};

use ring::digest::{SHA256, digest};
use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::invisible::is_invisible;

/// JSON with one spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    /// As it is spelt.
    Number(String),
    Text(String),
    List(Vec<Self>),
    /// By name.
    Object(Vec<(String, Self)>),
}

impl Node {
    /// What something is as JSON. What is too deep to be read is the text of it.
    pub(crate) fn of(value: &impl Serialize) -> Self {
        let text = serde_json::to_string(value).unwrap_or_default();
        Self::read(&text, DEEPEST).unwrap_or(Self::Text(text))
    }

    /// Reads JSON that is nested so deep at most.
    pub(crate) fn read(text: &str, depth: usize) -> Result<Self, serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let node = Reader { depth }.deserialize(&mut reader)?;
        reader.end()?;
        Ok(node)
    }

    /// An object of these members, in this order.
    pub(crate) fn object<const N: usize>(members: [(&str, Self); N]) -> Self {
        let members = members.into_iter();
        Self::Object(members.map(|(name, node)| (name.into(), node)).collect())
    }

    /// The members of an object; none of anything else.
    pub(crate) fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Object(members) => members,
            _ => &[],
        }
    }

    /// The member of an object.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        let mut members = self.members().iter();
        members
            .find(|(known, _)| known == name)
            .map(|(_, node)| node)
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Takes a member out of an object.
    pub(crate) fn remove(&mut self, name: &str) {
        if let Self::Object(members) = self {
            members.retain(|(known, _)| known != name);
        }
    }

    /// Takes a member out of a member that is an object.
    pub(crate) fn remove_within(&mut self, outer: &str, name: &str) {
        if let Self::Object(members) = self {
            for (_, node) in members.iter_mut().filter(|(known, _)| known == outer) {
                node.remove(name);
            }
        }
    }

    /// In one line.
    pub(crate) fn canonical(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, None);
        text
    }

    /// In many lines, for people and for tools that compare lines. What nobody sees is escaped.
    pub(crate) fn pretty(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, Some(0));
        text.push('\n');
        text
    }

    /// The SHA-256 of its one line, in hexadecimal digits.
    pub(crate) fn sha256(&self) -> String {
        let digest = digest(&SHA256, self.canonical().as_bytes());
        let mut text = String::with_capacity(64);
        for byte in digest.as_ref() {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    fn write(&self, out: &mut String, indent: Option<usize>) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => out.push_str(number),
            Self::Text(text) => write_text(text, out, indent.is_some()),
            Self::List(items) => {
                write_all(out, ['[', ']'], indent, items, |item, out, indent| {
                    item.write(out, indent);
                });
            }
            Self::Object(members) => {
                write_all(
                    out,
                    ['{', '}'],
                    indent,
                    members,
                    |(name, node), out, indent| {
                        write_text(name, out, indent.is_some());
                        out.push_str(if indent.is_some() { ": " } else { ":" });
                        node.write(out, indent);
                    },
                );
            }
        }
    }
}

fn write_all<T>(
    out: &mut String,
    [open, close]: [char; 2],
    indent: Option<usize>,
    items: &[T],
    write: impl Fn(&T, &mut String, Option<usize>),
) {
    let inner = indent.map(|indent| indent + 1);
    let line = |out: &mut String, indent: Option<usize>| {
        if let Some(indent) = indent {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", indent));
        }
    };
    out.push(open);
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        line(out, inner);
        write(item, out, inner);
    }
    if !items.is_empty() {
        line(out, indent);
    }
    out.push(close);
}

fn write_text(text: &str, out: &mut String, escapes_unseen: bool) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' => write_escape(character, out),
            _ if escapes_unseen && is_invisible(character) => write_escape(character, out),
            _ => out.push(character),
        }
    }
    out.push('"');
}

fn write_escape(character: char, out: &mut String) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        let _ = write!(out, "\\u{unit:04x}");
    }
}

/// Reads a tree that is nested so deep at most.
#[derive(Clone, Copy)]
struct Reader {
    depth: usize,
}

impl Reader {
    fn inner<E: Error>(self) -> Result<Self, E> {
        let depth = self.depth.checked_sub(1);
        let depth = depth.ok_or_else(|| E::custom("it is nested too deep"))?;
        Ok(Self { depth })
    }
}

impl<'de> DeserializeSeed<'de> for Reader {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Number(match value {
            // Also what is negative and nothing.
            0.0 => "0".to_owned(),
            value if value.fract() == 0.0 && value.abs() < LARGEST_WHOLE => format!("{value:.0}"),
            value => serde_json::Number::from_f64(value)
                .ok_or_else(|| E::custom("no number"))?
                .to_string(),
        }))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let inner = self.inner()?;
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            all.push(item);
        }
        Ok(Node::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Node, A::Error> {
        let inner = self.inner()?;
        let mut all = Vec::new();
        while let Some(name) = members.next_key::<String>()? {
            all.push((name, members.next_value_seed(inner)?));
        }
        // Those that have one name stay in their order.
        all.sort_by(|(one, _): &(String, _), (other, _)| one.cmp(other));
        Ok(Node::Object(all))
    }
}

// Far below what the reader of JSON takes, so that a whole file of them can be read, too.
const DEEPEST: usize = 100;
/// From here on numbers are spelt with an exponent.
const LARGEST_WHOLE: f64 = 1e21;

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        Node::read(text, DEEPEST).unwrap().canonical()
    }

    #[test]
    fn order_of_members_and_white_space_do_not_matter() {
        let one = r#"{"b":[1,{"y":null,"x":true}],"a":"ä\u00e4\/"}"#;
        let other = "{ \"a\" : \"\\u00e4ä/\",\n\t\"b\":[ 1, { \"x\": true, \"y\": null } ]}";
        assert_eq!(canonical(one), canonical(other));
        assert_eq!(canonical(one), r#"{"a":"ää/","b":[1,{"x":true,"y":null}]}"#);
        assert_eq!(
            Node::read(one, DEEPEST).unwrap().sha256(),
            Node::read(other, DEEPEST).unwrap().sha256()
        );
    }

    #[test]
    fn numbers_are_spelt_by_their_value() {
        let check = |written: &str, expected: &str| {
            assert_eq!(canonical(written), expected, "{written}");
        };
        for one in ["1", "1.0", "1e0", "10e-1", "1.000"] {
            check(one, "1");
        }
        for nothing in ["0", "-0", "0.0", "-0.0", "0e5"] {
            check(nothing, "0");
        }
        check("-1.50", "-1.5");
        check("1e2", "100");
        check("1E-7", "1e-7");
        check("0.0000001", "1e-7");
        check("100000000000000000000", "100000000000000000000");
        check("1e20", "100000000000000000000");
        // Where a double would make them one.
        check("9007199254740993", "9007199254740993");
        check("18446744073709551615", "18446744073709551615");
        check("-9223372036854775808", "-9223372036854775808");
    }

    #[test]
    fn order_of_items_and_white_space_in_texts_do_matter() {
        assert_ne!(canonical("[1,2]"), canonical("[2,1]"));
        assert_ne!(canonical(r#"" a""#), canonical(r#""a""#));
        assert_ne!(canonical(r#"{"a":null}"#), canonical("{}"));
        assert_ne!(canonical(r#""1""#), canonical("1"));
    }

    #[test]
    fn a_member_that_comes_twice_hides_nothing() {
        let text = r#"{"a":1,"b":0,"a":2}"#;
        assert_eq!(canonical(text), r#"{"a":1,"a":2,"b":0}"#);
        assert_ne!(canonical(text), canonical(r#"{"a":3,"b":0,"a":2}"#));
    }

    #[test]
    fn the_hash_is_that_of_everybody() {
        // printf '{"a":1}' | sha256sum
        assert_eq!(
            Node::read(r#"{ "a": 1.0 }"#, DEEPEST).unwrap().sha256(),
            "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
        );
    }

    #[test]
    fn what_is_pretty_reads_back_as_the_same_and_hides_nothing() {
        let text = r#"{"z":[],"y":{},"x":[1,{"a":"\u202e\u200b\ud83d\ude00\ue0041\ud83c\udff4\udb40\udc67\n\u0001"}]}"#;
        let node = Node::read(text, DEEPEST).unwrap();
        let pretty = node.pretty();
        assert_eq!(Node::read(&pretty, DEEPEST).unwrap(), node);
        assert!(pretty.contains("\\u202e\\u200b😀\\ue004"), "{pretty}");
        assert!(pretty.contains("\\udb40\\udc67\\n\\u0001"), "{pretty}");
        assert!(
            pretty.starts_with("{\n  \"x\": [\n    1,\n    {\n"),
            "{pretty}"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_reads_back_as_it_was(text: String) {
            let node = Node::Text(text.clone());
            for written in [node.canonical(), node.pretty()] {
                proptest::prop_assert_eq!(&serde_json::from_str::<String>(&written).unwrap(), &text);
            }
        }

        #[test]
        fn any_number_has_one_spelling(value: f64, whole: i64) {
            for written in [value.to_string(), format!("{value:e}"), whole.to_string()] {
                let Ok(node) = Node::read(&written, DEEPEST) else {
                    // No number.
                    continue;
                };
                let once = node.canonical();
                let again = Node::read(&once, DEEPEST).unwrap().canonical();
                proptest::prop_assert_eq!(&once, &again);
                let meant: f64 = written.parse().unwrap();
                proptest::prop_assert_eq!(once.parse::<f64>().unwrap(), meant);
            }
        }
    }

    #[test]
    fn what_is_too_deep_is_taken_as_text() {
        let deep = format!("{}{}", "[".repeat(DEEPEST + 1), "]".repeat(DEEPEST + 1));
        assert!(Node::read(&deep, DEEPEST).is_err());
        let raw = serde_json::value::RawValue::from_string(deep.clone()).unwrap();
        assert_eq!(Node::of(&raw), Node::Text(deep));
    }
}
