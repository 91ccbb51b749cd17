//! Headers that repeat a part of the body, so that a proxy need not read it.
//!
//! Writes a value as a header, reads it back, and compares it with the body.
//! Which values those are is for [`parameter`](super::parameter) (a tool's own)
//! and [`server`](super::server) (version, method, name).
//!
//! Specification: 2026-07-28 basic/transports/streamable-http, value encoding and
//! server validation.

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::fields::Field;
use super::{excerpt, header};
use crate::revision::{Era, Revision};

/// Writes a value as `Mcp-Name` and `Mcp-Param-*` carry it.
///
/// Plain when it is printable ASCII without outer spaces; otherwise, and when
/// the literal looks encoded already, as `=?base64?…?=`.
pub fn encode(value: &str) -> HeaderValue {
    let text = if is_plain(value) {
        Cow::Borrowed(value)
    } else {
        Cow::Owned(format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(value)))
    };
    HeaderValue::from_str(&text).expect("invariant: printable ASCII is a header value")
}

/// Reads a value that [`encode`] wrote, or that a peer wrote plainly.
///
/// Spaces and tabs around it are not part of it.
///
/// # Errors
/// When it holds other than visible ASCII, space and tab, or is encoded badly.
pub fn decode(value: &HeaderValue) -> Result<Cow<'_, str>, Malformed> {
    let text = plain_text(value)?;
    let Some(encoded) = text
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_suffix(SUFFIX))
    else {
        return Ok(Cow::Borrowed(text));
    };
    let bytes = STANDARD.decode(encoded).map_err(|_| Malformed::Base64)?;
    String::from_utf8(bytes)
        .map(Cow::Owned)
        .map_err(|_| Malformed::Utf8)
}

/// Checks that exactly one header of this name says, once decoded, the expected.
///
/// # Errors
/// When it is missing, repeated, malformed or different.
pub fn check_encoded(
    headers: &HeaderMap,
    name: &HeaderName,
    expected: &str,
) -> Result<(), Mismatch> {
    encoded(Field::of(headers, name), name, expected)
}

pub(super) fn encoded(field: Field<'_>, name: &HeaderName, expected: &str) -> Result<(), Mismatch> {
    let value = field.one(name)?;
    let value = value.ok_or_else(|| Mismatch::missing(name, expected))?;
    if says_plainly(value, expected) && !expected.starts_with(PREFIX) {
        return Ok(());
    }
    let found = decode(value).map_err(|reason| Mismatch::malformed(name, reason))?;
    equal(name, &found, expected)
}

/// Checks that exactly one header of this name says literally the expected.
///
/// For `Mcp-Method` and `MCP-Protocol-Version`, which have no encoded form.
///
/// # Errors
/// When it is missing, repeated, malformed or different.
pub fn check_literal(
    headers: &HeaderMap,
    name: &HeaderName,
    expected: &str,
) -> Result<(), Mismatch> {
    literal(Field::of(headers, name), name, expected)
}

pub(super) fn literal(field: Field<'_>, name: &HeaderName, expected: &str) -> Result<(), Mismatch> {
    let value = field.one(name)?;
    let value = value.ok_or_else(|| Mismatch::missing(name, expected))?;
    if says_plainly(value, expected) {
        return Ok(());
    }
    let found = plain_text(value).map_err(|reason| Mismatch::malformed(name, reason))?;
    equal(name, found, expected)
}

/// May a proxy act on the mirrors of this request without reading its body?
///
/// Only of a revision whose servers compare them with the body. A proxy that must
/// act on them refuses the others.
pub fn are_mirrors_checked(headers: &HeaderMap) -> bool {
    let version = one(headers, &header::PROTOCOL_VERSION).ok().flatten();
    version
        .and_then(|version| plain_text(version).ok()?.parse::<Revision>().ok())
        .is_some_and(|revision| revision.era() == Era::Stateless)
}

/// Why a header does not repeat the body: all are answered with -32020 and 400.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// The body has a value and the header is not there.
    Missing {
        /// The header.
        header: HeaderName,
        /// What it should have said.
        expected: String,
    },
    /// The header is there and the body has no value.
    Unexpected {
        /// The header.
        header: HeaderName,
    },
    /// The header is there more than once, so two readers may differ.
    Repeated {
        /// The header.
        header: HeaderName,
    },
    /// The header cannot be read.
    Malformed {
        /// The header.
        header: HeaderName,
        /// What is wrong with it.
        reason: Malformed,
    },
    /// The header says something else than the body.
    Unequal {
        /// The header.
        header: HeaderName,
        /// What it says.
        found: String,
        /// What the body says.
        expected: String,
    },
    /// The body's value has no header form, so no header can match it.
    NoHeaderForm {
        /// The header.
        header: HeaderName,
    },
}

impl Mismatch {
    pub(super) fn missing(header: &HeaderName, expected: &str) -> Self {
        Self::Missing {
            header: header.clone(),
            expected: excerpt(expected),
        }
    }

    pub(super) fn malformed(header: &HeaderName, reason: Malformed) -> Self {
        Self::Malformed {
            header: header.clone(),
            reason,
        }
    }

    pub(super) fn unequal(header: &HeaderName, found: &str, expected: &str) -> Self {
        Self::Unequal {
            header: header.clone(),
            found: excerpt(found),
            expected: excerpt(expected),
        }
    }

    /// The header that is wrong.
    pub fn header(&self) -> &HeaderName {
        match self {
            Self::Missing { header, .. }
            | Self::Unexpected { header }
            | Self::Repeated { header }
            | Self::Malformed { header, .. }
            | Self::Unequal { header, .. }
            | Self::NoHeaderForm { header } => header,
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { header, expected } => {
                write!(f, "header {header} is missing, expected {expected:?}")
            }
            Self::Unexpected { header } => {
                write!(f, "header {header} has no value in the body, expected none")
            }
            Self::Repeated { header } => {
                write!(f, "header {header} is repeated, expected exactly one")
            }
            Self::Malformed { header, reason } => write!(f, "header {header} {reason}"),
            Self::Unequal {
                header,
                found,
                expected,
            } => write!(
                f,
                "header {header} says {found:?}, expected {expected:?} as in the body"
            ),
            Self::NoHeaderForm { header } => write!(
                f,
                "header {header} cannot repeat the body, expected a string, a boolean or an \
                 integer within ±(2^53-1)"
            ),
        }
    }
}

impl std::error::Error for Mismatch {}

/// Why the value of a header cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// Holds other than visible ASCII, space and tab.
    Characters,
    /// Looks encoded, but is not standard Base64 with padding.
    Base64,
    /// Is encoded, but not from UTF-8.
    Utf8,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Characters => "has invalid characters, expected visible ASCII",
            Self::Base64 => "is not valid, expected standard Base64 with padding",
            Self::Utf8 => "is not valid, expected UTF-8 inside the Base64",
        })
    }
}

impl std::error::Error for Malformed {}

/// The only header of this name, if there is one.
pub(super) fn one<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a HeaderValue>, Mismatch> {
    Field::of(headers, name).one(name)
}

/// The text of a header without the spaces and tabs around it.
pub(super) fn plain_text(value: &HeaderValue) -> Result<&str, Malformed> {
    let text = value.to_str().map_err(|_| Malformed::Characters)?;
    Ok(text.trim_matches([' ', '\t']))
}

/// Is it the expected, written without anything that needs a closer look? Nearly all are.
fn says_plainly(value: &HeaderValue, expected: &str) -> bool {
    value.as_bytes() == expected.as_bytes() && expected.bytes().all(|byte| byte.is_ascii_graphic())
}

fn equal(name: &HeaderName, found: &str, expected: &str) -> Result<(), Mismatch> {
    if found == expected {
        Ok(())
    } else {
        Err(Mismatch::unequal(name, found, expected))
    }
}

fn is_plain(value: &str) -> bool {
    // An inner tab is legal in a header, but the conformance suite wants it encoded.
    let is_printable = value.bytes().all(|byte| (0x20..=0x7E).contains(&byte));
    let is_padded = value.starts_with(' ') || value.ends_with(' ');
    let looks_encoded = value.starts_with(PREFIX) && value.ends_with(SUFFIX);
    is_printable && !is_padded && !looks_encoded
}

// Lower case and exact: any other spelling is a literal.
const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(value: &str, wire: &str) {
        let encoded = encode(value);
        assert_eq!(encoded, wire, "encoding {value:?}");
        assert_eq!(decode(&encoded).unwrap(), value, "decoding {wire:?}");
    }

    fn reads(wire: &[u8], expected: Result<&str, Malformed>) {
        let value = HeaderValue::from_bytes(wire).unwrap();
        assert_eq!(decode(&value).as_deref(), expected.as_deref(), "{wire:?}");
    }

    #[test]
    fn the_examples_of_the_specification_are_written_as_shown() {
        check("us-west1", "us-west1");
        check("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=");
        check(" padded ", "=?base64?IHBhZGRlZCA=?=");
        check("line1\nline2", "=?base64?bGluZTEKbGluZTI=?=");
        check("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
    }

    #[test]
    fn printable_ascii_stays_plain() {
        check("", "");
        check("a b  c", "a b  c");
        check(
            "file:///path/to/file%20name.txt",
            "file:///path/to/file%20name.txt",
        );
        check(
            "https://example.com/resource?id=123",
            "https://example.com/resource?id=123",
        );
        check("~!@#$%^&*(){}[]\"'", "~!@#$%^&*(){}[]\"'");
    }

    #[test]
    fn what_a_header_cannot_carry_is_encoded() {
        check("\0", "=?base64?AA==?=");
        check("a\r\nEvil: 1", "=?base64?YQ0KRXZpbDogMQ==?=");
        check("\u{7f}", "=?base64?fw==?=");
        check("a\tb", "=?base64?YQli?=");
        check(" ", "=?base64?IA==?=");
        check(" a", "=?base64?IGE=?=");
        check("a ", "=?base64?YSA=?=");
        check("é", "=?base64?w6k=?=");
    }

    // the forty: 30
    #[test]
    fn literals_that_look_encoded_are_encoded() {
        check(
            "=?base64?SGVsbG8=?=",
            "=?base64?PT9iYXNlNjQ/U0dWc2JHOD0/PQ==?=",
        );
        check("=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?=");
        // Prefix and suffix share a character: still both.
        check("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?=");
    }

    // the forty: 30
    #[test]
    fn other_spellings_of_the_sentinel_are_literals() {
        check("=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?=");
        check("=?Base64?SGVsbG8=?=", "=?Base64?SGVsbG8=?=");
        check("=?base64?SGVsbG8=", "=?base64?SGVsbG8=");
        check("SGVsbG8=?=", "SGVsbG8=?=");
        check("SGVsbG8=", "SGVsbG8=");
        check("=?utf-8?b?SGVsbG8=?=", "=?utf-8?b?SGVsbG8=?=");
    }

    #[test]
    fn reading_trims_decodes_and_refuses_bad_base64() {
        reads(b"  foo \t", Ok("foo"));
        reads(b" =?base64?SGVsbG8=?= ", Ok("Hello"));
        reads(b"=?base64??=", Ok(""));
        reads(b"=?base64?=", Ok("=?base64?="));
        reads(b"=?base64?SGVsbG8?=", Err(Malformed::Base64));
        reads(b"=?base64?SGVs!!!bG8=?=", Err(Malformed::Base64));
        reads(b"=?base64? SGVsbG8=?=", Err(Malformed::Base64));
        reads(b"=?base64?SGVsbG9=?=", Err(Malformed::Base64));
        reads(b"=?base64?_-8=?=", Err(Malformed::Base64));
        reads(b"=?base64?/w==?=", Err(Malformed::Utf8));
        reads(b"caf\xc3\xa9", Err(Malformed::Characters));
    }

    #[test]
    fn a_header_is_there_exactly_once_and_equal_after_decoding() {
        let mut headers = HeaderMap::new();
        let missing = check_encoded(&headers, &header::NAME, "a").unwrap_err();
        assert_eq!(
            missing.to_string(),
            "header mcp-name is missing, expected \"a\""
        );

        headers.append(header::NAME, encode("世"));
        assert_eq!(check_encoded(&headers, &header::NAME, "世"), Ok(()));
        let unequal = check_encoded(&headers, &header::NAME, "界").unwrap_err();
        assert_eq!(
            unequal.to_string(),
            "header mcp-name says \"世\", expected \"界\" as in the body"
        );

        headers.append(header::NAME, encode("世"));
        let repeated = check_encoded(&headers, &header::NAME, "世").unwrap_err();
        assert!(matches!(repeated, Mismatch::Repeated { .. }));
    }

    #[test]
    fn a_header_that_cannot_be_read_says_what_was_expected() {
        for (wire, expected) in [
            (
                &b"caf\xc3\xa9"[..],
                "has invalid characters, expected visible ASCII",
            ),
            (
                b"=?base64?a?=",
                "is not valid, expected standard Base64 with padding",
            ),
            (
                b"=?base64?/w==?=",
                "is not valid, expected UTF-8 inside the Base64",
            ),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::NAME, HeaderValue::from_bytes(wire).unwrap());
            let error = check_encoded(&headers, &header::NAME, "a").unwrap_err();
            assert_eq!(error.to_string(), format!("header mcp-name {expected}"));
        }
    }

    #[test]
    fn values_keep_their_case_and_the_method_has_no_encoded_form() {
        let mut headers = HeaderMap::new();
        headers.insert(header::METHOD, HeaderValue::from_static("TOOLS/LIST"));
        assert!(check_literal(&headers, &header::METHOD, "tools/list").is_err());
        headers.insert(header::METHOD, HeaderValue::from_static(" tools/list "));
        assert!(check_literal(&headers, &header::METHOD, "tools/list").is_ok());
        headers.insert(header::METHOD, HeaderValue::from_static("=?base64?YQ==?="));
        assert!(check_literal(&headers, &header::METHOD, "a").is_err());
    }

    #[test]
    fn a_header_that_is_the_same_to_the_byte_is_still_read_by_the_rules() {
        let mut headers = HeaderMap::new();
        // Text, encoded, padded, not ASCII: only the first says what it looks like.
        for (value, is_literal, is_encoded) in [
            ("echo", true, true),
            ("=?base64?YQ==?=", true, false),
            (" a", false, false),
            ("\u{e9}", false, false),
        ] {
            let same = HeaderValue::from_bytes(value.as_bytes()).unwrap();
            headers.insert(header::NAME, same);
            let literal = check_literal(&headers, &header::NAME, value);
            let encoded = check_encoded(&headers, &header::NAME, value);
            assert_eq!((literal.is_ok(), encoded.is_ok()), (is_literal, is_encoded));
        }
    }

    #[test]
    fn a_proxy_trusts_mirrors_only_where_servers_check_them() {
        let mut headers = HeaderMap::new();
        assert!(!are_mirrors_checked(&headers));
        for (version, is_checked) in [("2026-07-28", true), ("2025-11-25", false), ("x", false)] {
            headers.insert(header::PROTOCOL_VERSION, version.parse().unwrap());
            assert_eq!(are_mirrors_checked(&headers), is_checked, "{version}");
        }
        headers.insert(header::PROTOCOL_VERSION, "2026-07-28".parse().unwrap());
        headers.append(header::PROTOCOL_VERSION, "2026-07-28".parse().unwrap());
        assert!(!are_mirrors_checked(&headers));
    }

    #[test]
    fn a_message_shows_only_the_beginning_of_a_long_value() {
        let mismatch = Mismatch::unequal(&header::NAME, &"x".repeat(1 << 20), "\r\n");
        assert!(mismatch.to_string().len() < 400);
        assert!(mismatch.to_string().contains("\"\\r\\n\""));
    }

    proptest! {
        #[test]
        fn any_text_survives_the_header(value in any::<String>()) {
            let encoded = encode(&value);
            prop_assert!(encoded.to_str().is_ok());
            prop_assert_eq!(decode(&encoded).unwrap(), value.as_str());
        }

        #[test]
        fn any_text_around_the_sentinel_survives(middle in ".{0,12}", tail in "(\\?=)?") {
            let value = format!("{PREFIX}{middle}{tail}");
            let encoded = encode(&value);
            prop_assert_eq!(decode(&encoded).unwrap(), value.as_str());
        }

        #[test]
        fn reading_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                let _ = decode(&value);
            }
        }
    }
}
