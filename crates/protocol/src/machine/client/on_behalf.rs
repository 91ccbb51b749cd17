//! A call that is made for somebody else, by one who stands between him and the server.
//!
//! A server of the stateless era knows what a caller can do from each of his requests, so a
//! gateway can speak for each of its clients on one connection.
//!
//! Specification: 2026-07-28 basic (`_meta`), basic/patterns/mrtr.

use std::sync::OnceLock;

use crate::envelope::MemberText;
use crate::machine::client::meta_text::MetaText;
use crate::payload::RawJson;
use crate::types::LoggingLevel;
use crate::types::meta_key as key;

/// For whom a call is made, and what he says of himself.
///
/// It is worth keeping for the next call: what is written of it is written once.
#[derive(Debug)]
#[non_exhaustive]
pub struct OnBehalf {
    /// What he can do, in the words of the stateless era: sent in the place of what we can.
    pub capabilities: RawJson,
    /// From which level on he wants log messages.
    pub log_level: Option<LoggingLevel>,
    /// Is he asked himself? Then a result that wants input, or is a task, is the outcome of the
    /// call as any other, and what he answers comes with a call of his own.
    pub is_asked_himself: bool,
    written: OnceLock<Written>,
}

/// The `_meta` of his requests, behind what was ours when it was written.
#[derive(Debug)]
struct Written {
    own: MemberText,
    text: MetaText,
}

/// What was written is left behind: what it says may be changed.
impl Clone for OnBehalf {
    fn clone(&self) -> Self {
        Self {
            capabilities: self.capabilities.clone(),
            log_level: self.log_level,
            is_asked_himself: self.is_asked_himself,
            written: OnceLock::new(),
        }
    }
}

impl OnBehalf {
    /// For somebody who can do this, and whose questions our own host answers.
    pub const fn new(capabilities: RawJson) -> Self {
        Self {
            capabilities,
            log_level: None,
            is_asked_himself: false,
            written: OnceLock::new(),
        }
    }

    /// The `_meta` of his requests as text, beginning with what is ours. `None` if ours was another
    /// when it was written.
    pub(super) fn text(&self, own: &MemberText) -> Option<&MetaText> {
        let written = self.written.get_or_init(|| Written {
            own: own.clone(),
            text: MetaText::new(&self.members(own)),
        });
        (written.own.as_bytes() == own.as_bytes()).then_some(&written.text)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_of_somebody_holds_behind_what_was_ours_then() {
        let [ours, another] = [b"1", b"2"].map(|value| {
            let mut members = MemberText::default();
            members.push("a", value);
            members
        });
        let whom = OnBehalf::new(RawJson::parse("{}").unwrap());
        assert!(whom.text(&ours).is_some());
        assert!(whom.text(&ours).is_some());
        let copy = whom.clone();
        assert!(copy.text(&another).is_some());
        assert!(whom.text(&another).is_none());
    }
}
