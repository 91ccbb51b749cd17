//! What a client does in the stateless era only.
//!
//! Specification: 2026-07-28 basic (`_meta`), basic/patterns/mrtr.

use crate::envelope::{MemberText, with_members};
use crate::machine::client::input::{ClientConfig, Violation};
use crate::machine::declared;
use crate::machine::rounds::{Gathered, Unreadable, Wanted};
use crate::payload::Payload;
use crate::revision::Revision;
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
        retry: Option<&Gathered>,
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
                key::PROGRESS_TOKEN,
                itoa::Buffer::new().format(token).as_bytes(),
            );
        }
        let front = retry.map(Gathered::members).unwrap_or_default();
        with_members(params, &front, &meta)
    }
}

/// Reads what a server wants before it goes on, and holds it to what we declared.
pub(super) fn read_input_required(
    result: &Payload,
    config: &ClientConfig,
) -> Result<Wanted, Violation> {
    let wanted = Wanted::read(result).map_err(|unreadable| match unreadable {
        Unreadable::NotAQuestion(method) => Violation::NotDeclared(method),
        other => Violation::BadResult(other.reason()),
    })?;
    for question in &wanted.questions {
        let params = Some(&question.params);
        declared::check_client(&config.capabilities, question.method, params)
            .map_err(|_| Violation::NotDeclared(question.method.name().to_owned()))?;
    }
    Ok(wanted)
}
