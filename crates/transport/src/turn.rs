//! How long tasks may go on while there is always more to do.
//!
//! One that wakes itself is run again at once, and as long as somebody is run the runtime seldom
//! looks whether anything has come for others. A peer that floods us would be all that is heard.
//!
//! The tasks of a thread have a round together. When it is over, each waits until the runtime has
//! looked; then it may take one step, and the first of them begins the next round.

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::Instant;

/// The part of one task.
#[derive(Debug, Default)]
pub struct Turn {
    /// The round at whose end it waits.
    waits_since: Option<u64>,
}

#[derive(Clone, Copy)]
struct Round {
    number: u64,
    began: Option<Instant>,
}

thread_local! {
    static ROUND: Cell<Round> = const { Cell::new(Round { number: 0, began: None }) };
}

impl Turn {
    /// Ready when it may take another step. Otherwise the task is woken when everybody has had their
    /// turn, also those for whom something has come meanwhile.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let now = Instant::now();
        let mut round = ROUND.get();
        let waited = self.waits_since.take();
        if round.began.is_none() || waited == Some(round.number) {
            round = Round {
                number: round.number.wrapping_add(1),
                began: Some(now),
            };
            ROUND.set(round);
        }
        let is_over = round.began.is_some_and(|began| now - began >= LONGEST);
        if !is_over || waited.is_some() {
            return Poll::Ready(());
        }
        self.waits_since = Some(round.number);
        pin!(yield_now()).poll(cx)
    }
}

/// What somebody else's call waits for, a few times. Shorter ones would be spent on asking for
/// what has come.
const LONGEST: Duration = Duration::from_micros(200);

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    /// How often it waited before it could go on.
    async fn waits(turn: &mut Turn) -> usize {
        let mut waits = 0;
        poll_fn(|cx| {
            let outcome = turn.poll(cx);
            waits += usize::from(outcome.is_pending());
            outcome
        })
        .await;
        waits
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_goes_on_for_long_waits_once() {
        let mut turn = Turn::default();
        assert_eq!(waits(&mut turn).await, 0);
        tokio::time::advance(LONGEST).await;
        assert_eq!(waits(&mut turn).await, 1);
        assert_eq!(waits(&mut turn).await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_come_late_in_a_round_have_one_step_in_each() {
        let (mut first, mut second) = (Turn::default(), Turn::default());
        let poll = async |turn: &mut Turn| poll_fn(|cx| Poll::Ready(turn.poll(cx))).await;
        assert!(poll(&mut first).await.is_ready());
        tokio::time::advance(LONGEST).await;
        assert!(poll(&mut first).await.is_pending());
        assert!(poll(&mut second).await.is_pending());
        // The first begins the next round, and takes all of it.
        assert!(poll(&mut first).await.is_ready());
        tokio::time::advance(LONGEST).await;
        assert!(poll(&mut first).await.is_pending());
        assert!(poll(&mut second).await.is_ready());
        assert!(poll(&mut second).await.is_pending());
    }
}
