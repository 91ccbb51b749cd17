//! Headers of HTTP. The input is lines: the target of a request, the URI of a stream,
//! a reference in it, a tool's schema, its arguments, a text, and then headers.

mod location;
mod mirror;
mod negotiate;
mod origin;
mod parameter;

use http::{HeaderMap, HeaderName, HeaderValue};

pub(crate) use origin::check_local as assert_local;

/// What is accepted is what a plain reading accepts; what is written can be read.
pub fn headers(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n');
    let mut line = || lines.next().unwrap_or_default();
    let (target, base, reference) = (line(), line(), line());
    let (schema, arguments, text) = (line(), line(), line());
    let headers = read_headers(lines);

    location::check(base, reference, &headers);
    parameter::check(schema, arguments, &headers);
    mirror::check(text, &headers);
    negotiate::check(&headers);
    negotiate::check_session(&headers);
    origin::check(target, &headers);
}

fn read_headers<'a>(lines: impl Iterator<Item = &'a [u8]>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let (name, value) = line.split_at(colon);
        let (name, value) = (
            HeaderName::from_bytes(name),
            HeaderValue::from_bytes(&value[1..]),
        );
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    headers
}

/// The text of a header without the spaces and tabs around it, if it is visible ASCII.
fn plain(value: &HeaderValue) -> Option<&str> {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t');
    let bytes = value.as_bytes();
    let text = std::str::from_utf8(bytes)
        .ok()
        .filter(|_| bytes.iter().all(is_plain))?;
    Some(text.trim_matches([' ', '\t']))
}

/// The value of a header that is there exactly once.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    first.filter(|_| values.next().is_none())
}
