//! What a client does in the stateless era only.
//!
//! Specification: 2026-07-28 basic (`_meta`), basic/patterns/mrtr.

use crate::envelope::{MemberText, with_members};
use crate::machine::client::call::Retry;
use crate::machine::client::input::{ClientConfig, Violation};
use crate::machine::client::legacy;
use crate::method::{Method, Need};
use crate::payload::{Members, Payload};
use crate::revision::Revision;
use crate::scan::names;
use crate::types::LoggingLevel;
use crate::types::meta_key as key;

/// What every request carries, written once.
#[derive(Debug)]
pub(super) struct Context {
    revision: Revision,
    capabilities: Vec<u8>,
    info: Option<Vec<u8>>,
    pub(super) log_level: Option<LoggingLevel>,
}

impl Context {
    pub(super) fn new(config: &ClientConfig) -> Self {
        let revision = match config.mode {
            super::Mode::Pinned(revision) => revision,
            super::Mode::Auto | super::Mode::Legacy => Revision::LATEST,
        };
        Self {
            revision,
            capabilities: serde_json::to_vec(&config.capabilities).unwrap_or_else(|_| b"{}".into()),
            info: config
                .sends_info
                .then(|| serde_json::to_vec(&config.info).ok())
                .flatten(),
            log_level: None,
        }
    }

    /// The parameters of a request, with its context and what this round adds.
    pub(super) fn params(
        &self,
        params: Option<&Payload>,
        token: Option<i64>,
        retry: &Retry,
    ) -> Payload {
        let mut meta = MemberText::default();
        meta.push_value(key::PROTOCOL_VERSION, self.revision.as_str());
        meta.push(key::CLIENT_CAPABILITIES, &self.capabilities);
        if let Some(info) = &self.info {
            meta.push(key::CLIENT_INFO, info);
        }
        if let Some(level) = self.log_level {
            meta.push_value(key::LOG_LEVEL, &level);
        }
        if let Some(token) = token {
            meta.push(
                "progressToken",
                itoa::Buffer::new().format(token).as_bytes(),
            );
        }
        let mut front = MemberText::default();
        if !retry.answers.is_empty() {
            let mut answers = vec![b'{'];
            for (name, answer) in &retry.answers {
                if answers.len() > 1 {
                    answers.push(b',');
                }
                answers.push(b'"');
                answers.extend_from_slice(name);
                answers.extend_from_slice(b"\":");
                answers.extend_from_slice(answer.text());
            }
            answers.push(b'}');
            front.push("inputResponses", &answers);
        }
        if let Some(state) = &retry.state {
            front.push("requestState", state.text());
        }
        with_members(params, &front, &meta)
    }
}

/// What a result of `input_required` wants.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) questions: Vec<WantedQuestion>,
    pub(super) state: Option<Payload>,
}

/// One question inside a result.
#[derive(Debug)]
pub(super) struct WantedQuestion {
    pub(super) name: Box<[u8]>,
    pub(super) method: Method,
    pub(super) params: Payload,
}

/// Reads what a server wants before it goes on, and holds it to what we declared.
pub(super) fn read_input_required(
    result: &Payload,
    config: &ClientConfig,
) -> Result<Wanted, Violation> {
    let state = result.part("requestState");
    if state
        .as_ref()
        .is_some_and(|s| s.text().first() != Some(&b'"'))
    {
        return Err(Violation::BadResult("requestState is not a string"));
    }
    let mut questions = Vec::new();
    if let Some(requests) = result.part("inputRequests") {
        if !requests.is_object() {
            return Err(Violation::BadResult("inputRequests is not an object"));
        }
        for (name, text) in Members::of(requests.text()) {
            questions.push(read_question(&requests, name, text, config)?);
        }
    }
    if questions.is_empty() && state.is_none() {
        return Err(Violation::BadResult(
            "input_required without inputRequests or requestState",
        ));
    }
    Ok(Wanted { questions, state })
}

fn read_question(
    requests: &Payload,
    name: &[u8],
    text: &[u8],
    config: &ClientConfig,
) -> Result<WantedQuestion, Violation> {
    let mut method = None;
    let mut params = Payload::empty();
    for (member, value) in Members::of(text) {
        if names(member, "method") {
            method = serde_json::from_slice::<String>(value).ok();
        } else if names(member, "params") {
            params = requests.part_of(value);
        }
    }
    let name_of_method = method.ok_or(Violation::BadResult("an input request without a method"))?;
    let undeclared = || Violation::NotDeclared(name_of_method.clone());
    let method = Method::from_name(&name_of_method).ok_or_else(undeclared)?;
    let declared = match method.rule().needs {
        Need::Sampling => config.capabilities.accepts_sampling(),
        Need::Roots => config.capabilities.accepts_roots(),
        Need::Elicitation => config.capabilities.elicitation.is_some(),
        _ => false,
    };
    if !declared || legacy::check_details(method, Some(&params), config).is_err() {
        return Err(undeclared());
    }
    Ok(WantedQuestion {
        name: name.into(),
        method,
        params,
    })
}
