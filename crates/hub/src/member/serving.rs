//! A connection that is ready: listed, listened to, and watched until it ends.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use switchboard_client::{Client, Ready, State};
use tokio::time::{Instant, sleep};

use super::Role;
use super::health::{Health, MOST_MISSED};
use super::keeper::{Keeper, Next, lost};
use super::listening::Listening;
use super::listing::{Listed, Lists, list};
use crate::config::TransportConfig;
use crate::state::MemberState;

impl Keeper {
    /// A connection that is ready, until it ends.
    ///
    /// Orders come first, then the end of the connection: what is listed of a server that is to
    /// go is of no use.
    pub(super) async fn serve(&mut self, client: &Client) -> Next {
        let began = Instant::now();
        let State::Ready(ready) = client.state() else {
            return lost(client, None);
        };
        let mut states = client.states();
        let mut lists = Lists::new();
        let mut listing: Option<Listing> = None;
        let mut listening = None;
        match self.role {
            Role::Shared => listening = Some(Listening::new(client, &ready)),
            Role::Personal => {
                self.stand(MemberState::Ready(Arc::clone(&ready)), Some(client.clone()));
            }
        }
        let mut health = Health::new(client, self.time_between_pings());
        loop {
            if listing.is_none()
                && let Some(wanted) = lists.take()
            {
                let asking = list(client.clone(), Arc::clone(&ready), wanted);
                listing = Some(Box::pin(asking));
            }
            let unused = self.time_to_sleep();
            tokio::select! {
                biased;
                order = self.orders.recv() => if let Err(next) = self.obey(order) {
                    return next;
                },
                _ = states.until(State::is_over) => {
                    return lost(client, Some(began.elapsed()));
                }
                listed = next_of(&mut listing) => {
                    listing = None;
                    self.take_list(client, &ready, &mut lists, listed);
                }
                heard = async {
                    match &mut listening {
                        Some(listening) => listening.next().await,
                        None => pending().await,
                    }
                } => {
                    if let Some(uri) = lists.note(heard)
                        && let Some(hub) = self.hub.upgrade()
                    {
                        hub.resource_changed(&self.name, &uri);
                    }
                }
                () = lists.wait(), if listing.is_none() => {}
                Ok(()) = self.config.changed() => {}
                () = sleep(unused.unwrap_or_default()), if unused.is_some() => {
                    if self.falls_asleep(client) {
                        return Next::Rest(MemberState::Asleep);
                    }
                }
                () = health.fails(&self.uses) => {
                    let reason = format!("it did not answer {MOST_MISSED} pings in a row");
                    return Next::Again {
                        reason: reason.into(),
                        ready_for: Some(began.elapsed()),
                    };
                }
            }
        }
    }

    /// What a server offers is known, or could not be.
    fn take_list(
        &mut self,
        client: &Client,
        ready: &Arc<Ready>,
        lists: &mut Lists,
        listed: Listed,
    ) {
        let Some(hub) = self.hub.upgrade() else {
            return;
        };
        lists.note_failures(listed.failed);
        let config = self.config();
        hub.list(&config.name, listed.catalog);
        let ready = Arc::clone(ready);
        let state = match listed.reason {
            None => {
                // At once for whoever ends soon; what changes often is written when it ends.
                match self.saving {
                    None => self.remember(),
                    Some(_) => self.has_news = true,
                }
                MemberState::Ready(ready)
            }
            Some(error) => MemberState::ListingFailed {
                ready,
                reason: Arc::from(error.to_string()),
            },
        };
        self.stand(state, Some(client.clone()));
    }

    /// How long until it may have been unused for long enough.
    fn time_to_sleep(&self) -> Option<Duration> {
        let most = self.config.borrow().idle?;
        let rest = most.saturating_sub(self.uses.unused_for());
        Some(rest.max(SHORTEST_NAP))
    }

    /// Nobody has called for a while. Takes the client away, unless somebody calls after all.
    fn falls_asleep(&self, client: &Client) -> bool {
        let most = self.config.borrow().idle;
        if most.is_none_or(|most| self.uses.unused_for() < most) {
            return false;
        }
        self.change(|standing| standing.client = None);
        // Whoever has it by now was counted before, see `Member::client_now`.
        let is_unused = self.uses.are_none();
        if !is_unused {
            self.change(|standing| standing.client = Some(client.clone()));
        }
        is_unused
    }

    /// A process may hang and be silent. A URL is asked with every call.
    fn time_between_pings(&self) -> Option<Duration> {
        match self.config.borrow().transport {
            TransportConfig::Stdio(_) => self.hub.upgrade()?.settings.time_between_pings,
            TransportConfig::Http(_) | TransportConfig::Sse(_) => None,
        }
    }
}

/// Lists that are being asked for.
type Listing = Pin<Box<dyn Future<Output = Listed> + Send>>;

async fn next_of(listing: &mut Option<Listing>) -> Listed {
    match listing {
        Some(listing) => listing.await,
        None => pending().await,
    }
}

const SHORTEST_NAP: Duration = Duration::from_millis(10);
