//! A call that is made for somebody else, by one who stands between him and the server.
//!
//! A server of the stateless era knows what a caller can do from each of his requests, so a
//! gateway can speak for each of its clients on one connection.
//!
//! Specification: 2026-07-28 basic (`_meta`), basic/patterns/mrtr.

use crate::envelope::MemberText;
use crate::payload::RawJson;
use crate::types::LoggingLevel;
use crate::types::meta_key as key;

/// For whom a call is made, and what he says of himself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OnBehalf {
    /// What he can do, in the words of the stateless era: sent in the place of what we can.
    pub capabilities: RawJson,
    /// From which level on he wants log messages.
    pub log_level: Option<LoggingLevel>,
    /// Is he asked himself? Then a result that wants input, or is a task, is the outcome of the
    /// call as any other, and what he answers comes with a call of his own.
    pub is_asked_himself: bool,
}

impl OnBehalf {
    /// For somebody who can do this, and whose questions our own host answers.
    pub const fn new(capabilities: RawJson) -> Self {
        Self {
            capabilities,
            log_level: None,
            is_asked_himself: false,
        }
    }

    /// The `_meta` of his requests, beginning with what is ours.
    pub(super) fn members(&self, own: &MemberText) -> MemberText {
        let mut members = own.clone();
        let capabilities = self.capabilities.as_str().as_bytes();
        members.push(key::CLIENT_CAPABILITIES, capabilities);
        if let Some(level) = &self.log_level {
            members.push_value(key::LOG_LEVEL, level);
        }
        members
    }
}
