//! What came of what was to be sent.

use std::sync::atomic::{AtomicU64, Ordering};

/// What came of what was to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportCounts {
    /// Spans that a collector took.
    pub sent: u64,
    /// Spans that came faster than they could be sent.
    pub dropped: u64,
    /// Spans that were given up: no collector took them, however often they were sent.
    pub failed: u64,
    /// Spans that a collector refused one by one, with an answer that they are not wanted.
    pub rejected: u64,
    /// How often the metrics were taken by a collector.
    pub metrics_sent: u64,
    /// How often they were given up.
    pub metrics_failed: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) sent: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) rejected: AtomicU64,
    pub(crate) metrics_sent: AtomicU64,
    pub(crate) metrics_failed: AtomicU64,
    /// Spans that are being sent.
    pub(crate) under_way: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, number: usize) {
        counter.fetch_add(number as u64, Ordering::Relaxed);
    }

    /// What was under way is lost.
    pub(crate) fn give_up(&self, left: usize) {
        let under_way = self.under_way.swap(0, Ordering::Relaxed);
        self.failed
            .fetch_add(under_way.saturating_add(left as u64), Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> ExportCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ExportCounts {
            sent: read(&self.sent),
            dropped: read(&self.dropped),
            failed: read(&self.failed),
            rejected: read(&self.rejected),
            metrics_sent: read(&self.metrics_sent),
            metrics_failed: read(&self.metrics_failed),
        }
    }
}
