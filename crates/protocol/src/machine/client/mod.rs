//! The side that connects: opens, calls, answers what the server asks.
//!
//! `opening` finds the era, `call` follows each call to its one outcome,
//! `question` brings what the server asks to the host, in either era,
//! `listening` keeps subscriptions, `reopening` heals a session that the server has lost.
//! What differs by era is in `legacy` and `modern`; `meta_text` writes what requests carry,
//! `departure` lends a request to whoever sends it, `parked` holds calls that are not on the wire.
//!
//! Specification: basic/lifecycle, basic/versioning, basic/patterns.

mod call;
mod call_error;
mod departure;
mod input;
mod legacy;
mod listening;
mod members;
mod meta_text;
mod modern;
mod on_behalf;
mod opening;
mod parked;
mod question;
mod reopening;

use std::time::Instant;

use crate::jsonrpc::{
    ErrorObject, Frame, Malformed, Message, Notification, RequestId, Response, Shape,
};
use crate::machine::Lane;
use crate::machine::counted::Counted;
use crate::machine::pending::{Entry, Pending};
use crate::machine::table::Table;
use crate::method::Method;
use crate::payload::Payload;
use crate::revision::Era;
use crate::types::{LoggingLevel, SetLevelRequestParams};

pub use crate::machine::allowance::{Expired, Timeouts};
pub use call::{CallKey, CallRequest};
pub use call_error::CallError;
pub use departure::Departure;
pub use input::{Agreed, ClientConfig, Failure, Ignored, Input, LaneEnd, Mode, Output, Violation};
pub use on_behalf::OnBehalf;
pub use question::{Question, QuestionKey};

use call::Call;
use listening::Listener;
use members::MemberFinder;
use opening::Opening;
use parked::Parked;
use question::Questions;
use reopening::Session;

/// Where a client stands with its server.
///
/// ```text
///  Created ── opened ──▶ Ready ── peer gone or out of line ──▶ Failed
///     │ could not open ─────────────────────────────────────────▲
///     └─ close, from any state ──▶ Closed
/// ```
///
/// It stays ready while a lost HTTP session is opened anew: calls can be made, and wait.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientState {
    /// Not open yet.
    Created,
    /// Calls can be made.
    Ready(Box<Agreed>),
    /// Over, and why.
    Failed(Failure),
    /// Over, as we wished.
    Closed,
}

/// One connection to one server, seen from the client.
#[derive(Debug)]
pub struct ClientMachine {
    config: ClientConfig,
    state: ClientState,
    opening: Opening,
    pending: Pending<Owner>,
    calls: Counted<Call>,
    /// The calls that are to be sent again when their time has come.
    retries: Parked,
    listeners: Table<CallKey, Listener>,
    questions: Questions,
    session: Session,
    /// What each request of the stateless era carries, and of the handshake era.
    modern: modern::Context,
    legacy: legacy::Context,
    finder: MemberFinder,
}

/// Whose request is pending.
#[derive(Clone, Debug, PartialEq)]
enum Owner {
    /// The `server/discover` that asks for the era.
    Probe,
    /// The `initialize`.
    Greeting,
    /// A call of our user.
    Call(CallKey),
    /// One `resources/subscribe` of a listener in the handshake era.
    Subscribe(CallKey, String),
    /// The same, when its listener has left.
    Unwanted(String),
    /// A `resources/unsubscribe`.
    Unsubscribe(String),
    /// Something whose answer nobody waits for.
    Nobody,
}

impl ClientMachine {
    /// A client that has not said anything yet.
    pub fn new(config: ClientConfig) -> Self {
        Self {
            modern: modern::Context::new(&config),
            legacy: legacy::Context::new(),
            finder: MemberFinder::new(),
            state: ClientState::Created,
            opening: Opening::default(),
            pending: Pending::new(),
            calls: Counted::default(),
            retries: Parked::default(),
            listeners: Table::default(),
            questions: Questions::default(),
            session: Session::default(),
            config,
        }
    }

    /// Where it stands.
    pub const fn state(&self) -> &ClientState {
        &self.state
    }

    /// How many calls have no outcome yet.
    pub fn open_calls(&self) -> usize {
        self.calls.len() + self.listeners.len()
    }

    /// Whether a lost session is being opened anew, so that calls wait.
    pub fn is_reopening(&self) -> bool {
        self.session.is_reopening()
    }

    /// How many questions have no answer yet.
    pub fn open_questions(&self) -> usize {
        self.questions.len()
    }

    /// When [`Input::Tick`] is wanted, if nothing else comes first.
    pub fn deadline(&self) -> Option<Instant> {
        [
            self.pending.deadline(),
            self.opening.deadline(),
            self.questions.deadline(),
            self.retries.deadline(),
            self.session.deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Takes one thing that happened and appends what must happen next.
    pub fn handle(&mut self, now: Instant, input: Input, out: &mut Vec<Output>) {
        if self.is_over() {
            return self.handle_when_over(input, out);
        }
        match input {
            Input::Opened => self.open(now, out),
            Input::Received { lane, frame } => self.handle_frame(now, lane, frame, out),
            Input::LaneClosed { lane, end } => self.handle_lane_end(now, lane, end, out),
            Input::SessionLost => self.handle_session_lost(now, out),
            Input::Call(call) => self.start_call(now, call, out),
            Input::Listen { key, filter } => self.start_listening(now, key, filter, out),
            Input::SetLogLevel { key, level } => self.set_log_level(now, key, level, out),
            Input::Notify(notification) => self.notify(notification, out),
            Input::Cancel { key, reason } => self.cancel(now, key, reason, out),
            Input::Answer { question, outcome } => self.answer(now, question, outcome, out),
            Input::Tick => self.tick(now, out),
            Input::PeerClosed { reason } => self.handle_peer_closed(reason, out),
            Input::Close => self.end(ClientState::Closed, out),
        }
    }

    const fn is_over(&self) -> bool {
        matches!(self.state, ClientState::Failed(_) | ClientState::Closed)
    }

    fn handle_when_over(&mut self, input: Input, out: &mut Vec<Output>) {
        let refused = match input {
            Input::Call(call) => call.key,
            Input::Listen { key, .. } | Input::SetLogLevel { key, .. } => key,
            Input::Close if self.state != ClientState::Closed => {
                return self.end(ClientState::Closed, out);
            }
            // Whatever else arrives late has no one left to concern.
            Input::Opened
            | Input::Received { .. }
            | Input::LaneClosed { .. }
            | Input::SessionLost
            | Input::Notify(_)
            | Input::Cancel { .. }
            | Input::Answer { .. }
            | Input::Tick
            | Input::PeerClosed { .. }
            | Input::Close => return,
        };
        out.push(Output::Finished {
            key: refused,
            outcome: Err(self.not_ready()),
        });
    }

    fn not_ready(&self) -> CallError {
        match &self.state {
            ClientState::Failed(failure) => CallError::Over(failure.to_string()),
            ClientState::Closed => CallError::Closed,
            _ => CallError::NotReady,
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
            Err(malformed) => self.handle_malformed(now, &malformed, out),
        }
    }

    fn handle_batch(
        &mut self,
        now: Instant,
        lane: Lane,
        entries: Vec<Result<Message, Malformed>>,
        out: &mut Vec<Output>,
    ) {
        let allowed = match &self.state {
            ClientState::Ready(agreed) => agreed.revision.accepts_batches(),
            _ => false,
        };
        for entry in entries {
            if self.is_over() {
                // One of them was a new session refused: the rest has no one left to concern.
                return;
            }
            match entry {
                Ok(message) if allowed => self.handle_message(now, lane, message, out),
                Ok(Message::Response(Response { id: Some(id), .. })) => {
                    self.fail_by_id(now, &id, Violation::BatchNotAllowed, out);
                }
                Ok(_) => out.push(Output::Ignored(Ignored::Batch)),
                Err(malformed) => self.handle_malformed(now, &malformed, out),
            }
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
            Message::Response(response) => self.handle_response(now, response, out),
            Message::Notification(told) => self.handle_notification(now, lane, told, out),
            Message::Request(request) => self.handle_request(now, lane, request, out),
        }
    }

    fn handle_response(&mut self, now: Instant, response: Response, out: &mut Vec<Output>) {
        let given = response.id.as_ref().and_then(|id| self.pending.given(id));
        if let Some(number) = given {
            self.questions.note_answer(number);
        }
        let entry = given.and_then(|number| self.pending.remove(number));
        let Some(entry) = entry else {
            // While opening, an answer that names no request of ours can only mean the one we sent.
            if self.state == ClientState::Created && given.is_none() {
                return self.opening_answer_for_nobody(now, response, out);
            }
            out.push(Output::Ignored(Ignored::UnknownAnswer(response.id)));
            return;
        };
        self.answered(now, entry, response.outcome, out);
    }

    /// A request of ours has its answer.
    fn answered(
        &mut self,
        now: Instant,
        entry: Entry<Owner>,
        outcome: Result<Payload, ErrorObject>,
        out: &mut Vec<Output>,
    ) {
        match entry.owner {
            Owner::Probe => self.probe_answered(now, outcome, out),
            Owner::Greeting => self.greeting_answered(now, outcome, out),
            Owner::Call(key) => self.call_answered(now, key, entry.allowance, outcome, out),
            Owner::Subscribe(key, uri) => {
                self.subscribe_answered(key, uri, outcome.is_ok(), out);
            }
            Owner::Unwanted(uri) => {
                if outcome.is_ok() {
                    self.unsubscribe(now, &uri, out);
                }
            }
            Owner::Unsubscribe(uri) => self.unsubscribed(now, &uri, out),
            Owner::Nobody => {}
        }
    }

    /// Something unreadable came. If it names a call, that call is lost; nothing else is.
    fn handle_malformed(&mut self, now: Instant, malformed: &Malformed, out: &mut Vec<Output>) {
        match (&malformed.id, malformed.shape) {
            (Some(id), Shape::Response | Shape::Unclear) if self.pending.number(id).is_some() => {
                self.fail_by_id(now, id, Violation::Malformed(malformed.problem), out);
            }
            // Never answered: answering garbage can go round in circles.
            _ => out.push(Output::Ignored(Ignored::Malformed(malformed.problem))),
        }
    }

    fn fail_by_id(
        &mut self,
        now: Instant,
        id: &RequestId,
        violation: Violation,
        out: &mut Vec<Output>,
    ) {
        let Some(entry) = self.pending.take(id) else {
            out.push(Output::Ignored(Ignored::UnknownAnswer(Some(id.clone()))));
            return;
        };
        match entry.owner {
            Owner::Probe => self.probe_unreadable(now, out),
            Owner::Greeting => self.fail(Failure::Violation(violation), out),
            Owner::Call(key) => self.finish(key, Err(CallError::Violation(violation)), out),
            Owner::Subscribe(key, uri) => self.subscribe_answered(key, uri, false, out),
            Owner::Unsubscribe(uri) => self.unsubscribed(now, &uri, out),
            Owner::Unwanted(_) | Owner::Nobody => {}
        }
    }

    fn handle_notification(
        &mut self,
        now: Instant,
        lane: Lane,
        told: Notification,
        out: &mut Vec<Output>,
    ) {
        match told.method.known() {
            Some(Method::Progress) => self.handle_progress(now, told.params.as_ref(), out),
            Some(Method::Cancelled) => self.handle_cancelled(now, told.params.as_ref(), out),
            Some(Method::SubscriptionsAcknowledged) => self.handle_acknowledged(&told, out),
            _ => {
                let listener = self.listener_of(told.params.as_ref());
                let own = lane.0.cast_signed();
                let call = (lane != Lane::SHARED).then(|| self.owner_call(own));
                out.push(Output::Told {
                    listener,
                    call: call.flatten(),
                    notification: told,
                });
            }
        }
    }

    /// The server takes back a question, or ends a subscription.
    fn handle_cancelled(&mut self, now: Instant, params: Option<&Payload>, out: &mut Vec<Output>) {
        let id = params
            .and_then(|params| params.member("requestId"))
            .and_then(|text| serde_json::from_slice::<RequestId>(text).ok());
        let Some(id) = id else {
            out.push(Output::Ignored(Ignored::BadNotification(Method::Cancelled)));
            return;
        };
        if self.era() == Some(Era::Stateless) {
            self.listening_ended(&id, out);
        } else {
            self.question_cancelled(now, &id, out);
        }
    }

    fn set_log_level(
        &mut self,
        now: Instant,
        key: CallKey,
        level: LoggingLevel,
        out: &mut Vec<Output>,
    ) {
        if self.era() == Some(Era::Stateless) {
            let outcome = if self.is_in_use(key) {
                Err(CallError::KeyInUse)
            } else {
                // Each request says it for itself from now on.
                self.modern.set_log_level(level);
                Ok(Payload::empty())
            };
            out.push(Output::Finished { key, outcome });
            return;
        }
        let params = Payload::encode(&SetLevelRequestParams::new(level)).ok();
        let call = CallRequest::new(key, Method::LoggingSetLevel, params);
        self.start_call(now, call, out);
    }

    /// Tells the server something, if its revision has the message and we declared it.
    fn notify(&self, notification: Notification, out: &mut Vec<Output>) {
        let ClientState::Ready(agreed) = &self.state else {
            return;
        };
        if !self.session.stands() {
            // The next session knows nothing yet that this could change.
            return;
        }
        let capabilities = &self.config.capabilities;
        let may_send = match notification.method.known() {
            None => true,
            // Whoever opens and cancels is this machine.
            Some(Method::Initialized | Method::Cancelled) => false,
            Some(method) => {
                method.is_notification()
                    && method.exists_in(agreed.revision)
                    && method.sender(agreed.revision.era()).is_client()
                    && match method {
                        Method::RootsListChanged => capabilities.announces_root_changes(),
                        Method::TaskStatusChanged => capabilities.tasks.is_some(),
                        _ => true,
                    }
            }
        };
        if may_send {
            out.push(Output::send(Lane::SHARED, notification));
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Output>) {
        self.opening_tick(now, out);
        // First, because clocks that stood still for a question go on after it.
        self.expire_questions(now, out);
        for (id, owner, expired) in self.pending.expire(now) {
            match owner {
                Owner::Call(key) => self.time_out(now, (key, id), expired, out),
                Owner::Subscribe(key, uri) => {
                    self.stop_at_server(id, Some("timed out"), out);
                    self.subscribe_answered(key, uri, false, out);
                }
                Owner::Unwanted(_) => self.stop_at_server(id, Some("timed out"), out),
                Owner::Unsubscribe(uri) => {
                    self.stop_at_server(id, Some("timed out"), out);
                    self.unsubscribed(now, &uri, out);
                }
                // The opening has a deadline of its own.
                Owner::Probe | Owner::Greeting | Owner::Nobody => {}
            }
        }
        self.expire_waiting(now, out);
        self.send_retries(now, out);
    }

    fn handle_lane_end(&mut self, now: Instant, lane: Lane, end: LaneEnd, out: &mut Vec<Output>) {
        let id = lane.0.cast_signed();
        let Some(entry) = self.pending.remove(id) else {
            // Its answer came, or it was cancelled.
            return;
        };
        match entry.owner {
            Owner::Probe => self.probe_lane_ended(now, end, out),
            Owner::Greeting => self.greeting_lane_ended(now, end, out),
            Owner::Call(key) => {
                let error = match end {
                    LaneEnd::SessionLost => {
                        return self.call_lost_session(now, id, key, entry.allowance, out);
                    }
                    LaneEnd::Refused {
                        error: Some(error), ..
                    } => CallError::Refused(error),
                    other => CallError::Unanswered(other),
                };
                self.finish(key, Err(error), out);
            }
            _ if end == LaneEnd::SessionLost && self.has_sessions() => {
                // Subscriptions are said again in the next one, all of them.
                self.request_lost_session(now, id, out);
            }
            Owner::Subscribe(key, uri) => self.subscribe_answered(key, uri, false, out),
            Owner::Unsubscribe(uri) => self.unsubscribed(now, &uri, out),
            Owner::Unwanted(_) | Owner::Nobody => {}
        }
    }

    fn handle_peer_closed(&mut self, reason: String, out: &mut Vec<Output>) {
        if self.state == ClientState::Created && self.opening.may_restart(&self.config) {
            // Some servers exit at the first message that they do not know.
            self.pending.drain();
            self.withdraw_questions(out);
            self.opening = self.opening.restarting();
            out.push(Output::Restart);
            return;
        }
        self.fail(Failure::PeerClosed(reason), out);
    }

    fn fail(&mut self, failure: Failure, out: &mut Vec<Output>) {
        self.end(ClientState::Failed(failure), out);
    }

    /// Every call gets its outcome, every question is taken back, the connection goes.
    fn end(&mut self, state: ClientState, out: &mut Vec<Output>) {
        self.state = state;
        self.pending.drain();
        self.opening = Opening::default();
        self.withdraw_questions(out);
        self.session = Session::default();
        self.retries = Parked::default();
        let over = self.not_ready();
        let lost = match &over {
            CallError::Over(reason) => CallError::Lost(reason.clone()),
            other => other.clone(),
        };
        let mut ends: Vec<(CallKey, CallError)> = Vec::with_capacity(self.open_calls());
        for (key, call) in self.calls.drain() {
            let key = CallKey(key);
            // The server has nothing of a call that waits.
            let waits = matches!(call.stage, call::Stage::Waiting(_));
            let error = if waits { &over } else { &lost };
            ends.push((key, error.clone()));
        }
        ends.extend(self.listeners.drain().map(|(key, _)| (key, lost.clone())));
        ends.sort_unstable_by_key(|(key, _)| *key);
        for (key, error) in ends {
            let outcome = Err(error);
            out.push(Output::Finished { key, outcome });
        }
        out.push(match &self.state {
            ClientState::Failed(failure) => Output::Failed(failure.clone()),
            _ => Output::Closed,
        });
    }

    fn withdraw_questions(&mut self, out: &mut Vec<Output>) {
        for key in self.questions.drain() {
            out.push(Output::Withdrawn(key));
        }
    }

    fn era(&self) -> Option<Era> {
        match &self.state {
            ClientState::Ready(agreed) => Some(agreed.revision.era()),
            _ => None,
        }
    }
}
