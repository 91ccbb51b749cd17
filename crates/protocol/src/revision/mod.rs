//! Which revision of MCP two peers speak, and what each revision allows.
//!
//! What differs between revisions is decided here, and in the method table. Everyone
//! else asks a question (`revision.accepts_batches()`), so that each rule has one home.
//!
//! Specification: basic/lifecycle (handshake era), basic/versioning (stateless era).

mod as_text;
mod errors;
mod meta_keys;
mod raw;
mod step;
mod step_down;
mod texts;
mod v2024_11_05;
mod v2025_03_26;
mod v2025_06_18;
mod v2025_11_25;
mod v2026_07_28;
mod walk;

use std::fmt;
use std::str::FromStr;

pub use errors::step_down_error;
pub use raw::{StepDownError, needs_step_down, step_down_params, step_down_result};
pub use step_down::{Loss, NotRepresentable, StepDown, losses};
pub use texts::step_down_texts;

/// A dated revision of the specification that this crate speaks.
///
/// The order is the order of publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Revision {
    /// The first one: stdio, and HTTP with two endpoints.
    V2024_11_05,
    /// Streamable HTTP, batches, tool annotations, audio.
    V2025_03_26,
    /// Structured results, elicitation, resource links; batches are gone.
    V2025_06_18,
    /// Tasks (experimental), url elicitation, icons, sampling with tools.
    V2025_11_25,
    /// Stateless: every request carries its own context.
    V2026_07_28,
}

/// The two ways in which peers agree on what they speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// `initialize` once, then a conversation. The specification says "legacy".
    Handshake,
    /// Every request stands alone. The specification says "modern".
    Stateless,
}

impl Revision {
    /// All revisions, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The newest revision.
    pub const LATEST: Self = Self::V2026_07_28;

    /// The newest revision that can be agreed by `initialize`.
    pub const LATEST_HANDSHAKE: Self = Self::V2025_11_25;

    /// The date as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// How peers agree on this revision.
    pub const fn era(self) -> Era {
        match self {
            Self::V2026_07_28 => Era::Stateless,
            _ => Era::Handshake,
        }
    }

    /// May one frame hold several messages?
    pub const fn accepts_batches(self) -> bool {
        matches!(self, Self::V2025_03_26)
    }

    /// Is an event stream over HTTP begun with an event that only has an id, so that the
    /// client can come back for it at any time?
    pub const fn primes_streams(self) -> bool {
        matches!(self, Self::V2025_11_25)
    }

    /// Must HTTP requests after the opening name the revision in a header?
    pub fn requires_version_header(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Is `completion/complete` announced by a capability (or simply tried)?
    pub fn announces_completion(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// May an error response lack its id?
    pub fn allows_error_without_id(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Are bad tool arguments a result with `isError` (or a protocol error)?
    pub fn reports_bad_arguments_as_result(self) -> bool {
        self >= Self::V2025_11_25
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The newest revision without a handshake that both sides speak.
pub fn choose_stateless<T: AsRef<str>>(theirs: &[T]) -> Option<Revision> {
    choose(theirs, Era::Stateless)
}

/// The newest revision with a handshake that both sides speak.
pub fn choose_handshake<T: AsRef<str>>(theirs: &[T]) -> Option<Revision> {
    choose(theirs, Era::Handshake)
}

fn choose<T: AsRef<str>>(theirs: &[T], era: Era) -> Option<Revision> {
    theirs
        .iter()
        .filter_map(|text| text.as_ref().parse::<Revision>().ok())
        .filter(|revision| revision.era() == era)
        .max()
}

/// What a server answers to `initialize`: the same revision if it serves that, else its newest
/// with a handshake, which the client may take or leave.
pub fn answer_handshake(requested: &str, served: &[Revision]) -> Option<Revision> {
    let mut with_handshake = served.iter().filter(|r| r.era() == Era::Handshake);
    with_handshake
        .clone()
        .find(|revision| revision.as_str() == requested)
        .or_else(|| with_handshake.by_ref().max())
        .copied()
}

/// The text names no revision that this crate speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownRevision;

impl fmt::Display for UnknownRevision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown protocol revision, expected one of")?;
        Revision::ALL.iter().try_for_each(|r| write!(f, " {r}"))
    }
}

impl std::error::Error for UnknownRevision {}

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, UnknownRevision> {
        Self::ALL
            .into_iter()
            .find(|r| r.as_str() == text)
            .ok_or(UnknownRevision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_holds_for_its_revisions_and_no_others() {
        let check = |rule: fn(Revision) -> bool, expected: &[&str]| {
            let found = Revision::ALL.into_iter().filter(|revision| rule(*revision));
            let found: Vec<_> = found.map(Revision::as_str).collect();
            assert_eq!(found, expected);
        };
        check(Revision::accepts_batches, &["2025-03-26"]);
        check(Revision::primes_streams, &["2025-11-25"]);
        check(
            Revision::requires_version_header,
            &["2025-06-18", "2025-11-25", "2026-07-28"],
        );
        check(
            Revision::announces_completion,
            &["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"],
        );
        check(
            Revision::allows_error_without_id,
            &["2025-11-25", "2026-07-28"],
        );
        check(
            Revision::reports_bad_arguments_as_result,
            &["2025-11-25", "2026-07-28"],
        );
    }

    #[test]
    fn an_unknown_revision_is_told_which_ones_are_known() {
        assert_eq!(
            "1900-01-01".parse::<Revision>().unwrap_err().to_string(),
            "unknown protocol revision, expected one of 2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28"
        );
    }
}
