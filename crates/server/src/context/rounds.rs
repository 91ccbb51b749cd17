//! What a call of the stateless era brings back from its earlier rounds, and asks in this one.
//!
//! A handler that asks is dropped; the client answers and calls again, and the handler runs
//! from its beginning with the answers at hand. What the client does not send again travels
//! with it, sealed.
//!
//! Specification: 2026-07-28 basic/patterns/mrtr.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::machine::server::Answer;
use switchboard_protocol::types::ClientCapabilities;
use switchboard_protocol::{Payload, RawJson};

use crate::context::question::Question;

/// Where a call of the stateless era stands with its questions. Most calls have none, and
/// this takes no room for them.
#[derive(Debug, Default)]
pub(crate) struct Rounds(Option<Box<State>>);

#[derive(Debug, Default)]
struct State {
    is_read: bool,
    /// What the client sent with this round.
    fresh: BTreeMap<String, RawJson>,
    /// What is kept from round to round.
    carried: Carried,
    /// What this round asks.
    open: Vec<(String, Question)>,
    /// Why the call cannot go on.
    verdict: Option<ErrorObject>,
    /// What would have been asked, had the client declared that it can be.
    missing: Option<ClientCapabilities>,
}

/// What travels with the client.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Carried {
    /// Answers of earlier rounds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    answers: BTreeMap<String, RawJson>,
    /// What the handler has done already.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    notes: BTreeMap<String, RawJson>,
}

impl Rounds {
    /// Reads what the client sent, once. `open` breaks a seal.
    pub(super) fn read(
        &mut self,
        params: Option<&Payload>,
        open: impl FnOnce(&str) -> Result<Vec<u8>, String>,
    ) {
        let state = self.state();
        if std::mem::replace(&mut state.is_read, true) {
            return;
        }
        let Some(params) = params else {
            return;
        };
        if let Some(sealed) = params.member("requestState") {
            let carried = serde_json::from_slice::<String>(sealed)
                .map_err(|error| error.to_string())
                .and_then(|sealed| open(&sealed))
                .and_then(|text| serde_json::from_slice(&text).map_err(|e| e.to_string()));
            match carried {
                Ok(carried) => state.carried = carried,
                Err(reason) => {
                    state.verdict = Some(ErrorObject::invalid_params(format!(
                        "requestState: {reason}"
                    )));
                    return;
                }
            }
        }
        let answers = params.member("inputResponses").unwrap_or(b"null");
        match serde_json::from_slice::<Option<BTreeMap<String, RawJson>>>(answers) {
            Ok(answers) => state.fresh = answers.unwrap_or_default(),
            Err(error) => {
                state.verdict = Some(ErrorObject::invalid_params(format!(
                    "inputResponses: {error}"
                )));
            }
        }
    }

    /// Has nothing come up that ends the call?
    pub(super) fn can_go_on(&self) -> bool {
        self.0.as_ref().is_none_or(|state| state.verdict.is_none())
    }

    /// The answer to a question, if the client has given it, in this round or before.
    pub(super) fn answer(&mut self, name: &str) -> Option<RawJson> {
        let state = self.0.as_mut()?;
        if let Some(answer) = state.fresh.get(name) {
            let answer = answer.clone();
            let kept = &mut state.carried.answers;
            kept.insert(name.to_owned(), answer.clone());
            return Some(answer);
        }
        state.carried.answers.get(name).cloned()
    }

    /// Asks when the handler next waits.
    pub(super) fn ask(&mut self, name: &str, question: Question) {
        let open = &mut self.state().open;
        if open.iter().all(|(asked, _)| asked != name) {
            open.push((name.to_owned(), question));
        }
    }

    /// The call cannot go on.
    pub(super) fn give_up(&mut self, error: ErrorObject) {
        self.state().verdict.get_or_insert(error);
    }

    /// Notes what could not be asked.
    pub(super) fn note_missing(&mut self, required: ClientCapabilities) {
        let missing = self.state().missing.get_or_insert_default();
        missing.elicitation = required.elicitation.or_else(|| missing.elicitation.take());
        missing.sampling = required.sampling.or_else(|| missing.sampling.take());
        missing.roots = required.roots.or_else(|| missing.roots.take());
    }

    /// The refusal of a call that failed for want of a capability.
    pub(super) fn refusal(&self) -> Option<ErrorObject> {
        let missing = self.0.as_ref()?.missing.clone();
        missing.map(ErrorObject::missing_capabilities)
    }

    /// What the handler noted under this name.
    pub(super) fn noted(&self, name: &str) -> Option<RawJson> {
        self.0.as_ref()?.carried.notes.get(name).cloned()
    }

    /// Keeps a note for the next rounds.
    pub(super) fn note(&mut self, name: &str, value: RawJson) {
        self.state().carried.notes.insert(name.to_owned(), value);
    }

    /// The answer of a handler that waits for the client. `seal` closes what travels.
    pub(super) fn interruption(
        &mut self,
        seal: impl FnOnce(&[u8]) -> Result<String, String>,
    ) -> Option<Answer> {
        let state = self.0.as_mut()?;
        if let Some(error) = state.verdict.take() {
            return Some(Answer::Error(error));
        }
        if state.open.is_empty() {
            return None;
        }
        let carries = !state.carried.answers.is_empty() || !state.carried.notes.is_empty();
        let sealed = carries
            .then(|| serde_json::to_vec(&state.carried).map_err(|error| error.to_string()))
            .transpose()
            .and_then(|plain| plain.map(|plain| seal(&plain)).transpose());
        let sealed = match sealed {
            Ok(sealed) => sealed,
            Err(reason) => return Some(Answer::Error(ErrorObject::internal(reason))),
        };
        Some(match required(&state.open, sealed.as_deref()) {
            Ok(result) => Answer::InputRequired(result),
            Err(error) => Answer::Error(ErrorObject::internal(error.to_string())),
        })
    }

    fn state(&mut self) -> &mut State {
        self.0.get_or_insert_default()
    }
}

/// The result that asks.
fn required(
    open: &[(String, Question)],
    state: Option<&str>,
) -> Result<Payload, serde_json::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Required<'a> {
        input_requests: BTreeMap<&'a str, Request<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_state: Option<&'a str>,
    }
    #[derive(Serialize)]
    struct Request<'a> {
        method: &'static str,
        params: &'a RawValue,
    }
    let mut input_requests = BTreeMap::new();
    for (name, question) in open {
        let params = match &question.params {
            Some(params) => serde_json::from_slice(params.text())?,
            None => serde_json::from_str("{}")?,
        };
        let method = question.method.name();
        input_requests.insert(name.as_str(), Request { method, params });
    }
    Payload::encode(&Required {
        input_requests,
        request_state: state,
    })
}
