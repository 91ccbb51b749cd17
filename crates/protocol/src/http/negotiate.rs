//! `Accept` and `Content-Type`: which formats come in and go out.
//!
//! A client should accept both JSON and an event stream. One that accepts a
//! single one of them is still served while that one can carry the answer.
//!
//! Specification: basic/transports of each revision, sending messages; RFC 9110,
//! sections 8.3 and 12.5.1.

use std::fmt;

use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};

use super::excerpt;
use super::fields::{Field, Fields};

/// A format of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// `application/json`: one object.
    Json,
    /// `text/event-stream`: any number of messages.
    EventStream,
}

impl Format {
    /// The media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::EventStream => "text/event-stream",
        }
    }

    /// As the value of `Content-Type`, or of an `Accept` for it alone.
    pub const fn header_value(self) -> HeaderValue {
        HeaderValue::from_static(self.media_type())
    }

    /// The format of a received body, if the headers name exactly one of the two.
    ///
    /// Parameters such as `charset=utf-8` and the case of letters do not matter.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(CONTENT_TYPE).iter();
        let value = values.next()?.to_str().ok()?;
        if values.next().is_some() {
            return None;
        }
        let media_type = value.split(';').next()?.trim();
        [Self::Json, Self::EventStream]
            .into_iter()
            .find(|format| media_type.eq_ignore_ascii_case(format.media_type()))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.media_type())
    }
}

/// What a client accepts, with its preference from 0 (refused) to 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Accepted {
    /// Its preference for JSON.
    pub json: u16,
    /// Its preference for an event stream.
    pub event_stream: u16,
}

impl Accepted {
    /// Reads all `Accept` headers. None at all accepts everything.
    pub fn read(headers: &HeaderMap) -> Self {
        Self::of_field(headers, Field::of(headers, &ACCEPT))
    }

    pub(super) fn of(fields: &Fields<'_>) -> Self {
        Self::of_field(fields.headers, fields.accept)
    }

    fn of_field(headers: &HeaderMap, accept: Field<'_>) -> Self {
        let is_everything = match accept {
            Field::Absent => true,
            // What clients of MCP send, so that it is worth not to take it apart.
            Field::Once(only) => USUAL.contains(&only.as_bytes()),
            Field::Repeated => false,
        };
        if is_everything {
            return Self {
                json: MOST,
                event_stream: MOST,
            };
        }
        let mut ranges = Vec::new();
        for value in headers.get_all(ACCEPT) {
            let text = value.to_str().unwrap_or_default();
            ranges.extend(text.split(',').filter_map(Range::read));
        }
        Self {
            json: preference(&ranges, Format::Json),
            event_stream: preference(&ranges, Format::EventStream),
        }
    }

    /// Does it accept this format at all?
    pub const fn accepts(self, format: Format) -> bool {
        match format {
            Format::Json => self.json > 0,
            Format::EventStream => self.event_stream > 0,
        }
    }

    /// Does it accept both, as a POST of MCP must?
    pub const fn accepts_both(self) -> bool {
        self.json > 0 && self.event_stream > 0
    }

    /// The format for an answer, if one fits.
    ///
    /// More than one message needs an event stream. A single message is JSON
    /// unless the client prefers otherwise.
    pub const fn choose(self, needs_stream: bool) -> Option<Format> {
        if self.event_stream > 0 && (needs_stream || self.event_stream > self.json) {
            Some(Format::EventStream)
        } else if self.json > 0 && !needs_stream {
            Some(Format::Json)
        } else {
            None
        }
    }
}

/// Checks that a POST brings JSON, uncompressed.
///
/// A page may send the simple content types anywhere without asking first, so
/// nothing else is taken for JSON. A compressed body could be of any size.
///
/// # Errors
/// When it brings anything else or does not say: 415.
pub fn check_content_type(headers: &HeaderMap) -> Result<(), WrongContent> {
    if Format::of(headers) != Some(Format::Json) {
        return Err(WrongContent::Type {
            found: found(headers),
        });
    }
    let is_identity = |value: &&HeaderValue| {
        let text = value.to_str().unwrap_or_default().trim();
        text.eq_ignore_ascii_case("identity")
    };
    match headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .find(|value| !is_identity(value))
    {
        Some(value) => Err(WrongContent::Encoding {
            found: excerpt(&String::from_utf8_lossy(value.as_bytes())),
        }),
        None => Ok(()),
    }
}

/// The same for headers that were looked through.
pub(super) fn check_content(fields: &Fields<'_>) -> Result<(), WrongContent> {
    // Nearly every client writes it so; the rest is looked at more closely.
    let is_json = match fields.content_type {
        Field::Once(value) => value.as_bytes() == Format::Json.media_type().as_bytes(),
        Field::Absent | Field::Repeated => false,
    };
    if is_json && fields.content_encoding.is_absent() {
        return Ok(());
    }
    check_content_type(fields.headers)
}

/// A body that is not plain JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WrongContent {
    /// It is not said to be JSON.
    Type {
        /// What it is said to be.
        found: Option<String>,
    },
    /// It is compressed.
    Encoding {
        /// How.
        found: String,
    },
}

impl fmt::Display for WrongContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type { found: Some(found) } => {
                write!(
                    f,
                    "header content-type says {found:?}, expected {}",
                    Format::Json
                )
            }
            Self::Type { found: None } => {
                write!(
                    f,
                    "header content-type is missing, expected {}",
                    Format::Json
                )
            }
            Self::Encoding { found } => {
                write!(f, "header content-encoding says {found:?}, expected none")
            }
        }
    }
}

impl std::error::Error for WrongContent {}

/// The text of `Content-Type`, for a message.
pub(super) fn found(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?;
    Some(excerpt(&String::from_utf8_lossy(value.as_bytes())))
}

/// One entry of `Accept`.
struct Range<'a> {
    kind: &'a str,
    subtype: &'a str,
    quality: u16,
}

impl<'a> Range<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let (kind, subtype) = parts.next()?.split_once('/')?;
        let quality = parts
            .filter_map(|part| part.split_once('='))
            .find(|(name, _)| name.trim_end().eq_ignore_ascii_case("q"))
            .map_or(MOST, |(_, value)| quality(value.trim_start()));
        Some(Self {
            kind,
            subtype,
            quality,
        })
    }

    /// How closely it names the format: 3 exactly, 2 `type/*`, 1 `*/*`.
    fn closeness(&self, format: Format) -> Option<u8> {
        let (kind, subtype) = format.media_type().split_once('/')?;
        let same_kind = self.kind.eq_ignore_ascii_case(kind);
        if same_kind && self.subtype.eq_ignore_ascii_case(subtype) {
            Some(3)
        } else if same_kind && self.subtype == "*" {
            Some(2)
        } else if self.kind == "*" && self.subtype == "*" {
            Some(1)
        } else {
            None
        }
    }
}

/// The closest entry decides, not the most generous.
fn preference(ranges: &[Range<'_>], format: Format) -> u16 {
    ranges
        .iter()
        .filter_map(|range| Some((range.closeness(format)?, range.quality)))
        .max()
        .map_or(0, |(_, quality)| quality)
}

/// `0`, `0.5`, `0.125`, in thousandths.
///
/// All else is the most: `1`, and a weight that cannot be read, which must not become a refusal.
fn quality(text: &str) -> u16 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole != "0" || fraction.len() > 3 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return MOST;
    }
    format!("{fraction:0<3}").parse().unwrap_or(MOST)
}

const MOST: u16 = 1000;

/// Both formats, neither preferred.
const USUAL: [&[u8]; 4] = [
    b"application/json, text/event-stream",
    b"text/event-stream, application/json",
    b"application/json,text/event-stream",
    b"*/*",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn accept(values: &[&str]) -> Accepted {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(ACCEPT, value.parse().unwrap());
        }
        Accepted::read(&headers)
    }

    fn check(value: &str, json: u16, event_stream: u16) {
        let expected = Accepted { json, event_stream };
        assert_eq!(accept(&[value]), expected, "{value}");
    }

    #[test]
    fn accept_is_read_with_weights_and_wildcards() {
        check("application/json, text/event-stream", 1000, 1000);
        check("text/event-stream,application/json", 1000, 1000);
        check("Application/JSON; charset=utf-8", 1000, 0);
        check("text/event-stream", 0, 1000);
        check("*/*", 1000, 1000);
        check("application/*", 1000, 0);
        check("text/*;q=0.5, */*;q=0.1", 100, 500);
        check("application/json;q=0, */*", 0, 1000);
        check("*/*;q=0.8, application/json;Q=0.125", 125, 800);
        check(
            "application/json; q=1.0, text/event-stream ; q=0.9",
            1000,
            900,
        );
        check("text/html", 0, 0);
        check("", 0, 0);
        check("*/json", 0, 0);
        check("application/json-seq, text/event-streams", 0, 0);
    }

    #[test]
    fn a_weight_that_cannot_be_read_counts_as_one() {
        check("application/json;q=high", 1000, 0);
        check("application/json;q=2", 1000, 0);
        check("application/json;q=1.5", 1000, 0);
        check("application/json;q=0.1234", 1000, 0);
        check("application/json;q=-1", 1000, 0);
    }

    #[test]
    fn several_headers_are_one_list_and_none_accepts_everything() {
        assert!(accept(&["application/json", "text/event-stream"]).accepts_both());
        assert!(accept(&[]).accepts_both());
        assert!(!accept(&["application/json"]).accepts_both());
        assert!(!accept(&["text/event-stream"]).accepts_both());
    }

    #[test]
    fn a_format_is_accepted_unless_its_weight_is_nothing() {
        for (value, json, event_stream) in [
            ("application/json", true, false),
            ("text/event-stream", false, true),
            ("*/*;q=0.001", true, true),
            ("application/json;q=0, */*", false, true),
        ] {
            let accepted = accept(&[value]);
            assert_eq!(accepted.accepts(Format::Json), json, "{value}");
            assert_eq!(
                accepted.accepts(Format::EventStream),
                event_stream,
                "{value}"
            );
        }
    }

    #[test]
    fn one_message_is_json_and_many_are_a_stream() {
        let both = accept(&["application/json, text/event-stream"]);
        assert_eq!(both.choose(false), Some(Format::Json));
        assert_eq!(both.choose(true), Some(Format::EventStream));
        let json = accept(&["application/json"]);
        assert_eq!(json.choose(false), Some(Format::Json));
        assert_eq!(json.choose(true), None);
        let stream = accept(&["text/event-stream"]);
        assert_eq!(stream.choose(false), Some(Format::EventStream));
        let prefers = accept(&["application/json;q=0.5, text/event-stream"]);
        assert_eq!(prefers.choose(false), Some(Format::EventStream));
        assert_eq!(accept(&["text/html"]).choose(false), None);
    }

    #[test]
    fn only_json_is_taken_for_json() {
        let check = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_TYPE, value.parse().unwrap());
            }
            check_content_type(&headers)
        };
        assert!(check(&["application/json"]).is_ok());
        assert!(check(&["application/json; charset=utf-8"]).is_ok());
        assert!(check(&["APPLICATION/Json ;charset=\"utf-8\""]).is_ok());
        for wrong in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "text/plain; application/json",
            "text/event-stream",
            "application/jsonp",
            "application/json, text/plain",
            "",
        ] {
            assert!(check(&[wrong]).is_err(), "{wrong}");
        }
        assert!(check(&["application/json", "text/plain"]).is_err());
        assert_eq!(
            check(&[]).unwrap_err().to_string(),
            "header content-type is missing, expected application/json"
        );
    }

    #[test]
    fn a_compressed_body_is_refused() {
        let check = |encoding: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, Format::Json.header_value());
            headers.insert(CONTENT_ENCODING, encoding.parse().unwrap());
            check_content_type(&headers)
        };
        assert!(check("identity").is_ok());
        for encoding in ["gzip", "br", "identity, gzip", ""] {
            assert!(check(encoding).is_err(), "{encoding}");
        }
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in "\\PC*", parts in "[a-z*/;=,.q01 ]{0,40}") {
            for text in [text, parts] {
                if let Ok(value) = HeaderValue::from_bytes(text.as_bytes()) {
                    let mut headers = HeaderMap::new();
                    headers.insert(ACCEPT, value.clone());
                    headers.insert(CONTENT_TYPE, value);
                    let accepted = Accepted::read(&headers);
                    prop_assert!(accepted.json <= MOST && accepted.event_stream <= MOST);
                    let _ = Format::of(&headers);
                }
            }
        }
    }
}
