//! Reads the body of a request, bounded in size and time, and together with others of its caller.
//!
//! A body that arrives in one piece is not copied and sets no timer. What is in it is for
//! `jsonrpc` to say; what is large is looked through here, so that others have their turn meanwhile.
//!
//! Specification: RFC 9110, sections 15.5.9 and 15.5.14.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::StatusCode;
use switchboard_protocol::jsonrpc::{
    self, ErrorCode, ErrorObject, Frame, FrameReader, LargeFrame, Limits, Malformed,
};
use tokio::time::{Instant, Sleep};

use super::Principal;
use super::gather::Gathered;
use super::room::{Place, Rooms, SMALL};
use crate::turn::Turn;

/// A body that is there.
#[derive(Debug)]
pub(super) enum Whole {
    Small(Bytes),
    Large(Box<LargeFrame>),
}

impl Whole {
    /// Reads it as a message.
    pub(super) fn read(self, reader: &mut FrameReader) -> Result<Frame, Malformed> {
        match self {
            Self::Small(text) => reader.read(text),
            Self::Large(large) => reader.read_large(*large),
        }
    }
}

/// Reads a body within these limits that arrives within `timeout`. A large one waits for room among those of
/// this caller, for as long again in all.
pub(super) async fn receive<B>(
    body: B,
    limits: &Limits,
    timeout: Duration,
    rooms: &Rooms,
    caller: Option<&Principal>,
) -> Result<Whole, Unread>
where
    B: http_body::Body,
{
    let limit = limits.bytes;
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
    let mut timer: Option<Pin<Box<Sleep>>> = None;
    let mut place = Place::small();
    // Held for as long as the place is: it is that of all bodies of this caller.
    let mut room = None;
    let mut patience = timeout;
    // What is known to be large is not even begun before.
    let mut wanted = expected.unwrap_or_default();
    loop {
        if wanted > place.granted() {
            let room = room.get_or_insert_with(|| rooms.of(caller));
            let begun = Instant::now();
            let growing = tokio::time::timeout(patience, place.grow(room, wanted));
            growing.await.map_err(|_| Unread::NoRoom(timeout))?;
            patience = patience.saturating_sub(begun.elapsed());
            received.turn = Turn::of(room.party());
            // Meanwhile it was not the body that was waited for.
            if let Some(timer) = &mut timer {
                let until = timer.deadline() + begun.elapsed();
                timer.as_mut().reset(until);
            }
        }
        let step = poll_fn(|cx| {
            let granted = place.granted();
            match received.poll_body(body.as_mut(), cx, limit, expected, granted) {
                Poll::Ready(outcome) => return Poll::Ready(outcome),
                Poll::Pending => {}
            }
            let timer = timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
            ready!(timer.as_mut().poll(cx));
            Poll::Ready(Err(Unread::TimedOut(timeout)))
        });
        match step.await? {
            Step::Whole => {
                let is_large = received.gathered.len() >= LargeFrame::FROM;
                while !received.gathered.join() {
                    received.turn.wait().await;
                }
                let text = received.gathered.into_bytes();
                if !is_large {
                    return Ok(Whole::Small(text));
                }
                let mut large = Box::new(LargeFrame::new(text, limits));
                received.turn.look_through(&mut large).await;
                return Ok(Whole::Large(large));
            }
            Step::Large(size) => wanted = size,
        }
    }
}

/// How far a body is.
enum Step {
    /// All of it is there.
    Whole,
    /// It takes up so much with what has come, and there is no room for it yet.
    Large(usize),
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
            Self::NoRoom(_) => Some(BODIES),
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
            Self::NoRoom(timeout) => jsonrpc::Response::without_id(ErrorObject::over_limit(
                ErrorCode::BUSY,
                format!("other large bodies of this caller were read for {timeout:?}"),
                BODIES,
                None,
            )),
            Self::Broken => jsonrpc::Response::without_id(ErrorObject::invalid_request(
                "the body is incomplete or its framing is broken",
            )),
        }
    }
}

/// The name of the limit of all bodies of one caller that are not whole.
const BODIES: &str = "bodies";

/// What has arrived.
#[derive(Default)]
struct Received {
    gathered: Gathered,
    /// What came last and waits for room.
    piece: Option<Bytes>,
    turn: Turn,
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
            if let Some(piece) = &self.piece {
                let size = self.gathered.size_with(piece.len());
                if size > room {
                    return Poll::Ready(Ok(Step::Large(size)));
                }
                if let Some(piece) = self.piece.take() {
                    let announced = expected.filter(|size| *size <= room);
                    self.gathered.add(piece, announced);
                }
                if Some(self.gathered.len()) == expected {
                    // All is there; the end need not be waited for.
                    return Poll::Ready(Ok(Step::Whole));
                }
            }
            if self.gathered.len() > SMALL {
                ready!(self.turn.poll(cx));
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
            if self.gathered.len().saturating_add(length) > limit {
                let beginning = self.gathered.beginning();
                return Poll::Ready(Err(Unread::TooLarge { beginning, limit }));
            }
            self.piece = Some(data.copy_to_bytes(length));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;

    use http_body::Frame;

    use super::*;

    fn within(bytes: usize) -> Limits {
        let mut limits = Limits::default();
        limits.bytes = bytes;
        limits
    }

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

    /// A body of which a piece of 40 KiB comes every so often.
    struct Trickle(tokio::time::Interval);

    impl http_body::Body for Trickle {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            ready!(self.0.poll_tick(cx));
            let piece = Bytes::from(vec![b' '; 40 * 1024]);
            Poll::Ready(Some(Ok(Frame::data(piece))))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn however_often_a_body_grows_it_has_its_time_once() {
        let rooms = Rooms::new(1 << 20, None);
        let begun = Instant::now();
        let timeout = Duration::from_secs(30);
        let body = Trickle(tokio::time::interval(Duration::from_secs(9)));
        let refused = receive(body, &within(1 << 20), timeout, &rooms, None).await;
        assert!(matches!(refused, Err(Unread::TimedOut(_))), "{refused:?}");
        assert_eq!(begun.elapsed().as_secs(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_that_are_begun_and_not_ended_are_in_the_way_of_their_own_caller_only() {
        let limit = 256 * 1024;
        let rooms = Rooms::new(limit, None);
        let (one, other) = (Principal::new("one"), Principal::new("other"));
        let limits = within(limit);
        let read = |body, caller| receive(body, &limits, Duration::from_secs(30), &rooms, caller);
        let mut begun: Vec<_> = (0..20)
            .map(|_| Box::pin(read(pieces(6, false), Some(&one))))
            .collect();
        for body in &mut begun {
            assert!(!is_ready(body.as_mut()).await);
        }
        let mut next = Box::pin(read(pieces(6, true), Some(&one)));
        assert!(!is_ready(next.as_mut()).await);
        // Small ones, and those of others, go on.
        assert!(read(pieces(1, true), Some(&one)).await.is_ok());
        assert!(read(pieces(6, true), Some(&other)).await.is_ok());
        assert!(read(pieces(6, true), None).await.is_ok());
        let refused = read(pieces(6, true), Some(&one)).await;
        assert!(matches!(refused, Err(Unread::NoRoom(_))), "{refused:?}");
        begun.clear();
        assert!(read(pieces(6, true), Some(&one)).await.is_ok());
    }
}
