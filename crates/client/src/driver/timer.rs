//! Waits for the next time that matters, which changes with every call.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::time::{Sleep, sleep_until};

/// A timer that is set again and again.
#[derive(Debug, Default)]
pub(super) struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    /// Ready when this time has come.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, at: Instant) -> Poll<()> {
        let wanted = tokio::time::Instant::from_std(at);
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(wanted)));
        // As calls are answered the time moves on. A timer that wakes us too early now and then
        // costs less than one that is set with every answer.
        if sleep.deadline() > wanted {
            sleep.as_mut().reset(wanted);
        }
        loop {
            ready!(sleep.as_mut().poll(cx));
            if sleep.deadline() >= wanted {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(wanted);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_time_that_moves_is_not_missed() {
        let start = tokio::time::Instant::now();
        let mut timer = Timer::default();
        for seconds in [10, 5, 20] {
            let at = start + Duration::from_secs(seconds);
            let once = poll_fn(|cx| Poll::Ready(timer.poll(cx, at.into_std())));
            assert_eq!(once.await, Poll::Pending);
        }
        let at = start + Duration::from_secs(30);
        poll_fn(|cx| timer.poll(cx, at.into_std())).await;
        assert_eq!(start.elapsed(), Duration::from_secs(30));
    }
}
