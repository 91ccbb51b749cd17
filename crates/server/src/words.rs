//! Types read from words: the variables of a URI, the arguments of a prompt.
//!
//! Both are texts on the wire. A field that is a number or a truth value is read from its
//! text, so that handlers have the types they want.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{self, DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use switchboard_protocol::uri_template::{Value, Variables};

/// Reads the variables of a URI as a type with a field for each.
pub(crate) fn of_variables<T: DeserializeOwned>(variables: &Variables) -> Result<T, WordError> {
    let words = variables.iter().map(|(name, value)| {
        let word = match value {
            Value::List(items) => Word::Many(items),
            other => Word::One(other.text()),
        };
        (name.as_str(), word)
    });
    T::deserialize(MapDeserializer::new(words))
}

/// Reads the arguments of a prompt as a type with a field for each.
pub(crate) fn of_arguments<T: DeserializeOwned>(
    arguments: &BTreeMap<String, String>,
) -> Result<T, WordError> {
    let words = arguments
        .iter()
        .map(|(name, value)| (name.as_str(), Word::One(Cow::Borrowed(value))));
    T::deserialize(MapDeserializer::new(words))
}

/// Why words do not make up a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WordError(String);

impl fmt::Display for WordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WordError {}

impl de::Error for WordError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// One value.
enum Word<'a> {
    One(Cow<'a, str>),
    Many(&'a [String]),
}

impl<'a> Word<'a> {
    fn text(self) -> Cow<'a, str> {
        match self {
            Self::One(text) => text,
            Self::Many(items) => Cow::Owned(items.join(",")),
        }
    }

    fn parse<T: std::str::FromStr>(self, wanted: &'static str) -> Result<T, WordError> {
        let text = self.text();
        text.parse()
            .map_err(|_| WordError(format!("expected {wanted}, found {text:?}")))
    }
}

impl<'de> IntoDeserializer<'de, WordError> for Word<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident $type:ty, $wanted:literal;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, WordError> {
            visitor.$visit(self.parse::<$type>($wanted)?)
        }
    )*};
}

impl<'de> Deserializer<'de> for Word<'de> {
    type Error = WordError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, WordError> {
        match self.text() {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    parsed! {
        deserialize_bool visit_bool bool, "true or false";
        deserialize_i8 visit_i8 i8, "a whole number";
        deserialize_i16 visit_i16 i16, "a whole number";
        deserialize_i32 visit_i32 i32, "a whole number";
        deserialize_i64 visit_i64 i64, "a whole number";
        deserialize_i128 visit_i128 i128, "a whole number";
        deserialize_u8 visit_u8 u8, "a whole number";
        deserialize_u16 visit_u16 u16, "a whole number";
        deserialize_u32 visit_u32 u32, "a whole number";
        deserialize_u64 visit_u64 u64, "a whole number";
        deserialize_u128 visit_u128 u128, "a whole number";
        deserialize_f32 visit_f32 f32, "a number";
        deserialize_f64 visit_f64 f64, "a number";
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, WordError> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, WordError> {
        let items: Vec<Word<'de>> = match self {
            Self::Many(items) => items.iter().map(|item| Word::One(item.into())).collect(),
            one @ Self::One(_) => vec![one],
        };
        visitor.visit_seq(SeqDeserializer::new(items.into_iter()))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, WordError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, WordError> {
        visitor.visit_enum(self.text().into_owned().into_deserializer())
    }

    serde::forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct tuple tuple_struct map struct
        identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Red,
        Blue,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Wanted {
        text: String,
        number: Option<i64>,
        flag: Option<bool>,
        colour: Option<Colour>,
    }

    fn read(words: &[(&str, &str)]) -> Result<Wanted, WordError> {
        let words = words
            .iter()
            .map(|(name, word)| ((*name).to_owned(), (*word).to_owned()))
            .collect();
        of_arguments(&words)
    }

    #[test]
    fn words_become_the_types_that_are_wanted() {
        let read = read(&[
            ("text", "7"),
            ("number", "-7"),
            ("flag", "true"),
            ("colour", "blue"),
            ("more", "ignored"),
        ]);
        let wanted = Wanted {
            text: "7".to_owned(),
            number: Some(-7),
            flag: Some(true),
            colour: Some(Colour::Blue),
        };
        assert_eq!(read, Ok(wanted));
    }

    #[test]
    fn a_word_that_does_not_fit_is_named() {
        let check = |words: &[(&str, &str)], expected: &str| {
            let error = read(words).expect_err("it does not fit").to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(
            &[("text", "a"), ("number", "x")],
            "expected a whole number, found \"x\"",
        );
        check(&[("text", "a"), ("flag", "yes")], "expected true or false");
        check(&[("text", "a"), ("colour", "green")], "green");
        check(&[], "text");
    }
}
