//! Whether a server that nobody hears of is still alive.
//!
//! A process that hangs says nothing, so it is asked: now and then, and at once when a call was in
//! vain. One that works on a call is left alone, because many can do but one thing at a time.
//!
//! Specification: 2025-11-25 basic/utilities/ping.

use std::future::{Future, pending};
use std::pin::Pin;
use std::time::Duration;

use switchboard_client::{Class, Client};
use tokio::time::{Instant, sleep_until, timeout};

use super::uses::Uses;

/// Asks a server for signs of life.
pub(super) struct Health {
    client: Client,
    /// How often it is asked. None: only when there is a reason.
    every: Option<Duration>,
    due: Option<Instant>,
    ping: Option<Ping>,
    missed: u32,
}

type Ping = Pin<Box<dyn Future<Output = bool> + Send>>;

impl Health {
    pub(super) fn new(client: &Client, every: Option<Duration>) -> Self {
        Self {
            client: client.clone(),
            every,
            due: after(every),
            ping: None,
            missed: 0,
        }
    }

    /// Waits until it must be taken for dead. Nothing is lost when the future is dropped.
    pub(super) async fn fails(&mut self, uses: &Uses) {
        loop {
            let Some(ping) = &mut self.ping else {
                self.wait(uses).await;
                let limit = self.every.unwrap_or(LIMIT).clamp(SHORTEST, LIMIT);
                self.ping = Some(Box::pin(lives(self.client.clone(), limit)));
                continue;
            };
            let lives = ping.await;
            self.ping = None;
            // Whoever works has no time.
            if lives || uses.keep_it_busy() {
                self.missed = 0;
                self.due = after(self.every);
                continue;
            }
            self.missed += 1;
            if self.missed >= MOST_MISSED {
                return;
            }
            self.due = Some(Instant::now());
        }
    }

    /// Waits until it is time to ask.
    async fn wait(&mut self, uses: &Uses) {
        loop {
            let due = self.due;
            let time = async move {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                () = uses.suspected() => {}
                () = time => {}
            }
            if !uses.keep_it_busy() {
                return;
            }
            self.due = Some(Instant::now() + AFTER_WORK);
        }
    }
}

/// Does it give a sign of life in time? A refusal is one, too.
async fn lives(client: Client, limit: Duration) -> bool {
    match timeout(limit, client.ping()).await {
        Ok(Err(error)) => !matches!(error.class(), Class::Connection | Class::Timeout),
        Ok(Ok(())) => true,
        Err(_) => false,
    }
}

fn after(time: Option<Duration>) -> Option<Instant> {
    Instant::now().checked_add(time?)
}

pub(super) const MOST_MISSED: u32 = 2;
const LIMIT: Duration = Duration::from_secs(10);
const SHORTEST: Duration = Duration::from_secs(1);
const AFTER_WORK: Duration = Duration::from_secs(1);
