//! Values in headers, plain or within the sentinel.

use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard_protocol::http::header;
use switchboard_protocol::http::mirror::{
    Malformed, are_mirrors_checked, check_encoded, check_literal, decode, encode,
};

use super::{only, plain};

pub(super) fn check(text: &[u8], headers: &HeaderMap) {
    let text = String::from_utf8_lossy(text);
    check_encoding(&text);
    for value in headers.values() {
        check_decoding(value);
    }
    for name in [header::NAME, header::METHOD] {
        check_comparison(headers, &name, &text);
    }
    if are_mirrors_checked(headers) {
        let version = only(headers, "mcp-protocol-version").and_then(plain);
        assert_eq!(version, Some("2026-07-28"));
    }
}

/// What was encoded is printable, has no outer spaces, and is decoded as it was.
fn check_encoding(text: &str) {
    let value = encode(text);
    let wire = value.to_str().expect("visible ASCII");
    assert!(wire.bytes().all(|byte| matches!(byte, b' '..=b'~')));
    assert_eq!(wire, wire.trim());
    assert_eq!(decode(&value).as_deref(), Ok(text));
    assert!(wire == text || wire.starts_with(PREFIX) && wire.ends_with(SUFFIX));
}

/// A value is decoded as a plain reading of the rules has it.
pub(super) fn check_decoding(value: &HeaderValue) {
    let expected = match plain(value) {
        None => Err(Malformed::Characters),
        Some(text) => match text
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.strip_suffix(SUFFIX))
        {
            None => Ok(text.to_owned()),
            Some(inner) => base64(inner.as_bytes())
                .ok_or(Malformed::Base64)
                .and_then(|bytes| String::from_utf8(bytes).map_err(|_| Malformed::Utf8)),
        },
    };
    assert_eq!(decode(value).map(Into::into), expected, "{value:?}");
    if let Ok(text) = expected {
        check_encoding(&text);
    }
}

/// One header of the name, and it says the text.
fn check_comparison(headers: &HeaderMap, name: &HeaderName, expected: &str) {
    let value = only(headers, name.as_str());
    let decoded = value.and_then(|value| decode(value).ok());
    let is_said = decoded.as_deref() == Some(expected);
    assert_eq!(check_encoded(headers, name, expected).is_ok(), is_said);
    let is_said = value.and_then(plain) == Some(expected);
    assert_eq!(check_literal(headers, name, expected).is_ok(), is_said);

    let mut made = HeaderMap::new();
    made.insert(name, encode(expected));
    assert_eq!(check_encoded(&made, name, expected), Ok(()));
    made.append(name, encode(expected));
    assert!(check_encoded(&made, name, expected).is_err());
}

/// Standard Base64 with all its padding and nothing beside it (RFC 4648, section 4).
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text
        .strip_suffix(b"==")
        .or(text.strip_suffix(b"="))
        .unwrap_or(text);
    let (mut bits, mut held) = (0_u32, 0);
    let mut bytes = Vec::new();
    for digit in digits {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    // Bits that are left over must be zero, or two texts would mean the same.
    (bits == 0 && held < 6).then_some(bytes)
}

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";
