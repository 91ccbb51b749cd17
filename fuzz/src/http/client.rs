//! Answers as our client reads them: the first two bytes of the input choose the method that was
//! asked with and how the rest is cut.

pub(crate) mod connection;

use http::Method;

use connection::{Answer, Connection};

use crate::{pieces, settings};

/// An answer does not depend on the pieces in which it comes; its body is that of a plain reading,
/// and what follows it is left where it is.
pub fn http_answer(data: &[u8]) {
    let Some((method, largest, stream)) = settings(data) else {
        return;
    };
    let method = [Method::POST, Method::GET, Method::HEAD][method % 3].clone();
    let whole = Connection::new(vec![stream.to_vec()]).answer(&method);
    let cut = pieces(stream, largest).map(<[u8]>::to_vec).collect();
    let cut = Connection::new(cut).answer(&method);
    assert_eq!(cut, whole);
    if let Some(answer) = whole {
        check_body(stream, &method, &answer);
    }
}

fn check_body(stream: &[u8], method: &Method, answer: &Answer) {
    let values = |name: &str| -> Vec<Vec<u8>> {
        let values = answer.headers.get_all(name).iter();
        values.map(|value| value.as_bytes().to_vec()).collect()
    };
    let (lengths, encodings) = (values("content-length"), values("transfer-encoding"));
    assert!(lengths.is_empty() || encodings.is_empty());
    assert!(
        lengths
            .windows(2)
            .all(|two| number(&two[0]) == number(&two[1]))
    );
    let rest = &stream[answer.head..];
    let status = answer.status.as_u16();
    let has_none = *method == Method::HEAD || status < 200 || matches!(status, 204 | 304);
    let is_chunked = encodings.last().is_some_and(|encoding| {
        let last = encoding.rsplit(|byte| *byte == b',').next();
        last.is_some_and(|last| last.trim_ascii().eq_ignore_ascii_case(b"chunked"))
    });
    let (body, used, is_whole) = if has_none {
        (Vec::new(), 0, true)
    } else if is_chunked {
        match (chunks(rest, true), chunks(rest, false)) {
            (Some((body, used)), _) => (body, used, true),
            (None, Some((body, used))) if answer.is_whole => (body, used, true),
            // Cut or wrong: what came before is a part of the answer, and no more is said here.
            _ => return assert!(!answer.is_whole, "{answer:?}"),
        }
    } else if let Some(length) = lengths.first().and_then(|length| number(length)) {
        let there = usize::try_from(length)
            .unwrap_or(usize::MAX)
            .min(rest.len());
        (rest[..there].to_vec(), there, there as u64 == length)
    } else {
        (rest.to_vec(), rest.len(), true)
    };
    assert_eq!(answer.body, body);
    assert_eq!(answer.is_whole, is_whole);
    assert_eq!(answer.left, if is_whole { &rest[used..] } else { &[] });
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A body of chunks, and how long it was, if all of it is there. In the strict form nothing follows
/// a size but an extension of printable characters.
pub(super) fn chunks(text: &[u8], is_strict: bool) -> Option<(Vec<u8>, usize)> {
    let mut body = Vec::new();
    let mut at = 0;
    loop {
        let line = text[at..].iter().position(|byte| *byte == b'\n')?;
        let size = &text[at..at + line];
        let digits = size.iter().take_while(|byte| byte.is_ascii_hexdigit());
        let (digits, extension) = size.split_at(digits.count());
        let is_good = match extension {
            b"\r" => true,
            [b';', text @ .., b'\r'] => text.iter().all(|byte| matches!(byte, b' '..=b'~')),
            _ => false,
        };
        if is_strict && !(is_good && digits.len() < 16 && size.len() < 1_000) {
            return None;
        }
        let size = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        at += line + 1;
        if size == 0 {
            break;
        }
        let size = usize::try_from(size).ok()?;
        body.extend_from_slice(text.get(at..at.checked_add(size)?)?);
        at += size;
        if text.get(at..at + 2)? != b"\r\n" {
            return None;
        }
        at += 2;
    }
    loop {
        let line = text[at..].iter().position(|byte| *byte == b'\n')?;
        if is_strict && !text[at..at + line].ends_with(b"\r") {
            return None;
        }
        let is_last = matches!(&text[at..at + line], b"" | b"\r");
        at += line + 1;
        if is_last {
            return Some((body, at));
        }
    }
}
