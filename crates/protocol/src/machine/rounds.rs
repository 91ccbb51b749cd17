//! What a result of `input_required` asks for, and what the next round carries back.
//!
//! The client reads it from its server; the server reads it from its own handler, and makes
//! up for it in the handshake era. Both hold it to the same form.
//!
//! Specification: 2026-07-28 basic/patterns/mrtr.

use std::collections::BTreeMap;

use crate::envelope::MemberText;
use crate::method::{Method, Need};
use crate::payload::{Members, Payload, string_of};
use crate::scan::names;

/// What is wanted before a call goes on.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) questions: Vec<WantedQuestion>,
    pub(crate) state: Option<Payload>,
}

/// One entry of `inputRequests`.
#[derive(Debug)]
pub(crate) struct WantedQuestion {
    /// Its name, as it is written: escapes and all.
    pub(crate) name: Box<[u8]>,
    pub(crate) method: Method,
    pub(crate) params: Payload,
}

impl Wanted {
    /// Reads a result of `input_required`.
    pub(crate) fn read(result: &Payload) -> Result<Self, Unreadable> {
        let state = result.part("requestState");
        let is_text = |state: &Payload| state.text().first() == Some(&b'"');
        if !state.as_ref().is_none_or(is_text) {
            return Err(Unreadable::State);
        }
        let mut questions = Vec::new();
        if let Some(requests) = result.part("inputRequests") {
            if !requests.is_object() {
                return Err(Unreadable::Requests);
            }
            for (name, text) in Members::of(requests.text()) {
                questions.push(read_question(&requests, name, text)?);
            }
        }
        if questions.is_empty() && state.is_none() {
            return Err(Unreadable::Empty);
        }
        Ok(Self { questions, state })
    }
}

/// Why a result of `input_required` is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// `requestState` is not a string.
    State,
    /// `inputRequests` is not an object.
    Requests,
    /// It has neither.
    Empty,
    /// An input request names no method.
    NoMethod,
    /// An input request is none of elicitation, sampling and roots.
    NotAQuestion(String),
}

impl Unreadable {
    /// What is wrong, in words.
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Self::State => "requestState is not a string",
            Self::Requests => "inputRequests is not an object",
            Self::Empty => "input_required needs inputRequests or requestState",
            Self::NoMethod => "an input request without a method",
            Self::NotAQuestion(_) => "an input request must be elicitation, sampling or roots",
        }
    }
}

/// What the next round carries beside the original parameters.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// Each answer under the name that its question has.
    pub(crate) answers: BTreeMap<Box<[u8]>, Payload>,
    /// The server's own state, byte for byte.
    pub(crate) state: Option<Payload>,
}

impl Gathered {
    /// The members of the next round, in the place of those that the last one had.
    pub(crate) fn members(&self) -> MemberText {
        let mut members = MemberText::default();
        if self.answers.is_empty() {
            members.omit(INPUT_RESPONSES);
        } else {
            let mut text = vec![b'{'];
            for (name, answer) in &self.answers {
                if text.len() > 1 {
                    text.push(b',');
                }
                text.push(b'"');
                text.extend_from_slice(name);
                text.extend_from_slice(b"\":");
                text.extend_from_slice(answer.text());
            }
            text.push(b'}');
            members.push(INPUT_RESPONSES, &text);
        }
        match &self.state {
            Some(state) => members.push(REQUEST_STATE, state.text()),
            None => members.omit(REQUEST_STATE),
        }
        members
    }
}

fn read_question(
    requests: &Payload,
    name: &[u8],
    text: &[u8],
) -> Result<WantedQuestion, Unreadable> {
    let mut method = None;
    let mut params = Payload::empty();
    for (member, value) in Members::of(text) {
        if names(member, "method") {
            method = string_of(value);
        } else if names(member, "params") {
            params = requests.part_of(value);
        }
    }
    let method_name = method.ok_or(Unreadable::NoMethod)?;
    let is_question = |method: &Method| {
        matches!(
            method.rule().needs,
            Need::Elicitation | Need::Sampling | Need::Roots
        )
    };
    let method = Method::from_name(&method_name)
        .filter(is_question)
        .ok_or_else(|| Unreadable::NotAQuestion(method_name.into_owned()))?;
    Ok(WantedQuestion {
        name: name.into(),
        method,
        params,
    })
}

const INPUT_RESPONSES: &str = "inputResponses";
const REQUEST_STATE: &str = "requestState";
