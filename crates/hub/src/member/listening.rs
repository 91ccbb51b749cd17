//! Hears of changes at a server, as long as the connection lasts.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use switchboard_client::types::SubscriptionFilter;
use switchboard_client::{Change, Client, Ready, Subscription};
use tokio::time::{Instant, sleep_until, timeout};

use crate::metrics::ServerMeter;

/// Hears of changes.
pub(super) struct Listening {
    client: Client,
    meter: Arc<ServerMeter>,
    filter: SubscriptionFilter,
    stage: Stage,
    wait: Duration,
    has_begun: bool,
}

/// What is waited for.
enum Stage {
    /// That the server agrees.
    Asking(Pin<Box<dyn Future<Output = Option<Subscription>> + Send>>),
    /// The next change.
    Standing {
        subscription: Subscription,
        since: Instant,
    },
    /// That it is time to ask again.
    Pausing(Instant),
    /// The server tells of no changes: that it is time to look at how long its lists hold.
    Mute(Instant),
}

impl Listening {
    pub(super) fn new(client: &Client, ready: &Ready, meter: &Arc<ServerMeter>) -> Self {
        let mut wanted = SubscriptionFilter::default();
        wanted.tools_list_changed = Some(true);
        wanted.prompts_list_changed = Some(true);
        wanted.resources_list_changed = Some(true);
        let filter = wanted.within(&ready.capabilities);
        let stage = match filter == SubscriptionFilter::default() {
            true => Stage::Mute(Instant::now()),
            false => ask(client, &filter, meter),
        };
        Self {
            client: client.clone(),
            meter: Arc::clone(meter),
            filter,
            stage,
            wait: FIRST_WAIT,
            has_begun: false,
        }
    }

    /// What is heard next. First of all, that it has begun: what is listed after that and changes
    /// is heard of. Whoever does not answer in time is listed all the same.
    ///
    /// Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> Heard {
        loop {
            match &mut self.stage {
                Stage::Asking(asking) => match asking.await {
                    Some(subscription) => {
                        let since = Instant::now();
                        self.stage = Stage::Standing {
                            subscription,
                            since,
                        };
                        return match std::mem::replace(&mut self.has_begun, true) {
                            true => Heard::Missed,
                            false => Heard::Begun,
                        };
                    }
                    None => self.pause(),
                },
                Stage::Standing {
                    subscription,
                    since,
                } => match subscription.next().await {
                    Ok(Some(change)) => return Heard::Change(change),
                    Ok(None) | Err(_) => {
                        if since.elapsed() >= LONGEST_WAIT {
                            self.wait = FIRST_WAIT;
                        }
                        self.pause();
                    }
                },
                Stage::Pausing(until) => {
                    sleep_until(*until).await;
                    self.stage = ask(&self.client, &self.filter, &self.meter);
                }
                Stage::Mute(until) => {
                    sleep_until(*until).await;
                    self.stage = Stage::Mute(Instant::now() + LOOKS);
                    if self.has_begun {
                        return Heard::Nothing;
                    }
                }
            }
            if !std::mem::replace(&mut self.has_begun, true) {
                return Heard::Begun;
            }
        }
    }

    fn pause(&mut self) {
        self.stage = Stage::Pausing(Instant::now() + self.wait);
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
    }
}

fn ask(client: &Client, filter: &SubscriptionFilter, meter: &Arc<ServerMeter>) -> Stage {
    let (client, filter, meter) = (client.clone(), filter.clone(), Arc::clone(meter));
    Stage::Asking(Box::pin(async move {
        let Ok(listening) = timeout(FOR_AGREEING, client.listen(filter)).await else {
            meter.reached("agreeing");
            return None;
        };
        listening.ok()
    }))
}

/// What is heard of a server.
pub(super) enum Heard {
    /// From now on, changes are heard.
    Begun,
    /// Something has changed.
    Change(Change),
    /// Something may have changed while nobody listened.
    Missed,
    /// Nothing for a while, of a server that never says anything: lists may hold no longer.
    Nothing,
}

// Most answer at once.
const FOR_AGREEING: Duration = Duration::from_secs(5);
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const LOOKS: Duration = Duration::from_secs(60);
