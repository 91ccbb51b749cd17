//! Writes values as JSON text.
//!
//! The text is to the byte what serde_json writes. What is ours is how strings are escaped, in
//! wide steps: they are most of what arguments and results are made of. Whether a line break came
//! with text that was JSON before is noted on the way, so that nobody searches for one.

use serde::Serialize;
use serde::ser::{
    self, Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant,
};
use serde_json::Error;

use crate::json_string;

/// Appends a value as JSON text; says whether it is one line.
///
/// # Errors
/// When the value has no JSON form, as a map with keys that are not strings.
pub(crate) fn write<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<bool, Error> {
    let mut writer = Writer {
        out,
        is_one_line: true,
    };
    value.serialize(&mut writer)?;
    Ok(writer.is_one_line)
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    is_one_line: bool,
}

impl Writer<'_> {
    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn integer(&mut self, number: impl itoa::Integer) {
        self.text(itoa::Buffer::new().format(number));
    }

    /// Opens the object of a variant that has values, up to them.
    fn open_variant(&mut self, variant: &str) {
        self.out.push(b'{');
        json_string::write(variant, self.out);
        self.out.push(b':');
    }

    /// Writes a key, which is a string or becomes one.
    fn key<K: Serialize + ?Sized>(&mut self, key: &K) -> Result<(), Error> {
        let start = self.out.len();
        key.serialize(&mut *self)?;
        match self.out.get(start) {
            Some(b'"') => {}
            Some(b'-' | b'0'..=b'9' | b't' | b'f') => {
                self.out.insert(start, b'"');
                self.out.push(b'"');
            }
            _ => return Err(Error::custom("key must be a string")),
        }
        Ok(())
    }
}

impl<'w, 'a> ser::Serializer for &'w mut Writer<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = List<'w, 'a>;
    type SerializeTuple = List<'w, 'a>;
    type SerializeTupleStruct = List<'w, 'a>;
    type SerializeTupleVariant = List<'w, 'a>;
    type SerializeMap = Object<'w, 'a>;
    type SerializeStruct = Object<'w, 'a>;
    type SerializeStructVariant = Object<'w, 'a>;

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.text(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_i16(self, value: i16) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_i32(self, value: i32) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_i64(self, value: i64) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_i128(self, value: i128) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_u8(self, value: u8) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_u16(self, value: u16) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_u32(self, value: u32) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_u128(self, value: u128) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        serde_json::to_writer(&mut *self.out, &value)
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        serde_json::to_writer(&mut *self.out, &value)
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), Error> {
        json_string::write(value, self.out);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.text("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.open_variant(variant);
        value.serialize(&mut *self)?;
        self.out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        Ok(List::open(self, b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Error> {
        Ok(List::open(self, b"]"))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Error> {
        Ok(List::open(self, b"]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        self.open_variant(variant);
        Ok(List::open(self, b"]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Error> {
        Ok(Object::open(self, b"}"))
    }

    #[inline]
    fn serialize_struct(
        self,
        name: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStruct, Error> {
        if name.starts_with(READY) {
            return Ok(Object {
                writer: self,
                is_first: true,
                end: None,
            });
        }
        Ok(Object::open(self, b"}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        self.open_variant(variant);
        Ok(Object::open(self, b"}}"))
    }
}

/// An array that is being written.
struct List<'w, 'a> {
    writer: &'w mut Writer<'a>,
    is_first: bool,
    end: &'static [u8],
}

impl<'w, 'a> List<'w, 'a> {
    fn open(writer: &'w mut Writer<'a>, end: &'static [u8]) -> Self {
        writer.out.push(b'[');
        Self {
            writer,
            is_first: true,
            end,
        }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        if !std::mem::take(&mut self.is_first) {
            self.writer.out.push(b',');
        }
        value.serialize(&mut *self.writer)
    }

    fn close(self) {
        self.writer.out.extend_from_slice(self.end);
    }
}

/// An object that is being written.
struct Object<'w, 'a> {
    writer: &'w mut Writer<'a>,
    is_first: bool,
    /// None if it is not one: its one value is JSON text.
    end: Option<&'static [u8]>,
}

impl<'w, 'a> Object<'w, 'a> {
    #[inline]
    fn open(writer: &'w mut Writer<'a>, end: &'static [u8]) -> Self {
        writer.out.push(b'{');
        Self {
            writer,
            is_first: true,
            end: Some(end),
        }
    }

    #[inline]
    fn separate(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.writer.out.push(b',');
        }
    }

    #[inline]
    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Error> {
        if self.end.is_none() {
            return self.ready(value);
        }
        self.separate();
        json_string::write(name, self.writer.out);
        self.writer.out.push(b':');
        value.serialize(&mut *self.writer)
    }

    /// Writes text that is JSON already.
    #[cold]
    fn ready<T: Serialize + ?Sized>(&mut self, text: &T) -> Result<(), Error> {
        let start = self.writer.out.len();
        serde_json::to_writer(&mut *self.writer.out, &Ready(text))?;
        let written = self.writer.out.get(start..).unwrap_or_default();
        self.writer.is_one_line &= memchr::memchr2(b'\n', b'\r', written).is_none();
        Ok(())
    }

    #[inline]
    fn close(self) {
        if let Some(end) = self.end {
            self.writer.out.extend_from_slice(end);
        }
    }
}

/// What serde_json writes without escapes, in the form in which it knows it again.
struct Ready<'a, T: ?Sized>(&'a T);

impl<T: Serialize + ?Sized> Serialize for Ready<'_, T> {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut ready = serializer.serialize_struct(RAW_VALUE, 1)?;
        ready.serialize_field(RAW_VALUE, self.0)?;
        ready.end()
    }
}

impl SerializeSeq for List<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.item(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl SerializeTuple for List<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.item(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl SerializeTupleStruct for List<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.item(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl SerializeTupleVariant for List<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.item(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl SerializeMap for Object<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.separate();
        self.writer.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.writer.out.push(b':');
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl SerializeStruct for Object<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.field(name, value)
    }

    #[inline]
    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl SerializeStructVariant for Object<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.field(name, value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

/// How serde_json names structs that are no objects but text that is JSON already: raw values, and
/// numbers of any length if somebody has asked for them.
const READY: &str = "$serde_json::private::";
const RAW_VALUE: &str = "$serde_json::private::RawValue";

#[cfg(test)]
mod tests;
