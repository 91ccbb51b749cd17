//! The numbers of traces and spans.
//!
//! Specification: W3C Trace Context level 1, trace-id, parent-id.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use ring::rand::{SecureRandom, SystemRandom};

/// The number of a trace. Never zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

/// The number of a span. Never zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

impl TraceId {
    /// Reads 32 digits of lower-case hexadecimal. None if they are not, or all are zero.
    pub fn parse(text: &str) -> Option<Self> {
        bytes(text).filter(|id| *id != [0; 16]).map(Self)
    }

    /// The bytes.
    pub const fn bytes(self) -> [u8; 16] {
        self.0
    }
}

impl SpanId {
    /// Reads 16 digits of lower-case hexadecimal. None if they are not, or all are zero.
    pub fn parse(text: &str) -> Option<Self> {
        bytes(text).filter(|id| *id != [0; 8]).map(Self)
    }

    /// The bytes.
    pub const fn bytes(self) -> [u8; 8] {
        self.0
    }

    pub(super) fn random() -> Self {
        Self(random())
    }
}

/// A new trace and its first span, asked for at once.
pub(super) fn both() -> (TraceId, SpanId) {
    let all: [u8; 24] = random();
    let (mut trace, mut span) = ([0; 16], [0; 8]);
    for (to, from) in trace.iter_mut().chain(&mut span).zip(all) {
        *to = from;
    }
    (TraceId(trace), SpanId(span))
}

/// Bytes that nobody else has. The last of every eight is not zero, so no id is.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if SystemRandom::new().fill(&mut bytes).is_err() {
        // Two ids that are the same by chance only mix up two lines of a chart.
        let chance = RandomState::new();
        for (number, part) in bytes.chunks_mut(8).enumerate() {
            for (to, from) in part.iter_mut().zip(chance.hash_one(number).to_le_bytes()) {
                *to = from;
            }
        }
    }
    for part in bytes.chunks_mut(8) {
        if let Some(last) = part.last_mut()
            && *last == 0
        {
            *last = 1;
        }
    }
    bytes
}

/// The bytes that lower-case hexadecimal digits stand for.
pub(super) fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

fn digit(letter: u8) -> Option<u8> {
    match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        _ => None,
    }
}

/// All digits at once: each by itself would cost more than all else of a span.
fn write(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut digits = [0; 32];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        for (digit, value) in pair.iter_mut().zip([byte >> 4, byte & 0xf]) {
            *digit = match value {
                0..=9 => b'0' + value,
                _ => b'a' + value - 10,
            };
        }
    }
    let written = digits.get(..bytes.len() * 2).unwrap_or_default();
    f.write_str(std::str::from_utf8(written).unwrap_or_default())
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(&self.0, f)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(&self.0, f)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(&self.0, f)
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(&self.0, f)
    }
}
