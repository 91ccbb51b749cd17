//! Reading and writing JSON strings, in wide steps.
//!
//! Large arguments and results are mostly text, and its escapes are what they cost. A string
//! means what serde_json says it means, and is written to the byte as serde_json writes it.

use std::borrow::Cow;

use crate::marks::{
    Pair, WINDOW, chunk, has_none, leading, marks, needing_escape, needing_escape_or_not_ascii,
    needs_escape, window,
};

/// Reads a string from behind its first quote: what it means, and how many bytes it takes up
/// to and with its last quote.
///
/// ```
/// use switchboard_protocol::json_string;
///
/// let (text, length) = json_string::read(r#"one\ntwo", and more"#).expect("it is valid");
/// assert_eq!((&*text, length), ("one\ntwo", 9));
/// ```
///
/// `None` when it does not end, or holds what a string may not, as half of a surrogate pair.
#[inline]
pub fn read(text: &str) -> Option<(Cow<'_, str>, usize)> {
    let bytes = text.as_bytes();
    let plain = plain_prefix(bytes);
    if bytes.get(plain) == Some(&b'"') {
        return Some((Cow::Borrowed(text.get(..plain)?), plain + 1));
    }
    let (meaning, length) = unescape_from(bytes, plain);
    (bytes.get(length) == Some(&b'"')).then_some((Cow::Owned(meaning?), length + 1))
}

/// What stands between the quotes of a string means this. `None` as with [`read`], and when
/// it is not UTF-8.
pub(crate) fn unescape(raw: &[u8]) -> Option<Cow<'_, str>> {
    let Some(first) = memchr::memchr(b'\\', raw) else {
        return std::str::from_utf8(raw).ok().map(Cow::Borrowed);
    };
    let (meaning, length) = unescape_from(raw, first);
    meaning.filter(|_| length == raw.len()).map(Cow::Owned)
}

/// Appends the text as a JSON string.
pub(crate) fn write(text: &str, out: &mut Vec<u8>) {
    let text = text.as_bytes();
    out.reserve(text.len() + 2);
    out.push(b'"');
    if text.len() <= WINDOW && has_none(text, needing_escape) {
        out.extend_from_slice(text);
        out.push(b'"');
        return;
    }
    let mut at = 0;
    while let Some(pair) = chunk(text, at) {
        let mut marked = marks(window(pair), needs_escape);
        let mut copied = 0;
        while marked != 0 {
            let next = marked.trailing_zeros() as usize;
            copy_part(pair, copied, next, out);
            write_escape(pair.get(next).copied().unwrap_or_default(), out);
            copied = next + 1;
            marked &= marked - 1;
        }
        copy_part(pair, copied, WINDOW, out);
        at += WINDOW;
    }
    let mut rest = text.get(at..).unwrap_or_default();
    loop {
        let (before, after) = rest.split_at(plain_prefix(rest));
        out.extend_from_slice(before);
        let Some((&special, after)) = after.split_first() else {
            break;
        };
        write_escape(special, out);
        rest = after;
    }
    out.push(b'"');
}

/// Is this what may stand between the quotes of a string, and means itself?
#[inline]
pub(crate) fn is_plain(text: &[u8]) -> bool {
    if text.len() <= WINDOW && has_none(text, needing_escape_or_not_ascii) {
        return true;
    }
    let is_utf8 = || text.is_ascii() || std::str::from_utf8(text).is_ok();
    plain_prefix(text) == text.len() && is_utf8()
}

/// How many bytes at the beginning need no escape.
#[inline]
fn plain_prefix(text: &[u8]) -> usize {
    let mut plain = leading(text, WINDOW / 8, needing_escape);
    if plain == WINDOW {
        plain += plain_windows(text.get(plain..).unwrap_or_default());
        let rest = text.get(plain..).unwrap_or_default();
        plain += leading(rest, usize::MAX, needing_escape);
    }
    let rest = text.get(plain..).unwrap_or_default().iter();
    plain + rest.take_while(|byte| !needs_escape(**byte)).count()
}

/// The same, as far as it fills windows.
fn plain_windows(text: &[u8]) -> usize {
    let windows = text.as_chunks().0.iter();
    let plain = windows.take_while(|window| marks(window, needs_escape) == 0);
    plain.count() * WINDOW
}

/// The meaning of a string that has no escapes before a place, and where it ends: at a quote,
/// at the end of the text, or where it cannot go on.
fn unescape_from(text: &[u8], plain: usize) -> (Option<String>, usize) {
    let mut out = Vec::with_capacity(text.len().min(plain + FIRST_ROOM));
    out.extend_from_slice(text.get(..plain).unwrap_or_default());
    let mut at = plain;
    'windows: while let Some(pair) = chunk(text, at) {
        let mut marked = marks(window(pair), needs_escape);
        let mut copied = 0;
        make_room(&mut out, text.len() - at);
        while marked != 0 {
            let next = marked.trailing_zeros() as usize;
            copy_part(pair, copied, next, &mut out);
            let escape = pair.get(next..).unwrap_or_default();
            let Some(length) = read_escape(escape, &mut out) else {
                return (finished(out), at + next);
            };
            copied = next + length;
            if copied >= WINDOW {
                at += copied;
                continue 'windows;
            }
            marked &= u64::MAX << copied;
        }
        copy_part(pair, copied, WINDOW, &mut out);
        at += WINDOW;
    }
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let (before, after) = rest.split_at(plain_prefix(rest));
        out.extend_from_slice(before);
        at += before.len();
        let Some(length) = read_escape(after, &mut out) else {
            return (finished(out), at);
        };
        at += length;
    }
}

/// Makes room for a window. Whoever has filled the first room is long, and may take up all that
/// is left of the text: nothing means more bytes than it is written with.
#[inline]
fn make_room(out: &mut Vec<u8>, left: usize) {
    if out.capacity() - out.len() < WINDOW {
        out.reserve(left);
    }
}

/// The bytes as a string, without much room that it does not need.
fn finished(mut out: Vec<u8>) -> Option<String> {
    if out.len() < out.capacity() / 2 {
        out.shrink_to_fit();
    }
    String::from_utf8(out).ok()
}

/// Appends a part of the first window.
#[inline]
fn copy_part(pair: &Pair, from: usize, to: usize, out: &mut Vec<u8>) {
    // A copy of known length costs less than one that fits, even if most of it is cut off.
    if let Some(part) = chunk::<WINDOW>(pair, from) {
        let length = out.len() + (to - from);
        out.extend_from_slice(part);
        out.truncate(length);
    }
}

/// Appends what the escape at the beginning means; gives how many bytes it takes. `None` if
/// there is none.
#[inline(always)]
fn read_escape(text: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let [b'\\', letter, ..] = text else {
        return None;
    };
    match meaning(*letter) {
        Some(meaning) => {
            out.push(meaning);
            Some(2)
        }
        None => read_numbered(text, out),
    }
}

/// The byte that a letter means behind a backslash, if it is an escape by itself.
#[inline]
pub(crate) fn meaning(letter: u8) -> Option<u8> {
    let meaning = MEANING.get(usize::from(letter)).copied();
    meaning.filter(|meaning| *meaning != 0)
}

/// The same for `\uXXXX`, or two of them that are one character.
#[cold]
fn read_numbered(text: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let first = unit(text)?;
    let (character, length) = match first {
        0xD800..0xDC00 => {
            let second = unit(text.get(6..)?)?;
            let low = second.checked_sub(0xDC00).filter(|low| *low < SURROGATES)?;
            (0x1_0000 + (first - 0xD800) * SURROGATES + low, 12)
        }
        _ => (first, 6),
    };
    let character = char::from_u32(character)?;
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    Some(length)
}

/// The number that `\uXXXX` holds.
fn unit(text: &[u8]) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = text.get(..6)? else {
        return None;
    };
    digits.iter().try_fold(0, |number, digit| {
        Some(number << 4 | char::from(*digit).to_digit(16)?)
    })
}

#[inline]
fn write_escape(byte: u8, out: &mut Vec<u8>) {
    match ESCAPES.get(usize::from(byte)) {
        Some(&letter) if letter != 0 => out.extend_from_slice(&[b'\\', letter]),
        _ => {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0');
            let escape = [b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)];
            out.extend_from_slice(&escape);
        }
    }
}

/// What a string with escapes gets at first. Most texts as a whole are shorter.
const FIRST_ROOM: usize = 16 * 1024;

/// How many there are of either half of a pair.
const SURROGATES: u32 = 0x400;

/// Letters that may follow a backslash, and the byte that they mean with it.
const LETTERS: [(u8, u8); 8] = [
    (b'"', b'"'),
    (b'\\', b'\\'),
    (b'/', b'/'),
    (b'b', 0x08),
    (b'f', 0x0c),
    (b'n', b'\n'),
    (b'r', b'\r'),
    (b't', b'\t'),
];

/// By letter, the byte that it means. Zero for those that mean none.
const MEANING: [u8; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < LETTERS.len() {
        let (letter, byte) = LETTERS[index];
        table[letter as usize] = byte;
        index += 1;
    }
    table
};

/// By byte, the letter that it is written with. Zero for those that have none.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < LETTERS.len() {
        let (letter, byte) = LETTERS[index];
        // A slash may be escaped, but needs not.
        if needs_escape(byte) {
            table[byte as usize] = letter;
        }
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// It is written as serde_json does, and read back. It is plain if nothing was added.
    fn check(text: &str) {
        let mut written = Vec::new();
        write(text, &mut written);
        assert_eq!(written, serde_json::to_vec(text).unwrap(), "{text:?}");
        let has_no_escape = written.len() == text.len() + 2;
        assert_eq!(is_plain(text.as_bytes()), has_no_escape, "{text:?}");
        let written = str::from_utf8(&written).unwrap();
        let (read, length) = read(&written[1..]).unwrap();
        assert_eq!((&*read, length), (text, written.len() - 1));
    }

    /// What stands behind a quote is read as serde_json reads it.
    fn check_reading(rest: &[u8]) {
        let quoted = [b"\"", rest].concat();
        let mut expected = serde_json::Deserializer::from_slice(&quoted).into_iter::<String>();
        let text = expected.next().and_then(Result::ok);
        let expected = text.map(|text| (Cow::from(text), expected.byte_offset() - 1));
        if let Some((text, length)) = &expected {
            let inside = &rest[..length - 1];
            assert_eq!(unescape(inside).as_ref(), Some(text));
        }
        if let Ok(rest) = str::from_utf8(rest) {
            assert_eq!(read(rest), expected, "{rest:?}");
        }
    }

    #[test]
    fn every_character_is_written_as_serde_json_writes_it() {
        for first in 0..0x300_u32 {
            let character = char::from_u32(first).unwrap();
            for before in [0, 1, 7, 8, 62, 63, 64, 127] {
                let text = format!("{}{character}é", "x".repeat(before));
                check(&text);
                check(&format!("{text}{}", "y".repeat(80)));
            }
        }
    }

    #[test]
    fn escapes_are_read_wherever_they_stand() {
        let escapes = [
            r"\n",
            r"\/",
            r#"\""#,
            r"\\",
            r"\\\\",
            r"\u00e9",
            r"\u20AC",
            r"\ud83d\ude00",
            r"\ud800\udc00",
            r"\udbff\udfff",
            r"\u0000",
            "é",
            "😀",
        ];
        for escape in escapes {
            for before in 0..70 {
                // Behind another, and so long that it may go on from one window to the next.
                let (before, after) = ("x".repeat(before), "y".repeat(130));
                check_reading(format!(r#"\n{before}{escape}{after}""#).as_bytes());
                for after in [0, 1, 70] {
                    let after = "y".repeat(after);
                    check_reading(format!(r#"{before}{escape}{after}" and"#).as_bytes());
                    check_reading(format!(r#"{before}{escape}{escape}{after}""#).as_bytes());
                }
            }
        }
    }

    #[test]
    fn what_is_no_string_is_not_read() {
        let wrong: [&[u8]; 17] = [
            b"",
            b"\\\"",
            b"\n\"",
            b"\\x\"",
            b"\\",
            b"\\u12\"",
            b"\\u12g4\"",
            b"\\u+123\"",
            b"\\ud800\"",
            b"\\ud800\\u0041\"",
            b"\\ud800x\"",
            b"\\udc00\"",
            b"\\ud800\\ud800\"",
            b"\\ud800\\ue000\"",
            b"\xff\"",
            b"\\n\xff\"",
            b"\\n\xc3\"",
        ];
        for wrong in wrong {
            for before in [0, 8, 63, 64, 65] {
                let text = [&b"x".repeat(before), wrong].concat();
                check_reading(&text);
                match str::from_utf8(&text) {
                    Ok(text) => assert_eq!(read(text), None),
                    Err(_) => assert_eq!(unescape(&text[..text.len() - 1]), None),
                }
                let text = [&text, &b"y".repeat(70)[..], b"\""].concat();
                check_reading(&text);
            }
        }
    }

    #[test]
    fn a_string_takes_no_more_memory_than_twice_its_text() {
        // Whoever keeps a short string out of a large frame keeps no room of the frame's size.
        for length in [10, 1_000, 100_000] {
            let rest = " ".repeat(1 << 20);
            let text = format!("{}\"{rest}", r"\n".repeat(length));
            let Some((Cow::Owned(text), _)) = read(&text) else {
                panic!("it has escapes");
            };
            assert_eq!(text.len(), length);
            assert!(text.capacity() <= 2 * length, "{}", text.capacity());
        }
    }

    #[test]
    fn a_long_string_takes_no_more_memory_than_its_text() {
        let text = format!(r#"\n{}""#, "x".repeat(40_000));
        let Some((Cow::Owned(meaning), length)) = read(&text) else {
            panic!("it has an escape");
        };
        assert_eq!(length, text.len());
        assert!(meaning.capacity() <= length, "{}", meaning.capacity());
    }

    #[test]
    fn room_for_the_rest_is_made_when_there_is_none_for_a_window() {
        for (before, after) in [(63, 1_000), (64, 64), (128, 128)] {
            let mut out = Vec::with_capacity(before);
            make_room(&mut out, 1_000);
            assert_eq!(out.capacity(), after);
        }
    }

    /// What is likely to go wrong beside each other.
    const PIECES: &[&[u8]] = &[
        b"\\n",
        b"\\",
        b"\\\\",
        b"\\\"",
        b"\"",
        b"\\u00e9",
        b"\\ud83d",
        b"\\ude00",
        b"\n",
        b"\xff",
        b"\xc3\xa9",
        b"\xc3",
        b"\\u",
        b"\\q",
    ];

    proptest! {
        #[test]
        fn any_text_is_written_as_serde_json_writes_it(
            text in ".{0,40}|[\\x00-\\x7f]{0,60}|([a-z ]{0,30}[\"\\\\\n\t\u{1}é]){0,20}"
        ) {
            check(&text);
        }

        #[test]
        fn any_bytes_are_read_as_serde_json_reads_them(
            pieces in proptest::collection::vec(prop_oneof![
                "[a-zA-Z0-9 ]{0,30}".prop_map(String::into_bytes),
                prop::sample::select(PIECES).prop_map(<[u8]>::to_vec),
            ], 0..30),
        ) {
            check_reading(&pieces.concat());
        }
    }
}
