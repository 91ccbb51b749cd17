//! The value of one argument as a header says it.
//!
//! Looks along a path of keys in the text of the arguments, so that the rest is
//! neither decoded nor copied.
//!
//! Specification: 2026-07-28 basic/transports/streamable-http, value encoding.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::payload::RawJson;

/// What stands at the path of an annotated parameter.
#[derive(Debug, PartialEq)]
pub(super) enum Argument {
    /// Nothing, or null.
    Absent,
    String(String),
    Boolean(bool),
    Integer(i64),
    /// A fraction, an integer too large for every peer, an object or an array.
    Formless,
}

impl Argument {
    /// Looks along the path. Whatever is not an object on the way holds nothing.
    pub(super) fn at(arguments: Option<&RawJson>, path: &[String]) -> Result<Self, ArgumentError> {
        let Some(arguments) = arguments else {
            return Ok(Self::Absent);
        };
        let mut text = arguments.as_str();
        for key in path {
            if !text.trim_start().starts_with('{') {
                return Ok(Self::Absent);
            }
            let mut deserializer = serde_json::Deserializer::from_str(text);
            let member = Member(key)
                .deserialize(&mut deserializer)
                .map_err(|_| ArgumentError::new(path, Reason::Ambiguous))?;
            match member {
                Some(value) => text = value.get(),
                None => return Ok(Self::Absent),
            }
        }
        Self::read(text).ok_or_else(|| ArgumentError::new(path, Reason::Ambiguous))
    }

    /// As a header says it, before it is encoded.
    pub(super) fn text(&self, path: &[String]) -> Result<Cow<'_, str>, ArgumentError> {
        match self {
            Self::String(text) => Ok(Cow::Borrowed(text)),
            Self::Boolean(true) => Ok(Cow::Borrowed("true")),
            Self::Boolean(false) => Ok(Cow::Borrowed("false")),
            Self::Integer(integer) => Ok(Cow::Owned(integer.to_string())),
            Self::Absent | Self::Formless => Err(ArgumentError::new(path, Reason::NoHeaderForm)),
        }
    }

    /// Does a decoded header say this value? Integers are compared as numbers.
    pub(super) fn is_said_by(&self, header: &str) -> bool {
        match self {
            Self::String(text) => header == text,
            Self::Boolean(boolean) => header == if *boolean { "true" } else { "false" },
            // Within the sentinel there may be white space, which no number has.
            Self::Integer(expected) => {
                header.trim() == header && integer(header) == Some(*expected)
            }
            Self::Absent | Self::Formless => false,
        }
    }

    /// Reads by the form the value has: whether it fits its schema is asked later.
    fn read(text: &str) -> Option<Self> {
        Some(match text.trim_start().bytes().next()? {
            b'n' => Self::Absent,
            b't' => Self::Boolean(true),
            b'f' => Self::Boolean(false),
            b'"' => Self::String(serde_json::from_str(text).ok()?),
            _ => integer(text).map_or(Self::Formless, Self::Integer),
        })
    }
}

/// An argument that no header can repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArgumentError {
    /// The keys that lead to the argument.
    pub path: Vec<String>,
    reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    NoHeaderForm,
    Ambiguous,
}

impl ArgumentError {
    fn new(path: &[String], reason: Reason) -> Self {
        Self {
            path: path.to_vec(),
            reason,
        }
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.path.join(".");
        match self.reason {
            Reason::NoHeaderForm => write!(
                f,
                "argument {name:?} has no header form, expected a string, a boolean or an integer \
                 within ±(2^53-1)"
            ),
            Reason::Ambiguous => write!(f, "argument {name:?} is repeated or not valid text"),
        }
    }
}

impl std::error::Error for ArgumentError {}

/// An integer that every JSON reader sees alike. `42.0` and `4.2e1` are 42.
fn integer(text: &str) -> Option<i64> {
    if let Ok(integer) = serde_json::from_str::<i64>(text) {
        return (-MAX_SAFE..=MAX_SAFE).contains(&integer).then_some(integer);
    }
    let number = serde_json::from_str::<f64>(text).ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "whole numbers of at most 53 bits convert exactly"
    )]
    (number.fract() == 0.0 && number.abs() <= MAX_SAFE as f64).then_some(number as i64)
}

/// Finds the one member with this key; a second one would be read by others.
struct Member<'k>(&'k str);

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with at most one {:?}", self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_it) = members.next_key_seed(IsKey(self.0))? {
            if !is_it {
                members.next_value::<IgnoredAny>()?;
            } else if found.replace(members.next_value::<&RawValue>()?).is_some() {
                return Err(A::Error::custom("repeated"));
            }
        }
        Ok(found)
    }
}

/// Compares a key without keeping it.
struct IsKey<'k>(&'k str);

impl<'de> DeserializeSeed<'de> for IsKey<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for IsKey<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

// 2^53-1: beyond it, readers that keep numbers as doubles see another value.
const MAX_SAFE: i64 = 9_007_199_254_740_991;
