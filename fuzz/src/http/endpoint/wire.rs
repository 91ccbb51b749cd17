//! A connection without a socket: what a client sends, in pieces, and what it is sent.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// What a server reads from and writes to.
pub(super) struct Wire {
    /// Requests that are not sent yet.
    requests: std::vec::IntoIter<Vec<u8>>,
    /// Pieces of the one that is.
    pieces: VecDeque<Vec<u8>>,
    written: Arc<Mutex<Vec<u8>>>,
    /// Until the next request, or the end.
    pause: Option<Pin<Box<Sleep>>>,
    is_over: bool,
}

impl Wire {
    pub(super) fn new(requests: Vec<Vec<u8>>, written: Arc<Mutex<Vec<u8>>>) -> Self {
        Self {
            requests: requests.into_iter(),
            pieces: VecDeque::new(),
            written,
            pause: None,
            is_over: false,
        }
    }

    /// The next piece, when it is time for it. None at the end.
    fn poll_piece(&mut self, task: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        loop {
            if let Some(piece) = self.pieces.pop_front() {
                return Poll::Ready(Some(piece));
            }
            if self.is_over {
                return Poll::Ready(None);
            }
            let is_last = self.requests.len() == 0;
            // Time passes when nothing else can be done: so an answer comes before the next
            // request, and who waits for more of the last one has waited long enough.
            let wait = if is_last { PATIENCE } else { MOMENT };
            let pause = &mut self.pause;
            let pause = pause.get_or_insert_with(|| Box::pin(tokio::time::sleep(wait)));
            ready!(pause.as_mut().poll(task));
            self.pause = None;
            match self.requests.next() {
                Some(request) => {
                    let written = self.written.lock().expect("nobody panicked");
                    self.pieces = pieces(&request, &written);
                }
                None => self.is_over = true,
            }
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(mut piece) = ready!(self.poll_piece(task)) else {
            return Poll::Ready(Ok(()));
        };
        let rest = piece.split_off(piece.len().min(buffer.remaining()));
        buffer.put_slice(&piece);
        if !rest.is_empty() {
            self.pieces.push_front(rest);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        _task: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut written = self.written.lock().expect("nobody panicked");
        written.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A request as it is sent.
fn pieces(request: &[u8], written: &[u8]) -> VecDeque<Vec<u8>> {
    let end = request.iter().position(|byte| *byte == b'\n');
    let end = end.unwrap_or(request.len());
    let (how, rest) = request.split_at(end);
    let rest = rest.get(1..).unwrap_or_default();
    let largest = match how.get(1).copied().unwrap_or(b'0') % 16 {
        0 => usize::MAX,
        largest => usize::from(largest),
    };
    let bytes = match how.first() {
        Some(b'R') => rest.to_vec(),
        Some(b'C') => framed(rest, written, Some(largest)),
        _ => framed(rest, written, None),
    };
    let largest = largest.saturating_mul(16).min(bytes.len().max(1));
    bytes.chunks(largest).map(<[u8]>::to_vec).collect()
}

/// Head and body of a request, with what says where the body ends.
fn framed(text: &[u8], written: &[u8], chunk: Option<usize>) -> Vec<u8> {
    let text = filled(text, b"SESSION", &session(written));
    let text = filled(&text, b"STATE", &state(written));
    let (head, body) = match text.windows(2).position(|two| two == b"\n\n") {
        Some(end) => (&text[..end], &text[end + 2..]),
        None => (text.trim_ascii_end(), &[][..]),
    };
    let mut bytes = Vec::with_capacity(text.len() + 64);
    for line in head.split(|byte| *byte == b'\n') {
        bytes.extend_from_slice(line);
        bytes.extend_from_slice(b"\r\n");
    }
    match chunk {
        None => {
            bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
            bytes.extend_from_slice(body);
        }
        Some(largest) => {
            bytes.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
            for chunk in body.chunks(largest.min(4096)) {
                bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                bytes.extend_from_slice(chunk);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
        }
    }
    bytes
}

/// The text with something in place of a word.
fn filled(text: &[u8], word: &[u8], with: &[u8]) -> Vec<u8> {
    let mut filled = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.windows(word.len()).position(|part| part == word) {
        filled.extend_from_slice(&rest[..at]);
        filled.extend_from_slice(with);
        rest = &rest[at + word.len()..];
    }
    filled.extend_from_slice(rest);
    filled
}

/// The session that was named last.
fn session(written: &[u8]) -> Vec<u8> {
    behind(written, b"mcp-session-id: ", b'\r')
}

/// What was to be carried back last.
fn state(written: &[u8]) -> Vec<u8> {
    behind(written, b"\"requestState\":\"", b'"')
}

fn behind(written: &[u8], word: &[u8], end: u8) -> Vec<u8> {
    let at = written.windows(word.len()).rposition(|part| part == word);
    let rest = at.map_or(&[][..], |at| &written[at + word.len()..]);
    rest.iter()
        .copied()
        .take_while(|byte| *byte != end)
        .collect()
}

/// Longer than the body of a request may take.
const PATIENCE: Duration = Duration::from_secs(40);
const MOMENT: Duration = Duration::from_millis(1);
