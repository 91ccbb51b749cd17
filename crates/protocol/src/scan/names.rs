//! Names of members: what they mean, and whether one comes twice.

use std::cmp::Ordering;

use crate::json_string::unescape;

/// Does a raw name mean `wanted`?
pub(crate) fn names(raw: &[u8], wanted: &str) -> bool {
    let is_escaped = || memchr::memchr(b'\\', raw).is_some();
    match raw.len().cmp(&wanted.len()) {
        // An escape is longer than what it means.
        Ordering::Less => false,
        Ordering::Equal => raw == wanted.as_bytes() && !is_escaped(),
        Ordering::Greater => is_escaped() && unescape(raw).is_some_and(|name| name == wanted),
    }
}

/// Sees whether a name comes twice. Small objects need no allocation.
#[derive(Debug, Default)]
pub(crate) struct SeenNames {
    first: [u64; 8],
    count: usize,
    more: std::collections::BTreeSet<u64>,
}

impl SeenNames {
    /// Notes a name that was seen elsewhere, if it was.
    pub(crate) fn insert_if(&mut self, seen: bool, name: &str) {
        if seen {
            self.insert(name.as_bytes(), false);
        }
    }

    /// Notes a name; `false` when it was there before.
    ///
    /// Names are told apart by a 64-bit hash: a sender can make two of his own
    /// names collide, which gets his own message refused.
    pub(crate) fn insert(&mut self, raw: &[u8], escaped: bool) -> bool {
        let hash = if escaped {
            unescape(raw).map_or_else(|| hash(raw), |name| hash(name.as_bytes()))
        } else {
            hash(raw)
        };
        let filled = self.count.min(self.first.len());
        if self.first.iter().take(filled).any(|seen| *seen == hash) {
            return false;
        }
        if let Some(slot) = self.first.get_mut(self.count) {
            *slot = hash;
        } else if !self.more.insert(hash) {
            return false;
        }
        self.count += 1;
        true
    }
}

#[inline]
pub(super) fn hash(bytes: &[u8]) -> u64 {
    const MIX: u64 = 0xD6E8_FEB8_6659_FD93;
    let mut state = (bytes.len() as u64).rotate_right(8) ^ 0x9E37_79B9_7F4A_7C15;
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        state = (state ^ u64::from_le_bytes(*word)).wrapping_mul(MIX);
        state ^= state >> 32;
        rest = after;
    }
    // At most seven bytes are left: they fill a word beside the length.
    let tail = rest
        .iter()
        .fold(0, |word, byte| word << 8 | u64::from(*byte));
    // Not mixed any more: nothing follows that could undo a difference, and hashes are compared whole.
    state ^ tail
}
