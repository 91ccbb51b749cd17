//! A handler that answers with what it needs.
//!
//! In the stateless era that is its result (`input_required`), and the client comes back.
//! In the handshake era the client is asked and the handler is started again with the
//! answers, so the same handler works in both.
//!
//! Specification: 2026-07-28 basic/patterns/mrtr.

use std::sync::Arc;
use std::time::Instant;

use crate::envelope::{MemberText, with_members};
use crate::jsonrpc::ErrorObject;
use crate::machine::Lane;
use crate::machine::declared;
use crate::machine::rounds::{Gathered, Wanted};
use crate::machine::server::asking::{AskError, Asked, in_words_of, may_ask};
use crate::machine::server::input::{Output, Serve};
use crate::machine::server::{ServeKey, ServerMachine, Work};
use crate::method::Method;
use crate::payload::Payload;
use crate::revision::{Era, Revision};
use crate::types::{ClientCapabilities, MissingRequiredClientCapabilityData};

/// The answers of a client of the handshake era, until all are there.
#[derive(Debug)]
pub(super) struct Gathering {
    open: usize,
    gathered: Gathered,
}

impl ServerMachine {
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
        let mut missing = ClientCapabilities::default();
        for question in &wanted.questions {
            let params = Some(&question.params);
            if !may_ask(&in_flight.caller, question.method, params) {
                declared::add_required(&mut missing, question.method, params);
            }
        }
        if missing != ClientCapabilities::default() {
            let error = match in_flight.era {
                Era::Stateless => ErrorObject::missing_capabilities(missing),
                Era::Handshake => ErrorObject::internal(
                    "the client did not declare what this call must ask of it",
                )
                .with_data(&MissingRequiredClientCapabilityData::new(missing)),
            };
            return self.finish(key, Err(error), out);
        }
        let lane = in_flight.lane;
        let revision = in_flight.caller.revision;
        match in_flight.era {
            Era::Stateless => {
                let mut front = MemberText::default();
                front.push("resultType", b"\"input_required\"");
                let result = with_members(Some(result), &front, &MemberText::default());
                let result = self.result_text.complete(&result.noted(), None);
                self.finish(key, Ok(result), out);
            }
            Era::Handshake => match in_their_words(wanted, revision) {
                Ok(wanted) => self.gather(now, lane, key, wanted, out),
                Err(error) => {
                    self.finish(key, Err(ErrorObject::internal(error.to_string())), out);
                }
            },
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
        in_flight.rounds += 1;
        if in_flight.rounds > self.config.max_rounds {
            self.config.refusals.note("rounds");
            let error = ErrorObject::internal("the handler asked for input again and again");
            return self.finish(key, Err(error), out);
        }
        in_flight.work = Work::Client(Box::new(Gathering {
            open: wanted.questions.len(),
            gathered: Gathered {
                state: wanted.state,
                ..Gathered::default()
            },
        }));
        if wanted.questions.is_empty() {
            return self.serve_again(now, key, out);
        }
        for question in wanted.questions {
            let asked = Asked::from_result(lane, key, question.name);
            let params = Some(question.params);
            self.send_question(now, asked, question.method, params, out);
        }
    }

    /// The client has answered one question; after the last, the handler goes on.
    pub(super) fn answer_gathered(
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
        gathering.gathered.answers.insert(name, answer);
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
        let front = gathering.gathered.members();
        let params = in_flight.params.clone().map(Payload::from_valid);
        let params = with_members(params.as_ref(), &front, &MemberText::default());
        let method = in_flight.method.unwrap_or(Method::ToolsCall);
        out.push(Output::Serve(Serve {
            key,
            method: method.into(),
            params: Some(params),
            caller: Arc::clone(&in_flight.caller),
            log_level: in_flight.log_level,
            wants_progress: in_flight.progress_token.is_some(),
        }));
    }
}

/// The questions in the form of the client's revision.
fn in_their_words(mut wanted: Wanted, revision: Revision) -> Result<Wanted, AskError> {
    for question in &mut wanted.questions {
        let params = std::mem::replace(&mut question.params, Payload::empty());
        question.params = in_words_of(revision, question.method, params)?;
    }
    Ok(wanted)
}

/// Reads what a handler wants, and holds it to the rules.
fn read_wanted(result: &Payload, method: Option<Method>) -> Result<Wanted, &'static str> {
    if !method.is_some_and(|method| method.rule().may_ask) {
        return Err("this method may not ask for input");
    }
    Wanted::read(result).map_err(|unreadable| unreadable.reason())
}
