//! Hears when one resource changes, across restarts of its server.
//!
//! Specification: 2025-11-25 server/resources (subscriptions); 2026-07-28
//! basic/patterns/subscriptions.

use std::time::Duration;

use switchboard_client::types::SubscriptionFilter;
use switchboard_client::{Change, State, States, Subscription};
use tokio::time::{Instant, sleep_until, timeout};

use crate::call::{ReadResource, find};
use crate::error::HubError;
use crate::hub::Hub;
use crate::member::InUse;

/// Hears when a resource changes. Dropping it ends the subscription at the server.
#[derive(Debug)]
pub struct ResourceWatch {
    hub: Hub,
    server: String,
    uri: String,
    standing: Option<Standing>,
    /// Not before it is tried again.
    after: Instant,
    wait: Duration,
}

/// A subscription, and what keeps its server from being ended for want of calls.
#[derive(Debug)]
struct Standing {
    subscription: Subscription,
    states: States,
    since: Instant,
    _in_use: InUse,
}

impl ResourceWatch {
    pub(crate) async fn begin(hub: &Hub, uri: &str) -> Result<Self, HubError> {
        let target = find(hub, &ReadResource::new(None, uri)).await?;
        let (server, uri) = (target.server().to_string(), target.name().to_owned());
        let standing = subscribe(hub, &server, &uri).await?;
        Ok(Self {
            hub: hub.clone(),
            server,
            uri,
            standing: Some(standing),
            after: Instant::now(),
            wait: FIRST_WAIT,
        })
    }

    /// The server that has the resource.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Waits until the resource has changed, or may have: a server that was started anew did not
    /// tell of what happened in between.
    ///
    /// Nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// When the server is gone or cannot be called. It may be asked again.
    pub async fn changed(&mut self) -> Result<(), HubError> {
        loop {
            let Some(standing) = &mut self.standing else {
                sleep_until(self.after).await;
                self.standing = Some(subscribe(&self.hub, &self.server, &self.uri).await?);
                return Ok(());
            };
            let change = tokio::select! {
                biased;
                change = standing.subscription.next() => change,
                // A session that was lost and found.
                state = standing.states.next() => match state {
                    Some(State::Ready(_)) => return Ok(()),
                    _ => continue,
                },
            };
            match change {
                Ok(Some(Change::Resource(uri))) if uri == self.uri => return Ok(()),
                Ok(Some(_)) => {}
                Ok(None) => self.end(),
                Err(_) => self.lose(),
            }
        }
    }

    /// The server has ended the subscription: one that it ends again and again is made less and less
    /// often.
    fn end(&mut self) {
        let stood = self
            .standing
            .take()
            .map(|standing| standing.since.elapsed());
        if stood.is_some_and(|stood| stood >= STOOD_LONG) {
            self.wait = FIRST_WAIT;
        }
        self.after = Instant::now() + self.wait;
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
    }

    /// The connection is over. How soon there is another is for the server's keeper to say, and
    /// whoever watches meanwhile waits no longer than that.
    fn lose(&mut self) {
        self.standing = None;
        self.after = Instant::now() + FIRST_WAIT;
    }
}

async fn subscribe(hub: &Hub, server: &str, uri: &str) -> Result<Standing, HubError> {
    let client = hub.client(server).await?;
    let states = client.states();
    let mut filter = SubscriptionFilter::default();
    filter.resource_subscriptions = Some(vec![uri.to_owned()]);
    let not_watchable = || HubError::NotWatchable {
        server: server.to_owned(),
        uri: uri.to_owned(),
    };
    let Ok(subscription) = timeout(FOR_AGREEING, client.listen(filter)).await else {
        client.member().meter.reached("agreeing");
        return Err(not_watchable());
    };
    let subscription = subscription?;
    let granted = subscription.granted();
    if !granted.resources().iter().any(|granted| granted == uri) {
        return Err(not_watchable());
    }
    Ok(Standing {
        subscription,
        states,
        since: Instant::now(),
        _in_use: client.hold(),
    })
}

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// What has stood for so long was not ended at once.
const STOOD_LONG: Duration = Duration::from_secs(5);
const FOR_AGREEING: Duration = Duration::from_secs(10);
