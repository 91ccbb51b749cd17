//! The side that serves: admits requests of either era, delivers each answer once.
//!
//! A peer of the handshake era goes through the states of `legacy`; requests
//! of the stateless era are admitted one by one by `modern`, beside it.
//! `arriving` has calls handled before they are in flight,
//! `answering` brings answers back, `asking` brings questions to the client, `gathering`
//! those that a handler answers with, `listening` keeps subscriptions, `telling`
//! sends notifications that have no input of their own, `batch` gathers the answers of one frame.
//!
//! Specification: basic/lifecycle, basic/versioning, basic/patterns.

mod answering;
mod arriving;
mod asking;
mod batch;
mod gathering;
mod input;
mod legacy;
mod listening;
mod modern;
mod telling;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::envelope::Envelope;
use crate::jsonrpc::{
    ErrorCode, ErrorObject, Frame, Malformed, Message, Notification, Problem, Request, RequestId,
    Response, Shape,
};
use crate::machine::pending::Pending;
use crate::machine::serving::Serving;
use crate::machine::{Lane, Wire};
use crate::method::Method;
use crate::payload::Payload;
use crate::revision::{Era, Revision};
use crate::types::{LoggingLevel, SubscriptionFilter};

pub use crate::machine::serving::ServeKey;
pub use arriving::{Admitted, Arrival, Arriving, Reply, TextResult};
pub use asking::{AskError, AskKey};
pub use input::{Answer, Caller, Change, Input, Output, Serve, ServerConfig};
pub use legacy::ServerState;

use arriving::Admission;
use asking::Asked;
use batch::Batches;
use legacy::Session;

/// One connection from one client, seen from the server.
#[derive(Debug)]
pub struct ServerMachine {
    config: Arc<ServerConfig>,
    /// What every result of the stateless era carries, written once for a configuration.
    result_text: Arc<modern::ResultText>,
    /// The caller of the last stateless request: the next one is nearly always the same.
    last_caller: Option<modern::KnownCaller>,
    session: Session,
    serving: Serving<InFlight>,
    asked: Pending<Asked>,
    batches: Batches,
    /// Every request is of the stateless era, whatever it looks like.
    is_stateless_only: bool,
    over: bool,
}

/// What is kept of a request while its handler works.
#[derive(Debug)]
struct InFlight {
    lane: Lane,
    /// The batch that it came in, if it did.
    batch: Option<u64>,
    method: Option<Method>,
    era: Era,
    caller: Arc<Caller>,
    /// The text of the parameters, where it is needed again.
    params: Option<Bytes>,
    /// The text of the token under which the caller wants progress.
    progress_token: Option<Bytes>,
    last_progress: Option<f64>,
    log_level: Option<LoggingLevel>,
    deadline: Option<Instant>,
    /// How often its handler was started again with input.
    rounds: u32,
    work: Work,
}

/// Who works on a request.
#[derive(Debug)]
enum Work {
    /// A handler.
    Handler,
    /// The client, which was asked for input before the handler can go on.
    Client(Box<gathering::Gathering>),
    /// Nobody: it is a subscription that stays open.
    Listening(Box<SubscriptionFilter>),
}

impl ServerMachine {
    /// A server that nobody has talked to yet.
    pub fn new(config: impl Into<Arc<ServerConfig>>) -> Self {
        let config = config.into();
        Self {
            result_text: config.result_text(),
            last_caller: None,
            session: Session::default(),
            serving: Serving::new(),
            asked: Pending::new(),
            batches: Batches::default(),
            is_stateless_only: false,
            over: false,
            config,
        }
    }

    /// A server for a client that makes single requests without a handshake, as
    /// Streamable HTTP allows: the given revision is assumed.
    pub fn sessionless(config: impl Into<Arc<ServerConfig>>, revision: Revision) -> Self {
        let mut machine = Self::new(config);
        machine.session = Session::assumed(revision);
        machine
    }

    /// A server for one request that stands alone, as Streamable HTTP posts them in the
    /// stateless era: its headers have named the era, so what its envelope lacks is told.
    ///
    /// Each has its own, because ids of different clients have nothing to do with each other.
    pub fn stateless(config: impl Into<Arc<ServerConfig>>) -> Self {
        let mut machine = Self::new(config);
        machine.is_stateless_only = true;
        machine
    }

    /// Where the handshake stands.
    pub fn state(&self) -> ServerState {
        if self.over {
            ServerState::Shutdown
        } else {
            self.session.state()
        }
    }

    /// How many requests have no answer yet.
    pub fn open_calls(&self) -> usize {
        self.serving.len()
    }

    /// Is this call still waited for? A handler of one that is not may stop.
    pub fn is_open(&self, key: ServeKey) -> bool {
        !self.over && self.serving.get(key).is_some()
    }

    /// The lane that a call in flight came on.
    pub fn lane(&self, key: ServeKey) -> Option<Lane> {
        self.serving.get(key).map(|in_flight| in_flight.lane)
    }

    /// How many questions to the client have no answer yet.
    pub fn open_questions(&self) -> usize {
        self.asked.len()
    }

    /// When [`Input::Tick`] is wanted, if nothing else comes first.
    pub fn deadline(&self) -> Option<Instant> {
        let handlers = self.config.handler_timeout.and_then(|_| {
            self.serving
                .iter()
                .into_iter()
                .filter_map(|(_, _, f)| f.deadline)
                .min()
        });
        match (self.asked.deadline(), handlers) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Takes one thing that happened and appends what must happen next.
    pub fn handle(&mut self, now: Instant, input: Input, out: &mut Vec<Output>) {
        if self.over {
            // Handlers that finish late have nobody to answer.
            return;
        }
        match input {
            Input::Received { lane, frame } => self.handle_frame(now, lane, frame, out),
            Input::Answered { key, answer } => self.answered(now, key, answer, out),
            Input::Ask {
                key,
                ask,
                method,
                params,
            } => self.ask(now, key, ask, method, params, out),
            Input::Progress { key, params } => self.progress(key, &params, out),
            Input::Log { key, level, params } => self.log(key, level, params, out),
            Input::Changed(change) => self.changed(&change, out),
            Input::Notify { key, notification } => self.notify(key, notification, out),
            Input::LaneClosed { lane } => self.handle_lane_closed(lane, out),
            Input::Tick => self.tick(now, out),
            Input::PeerClosed => self.shut_down(out),
            Input::Close => self.close(out),
        }
    }

    fn handle_frame(
        &mut self,
        now: Instant,
        lane: Lane,
        frame: Result<Frame, Malformed>,
        out: &mut Vec<Output>,
    ) {
        match frame {
            Ok(Frame::Single(message)) => self.handle_message(now, lane, message, out),
            Ok(Frame::Batch(entries)) => self.handle_batch(now, lane, entries, out),
            Err(malformed) => self.handle_malformed(now, lane, &malformed, out),
        }
    }

    fn handle_message(
        &mut self,
        now: Instant,
        lane: Lane,
        message: Message,
        out: &mut Vec<Output>,
    ) {
        match message {
            Message::Request(request) => self.handle_request(now, lane, None, request, out),
            Message::Notification(told) => {
                self.handle_notification(told, out);
                out.push(Output::Accepted { lane });
            }
            Message::Response(response) => {
                self.handle_response(now, response, out);
                out.push(Output::Accepted { lane });
            }
        }
    }

    fn handle_malformed(
        &mut self,
        now: Instant,
        lane: Lane,
        malformed: &Malformed,
        out: &mut Vec<Output>,
    ) {
        if let Some(limit) = malformed.limit() {
            self.config.refusals.note(limit);
        }
        if self.broken_answer(now, malformed, out) {
            out.push(Output::Accepted { lane });
            return;
        }
        // Answering a broken answer can go round in circles, and a notification gets no answer;
        // but over HTTP it gets a status, and that can say what is wrong.
        let is_silent = match malformed.shape {
            Shape::Response => true,
            Shape::Notification => self.config.wire == Wire::Pipe,
            Shape::Request | Shape::Unclear => false,
        };
        if is_silent {
            out.push(Output::Accepted { lane });
            return;
        }
        // Of a text that was cut it may not be known whose id it is: that of an answer is one of
        // ours. Over HTTP it goes to whoever sent the text all the same.
        let is_cut = matches!(malformed.problem, Problem::NotJson(_));
        let is_unclear = malformed.shape == Shape::Unclear && self.config.wire == Wire::Pipe;
        let is_theirs = !(is_cut && is_unclear);
        let response = match &malformed.id {
            // An id in flight belongs to another call, which must not take this for its answer.
            Some(id) if is_theirs && !self.serving.contains_id(id) => {
                Response::new(id.clone(), Err(malformed.error()))
            }
            _ => Response::without_id(malformed.error()),
        };
        out.push(Output::send(lane, response));
    }

    fn handle_request(
        &mut self,
        now: Instant,
        lane: Lane,
        batch: Option<u64>,
        request: Request,
        out: &mut Vec<Output>,
    ) {
        if let Some(admitted) = self.take_request(lane, batch, &request, out) {
            let Arrival { serve, call } = self.arrive(lane, request, admitted);
            self.enter_in(now, call, batch, &serve);
            out.push(Output::Serve(serve));
        }
    }

    /// Tells what is known of a request that may be handled; any other is answered.
    fn take_request(
        &mut self,
        lane: Lane,
        batch: Option<u64>,
        request: &Request,
        out: &mut Vec<Output>,
    ) -> Option<Admitted> {
        if self.serving.len() > 0 && self.serving.contains_id(&request.id) {
            self.refuse_repeated(lane, batch, &request.id, out);
            return None;
        }
        match self.admission(batch, request, out) {
            Admission::Serve(admitted) => Some(admitted),
            Admission::Answer(outcome) => {
                self.reply(lane, batch, request.id.clone(), outcome, out);
                None
            }
            Admission::Listen(caller) => {
                self.listen(lane, request.clone(), caller, out);
                None
            }
        }
    }

    /// May this request be handled? What has to be done for it otherwise is appended.
    fn admission(
        &mut self,
        batch: Option<u64>,
        request: &Request,
        out: &mut Vec<Output>,
    ) -> Admission {
        // A ping takes no place, and one that is refused looks like a dead server.
        if self.serving.len() >= self.config.max_calls && request.method != Method::Ping {
            let busy = "too many requests are in flight";
            return Admission::Answer(Err(self.busy("callsPerConnection", busy, Some(SOON_MS))));
        }
        if batch.is_none()
            && request.method != Method::Initialize
            && let Some(admitted) = self.admit_again(request)
        {
            return self.admit_stateless(request, admitted);
        }
        let envelope = Envelope::of(request.params.as_ref());
        if self.is_stateless(request, &envelope) {
            if batch.is_some() {
                // The era has no batches; a subscription in one would hold back all its answers.
                return Admission::Answer(Err(ErrorObject::invalid_request(format!(
                    "{} of revision {} must not be part of a batch",
                    request.method,
                    Revision::LATEST
                ))));
            }
            let admitted = self.admit(request, &envelope);
            self.admit_stateless(request, admitted)
        } else {
            self.admit_handshake(batch, request, envelope.wants_progress(), out)
        }
    }

    /// A limit of this connection is reached.
    fn busy(&self, limit: &'static str, message: &str, retry_after_ms: Option<u64>) -> ErrorObject {
        self.config.refusals.note(limit);
        ErrorObject::over_limit(ErrorCode::BUSY, message, limit, retry_after_ms)
    }

    /// Which era does this request belong to? Each is served by its own form.
    fn is_stateless(&self, request: &Request, envelope: &Envelope<'_>) -> bool {
        if self.is_stateless_only {
            return true;
        }
        let has_envelope = envelope.is_stateless();
        match request.method.known() {
            // On a pipe it is a handshake whatever else it carries; over HTTP the envelope wins.
            Some(Method::Initialize) => self.config.wire == Wire::Http && has_envelope,
            Some(method) if method.implies_stateless() => true,
            _ => has_envelope || !self.config.serves(Era::Handshake),
        }
    }

    /// The id is in flight: the first call keeps it, the second is refused.
    fn refuse_repeated(
        &mut self,
        lane: Lane,
        batch: Option<u64>,
        id: &RequestId,
        out: &mut Vec<Output>,
    ) {
        let error = ErrorObject::invalid_request(format!("id {id} is in flight already"));
        if self.config.wire == Wire::Http && batch.is_none() {
            out.push(Output::send(lane, Response::new(id.clone(), Err(error))));
        } else {
            // On a shared stream an error with this id would end the first call.
            self.settle(lane, batch, Response::without_id(error), out);
        }
    }

    fn handle_notification(&mut self, told: Notification, out: &mut Vec<Output>) {
        match told.method.known() {
            Some(Method::Initialized) => self.session.initialized(),
            Some(Method::Cancelled) => self.handle_cancelled(told.params.as_ref(), out),
            _ => {
                out.push(Output::Told(told));
            }
        }
    }

    /// The client no longer wants an answer, and gets none.
    fn handle_cancelled(&mut self, params: Option<&Payload>, out: &mut Vec<Output>) {
        let id = params
            .and_then(|params| params.member("requestId"))
            .and_then(|text| serde_json::from_slice::<RequestId>(text).ok());
        // Unknown ids are no fault: cancel and answer may cross.
        let Some(key) = id.and_then(|id| self.serving.find(&id)) else {
            return;
        };
        let lane = self.serving.get(key).map(|f| (f.lane, f.batch));
        self.stop(key, out);
        // Its POST waits for nothing any more. A batch has its own last word.
        if self.config.wire == Wire::Http
            && let Some((lane, None)) = lane
        {
            out.push(Output::Accepted { lane });
        }
    }

    /// The HTTP stream of a request is gone.
    fn handle_lane_closed(&mut self, lane: Lane, out: &mut Vec<Output>) {
        let keys: Vec<ServeKey> = self
            .serving
            .iter()
            .into_iter()
            // In the handshake era a client may lose a stream and come back for it.
            .filter(|(_, _, in_flight)| in_flight.lane == lane && in_flight.era == Era::Stateless)
            .map(|(key, _, _)| key)
            .collect();
        for key in keys {
            self.stop(key, out);
        }
    }

    /// Lets go of a call without an answer.
    fn stop(&mut self, key: ServeKey, out: &mut Vec<Output>) {
        let Some((_, in_flight)) = self.serving.take(key) else {
            return;
        };
        self.withdraw_asks_of(key, out);
        if let Work::Listening(filter) = in_flight.work {
            out.push(Output::ListeningEnded {
                key,
                filter: *filter,
            });
        } else {
            out.push(Output::Stop { key });
        }
        if let Some(batch) = in_flight.batch {
            self.batches.drop_one(batch, out);
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Output>) {
        self.expire_asks(now, out);
        let Some(limit) = self.config.handler_timeout else {
            return;
        };
        let late: Vec<ServeKey> = self
            .serving
            .iter()
            .into_iter()
            .filter(|(_, _, in_flight)| in_flight.deadline.is_some_and(|d| d <= now))
            .map(|(key, _, _)| key)
            .collect();
        for key in late {
            self.config.refusals.note("handler");
            let error = ErrorObject::internal(format!("no result within {limit:?}"));
            out.push(Output::Stop { key });
            self.answered(now, key, Answer::Error(error), out);
        }
    }

    /// The client is gone: nothing more can be said.
    fn shut_down(&mut self, out: &mut Vec<Output>) {
        self.drop_questions(out);
        self.batches = Batches::default();
        for key in self.serving.keys() {
            self.stop(key, out);
        }
        self.over = true;
        out.push(Output::ShutDown);
    }

    /// We go: everything in flight gets a last word.
    fn close(&mut self, out: &mut Vec<Output>) {
        for key in self.serving.keys() {
            let is_listening = self
                .serving
                .get_mut(key)
                .is_some_and(|in_flight| matches!(in_flight.work, Work::Listening(_)));
            if is_listening {
                self.end_listening(key, out);
            } else {
                self.withdraw_asks_of(key, out);
                out.push(Output::Stop { key });
                self.finish(
                    key,
                    Err(ErrorObject::internal("the server is shutting down")),
                    out,
                );
            }
        }
        self.shut_down(out);
    }

    /// Answers a request that was never taken in.
    fn reply(
        &mut self,
        lane: Lane,
        batch: Option<u64>,
        id: RequestId,
        outcome: Result<Payload, ErrorObject>,
        out: &mut Vec<Output>,
    ) {
        self.settle(lane, batch, Response::new(id, outcome), out);
    }

    /// Sends an answer, or puts it to the others of its batch.
    fn settle(
        &mut self,
        lane: Lane,
        batch: Option<u64>,
        response: Response,
        out: &mut Vec<Output>,
    ) {
        match batch {
            Some(batch) => self.batches.add(batch, response, out),
            None => out.push(Output::send(lane, response)),
        }
    }

    fn handler_deadline(&self, now: Instant) -> Option<Instant> {
        self.config
            .handler_timeout
            .and_then(|limit: Duration| now.checked_add(limit))
    }
}

/// When there may be room for one more request: most take less.
const SOON_MS: u64 = 1_000;
