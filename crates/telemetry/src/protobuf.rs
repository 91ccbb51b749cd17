//! The little of Protocol Buffers that OTLP needs: messages are written, an answer is read.
//!
//! What has its default value is left out, as proto3 wants it, unless it is of a `oneof`.
//!
//! Specification: Protocol Buffers, encoding.

/// Writes the fields of a message.
#[derive(Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// A message within this one.
    pub(crate) fn message(&mut self, field: u32, fill: impl FnOnce(&mut Self)) {
        self.tag(field, LENGTH);
        let start = self.0.len();
        fill(self);
        let length = self.0.len() - start;
        let mut varint = Self::default();
        varint.varint(length as u64);
        self.0.splice(start..start, varint.0);
    }

    pub(crate) fn text(&mut self, field: u32, text: &str) {
        if !text.is_empty() {
            self.text_always(field, text);
        }
    }

    /// A text of a `oneof`: an empty one is one too.
    pub(crate) fn text_always(&mut self, field: u32, text: &str) {
        self.tag(field, LENGTH);
        self.varint(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    pub(crate) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.tag(field, LENGTH);
            self.varint(bytes.len() as u64);
            self.0.extend_from_slice(bytes);
        }
    }

    /// An enumeration, or a number that is rarely large.
    pub(crate) fn number(&mut self, field: u32, number: u64) {
        if number != 0 {
            self.number_always(field, number);
        }
    }

    /// A number of a `oneof`: zero is one too.
    pub(crate) fn number_always(&mut self, field: u32, number: u64) {
        self.tag(field, VARINT);
        self.varint(number);
    }

    pub(crate) fn fixed64(&mut self, field: u32, number: u64) {
        if number != 0 {
            self.fixed64_always(field, number);
        }
    }

    pub(crate) fn fixed64_always(&mut self, field: u32, number: u64) {
        self.tag(field, FIXED64);
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn fixed32(&mut self, field: u32, number: u32) {
        if number != 0 {
            self.tag(field, FIXED32);
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// A number that says more by being there than by being zero.
    pub(crate) fn double_always(&mut self, field: u32, number: f64) {
        self.fixed64_always(field, number.to_bits());
    }

    /// Numbers of eight bytes each, one behind the other.
    pub(crate) fn packed64(&mut self, field: u32, numbers: impl ExactSizeIterator<Item = u64>) {
        self.tag(field, LENGTH);
        self.varint(numbers.len() as u64 * 8);
        for number in numbers {
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn tag(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }
}

/// One field that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Reads the fields of a message. What cannot be read ends it.
#[derive(Debug)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    fn varint(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for place in 0..10 {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f).checked_shl(place * 7)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn fixed(&mut self, length: usize) -> Option<u64> {
        let bytes = self.take(length)?;
        let digits = bytes.iter().rev();
        Some(digits.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let tag = u32::try_from(self.varint()?).ok()?;
        let value = match tag & 7 {
            VARINT => Value::Number(self.varint()?),
            FIXED64 => Value::Number(self.fixed(8)?),
            FIXED32 => Value::Number(self.fixed(4)?),
            LENGTH => {
                let length = usize::try_from(self.varint()?).ok()?;
                Value::Bytes(self.take(length)?)
            }
            _ => return None,
        };
        Some((tag >> 3, value))
    }
}

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LENGTH: u32 = 2;
const FIXED32: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut writer = Writer::default();
        writer.text(1, "a");
        writer.text(2, "");
        writer.text_always(2, "");
        writer.number(3, 0);
        writer.number(3, 300);
        writer.number_always(4, u64::MAX);
        writer.fixed64(5, 0);
        writer.fixed64(5, 7);
        writer.fixed32(16, 9);
        writer.double_always(6, 1.5);
        writer.message(7, |inner| {
            inner.bytes(1, &[b'x'; 200]);
            inner.message(2, |_| {});
        });
        writer.packed64(8, [1, 2].into_iter());
        let bytes = writer.into_bytes();
        let fields: Vec<_> = Reader(&bytes).collect();
        assert_eq!(fields.len(), 9);
        assert_eq!(fields[0], (1, Value::Bytes(b"a")));
        assert_eq!(fields[1], (2, Value::Bytes(b"")));
        assert_eq!(fields[2], (3, Value::Number(300)));
        assert_eq!(fields[3], (4, Value::Number(u64::MAX)));
        assert_eq!(fields[4], (5, Value::Number(7)));
        assert_eq!(fields[5], (16, Value::Number(9)));
        assert_eq!(fields[6], (6, Value::Number(1.5f64.to_bits())));
        let Value::Bytes(inner) = fields[7].1 else {
            panic!("a message");
        };
        let inner: Vec<_> = Reader(inner).collect();
        assert_eq!(inner[0], (1, Value::Bytes(&[b'x'; 200])));
        assert_eq!(inner[1], (2, Value::Bytes(b"")));
        let Value::Bytes(packed) = fields[8].1 else {
            panic!("numbers");
        };
        assert_eq!(packed.len(), 16);
    }

    #[test]
    fn the_bytes_are_those_of_the_documentation() {
        let mut writer = Writer::default();
        writer.number(1, 150);
        assert_eq!(writer.into_bytes(), [0x08, 0x96, 0x01]);
        let mut writer = Writer::default();
        writer.text(2, "testing");
        assert_eq!(writer.into_bytes(), b"\x12\x07testing");
        let mut writer = Writer::default();
        writer.message(3, |inner| inner.number(1, 150));
        assert_eq!(writer.into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
    }

    #[test]
    fn what_is_cut_short_or_nonsense_ends_the_reading() {
        for bytes in [
            &b"\x08"[..],
            b"\x12\x07test",
            b"\x09\x01",
            b"\x0b",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ] {
            assert_eq!(Reader(bytes).count(), 0, "{bytes:?}");
        }
    }
}
