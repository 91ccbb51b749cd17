//! How the head of an answer is read, and where its body ends.
//!
//! What two readers could understand in two ways is refused.
//!
//! Specification: RFC 9112, sections 4 to 6 and 9.3.

use std::mem::MaybeUninit;

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use httparse::{ParserConfig, Response, Status};

use super::Fault;
use super::body::Remaining;
use crate::http::chunks::Chunks;
use crate::http::framing::{Coding, Framing};

/// A head, and what follows from it.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) remaining: Remaining,
    pub(super) is_kept: bool,
}

/// Takes a head from the buffer, if all of it is there.
///
/// # Errors
/// When it is not the head of an answer.
pub(super) fn read(buffer: &mut BytesMut, method: &Method) -> Result<Option<Head>, Fault> {
    let mut places = [const { MaybeUninit::uninit() }; MOST_HEADERS];
    let mut response = Response::new(&mut []);
    let parsed = ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        buffer,
        &mut places,
    );
    let length = match parsed {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Fault::HeaderTooLarge),
        Err(error) => return Err(Fault::NotHttp(error.into())),
    };
    let status = response
        .code
        .and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or_else(|| not_http("its status is no number from 100 to 999"))?;
    let is_new = response.version == Some(1);
    // Small, and then the values need no memory of their own; the buffer is free for the next.
    let text = Bytes::copy_from_slice(buffer.get(..length).unwrap_or_default());
    let start = buffer.as_ptr() as usize;
    let mut headers = HeaderMap::with_capacity(response.headers.len());
    let mut framing = Framing::default();
    for header in &*response.headers {
        framing.note(header.name, header.value).map_err(not_http)?;
        let name = HeaderName::from_bytes(header.name.as_bytes());
        let from = (header.value.as_ptr() as usize)
            .saturating_sub(start)
            .min(length);
        let to = from.saturating_add(header.value.len()).min(length);
        let value = HeaderValue::from_maybe_shared(text.slice(from..to));
        match (name, value) {
            (Ok(name), Ok(value)) => {
                headers.append(name, value);
            }
            _ => return Err(not_http("a header has characters that none can have")),
        }
    }
    buffer.advance(length);
    let remaining = remaining(&framing, status, is_new, method)?;
    let is_kept = is_new
        && !matches!(remaining, Remaining::UntilClosed)
        && status != StatusCode::SWITCHING_PROTOCOLS
        && !framing.closes;
    Ok(Some(Head {
        status,
        headers,
        remaining,
        is_kept,
    }))
}

/// What is still to come of the body of such an answer.
fn remaining(
    framing: &Framing,
    status: StatusCode,
    is_new: bool,
    method: &Method,
) -> Result<Remaining, Fault> {
    let has_none = *method == Method::HEAD
        || status.is_informational()
        || status == StatusCode::NO_CONTENT
        || status == StatusCode::NOT_MODIFIED;
    if framing.coding.is_some() {
        if framing.length.is_some() {
            return Err(not_http("it has a length and chunks"));
        }
        if !is_new {
            return Err(not_http("HTTP/1.0 has no chunks"));
        }
    }
    Ok(match (has_none, framing.coding, framing.length) {
        (true, ..) | (false, None, Some(0)) => Remaining::Nothing,
        (false, Some(Coding::Chunks | Coding::PackedChunks), _) => {
            Remaining::Chunks(Chunks::default())
        }
        (false, None, Some(length)) => Remaining::Exactly(length),
        (false, Some(Coding::Packed), _) | (false, None, None) => Remaining::UntilClosed,
    })
}

fn not_http(reason: &'static str) -> Fault {
    Fault::NotHttp(reason.into())
}

const MOST_HEADERS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::framing::ends_within;

    fn head(text: &str) -> Result<Option<Head>, Fault> {
        read(&mut BytesMut::from(text), &Method::POST)
    }

    fn check(headers: &str, expected: &str, is_kept: bool) {
        let head = head(&format!("HTTP/1.1 200 OK\r\n{headers}\r\n"))
            .unwrap()
            .unwrap();
        assert_eq!(format!("{:?}", head.remaining), expected, "{headers}");
        assert_eq!(head.is_kept, is_kept, "{headers}");
    }

    #[test]
    fn where_a_body_ends_is_said_by_the_head() {
        check("content-length: 0\r\n", "Nothing", true);
        check(
            "content-length: 7\r\nContent-Length: 7\r\n",
            "Exactly(7)",
            true,
        );
        check(
            "content-length: 7\r\nconnection: x, Close\r\n",
            "Exactly(7)",
            false,
        );
        check("transfer-encoding: gzip, Chunked\r\n", "Chunks(Size)", true);
        check("transfer-encoding: gzip\r\n", "UntilClosed", false);
        check("", "UntilClosed", false);
    }

    #[test]
    fn some_answers_have_no_body_whatever_they_say() {
        let read_as = |status: u16, method| {
            let text = format!("HTTP/1.1 {status} X\r\ncontent-length: 7\r\n\r\n");
            let head = read(&mut BytesMut::from(text.as_str()), &method)
                .unwrap()
                .unwrap();
            matches!(head.remaining, Remaining::Nothing)
        };
        assert!(read_as(204, Method::POST) && read_as(304, Method::GET));
        assert!(read_as(100, Method::POST) && read_as(200, Method::HEAD));
        assert!(!read_as(200, Method::GET));
    }

    #[test]
    fn what_two_readers_could_read_in_two_ways_is_refused() {
        for headers in [
            "content-length: 1\r\ncontent-length: 2\r\n",
            "content-length: 1, 1\r\n",
            "content-length: +1\r\n",
            "content-length: -1\r\n",
            "content-length:\r\n",
            "content-length: 99999999999999999999\r\n",
            "content-length: 1\r\ntransfer-encoding: chunked\r\n",
            "a b: c\r\n",
            "x: 1\r\n y\r\n",
        ] {
            let text = format!("HTTP/1.1 200 OK\r\n{headers}\r\n");
            assert!(matches!(head(&text), Err(Fault::NotHttp(_))), "{headers}");
        }
        assert!(head("HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").is_err());
        assert!(
            !head("HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\n")
                .unwrap()
                .unwrap()
                .is_kept
        );
        assert!(head("HTTP/2 200 OK\r\n\r\n").is_err());
        assert!(head("HTTP/1.1 099 X\r\n\r\n").is_err());
    }

    #[test]
    fn a_head_is_taken_as_a_whole_and_the_rest_stays() {
        let text = "HTTP/1.1 200 OK\r\nx-a: 1 \r\nx-a: \u{e9}\r\nb:\r\n\r\nrest";
        for cut in 0..text.len() - 4 {
            let mut part = BytesMut::from(&text.as_bytes()[..cut]);
            if let Ok(found) = read(&mut part, &Method::POST) {
                assert!(found.is_none(), "{cut}");
            }
            assert_eq!(part.len(), cut);
            assert!(!ends_within(&text.as_bytes()[..cut], cut / 2), "{cut}");
        }
        let mut buffer = BytesMut::from(text);
        for looked_at in 0..text.len() - 4 {
            assert!(ends_within(text.as_bytes(), looked_at), "{looked_at}");
        }
        let head = read(&mut buffer, &Method::POST).unwrap().unwrap();
        assert_eq!(buffer, "rest");
        let values: Vec<&[u8]> = head
            .headers
            .get_all("x-a")
            .iter()
            .map(|v| v.as_bytes())
            .collect();
        assert_eq!(values, [b"1".as_slice(), "\u{e9}".as_bytes()]);
        assert_eq!(head.headers["b"], "");
    }
}
