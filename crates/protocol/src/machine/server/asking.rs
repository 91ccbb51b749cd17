//! Questions of a handler to its client.
//!
//! In the handshake era they are requests of ours. In the stateless era they
//! are part of the result (`input_required`) and the client comes back. A handler that
//! answers with what it needs works in both: here the difference is made up for.
//!
//! Specification: client/*; 2026-07-28 basic/patterns/mrtr.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;

use serde_json::json;

use crate::envelope::{MemberText, with_members};
use crate::jsonrpc::{
    ErrorCode, ErrorObject, Malformed, Notification, Problem, Request, RequestId, Response, Shape,
};
use crate::machine::Lane;
use crate::machine::allowance::{Allowance, Timeouts};
use crate::machine::server::input::{Output, Serve};
use crate::machine::server::{ServeKey, ServerMachine, Work, modern};
use crate::method::{Method, Need};
use crate::payload::{Members, Payload};
use crate::revision::{Era, Revision};
use crate::scan::{names, unescape};
use crate::types::ClientCapabilities;

/// What a handler knows a question by. It picks it.
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
    /// The client's answer is not one.
    Malformed(Problem),
    /// The client did not answer in time.
    TimedOut,
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "the client refused: {error}"),
            Self::NotDeclared(method) => write!(f, "the client did not declare {method}"),
            Self::NotInThisEra => f.write_str("questions are part of the result in this era"),
            Self::Malformed(problem) => write!(f, "the client's answer is not one: {problem}"),
            Self::TimedOut => f.write_str("the client did not answer in time"),
        }
    }
}

impl std::error::Error for AskError {}

/// A request of ours that the client has not answered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    key: ServeKey,
    lane: Lane,
    by: AskedBy,
}

#[derive(Clone, Debug, PartialEq)]
enum AskedBy {
    /// A handler that waits.
    Handler(AskKey),
    /// A handler that has ended and will be started again with the answers: the name there.
    Result(Box<[u8]>),
}

/// The answers to an `input_required` in the handshake era, until all are there.
#[derive(Debug)]
pub(super) struct Gathering {
    open: usize,
    answers: BTreeMap<Box<[u8]>, Payload>,
    state: Option<Payload>,
}

impl ServerMachine {
    /// A handler asks its client.
    pub(super) fn ask(
        &mut self,
        now: Instant,
        key: ServeKey,
        ask: AskKey,
        method: Method,
        params: Option<Payload>,
        out: &mut Vec<Output>,
    ) {
        let Some(in_flight) = self.serving.get(key) else {
            return;
        };
        if !matches!(in_flight.work, Work::Handler) {
            // Its handler has ended: it asked for input and was dropped.
            return;
        }
        let refusal = if in_flight.era == Era::Stateless {
            Some(AskError::NotInThisEra)
        } else if !may_ask(
            &in_flight.caller.capabilities,
            in_flight.caller.revision,
            method,
            params.as_ref(),
        ) {
            Some(AskError::NotDeclared(method))
        } else {
            None
        };
        if let Some(error) = refusal {
            out.push(Output::Reply {
                key,
                ask,
                outcome: Err(error),
            });
            return;
        }
        let lane = in_flight.lane;
        self.send_question(now, lane, key, AskedBy::Handler(ask), method, params, out);
    }

    #[expect(clippy::too_many_arguments, reason = "one question, all its parts")]
    fn send_question(
        &mut self,
        now: Instant,
        lane: Lane,
        key: ServeKey,
        by: AskedBy,
        method: Method,
        params: Option<Payload>,
        out: &mut Vec<Output>,
    ) {
        // People are slow, and that is not the handler's fault.
        if let Some(in_flight) = self.serving.get_mut(key) {
            in_flight.deadline = None;
        }
        let limits = Timeouts::new(None, Some(self.config.ask_timeout));
        let id = self
            .asked
            .insert(Allowance::new(now, limits), Asked { key, lane, by });
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
            out.push(cancelled(asked.lane, *id, "no answer in time"));
        }
        for (_, asked, _) in expired {
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
            AskedBy::Handler(ask) => {
                self.restart_handler_clock(now, asked.key);
                out.push(Output::Reply {
                    key: asked.key,
                    ask,
                    outcome,
                });
            }
            AskedBy::Result(name) => match outcome {
                Ok(answer) => self.answer_gathered(now, asked.key, name, answer, out),
                Err(error) => {
                    self.finish(
                        asked.key,
                        Err(ErrorObject::internal(error.to_string())),
                        out,
                    );
                }
            },
        }
    }

    /// The last question of a call is settled: from here on it is the handler that takes time.
    fn restart_handler_clock(&mut self, now: Instant, key: ServeKey) {
        let deadline = self.handler_deadline(now);
        let ids = self.asked.ids();
        let mut open = ids.iter().filter_map(|id| self.asked.get(*id));
        if open.any(|entry| entry.owner.key == key) {
            return;
        }
        if let Some(in_flight) = self.serving.get_mut(key) {
            in_flight.deadline = deadline;
        }
    }

    /// A handler needs input before it can go on.
    pub(super) fn input_required(
        &mut self,
        now: Instant,
        key: ServeKey,
        result: &Payload,
        out: &mut Vec<Output>,
    ) {
        let Some(in_flight) = self.serving.get(key) else {
            return;
        };
        let wanted = match read_wanted(result, in_flight.method) {
            Ok(wanted) => wanted,
            Err(message) => {
                // Our own handler broke the rules; the client must not see that as input wanted.
                return self.finish(key, Err(ErrorObject::internal(message)), out);
            }
        };
        let caller = &in_flight.caller;
        let mut missing = ClientCapabilities::default();
        for question in &wanted.questions {
            let params = Some(&question.params);
            if !may_ask(
                &caller.capabilities,
                caller.revision,
                question.method,
                params,
            ) {
                add_required(&mut missing, question.method, params);
            }
        }
        if missing != ClientCapabilities::default() {
            let error = match in_flight.era {
                Era::Stateless => ErrorObject::missing_capabilities(missing),
                Era::Handshake => ErrorObject::new(
                    ErrorCode::INTERNAL_ERROR,
                    "the client did not declare what this call must ask of it",
                )
                .with_data(&json!({ "requiredCapabilities": missing })),
            };
            return self.finish(key, Err(error), out);
        }
        let lane = in_flight.lane;
        match in_flight.era {
            Era::Stateless => {
                let mut front = MemberText::default();
                front.push("resultType", b"\"input_required\"");
                let result = with_members(Some(result), &front, &MemberText::default());
                let kind = Some("input_required");
                let result = modern::complete(&result, kind, None, &self.config);
                self.finish(key, Ok(result), out);
            }
            Era::Handshake => self.gather(now, lane, key, wanted, out),
        }
    }

    /// Asks a client of the handshake era what a client of the other would find in the result.
    fn gather(
        &mut self,
        now: Instant,
        lane: Lane,
        key: ServeKey,
        wanted: Wanted,
        out: &mut Vec<Output>,
    ) {
        // Nobody waits any more for what the handler asked before it ended.
        self.withdraw_asks_of(key, out);
        let Some(in_flight) = self.serving.get_mut(key) else {
            return;
        };
        in_flight.work = Work::Client(Gathering {
            open: wanted.questions.len(),
            answers: BTreeMap::new(),
            state: wanted.state,
        });
        if wanted.questions.is_empty() {
            return self.serve_again(now, key, out);
        }
        for question in wanted.questions {
            let by = AskedBy::Result(question.name);
            let params = Some(question.params);
            self.send_question(now, lane, key, by, question.method, params, out);
        }
    }

    fn answer_gathered(
        &mut self,
        now: Instant,
        key: ServeKey,
        name: Box<[u8]>,
        answer: Payload,
        out: &mut Vec<Output>,
    ) {
        let Some(Work::Client(gathering)) = self
            .serving
            .get_mut(key)
            .map(|in_flight| &mut in_flight.work)
        else {
            return;
        };
        gathering.answers.insert(name, answer);
        gathering.open = gathering.open.saturating_sub(1);
        if gathering.open == 0 {
            self.serve_again(now, key, out);
        }
    }

    /// All answers are there: the handler starts again, with them in its parameters.
    fn serve_again(&mut self, now: Instant, key: ServeKey, out: &mut Vec<Output>) {
        let deadline = self.handler_deadline(now);
        let Some(in_flight) = self.serving.get_mut(key) else {
            return;
        };
        let Work::Client(gathering) = std::mem::replace(&mut in_flight.work, Work::Handler) else {
            return;
        };
        in_flight.deadline = deadline;
        // What the client itself put there is not what it was asked for.
        let mut front = MemberText::default();
        front.omit("inputResponses");
        front.omit("requestState");
        if !gathering.answers.is_empty() {
            let mut text = vec![b'{'];
            for (name, answer) in &gathering.answers {
                if text.len() > 1 {
                    text.push(b',');
                }
                text.push(b'"');
                text.extend_from_slice(name);
                text.extend_from_slice(b"\":");
                text.extend_from_slice(answer.text());
            }
            text.push(b'}');
            front.push("inputResponses", &text);
        }
        if let Some(state) = &gathering.state {
            front.push("requestState", state.text());
        }
        let params = with_members(in_flight.params.as_ref(), &front, &MemberText::default());
        let method = in_flight.method.unwrap_or(Method::ToolsCall);
        out.push(Output::Serve(Serve {
            key,
            method: method.into(),
            params: Some(params),
            caller: std::sync::Arc::clone(&in_flight.caller),
            log_level: in_flight.log_level,
            wants_progress: in_flight.progress_token.is_some(),
        }));
    }

    /// The call is over: what it still asks is taken back.
    pub(super) fn withdraw_asks_of(&mut self, key: ServeKey, out: &mut Vec<Output>) {
        if self.asked.len() == 0 {
            return;
        }
        for id in self.asked.ids() {
            let lane = match self.asked.get(id) {
                Some(entry) if entry.owner.key == key => entry.owner.lane,
                _ => continue,
            };
            self.asked.remove(id);
            out.push(cancelled(lane, id, "the call is over"));
        }
    }
}

struct Wanted {
    questions: Vec<Question>,
    state: Option<Payload>,
}

struct Question {
    name: Box<[u8]>,
    method: Method,
    params: Payload,
}

/// Reads what a handler wants, and holds it to the rules.
fn read_wanted(result: &Payload, method: Option<Method>) -> Result<Wanted, String> {
    if !method.is_some_and(|method| method.rule().may_ask) {
        return Err("this method may not ask for input".to_owned());
    }
    let state = result.part("requestState");
    let mut questions = Vec::new();
    if let Some(requests) = result.part("inputRequests") {
        for (name, text) in Members::of(requests.text()) {
            let mut asked = None;
            let mut params = Payload::empty();
            for (member, value) in Members::of(text) {
                if names(member, "method") {
                    asked = value
                        .strip_prefix(b"\"")
                        .and_then(|rest| rest.strip_suffix(b"\""))
                        .and_then(unescape)
                        .and_then(|name| Method::from_name(&name));
                } else if names(member, "params") {
                    params = requests.part_of(value);
                }
            }
            let method = asked
                .filter(|m| {
                    matches!(
                        m.rule().needs,
                        Need::Elicitation | Need::Sampling | Need::Roots
                    )
                })
                .ok_or("an input request must be elicitation, sampling or roots")?;
            questions.push(Question {
                name: name.into(),
                method,
                params,
            });
        }
    }
    if questions.is_empty() && state.is_none() {
        return Err("input_required needs inputRequests or requestState".to_owned());
    }
    Ok(Wanted { questions, state })
}

/// Did the client declare that it can be asked this?
fn may_ask(
    capabilities: &ClientCapabilities,
    revision: Revision,
    method: Method,
    params: Option<&Payload>,
) -> bool {
    let has = |name| params.is_some_and(|params| params.member(name).is_some());
    let mode = params.and_then(|params| params.string_member("mode"));
    method.exists_in(revision)
        && match method {
            Method::RootsList => capabilities.accepts_roots(),
            Method::SamplingCreateMessage => {
                capabilities.accepts_sampling()
                    && (capabilities.accepts_sampling_tools()
                        || !(has("tools") || has("toolChoice")))
            }
            Method::ElicitationCreate => match mode.as_deref() {
                Some("url") => capabilities.accepts_url(),
                _ => capabilities.accepts_form(),
            },
            _ => false,
        }
}

/// Adds the capability that a question needs, in the form in which clients declare it.
fn add_required(missing: &mut ClientCapabilities, method: Method, params: Option<&Payload>) {
    let has = |name| params.is_some_and(|params| params.member(name).is_some());
    let mode = params.and_then(|params| params.string_member("mode"));
    match method {
        Method::RootsList => {
            missing.roots.get_or_insert_default();
        }
        Method::SamplingCreateMessage => {
            let sampling = missing.sampling.get_or_insert_default();
            if has("tools") || has("toolChoice") {
                sampling.tools.get_or_insert_default();
            }
        }
        _ => {
            let elicitation = missing.elicitation.get_or_insert_default();
            if mode.as_deref() == Some("url") {
                elicitation.url.get_or_insert_default();
            } else {
                elicitation.form.get_or_insert_default();
            }
        }
    }
}

fn cancelled(lane: Lane, id: i64, reason: &str) -> Output {
    let params = Payload::encode(&json!({ "requestId": id, "reason": reason })).ok();
    Output::send(lane, Notification::new(Method::Cancelled, params))
}
