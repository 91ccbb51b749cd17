//! A connection that is ready: listed, listened to, and watched until it ends.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use switchboard_client::{Class, Client, Ready, State};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::Role;
use super::health::{Health, MOST_MISSED};
use super::keeper::{Keeper, Next, lost};
use super::listening::{Heard, Listening};
use super::listing::{Listed, Lists, list};
use crate::config::TransportConfig;
use crate::state::MemberState;

/// What is known of a connection.
struct Served<'a> {
    client: &'a Client,
    ready: Arc<Ready>,
    lists: Lists,
    /// Those that are being asked for.
    listing: JoinSet<Listed>,
    /// It can be called.
    stands: bool,
    /// When it can be called, though not everything is listed.
    grace: Option<Instant>,
}

impl Keeper {
    /// A connection that is ready, until it ends.
    ///
    /// Orders come first, then the end of the connection: what is listed of a server that is to
    /// go is of no use.
    pub(super) async fn serve(&mut self, client: &Client) -> Next {
        let began = Instant::now();
        let mut states = client.states();
        let State::Ready(ready) = client.state() else {
            return lost(client, None);
        };
        let mut served = Served {
            client,
            ready,
            lists: Lists::new(),
            listing: JoinSet::new(),
            stands: false,
            grace: None,
        };
        let mut listening = None;
        match self.role {
            Role::Shared => {
                let Some(member) = self.member.upgrade() else {
                    return Next::Over;
                };
                listening = Some(Listening::new(client, &served.ready, &member.meter));
            }
            Role::Personal => self.stand_ready(&mut served),
        }
        let mut asking_for_logs = self.ask_for_logs(&served);
        let mut health = Health::new(client, self.time_between_pings());
        loop {
            while let Some(kind) = served.lists.take() {
                let asking = list(client.clone(), Arc::clone(&served.ready), kind);
                served.listing.spawn(asking);
            }
            let unused = self.time_to_sleep(&served);
            let grace = served.grace.filter(|_| !served.stands);
            tokio::select! {
                biased;
                order = self.orders.recv() => if let Err(next) = self.obey(order) {
                    return next;
                },
                state = states.next() => match state {
                    // A session that was lost and found: the server may be another.
                    Some(State::Ready(ready)) => {
                        served.ready = ready;
                        client.forget_lists();
                        served.lists.want_all();
                    }
                    Some(state) if !state.is_over() => {}
                    _ => return lost(client, Some(began.elapsed())),
                },
                Some(listed) = served.listing.join_next() => {
                    // It is not cancelled, and does not panic.
                    if let Ok(listed) = listed {
                        self.take_list(&mut served, listed);
                    }
                }
                heard = async {
                    match &mut listening {
                        Some(listening) => listening.next().await,
                        None => pending().await,
                    }
                } => match heard {
                    Heard::Change(change) => served.lists.note_change(&change),
                    Heard::Begun | Heard::Missed => {
                        client.forget_lists();
                        served.lists.want_all();
                    }
                    Heard::Nothing => served.lists.want_all(),
                },
                () = served.lists.wait() => {}
                () = sleep_until(grace.unwrap_or(began)), if grace.is_some() => {
                    self.stand_ready(&mut served);
                }
                Ok(()) = self.config.changed() => {}
                () = sleep(unused.unwrap_or_default()), if unused.is_some() => {
                    if self.falls_asleep(client) {
                        return Next::Rest(MemberState::Asleep);
                    }
                }
                Some(_) = asking_for_logs.join_next() => {}
                () = health.fails(&self.uses) => {
                    let reason = format!("it did not answer {MOST_MISSED} pings in a row");
                    return Next::Again {
                        reason: reason.into(),
                        class: Class::Timeout,
                        ready_for: Some(began.elapsed()),
                    };
                }
            }
        }
    }

    /// Says from which level on it is to log, if that is wanted. If it does not listen, so be it.
    fn ask_for_logs(&self, served: &Served<'_>) -> JoinSet<()> {
        let mut asking = JoinSet::new();
        let level = self.hub.upgrade().and_then(|hub| hub.settings.log_level);
        if let Some(level) = level.filter(|_| served.ready.capabilities.logging.is_some()) {
            let client = served.client.clone();
            asking.spawn(async move { drop(client.set_log_level(level).await) });
        }
        asking
    }

    /// What a server offers is known, or could not be.
    fn take_list(&mut self, served: &mut Served<'_>, listed: Listed) {
        let Some((hub, member)) = self.both() else {
            return;
        };
        for limit in listed.limits {
            member.meter.reached(limit);
        }
        served.lists.note(listed.kind, listed.reason);
        let catalog = match member.is_shared_by_all() {
            true => listed.catalog,
            false => listed.catalog.for_one_user(),
        };
        hub.list(&member, catalog);
        if served.lists.are_known() {
            self.stand_ready(served);
            if served.lists.reason().is_none() {
                // At once for whoever ends soon; what changes often is written when it ends.
                match self.saving {
                    None => self.remember(),
                    Some(_) => self.has_news = true,
                }
            }
        } else if served.stands {
            self.stand_ready(served);
        } else if served.lists.knows_tools() {
            served.grace = Some(Instant::now() + GRACE);
        }
    }

    /// From now on it can be called.
    fn stand_ready(&self, served: &mut Served<'_>) {
        let ready = Arc::clone(&served.ready);
        let state = match served.lists.reason() {
            None => MemberState::Ready(ready),
            Some((reason, class)) => MemberState::ListingFailed {
                ready,
                reason,
                class,
            },
        };
        if !std::mem::replace(&mut served.stands, true) {
            self.uses.begin();
        }
        let awaited = served.lists.awaited();
        self.change(|standing| standing.awaited = awaited);
        self.stand(state, Some(served.client.clone()));
    }

    /// How long until it may have been unused for long enough. One that cannot be called yet is
    /// not unused.
    fn time_to_sleep(&self, served: &Served<'_>) -> Option<Duration> {
        let most = self.config.borrow().idle.filter(|_| served.stands)?;
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

const SHORTEST_NAP: Duration = Duration::from_millis(10);
// Tools are what most come for: a server that does not say what else it has can be called all the
// same.
const GRACE: Duration = Duration::from_secs(2);
