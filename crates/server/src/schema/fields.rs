//! The names of a type's members, in the order in which it declares them.
//!
//! schemars keeps properties in a sorted map, so the order is asked of serde: a
//! derived `Deserialize` says its field names before it reads anything.

use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// The members that a derived struct declares, aliases included; empty for anything else.
pub(crate) fn declared<T: DeserializeOwned>() -> &'static [&'static str] {
    match T::deserialize(Asking) {
        Err(Answer(fields)) => fields,
        Ok(_) => &[],
    }
}

/// Reads nothing: it only listens to what it is asked for.
struct Asking;

/// The names, carried out as the error that ends the reading.
#[derive(Debug)]
struct Answer(&'static [&'static str]);

impl<'de> Deserializer<'de> for Asking {
    type Error = Answer;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Answer> {
        Err(Answer(&[]))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Answer> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Answer> {
        Err(Answer(fields))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        option unit unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the fields are {:?}", self.0)
    }
}

impl std::error::Error for Answer {}

impl serde::de::Error for Answer {
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self(&[])
    }
}
