//! Reads the body of a request, bounded in size and time.
//!
//! A body that arrives in one piece is not copied and sets no timer. What is in it is for
//! `jsonrpc` to say.
//!
//! Specification: RFC 9110, sections 15.5.9 and 15.5.14.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::StatusCode;
use switchboard_protocol::jsonrpc::{self, ErrorObject, Malformed};

/// Reads a body of at most `limit` bytes that arrives within `timeout`.
pub(super) async fn receive<B>(body: B, limit: usize, timeout: Duration) -> Result<Bytes, Unread>
where
    B: http_body::Body,
{
    let declared = body.size_hint();
    let limit_u64 = u64::try_from(limit).unwrap_or(u64::MAX);
    if declared.lower() > limit_u64 {
        return Err(Unread::TooLarge {
            beginning: Bytes::new(),
            limit,
        });
    }
    let expected = declared
        .exact()
        .and_then(|length| usize::try_from(length).ok());
    let mut body = pin!(body);
    let mut received = Received::default();
    let mut timer = None;
    poll_fn(|cx| {
        match received.poll_body(body.as_mut(), cx, limit, expected) {
            Poll::Ready(outcome) => return Poll::Ready(outcome),
            Poll::Pending => {}
        }
        let timer = timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(Unread::TimedOut(timeout)))
    })
    .await?;
    Ok(received.into_bytes())
}

/// Why a body was not read.
#[derive(Debug)]
pub(super) enum Unread {
    /// It is larger than the limit. How it begins is there if it was waited for.
    TooLarge { beginning: Bytes, limit: usize },
    /// It did not arrive in time.
    TimedOut(Duration),
    /// It ended early, or its framing is broken.
    Broken,
}

impl Unread {
    pub(super) const fn status(&self) -> StatusCode {
        match self {
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TimedOut(_) => StatusCode::REQUEST_TIMEOUT,
            Self::Broken => StatusCode::BAD_REQUEST,
        }
    }

    /// The name of the limit that it is over.
    pub(super) const fn limit(&self) -> Option<&'static str> {
        match self {
            Self::TooLarge { .. } => Some("message"),
            Self::TimedOut(_) => Some("bodySeconds"),
            Self::Broken => None,
        }
    }

    pub(super) fn answer(&self) -> jsonrpc::Response {
        match self {
            Self::TooLarge { beginning, limit } => {
                let malformed = Malformed::too_large(beginning, *limit);
                match &malformed.id {
                    Some(id) if malformed.shape != jsonrpc::Shape::Response => {
                        jsonrpc::Response::new(id.clone(), Err(malformed.error()))
                    }
                    _ => jsonrpc::Response::without_id(malformed.error()),
                }
            }
            Self::TimedOut(timeout) => jsonrpc::Response::without_id(ErrorObject::invalid_request(
                format!("the body did not arrive within {timeout:?}"),
            )),
            Self::Broken => jsonrpc::Response::without_id(ErrorObject::invalid_request(
                "the body is incomplete or its framing is broken",
            )),
        }
    }
}

/// What has arrived: one piece as it came, or several joined.
#[derive(Default)]
struct Received {
    first: Bytes,
    /// Everything, once there is a second piece.
    joined: BytesMut,
}

impl Received {
    fn poll_body<B: http_body::Body>(
        &mut self,
        mut body: Pin<&mut B>,
        cx: &mut Context<'_>,
        limit: usize,
        expected: Option<usize>,
    ) -> Poll<Result<(), Unread>> {
        while let Some(frame) = ready!(body.as_mut().poll_frame(cx)) {
            let Ok(frame) = frame else {
                return Poll::Ready(Err(Unread::Broken));
            };
            // Trailers say nothing here.
            let Ok(mut data) = frame.into_data() else {
                continue;
            };
            let length = data.remaining();
            if self.len().saturating_add(length) > limit {
                return Poll::Ready(Err(Unread::TooLarge {
                    beginning: std::mem::take(self).into_bytes(),
                    limit,
                }));
            }
            if self.len() == 0 {
                self.first = data.copy_to_bytes(length);
                if Some(length) == expected {
                    // All is there; the end need not be waited for.
                    return Poll::Ready(Ok(()));
                }
                continue;
            }
            if self.joined.is_empty() {
                let known = expected.unwrap_or_default();
                self.joined
                    .reserve(known.max(self.first.len().saturating_add(length)));
                self.joined.extend_from_slice(&self.first);
                self.first = Bytes::new();
            }
            self.joined.put(data);
        }
        Poll::Ready(Ok(()))
    }

    fn len(&self) -> usize {
        self.first.len().max(self.joined.len())
    }

    fn into_bytes(self) -> Bytes {
        if self.joined.is_empty() {
            self.first
        } else {
            self.joined.freeze()
        }
    }
}
