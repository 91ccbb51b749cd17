//! The time, by the clock of the runtime: whoever stops that stops this one too.

use std::time::Instant;

/// Now.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
