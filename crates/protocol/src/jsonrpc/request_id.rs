//! The id that pairs an answer with its request.
//!
//! A string or an integer, echoed with its exact type and text.
//! Null, fractions, booleans, objects and arrays are refused.
//!
//! Specification: basic (requests), every revision.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

use crate::json_string::unescape;

/// The id of a request.
///
/// Two ids are equal when type and meaning are: `1` is not `"1"`.
#[derive(Clone)]
pub struct RequestId(Repr);

#[derive(Clone)]
enum Repr {
    Integer(i64),
    /// An integer whose text `i64` would not give back.
    LongInteger(Bytes),
    /// The text between the quotes, as it was written.
    Text(Bytes),
}

/// The value is not a string or an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRequestId;

impl RequestId {
    /// Reads an id from the text of one JSON value, which it shares.
    ///
    /// # Errors
    /// When the value is not a string or an integer.
    pub fn from_json(text: &Bytes) -> Result<Self, BadRequestId> {
        match text.as_ref() {
            [b'"', inner @ .., b'"'] => Ok(Self(Repr::Text(text.slice_ref(inner)))),
            digits if is_integer(digits) => Ok(Self(
                short_integer(digits)
                    .map_or_else(|| Repr::LongInteger(text.clone()), Repr::Integer),
            )),
            _ => Err(BadRequestId),
        }
    }

    /// Is this text of one JSON value an id?
    pub(crate) fn is_one(text: &[u8]) -> bool {
        matches!(text, [b'"', .., b'"']) || is_integer(text)
    }

    /// Reads an id from a part of a frame, which it shares if it must.
    pub(super) fn from_part(frame: &Bytes, part: Range<usize>) -> Result<Self, BadRequestId> {
        match frame.get(part.clone()).and_then(short_integer) {
            Some(number) => Ok(Self(Repr::Integer(number))),
            None => Self::from_json(&frame.slice(part)),
        }
    }

    /// The integer, if it is one that fits.
    pub const fn as_integer(&self) -> Option<i64> {
        match self.0 {
            Repr::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// What the string says, if it is one. A lone surrogate makes it unreadable.
    pub fn as_text(&self) -> Option<std::borrow::Cow<'_, str>> {
        match &self.0 {
            Repr::Text(raw) => unescape(raw),
            _ => None,
        }
    }

    /// Appends the id as JSON text.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Repr::Integer(number) => {
                out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes());
            }
            Repr::LongInteger(raw) => out.extend_from_slice(raw),
            Repr::Text(raw) => {
                out.push(b'"');
                out.extend_from_slice(raw);
                out.push(b'"');
            }
        }
    }

    /// Appends the beginning of a response with this id.
    #[inline]
    pub(crate) fn write_head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(BEFORE_ID);
        self.write(out);
    }

    /// How much [`write_head`](Self::write_head) appends.
    pub(crate) fn head_length(&self) -> usize {
        let id = match &self.0 {
            Repr::Integer(number) => {
                let digits = number.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
                usize::from(*number < 0) + digits as usize
            }
            Repr::LongInteger(raw) => raw.len(),
            Repr::Text(raw) => raw.len() + 2,
        };
        BEFORE_ID.len() + id
    }

    fn to_json(&self) -> String {
        let mut text = Vec::new();
        self.write(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

fn is_integer(digits: &[u8]) -> bool {
    let unsigned = digits.strip_prefix(b"-").unwrap_or(digits);
    !unsigned.is_empty() && unsigned.iter().all(u8::is_ascii_digit)
}

/// The number, when its plain decimal form is the text itself.
fn short_integer(digits: &[u8]) -> Option<i64> {
    let (negative, unsigned) = match digits {
        [b'-', rest @ ..] => (true, rest),
        all => (false, all),
    };
    // A leading zero, or a zero with a sign, is written otherwise than it is read.
    if matches!(unsigned, [b'0', _, ..] | []) || unsigned == b"0" && negative {
        return None;
    }
    unsigned.iter().try_fold(0i64, |number, byte| {
        let digit = i64::from(byte.wrapping_sub(b'0'));
        if digit > 9 {
            return None;
        }
        let digit = if negative { -digit } else { digit };
        number.checked_mul(10)?.checked_add(digit)
    })
}

impl From<i64> for RequestId {
    fn from(number: i64) -> Self {
        Self(Repr::Integer(number))
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        let quoted = serde_json::Value::from(text).to_string();
        let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
        Self(Repr::Text(Bytes::copy_from_slice(inner.as_bytes())))
    }
}

impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Integer(a), Repr::Integer(b)) => a == b,
            (Repr::LongInteger(a), Repr::LongInteger(b)) => a == b,
            (Repr::Text(a), Repr::Text(b)) => {
                a == b || (has_escape(a) || has_escape(b)) && means_the_same(a, b)
            }
            _ => false,
        }
    }
}

impl Eq for RequestId {}

impl Hash for RequestId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Repr::Integer(number) => state.write_i64(*number),
            Repr::LongInteger(raw) => state.write(raw),
            Repr::Text(raw) if has_escape(raw) => match unescape(raw) {
                Some(text) => state.write(text.as_bytes()),
                None => state.write(raw),
            },
            Repr::Text(raw) => state.write(raw),
        }
    }
}

/// Strings without a meaning, those with a lone surrogate, are told apart by their text.
fn means_the_same(a: &[u8], b: &[u8]) -> bool {
    unescape(a).is_some_and(|a| unescape(b).is_some_and(|b| a == b))
}

fn has_escape(raw: &[u8]) -> bool {
    memchr::memchr(b'\\', raw).is_some()
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

impl fmt::Display for BadRequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id must be a string or an integer")
    }
}

impl std::error::Error for BadRequestId {}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Repr::Integer(number) => serializer.serialize_i64(*number),
            _ => RawValue::from_string(self.to_json())
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_json(&Bytes::copy_from_slice(raw.get().as_bytes())).map_err(de::Error::custom)
    }
}

/// What stands before the id of a message of ours.
pub(crate) const BEFORE_ID: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":";

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use super::*;

    fn id(text: &str) -> Result<RequestId, BadRequestId> {
        RequestId::from_json(&Bytes::copy_from_slice(text.as_bytes()))
    }

    fn echo(text: &str) -> String {
        id(text).unwrap().to_json()
    }

    #[test]
    fn ids_are_echoed_with_their_exact_text() {
        for text in [
            "0",
            "1",
            "-1",
            "-0",
            "9223372036854775807",
            "-9223372036854775808",
            "9223372036854775808",
            "123456789012345678901234567890",
            r#""""#,
            r#""1""#,
            r#""a\u00e9""#,
            r#""\ud800""#,
            r#""é""#,
        ] {
            assert_eq!(echo(text), text);
            let mut head = Vec::new();
            id(text).unwrap().write_head(&mut head);
            assert_eq!(head.len(), id(text).unwrap().head_length(), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in ["null", "true", "1.0", "1.5", "1e2", "{}", "[]", "-", ""] {
            assert_eq!(id(text), Err(BadRequestId), "{text}");
        }
    }

    #[test]
    fn type_and_meaning_make_two_ids_equal() {
        assert_eq!(id("1"), id("1"));
        assert_ne!(id("1"), id(r#""1""#));
        assert_eq!(id(r#""A""#), id(r#""\u0041""#));
        assert_ne!(id(r#""A""#), id(r#""a""#));
        assert_eq!(id(r#""\ud800""#), id(r#""\ud800""#));
        assert_ne!(id(r#""\ud800""#), id(r#""\ud801""#));
        assert_eq!(RequestId::from("a\"b"), id(r#""a\"b""#).unwrap());
        assert_eq!(RequestId::from(7), id("7").unwrap());
    }

    #[test]
    fn serde_keeps_type_and_text() {
        for text in ["7", r#""7""#, "123456789012345678901234567890"] {
            let read: RequestId = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
        for text in ["1.0", "null"] {
            let refused = serde_json::from_str::<RequestId>(text).unwrap_err();
            let why = "an id must be a string or an integer";
            assert!(refused.to_string().starts_with(why), "{refused}");
        }
    }

    #[test]
    fn ids_are_found_by_their_meaning_and_told_apart() {
        let hash = |text: &str| {
            let mut state = DefaultHasher::new();
            id(text).unwrap().hash(&mut state);
            state.finish()
        };
        assert_eq!(hash(r#""A""#), hash(r#""\u0041""#));
        assert_eq!(hash(r#""\ud800""#), hash(r#""\ud800""#));
        let apart = ["1", "2", "9223372036854775808", r#""A""#, r#""B""#].map(hash);
        for (index, one) in apart.iter().enumerate() {
            assert!(!apart[..index].contains(one), "{index}");
        }
    }
}
