//! A small, fixed hash for tables whose size the machines bound themselves.
//!
//! The standard hasher is keyed at random, which costs instructions and makes
//! the order of events differ from run to run. A peer that picks colliding ids
//! slows down a table of at most a few hundred entries.

use std::hash::{BuildHasherDefault, Hasher};

/// A map with a fixed hash.
pub(crate) type Table<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<FixedHasher>>;

/// Multiplies and folds, eight bytes a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct FixedHasher(u64);

impl Hasher for FixedHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, tail) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        for byte in tail {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ mixed >> 32;
    }

    fn write_i64(&mut self, word: i64) {
        self.write_u64(word.cast_unsigned());
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Keys that are alike go to different places of a table: it looks at the last bits of a
    /// hash, and tells those in one place apart by the first.
    fn check(write: impl Fn(&mut FixedHasher, u64)) {
        let hashes = (0..256).map(|key| {
            let mut hasher = FixedHasher::default();
            write(&mut hasher, key);
            hasher.finish()
        });
        let (last, first): (BTreeSet<_>, BTreeSet<_>) =
            hashes.map(|hash| (hash & 0xFF, hash >> 57)).unzip();
        assert!(last.len() > 128 && first.len() > 64, "{last:?} {first:?}");
    }

    #[test]
    fn keys_that_are_alike_are_kept_apart() {
        check(|hasher, key| hasher.write_u64(key));
        check(|hasher, key| hasher.write_u64(key << 32));
        check(|hasher, key| hasher.write_i64(-key.cast_signed()));
        check(|hasher, key| hasher.write_u32(key as u32));
        check(|hasher, key| hasher.write(format!("request-{key}").as_bytes()));
        check(|hasher, key| {
            hasher.write_u64(key / 16);
            hasher.write_u64(key % 16);
        });
    }
}
