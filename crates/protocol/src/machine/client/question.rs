//! What the server asks of the host, in either era, as one kind of thing.
//!
//! In the handshake era a question is a request of the server, in the stateless
//! era an entry of `inputRequests`. The host cannot tell, and need not.
//! While a question is open, the clocks of the calls that it may belong to stand still.
//!
//! Specification: client/{roots,sampling,elicitation}; 2026-07-28 basic/patterns/mrtr.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::jsonrpc::{ErrorCode, ErrorObject, MethodName, Request, RequestId, Response};
use crate::machine::Lane;
use crate::machine::client::call::CallKey;
use crate::machine::client::call_error::CallError;
use crate::machine::client::input::{Ignored, Output};
use crate::machine::client::legacy::check_request;
use crate::machine::client::{ClientMachine, ClientState, Owner};
use crate::machine::rounds::WantedQuestion;
use crate::machine::table::Table;
use crate::method::Method;
use crate::payload::Payload;
use crate::revision::Era;
use crate::types::{ElicitAction, ElicitResult};

/// What a question is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuestionKey(pub u64);

/// Something that the server asks of the host.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// What it is known by.
    pub key: QuestionKey,
    /// The call that it belongs to, if that can be told. On a pipe it cannot if there are several,
    /// or one was given up lately: the server may not have heard of that when it asked.
    pub call: Option<CallKey>,
    /// A call was given up, and the server has answered nothing since that was sent later: it may
    /// not have heard of it, and ask about that call.
    pub is_unheard: bool,
    /// What is asked: elicitation, sampling, roots, or how a task stands that the host runs.
    pub method: MethodName,
    /// With what.
    pub params: Payload,
}

/// The questions that are open.
#[derive(Debug)]
pub(super) struct Questions {
    last: u64,
    /// The oldest first: the host has as long for each, so they are due in this order too.
    open: BTreeMap<QuestionKey, Open>,
    /// Those that are requests of the server.
    by_request: Table<RequestId, QuestionKey>,
    /// For how many of them the clocks of a request stand still.
    stopping: Table<i64, usize>,
    /// Those that came on each lane.
    on_lane: Table<u64, Together>,
    /// When a call was given up last.
    given_up: Option<Instant>,
    /// Once the server answers this request or a later one, it has heard of that. The highest
    /// there is if it has.
    unheard_from: i64,
}

impl Default for Questions {
    fn default() -> Self {
        Self {
            last: 0,
            open: BTreeMap::new(),
            by_request: Table::default(),
            stopping: Table::default(),
            on_lane: Table::default(),
            given_up: None,
            unheard_from: i64::MAX,
        }
    }
}

/// Several questions.
#[derive(Clone, Copy, Debug, Default)]
struct Together {
    count: usize,
    bytes: usize,
}

#[derive(Debug)]
struct Open {
    origin: Origin,
    /// How large what is asked is.
    bytes: usize,
    method: MethodName,
    /// None if the host may take as long as it likes.
    deadline: Option<Instant>,
}

/// Where the answer goes.
#[derive(Debug)]
enum Origin {
    /// Back to the server, as the answer to its request. The clocks of these requests stand still.
    Request {
        id: RequestId,
        lane: Lane,
        stopped: Vec<i64>,
    },
    /// Into the next round of a call, under this name.
    Result { call: CallKey, name: Box<[u8]> },
}

impl Questions {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let (_, oldest) = self.open.first_key_value()?;
        oldest.deadline
    }

    /// A call was given up. The server may ask about it before it hears of that.
    pub(super) const fn give_up(&mut self, now: Instant, next_id: i64) {
        self.given_up = Some(now);
        self.unheard_from = next_id;
    }

    /// The server has answered this request, so it has heard all that was said before.
    #[inline]
    pub(super) const fn note_answer(&mut self, id: i64) {
        if id >= self.unheard_from {
            self.unheard_from = i64::MAX;
        }
    }

    /// Was a call given up no longer ago than this?
    fn has_given_up(&self, now: Instant, time: Duration) -> bool {
        let given_up = self.given_up;
        given_up.is_some_and(|when| now.saturating_duration_since(when) < time)
    }

    /// May the server not have heard that a call was given up? That nothing is waited for any more
    /// which was sent later says nothing: it may have been given up as well.
    fn is_unheard(&self, now: Instant) -> bool {
        self.unheard_from != i64::MAX && self.has_given_up(now, DEAF_FOR)
    }

    fn insert(&mut self, open: Open) -> QuestionKey {
        self.last += 1;
        let key = QuestionKey(self.last);
        if let Origin::Request { id, lane, stopped } = &open.origin {
            self.by_request.insert(id.clone(), key);
            let here = self.on_lane.entry(lane.0).or_default();
            here.count += 1;
            here.bytes += open.bytes;
            for id in stopped {
                *self.stopping.entry(*id).or_default() += 1;
            }
        }
        self.open.insert(key, open);
        key
    }

    fn remove(&mut self, key: QuestionKey) -> Option<Open> {
        let open = self.open.remove(&key)?;
        if let Origin::Request { id, lane, stopped } = &open.origin {
            self.by_request.remove(id);
            if let Some(here) = self.on_lane.get_mut(&lane.0) {
                here.count -= 1;
                here.bytes -= open.bytes;
                if here.count == 0 {
                    self.on_lane.remove(&lane.0);
                }
            }
            for id in stopped {
                if let Some(count) = self.stopping.get_mut(id) {
                    *count -= 1;
                    if *count == 0 {
                        self.stopping.remove(id);
                    }
                }
            }
        }
        Some(open)
    }

    /// Lets go of the questions of a call.
    pub(super) fn withdraw_of(&mut self, call: CallKey) -> Vec<QuestionKey> {
        let is_its =
            |open: &Open| matches!(&open.origin, Origin::Result { call: of, .. } if *of == call);
        let its = self.open.iter().filter(|(_, open)| is_its(open));
        let its: Vec<QuestionKey> = its.map(|(key, _)| *key).collect();
        for key in &its {
            self.remove(*key);
        }
        its
    }

    /// Lets go of all.
    pub(super) fn drain(&mut self) -> Vec<QuestionKey> {
        self.by_request.clear();
        self.stopping.clear();
        self.on_lane.clear();
        let all = std::mem::take(&mut self.open);
        all.into_keys().collect()
    }
}

impl ClientMachine {
    /// The server sent a request.
    pub(super) fn handle_request(
        &mut self,
        now: Instant,
        lane: Lane,
        request: Request,
        out: &mut Vec<Output>,
    ) {
        let revision = match &self.state {
            ClientState::Ready(agreed) => Some(agreed.revision),
            _ => None,
        };
        if revision.is_some_and(|revision| revision.era() == Era::Stateless) {
            // Servers send none here, and clients never answer.
            out.push(Output::Ignored(Ignored::ServerRequest));
            return;
        }
        if self.session.has_lost_lane(lane) {
            out.push(Output::Ignored(Ignored::LostSession(request.id)));
            return;
        }
        let repeated = self.questions.by_request.contains_key(&request.id);
        if repeated {
            // An error with this id would settle the first question, one without is no answer.
            out.push(Output::Ignored(Ignored::RepeatedRequest(request.id)));
            return;
        }
        if request.method == Method::Ping {
            out.push(reply(request.id, Ok(Payload::empty())));
            return;
        }
        let refusal = if let Err(error) = check_request(&request, revision, &self.config) {
            Some(error)
        } else if !self.has_place_for_question(lane, size_of(request.params.as_ref())) {
            let busy = "too many questions are open";
            Some(ErrorObject::over_limit(
                ErrorCode::BUSY,
                busy,
                "questions",
                None,
            ))
        } else {
            None
        };
        if let Some(error) = refusal {
            out.push(reply(request.id, Err(error)));
            return;
        }
        if lane != Lane::SHARED && self.pending.get(lane.0.cast_signed()).is_none() {
            // Nobody is asked about a call that is over, least of all in the place of its caller.
            let over = "the request that this belongs to is over";
            out.push(reply(request.id, Err(ErrorObject::invalid_request(over))));
            return;
        }
        let stopped = self.calls_behind(lane);
        for id in &stopped {
            self.pending.adjust(*id, |allowance| allowance.stop(now));
        }
        let is_shared = lane == Lane::SHARED;
        let is_unheard = is_shared && self.questions.is_unheard(now);
        let is_fresh = is_shared && self.questions.has_given_up(now, HEARD_BY_THEN);
        let call = match stopped.as_slice() {
            [only] if !is_unheard && !is_fresh => self.owner_call(*only),
            _ => None,
        };
        let params = request.params.unwrap_or_else(Payload::empty);
        self.ask(
            now,
            Origin::Request {
                id: request.id,
                lane,
                stopped,
            },
            (call, is_unheard),
            request.method,
            params,
            out,
        );
    }

    /// May there be one more of this size on this lane? What is asked about one call takes no place
    /// from another, however long its user thinks; on a pipe, where nothing tells which call it is,
    /// each call brings a place with it. Those of calls that have ended count with all the others.
    fn has_place_for_question(&self, lane: Lane, bytes: usize) -> bool {
        let most = self.config.max_questions;
        let calls = self.calls.len();
        let beside = if lane == Lane::SHARED { calls } else { 0 };
        let here = self.questions.on_lane.get(&lane.0).copied();
        let here = here.unwrap_or_default();
        here.count < most.saturating_add(beside)
            && (here.count == 0 || here.bytes + bytes <= self.config.max_question_bytes)
            && self.questions.len() < most.saturating_mul(calls.saturating_add(1))
    }

    /// The requests that a question on this lane may belong to.
    ///
    /// Over HTTP the lane tells. On a pipe nothing does: it may be any call that is in flight, or
    /// was until lately.
    fn calls_behind(&self, lane: Lane) -> Vec<i64> {
        let own = lane.0.cast_signed();
        if lane != Lane::SHARED {
            return self.owner_call(own).map(|_| own).into_iter().collect();
        }
        let mut ids = self.pending.ids();
        ids.retain(|id| self.owner_call(*id).is_some());
        ids
    }

    pub(super) fn owner_call(&self, id: i64) -> Option<CallKey> {
        match self.pending.get(id)?.owner {
            Owner::Call(key) => Some(key),
            _ => None,
        }
    }

    /// A call's result holds questions.
    pub(super) fn ask_from_result(
        &mut self,
        now: Instant,
        call: CallKey,
        questions: Vec<WantedQuestion>,
        out: &mut Vec<Output>,
    ) {
        for question in questions {
            self.ask(
                now,
                Origin::Result {
                    call,
                    name: question.name,
                },
                (Some(call), false),
                question.method.into(),
                question.params,
                out,
            );
        }
    }

    fn ask(
        &mut self,
        now: Instant,
        origin: Origin,
        (call, is_unheard): (Option<CallKey>, bool),
        method: MethodName,
        params: Payload,
        out: &mut Vec<Output>,
    ) {
        let key = self.questions.insert(Open {
            origin,
            bytes: size_of(Some(&params)),
            method: method.clone(),
            deadline: now.checked_add(self.config.question_timeout),
        });
        out.push(Output::Asked(Question {
            key,
            call,
            is_unheard,
            method,
            params,
        }));
    }

    /// The host has answered.
    pub(super) fn answer(
        &mut self,
        now: Instant,
        key: QuestionKey,
        outcome: Result<Payload, ErrorObject>,
        out: &mut Vec<Output>,
    ) {
        let Some(open) = self.questions.remove(key) else {
            // The question was withdrawn meanwhile.
            return;
        };
        match open.origin {
            Origin::Request { id, stopped, .. } => {
                self.let_go_on(now, &stopped);
                out.push(reply(id, outcome));
            }
            Origin::Result { call, name } => match outcome {
                Ok(answer) => self.input_given(now, call, name, answer, out),
                // There is no form for a refusal here: the call is simply not continued.
                Err(error) => self.finish(call, Err(CallError::NotAnswered(error)), out),
            },
        }
    }

    /// The server no longer wants an answer, and gets none.
    pub(super) fn question_cancelled(
        &mut self,
        now: Instant,
        id: &RequestId,
        out: &mut Vec<Output>,
    ) {
        let Some(key) = self.questions.by_request.get(id).copied() else {
            return;
        };
        if let Some(open) = self.questions.remove(key) {
            if let Origin::Request { stopped, .. } = open.origin {
                self.let_go_on(now, &stopped);
            }
            out.push(Output::Withdrawn(key));
        }
    }

    /// Answers in the host's place what it left unanswered for too long.
    pub(super) fn expire_questions(&mut self, now: Instant, out: &mut Vec<Output>) {
        while let Some((key, open)) = self.questions.open.first_key_value()
            && open.deadline.is_some_and(|deadline| deadline <= now)
        {
            let (key, is_elicitation) = (*key, open.method == Method::ElicitationCreate);
            out.push(Output::Withdrawn(key));
            let outcome = if is_elicitation {
                Payload::encode(&ElicitResult::new(ElicitAction::Cancel))
                    .map_err(|_| ErrorObject::internal("no answer"))
            } else {
                Err(ErrorObject::new(
                    ErrorCode::USER_REJECTED,
                    "nobody answered in time",
                ))
            };
            self.answer(now, key, outcome, out);
        }
    }

    fn let_go_on(&mut self, now: Instant, stopped: &[i64]) {
        for id in stopped {
            if !self.questions.stopping.contains_key(id) {
                self.pending.adjust(*id, |allowance| {
                    allowance.go_on(now);
                    allowance.restart_idle(now);
                });
            }
        }
    }
}

fn size_of(params: Option<&Payload>) -> usize {
    params.map_or(0, |params| params.length())
}

fn reply(id: RequestId, outcome: Result<Payload, ErrorObject>) -> Output {
    Output::send(Lane::SHARED, Response::new(id, outcome))
}

/// Servers that have heard that a call was given up may still ask about it for so long.
const HEARD_BY_THEN: Duration = Duration::from_secs(60);
/// A server that answers nothing for longer than this after a call was given up is taken to have
/// heard of it.
const DEAF_FOR: Duration = Duration::from_secs(600);
