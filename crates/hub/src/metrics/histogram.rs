//! How long calls took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts durations by their length.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    counts: [AtomicU64; BUCKETS],
    /// Nanoseconds; in all, as many as fit into five centuries.
    sum: AtomicU64,
}

impl Histogram {
    pub(super) fn add(&self, duration: Duration) {
        let bucket = DURATION_BOUNDS.partition_point(|bound| *bound < duration);
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.sum.fetch_add(nanos, Ordering::Relaxed);
    }

    pub(super) fn snapshot(&self) -> Durations {
        Durations {
            counts: std::array::from_fn(|bucket| {
                let count = self.counts.get(bucket);
                count.map_or(0, |count| count.load(Ordering::Relaxed))
            }),
            sum: Duration::from_nanos(self.sum.load(Ordering::Relaxed)),
        }
    }
}

/// How many calls took how long.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Durations {
    /// How many took no longer than the bound of the same place in [`DURATION_BOUNDS`], and
    /// longer than the one before it; the last, how many took longer than all of them.
    pub counts: [u64; BUCKETS],
    /// How long all of them took together.
    pub sum: Duration,
}

impl Durations {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// The bounds that the conventions name for `mcp.client.operation.duration`.
pub const DURATION_BOUNDS: [Duration; BUCKETS - 1] = [
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(30),
    Duration::from_secs(60),
    Duration::from_secs(120),
    Duration::from_secs(300),
];

const BUCKETS: usize = 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_where_it_is_not_longer_than_the_bound() {
        let histogram = Histogram::default();
        for millis in [0, 10, 11, 20, 300_000, 300_001, 9_999_999] {
            histogram.add(Duration::from_millis(millis));
        }
        let durations = histogram.snapshot();
        assert_eq!(
            durations.counts,
            [2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]
        );
        assert_eq!(durations.count(), 7);
        assert_eq!(durations.sum, Duration::from_millis(10_600_041));
    }
}
