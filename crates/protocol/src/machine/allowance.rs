//! How long a call may still take.
//!
//! Two clocks: one that any sign of life restarts, one that nothing restarts.
//! Both stand still while a person is asked, because people are slow and that
//! is not the server's fault.

use std::time::{Duration, Instant};

/// The time a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// Without an answer or progress.
    pub idle: Option<Duration>,
    /// In all.
    pub total: Option<Duration>,
    /// What has gone by of `total` before the request is made.
    pub spent: Duration,
}

impl Timeouts {
    /// Both limits.
    pub const fn new(idle: Option<Duration>, total: Option<Duration>) -> Self {
        let spent = Duration::ZERO;
        Self { idle, total, spent }
    }

    /// Both limits, for what began so long before its request is made.
    pub const fn after(self, spent: Duration) -> Self {
        Self { spent, ..self }
    }

    /// What is left of `total` when the request is made.
    pub fn left(&self) -> Option<Duration> {
        self.total.map(|total| total.saturating_sub(self.spent))
    }

    /// No limit at all: for what is meant to stay open.
    pub const NONE: Self = Self::new(None, None);
}

impl Default for Timeouts {
    // A tool that is silent for a minute is stuck more often than it is slow,
    // and one that reports progress is alive; but nobody waits for ever.
    fn default() -> Self {
        Self::new(
            Some(Duration::from_secs(60)),
            Some(Duration::from_secs(600)),
        )
    }
}

/// Which limit ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expired {
    /// No answer and no progress for this long.
    Idle(Duration),
    /// No answer for this long, progress or not.
    Total(Duration),
}

/// The clocks of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    limits: Timeouts,
    started: Instant,
    alive: Instant,
    stopped: Option<Instant>,
}

impl Allowance {
    pub(crate) const fn new(now: Instant, limits: Timeouts) -> Self {
        Self {
            limits,
            started: now,
            alive: now,
            stopped: None,
        }
    }

    /// A sign of life came.
    pub(crate) const fn restart_idle(&mut self, now: Instant) {
        self.alive = now;
    }

    /// From now on it may take as long as it likes.
    pub(crate) const fn lift(&mut self) {
        self.limits = Timeouts::NONE;
    }

    /// Both clocks stand still from now on.
    pub(crate) fn stop(&mut self, now: Instant) {
        self.stopped.get_or_insert(now);
    }

    /// Both clocks go on.
    pub(crate) fn go_on(&mut self, now: Instant) {
        if let Some(since) = self.stopped.take() {
            let pause = now.saturating_duration_since(since);
            self.started += pause;
            self.alive += pause;
        }
    }

    /// When it runs out, if nothing happens before.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        if self.stopped.is_some() {
            return None;
        }
        let idle = self.limits.idle.and_then(|d| self.alive.checked_add(d));
        let total = self.limits.left().and_then(|d| self.started.checked_add(d));
        [idle, total].into_iter().flatten().min()
    }

    /// Which limit has run out by now.
    pub(crate) fn expired(&self, now: Instant) -> Option<Expired> {
        if self.stopped.is_some() {
            return None;
        }
        let is_over = |from: Instant, limit: Option<Duration>| {
            let end = limit.and_then(|limit| from.checked_add(limit));
            end.is_some_and(|end| end <= now)
        };
        let limits = self.limits;
        if is_over(self.started, limits.left()) {
            return limits.total.map(Expired::Total);
        }
        let is_silent = is_over(self.alive, limits.idle);
        limits.idle.filter(|_| is_silent).map(Expired::Idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::now;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn both_clocks_stand_still_in_a_pause() {
        let now = now();
        let limit = Some(10 * SECOND);
        for timeouts in [Timeouts::new(limit, None), Timeouts::new(None, limit)] {
            let mut clocks = Allowance::new(now, timeouts);
            clocks.stop(now + SECOND);
            assert_eq!(clocks.deadline(), None);
            assert_eq!(clocks.expired(now + 60 * SECOND), None);
            clocks.go_on(now + 3 * SECOND);
            assert_eq!(clocks.deadline(), Some(now + 12 * SECOND));
        }
    }

    #[test]
    fn what_has_gone_by_before_counts_to_the_whole_time_alone() {
        let timeouts = Timeouts::new(Some(4 * SECOND), Some(10 * SECOND));
        assert_eq!(timeouts.left(), Some(10 * SECOND));
        let later = timeouts.after(7 * SECOND);
        assert_eq!(later.left(), Some(3 * SECOND));
        assert_eq!((later.idle, later.total), (timeouts.idle, timeouts.total));
        assert_eq!(timeouts.after(11 * SECOND).left(), Some(Duration::ZERO));
    }
}
