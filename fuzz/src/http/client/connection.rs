//! The reading half of a connection, over bytes in place of a socket. The two files that know what
//! a head and what a body is are those of `switchboard-transport`.

#[path = "../../../../crates/transport/src/http/client/connection/body.rs"]
mod body;
// Its own tests look at all of it.
#[cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "a connection here has one answer, and is not kept"
    )
)]
#[path = "../../../../crates/transport/src/http/client/connection/head.rs"]
mod head;

use std::error::Error;
use std::io;
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use http::{HeaderMap, Method, StatusCode};

use body::Remaining;

use crate::http::framing::ends_within;

/// What is read from: pieces, one at a time, and then the end.
pub(super) struct Connection {
    pieces: std::vec::IntoIter<Vec<u8>>,
    buffer: BytesMut,
    remaining: Remaining,
    last_read: usize,
    taken: usize,
}

/// An answer, as far as it came.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// Where its body begins.
    pub(super) head: usize,
    pub(super) body: Vec<u8>,
    pub(super) is_whole: bool,
    /// What follows it, if it is whole.
    pub(super) left: Vec<u8>,
}

/// What ended a connection.
#[expect(dead_code, reason = "what is wrong is only printed")]
#[derive(Debug)]
pub(super) enum Fault {
    HeaderTooLarge,
    NotHttp(Box<dyn Error + Send + Sync>),
}

impl Connection {
    pub(super) fn new(pieces: Vec<Vec<u8>>) -> Self {
        Self {
            pieces: pieces.into_iter(),
            buffer: BytesMut::new(),
            remaining: Remaining::Nothing,
            last_read: 0,
            taken: 0,
        }
    }

    /// Reads one answer to its end, or as far as it goes.
    pub(super) fn answer(mut self, method: &Method) -> Option<Answer> {
        let mut answer = self.head(method)?;
        let mut task = Context::from_waker(Waker::noop());
        loop {
            match self.poll_part(&mut task) {
                Poll::Ready(Ok(Some(part))) => answer.body.extend_from_slice(&part),
                Poll::Ready(Ok(None)) => break answer.is_whole = true,
                Poll::Ready(Err(_)) => break,
                Poll::Pending => panic!("bytes are always there"),
            }
        }
        if answer.is_whole {
            answer.left = self.buffer.to_vec();
            answer.left.extend(self.pieces.flatten());
        }
        Some(answer)
    }

    /// As `Connection::poll_head` of the real one does.
    fn head(&mut self, method: &Method) -> Option<Answer> {
        let mut checked = 0;
        loop {
            let is_worth_it = match checked {
                0 => !self.buffer.is_empty(),
                looked_at => ends_within(&self.buffer, looked_at),
            };
            let before = self.buffer.len();
            if is_worth_it && let Some(found) = head::read(&mut self.buffer, method).ok()? {
                self.taken += before - self.buffer.len();
                if found.status.is_informational() && found.status.as_u16() != 101 {
                    checked = 0;
                    continue;
                }
                self.remaining = found.remaining;
                return Some(Answer {
                    status: found.status,
                    headers: found.headers,
                    head: self.taken,
                    body: Vec::new(),
                    is_whole: false,
                    left: Vec::new(),
                });
            }
            checked = self.buffer.len();
            self.buffer.extend_from_slice(&self.pieces.next()?);
        }
    }

    fn poll_read(&mut self, _task: &mut Context<'_>, _size: usize) -> Poll<io::Result<usize>> {
        let piece = self.pieces.next().unwrap_or_default();
        self.buffer.extend_from_slice(&piece);
        Poll::Ready(Ok(piece.len()))
    }
}

const READ_SIZE: usize = 4096;
