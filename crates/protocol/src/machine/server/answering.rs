//! Answers, progress and log messages on their way to the client.
//!
//! Specification: basic/patterns/progress, server/utilities/logging; 2026-07-28 basic/patterns/mrtr.

use std::time::Instant;

use crate::envelope::{MemberText, begins_with_server_info, with_members};
use crate::jsonrpc::{ErrorObject, Notification, Response};
use crate::machine::Lane;
use crate::machine::server::input::{Answer, Caller, Output};
use crate::machine::server::modern::{self, ResultText};
use crate::machine::server::{InFlight, ServeKey, ServerMachine, Work};
use crate::method::Method;
use crate::payload::Payload;
use crate::revision::{Era, Revision, needs_step_down, step_down_params};
use crate::types::{CallToolResult, LoggingLevel};

/// What becomes of an answer.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The client gets this.
    Settled(Result<Payload, ErrorObject>),
    /// The client must be asked this before.
    Asks(Payload),
}

impl ServerMachine {
    /// A handler has an answer.
    pub(super) fn answered(
        &mut self,
        now: Instant,
        key: ServeKey,
        answer: Answer,
        out: &mut Vec<Output>,
    ) {
        if let Some((lane, response)) = self.answer_in_flight(|| now, key, answer, out) {
            out.push(Output::send(lane, response));
        }
    }

    /// The handler of a call in flight has an answer, as [`Input::Answered`](super::Input::Answered)
    /// says it too: what its client gets, after all that is appended. Nothing if it gets that
    /// otherwise, must be asked before, or does not wait any more.
    ///
    /// Nearly all answers come to the same whatever time it is: it is asked for where it matters.
    pub fn answer_in_flight(
        &mut self,
        now: impl FnOnce() -> Instant,
        key: ServeKey,
        answer: Answer,
        out: &mut Vec<Output>,
    ) -> Option<(Lane, Response)> {
        // Otherwise it was cancelled meanwhile.
        let in_flight = self.serving.get(key)?;
        if !matches!(in_flight.work, Work::Handler) {
            // It has answered already: it asked for input and was dropped.
            return None;
        }
        let params = in_flight.params.as_ref();
        let verdict = judge(
            answer,
            in_flight.method,
            &in_flight.caller,
            &self.result_text,
        );
        match verdict {
            Verdict::Settled(outcome) => {
                if outcome.is_ok() {
                    self.session.note_answer(in_flight.method, params);
                }
                let (id, in_flight) = self.serving.take(key)?;
                self.withdraw_asks_of(key, out);
                let response = Response::new(id, outcome);
                match in_flight.batch {
                    None => Some((in_flight.lane, response)),
                    batch => {
                        self.settle(in_flight.lane, batch, response, out);
                        None
                    }
                }
            }
            Verdict::Asks(result) => {
                self.input_required(now(), key, &result, out);
                None
            }
        }
    }

    /// Sends the one answer of a call.
    pub(super) fn finish(
        &mut self,
        key: ServeKey,
        outcome: Result<Payload, ErrorObject>,
        out: &mut Vec<Output>,
    ) {
        let Some((id, in_flight)) = self.serving.take(key) else {
            return;
        };
        self.withdraw_asks_of(key, out);
        self.reply(in_flight.lane, in_flight.batch, id, outcome, out);
    }

    /// A handler reports progress: sent if the caller wanted it and it grows.
    pub(super) fn progress(&mut self, key: ServeKey, params: &Payload, out: &mut Vec<Output>) {
        let progress = params
            .member("progress")
            .and_then(|text| serde_json::from_slice::<f64>(text).ok());
        let Some(in_flight) = self.serving.get_mut(key) else {
            return;
        };
        let (Some(token), Some(progress)) = (&in_flight.progress_token, progress) else {
            return;
        };
        if in_flight.last_progress.is_some_and(|last| progress <= last) {
            return;
        }
        let mut front = MemberText::default();
        front.push("progressToken", token);
        in_flight.last_progress = Some(progress);
        let lane = in_flight.lane;
        let revision = in_flight.caller.revision;
        let mut params = with_members(Some(params), &front, &MemberText::default());
        if needs_step_down(Method::Progress, Revision::LATEST, revision)
            && let Ok(stepped) = step_down_params(Method::Progress, &params, revision)
        {
            params = stepped;
        }
        let told = Notification::new(Method::Progress, Some(params));
        out.push(Output::send(lane, told));
    }

    /// Sends a log message to whom it concerns and who wants it.
    pub(super) fn log(
        &self,
        key: Option<ServeKey>,
        level: LoggingLevel,
        params: Payload,
        out: &mut Vec<Output>,
    ) {
        if !self.config.capabilities.has_logging() {
            return;
        }
        let in_flight: Option<&InFlight> = match key {
            Some(key) => match self.serving.get(key) {
                Some(in_flight) => Some(in_flight),
                None => return,
            },
            None => None,
        };
        let wanted = match in_flight {
            // Only who asked in the request itself gets any, and only beside its answer.
            Some(in_flight) if in_flight.era == Era::Stateless => {
                in_flight.log_level.is_some_and(|wanted| level >= wanted)
            }
            _ => self.session.caller().is_some() && self.session.wants_log(level),
        };
        if wanted {
            out.push(Output::send(
                in_flight.map_or(Lane::SHARED, |in_flight| in_flight.lane),
                Notification::new(Method::LogMessage, Some(params)),
            ));
        }
    }
}

/// Does the result of a tool that another server wrote say all that one of this era must?
fn is_whole(result: &Payload, method: Option<Method>) -> bool {
    method == Some(Method::ToolsCall)
        && result.is_texts()
        && result.is_complete()
        && result.meta().is_some_and(begins_with_server_info)
}

/// What becomes of an answer, by the rules of the caller's era.
pub(super) fn judge(
    answer: Answer,
    method: Option<Method>,
    caller: &Caller,
    result_text: &ResultText,
) -> Verdict {
    match (answer, caller.revision.era()) {
        (Answer::Error(error), Era::Handshake) => Verdict::Settled(Err(error)),
        (Answer::Error(error), Era::Stateless) => Verdict::Settled(Err(modern::restate(error))),
        (Answer::Result(result), Era::Handshake) => Verdict::Settled(Ok(result)),
        (Answer::Text(text), Era::Handshake) => {
            Verdict::Settled(Ok(CallToolResult::text_payload(&text)))
        }
        (Answer::Text(text), Era::Stateless) => {
            let result = CallToolResult::text_payload(&text);
            Verdict::Settled(Ok(result_text.complete(&result, method)))
        }
        (Answer::Result(result), Era::Stateless) if is_whole(&result, method) => {
            Verdict::Settled(Ok(result))
        }
        (Answer::Result(result), Era::Stateless) => {
            let result = result.noted();
            let kind = result.result_type();
            let kind = kind.as_deref();
            if kind == Some("input_required") {
                // Whichever way a handler says it, what it asks is held to the rules.
                return Verdict::Asks(result);
            }
            let outcome = modern::check_kind(kind, method, caller)
                .map(|()| result_text.complete(&result, method));
            Verdict::Settled(outcome)
        }
        (Answer::InputRequired(result), _) => Verdict::Asks(result),
    }
}
