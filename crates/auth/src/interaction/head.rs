//! Reads the head of a request, of whoever sends one.
//!
//! Only what is asked for and of whom is kept. Browsers send every cookie that any program on
//! any port of this machine has ever set, so the other headers may be long; they are skipped
//! as they come.
//!
//! Specification: RFC 9112, sections 2 to 5.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};
use zeroize::Zeroizing;

/// What is asked for.
#[derive(Default)]
pub(super) struct Head {
    /// `GET /path?query HTTP/1.1`.
    line: Zeroizing<Vec<u8>>,
    hosts: Vec<String>,
}

impl Head {
    /// Reads to the empty line.
    ///
    /// # Errors
    /// When it does not come, or too late.
    pub(super) async fn read<R: AsyncBufRead + Unpin>(reader: &mut R) -> Result<Self, BadHead> {
        let mut budget = LARGEST;
        let mut head = Self::default();
        head.line.reserve_exact(LONGEST_LINE);
        if read_line(reader, &mut head.line, LONGEST_LINE, &mut budget).await? {
            return Err(BadHead::LongLine);
        }
        let mut header = Zeroizing::new(Vec::with_capacity(LONGEST_HOST));
        loop {
            header.clear();
            let is_cut = read_line(reader, &mut header, LONGEST_HOST, &mut budget).await?;
            if header.is_empty() {
                return Ok(head);
            }
            let Some(host) = host_of(&header) else {
                continue;
            };
            if is_cut || head.hosts.len() == 2 {
                return Err(BadHead::Large);
            }
            head.hosts.push(host);
        }
    }

    /// Method and target, if it is a request of HTTP/1.
    pub(super) fn request(&self) -> Option<(&str, &str)> {
        let mut words = std::str::from_utf8(&self.line).ok()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        let is_request = version.starts_with("HTTP/1.") && words.next().is_none();
        is_request.then_some((method, target))
    }

    /// Whom the browser believes to ask, if it says so exactly once.
    pub(super) fn host(&self) -> Option<&str> {
        match self.hosts.as_slice() {
            [host] => Some(host),
            _ => None,
        }
    }
}

/// Why there is no head.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BadHead {
    /// Nobody is there any more.
    Gone,
    /// What is asked for is too long.
    LongLine,
    /// All of it is too long.
    Large,
}

/// Reads a line and keeps its start. Was some of it left out?
async fn read_line<R: AsyncBufRead + Unpin>(
    reader: &mut R,
    kept: &mut Vec<u8>,
    most: usize,
    budget: &mut usize,
) -> Result<bool, BadHead> {
    let mut is_cut = false;
    loop {
        let bytes = reader.fill_buf().await.map_err(|_| BadHead::Gone)?;
        if bytes.is_empty() {
            return Err(BadHead::Gone);
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(bytes.len(), |at| at + 1);
        let part = bytes.get(..end.unwrap_or(taken)).unwrap_or_default();
        let room = most.saturating_sub(kept.len());
        kept.extend(part.iter().take(room));
        is_cut |= part.len() > room;
        reader.consume(taken);
        *budget = budget.checked_sub(taken).ok_or(BadHead::Large)?;
        if end.is_some() {
            if kept.last() == Some(&b'\r') {
                kept.pop();
            }
            return Ok(is_cut);
        }
    }
}

fn host_of(header: &[u8]) -> Option<String> {
    let (name, value) = std::str::from_utf8(header).ok()?.split_once(':')?;
    let is_host = name.eq_ignore_ascii_case("host");
    is_host.then(|| value.trim_matches([' ', '\t']).to_owned())
}

// As long as the longest URL that is shown to a browser: the code of some is a whole token.
const LONGEST_LINE: usize = 8 * 1024 + 64;
const LONGEST_HOST: usize = 512;
// Browsers hold 180 cookies of a host, of 4 KiB each, but servers refuse heads long before.
const LARGEST: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &str) -> Result<Head, BadHead> {
        Head::read(&mut text.as_bytes()).await
    }

    #[tokio::test]
    async fn the_line_and_the_host_are_kept() {
        let text = "GET /callback?code=x HTTP/1.1\r\nAccept: */*\r\nhOST:  127.0.0.1:7 \r\n\r\n";
        let head = read(text).await.unwrap();
        assert_eq!(head.request(), Some(("GET", "/callback?code=x")));
        assert_eq!(head.host(), Some("127.0.0.1:7"));
    }

    #[tokio::test]
    async fn cookies_of_other_programs_may_be_long() {
        let cookies = format!("Cookie: {}\r\n", "c".repeat(100_000)).repeat(2);
        let text = format!("GET / HTTP/1.1\r\n{cookies}Host: a\r\n\r\n");
        assert_eq!(read(&text).await.unwrap().host(), Some("a"));
        let cookies = cookies.repeat(2);
        let text = format!("GET / HTTP/1.1\r\n{cookies}Host: a\r\n\r\n");
        assert_eq!(read(&text).await.err(), Some(BadHead::Large));
    }

    #[tokio::test]
    async fn a_head_is_bounded_and_must_end() {
        let long = format!("GET /?{} HTTP/1.1\r\n\r\n", "a".repeat(9000));
        assert_eq!(read(&long).await.err(), Some(BadHead::LongLine));
        let host = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", "a".repeat(600));
        assert_eq!(read(&host).await.err(), Some(BadHead::Large));
        for cut in [
            "",
            "GET",
            "GET / HTTP/1.1\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n",
        ] {
            assert_eq!(read(cut).await.err(), Some(BadHead::Gone), "{cut:?}");
        }
    }

    #[tokio::test]
    async fn what_is_not_clear_is_nothing() {
        for text in [
            "GET /\r\n\r\n",
            "GET / HTTP/2.0\r\n\r\n",
            "GET  / HTTP/1.1\r\n\r\n",
            "GET /a b HTTP/1.1\r\n\r\n",
            "\r\n\r\n",
        ] {
            assert_eq!(read(text).await.unwrap().request(), None, "{text:?}");
        }
        let hosts = "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n";
        assert_eq!(read(hosts).await.unwrap().host(), None);
        assert_eq!(read("GET / HTTP/1.0\r\n\r\n").await.unwrap().host(), None);
    }
}
