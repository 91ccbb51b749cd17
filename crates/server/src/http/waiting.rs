//! A POST that waits for what it is answered with, and the response that it gets.
//!
//! Specification: basic/transports of each revision, sending messages.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderValue, Response, StatusCode};
use switchboard_protocol::Era;
use switchboard_protocol::http::negotiate::{Accepted, Format};
use switchboard_protocol::http::server::{Stage, begin_answer, status_for};
use switchboard_protocol::jsonrpc::{self, ErrorCode, Message};
use switchboard_protocol::machine::Lane;
use switchboard_transport::http::{Body, accepted, event_stream, events, json};
use tokio::time::{Sleep, sleep};

use super::conversation::{Conversation, Handler};
use super::lane::First;
use crate::clock;

/// A POST that was taken in.
pub(super) enum Taken {
    /// It has its response; its conversation is given back.
    Answered(Response<Body>, Arc<Conversation>),
    /// It must wait for that.
    Waiting(Later),
}

/// The answer to a call that was never in flight.
pub(super) enum Ready {
    /// The text of a result.
    Text(Bytes),
    /// Any other.
    Response(jsonrpc::Response),
}

impl Ready {
    /// The response to a client that takes JSON.
    pub(super) fn response(self, era: Era) -> Response<Body> {
        let (status, text) = match self {
            Self::Text(text) => (StatusCode::OK, text),
            Self::Response(response) => {
                let status = match &response.outcome {
                    Ok(_) => StatusCode::OK,
                    Err(error) => status_for(error.code, era, Stage::Answer),
                };
                let later = retry_after(&response);
                let message = Message::from(response);
                let mut response = json(status, &message);
                say_later(&mut response, later);
                return response;
            }
        };
        json(status, text)
    }
}

/// A POST that waits, and what its response depends on.
pub(super) struct Later {
    waiting: Waiting,
    era: Era,
    accepts: Accepted,
}

impl Later {
    pub(super) const fn new(waiting: Waiting, era: Era, accepts: Accepted) -> Self {
        Self {
            waiting,
            era,
            accepts,
        }
    }

    /// Its response, once that is known, and its conversation, which is given back.
    ///
    /// No future of its own: what is large would be moved once more.
    pub(super) fn poll_answer(
        &mut self,
        task: &mut TaskContext<'_>,
    ) -> Poll<(Response<Body>, Option<Arc<Conversation>>)> {
        let first = ready!(Pin::new(&mut self.waiting).poll(task));
        let conversation = self.waiting.conversation.take();
        let response = match first {
            Some(First::Nothing) => accepted(),
            Some(First::Stream(body)) => event_stream(body),
            Some(First::Batch(responses)) => json(StatusCode::OK, array(responses)),
            Some(First::Answer(ref message, stage)) => {
                match begin_answer(message, self.era, stage, self.accepts) {
                    Some((status, Format::Json)) => {
                        let later = match message {
                            Message::Response(response) => retry_after(response),
                            _ => None,
                        };
                        let mut response = json(status, message);
                        say_later(&mut response, later);
                        response
                    }
                    Some(_) => match &conversation {
                        Some(conversation) => one_event(conversation, message),
                        None => gone(),
                    },
                    None => accepted(),
                }
            }
            None => gone(),
        };
        Poll::Ready((response, conversation))
    }
}

/// When a client that was refused for a while may come again: `retryAfterMs` of the error.
fn retry_after(response: &jsonrpc::Response) -> Option<Duration> {
    let error = response.outcome.as_ref().err()?;
    if !matches!(error.code, ErrorCode::BUSY | ErrorCode::TOO_MANY) {
        return None;
    }
    let data = error.data.as_ref()?.member("retryAfterMs")?;
    serde_json::from_slice(data).ok().map(Duration::from_millis)
}

/// Says when that is, if it is known.
#[inline]
fn say_later(response: &mut Response<Body>, later: Option<Duration>) {
    if let Some(later) = later {
        let seconds = later.as_millis().div_ceil(1_000).max(1);
        let seconds = HeaderValue::from(u64::try_from(seconds).unwrap_or(u64::MAX));
        response.headers_mut().insert(RETRY_AFTER, seconds);
    }
}

/// Waits for what a POST is answered with. If it is dropped before, the client has gone.
pub(super) struct Waiting {
    /// Until it is given back; then this is answered.
    conversation: Option<Arc<Conversation>>,
    lane: Lane,
    /// Its handler, as long as it is to be asked here.
    handler: Option<Handler>,
    patience: Patience,
    has_waited: bool,
    is_answered: bool,
}

/// How long there may be silence before a stream is begun, so that nobody between takes the
/// connection for dead.
pub(super) struct Patience {
    lasts: Duration,
    watch: Watch,
}

/// How the end of a patience is noticed.
enum Watch {
    /// Whoever waits for the response asks again by himself, and a timer would cost more than most of
    /// a call. Since when there is silence, once there is any.
    Asked { since: Instant, has_waited: bool },
    /// Made when something must be waited for.
    Timer(Option<Pin<Box<Sleep>>>),
}

impl Patience {
    pub(super) fn new(now: Instant, lasts: Duration, is_asked_again: bool) -> Self {
        Self {
            lasts: lasts.max(SHORTEST_PATIENCE),
            watch: match is_asked_again {
                true => Watch::Asked {
                    since: now,
                    has_waited: false,
                },
                false => Watch::Timer(None),
            },
        }
    }

    /// Ready when it is over; then it begins anew.
    fn poll_end(&mut self, task: &mut TaskContext<'_>) -> Poll<()> {
        match &mut self.watch {
            Watch::Asked { since, has_waited } => {
                if !std::mem::replace(has_waited, true) {
                    return Poll::Pending;
                }
                let now = clock::now();
                if now.saturating_duration_since(*since) < self.lasts {
                    return Poll::Pending;
                }
                *since = now;
            }
            Watch::Timer(timer) => {
                let timer = timer.get_or_insert_with(|| Box::pin(sleep(self.lasts)));
                ready!(timer.as_mut().poll(task));
                timer
                    .as_mut()
                    .reset(tokio::time::Instant::now() + self.lasts);
            }
        }
        Poll::Ready(())
    }
}

impl Waiting {
    pub(super) const fn new(
        conversation: Arc<Conversation>,
        lane: Lane,
        handler: Option<Handler>,
        patience: Patience,
    ) -> Self {
        Self {
            conversation: Some(conversation),
            lane,
            handler,
            patience,
            has_waited: false,
            is_answered: false,
        }
    }
}

impl Future for Waiting {
    type Output = Option<First>;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Option<First>> {
        let Self {
            conversation: Some(conversation),
            lane,
            handler,
            patience,
            has_waited,
            is_answered,
        } = &mut *self
        else {
            return Poll::Ready(None);
        };
        let mut first = conversation.poll_post(*lane, handler, task);
        loop {
            if first.is_ready() {
                *is_answered = true;
                // A handler that has more to do than to answer this POST goes on without it.
                if let Some(handler) = handler.take() {
                    conversation.part_with(handler);
                }
                return first;
            }
            if !std::mem::replace(has_waited, true) {
                conversation.join_waiting();
            }
            ready!(patience.poll_end(task));
            // A client that takes no stream goes on waiting.
            conversation.begin_stream(*lane);
            first = conversation.poll_first(*lane, task);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let Some(conversation) = &self.conversation else {
            return;
        };
        // It may not have been asked even once.
        let handler = self.handler.take();
        let handler = handler.and_then(|handler| conversation.kept(handler));
        conversation.lane_gone(self.lane);
        if let Some(handler) = handler {
            conversation.part_with(Handler::Kept(handler));
        }
    }
}

/// The answer as a stream of one event, for a client that takes nothing else.
fn one_event(conversation: &Conversation, message: &Message) -> Response<Body> {
    let (sender, body) = events(conversation.stream_settings());
    // There is room in a new stream.
    let _ = sender.send_message(message, None);
    sender.close();
    event_stream(body)
}

/// The answers of a batch.
fn array(responses: Vec<jsonrpc::Response>) -> Bytes {
    let payloads = responses.iter().map(|response| match &response.outcome {
        Ok(result) => result.length(),
        Err(_) => 0,
    });
    let mut text = Vec::with_capacity(2 + payloads.map(|length| length + 64).sum::<usize>());
    text.push(b'[');
    for (place, response) in responses.into_iter().enumerate() {
        if place > 0 {
            text.push(b',');
        }
        Message::from(response).write(&mut text);
    }
    text.push(b']');
    text.into()
}

/// The session was ended while its request was under way.
fn gone() -> Response<Body> {
    let error = jsonrpc::ErrorObject::internal("the session has ended");
    let answer = Message::from(jsonrpc::Response::without_id(error));
    json(StatusCode::NOT_FOUND, &answer)
}

// Without it, no patience at all would look again and again without a rest.
const SHORTEST_PATIENCE: Duration = Duration::from_millis(10);
