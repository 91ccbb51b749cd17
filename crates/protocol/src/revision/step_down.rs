//! Writing a newer value for an older peer.

use crate::revision::Revision;
use crate::types::{InitializeRequestParams, InitializeResult};

/// A value that can be written for a peer of an older revision.
pub trait StepDown {
    /// Takes out, or puts into the nearest older form, what the revision does not have.
    fn step_down(&mut self, to: Revision);
}

impl StepDown for InitializeRequestParams {
    fn step_down(&mut self, _to: Revision) {}
}

impl StepDown for InitializeResult {
    fn step_down(&mut self, _to: Revision) {}
}
