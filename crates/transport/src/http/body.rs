//! What a response carries: nothing, one text, or events as they come.
//!
//! A text has a known length, so that the response says it. What is large in a message is not copied
//! into it. Making events is for `event_queue`.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::Message;

use super::event_queue::EventReader;
use super::room::{Room, SMALL};

/// The body of a response. It never breaks by itself.
pub struct Body(Content);

enum Content {
    /// Also what is left of a text that was given out.
    Empty,
    Text(Bytes),
    /// The same, which nobody shares: mostly it is copied behind the head of its response.
    Own(Vec<u8>),
    /// A text in pieces, the next one last.
    Pieces(Vec<Bytes>),
    Events(EventReader),
}

impl Body {
    /// A body without content.
    pub const fn empty() -> Self {
        Self(Content::Empty)
    }

    pub(super) const fn of_events(reader: EventReader) -> Self {
        Self(Content::Events(reader))
    }

    /// The whole text, if it is no larger than this and nobody shares it; then nothing is left.
    pub(super) fn take_own(&mut self, limit: usize) -> Option<Vec<u8>> {
        match &mut self.0 {
            Content::Own(text) if text.len() <= limit => {
                let text = std::mem::take(text);
                self.0 = Content::Empty;
                Some(text)
            }
            _ => None,
        }
    }

    /// Is something of it large, or may it become so?
    pub(super) fn may_be_large(&self) -> bool {
        match &self.0 {
            Content::Empty => false,
            Content::Text(text) => text.len() > SMALL,
            Content::Own(text) => text.len() > SMALL,
            Content::Pieces(pieces) => pieces.iter().any(|piece| piece.len() > SMALL),
            Content::Events(_) => true,
        }
    }

    /// Holds what is large of it in this room until it is taken. None: there is no room.
    pub(super) fn held_in(self, room: Arc<Room>) -> Option<Self> {
        let held = |piece: Bytes| match piece.len() > SMALL {
            true => room.hold(piece),
            false => Some(piece),
        };
        Some(Self(match self.0 {
            Content::Empty => Content::Empty,
            Content::Text(text) => Content::Text(held(text)?),
            Content::Own(text) if text.len() <= SMALL => Content::Own(text),
            Content::Own(text) => Content::Text(held(text.into())?),
            Content::Pieces(pieces) => {
                let pieces = pieces.into_iter().map(held);
                Content::Pieces(pieces.collect::<Option<_>>()?)
            }
            Content::Events(reader) => {
                reader.hold_in(room)?;
                Content::Events(reader)
            }
        }))
    }
}

impl From<&Message> for Body {
    fn from(message: &Message) -> Self {
        let length = message.payload().map_or(0, Payload::length);
        if length <= LARGE {
            let mut text = Vec::with_capacity(64 + length);
            message.write(&mut text);
            return Self(Content::Own(text));
        }
        let mut head = Vec::with_capacity(64);
        let rest = message.write_head(&mut head);
        let (text, tail) = (rest.text().cloned(), Bytes::from_static(rest.tail()));
        let pieces = [Some(tail), text, Some(head.into())];
        Self(Content::Pieces(pieces.into_iter().flatten().collect()))
    }
}

impl From<Bytes> for Body {
    fn from(text: Bytes) -> Self {
        if text.is_empty() {
            Self::empty()
        } else {
            Self(Content::Text(text))
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Content::Empty => f.write_str("Body(empty)"),
            Content::Text(text) => write!(f, "Body({} bytes)", text.len()),
            Content::Own(text) => write!(f, "Body({} bytes)", text.len()),
            Content::Pieces(pieces) => write!(f, "Body({} bytes)", length(pieces)),
            Content::Events(_) => f.write_str("Body(events)"),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut self.0 {
            Content::Empty => None,
            Content::Text(text) => {
                let text = std::mem::take(text);
                self.0 = Content::Empty;
                Some(text)
            }
            Content::Own(text) => {
                let text = std::mem::take(text);
                self.0 = Content::Empty;
                Some(Bytes::from(text))
            }
            Content::Pieces(pieces) => pieces.pop(),
            Content::Events(reader) => match reader.poll_next(cx) {
                Poll::Ready(next) => next,
                Poll::Pending => return Poll::Pending,
            },
        };
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Content::Empty => true,
            Content::Text(_) | Content::Own(_) => false,
            Content::Pieces(pieces) => pieces.is_empty(),
            Content::Events(reader) => reader.is_finished(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        let length = match &self.0 {
            Content::Empty => 0,
            Content::Text(text) => text.len(),
            Content::Own(text) => text.len(),
            Content::Pieces(pieces) => length(pieces),
            Content::Events(_) => return SizeHint::default(),
        };
        SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
    }
}

fn length(pieces: &[Bytes]) -> usize {
    pieces.iter().map(Bytes::len).sum()
}

/// What is in a message from this size on is not copied: several pieces cost more than a copy of less.
const LARGE: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;

    use http_body::Body as _;
    use switchboard_protocol::jsonrpc::{RequestId, Response};

    use super::*;

    async fn read(body: Body) -> Vec<u8> {
        let announced = body.size_hint().exact();
        let mut read = Vec::new();
        let mut body = pin!(body);
        while let Some(Ok(frame)) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            read.extend_from_slice(frame.data_ref().unwrap());
        }
        assert!(body.is_end_stream());
        assert_eq!(announced, Some(read.len() as u64));
        read
    }

    fn answer(size: usize) -> Message {
        let result = Payload::encode(&"x".repeat(size)).unwrap();
        Response::new(RequestId::from(7), Ok(result)).into()
    }

    #[tokio::test]
    async fn a_message_is_the_same_however_large_it_is() {
        for size in [0, 10, LARGE, 10 * LARGE] {
            let message = answer(size);
            assert_eq!(read(Body::from(&message)).await, message.to_bytes());
        }
    }

    #[tokio::test]
    async fn what_is_large_is_held_until_it_is_taken() {
        let room = Arc::new(Room::new(SMALL, Some(20 * SMALL)));
        let held = |size| Body::from(&answer(size)).held_in(Arc::clone(&room));
        let mut large: Vec<Body> = std::iter::from_fn(|| held(5 * SMALL)).collect();
        assert_eq!(large.len(), 3);
        assert!(held(SMALL / 2).is_some());
        assert!(read(large.remove(0)).await.len() > 5 * SMALL);
        let again = held(5 * SMALL);
        assert!(again.is_some());
        assert!(held(5 * SMALL).is_none());
    }
}
