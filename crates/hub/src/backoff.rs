//! How long a server that ended is left alone before it is started again.
//!
//! Pure: chance and time are given.

use std::time::Duration;

use tokio::time::Instant;

/// Counts ends in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Backoff {
    ends: u32,
    /// The last ones, the latest first.
    starts: [Option<Instant>; MOST_IN_A_MINUTE],
}

impl Backoff {
    /// It is started.
    pub(crate) fn started(&mut self, now: Instant) {
        self.starts.rotate_right(1);
        if let Some(latest) = self.starts.first_mut() {
            *latest = Some(now);
        }
    }

    /// It ended after it had been ready for this long, or never was. How long to wait; none if
    /// it has ended more often than `most` to be tried again by itself.
    ///
    /// `chance` is anything from 0 to 65 535: many that end at the same time, as when a network
    /// is gone, do not come back at the same time.
    pub(crate) fn ended(
        &mut self,
        now: Instant,
        ready_for: Option<Duration>,
        most: usize,
        chance: u16,
    ) -> Option<Duration> {
        if ready_for.is_some_and(|time| time >= STEADY) {
            self.ends = 0;
        }
        self.ends = self.ends.saturating_add(1);
        if usize::try_from(self.ends).is_ok_and(|ends| ends > most) {
            return None;
        }
        let doublings = (self.ends - 1).min(16);
        let full = FIRST.saturating_mul(1 << doublings).min(LONGEST);
        // Between half of it and all of it.
        let half = full / 2;
        let wait = half + half.mul_f64(f64::from(chance) / f64::from(u16::MAX));
        Some(wait.max(self.rest_of_minute(now)))
    }

    /// How long until it has not been started too often.
    fn rest_of_minute(&self, now: Instant) -> Duration {
        let first = self.starts.last().copied().flatten();
        first.map_or(Duration::ZERO, |first| {
            (first + MINUTE).saturating_duration_since(now)
        })
    }

    /// How many ends in a row there were.
    pub(crate) const fn ends(self) -> u32 {
        self.ends
    }
}

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(60);
const MINUTE: Duration = Duration::from_secs(60);
const MOST_IN_A_MINUTE: usize = 5;
// Who was ready for this long did not end because of how it was started.
const STEADY: Duration = Duration::from_secs(60);
// By then a quarter of an hour has passed. Whoever changes something starts it again.
pub(crate) const MOST_IN_A_ROW: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_and_then_it_is_given_up() {
        let mut backoff = Backoff::default();
        let mut waits = Vec::new();
        let now = Instant::now();
        while let Some(wait) = backoff.ended(now, None, MOST_IN_A_ROW, u16::MAX) {
            waits.push(wait.as_millis());
        }
        assert_eq!(
            waits[..8],
            [500, 1000, 2000, 4000, 8000, 16000, 32000, 60000]
        );
        assert_eq!(waits.len(), 20);
        assert!(waits[8..].iter().all(|wait| *wait == 60000));
    }

    #[test]
    fn it_is_started_five_times_a_minute_at_most() {
        let mut backoff = Backoff::default();
        let mut now = Instant::now();
        let mut starts = Vec::new();
        loop {
            backoff.started(now);
            starts.push(now);
            // It ends at once, and chance lets it come back as soon as it may.
            match backoff.ended(now, None, MOST_IN_A_ROW, 0) {
                Some(wait) => now += wait,
                None => break,
            }
        }
        for six in starts.windows(MOST_IN_A_MINUTE + 1) {
            assert!(six[MOST_IN_A_MINUTE] - six[0] >= MINUTE, "{six:?}");
        }
        let early = starts.iter().filter(|at| **at - starts[0] < MINUTE);
        assert_eq!(early.count(), MOST_IN_A_MINUTE);
    }

    #[test]
    fn chance_takes_away_half_at_most() {
        let wait = |chance| {
            Backoff::default()
                .ended(Instant::now(), None, 1, chance)
                .unwrap()
        };
        assert_eq!(wait(0), FIRST / 2);
        assert_eq!(wait(u16::MAX), FIRST);
        assert!(wait(1) < wait(u16::MAX / 2));
    }

    #[test]
    fn whoever_was_steady_begins_anew() {
        let mut backoff = Backoff::default();
        let now = Instant::now();
        for _ in 0..5 {
            backoff.ended(now, Some(Duration::from_secs(59)), 5, 0);
        }
        assert_eq!(backoff.ends(), 5);
        assert_eq!(backoff.ended(now, None, 5, 0), None);
        assert_eq!(backoff.ended(now, Some(STEADY), 5, u16::MAX), Some(FIRST));
    }
}
