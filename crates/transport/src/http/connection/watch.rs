//! Watches whether a connection gets on: its head, its next request, what is written to it.
//!
//! That is looked at every few seconds, since a timer for each request would cost more than
//! many requests do.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep};

use super::wire::Progress;
use crate::http::HttpSettings;

/// Looks now and then.
#[derive(Debug)]
pub(super) struct Watch {
    every: Duration,
    timer: Pin<Box<Sleep>>,
    /// The timer will wake the task.
    is_set: bool,
    /// After how many looks each patience ends.
    head_looks: u32,
    idle_looks: u32,
    stall_looks: u32,
    /// What the last look saw, and for how many looks it has been so.
    seen: Progress,
    reading: u32,
    idle: u32,
    stalled: u32,
}

impl Watch {
    pub(super) fn new(settings: &HttpSettings) -> Self {
        // A response that is waited for is asked at each look whether that was for long.
        let every = (settings.header_timeout / 2).min(settings.stream.keep_alive / 3);
        let every = every.max(SHORTEST_LOOK);
        let looks = |patience: Duration| {
            let looks = patience.as_nanos().div_ceil(every.as_nanos());
            u32::try_from(looks).unwrap_or(u32::MAX).saturating_add(1)
        };
        Self {
            every,
            timer: Box::pin(tokio::time::sleep(every)),
            is_set: false,
            head_looks: looks(settings.header_timeout),
            idle_looks: looks(settings.idle_timeout),
            stall_looks: looks(settings.write_stall),
            seen: Progress::default(),
            reading: 0,
            idle: 0,
            stalled: 0,
        }
    }

    /// It is another task that is to be woken from now on.
    pub(super) const fn forget_task(&mut self) {
        self.is_set = false;
    }

    /// Ready when the connection has kept us waiting for too long, with the name of that limit.
    /// `look` says what has happened, and whether a request has begun to come.
    pub(super) fn poll_lapse(
        &mut self,
        cx: &mut Context<'_>,
        mut look: impl FnMut() -> (Progress, bool),
    ) -> Poll<&'static str> {
        // Once is enough for each task. Not even one that has done much may be put off then.
        if self.is_set && !self.timer.is_elapsed() {
            return Poll::Pending;
        }
        while pin!(unconstrained(self.timer.as_mut())).poll(cx).is_ready() {
            let (progress, is_reading) = look();
            if let Some(limit) = self.lapsed(progress, is_reading) {
                return Poll::Ready(limit);
            }
            // From now on: whoever could not run for long has looked only once meanwhile.
            self.timer.as_mut().reset(Instant::now() + self.every);
        }
        self.is_set = true;
        Poll::Pending
    }

    fn lapsed(&mut self, now: Progress, is_reading: bool) -> Option<&'static str> {
        let is_new_request = now.requests != self.seen.requests;
        let has_written = now.writes != self.seen.writes;
        self.seen = now;
        // One that was not there at the last look is seen for the first time.
        let count = |holds: bool, is_new: bool, looks: u32| match (holds, is_new) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => looks.saturating_add(1),
        };
        let is_free = !now.is_serving;
        // Who connects wants something, so the first head is late even if it has not begun.
        let is_head_due = is_reading || now.requests == 0;
        self.stalled = count(now.is_blocked, has_written, self.stalled);
        self.reading = count(is_free && is_head_due, is_new_request, self.reading);
        self.idle = count(is_free && !is_head_due, is_new_request, self.idle);
        let limits = [
            (self.stalled >= self.stall_looks, "stallSeconds"),
            (self.reading >= self.head_looks, "headSeconds"),
            (self.idle >= self.idle_looks, "idleSeconds"),
        ];
        let reached = limits.into_iter().find(|(is_reached, _)| *is_reached);
        reached.map(|(_, limit)| limit)
    }
}

// Looking more often would cost without need.
const SHORTEST_LOOK: Duration = Duration::from_millis(10);
