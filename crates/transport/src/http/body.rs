//! What a response carries: nothing, one text, or events as they come.
//!
//! A text has a known length, so that the response says it. Making events is for
//! `event_queue`.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::event_queue::EventReader;

/// The body of a response. It never breaks by itself.
pub struct Body(Content);

enum Content {
    /// Also what is left of a text that was given out.
    Empty,
    Text(Bytes),
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
            Content::Text(_) => false,
            Content::Events(reader) => reader.is_finished(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Empty => SizeHint::with_exact(0),
            Content::Text(text) => {
                SizeHint::with_exact(u64::try_from(text.len()).unwrap_or(u64::MAX))
            }
            Content::Events(_) => SizeHint::default(),
        }
    }
}
