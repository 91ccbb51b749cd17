//! Reads typed arguments from text that is known to be JSON.
//!
//! The frame was checked when it came, so all that is left to do is to find the values in it.
//! What is rare or wrong is not read here: [`Unread`] says neither which nor why, and
//! serde_json reads it again from the beginning. That goes for members that the type does not
//! know, too.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use serde::de::value::CowStrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use switchboard_protocol::json_string;

/// Reads the whole text, which is one JSON value, if it is of the usual kind.
pub(super) fn read<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    let mut reader = Reader {
        // Once for all strings in it.
        text: std::str::from_utf8(text).ok()?,
        at: 0,
        depth: MOST_DEPTH,
    };
    let value = T::deserialize(&mut reader).ok()?;
    reader.peek().is_none().then_some(value)
}

/// It is left to serde_json, which can say what is wrong if something is.
#[derive(Debug)]
struct Unread;

/// A place in the text.
struct Reader<'de> {
    text: &'de str,
    at: usize,
    /// How much deeper it may go.
    depth: u8,
}

impl<'de> Reader<'de> {
    /// The next byte that is not white space.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.as_bytes().get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                byte => return byte.copied(),
            }
        }
    }

    /// Steps over a byte, which must be the next.
    #[inline]
    fn expect(&mut self, byte: u8) -> Result<(), Unread> {
        if self.peek() != Some(byte) {
            return Err(Unread);
        }
        self.at += 1;
        Ok(())
    }

    fn expect_word(&mut self, word: &str) -> Result<(), Unread> {
        self.peek();
        let rest = self.text.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word) {
            return Err(Unread);
        }
        self.at += word.len();
        Ok(())
    }

    /// Reads what stands between two brackets.
    #[inline]
    fn within<V>(
        &mut self,
        [open, close]: [u8; 2],
        read: impl FnOnce(Inside<'_, 'de>) -> Result<V, Unread>,
    ) -> Result<V, Unread> {
        self.expect(open)?;
        self.depth = self.depth.checked_sub(1).ok_or(Unread)?;
        let value = read(Inside {
            reader: self,
            first: true,
            close,
        })?;
        self.depth += 1;
        self.expect(close)?;
        Ok(value)
    }

    #[inline]
    fn string(&mut self) -> Result<Cow<'de, str>, Unread> {
        self.expect(b'"')?;
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (string, length) = json_string::read(rest).ok_or(Unread)?;
        self.at += length;
        Ok(string)
    }

    /// Reads a number; `fraction` reads those that are not whole.
    fn number<V: Visitor<'de>>(
        &mut self,
        visitor: V,
        fraction: impl FnOnce(&str) -> Option<f64>,
    ) -> Result<V::Value, Unread> {
        let Some(b'-' | b'0'..=b'9') = self.peek() else {
            return Err(Unread);
        };
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_part = |letter| matches!(letter, '0'..='9' | '-' | '+' | '.' | 'e' | 'E');
        let length = rest.find(|letter| !is_part(letter));
        let (number, _) = rest.split_at(length.unwrap_or(rest.len()));
        self.at += number.len();
        if let Ok(number) = number.parse() {
            visitor.visit_u64(number)
        } else if let Ok(number @ ..0) = number.parse() {
            visitor.visit_i64(number)
        } else if number.contains(['.', 'e', 'E']) {
            visitor.visit_f64(fraction(number).ok_or(Unread)?)
        } else {
            // Whole, and too large for either; or a zero below zero, which neither has.
            Err(Unread)
        }
    }
}

/// A number that is not whole, unless it is too large.
fn double(number: &str) -> Option<f64> {
    number
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
}

/// The same in single precision: to round twice, first to a double, may round wrong.
fn single(number: &str) -> Option<f64> {
    let number = number
        .parse()
        .ok()
        .filter(|number: &f32| number.is_finite());
    number.map(f64::from)
}

/// Hands a string on, without a copy of it.
#[inline]
fn visit<'de, V: Visitor<'de>>(string: Cow<'de, str>, visitor: V) -> Result<V::Value, Unread> {
    match string {
        Cow::Borrowed(string) => visitor.visit_borrowed_str(string),
        Cow::Owned(string) => visitor.visit_string(string),
    }
}

/// Methods that read alike.
macro_rules! alike {
    ($how:ident: $($method:ident)*) => { $(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
            alike!(@ $how self, visitor)
        }
    )* };
    (@ string $reader:ident, $visitor:ident) => { visit($reader.string()?, $visitor) };
    (@ number $reader:ident, $visitor:ident) => { $reader.number($visitor, double) };
    (@ single $reader:ident, $visitor:ident) => { $reader.number($visitor, single) };
    (@ unread $reader:ident, $visitor:ident) => {{ let _ = $visitor; Err(Unread) }};
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Unread;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        match self.peek() {
            Some(b'"') => self.deserialize_str(visitor),
            Some(b'{') => self.deserialize_map(visitor),
            Some(b'[') => self.deserialize_seq(visitor),
            Some(b't' | b'f') => self.deserialize_bool(visitor),
            Some(b'n') => self.deserialize_unit(visitor),
            _ => self.number(visitor, double),
        }
    }

    alike!(string: deserialize_str deserialize_string deserialize_char deserialize_identifier);
    alike!(number: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_f64);
    alike!(number: deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64);
    alike!(single: deserialize_f32);
    alike!(unread: deserialize_i128 deserialize_u128 deserialize_bytes deserialize_byte_buf);
    // A member that the type does not know.
    alike!(unread: deserialize_ignored_any);

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        let is_true = self.peek() == Some(b't');
        self.expect_word(if is_true { "true" } else { "false" })?;
        visitor.visit_bool(is_true)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.expect_word("null")?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unread> {
        self.deserialize_unit(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        if self.peek() == Some(b'n') {
            self.expect_word("null")?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unread> {
        // serde_json has names of its own for what only it can read.
        if name.starts_with('$') {
            return Err(Unread);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.within(*b"[]", |items| visitor.visit_seq(items))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Unread> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Unread> {
        self.deserialize_seq(visitor)
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.within(*b"{}", |members| visitor.visit_map(members))
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unread> {
        self.deserialize_map(visitor)
    }

    /// A variant that is only its name. One that holds something is not read.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unread> {
        visitor.visit_enum(CowStrDeserializer::new(self.string()?))
    }
}

/// The inside of an array or of an object.
struct Inside<'a, 'de> {
    reader: &'a mut Reader<'de>,
    first: bool,
    close: u8,
}

impl Inside<'_, '_> {
    /// Steps to the next item or name; false if there is none.
    #[inline]
    fn step(&mut self) -> Result<bool, Unread> {
        if self.reader.peek() == Some(self.close) {
            return Ok(false);
        }
        if !self.first {
            self.reader.expect(b',')?;
        }
        self.first = false;
        Ok(true)
    }
}

impl<'de> SeqAccess<'de> for Inside<'_, 'de> {
    type Error = Unread;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Unread> {
        if !self.step()? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

impl<'de> MapAccess<'de> for Inside<'_, 'de> {
    type Error = Unread;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Unread> {
        if !self.step()? {
            return Ok(None);
        }
        let name = self.reader.string()?;
        self.reader.expect(b':')?;
        seed.deserialize(Name(name)).map(Some)
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Unread> {
        seed.deserialize(&mut *self.reader)
    }
}

/// The name of a member. A key that is no string is not read from it.
struct Name<'de>(Cow<'de, str>);

impl<'de> Deserializer<'de> for Name<'de> {
    type Error = Unread;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        visit(self.0, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unread> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unread> {
        visitor.visit_enum(CowStrDeserializer::new(self.0))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl serde::de::Error for Unread {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("left to serde_json")
    }
}

impl std::error::Error for Unread {}

/// As deep as serde_json goes.
const MOST_DEPTH: u8 = 127;
