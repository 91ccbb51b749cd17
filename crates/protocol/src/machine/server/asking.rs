//! Questions of ours to the client of the handshake era: requests that it answers.
//!
//! Most belong to a call that is being served and go when it goes; some, such as the
//! roots at the start, belong to none. What a handler asks by its result is in `gathering`.
//!
//! Specification: 2025-11-25 client/*, basic/utilities/{ping,tasks}.

use std::fmt;
use std::time::Instant;

use crate::jsonrpc::{ErrorObject, Malformed, Problem, Request, RequestId, Response, Shape};
use crate::machine::Lane;
use crate::machine::allowance::{Allowance, Timeouts};
use crate::machine::declared;
use crate::machine::pending::cancellation;
use crate::machine::server::input::{Caller, Output};
use crate::machine::server::{ServeKey, ServerMachine, ServerState, Work};
use crate::method::{Method, Sender};
use crate::payload::Payload;
use crate::revision::{Era, NotRepresentable, Revision, StepDownError, step_down_params};

/// What whoever asks knows a question by. He picks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskKey(pub u64);

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AskError {
    /// The client refused.
    Refused(ErrorObject),
    /// The client did not declare that it can be asked this.
    NotDeclared(Method),
    /// In this era a handler answers with [`Answer::InputRequired`](super::Answer::InputRequired).
    NotInThisEra,
    /// The client's revision has no form for the question.
    NotRepresentable(NotRepresentable),
    /// The client's answer is not one.
    Malformed(Problem),
    /// The client did not answer in time.
    TimedOut,
    /// Nothing was sent: the client has not said that it is ready.
    NotReady,
    /// The connection is closed.
    Closed,
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "the client refused: {error}"),
            Self::NotDeclared(method) => write!(f, "the client did not declare {method}"),
            Self::NotInThisEra => f.write_str("questions are part of the result in this era"),
            Self::NotRepresentable(what) => write!(f, "the client is too old to be asked: {what}"),
            Self::Malformed(problem) => write!(f, "the client's answer is not one: {problem}"),
            Self::TimedOut => f.write_str("the client did not answer in time"),
            Self::NotReady => f.write_str("the client has not said that it is ready"),
            Self::Closed => f.write_str("the connection is closed"),
        }
    }
}

impl std::error::Error for AskError {}

/// A request of ours that the client has not answered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    lane: Lane,
    by: AskedBy,
}

#[derive(Clone, Debug, PartialEq)]
enum AskedBy {
    /// The server itself, for no call.
    Server(AskKey),
    /// The handler of a call, which waits.
    Handler(ServeKey, AskKey),
    /// A handler that has ended and will be started again with the answers: the name there.
    Result(ServeKey, Box<[u8]>),
}

impl Asked {
    /// A question that stands in the result of a call.
    pub(super) const fn from_result(lane: Lane, key: ServeKey, name: Box<[u8]>) -> Self {
        Self {
            lane,
            by: AskedBy::Result(key, name),
        }
    }

    /// The call that it belongs to.
    const fn call(&self) -> Option<ServeKey> {
        match self.by {
            AskedBy::Server(_) => None,
            AskedBy::Handler(key, _) | AskedBy::Result(key, _) => Some(key),
        }
    }
}

impl ServerMachine {
    /// A handler, or the server itself, asks the client.
    pub(super) fn ask(
        &mut self,
        now: Instant,
        key: Option<ServeKey>,
        ask: AskKey,
        method: Method,
        params: Option<Payload>,
        out: &mut Vec<Output>,
    ) {
        let (lane, by, params) = match key {
            Some(key) => {
                let Some(in_flight) = self.serving.get(key) else {
                    // Cancelled meanwhile.
                    return;
                };
                if !matches!(in_flight.work, Work::Handler) {
                    // Its handler has ended: it asked for input and was dropped.
                    return;
                }
                let params = check_ask(&in_flight.caller, method, params);
                (in_flight.lane, AskedBy::Handler(key, ask), params)
            }
            None => {
                let caller = self
                    .session
                    .caller()
                    .filter(|_| self.state() == ServerState::Operating);
                let params = match caller {
                    Some(caller) => check_ask(caller, method, params),
                    None => Err(AskError::NotReady),
                };
                (Lane::SHARED, AskedBy::Server(ask), params)
            }
        };
        match params {
            Ok(params) => self.send_question(now, Asked { lane, by }, method, params, out),
            Err(error) => out.push(Output::Reply {
                key,
                ask,
                outcome: Err(error),
            }),
        }
    }

    pub(super) fn send_question(
        &mut self,
        now: Instant,
        asked: Asked,
        method: Method,
        params: Option<Payload>,
        out: &mut Vec<Output>,
    ) {
        // People are slow, and that is not the handler's fault.
        let call = asked.call();
        if let Some(in_flight) = call.and_then(|key| self.serving.get_mut(key)) {
            in_flight.deadline = None;
        }
        let lane = asked.lane;
        let limits = Timeouts::new(None, Some(self.config.ask_timeout));
        let id = self.asked.insert(Allowance::new(now, limits), asked);
        out.push(Output::send(
            lane,
            Request::new(RequestId::from(id), method, params),
        ));
    }

    /// The client answered something.
    pub(super) fn handle_response(
        &mut self,
        now: Instant,
        response: Response,
        out: &mut Vec<Output>,
    ) {
        let Some(entry) = response.id.as_ref().and_then(|id| self.asked.take(id)) else {
            // Late, twice, or never asked.
            return;
        };
        let outcome = response.outcome.map_err(AskError::Refused);
        self.question_settled(now, entry.owner, outcome, out);
    }

    /// Something came that names a question of ours but is no answer: true if it did.
    ///
    /// Only what cannot be a request counts, because the client has ids of its own.
    pub(super) fn broken_answer(
        &mut self,
        now: Instant,
        malformed: &Malformed,
        out: &mut Vec<Output>,
    ) -> bool {
        let is_answer = malformed.shape == Shape::Response
            || malformed.problem == Problem::NeitherResultNorError;
        let id = malformed.id.as_ref().filter(|_| is_answer);
        let Some(entry) = id.and_then(|id| self.asked.take(id)) else {
            return false;
        };
        let outcome = Err(AskError::Malformed(malformed.problem));
        self.question_settled(now, entry.owner, outcome, out);
        true
    }

    /// Lets go of the questions that the client did not answer in time.
    pub(super) fn expire_asks(&mut self, now: Instant, out: &mut Vec<Output>) {
        let expired = self.asked.expire(now);
        // All are taken back before any is settled: over HTTP the answer of a call ends its stream.
        for (id, asked, _) in &expired {
            let taken_back = cancellation(*id, Some("no answer in time"));
            out.push(Output::send(asked.lane, taken_back));
        }
        for (_, asked, _) in expired {
            self.config.refusals.note("answer");
            self.question_settled(now, asked, Err(AskError::TimedOut), out);
        }
    }

    fn question_settled(
        &mut self,
        now: Instant,
        asked: Asked,
        outcome: Result<Payload, AskError>,
        out: &mut Vec<Output>,
    ) {
        match asked.by {
            AskedBy::Server(ask) => out.push(Output::Reply {
                key: None,
                ask,
                outcome,
            }),
            AskedBy::Handler(key, ask) => {
                self.restart_handler_clock(now, key);
                out.push(Output::Reply {
                    key: Some(key),
                    ask,
                    outcome,
                });
            }
            AskedBy::Result(key, name) => match outcome {
                Ok(answer) => self.answer_gathered(now, key, name, answer, out),
                Err(error) => {
                    self.finish(key, Err(ErrorObject::internal(error.to_string())), out);
                }
            },
        }
    }

    /// The last question of a call is settled: from here on it is the handler that takes time.
    fn restart_handler_clock(&mut self, now: Instant, key: ServeKey) {
        let deadline = self.handler_deadline(now);
        let ids = self.asked.ids();
        let mut open = ids.iter().filter_map(|id| self.asked.get(*id));
        if open.any(|entry| entry.owner.call() == Some(key)) {
            return;
        }
        if let Some(in_flight) = self.serving.get_mut(key) {
            in_flight.deadline = deadline;
        }
    }

    /// The call is over: what it still asks is taken back.
    pub(super) fn withdraw_asks_of(&mut self, key: ServeKey, out: &mut Vec<Output>) {
        if self.asked.len() == 0 {
            return;
        }
        for id in self.asked.ids() {
            let lane = match self.asked.get(id) {
                Some(entry) if entry.owner.call() == Some(key) => entry.owner.lane,
                _ => continue,
            };
            self.asked.remove(id);
            let taken_back = cancellation(id, Some("the call is over"));
            out.push(Output::send(lane, taken_back));
        }
    }

    /// The connection is over: who asked for no call hears that no answer will come.
    ///
    /// A handler hears it by the end of its call.
    pub(super) fn drop_questions(&mut self, out: &mut Vec<Output>) {
        for (_, asked) in self.asked.drain() {
            if let AskedBy::Server(ask) = asked.by {
                out.push(Output::Reply {
                    key: None,
                    ask,
                    outcome: Err(AskError::Closed),
                });
            }
        }
    }
}

/// What to ask a client with, if it may be asked: its revision has a form for it.
fn check_ask(
    caller: &Caller,
    method: Method,
    params: Option<Payload>,
) -> Result<Option<Payload>, AskError> {
    if caller.revision.era() == Era::Stateless {
        return Err(AskError::NotInThisEra);
    }
    if !may_ask(caller, method, params.as_ref()) {
        return Err(AskError::NotDeclared(method));
    }
    params
        .map(|params| in_words_of(caller.revision, method, params))
        .transpose()
}

/// The parameters of a question in the form of the client's revision.
pub(super) fn in_words_of(
    revision: Revision,
    method: Method,
    params: Payload,
) -> Result<Payload, AskError> {
    match step_down_params(method, &params, revision) {
        Ok(params) => Ok(params),
        Err(StepDownError::NotRepresentable(what)) => Err(AskError::NotRepresentable(what)),
        // Not ours to judge: whoever asks wrote it, and the client will say so.
        Err(StepDownError::Malformed(_)) => Ok(params),
    }
}

/// May this client be asked this, at its revision and with what it declared?
pub(super) fn may_ask(caller: &Caller, method: Method, params: Option<&Payload>) -> bool {
    let sender = method.sender(caller.revision.era());
    method.exists_in(caller.revision)
        && !method.is_notification()
        && (sender.is_server() || sender == Sender::InsideResult)
        && declared::check_client(&caller.capabilities, method, params).is_ok()
}
