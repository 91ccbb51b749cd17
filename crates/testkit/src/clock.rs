//! A clock that stands still until a test moves it.

use std::time::{Duration, Instant};

/// A point in time that only the test moves.
#[derive(Clone, Copy, Debug)]
pub struct ManualClock {
    now: Instant,
}

impl ManualClock {
    /// A clock that shows some time; which one does not matter.
    pub fn new() -> Self {
        Self {
            now: Instant::now(),
        }
    }

    /// What it shows.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Moves it forward.
    pub fn advance(&mut self, by: Duration) {
        self.now += by;
    }

    /// Moves it forward to a time, never back.
    pub fn advance_to(&mut self, time: Instant) {
        self.now = self.now.max(time);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}
