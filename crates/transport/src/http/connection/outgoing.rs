//! What is to be written to a client: heads, and bodies with a length, in chunks, or to the end.
//!
//! What is small is gathered, so that a head and its body are one write. What is large is not
//! copied.
//!
//! Specification: RFC 9112, sections 4, 6 and 7.1; RFC 9110, section 6.6.1 (`Date`).

use std::cell::Cell;
use std::io::{self, IoSlice, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http::StatusCode;
use http::response::Parts;
use tokio::io::AsyncWrite;

use crate::calendar::{DAY, date};

/// Bytes that are not written yet.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    small: Vec<u8>,
    /// How much of it is written.
    written: usize,
    /// What comes after it.
    large: Bytes,
    /// What comes after that.
    end: &'static [u8],
}

/// How it is known where the body of a response ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It has so many bytes.
    Length(u64),
    /// It has none, and nothing is said of that.
    Bodiless,
    /// By its last chunk.
    Chunks,
    /// By the end of the connection.
    Connection,
}

impl Outgoing {
    /// How many bytes there are.
    pub(super) fn len(&self) -> usize {
        self.small.len() - self.written + self.large.len() + self.end.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// May more be added?
    pub(super) fn has_room(&self) -> bool {
        self.large.is_empty() && self.end.is_empty() && self.small.len() < ENOUGH
    }

    /// Asks a client for the body that it holds back.
    pub(super) fn add_continue(&mut self) {
        self.small
            .extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
    }

    /// The head of a response.
    pub(super) fn add_head(&mut self, head: &Parts, ending: Ending, connection: Option<&str>) {
        let out = &mut self.small;
        if head.status == StatusCode::OK {
            out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        } else {
            let reason = head.status.canonical_reason().unwrap_or_default();
            out.extend_from_slice(b"HTTP/1.1 ");
            out.extend_from_slice(head.status.as_str().as_bytes());
            out.push(b' ');
            out.extend_from_slice(reason.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        for (name, value) in &head.headers {
            if !is_ours(name.as_str()) {
                add_line(out, name.as_str(), value.as_bytes());
            }
        }
        match ending {
            Ending::Length(length) => {
                out.extend_from_slice(b"content-length: ");
                out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
                out.extend_from_slice(b"\r\n");
            }
            Ending::Chunks => add_line(out, "transfer-encoding", b"chunked"),
            Ending::Bodiless | Ending::Connection => {}
        }
        if let Some(option) = connection {
            add_line(out, "connection", option.as_bytes());
        }
        out.extend_from_slice(&last_line());
    }

    /// A small body that has a length, whole, behind its head.
    pub(super) fn add_text(&mut self, text: &[u8]) {
        self.small.extend_from_slice(text);
    }

    /// A piece of a body.
    pub(super) fn add_piece(&mut self, piece: Bytes, is_chunk: bool) {
        if piece.is_empty() {
            // It would be the last chunk.
            return;
        }
        if is_chunk {
            // Writing to a vector does not fail.
            let _ = write!(self.small, "{:x}\r\n", piece.len());
        }
        let end: &[u8] = if is_chunk { b"\r\n" } else { b"" };
        if piece.len() <= LARGEST_COPY {
            self.small.extend_from_slice(&piece);
            self.small.extend_from_slice(end);
        } else {
            self.large = piece;
            self.end = end;
        }
    }

    /// The last chunk.
    pub(super) fn add_last_chunk(&mut self) {
        let is_after_large = !self.large.is_empty() || !self.end.is_empty();
        match is_after_large {
            // What is left of the end of the chunk before it stands first.
            true => self.end = LAST_CHUNK.get(2 - self.end.len()..).unwrap_or_default(),
            false => self.small.extend_from_slice(&LAST_CHUNK[2..]),
        }
    }

    /// Writes some of it, at most so much.
    pub(super) fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        let small = self.small.get(self.written..).unwrap_or_default();
        let stream = Pin::new(stream);
        let outcome = if self.large.is_empty() && self.end.is_empty() {
            stream.poll_write(cx, small)
        } else {
            let large = self.large.get(..most).unwrap_or(&self.large);
            // The end belongs to all of it.
            let end = match large.len() == self.large.len() {
                true => self.end,
                false => &[],
            };
            let parts = [small, large, end].map(IoSlice::new);
            stream.poll_write_vectored(cx, &parts)
        };
        if let Poll::Ready(Ok(count)) = outcome {
            self.advance(count);
        }
        outcome
    }

    fn advance(&mut self, mut count: usize) {
        let small = count.min(self.small.len() - self.written);
        self.written += small;
        count -= small;
        if self.written == self.small.len() {
            self.written = 0;
            self.small.clear();
            self.small.shrink_to(LARGEST_KEPT);
        }
        let large = count.min(self.large.len());
        self.large.advance(large);
        if self.large.is_empty() {
            self.large = Bytes::new();
        }
        self.end = self.end.get(count - large..).unwrap_or_default();
    }
}

/// How the body of such a response ends.
pub(super) fn ending(status: StatusCode, length: Option<u64>, knows_chunks: bool) -> Ending {
    let is_bodiless = status.is_informational()
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    match (is_bodiless, length) {
        (true, _) => Ending::Bodiless,
        (false, Some(length)) => Ending::Length(length),
        (false, None) if knows_chunks => Ending::Chunks,
        (false, None) => Ending::Connection,
    }
}

/// Is this said by whoever writes the response?
fn is_ours(name: &str) -> bool {
    matches!(
        name,
        "content-length" | "transfer-encoding" | "connection" | "date"
    )
}

fn add_line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// The line that says the time of day, and the empty one behind it. It is made once a second.
fn last_line() -> [u8; 39] {
    thread_local! {
        static LAST: Cell<(u64, [u8; 39])> = const { Cell::new((u64::MAX, [0; 39])) };
    }
    let now = seconds();
    let (second, line) = LAST.get();
    if second == now {
        return line;
    }
    let mut line = *b"date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n";
    if let Some(place) = line.get_mut(6..35) {
        place.copy_from_slice(&date_at(now));
    }
    LAST.set((now, line));
    line
}

/// How many seconds ago 1970 began, as of the last tick of the clock: a few milliseconds ago, and known
/// without asking the hardware.
#[cfg(target_os = "linux")]
fn seconds() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    u64::try_from(now.tv_sec).unwrap_or(0)
}

/// How many seconds ago 1970 began.
#[cfg(not(target_os = "linux"))]
fn seconds() -> u64 {
    use std::time::SystemTime;

    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`, so many seconds after 1970 began.
fn date_at(seconds: u64) -> [u8; 29] {
    // 9999 has four digits as well; no clock is later.
    let seconds = seconds.min(253_402_300_799);
    let (days, second) = (seconds / DAY, seconds % DAY);
    let (year, month, day) = date(days);
    let name = |names: &'static str, at: u64| {
        let at = usize::try_from(at).unwrap_or_default() * 3;
        names.get(at..at + 3).unwrap_or_default()
    };
    let weekday = name("ThuFriSatSunMonTueWed", days % 7);
    let month = name("JanFebMarAprMayJunJulAugSepOctNovDec", month - 1);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let mut text = [b' '; 29];
    // It has 29 letters, since no part is longer than it should be.
    let _ = write!(
        &mut text[..],
        "{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT"
    );
    text
}

/// The end of a chunk, and the last one.
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// Several events are written at once, up to here.
const ENOUGH: usize = 16 * 1024;

// One write is worth a copy, up to a point.
pub(super) const LARGEST_COPY: usize = 8 * 1024;

/// What a connection holds on to.
const LARGEST_KEPT: usize = 1024;

#[cfg(test)]
mod tests {
    use http::{HeaderValue, Response};

    use super::*;

    /// Takes so many bytes at once.
    struct Slow(Vec<u8>, usize);

    impl AsyncWrite for Slow {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let count = bytes.len().min(self.1);
            self.0.extend_from_slice(&bytes[..count]);
            Poll::Ready(Ok(count))
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            parts: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            let mut left = self.1;
            for part in parts {
                let count = part.len().min(left);
                self.0.extend_from_slice(&part[..count]);
                left -= count;
            }
            Poll::Ready(Ok(self.1 - left))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn written(outgoing: &mut Outgoing, at_once: usize, most: usize) -> String {
        let mut slow = Slow(Vec::new(), at_once);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        while !outgoing.is_empty() {
            let before = outgoing.len();
            let Poll::Ready(Ok(count)) = outgoing.poll_write(&mut slow, &mut cx, most) else {
                panic!("it takes something");
            };
            assert!(count > 0);
            assert_eq!(outgoing.len(), before - count);
        }
        assert!(outgoing.has_room());
        String::from_utf8(slow.0).unwrap()
    }

    #[test]
    fn what_is_added_is_written_whatever_is_taken_at_once() {
        for size in [1, LARGEST_COPY, LARGEST_COPY + 1, 3 * LARGEST_COPY] {
            for (is_chunk, expected) in [
                (true, format!("{size:x}\r\n{}\r\n", "x".repeat(size))),
                (false, "x".repeat(size)),
            ] {
                for (at_once, most) in [(1, 100), (7, 5), (1000, 1000), (100_000, 100_000)] {
                    let mut outgoing = Outgoing::default();
                    outgoing.add_continue();
                    outgoing.add_piece(Bytes::from("x".repeat(size)), is_chunk);
                    let expected = format!("HTTP/1.1 100 Continue\r\n\r\n{expected}");
                    assert_eq!(written(&mut outgoing, at_once, most), expected);
                    outgoing.add_piece(Bytes::new(), is_chunk);
                    outgoing.add_last_chunk();
                    assert_eq!(written(&mut outgoing, at_once, most), "0\r\n\r\n");
                }
            }
        }
    }

    #[test]
    fn the_last_chunk_comes_after_all_others_however_much_of_them_is_written() {
        for size in [1, 2 * LARGEST_COPY] {
            let expected = format!("{size:x}\r\n{}\r\n0\r\n\r\n", "x".repeat(size));
            for ahead in 0..=expected.len() - 5 {
                let mut outgoing = Outgoing::default();
                outgoing.add_piece(Bytes::from("x".repeat(size)), true);
                let mut first = Slow(Vec::new(), ahead);
                let mut cx = Context::from_waker(std::task::Waker::noop());
                let outcome = outgoing.poll_write(&mut first, &mut cx, usize::MAX);
                assert!(matches!(outcome, Poll::Ready(Ok(count)) if count == ahead));
                outgoing.add_last_chunk();
                let first = String::from_utf8(first.0).unwrap();
                let rest = written(&mut outgoing, usize::MAX, usize::MAX);
                assert!(first + &rest == expected, "{size} {ahead}");
            }
        }
    }

    #[test]
    fn what_says_where_a_body_ends_is_said_once_and_by_us() {
        let mut response = Response::new(());
        let headers = response.headers_mut();
        for name in ["content-length", "transfer-encoding", "connection", "x"] {
            headers.insert(name, HeaderValue::from_static("1"));
        }
        let (head, ()) = response.into_parts();
        for (ending, connection, expected) in [
            (Ending::Length(7), None, "x: 1\r\ncontent-length: 7\r\n"),
            (
                Ending::Chunks,
                None,
                "x: 1\r\ntransfer-encoding: chunked\r\n",
            ),
            (Ending::Bodiless, None, "x: 1\r\n"),
            (
                Ending::Connection,
                Some("close"),
                "x: 1\r\nconnection: close\r\n",
            ),
        ] {
            let mut outgoing = Outgoing::default();
            outgoing.add_head(&head, ending, connection);
            let text = written(&mut outgoing, 1000, 1000);
            let (text, date) = text.split_once("date: ").unwrap();
            assert_eq!(text, format!("HTTP/1.1 200 OK\r\n{expected}"));
            assert!(date.ends_with(" GMT\r\n\r\n"), "{date}");
        }
    }

    #[test]
    fn some_responses_have_no_body_and_old_clients_no_chunks() {
        let ok = StatusCode::OK;
        assert_eq!(ending(ok, Some(0), true), Ending::Length(0));
        assert_eq!(ending(ok, None, true), Ending::Chunks);
        assert_eq!(ending(ok, None, false), Ending::Connection);
        let none = ending(StatusCode::NO_CONTENT, Some(0), true);
        assert_eq!(none, Ending::Bodiless);
    }

    #[test]
    fn a_date_is_that_of_the_calendar() {
        for (seconds, expected) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
            (1_767_225_599, "Wed, 31 Dec 2025 23:59:59 GMT"),
            (1_767_225_600, "Thu, 01 Jan 2026 00:00:00 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (u64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            assert_eq!(date_at(seconds), expected.as_bytes(), "{seconds}");
        }
    }
}
