//! Which bytes of a text are of a kind, sixty-four or eight at a glance.
//!
//! In long texts what must be looked at is never far, and where it stands cannot be foreseen.
//! A number with a bit for each byte is stepped through without guessing how far the next
//! one is, so that the processor guesses wrong once in sixty-four bytes, not at every one.
//! Short texts end before that pays: they are looked at in words of eight bytes.

/// How many bytes are looked at together.
pub(crate) const WINDOW: usize = 64;

/// How many bytes of plain text are stepped over at once.
pub(crate) const BLOCK: usize = 4 * WINDOW;

/// A window and as much behind it, so that whatever begins in the first can be read without
/// looking for the end of the text.
pub(crate) type Pair = [u8; 2 * WINDOW];

/// The first of a pair.
#[inline]
pub(crate) fn window(pair: &Pair) -> &[u8; WINDOW] {
    let [first, _] = pair.as_chunks().0 else {
        unreachable!("a pair is two windows long");
    };
    first
}

/// Some bytes of a text from a place on, if there are as many.
#[inline]
pub(crate) fn chunk<const N: usize>(text: &[u8], at: usize) -> Option<&[u8; N]> {
    text.get(at..)?.first_chunk()
}

/// A bit for each byte that is of a kind; the lowest bit is for the first byte.
#[inline]
pub(crate) fn marks(window: &[u8; WINDOW], is_marked: impl Fn(u8) -> bool) -> u64 {
    // Without branches, so that the compiler makes vector code of it.
    let mut found = [0_u8; WINDOW];
    for (found, byte) in found.iter_mut().zip(window) {
        *found = u8::from(is_marked(*byte));
    }
    let words = found.as_chunks::<8>().0;
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    if words.clone().fold(0, |all, word| all | word) == 0 {
        return 0;
    }
    words.enumerate().fold(0, |bits, (index, word)| {
        // The factor moves the bit of each byte to its place in the highest byte.
        bits | word.wrapping_mul(0x0102_0408_1020_4080) >> 56 << (8 * index)
    })
}

/// Can the byte not stand for itself between the quotes of a JSON string?
#[inline]
pub(crate) const fn needs_escape(byte: u8) -> bool {
    // Not `||`: all three are cheaper than a branch.
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// Is all of it ASCII that stands for itself in a JSON string? For text in which much is.
#[inline]
pub(crate) fn is_plain(block: &[u8; BLOCK]) -> bool {
    // Without an early end, so that the compiler makes vector code of it. As a signed number,
    // what is not ASCII is less than a control.
    let found = block.iter().fold(0, |found, byte| {
        let is_marked = (byte.cast_signed() < 0x20) | (*byte == b'"') | (*byte == b'\\');
        found | u8::from(is_marked)
    });
    found == 0
}

/// How many bytes at the beginning are not of a kind, as far as it can be seen from so many
/// words of eight bytes. `marks` sets the high bit of the bytes of a word that are of it; only
/// the lowest bit that is set needs to be right.
#[inline]
pub(crate) fn leading(text: &[u8], most_words: usize, marks: impl Fn(u64) -> u64) -> usize {
    let mut length = 0;
    for word in text.as_chunks().0.iter().take(most_words) {
        let marked = marks(u64::from_le_bytes(*word));
        if marked != 0 {
            return length + (marked.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    length
}

/// Is no byte of a short text of a kind? `marks` is as with [`leading`].
#[inline]
pub(crate) fn has_none(text: &[u8], marks: impl Fn(u64) -> u64) -> bool {
    let last = match text.last_chunk() {
        // Some of it is looked at twice, which costs less than to look at single bytes.
        Some(word) => u64::from_le_bytes(*word),
        // Not copied into a word: what was written in pieces is slow to be read as a whole.
        None => text
            .iter()
            .fold(SPACES, |word, byte| word << 8 | u64::from(*byte)),
    };
    let words = text
        .as_chunks()
        .0
        .iter()
        .map(|word| u64::from_le_bytes(*word));
    // Without an early end, so that the compiler makes vector code of it.
    words.fold(marks(last), |found, word| found | marks(word)) == 0
}

/// The kind of [`needs_escape`], in words.
#[inline]
pub(crate) const fn needing_escape(word: u64) -> u64 {
    too_small(word) & !word & HIGH
}

/// The same, and bytes that are not ASCII.
#[inline]
pub(crate) const fn needing_escape_or_not_ascii(word: u64) -> u64 {
    (too_small(word) | word) & HIGH
}

/// The high bit of each byte that is a quote, a backslash or a control, and of some that are not
/// ASCII.
///
/// Subtracting sets the high bit of a byte that is too small for it. Bits above the lowest one
/// set may be wrong, because borrows run upwards.
#[inline]
const fn too_small(word: u64) -> u64 {
    let quote = (word ^ (ONES * b'"' as u64)).wrapping_sub(ONES);
    let backslash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    let control = word.wrapping_sub(ONES * 0x20);
    quote | backslash | control
}

/// Bytes that are of no kind.
const SPACES: u64 = ONES * b' ' as u64;
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_bit() {
        for at in 0..WINDOW {
            for byte in 0..=255 {
                let mut window = [b'x'; WINDOW];
                window[at] = byte;
                let expected = u64::from(matches!(byte, b'"' | b'\\' | 0..0x20)) << at;
                assert_eq!(marks(&window, needs_escape), expected, "{byte} at {at}");
            }
        }
    }

    #[test]
    fn one_byte_makes_a_block_that_is_not_plain() {
        for at in [0, 1, 63, 64, 200, BLOCK - 1] {
            for byte in 0..=255_u8 {
                let mut block = [b'x'; BLOCK];
                block[at] = byte;
                let expected = byte.is_ascii() && !needs_escape(byte);
                assert_eq!(is_plain(&block), expected, "{byte} at {at}");
            }
        }
    }

    #[test]
    fn the_first_byte_of_a_kind_is_found() {
        for at in 0..20 {
            for byte in 0..=255_u8 {
                // What stands behind it may be anything.
                for next in [b'x', b'"', 0, 0x1f, 0x80, 0xff] {
                    let mut text = [b'x'; 24];
                    text[at] = byte;
                    text[at + 1] = next;
                    let first = |is_marked: &dyn Fn(u8) -> bool| {
                        text.iter().position(|byte| is_marked(*byte)).unwrap_or(24)
                    };
                    assert_eq!(leading(&text, 3, needing_escape), first(&needs_escape));
                    assert_eq!(
                        leading(&text, 3, needing_escape_or_not_ascii),
                        first(&|byte| needs_escape(byte) || !byte.is_ascii()),
                    );
                    for end in [at + 1, at + 2, 24] {
                        let text = &text[..end];
                        let some = |is_marked: &dyn Fn(u8) -> bool| {
                            text.iter().any(|byte| is_marked(*byte))
                        };
                        assert_eq!(!has_none(text, needing_escape), some(&needs_escape));
                        assert_eq!(
                            !has_none(text, needing_escape_or_not_ascii),
                            some(&|byte| needs_escape(byte) || !byte.is_ascii()),
                        );
                    }
                }
            }
        }
        assert_eq!(leading(&[b'x'; 24], 2, needing_escape), 16);
        assert_eq!(leading(b"no word", 9, needing_escape), 0);
    }

    #[test]
    fn bits_do_not_touch_each_other() {
        for pattern in [u64::MAX, 0x5555_5555_5555_5555, 0x8000_0001_F00F_0001] {
            let window: [u8; WINDOW] = std::array::from_fn(|at| (pattern >> at & 1) as u8);
            assert_eq!(marks(&window, |byte| byte == 1), pattern);
        }
    }
}
