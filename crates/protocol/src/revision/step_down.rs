//! Writing a value for a peer of an older revision.
//!
//! A value holds what any revision has. Stepping down takes out, revision by
//! revision from the newest to the peer's, what the peer does not have, or puts it
//! into the nearest honest older form. The newest revision also dropped things
//! that older ones have, so it is a step of its own, beside those of the handshake
//! era: a value for 2025-11-25 never passes through 2026-07-28.
//!
//! What each revision takes out is in the file named for it; which parts a type
//! has is in `walk`. Members that this crate does not know are always kept: they
//! belong to the peers.

use std::fmt;

use crate::method::Method;
use crate::revision::step::Step;
use crate::revision::{Revision, v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28};

/// A value that can be written for a peer of another revision.
pub trait StepDown {
    /// Takes out, or puts into the nearest older form, what the revision does not have.
    ///
    /// Doing it twice is doing it once. A value that [`check_step_down`] refuses
    /// is stepped down as far as it goes and then means something else, or is not
    /// valid: check first where that can happen.
    ///
    /// [`check_step_down`]: Self::check_step_down
    fn step_down(&mut self, to: Revision);

    /// Can the revision say what this value says?
    ///
    /// Losing what only decorates (an icon, a title) is no hindrance.
    ///
    /// # Errors
    /// When the value would become something that its sender did not mean.
    fn check_step_down(&self, to: Revision) -> Result<(), NotRepresentable> {
        let _ = to;
        Ok(())
    }
}

/// What a revision has no form for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotRepresentable {
    /// The method is not part of the revision.
    Method(Method),
    /// A form with a required field that takes several values (before 2025-11-25).
    MultiSelect,
    /// A URL to visit (before 2025-11-25).
    UrlElicitation,
    /// A URL to visit without `elicitationId`, which 2025-11-25 requires: mint one first.
    ElicitationId,
    /// Sampling with tools (before 2025-11-25).
    SamplingTools,
    /// A result that asks, or a request that brings the answers (before 2026-07-28).
    InputRequired,
    /// A task in a form that the revision does not have.
    Task,
    /// A cancellation that does not say of what (only 2025-11-25 allows it).
    RequestId,
}

impl fmt::Display for NotRepresentable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::Method(method) => return write!(f, "the revision has no method {method}"),
            Self::MultiSelect => "form field that takes several values",
            Self::UrlElicitation => "elicitation by url",
            Self::ElicitationId => "elicitation by url without elicitationId",
            Self::SamplingTools => "sampling with tools",
            Self::InputRequired => "request in several round trips",
            Self::Task => "task of this form",
            Self::RequestId => "cancellation without requestId",
        };
        write!(f, "the revision has no {what}")
    }
}

impl std::error::Error for NotRepresentable {}

/// One thing that a value loses on the way to a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The revision that does not have it.
    pub revision: Revision,
    /// What it does not have.
    pub what: &'static str,
    /// What is written instead.
    pub becomes: &'static str,
}

impl Loss {
    pub(super) const fn new(revision: Revision, what: &'static str, becomes: &'static str) -> Self {
        Self {
            revision,
            what,
            becomes,
        }
    }
}

/// Everything that values lose, the newest revision first.
///
/// A peer of the handshake era loses what is listed for its revision and for every
/// newer one of that era.
pub fn losses() -> impl Iterator<Item = &'static Loss> {
    [
        v2026_07_28::LOSSES,
        v2025_11_25::LOSSES,
        v2025_06_18::LOSSES,
        v2025_03_26::LOSSES,
        v2024_11_05::LOSSES,
    ]
    .into_iter()
    .flatten()
}

/// The steps to a revision, newest first.
pub(super) fn steps(to: Revision) -> impl Iterator<Item = &'static dyn Step> {
    STEPS.iter().copied().filter(move |step| {
        let revision = step.revision();
        revision.era() == to.era() && revision >= to
    })
}

static STEPS: [&dyn Step; 5] = [
    &v2026_07_28::Down,
    &v2025_11_25::Down,
    &v2025_06_18::Down,
    &v2025_03_26::Down,
    &v2024_11_05::Down,
];

#[cfg(test)]
pub(super) mod testing {
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::Value;

    use super::*;

    /// The first text, stepped down, is the second.
    pub(in crate::revision) fn check<T>(to: Revision, before: &str, after: &str)
    where
        T: StepDown + Serialize + DeserializeOwned,
    {
        let mut value: T = serde_json::from_str(before).unwrap();
        value.step_down(to);
        let expected: Value = serde_json::from_str(after).unwrap();
        assert_eq!(serde_json::to_value(&value).unwrap(), expected, "{before}");
    }

    /// The revision cannot, or can, say what the text says.
    pub(in crate::revision) fn refuse<T>(to: Revision, text: &str, why: Option<NotRepresentable>)
    where
        T: StepDown + DeserializeOwned,
    {
        let value: T = serde_json::from_str(text).unwrap();
        assert_eq!(value.check_step_down(to).err(), why, "{to} {text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_peer_does_not_lose_what_only_the_newest_revision_dropped() {
        let passed = |to| steps(to).map(Step::revision).collect::<Vec<_>>();
        assert_eq!(passed(Revision::V2026_07_28), [Revision::V2026_07_28]);
        assert_eq!(passed(Revision::V2025_11_25), [Revision::V2025_11_25]);
        let mut handshake = Revision::ALL[..4].to_vec();
        handshake.reverse();
        assert_eq!(passed(Revision::V2024_11_05), handshake);
    }

    #[test]
    fn every_loss_is_listed_under_the_revision_of_its_file() {
        assert!(losses().is_sorted_by(|a, b| a.revision >= b.revision));
        for revision in Revision::ALL {
            assert!(losses().any(|loss| loss.revision == revision), "{revision}");
        }
    }
}
