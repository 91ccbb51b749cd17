//! What a client does in the stateless era only.
//!
//! Specification: 2026-07-28 basic (`_meta`), basic/patterns/mrtr.

use crate::envelope::{MemberText, with_members};
use crate::machine::client::input::{ClientConfig, Violation};
use crate::machine::client::meta_text::MetaText;
use crate::machine::client::on_behalf::OnBehalf;
use crate::machine::declared;
use crate::machine::rounds::{Gathered, Unreadable, Wanted};
use crate::payload::Payload;
use crate::revision::Revision;
use crate::types::LoggingLevel;
use crate::types::meta_key as key;

/// What every request carries, written once.
#[derive(Debug)]
pub(super) struct Context {
    members: MemberText,
    /// What is ours in requests that are made for somebody else.
    own: MemberText,
    /// The same, with the level of log messages once one is wanted.
    with_level: MemberText,
    text: MetaText,
}

impl Context {
    pub(super) fn new(config: &ClientConfig) -> Self {
        let revision = match config.mode {
            super::Mode::Pinned(revision) => revision,
            super::Mode::Auto | super::Mode::Legacy => Revision::LATEST,
        };
        let mut own = MemberText::default();
        own.push_value(key::PROTOCOL_VERSION, revision.as_str());
        let mut members = own.clone();
        members.push_value(key::CLIENT_CAPABILITIES, &config.capabilities);
        if config.sends_info {
            members.push_value(key::CLIENT_INFO, &config.info);
            own.push_value(key::CLIENT_INFO, &config.info);
        }
        Self {
            own,
            text: MetaText::new(&members),
            with_level: members.clone(),
            members,
        }
    }

    /// From now on each request wants log messages from this level on.
    pub(super) fn set_log_level(&mut self, level: LoggingLevel) {
        self.with_level = self.members.clone();
        self.with_level.push_value(key::LOG_LEVEL, &level);
        self.text = MetaText::new(&self.with_level);
    }

    /// What comes before parameters without a `_meta` of their own. `None` if it is not written for
    /// him.
    pub(super) fn meta<'a>(&'a self, whom: Option<&'a OnBehalf>) -> Option<&'a MetaText> {
        match whom {
            Some(whom) => whom.text(&self.own),
            None => Some(&self.text),
        }
    }

    /// The parameters of a request, with its context and what this round adds.
    pub(super) fn params(
        &self,
        params: Option<&Payload>,
        token: Option<i64>,
        retry: Option<&Gathered>,
        whom: Option<&OnBehalf>,
    ) -> Payload {
        let mut meta = match whom {
            Some(whom) => whom.members(&self.own),
            None => self.with_level.clone(),
        };
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
