//! A POST and what comes of it.
//!
//! In the handshake era a stream that breaks before the answer is resumed where it broke, if
//! the server gave its events ids. No request is ever posted twice. What is told is, if the
//! connection breaks: a server that waits for an answer would wait for ever, and takes no second.
//!
//! Specification: basic/transports (sending messages, resumability); 2026-07-28
//! basic/transports/streamable-http.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderMap, HeaderValue, Method as Verb, Request, Uri};
use switchboard_protocol::Revision;
use switchboard_protocol::framing::EventStreamError;
use switchboard_protocol::http::client::{
    Answer, AnswerError, Sent, read_answer, read_stream, stream_headers,
};
use switchboard_protocol::http::session::SessionId;
use switchboard_protocol::jsonrpc::{
    ErrorObject, Frame, FrameReader, LargeFrame, Limits, Malformed, Message, Response, Shape,
};
use switchboard_protocol::machine::Lane;
use switchboard_protocol::machine::client::LaneEnd;
use switchboard_transport::http::client::{
    BodyError, Content, HttpClient, Incoming, Received, SendError,
};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::desk::Desk;
use crate::error::{HttpFailure, HttpProblem};

use super::event::Event;

/// A server's address, and what every request to it carries.
pub(super) struct Place {
    pub(super) client: HttpClient,
    pub(super) uri: Uri,
    /// The address as it may be shown.
    pub(super) url: Arc<str>,
    pub(super) limits: Limits,
    headers: HeaderMap,
}

impl Place {
    pub(super) fn new(client: HttpClient, uri: Uri, headers: HeaderMap, desk: &Desk) -> Self {
        Self {
            client,
            uri,
            url: Arc::from(desk.target()),
            limits: desk.shared().limits.message,
            headers,
        }
    }

    /// Reads what came as a message. Others have their turn while a large one is looked through.
    pub(super) async fn read(&self, text: Bytes) -> Result<Frame, Malformed> {
        match text.len() >= LargeFrame::FROM {
            true => Box::pin(self.read_large(text)).await,
            false => Frame::read(&text, &self.limits),
        }
    }

    async fn read_large(&self, text: Bytes) -> Result<Frame, Malformed> {
        let mut large = LargeFrame::new(text, &self.limits);
        self.client.turn().look_through(&mut large).await;
        FrameReader::new(self.limits).read_large(large)
    }

    pub(super) fn post(&self, uri: Uri, headers: HeaderMap, content: Content) -> Request<Content> {
        self.request(Verb::POST, uri, headers, content)
    }

    pub(super) fn get(&self, headers: HeaderMap) -> Request<Content> {
        self.request(Verb::GET, self.uri.clone(), headers, Content::default())
    }

    pub(super) fn delete(&self, headers: HeaderMap) -> Request<Content> {
        self.request(Verb::DELETE, self.uri.clone(), headers, Content::default())
    }

    fn request(&self, verb: Verb, uri: Uri, own: HeaderMap, content: Content) -> Request<Content> {
        let mut request = Request::new(content);
        *request.method_mut() = verb;
        *request.uri_mut() = uri;
        *request.headers_mut() = match own.contains_key(USER_AGENT) {
            true => own,
            false => self.with_users(own),
        };
        request
    }

    /// The headers with those that the user set, which never take the place of what the protocol
    /// sets. Always with a user agent.
    pub(super) fn with_users(&self, mut headers: HeaderMap) -> HeaderMap {
        for (name, value) in &self.headers {
            if !headers.contains_key(name) {
                headers.append(name, value.clone());
            }
        }
        headers.entry(USER_AGENT).or_insert(OURSELVES);
        headers
    }
}

/// One message on its way.
pub(super) struct Post {
    pub(super) place: Arc<Place>,
    pub(super) events: mpsc::Sender<Event>,
    pub(super) lane: Lane,
    pub(super) request: Request<Content>,
    pub(super) wants_answer: bool,
    /// Whether it does no harm to post it twice.
    pub(super) may_repeat: bool,
    /// The revision of the handshake era, in which streams are resumed.
    pub(super) revision: Option<Revision>,
    pub(super) session: Option<SessionId>,
    /// Whether the answer opens a session.
    pub(super) opens_session: bool,
    /// Whether others wait until this was taken.
    pub(super) releases: bool,
    pub(super) epoch: u64,
}

/// Posts a message and brings what comes of it to the owner.
pub(super) async fn run(mut post: Post) {
    let (lane, epoch, events) = (post.lane, post.epoch, post.events.clone());
    let (wants_answer, releases) = (post.wants_answer, post.releases);
    let url = Arc::clone(&post.place.url);
    let is_told = lane == Lane::SHARED;
    // It borrows, so that the message is in the future of each request once.
    let mut exchange = pin!(post.exchange());
    let mut outcome = None;
    if releases {
        outcome = timeout(OVERTAKEN, &mut exchange).await.ok();
        if outcome.is_none() {
            // The owner is gone if it does not take it.
            let _ = events.send(Event::Posted { epoch }).await;
        }
    }
    let outcome = match outcome {
        Some(outcome) => outcome,
        None if is_told => match timeout(LONGEST_TELLING, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => return,
        },
        None => exchange.await,
    };
    let event = match outcome {
        Ok(Done::Answered) => Event::Over(lane),
        Ok(Done::Taken) if releases => Event::Posted { epoch },
        // Over the old transport the answer comes on another stream.
        Ok(Done::Taken) if lane != Lane::SHARED => Event::Over(lane),
        Ok(Done::Taken) => return,
        Ok(Done::Told) => return,
        Err(lost) if wants_answer || lane != Lane::SHARED => Event::Lost {
            lane,
            end: lost.end(),
            failure: HttpFailure::new(&url, lost.problem),
        },
        Err(Lost {
            problem: HttpProblem::Answer(AnswerError::SessionLost),
            ..
        }) => Event::SessionLost { epoch },
        // Nobody waits for an answer to it; the others must not wait for ever.
        Err(_) if releases => Event::Posted { epoch },
        Err(_) => return,
    };
    // The owner is gone if it does not take it.
    let _ = events.send(event).await;
}

/// What came of a message.
enum Done {
    /// Its answer came and the stream has ended.
    Answered,
    /// Its answer came and was told as the last.
    Told,
    /// It was taken; there is nothing to answer.
    Taken,
}

/// Why no answer comes.
struct Lost {
    problem: HttpProblem,
    error: Option<ErrorObject>,
}

impl Lost {
    fn end(&self) -> LaneEnd {
        match &self.problem {
            HttpProblem::Answer(answer) => answer.lane_end(self.error.clone()),
            other => LaneEnd::Broken(other.to_string()),
        }
    }
}

impl<P: Into<HttpProblem>> From<P> for Lost {
    fn from(problem: P) -> Self {
        Self {
            problem: problem.into(),
            error: None,
        }
    }
}

impl Post {
    async fn exchange(&mut self) -> Result<Done, Lost> {
        let request = std::mem::take(&mut self.request);
        let received = match self.may_repeat {
            true => Box::pin(self.insist(request)).await?,
            false => self.place.client.send(request).await?,
        };
        let sent = Sent {
            wants_answer: self.wants_answer,
            has_session: self.session.is_some(),
        };
        let answer = match read_answer(sent, received.status, &received.headers) {
            Ok(answer) => answer,
            Err(error) => return Err(Box::pin(self.refused(error, received)).await),
        };
        if self.opens_session {
            match SessionId::read(&received.headers) {
                Ok(Some(session)) => self.tell(Event::Session(session)).await,
                Ok(None) => {}
                Err(error) => {
                    return Err(HttpProblem::Session(error.to_string()).into());
                }
            }
        }
        match answer {
            Answer::Json => self.read_json(received.body).await,
            // What not every answer needs is not in the future of each.
            Answer::EventStream => Box::pin(self.read_events(received.body)).await,
            Answer::Accepted => {
                // Read to its end, so that the connection serves the next.
                let _ = Box::pin(timeout(LINGER, received.body.collect())).await;
                Ok(Done::Taken)
            }
            _ => Err(HttpProblem::Answer(AnswerError::NoAnswer {
                status: received.status,
            })
            .into()),
        }
    }

    /// Posts it again if the connection breaks. The first time at once: others may work.
    async fn insist(&self, request: Request<Content>) -> Result<Received, SendError> {
        let mut attempts = 0;
        loop {
            let sent = self.place.client.send(request.clone()).await;
            match sent {
                Err(SendError::Lost { .. } | SendError::Connect { .. })
                    if attempts < MOST_ATTEMPTS =>
                {
                    if attempts > 0 {
                        sleep(delay(None, attempts)).await;
                    }
                    attempts += 1;
                }
                sent => return sent,
            }
        }
    }

    /// The answer says no; its body may say why.
    async fn refused(&self, error: AnswerError, received: Received) -> Lost {
        let has_json = matches!(
            error,
            AnswerError::Refused { has_json: true, .. }
                | AnswerError::Unavailable { has_json: true, .. }
        );
        let mut inner = None;
        if has_json
            && let Ok(Ok(body)) = timeout(LINGER, received.body.collect()).await
            && let Ok(Frame::Single(Message::Response(Response {
                outcome: Err(error),
                ..
            }))) = Frame::read(&body, &self.place.limits)
        {
            inner = Some(error);
        }
        Lost {
            problem: error.into(),
            error: inner,
        }
    }

    async fn read_json(&self, body: Incoming) -> Result<Done, Lost> {
        let body = body.collect().await?;
        let frame = self.place.read(body).await;
        match &frame {
            Ok(Frame::Single(message)) if self.answers(message) => {
                self.receive(frame, true).await;
                Ok(Done::Told)
            }
            // A batch, or an answer to something else: the machine says what it is.
            Ok(_) => {
                self.receive(frame, false).await;
                Err(HttpProblem::NotTheAnswer.into())
            }
            Err(malformed) => {
                let what = malformed.to_string();
                let named = malformed.id.is_some();
                if named {
                    self.receive(frame, false).await;
                }
                Err(HttpProblem::NoMessage(what).into())
            }
        }
    }

    async fn read_events(&self, mut body: Incoming) -> Result<Done, Lost> {
        let mut retry = None;
        let mut last_id = None;
        let mut attempts = 0;
        loop {
            let broke = match self.read_stream(&mut body, &mut retry).await {
                Ok(()) => return Ok(Done::Answered),
                Err(broke) => broke,
            };
            if let Some(id) = body.last_event_id() {
                last_id = Some(id.to_owned());
                attempts = 0;
            }
            drop(body);
            let (Some(revision), Some(id)) = (self.revision, &last_id) else {
                return Err(broke);
            };
            body = loop {
                attempts += 1;
                if attempts > MOST_ATTEMPTS {
                    return Err(HttpProblem::StreamLost {
                        attempts: attempts - 1,
                        reason: broke.problem.to_string(),
                    }
                    .into());
                }
                sleep(delay(retry, attempts)).await;
                match self.resume(revision, id).await {
                    Ok(body) => break body,
                    Err(lost) if is_final(&lost.problem) => {
                        return Err(self.not_resumed(attempts, lost.problem).await);
                    }
                    Err(_) => {}
                }
            };
        }
    }

    /// Reads events until the answer has come.
    async fn read_stream(
        &self,
        body: &mut Incoming,
        retry: &mut Option<Duration>,
    ) -> Result<(), Lost> {
        loop {
            let event = match body.next_event().await {
                Ok(Some(event)) => event,
                Ok(None) => return Err(HttpProblem::NoAnswerInStream.into()),
                // What it is stands at its beginning, as a rule. On the stream of a request that
                // is its answer, if it is not said to be something else.
                Err(BodyError::Event(EventStreamError::TooLarge { limit, prefix })) => {
                    let malformed = Malformed::too_large(&prefix, limit);
                    let is_other = matches!(malformed.shape, Shape::Request | Shape::Notification);
                    if malformed.id.is_none() && !is_other {
                        let seen = limit.saturating_add(1) as u64;
                        return Err(BodyError::TooLarge { limit, seen }.into());
                    }
                    self.receive(Err(malformed), false).await;
                    continue;
                }
                Err(BodyError::Event(_)) => continue,
                Err(error) => return Err(error.into()),
            };
            if event.retry.is_some() {
                *retry = event.retry;
            }
            if !event.is_message() || event.data.is_empty() {
                continue;
            }
            let frame = self.place.read(event.data).await;
            let is_answer = matches!(&frame, Ok(Frame::Single(message)) if self.answers(message));
            self.receive(frame, false).await;
            if is_answer {
                // The caller has its answer. The connection serves the next one if the
                // stream ends soon, as it should.
                let rest = async { while let Ok(Some(_)) = body.next_event().await {} };
                let _ = timeout(LINGER, rest).await;
                return Ok(());
            }
        }
    }

    /// The stream cannot be resumed. The server has taken the request long ago: it may have run,
    /// whatever is answered now.
    async fn not_resumed(&self, attempts: u32, problem: HttpProblem) -> Lost {
        if matches!(problem, HttpProblem::Answer(AnswerError::SessionLost)) {
            let epoch = self.epoch;
            self.tell(Event::SessionLost { epoch }).await;
        }
        let reason = match problem {
            HttpProblem::StreamLost { reason, .. } => reason,
            other => other.to_string(),
        };
        HttpProblem::StreamLost { attempts, reason }.into()
    }

    async fn resume(&self, revision: Revision, id: &str) -> Result<Incoming, Lost> {
        let headers = stream_headers(Some(revision), self.session.as_ref(), Some(id))
            .map_err(|error| HttpProblem::Unsendable(error.to_string()))?;
        let received = self.place.client.send(self.place.get(headers)).await?;
        let has_session = self.session.is_some();
        match read_stream(has_session, received.status, &received.headers) {
            Ok(true) => Ok(received.body),
            Ok(false) => Err(HttpProblem::StreamLost {
                attempts: 1,
                reason: "the server does not resume streams".to_owned(),
            }
            .into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Is this the answer to what was posted?
    fn answers(&self, message: &Message) -> bool {
        let Message::Response(response) = message else {
            return false;
        };
        let number = self.lane.0.cast_signed();
        response.id.as_ref().is_some_and(|id| {
            // Some servers give numbers back as texts.
            let text = || id.as_text()?.parse().ok();
            id.as_integer().or_else(text) == Some(number)
        })
    }

    async fn receive(&self, frame: Result<Frame, Malformed>, is_last: bool) {
        let lane = self.lane;
        self.tell(Event::Received {
            lane,
            frame,
            is_last,
        })
        .await;
    }

    async fn tell(&self, event: Event) {
        // The owner is gone if it does not take it.
        let _ = self.events.send(event).await;
    }
}

/// Is it of no use to try again?
fn is_final(problem: &HttpProblem) -> bool {
    !matches!(
        problem,
        HttpProblem::Answer(AnswerError::Unavailable { .. })
            | HttpProblem::Send(_)
            | HttpProblem::Body(_)
    )
}

/// How long to wait before a stream is opened again: as the server says, or ever longer.
pub(super) fn delay(retry: Option<Duration>, attempt: u32) -> Duration {
    let own = FIRST_DELAY.saturating_mul(1 << attempt.saturating_sub(1).min(5));
    retry.unwrap_or(own).min(LONGEST_DELAY)
}

/// Who asks, for the logs of servers.
const OURSELVES: HeaderValue =
    HeaderValue::from_static(concat!("switchboard/", env!("CARGO_PKG_VERSION")));

const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// How often a stream is opened again that brings nothing.
const MOST_ATTEMPTS: u32 = 5;

/// How long others wait for a server that does not say whether it took what they wait for.
const OVERTAKEN: Duration = Duration::from_secs(2);

/// How long a server may take to take what needs no answer.
const LONGEST_TELLING: Duration = Duration::from_secs(30);

/// How long a body that nobody needs may keep its connection busy.
const LINGER: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::future::Future;

    use super::*;

    fn size<F: Future>(_: impl Fn(Post) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_future_of_an_exchange_is_small() {
        // Each request has one.
        let size = size(run);
        assert!(size <= 4096, "{size} bytes");
    }
}
