//! The lines of one event, on their way to become one.

use std::time::Duration;

use bytes::{Bytes, BytesMut};

use super::{Event, EventId, EventIdError, EventStreamError};

/// The fields of the current event so far.
#[derive(Debug, Default)]
pub(super) struct Block {
    name: Option<Bytes>,
    data: Data,
    id: Option<EventId>,
    retry: Option<Duration>,
    /// Some field has come, be it an unknown one.
    begun: bool,
}

impl Block {
    /// Takes one line of the event, which is not blank and no comment.
    pub(super) fn handle_line(&mut self, line: &Bytes) -> Result<(), EventStreamError> {
        self.begun = true;
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let mut start = (colon + 1).min(line.len());
        if line.get(start) == Some(&b' ') {
            start += 1;
        }
        let value = line.slice(start..);
        match line.get(..colon).unwrap_or_default() {
            b"data" => self.data.append(value),
            b"event" => self.name = (!value.is_empty()).then_some(value),
            b"id" => self.handle_id(&value)?,
            b"retry" => self.retry = milliseconds(&value).or(self.retry),
            _ => {} // The grammar has unknown fields ignored.
        }
        Ok(())
    }

    fn handle_id(&mut self, value: &[u8]) -> Result<(), EventStreamError> {
        if value.len() > EventId::LONGEST {
            let length = value.len();
            return Err(EventStreamError::Id(EventIdError::TooLong { length }));
        }
        // The grammar reads the stream as UTF-8 with replacement and has an id
        // with NUL ignored; there is no line break in a line.
        let text = String::from_utf8_lossy(value);
        match EventId::new(&text) {
            Ok(id) => self.id = Some(id),
            Err(EventIdError::Forbidden { .. }) => {}
            Err(error @ EventIdError::TooLong { .. }) => return Err(EventStreamError::Id(error)),
        }
        Ok(())
    }

    /// What the lines make, if that is an event.
    pub(super) fn into_event(self) -> Option<Event> {
        if self.data.is_none() && self.id.is_none() && self.retry.is_none() {
            return None;
        }
        Some(Event {
            name: self.name,
            data: self.data.into_bytes(),
            id: self.id,
            retry: self.retry,
        })
    }

    pub(super) fn id(&self) -> Option<&EventId> {
        self.id.as_ref()
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    pub(super) fn data_length(&self) -> usize {
        self.data.as_slice().len()
    }

    /// A copy of how the data begins, if there is any.
    pub(super) fn data_prefix(&self, length: usize) -> Option<Bytes> {
        let data = (!self.data.is_none()).then(|| self.data.as_slice())?;
        Some(Bytes::copy_from_slice(data.get(..length).unwrap_or(data)))
    }
}

#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    /// One line: a part of the buffer.
    Shared(Bytes),
    /// Several lines, each followed by a line feed but the last.
    Joined(BytesMut),
}

impl Data {
    fn append(&mut self, line: Bytes) {
        *self = match std::mem::take(self) {
            Self::None => Self::Shared(line),
            Self::Shared(first) => {
                let mut joined = BytesMut::with_capacity(first.len() + 1 + line.len());
                joined.extend_from_slice(&first);
                joined.extend_from_slice(b"\n");
                joined.extend_from_slice(&line);
                Self::Joined(joined)
            }
            Self::Joined(mut joined) => {
                joined.extend_from_slice(b"\n");
                joined.extend_from_slice(&line);
                Self::Joined(joined)
            }
        };
    }

    fn as_slice(&self) -> &[u8] {
        match self {
            Self::None => &[],
            Self::Shared(line) => line,
            Self::Joined(joined) => joined,
        }
    }

    fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::None => Bytes::new(),
            Self::Shared(line) => line,
            Self::Joined(joined) => joined.freeze(),
        }
    }
}

/// The value of `retry`: digits and nothing else. A number that is too large for
/// us is still a long wait.
fn milliseconds(digits: &[u8]) -> Option<Duration> {
    if digits.is_empty() {
        return None;
    }
    let mut total = 0_u64;
    for byte in digits {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        total = total.saturating_mul(10).saturating_add(digit);
    }
    Some(Duration::from_millis(total))
}
