//! Server-sent events, as Streamable HTTP and the older HTTP+SSE use them.
//!
//! The decoder follows the WHATWG grammar with two differences, both on purpose:
//! an event whose data is empty is delivered, since its id or its `retry` matters
//! (2025-11-25 opens a stream with one), and data that is not UTF-8 is given out
//! as it is, so that it can be refused rather than repaired.
//!
//! Specification: basic/transports, Streamable HTTP; HTML Living Standard,
//! section 9.2 "Server-sent events".

mod block;
mod decoder;
mod encoder;
#[cfg(test)]
mod reference;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

pub use decoder::EventDecoder;
pub use encoder::{write_comment, write_event};

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its type. `None` means `message`, as does the name itself.
    pub name: Option<Bytes>,
    /// Its data. One line of it shares the decoder's buffer, several are joined
    /// with line feeds.
    pub data: Bytes,
    /// Where a lost stream is taken up again.
    pub id: Option<EventId>,
    /// How long to wait before connecting again.
    pub retry: Option<Duration>,
}

impl Event {
    /// An event that carries a message.
    pub fn message(data: Bytes) -> Self {
        Self {
            data,
            ..Self::default()
        }
    }

    /// The empty event that gives a client an id before there is a message.
    pub fn priming(id: EventId) -> Self {
        Self {
            id: Some(id),
            ..Self::default()
        }
    }

    /// Does it carry a message, rather than something else or nothing?
    pub fn is_message(&self) -> bool {
        let is_named_so = self.name.as_ref().is_none_or(|name| name == "message");
        is_named_so && !self.data.is_empty()
    }
}

/// The id of an event: no CR, LF or NUL, and not longer than
/// [`EventId::LONGEST`] bytes. Empty means that there is nothing to resume from.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EventId(Arc<str>);

impl EventId {
    /// How long an id may be, in bytes: it comes back in a header.
    pub const LONGEST: usize = 1024;

    /// Checks an id.
    ///
    /// # Errors
    /// When it is too long or has a character that no id can have.
    pub fn new(id: &str) -> Result<Self, EventIdError> {
        if id.len() > Self::LONGEST {
            return Err(EventIdError::TooLong { length: id.len() });
        }
        match id
            .bytes()
            .position(|byte| matches!(byte, b'\r' | b'\n' | 0))
        {
            Some(position) => Err(EventIdError::Forbidden { position }),
            None => Ok(Self(id.into())),
        }
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Why a text is no event id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventIdError {
    /// It is longer than [`EventId::LONGEST`].
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// It has a CR, LF or NUL.
    Forbidden {
        /// Where, in bytes.
        position: usize,
    },
}

impl fmt::Display for EventIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { length } => {
                let limit = EventId::LONGEST;
                write!(f, "event id of {length} bytes is over the limit of {limit}")
            }
            Self::Forbidden { position } => {
                write!(f, "event id has a CR, LF or NUL at byte {position}")
            }
        }
    }
}

impl std::error::Error for EventIdError {}

/// What is wrong with a part of a stream. The stream goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventStreamError {
    /// An event is larger than the limit. Said once, as soon as the limit is
    /// passed; what else comes of that event is dropped.
    TooLarge {
        /// The limit it passed.
        limit: usize,
        /// How its data begins, at most [`PREFIX_KEPT`](super::PREFIX_KEPT) bytes.
        prefix: Bytes,
    },
    /// An event's id cannot be kept. The event itself follows, without it.
    Id(EventIdError),
}

impl fmt::Display for EventStreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit, .. } => {
                write!(f, "event is over the limit of {limit} bytes")
            }
            Self::Id(_) => f.write_str("event id cannot be kept"),
        }
    }
}

impl std::error::Error for EventStreamError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Id(error) => Some(error),
            Self::TooLarge { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn a_message_has_data_and_no_other_name() {
        let check = |name: Option<&'static str>, data: &'static str, expected| {
            let event = Event {
                name: name.map(Bytes::from),
                ..Event::message(data.into())
            };
            assert_eq!(event.is_message(), expected, "{event:?}");
        };
        check(None, "{}", true);
        check(Some("message"), "{}", true);
        check(Some("endpoint"), "{}", false);
        check(None, "", false);
        check(Some("message"), "", false);
        check(Some("endpoint"), "", false);
    }

    #[test]
    fn an_error_says_what_is_wrong() {
        let check = |error: &(dyn Error + 'static), expected: &str| {
            let causes = std::iter::successors(Some(error), |error| (*error).source());
            let said: Vec<String> = causes.map(ToString::to_string).collect();
            assert_eq!(said.join(": "), expected);
        };
        check(
            &EventStreamError::Id(EventIdError::TooLong { length: 2000 }),
            "event id cannot be kept: event id of 2000 bytes is over the limit of 1024",
        );
        check(
            &EventIdError::Forbidden { position: 3 },
            "event id has a CR, LF or NUL at byte 3",
        );
        check(
            &EventStreamError::TooLarge {
                limit: 9,
                prefix: Bytes::new(),
            },
            "event is over the limit of 9 bytes",
        );
    }
}
