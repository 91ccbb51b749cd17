//! Spans that wait to be sent.
//!
//! Whoever ends a call puts one in and goes on at once. Of those that do not fit, the oldest go:
//! what happens now is worth more than what happened before.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::draft::FinishedSpan;

#[derive(Debug)]
pub(crate) struct Queue {
    spans: Mutex<VecDeque<FinishedSpan>>,
    most: usize,
    batch: usize,
    /// There are enough to be sent.
    pub(crate) filled: Notify,
}

impl Queue {
    pub(crate) fn new(most: usize, batch: usize) -> Self {
        Self {
            spans: Mutex::default(),
            most: most.max(1),
            batch: batch.clamp(1, most.max(1)),
            filled: Notify::new(),
        }
    }

    /// Puts one in. False if another had to go for it.
    pub(crate) fn push(&self, span: FinishedSpan) -> bool {
        let mut spans = self.spans();
        let dropped = match spans.len() >= self.most {
            true => spans.pop_front(),
            false => None,
        };
        spans.push_back(span);
        let is_filled = spans.len() == self.batch;
        drop(spans);
        if is_filled {
            self.filled.notify_one();
        }
        dropped.is_none()
    }

    /// The oldest, at most as many as are sent at once.
    pub(crate) fn take(&self) -> Vec<FinishedSpan> {
        let mut spans = self.spans();
        let number = spans.len().min(self.batch);
        spans.drain(..number).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.spans().len()
    }

    /// Are there as many as are sent at once?
    pub(crate) fn has_batch(&self) -> bool {
        self.len() >= self.batch
    }

    fn spans(&self) -> MutexGuard<'_, VecDeque<FinishedSpan>> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
