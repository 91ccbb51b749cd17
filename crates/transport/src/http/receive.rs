//! Reads the body of a request, bounded in size and time; of large ones, few of a caller at once.
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
use switchboard_protocol::jsonrpc::{self, ErrorCode, ErrorObject, Malformed};

use super::Principal;
use super::room::{Rooms, SMALL};

/// Reads a body of at most `limit` bytes that arrives within `timeout`. A large one waits for
/// its place among those of this caller, for as long again.
pub(super) async fn receive<B>(
    body: B,
    limit: usize,
    timeout: Duration,
    rooms: &Rooms,
    caller: Option<&Principal>,
) -> Result<Bytes, Unread>
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
    let mut place = None;
    loop {
        let room = match place {
            Some(_) => usize::MAX,
            None => SMALL,
        };
        let step = poll_fn(|cx| {
            match received.poll_body(body.as_mut(), cx, limit, expected, room) {
                Poll::Ready(outcome) => return Poll::Ready(outcome),
                Poll::Pending => {}
            }
            let timer = timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
            ready!(timer.as_mut().poll(cx));
            Poll::Ready(Err(Unread::TimedOut(timeout)))
        });
        if let Step::Whole = step.await? {
            return Ok(received.into_bytes());
        }
        let entering = tokio::time::timeout(timeout, rooms.enter(caller));
        place = entering.await.map_err(|_| Unread::NoRoom(timeout))?;
        // It was not the body that was waited for.
        timer = None;
    }
}

/// How far a body is.
enum Step {
    /// All of it is there.
    Whole,
    /// It is larger than may be read without a place.
    Large,
}

/// Why a body was not read.
#[derive(Debug)]
pub(super) enum Unread {
    /// It is larger than the limit. How it begins is there if it was waited for.
    TooLarge { beginning: Bytes, limit: usize },
    /// It did not arrive in time.
    TimedOut(Duration),
    /// Others of the same caller were read for so long.
    NoRoom(Duration),
    /// It ended early, or its framing is broken.
    Broken,
}

impl Unread {
    pub(super) const fn status(&self) -> StatusCode {
        match self {
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TimedOut(_) => StatusCode::REQUEST_TIMEOUT,
            Self::NoRoom(_) => StatusCode::SERVICE_UNAVAILABLE,
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
            Self::NoRoom(timeout) => jsonrpc::Response::without_id(ErrorObject::new(
                ErrorCode::BUSY,
                format!("other large bodies of this caller were read for {timeout:?}"),
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
        room: usize,
    ) -> Poll<Result<Step, Unread>> {
        loop {
            if self.len() > room {
                return Poll::Ready(Ok(Step::Large));
            }
            let Some(frame) = ready!(body.as_mut().poll_frame(cx)) else {
                return Poll::Ready(Ok(Step::Whole));
            };
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
                    return Poll::Ready(Ok(Step::Whole));
                }
                continue;
            }
            let known = expected.unwrap_or_default().min(room);
            let more = known.saturating_sub(self.joined.len());
            if self.joined.is_empty() {
                self.joined
                    .reserve(more.max(self.first.len().saturating_add(length)));
                self.joined.extend_from_slice(&self.first);
                self.first = Bytes::new();
            } else {
                self.joined.reserve(more);
            }
            self.joined.put(data);
        }
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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;

    use http_body::Frame;

    use super::*;

    /// A body in pieces of 40 KiB. What does not end is waited for.
    struct Pieces {
        left: VecDeque<Bytes>,
        ends: bool,
    }

    fn pieces(count: usize, ends: bool) -> Pieces {
        let left = (0..count).map(|_| Bytes::from(vec![b' '; 40 * 1024]));
        Pieces {
            left: left.collect(),
            ends,
        }
    }

    impl http_body::Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            match self.left.pop_front() {
                Some(piece) => Poll::Ready(Some(Ok(Frame::data(piece)))),
                None if self.ends => Poll::Ready(None),
                None => Poll::Pending,
            }
        }
    }

    async fn is_ready<F: Future>(future: Pin<&mut F>) -> bool {
        tokio::time::timeout(Duration::ZERO, future).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn of_large_bodies_two_of_a_caller_are_read_at_once() {
        let rooms = Rooms::default();
        let (one, other) = (Principal::new("one"), Principal::new("other"));
        let read = |body, caller| receive(body, 1 << 20, Duration::from_secs(30), &rooms, caller);
        let mut first = Box::pin(read(pieces(4, false), Some(&one)));
        let mut second = Box::pin(read(pieces(4, false), Some(&one)));
        assert!(!is_ready(first.as_mut()).await);
        assert!(!is_ready(second.as_mut()).await);
        let mut third = Box::pin(read(pieces(4, true), Some(&one)));
        assert!(!is_ready(third.as_mut()).await);
        // Small ones, and those of others, go on.
        assert!(read(pieces(1, true), Some(&one)).await.is_ok());
        assert!(read(pieces(4, true), Some(&other)).await.is_ok());
        assert!(read(pieces(4, true), None).await.is_ok());
        let fourth = read(pieces(4, true), Some(&one)).await;
        assert!(matches!(fourth, Err(Unread::NoRoom(_))), "{fourth:?}");
        drop(first);
        assert_eq!(third.await.unwrap().len(), 4 * 40 * 1024);
    }
}
