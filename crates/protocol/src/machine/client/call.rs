//! One call from its start to its one outcome, over as many round trips as it takes.
//!
//! A call keeps its key for life; each round trip has an id of its own.
//!
//! Specification: basic/patterns/cancellation, basic/patterns/progress, 2026-07-28 basic/patterns/mrtr.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::jsonrpc::{ErrorObject, Frame, MethodName, Request, RequestId, Response, UsualResult};
use crate::machine::allowance::{Allowance, Expired, Timeouts};
use crate::machine::client::call_error::CallError;
use crate::machine::client::departure::Departure;
use crate::machine::client::input::{Agreed, Ignored, Input, Output, Violation};
use crate::machine::client::members::Members;
use crate::machine::client::on_behalf::OnBehalf;
use crate::machine::client::{ClientMachine, ClientState, Owner, legacy, modern};
use crate::machine::declared;
use crate::machine::pending::cancellation;
use crate::machine::rounds::Gathered;
use crate::machine::{Lane, Wire};
use crate::method::Method;
use crate::payload::Payload;
use crate::revision::Era;
use crate::types::TASKS_EXTENSION;

/// What our user knows a call by. He picks it; it must not be in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallKey(pub u64);

/// A call that our user makes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallRequest {
    /// What he will know it by.
    pub key: CallKey,
    /// What is asked for.
    pub method: MethodName,
    /// With what.
    pub params: Option<Payload>,
    /// How long it may take, if not as long as all others.
    pub timeouts: Option<Timeouts>,
    /// Whether the server is asked to report progress, which keeps the call alive.
    pub progress: bool,
    /// For whom it is made, if not for our user himself. Only the stateless era knows that.
    pub on_behalf: Option<Arc<OnBehalf>>,
    /// Whether he wants to know the id of its first request: [`Output::Sent`].
    pub tells_id: bool,
}

impl CallRequest {
    /// A call with the usual timeouts and progress.
    pub fn new(key: CallKey, method: impl Into<MethodName>, params: Option<Payload>) -> Self {
        Self {
            key,
            method: method.into(),
            params,
            timeouts: None,
            progress: true,
            on_behalf: None,
            tells_id: false,
        }
    }
}

/// A call without an outcome.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) method: MethodName,
    pub(super) params: Option<Payload>,
    progress: bool,
    on_behalf: Option<Arc<OnBehalf>>,
    /// Whether it is still to be told under which id it went.
    tells_id: bool,
    last_progress: Option<f64>,
    rounds: u32,
    /// Whether it was refused once because its session was lost.
    pub(super) lost_session: bool,
    pub(super) stage: Stage,
}

impl Call {
    /// The request of this round, under this id, if its parameters have no `_meta` to be merged and
    /// what comes before them is written.
    fn depart<'a>(&'a self, id: i64, era: Era, contexts: Contexts<'a>) -> Option<Departure<'a>> {
        Some(Departure {
            id,
            method: &self.method,
            meta: match era {
                Era::Handshake => contexts.0.meta(self.progress),
                Era::Stateless => Some(contexts.1.meta(self.on_behalf.as_deref())?),
            },
            has_token: self.progress,
            params: self.params.as_ref(),
        })
    }

    /// The request of this round, under this id.
    fn send(
        &self,
        id: i64,
        era: Era,
        has_meta: bool,
        retry: Option<&Gathered>,
        contexts: Contexts<'_>,
    ) -> Output {
        if !has_meta
            && retry.is_none()
            && let Some(departure) = self.depart(id, era, contexts)
        {
            return Output::send(departure.lane(), departure.request());
        }
        // The id serves as the token: it is unique among requests in flight.
        let token = self.progress.then_some(id);
        let params = self.params.as_ref();
        let params = match era {
            Era::Handshake => contexts.0.params(params, token),
            Era::Stateless => {
                let whom = self.on_behalf.as_deref();
                Some(contexts.1.params(params, token, retry, whom))
            }
        };
        Output::send(
            Lane(id.cast_unsigned()),
            Request::new(RequestId::from(id), self.method.clone(), params),
        )
    }

    /// Tells whoever wants to know under which id its first request goes.
    fn tell_id(&mut self, key: CallKey, id: i64, out: &mut Vec<Output>) {
        if self.tells_id {
            self.tells_id = false;
            out.push(Output::Sent { key, id });
        }
    }

    /// From now on it waits for the answer to the request of this id.
    fn enter_round(&mut self, id: i64) {
        self.stage = Stage::Sent(id);
        self.last_progress = None;
    }
}

/// What requests carry in either era.
type Contexts<'a> = (&'a legacy::Context, &'a modern::Context);

/// What a call waits for.
#[derive(Debug)]
pub(super) enum Stage {
    /// The server, under this id.
    Sent(i64),
    /// A session to be sent in.
    Waiting(Box<Allowance>),
    /// The host, which was asked this.
    Asking(Box<Asking>),
    /// The time to ask the server again.
    Backoff(Box<Backoff>),
}

/// What the server wants before it goes on.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) open: usize,
    pub(super) retry: Gathered,
    pub(super) allowance: Allowance,
}

/// When and with what the server is asked again.
#[derive(Debug)]
pub(super) struct Backoff {
    until: Instant,
    retry: Gathered,
    allowance: Allowance,
}

impl Backoff {
    fn due(&self) -> Instant {
        let end = self.allowance.deadline();
        end.map_or(self.until, |end| end.min(self.until))
    }
}

impl ClientMachine {
    /// Makes a call as [`Input::Call`] does, and lends its request to whoever
    /// writes it. Without one, what must happen next is appended as always.
    #[inline]
    pub fn call(
        &mut self,
        now: Instant,
        call: CallRequest,
        out: &mut Vec<Output>,
    ) -> Option<Departure<'_>> {
        let key = call.key;
        let members = self.finder.find(call.params.as_ref());
        let era = match self.check_call(key, &call.method, members) {
            Ok(era) => era,
            Err(error) => {
                let outcome = Err(error);
                out.push(Output::Finished { key, outcome });
                return None;
            }
        };
        let timeouts = call.timeouts.unwrap_or(self.config.call_timeouts);
        let allowance = Allowance::new(now, timeouts);
        let call = Call {
            method: call.method,
            params: call.params,
            progress: call.progress,
            on_behalf: call.on_behalf,
            tells_id: call.tells_id,
            last_progress: None,
            rounds: 0,
            lost_session: false,
            stage: Stage::Sent(0),
        };
        if !self.session.stands() {
            self.calls.insert(key.0, call);
            self.wait_for_session(now, key, allowance, out);
            return None;
        }
        let call = self.calls.insert(key.0, call);
        let id = self.pending.insert(allowance, Owner::Call(key));
        call.tell_id(key, id, out);
        call.enter_round(id);
        let contexts = (&self.legacy, &self.modern);
        if !members.meta
            && let Some(departure) = call.depart(id, era, contexts)
        {
            return Some(departure);
        }
        out.push(call.send(id, era, members.meta, None, contexts));
        None
    }

    /// The same for whoever wants a message.
    pub(super) fn start_call(&mut self, now: Instant, call: CallRequest, out: &mut Vec<Output>) {
        if let Some(departure) = self.call(now, call, out) {
            out.push(Output::send(departure.lane(), departure.request()));
        }
    }

    /// Takes a result as [`Input::Received`] does, and gives it to whoever
    /// brings it to its caller. Without one, what must happen next is appended as always.
    #[inline(always)]
    pub fn receive(
        &mut self,
        now: Instant,
        received: UsualResult,
        out: &mut Vec<Output>,
    ) -> Option<(CallKey, Payload)> {
        let UsualResult { id, result } = received;
        // What is in the tables is not moved out of them: it is dropped where it stands.
        let owner = self.pending.get(id).map(|entry| &entry.owner);
        if let Some(&Owner::Call(key)) = owner
            && self.is_all(&result)
        {
            self.pending.forget(id);
            self.questions.note_answer(id);
            return self.end_granted(key).then_some((key, result));
        }
        self.receive_otherwise(now, id, result, out);
        None
    }

    /// Takes a result that does not end a call.
    #[cold]
    fn receive_otherwise(&mut self, now: Instant, id: i64, result: Payload, out: &mut Vec<Output>) {
        match self.pending.remove(id) {
            Some(entry) => {
                self.questions.note_answer(id);
                self.answered(now, entry, Ok(result), out);
            }
            None => {
                let message = Response::new(RequestId::from(id), Ok(result)).into();
                let (lane, frame) = (Lane::SHARED, Ok(Frame::Single(message)));
                self.handle(now, Input::Received { lane, frame }, out);
            }
        }
    }

    /// Does a call end with this result?
    #[inline]
    fn is_all(&self, result: &Payload) -> bool {
        self.era() != Some(Era::Stateless) || result.is_complete()
    }

    /// May this call be made now? In the era that was agreed on, if so.
    pub(super) fn check_call(
        &self,
        key: CallKey,
        method: &MethodName,
        members: Members,
    ) -> Result<Era, CallError> {
        let ClientState::Ready(agreed) = &self.state else {
            return Err(self.not_ready());
        };
        if self.is_in_use(key) {
            return Err(CallError::KeyInUse);
        }
        if self.calls.len() >= self.config.max_calls {
            return Err(CallError::TooManyCalls(self.config.max_calls));
        }
        check_method(agreed, method, members)?;
        Ok(agreed.revision.era())
    }

    pub(super) fn is_in_use(&self, key: CallKey) -> bool {
        self.calls.contains_key(key.0) || self.listeners.contains_key(&key)
    }

    /// Sends a call, for the first time or again, under a new id.
    pub(super) fn send_round(
        &mut self,
        key: CallKey,
        allowance: Allowance,
        retry: Option<&Gathered>,
        out: &mut Vec<Output>,
    ) {
        let Some(call) = self.calls.get_mut(key.0) else {
            return;
        };
        let id = self.pending.insert(allowance, Owner::Call(key));
        call.tell_id(key, id, out);
        call.enter_round(id);
        let era = match &self.state {
            ClientState::Ready(agreed) => agreed.revision.era(),
            _ => Era::Handshake,
        };
        let has_meta = self.finder.find(call.params.as_ref()).meta;
        let contexts = (&self.legacy, &self.modern);
        out.push(call.send(id, era, has_meta, retry, contexts));
    }

    pub(super) fn call_answered(
        &mut self,
        now: Instant,
        key: CallKey,
        allowance: Allowance,
        outcome: Result<Payload, ErrorObject>,
        out: &mut Vec<Output>,
    ) {
        let result = match outcome {
            Ok(result) => result,
            Err(error) => return self.finish(key, Err(CallError::Refused(error)), out),
        };
        if self.is_all(&result) {
            return self.finish(key, Ok(result), out);
        }
        let kind = result.result_type();
        let Some(call) = self.calls.get(key.0) else {
            return;
        };
        let whom = call.on_behalf.as_ref();
        if whom.is_some_and(|whom| whom.is_asked_himself) {
            return self.finish(key, Ok(result), out);
        }
        let method = call.method.known();
        let outcome = match kind.as_deref() {
            // Servers before this field left it out.
            None => match result.member("resultType") {
                None => Ok(result),
                Some(other) => Err(Violation::UnknownResultType(
                    String::from_utf8_lossy(other).into_owned(),
                )),
            },
            Some("input_required") => match method.filter(|method| method.rule().may_ask) {
                Some(_) => return self.ask_host(now, key, allowance, &result, out),
                None => Err(Violation::InputNotAllowed(
                    method.unwrap_or(Method::ServerDiscover),
                )),
            },
            Some("task") => {
                if method == Some(Method::ToolsCall)
                    && self.config.capabilities.has_extension(TASKS_EXTENSION)
                {
                    Ok(result)
                } else {
                    Err(Violation::TaskNotAllowed)
                }
            }
            Some(other) => Err(Violation::UnknownResultType(other.to_owned())),
        };
        self.finish(key, outcome.map_err(CallError::Violation), out);
    }

    /// The server wants more before it goes on: brings it to the host.
    fn ask_host(
        &mut self,
        now: Instant,
        key: CallKey,
        mut allowance: Allowance,
        result: &Payload,
        out: &mut Vec<Output>,
    ) {
        let max_rounds = self.config.max_rounds;
        let Some(call) = self.calls.get_mut(key.0) else {
            return;
        };
        call.rounds += 1;
        let rounds = call.rounds;
        if rounds > max_rounds {
            return self.finish(key, Err(CallError::TooManyRounds(max_rounds)), out);
        }
        let wanted = match super::modern::read_input_required(result, &self.config) {
            Ok(wanted) => wanted,
            Err(violation) => {
                return self.finish(key, Err(CallError::Violation(violation)), out);
            }
        };
        if wanted.questions.len() > self.config.max_questions {
            let error = ErrorObject::internal("too many questions are open");
            return self.finish(key, Err(CallError::NotAnswered(error)), out);
        }
        let retry = Gathered {
            state: wanted.state,
            ..Gathered::default()
        };
        if wanted.questions.is_empty() {
            // Only state: the server wants to be asked again. At once, then ever more slowly.
            allowance.restart_idle(now);
            let backoff = Backoff {
                until: now + pause(rounds),
                retry,
                allowance,
            };
            self.retries.push(key, Some(backoff.due()));
            call.stage = Stage::Backoff(Box::new(backoff));
            return self.send_retries(now, out);
        }
        allowance.stop(now);
        if let Some(call) = self.calls.get_mut(key.0) {
            call.stage = Stage::Asking(Box::new(Asking {
                open: wanted.questions.len(),
                retry,
                allowance,
            }));
        }
        self.ask_from_result(now, key, wanted.questions, out);
    }

    /// The host has answered one question of a call; after the last, the call goes on.
    pub(super) fn input_given(
        &mut self,
        now: Instant,
        key: CallKey,
        name: Box<[u8]>,
        answer: Payload,
        out: &mut Vec<Output>,
    ) {
        let Some(Call {
            stage: Stage::Asking(asking),
            ..
        }) = self.calls.get_mut(key.0)
        else {
            return;
        };
        asking.retry.answers.insert(name, answer);
        asking.open = asking.open.saturating_sub(1);
        if asking.open > 0 {
            return;
        }
        asking.allowance.go_on(now);
        asking.allowance.restart_idle(now);
        let allowance = asking.allowance;
        let retry = std::mem::take(&mut asking.retry);
        match allowance.expired(now) {
            // Its time was up before the server asked.
            Some(expired) => self.finish(key, Err(CallError::TimedOut(expired)), out),
            None => self.send_round(key, allowance, Some(&retry), out),
        }
    }

    /// Sends the calls whose time to be sent again has come, unless they have none left.
    pub(super) fn send_retries(&mut self, now: Instant, out: &mut Vec<Output>) {
        let calls = &self.calls;
        let mut due = self
            .retries
            .take_due(now, |key| match &calls.get(key.0)?.stage {
                Stage::Backoff(backoff) => Some(backoff.due()),
                _ => None,
            });
        due.sort_unstable();
        for key in due {
            let Some(call) = self.calls.get_mut(key.0) else {
                continue;
            };
            let stage = std::mem::replace(&mut call.stage, Stage::Sent(0));
            let Stage::Backoff(backoff) = stage else {
                call.stage = stage;
                continue;
            };
            let Backoff {
                allowance, retry, ..
            } = *backoff;
            match allowance.expired(now) {
                Some(expired) => self.finish(key, Err(CallError::TimedOut(expired)), out),
                None => self.send_round(key, allowance, Some(&retry), out),
            }
        }
    }

    /// Is this call a subscription of the stateless era?
    pub(super) fn is_listen(&self, key: CallKey) -> bool {
        self.calls
            .get(key.0)
            .is_some_and(|call| call.method == Method::SubscriptionsListen)
    }

    /// Gives a call its one outcome.
    pub(super) fn finish(
        &mut self,
        key: CallKey,
        outcome: Result<Payload, CallError>,
        out: &mut Vec<Output>,
    ) {
        let Some(call) = self.calls.remove(key.0) else {
            return;
        };
        match call.stage {
            Stage::Asking(_) => {
                for question in self.questions.withdraw_of(key) {
                    out.push(Output::Withdrawn(question));
                }
            }
            Stage::Waiting(_) => self.session.forget_waiting(key),
            Stage::Backoff(_) => self.retries.forget(key),
            Stage::Sent(_) => {}
        }
        if outcome.is_ok() {
            self.note_level(call);
        }
        out.push(Output::Finished { key, outcome });
    }

    /// Lets go of a call that was granted: true if there is one.
    #[inline(always)]
    fn end_granted(&mut self, key: CallKey) -> bool {
        match self.calls.get(key.0) {
            Some(call) if call.method == Method::LoggingSetLevel => {
                if let Some(call) = self.calls.remove(key.0) {
                    self.note_level(call);
                }
                true
            }
            _ => self.calls.forget(key.0),
        }
    }

    /// The next session is told the same as this one.
    fn note_level(&mut self, granted: Call) {
        if granted.method == Method::LoggingSetLevel {
            self.session.log_level = granted.params;
        }
    }

    pub(super) fn cancel(
        &mut self,
        now: Instant,
        key: CallKey,
        reason: Option<String>,
        out: &mut Vec<Output>,
    ) {
        if self.listeners.contains_key(&key) {
            return self.stop_listening(now, key, out);
        }
        let Some(call) = self.calls.get(key.0) else {
            // It has had its outcome: cancel and answer crossed.
            return;
        };
        if let Stage::Sent(id) = call.stage {
            self.pending.remove(id);
            self.note_given_up(now);
            self.stop_at_server(id, reason.as_deref(), out);
        }
        self.finish(key, Err(CallError::Cancelled), out);
    }

    pub(super) fn time_out(
        &mut self,
        now: Instant,
        (key, id): (CallKey, i64),
        expired: Expired,
        out: &mut Vec<Output>,
    ) {
        self.note_given_up(now);
        self.stop_at_server(id, Some("timed out"), out);
        self.finish(key, Err(CallError::TimedOut(expired)), out);
    }

    /// The server may ask about a call before it hears that it was given up, where servers ask by
    /// requests.
    fn note_given_up(&mut self, now: Instant) {
        if self.era() == Some(Era::Handshake) {
            self.questions.give_up(now, self.pending.next_id());
        }
    }

    /// Tells the server that nobody waits for this answer any more.
    pub(super) fn stop_at_server(&self, id: i64, reason: Option<&str>, out: &mut Vec<Output>) {
        let lane = Lane(id.cast_unsigned());
        let is_stateless = self.era() == Some(Era::Stateless) && self.config.wire == Wire::Http;
        if is_stateless || self.session.has_lost(id) {
            out.push(Output::CloseLane(lane));
            return;
        }
        out.push(Output::send(Lane::SHARED, cancellation(id, reason)));
    }

    pub(super) fn handle_progress(
        &mut self,
        now: Instant,
        params: Option<&Payload>,
        out: &mut Vec<Output>,
    ) {
        let token = params
            .and_then(|params| params.member("progressToken"))
            .and_then(|text| serde_json::from_slice::<RequestId>(text).ok());
        let progress = params
            .and_then(|params| params.member("progress"))
            .and_then(|text| serde_json::from_slice::<f64>(text).ok());
        let id = token.and_then(|token| self.pending.number(&token));
        let key = id.and_then(|id| self.owner_call(id));
        // Whoever asked for no progress gave no token, so its id is none.
        let call = key
            .and_then(|key| self.calls.get_mut(key.0))
            .filter(|call| call.progress);
        let (Some(params), Some(progress), Some(id), Some(key), Some(call)) =
            (params, progress, id, key, call)
        else {
            out.push(Output::Ignored(Ignored::StrayProgress));
            return;
        };
        // It must grow. A server that repeats itself is alive all the same, but says nothing new.
        self.pending
            .adjust(id, |allowance| allowance.restart_idle(now));
        if call.last_progress.is_some_and(|last| progress <= last) {
            out.push(Output::Ignored(Ignored::StrayProgress));
            return;
        }
        call.last_progress = Some(progress);
        out.push(Output::Progress {
            key,
            params: params.clone(),
        });
    }
}

/// Has the server what this call needs, as far as was agreed?
pub(super) fn check_method(
    agreed: &Agreed,
    method: &MethodName,
    members: Members,
) -> Result<(), CallError> {
    let Some(method) = method.known() else {
        // What the table does not have is between our user and the server.
        return Ok(());
    };
    let revision = agreed.revision;
    if !method.exists_in(revision) || !method.sender(revision.era()).is_client() {
        return Err(CallError::NotInRevision(method, revision));
    }
    if method.is_notification() || method == Method::Initialize {
        return Err(CallError::NotACall(method));
    }
    // A server of the first revision had no way to declare completion: it is simply tried.
    let is_tried = method == Method::CompletionComplete && !revision.announces_completion();
    if !is_tried && !declared::by_server(&agreed.capabilities, method, revision) {
        return Err(CallError::NotDeclared(method));
    }
    // In the stateless era the server decides, and ignores what is said here.
    let wants_task = members.task && revision.era() == Era::Handshake;
    if wants_task && !declared::as_task_by_server(&agreed.capabilities, method) {
        return Err(CallError::NoTasks(method));
    }
    Ok(())
}

/// How long to wait before a server that gave only state is asked again.
fn pause(rounds: u32) -> Duration {
    match rounds {
        0 | 1 => Duration::ZERO,
        // 100 ms, doubling, at most 5 s: patient with a server that polls something slow.
        _ => Duration::from_millis(100 << (rounds - 2).min(6)).min(Duration::from_secs(5)),
    }
}

#[cfg(test)]
mod tests;
