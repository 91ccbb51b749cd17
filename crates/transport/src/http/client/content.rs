//! What a request carries: one text, or a large one and what stands around it.

use std::sync::Arc;

use bytes::Bytes;
use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::Message;

/// The body of a request. What is large in a message is not copied into it.
#[derive(Clone, Debug)]
pub struct Content(Kind);

#[derive(Clone, Debug)]
enum Kind {
    One(Bytes),
    Pieces(Arc<Pieces>),
}

/// A large text, and what stands before it and behind it.
#[derive(Debug)]
struct Pieces {
    front: Vec<u8>,
    text: Bytes,
    tail: &'static [u8],
}

impl Content {
    /// From this size on a text is not copied: of a smaller one a copy costs less than a write in pieces.
    pub const LARGE: usize = 32 * 1024;

    /// How many bytes it has.
    pub fn length(&self) -> usize {
        self.pieces().iter().map(|piece| piece.len()).sum()
    }

    /// Its pieces, one behind the other.
    pub(super) fn pieces(&self) -> [&[u8]; 3] {
        match &self.0 {
            Kind::One(text) => [&[], text, &[]],
            Kind::Pieces(pieces) => [&pieces.front, &pieces.text, pieces.tail],
        }
    }
}

impl Default for Content {
    fn default() -> Self {
        Bytes::new().into()
    }
}

impl From<Bytes> for Content {
    fn from(text: Bytes) -> Self {
        Self(Kind::One(text))
    }
}

impl From<&Message> for Content {
    fn from(message: &Message) -> Self {
        if message.payload().map_or(0, Payload::length) < Self::LARGE {
            return message.to_bytes().into();
        }
        let mut front = Vec::with_capacity(128);
        let rest = message.write_head(&mut front);
        Self(Kind::Pieces(Arc::new(Pieces {
            text: rest.text().cloned().unwrap_or_default(),
            tail: rest.tail(),
            front,
        })))
    }
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::Method;
    use switchboard_protocol::jsonrpc::{Request, RequestId};

    use super::*;

    #[test]
    fn a_message_is_the_same_however_large_it_is() {
        for size in [0, 10, Content::LARGE, 10 * Content::LARGE] {
            let params = Payload::encode(&["x".repeat(size)]).unwrap();
            let request = Request::new(RequestId::from(1), Method::Ping, Some(params));
            let message = Message::from(request);
            let content = Content::from(&message);
            assert_eq!(content.pieces().concat(), message.to_bytes());
            assert_eq!(content.length(), message.to_bytes().len());
            let is_one = matches!(content.0, Kind::One(_));
            assert_eq!(is_one, size < Content::LARGE);
        }
    }
}
