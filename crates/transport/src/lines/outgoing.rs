//! What is to be written and was not yet.
//!
//! Small messages stand one behind the other in one text that is used again and again. A large
//! payload is not copied: it waits as it is, with the place in the text where it belongs.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use switchboard_protocol::framing::write_line;
use switchboard_protocol::jsonrpc::{Message, Response, Rest};
use tokio::io::AsyncWrite;

/// Bytes in the order in which they are written.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    text: Vec<u8>,
    /// How much of the text is written.
    written: usize,
    /// In the order of their places, none before `written`, none empty.
    large: VecDeque<Large>,
    /// The bytes of all `large`.
    large_bytes: usize,
}

/// A payload that stands between two bytes of the text.
#[derive(Debug)]
struct Large {
    at: usize,
    bytes: Bytes,
}

impl Outgoing {
    /// Appends a message without the end of its line.
    pub(super) fn push(&mut self, message: &Message) {
        let rest = message.write_head(&mut self.text);
        self.push_rest(rest);
    }

    /// Appends a response without the end of its line.
    pub(super) fn push_response(&mut self, response: &Response) {
        let rest = response.write_head(&mut self.text);
        self.push_rest(rest);
    }

    /// What stands between the messages, to be appended to: one line without its end.
    pub(super) const fn text(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    fn push_rest(&mut self, rest: Rest<'_>) {
        if let Some(text) = rest.text() {
            self.push_text(text, rest.is_one_line());
        }
        self.text.extend_from_slice(rest.tail());
    }

    /// Appends an array of answers without the end of its line.
    pub(super) fn push_batch(&mut self, responses: &[Response]) {
        for (index, response) in responses.iter().enumerate() {
            self.text.push(if index == 0 { b'[' } else { b',' });
            self.push_response(response);
        }
        if responses.is_empty() {
            self.text.push(b'[');
        }
        self.text.push(b']');
    }

    pub(super) fn end_line(&mut self) {
        self.text.push(b'\n');
    }

    /// How many bytes are not written.
    pub(super) fn len(&self) -> usize {
        self.text.len() - self.written + self.large_bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes once, as much as the writer takes.
    pub(super) fn poll_write<W: AsyncWrite>(
        &self,
        writer: Pin<&mut W>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if self.large.is_empty() {
            return writer.poll_write(cx, self.text_up_to(self.written, self.text.len()));
        }
        let mut slices = [IoSlice::new(&[]); MOST_SLICES];
        let count = self.fill(&mut slices);
        writer.poll_write_vectored(cx, slices.get(..count).unwrap_or_default())
    }

    /// Takes what was written off the front.
    pub(super) fn advance(&mut self, mut count: usize) {
        loop {
            let until = self.large.front().map_or(self.text.len(), |large| large.at);
            let small = count.min(until - self.written);
            self.written += small;
            count -= small;
            let Some(front) = self.large.front_mut().filter(|_| count > 0) else {
                break;
            };
            let part = count.min(front.bytes.len());
            front.bytes.advance(part);
            count -= part;
            self.large_bytes -= part;
            if front.bytes.is_empty() {
                self.large.pop_front();
            }
        }
        self.forget_written();
    }

    fn push_text(&mut self, text: &Bytes, is_one_line: bool) {
        if !is_one_line {
            write_line(text, &mut self.text);
            // The line goes on behind the payload.
            self.text.pop();
        } else if text.len() < SHARED {
            self.text.extend_from_slice(text);
        } else {
            self.large_bytes += text.len();
            self.large.push_back(Large {
                at: self.text.len(),
                bytes: text.clone(),
            });
        }
    }

    fn fill<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut from = self.written;
        let mut parts = self
            .large
            .iter()
            .flat_map(|large| {
                let before = self.text_up_to(from, large.at);
                from = large.at;
                [before, &large.bytes]
            })
            .filter(|part| !part.is_empty());
        let mut count = 0;
        for (slice, part) in slices.iter_mut().zip(parts.by_ref()) {
            *slice = IoSlice::new(part);
            count += 1;
        }
        drop(parts);
        // `from` has come to the last place only if all of them had room.
        if let Some(slice) = slices.get_mut(count) {
            *slice = IoSlice::new(self.text_up_to(from, self.text.len()));
            count += 1;
        }
        count
    }

    fn text_up_to(&self, from: usize, to: usize) -> &[u8] {
        self.text.get(from..to).unwrap_or_default()
    }

    /// Makes the text's room free again, so that it stays near the size of what waits.
    fn forget_written(&mut self) {
        if self.is_empty() {
            self.text.clear();
            self.written = 0;
            if self.text.capacity() > KEPT {
                self.text.shrink_to(KEPT);
            }
        } else if self.written > KEPT && self.written >= self.text.len() / 2 {
            // A reader that never quite keeps up: no more is moved than was written.
            self.text.drain(..self.written);
            for large in &mut self.large {
                large.at -= self.written;
            }
            self.written = 0;
        }
    }
}

/// A payload from this size on is shared. Below, a copy costs less than a piece of its own.
const SHARED: usize = 16 * 1024;

/// What stays allocated when nothing waits.
const KEPT: usize = 64 * 1024;

/// Pieces in one write: eight large messages.
const MOST_SLICES: usize = 16;

#[cfg(test)]
mod tests {
    use switchboard_protocol::Payload;
    use switchboard_protocol::jsonrpc::RequestId;

    use super::*;

    fn answer(length: usize) -> Message {
        let payload = Payload::encode(&"x".repeat(length)).unwrap();
        Response::new(RequestId::from(1), Ok(payload)).into()
    }

    #[test]
    fn what_one_burst_needed_is_released() {
        let mut outgoing = Outgoing::default();
        let message = answer(1_000);
        for _ in 0..1_000 {
            outgoing.push(&message);
        }
        assert!(outgoing.text.capacity() > KEPT);
        outgoing.advance(outgoing.len());
        assert!(outgoing.is_empty());
        assert!((1..=KEPT).contains(&outgoing.text.capacity()));
    }

    #[test]
    fn a_queue_that_is_never_empty_does_not_grow() {
        let mut outgoing = Outgoing::default();
        let (small, large) = (answer(1_000), answer(SHARED));
        outgoing.push(&small);
        for _ in 0..10_000 {
            outgoing.push(&small);
            outgoing.push(&large);
            let waiting = outgoing.len();
            outgoing.advance(waiting - 500);
            assert_eq!(outgoing.len(), 500);
        }
        assert!(outgoing.text.capacity() <= 4 * KEPT);
        assert!(outgoing.large.len() <= 1);
    }

    #[test]
    fn more_large_payloads_than_pieces_are_written_in_turns() {
        let mut outgoing = Outgoing::default();
        for _ in 0..MOST_SLICES {
            outgoing.push(&answer(SHARED));
        }
        let mut slices = [IoSlice::new(&[]); MOST_SLICES];
        assert_eq!(outgoing.fill(&mut slices), MOST_SLICES);
        let count = slices.iter().map(|slice| slice.len()).sum();
        outgoing.advance(count);
        assert_eq!(outgoing.large.len(), MOST_SLICES / 2);
    }
}
