//! Writing a JSON string, eight bytes at a glance.
//!
//! Large results are mostly text, and escaping it byte by byte is what they cost. The text
//! is the same, to the byte, as what serde_json writes.

/// Appends the text as a JSON string.
pub(crate) fn write(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let plain = plain_prefix(rest);
        let (before, after) = rest.split_at(plain);
        out.extend_from_slice(before);
        let Some((&special, after)) = after.split_first() else {
            break;
        };
        write_escape(special, out);
        rest = after;
    }
    out.push(b'"');
}

/// How many bytes at the beginning need no escape.
fn plain_prefix(text: &[u8]) -> usize {
    let (words, rest) = text.as_chunks::<8>();
    let mut at = 0;
    for word in words {
        let special = special_bytes(u64::from_le_bytes(*word));
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + rest
        .iter()
        .position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\')
        .unwrap_or(rest.len())
}

/// The high bit of each byte that is a quote, a backslash or a control.
///
/// Bits above the lowest one set may be wrong (borrows run upwards); only the lowest is used.
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let quote = (word ^ (ONES * b'"' as u64)).wrapping_sub(ONES);
    let backslash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    let control = word.wrapping_sub(ONES * 0x20);
    (quote | backslash | control) & !word & HIGH
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0');
            let escape = [b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)];
            return out.extend_from_slice(&escape);
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str) {
        let mut written = Vec::new();
        write(text, &mut written);
        assert_eq!(written, serde_json::to_vec(text).unwrap(), "{text:?}");
    }

    #[test]
    fn every_character_is_written_as_serde_json_writes_it() {
        for first in 0..0x300_u32 {
            let character = char::from_u32(first).unwrap();
            for before in 0..9 {
                check(&format!("{}{character}é", "x".repeat(before)));
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_written_as_serde_json_writes_it(text in ".{0,40}|[\\x00-\\x7f]{0,60}") {
            check(&text);
        }
    }
}
