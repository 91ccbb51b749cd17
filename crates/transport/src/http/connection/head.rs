//! How the head of a request is read, and where its body ends.
//!
//! What two readers could read in two ways is refused. A client says nearly the same in every
//! request: a head that is the last one but for the length of the body is not read again.
//!
//! Specification: RFC 9112, sections 2 to 6 and 9.3; RFC 9110, section 10.1.1 (`Expect`).

use std::mem::MaybeUninit;
use std::ops::Range;

use bytes::Bytes;
use http::header::{self, HeaderName};
use http::{HeaderValue, Method, Request, StatusCode, Uri, Version};
use httparse::{ParserConfig, Status};
use switchboard_protocol::http::header as mcp;

use crate::http::chunks::Chunks;
use crate::http::framing::{Coding, Framing};
use crate::http::request_head::RequestHead;

/// A head, and what follows from it.
#[derive(Debug)]
pub(super) struct Head {
    /// All that it says, but for the length of its body.
    pub(super) request: RequestHead,
    /// The whole body, if it was there; then nothing is still to come.
    pub(super) body: Bytes,
    pub(super) remaining: Remaining,
    /// How much of what was read is head, and body that was there.
    pub(super) length: usize,
    pub(super) is_kept: bool,
    /// The client waits to be told that its body is wanted.
    pub(super) expects: bool,
}

/// What is still to come of a body.
#[derive(Debug, Default)]
pub(super) enum Remaining {
    #[default]
    Nothing,
    Exactly(u64),
    Chunks(Chunks),
    /// It is broken, and nothing that follows is understood.
    Broken,
}

/// Why a head is not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It is larger than it may be.
    TooLarge,
    /// It is no head, or one that could be read in two ways.
    NotHttp,
}

impl Refused {
    pub(super) const fn status(&self) -> StatusCode {
        match self {
            Self::TooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::NotHttp => StatusCode::BAD_REQUEST,
        }
    }
}

/// How large a head may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) headers: usize,
    pub(super) bytes: usize,
}

/// Reads the heads of one client.
#[derive(Debug)]
pub(super) struct HeadReader {
    bounds: Bounds,
    last: Option<Box<Remembered>>,
}

/// A head with the length of a body.
#[derive(Debug)]
struct Remembered {
    text: Bytes,
    /// Where its length stands.
    digits: Range<usize>,
    request: RequestHead,
    is_kept: bool,
    expects: bool,
}

impl HeadReader {
    pub(super) const fn new(bounds: Bounds) -> Self {
        Self { bounds, last: None }
    }

    /// How large a head may be in bytes.
    pub(super) const fn most(&self) -> usize {
        self.bounds.bytes
    }

    /// Reads a head, if all of it is there.
    ///
    /// # Errors
    /// When it is not the head of a request, or too large.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<Option<Head>, Refused> {
        if let Some(last) = &self.last
            && let Some(head) = last.read(bytes, self.bounds.bytes)
        {
            return Ok(Some(head));
        }
        let mut few = [const { MaybeUninit::uninit() }; USUAL_HEADERS];
        let mut many = Vec::new();
        let places = match few.get_mut(..self.bounds.headers) {
            Some(places) => places,
            None => {
                many.resize_with(self.bounds.headers, MaybeUninit::uninit);
                &mut many[..]
            }
        };
        let mut request = httparse::Request::new(&mut []);
        let parsed =
            ParserConfig::default().parse_request_with_uninit_headers(&mut request, bytes, places);
        let length = match parsed {
            Ok(Status::Complete(length)) if length <= self.bounds.bytes => length,
            Ok(Status::Partial) if bytes.len() <= self.bounds.bytes => return Ok(None),
            Ok(_) | Err(httparse::Error::TooManyHeaders) => return Err(Refused::TooLarge),
            Err(_) => return Err(Refused::NotHttp),
        };
        let text = Bytes::copy_from_slice(bytes.get(..length).unwrap_or_default());
        let (head, digits) = understand(&request, bytes, &text)?;
        self.remember(&head, text, digits);
        Ok(Some(head.with_body(bytes, length)))
    }

    fn remember(&mut self, head: &Head, text: Bytes, digits: Option<Range<usize>>) {
        self.last = match digits {
            Some(digits)
                if text.len() <= LARGEST_REMEMBERED
                    && head.request.headers.len() <= MOST_REMEMBERED =>
            {
                Some(Box::new(Remembered {
                    text,
                    digits,
                    request: head.request.clone(),
                    is_kept: head.is_kept,
                    expects: head.expects,
                }))
            }
            _ => None,
        };
    }
}

impl Remembered {
    /// The same head, if that is what comes, whatever length it says.
    fn read(&self, bytes: &[u8], most: usize) -> Option<Head> {
        let begins = self.text.get(..self.digits.start)?;
        let ends = self.text.get(self.digits.end..)?;
        let rest = bytes.strip_prefix(begins)?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = rest.split_at(digits);
        let length = begins.len() + digits.len() + ends.len();
        if !rest.starts_with(ends) || length > most {
            return None;
        }
        let size: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        let head = Head {
            request: self.request.clone(),
            body: Bytes::new(),
            remaining: match size {
                0 => Remaining::Nothing,
                size => Remaining::Exactly(size),
            },
            length: 0,
            is_kept: self.is_kept,
            expects: self.expects,
        };
        Some(head.with_body(bytes, length))
    }
}

impl Head {
    /// The same, of so many bytes, with its body if all of that is there.
    fn with_body(mut self, bytes: &[u8], length: usize) -> Self {
        self.length = length;
        if let Remaining::Exactly(size) = self.remaining
            && let Some(whole) = usize::try_from(size).ok()
            && let Some(whole) = length.checked_add(whole)
            && let Some(body) = bytes.get(length..whole)
        {
            // What was read is left for the next one. With a byte to spare it can be shared from the
            // beginning: otherwise that is made up for when its end is cut off, as that of a message is.
            let mut text = Vec::with_capacity(body.len() + 1);
            text.extend_from_slice(body);
            self.body = text.into();
            self.remaining = Remaining::Nothing;
            self.length = whole;
        }
        self
    }
}

/// What a head of these bytes says, and where in it the length of its body stands, if that is once.
fn understand(
    request: &httparse::Request<'_, '_>,
    bytes: &[u8],
    text: &Bytes,
) -> Result<(Head, Option<Range<usize>>), Refused> {
    let is_new = request.version == Some(1);
    let mut framing = Framing::default();
    let mut expects = false;
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.headers.reserve(request.headers.len());
    let place = |part: &[u8]| {
        let from = (part.as_ptr() as usize).saturating_sub(bytes.as_ptr() as usize);
        let from = from.min(text.len());
        from..from.saturating_add(part.len()).min(text.len())
    };
    let mut digits = None;
    let mut lengths = 0;
    for header in &*request.headers {
        let noted = framing.note(header.name, header.value);
        noted.map_err(|_| Refused::NotHttp)?;
        let name = name(header.name).ok_or(Refused::NotHttp)?;
        let place = place(header.value);
        if name == header::CONTENT_LENGTH {
            lengths += 1;
            digits = Some(place);
            // The body knows it, and with it no two heads of a client would be the same.
            continue;
        }
        expects |= name == header::EXPECT && header.value.eq_ignore_ascii_case(b"100-continue");
        let value = HeaderValue::from_maybe_shared(text.slice(place));
        parts
            .headers
            .append(name, value.map_err(|_| Refused::NotHttp)?);
    }
    let method = request.method.unwrap_or_default();
    let target = place(request.path.unwrap_or_default().as_bytes());
    parts.method = Method::from_bytes(method.as_bytes()).map_err(|_| Refused::NotHttp)?;
    parts.uri = Uri::from_maybe_shared(text.slice(target)).map_err(|_| Refused::NotHttp)?;
    parts.version = match is_new {
        true => Version::HTTP_11,
        false => Version::HTTP_10,
    };
    let is_kept = match is_new {
        // RFC 9112, 6.1: who says both may have been led to; nothing is read after it.
        true => !framing.closes && (framing.coding.is_none() || framing.length.is_none()),
        false => framing.keeps && !framing.closes,
    };
    let head = Head {
        is_kept: is_kept && parts.method != Method::CONNECT,
        request: RequestHead::from(parts),
        body: Bytes::new(),
        remaining: remaining(&framing, is_new)?,
        length: 0,
        // A client of HTTP/1.0 does not know what it would be told.
        expects: expects && is_new,
    };
    let is_plain = framing.coding.is_none() && lengths == 1;
    Ok((head, digits.filter(|_| is_plain)))
}

/// What is still to come of the body of such a request.
fn remaining(framing: &Framing, is_new: bool) -> Result<Remaining, Refused> {
    match (framing.coding, framing.length) {
        // RFC 9112, 6.3: then it is the chunks that count.
        (Some(Coding::Chunks), _) if is_new => Ok(Remaining::Chunks(Chunks::default())),
        (Some(_), _) => Err(Refused::NotHttp),
        (None, None | Some(0)) => Ok(Remaining::Nothing),
        (None, Some(length)) => Ok(Remaining::Exactly(length)),
    }
}

/// The name of a header. Those that are in nearly every request are known by sight.
fn name(text: &str) -> Option<HeaderName> {
    let known = match text.len() {
        4 => &[header::HOST][..],
        6 => &[header::ACCEPT, header::ORIGIN],
        8 => &[mcp::NAME],
        10 => &[mcp::METHOD, header::CONNECTION, header::USER_AGENT],
        12 => &[header::CONTENT_TYPE],
        13 => &[header::AUTHORIZATION],
        14 => &[header::CONTENT_LENGTH, mcp::SESSION_ID],
        15 => &[header::ACCEPT_ENCODING, header::ACCEPT_LANGUAGE],
        20 => &[mcp::PROTOCOL_VERSION],
        _ => &[],
    };
    // Most write it so; others are read letter by letter.
    match known.iter().find(|name| name.as_str() == text) {
        Some(name) => Some(name.clone()),
        None => HeaderName::from_bytes(text.as_bytes()).ok(),
    }
}

const USUAL_HEADERS: usize = 100;

/// Of heads that are larger, a connection would hold much for long.
const LARGEST_REMEMBERED: usize = 2 * 1024;

/// A header takes up a hundred bytes beside its text.
const MOST_REMEMBERED: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        headers: 10,
        bytes: 1000,
    };

    fn head(text: &str) -> Result<Option<Head>, Refused> {
        HeadReader::new(BOUNDS).read(text.as_bytes())
    }

    fn post(version: &str, headers: &str) -> String {
        format!("POST /mcp {version}\r\n{headers}\r\n")
    }

    fn check(version: &str, headers: &str, expected: &str, is_kept: bool) {
        let head = head(&post(version, headers)).unwrap().unwrap();
        assert_eq!(format!("{:?}", head.remaining), expected, "{headers}");
        assert_eq!(head.is_kept, is_kept, "{headers}");
    }

    #[test]
    fn where_a_body_ends_is_said_by_the_head() {
        let check = |headers, expected, is_kept| check("HTTP/1.1", headers, expected, is_kept);
        check("", "Nothing", true);
        check("content-length: 0\r\n", "Nothing", true);
        check("Content-Length: 7\r\n", "Exactly(7)", true);
        check(
            "content-length: 7\r\ncontent-length: 7\r\n",
            "Exactly(7)",
            true,
        );
        check("connection: x, Close\r\n", "Nothing", false);
        check("Transfer-Encoding: Chunked\r\n", "Chunks(Size)", true);
        check(
            "content-length: 7\r\ntransfer-encoding: chunked\r\n",
            "Chunks(Size)",
            false,
        );
    }

    #[test]
    fn an_old_client_says_if_it_wants_to_stay() {
        check("HTTP/1.0", "", "Nothing", false);
        check("HTTP/1.0", "connection: Keep-Alive\r\n", "Nothing", true);
        let both = "connection: keep-alive, close\r\n";
        check("HTTP/1.0", both, "Nothing", false);
        let text = post("HTTP/1.0", "expect: 100-continue\r\ncontent-length: 1\r\n");
        assert!(!head(&text).unwrap().unwrap().expects);
    }

    #[test]
    fn what_two_readers_could_read_in_two_ways_is_refused() {
        for headers in [
            "content-length: 1\r\ncontent-length: 2\r\n",
            "content-length: 1, 1\r\n",
            "content-length: +1\r\n",
            "content-length:\r\n",
            "content-length: 99999999999999999999\r\n",
            "transfer-encoding: gzip, chunked\r\n",
            "transfer-encoding: chunked, identity\r\n",
            "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n",
            "transfer-encoding: chunked,\r\n",
            "transfer-encoding:\r\n",
            "a b: c\r\n",
            "a : c\r\n",
            "x: 1\r\n y\r\n",
        ] {
            let refused = head(&post("HTTP/1.1", headers)).unwrap_err();
            assert_eq!(refused, Refused::NotHttp, "{headers}");
        }
        let chunks = "transfer-encoding: chunked\r\n";
        assert!(head(&post("HTTP/1.0", chunks)).is_err());
        assert!(head(&post("HTTP/2.0", "")).is_err());
        assert!(head("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").is_err());
    }

    #[test]
    fn a_head_is_bounded_in_bytes_and_headers_whether_or_not_it_ends() {
        let large = format!("x: {}\r\n", "y".repeat(1000));
        for (headers, is_refused) in [
            ("x: y\r\n".repeat(10), false),
            ("x: y\r\n".repeat(11), true),
            (large, true),
        ] {
            let text = post("HTTP/1.1", &headers);
            let refused = head(&text).err();
            assert_eq!(
                refused,
                is_refused.then_some(Refused::TooLarge),
                "{headers}"
            );
            let refused = head(&text[..text.len() - 2]).err();
            assert_eq!(
                refused,
                is_refused.then_some(Refused::TooLarge),
                "{headers}"
            );
        }
        let bounds = Bounds {
            headers: 200,
            bytes: 10_000,
        };
        let text = post("HTTP/1.1", &"x: y\r\n".repeat(150));
        let head = HeadReader::new(bounds).read(text.as_bytes());
        assert_eq!(head.unwrap().unwrap().request.headers.len(), 150);
    }

    #[test]
    fn a_head_is_taken_with_the_body_that_is_there_and_the_rest_stays() {
        let begins = "\r\nPOST /mcp?x=1 HTTP/1.1\r\nHost: h\r\nX-a: 1 \r\nmcp-SESSION-id: s\r\n\
                      Content-Length: 4\r\n\r\n";
        let text = format!("{begins}bodyrest");
        for cut in 0..begins.len() {
            assert!(head(&text[..cut]).unwrap().is_none(), "{cut}");
        }
        for cut in begins.len()..begins.len() + 4 {
            let head = head(&text[..cut]).unwrap().unwrap();
            assert_eq!((head.length, head.body.len()), (begins.len(), 0));
            assert!(matches!(head.remaining, Remaining::Exactly(4)));
        }
        let head = head(&text).unwrap().unwrap();
        assert_eq!(head.length, text.len() - 4);
        assert_eq!(head.body, "body");
        assert!(matches!(head.remaining, Remaining::Nothing));
        assert_eq!(head.request.method, Method::POST);
        assert_eq!(head.request.uri, "/mcp?x=1");
        let headers: Vec<(&str, &[u8])> = head
            .request
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect();
        assert_eq!(
            headers,
            [
                ("host", b"h".as_slice()),
                ("x-a", b"1"),
                ("mcp-session-id", b"s"),
            ]
        );
    }

    #[test]
    fn what_is_remembered_is_what_would_be_read() {
        let said = "host: h\r\ncontent-length: 3\r\nmcp-name: x\r\n";
        let first = post("HTTP/1.1", said);
        for (next, is_the_same) in [
            (format!("{first}abc"), true),
            (first.replace("length: 3", "length: 12"), true),
            (first.replace("length: 3", "length: 0"), true),
            (first.replace("length: 3", "length: 003") + "abcd", true),
            (
                first.replace("length: 3", &format!("length: {:01000}", 3)),
                false,
            ),
            (first.replace("length: 3", "length: "), false),
            (first.replace("length: 3", "length: x"), false),
            (first.replace("length: 3", "length: 3 "), false),
            (
                first.replace("length: 3", "length: 99999999999999999999"),
                false,
            ),
            (first.replace("mcp-name: x", "mcp-name: y"), false),
            (
                first.replace("\r\n\r\n", "\r\ncontent-length: 3\r\n\r\n"),
                false,
            ),
            (first[..first.len() - 1].to_owned(), false),
            (first.replace("host", "Host"), false),
        ] {
            let mut reader = HeadReader::new(BOUNDS);
            reader.read(first.as_bytes()).unwrap();
            let last = reader.last.as_ref().unwrap();
            let known = last.read(next.as_bytes(), BOUNDS.bytes);
            assert_eq!(known.is_some(), is_the_same, "{next}");
            let read = reader.read(next.as_bytes());
            assert_eq!(format!("{read:?}"), format!("{:?}", head(&next)), "{next}");
        }
    }

    #[test]
    fn only_what_is_small_and_plain_is_remembered() {
        let long = format!(
            "content-length: 3\r\nx: {}\r\n",
            "y".repeat(LARGEST_REMEMBERED)
        );
        let many = format!(
            "content-length: 3\r\n{}",
            "x: y\r\n".repeat(MOST_REMEMBERED + 1)
        );
        for (headers, is_remembered) in [
            ("content-length: 3\r\n", true),
            (&many, false),
            ("", false),
            ("content-length: 3\r\ncontent-length: 3\r\n", false),
            ("content-length: 3\r\ntransfer-encoding: chunked\r\n", false),
            (&long, false),
        ] {
            let mut reader = HeadReader::new(Bounds {
                headers: 100,
                bytes: 10_000,
            });
            let text = post("HTTP/1.1", headers);
            reader.read(text.as_bytes()).unwrap();
            assert_eq!(reader.last.is_some(), is_remembered, "{headers}");
        }
    }
}
