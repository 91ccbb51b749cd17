//! Who looks after a server: from one connection to the next.

use std::sync::{Arc, Weak};
use std::time::Duration;

use switchboard_client::{Class, Client, Spec, State};
use switchboard_transport::watch;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::uses::Uses;
use super::{Beginning, Member, Order, Role, Standing};
use crate::backoff::{Backoff, MOST_IN_A_ROW};
use crate::config::{ServerConfig, Start};
use crate::hub::{HostMaker, Shared};
use crate::registry::MemberCatalog;
use crate::state::MemberState;

/// Looks after one server.
pub(super) struct Keeper {
    pub(super) hub: Weak<Shared>,
    pub(super) member: Weak<Member>,
    pub(super) uses: Arc<Uses>,
    pub(super) role: Role,
    /// The application behind it.
    pub(super) host: Arc<HostMaker>,
    pub(super) config: watch::Receiver<Arc<ServerConfig>>,
    pub(super) orders: mpsc::Receiver<Order>,
    backoff: Backoff,
    /// The description of the last connection, which remembers what the server spoke.
    pub(super) spec: Option<Spec>,
    /// What it offers, on its way to the disk.
    pub(super) saving: Option<JoinHandle<()>>,
    /// It offers something else since it was last written down.
    pub(super) has_news: bool,
    /// Those who wait for it to begin.
    beginning: Vec<oneshot::Sender<()>>,
    /// Those who wait for it to end.
    ending: Vec<oneshot::Sender<()>>,
}

/// What is to be done next.
pub(super) enum Next {
    /// To connect.
    Connect,
    /// To wait until somebody wants something.
    Rest(MemberState),
    /// To wait for a while, and try again.
    Again {
        reason: Arc<str>,
        class: Class,
        ready_for: Option<Duration>,
    },
    /// Nothing, for good.
    Over,
}

impl Keeper {
    pub(super) fn new(
        hub: &Arc<Shared>,
        member: &Arc<Member>,
        (role, host): (Role, &Arc<HostMaker>),
        config: watch::Receiver<Arc<ServerConfig>>,
        orders: mpsc::Receiver<Order>,
    ) -> Self {
        Self {
            hub: Arc::downgrade(hub),
            member: Arc::downgrade(member),
            uses: Arc::clone(&member.uses),
            role,
            host: Arc::clone(host),
            config,
            orders,
            backoff: Backoff::default(),
            spec: None,
            saving: None,
            has_news: false,
            beginning: Vec::new(),
            ending: Vec::new(),
        }
    }

    pub(super) async fn keep(mut self, beginning: Beginning) {
        if let Some(old) = beginning.after {
            old.end().await;
        }
        let mut next = self.first(beginning.connects).await;
        loop {
            next = match next {
                Next::Connect => self.connect().await,
                Next::Rest(state) => self.rest(state).await,
                Next::Again {
                    reason,
                    class,
                    ready_for,
                } => self.wait(reason, class, ready_for).await,
                Next::Over => return,
            };
        }
    }

    async fn first(&self, connects: bool) -> Next {
        let config = self.config();
        if !config.is_enabled {
            return Next::Rest(MemberState::Disabled);
        }
        match (self.role, config.start) {
            (Role::Personal, _) => Next::Rest(MemberState::Asleep),
            (Role::Shared, Start::Lazy) => {
                // What it offered when it last ran can be seen before it runs.
                if let Some((hub, member)) = self.both() {
                    hub.recall(&member, &config).await;
                }
                Next::Rest(MemberState::Asleep)
            }
            (Role::Shared, Start::Eager) if connects => Next::Connect,
            (Role::Shared, Start::Eager) => Next::Rest(MemberState::Configured),
        }
    }

    /// Waits until there is something to do.
    async fn rest(&mut self, mut state: MemberState) -> Next {
        let mut start = self.config.borrow_and_update().start;
        loop {
            // What cannot be called is not offered.
            if !matches!(state, MemberState::Asleep | MemberState::Configured) {
                self.forget();
            }
            self.set_state(state.clone());
            for done in self.ending.drain(..) {
                // Whoever wanted it may be gone.
                let _ = done.send(());
            }
            let waits_for_calls = matches!(state, MemberState::Asleep | MemberState::Configured);
            tokio::select! {
                biased;
                order = self.orders.recv() => match order {
                    None | Some(Order::End) => return Next::Over,
                    Some(Order::Connect(begun)) => {
                        if self.config().is_enabled {
                            self.beginning.push(begun);
                            self.backoff = Backoff::default();
                            return Next::Connect;
                        }
                        let _ = begun.send(());
                    }
                    Some(Order::Wake) if waits_for_calls => return Next::Connect,
                    Some(Order::Wake) => {}
                    Some(Order::Disconnect(done)) => {
                        if !matches!(state, MemberState::Disabled) {
                            state = MemberState::Stopped;
                        }
                        self.ending.push(done);
                    }
                },
                Ok(()) = self.config.changed() => {
                    let before = std::mem::replace(&mut start, self.config.borrow().start);
                    match (before, start, &state) {
                        (Start::Lazy, Start::Eager, MemberState::Asleep)
                            if self.role == Role::Shared =>
                        {
                            return Next::Connect;
                        }
                        (Start::Eager, Start::Lazy, MemberState::Configured) => {
                            return self.first(false).await;
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// Waits before the next try.
    async fn wait(&mut self, reason: Arc<str>, class: Class, ready_for: Option<Duration>) -> Next {
        let Some(hub) = self.hub.upgrade() else {
            return Next::Over;
        };
        let chance = (hub.settings.chance)();
        drop(hub);
        let most = self.config().limits.restarts.unwrap_or(MOST_IN_A_ROW);
        let Some(wait) = self.backoff.ended(Instant::now(), ready_for, most, chance) else {
            let reason = format!("it ended {} times in a row: {reason}", self.backoff.ends());
            return Next::Rest(MemberState::Failed {
                reason: reason.into(),
                class,
            });
        };
        let ends = self.backoff.ends();
        self.set_state(MemberState::BackingOff {
            reason,
            class,
            wait,
            ends,
        });
        let until = Instant::now() + wait;
        loop {
            // Whoever is to end is not started before.
            tokio::select! {
                biased;
                order = self.orders.recv() => match order {
                    None | Some(Order::End) => return Next::Over,
                    Some(Order::Connect(begun)) => {
                        self.beginning.push(begun);
                        self.backoff = Backoff::default();
                        return Next::Connect;
                    }
                    Some(Order::Disconnect(done)) => {
                        self.ending.push(done);
                        return Next::Rest(MemberState::Stopped);
                    }
                    // It comes back as soon as it may.
                    Some(Order::Wake) => {}
                },
                () = sleep_until(until) => {
                    if let Some(member) = self.member.upgrade() {
                        member.meter.restarted();
                    }
                    return Next::Connect;
                }
            }
        }
    }

    /// One connection, from its beginning to its end.
    async fn connect(&mut self) -> Next {
        self.set_state(MemberState::Starting);
        self.backoff.started(Instant::now());
        for begun in self.beginning.drain(..) {
            // Whoever wanted it may be gone.
            let _ = begun.send(());
        }
        let client = match self.start().await {
            Ok(client) => client,
            Err(next) => return next,
        };
        let next = self.serve(&client).await;
        if matches!(next, Next::Rest(MemberState::Asleep)) {
            // It ended because it was told to.
            self.backoff = Backoff::default();
        }
        self.change(|standing| standing.client = None);
        if self.role == Role::Shared
            && let Some((hub, member)) = self.both()
        {
            // What it offered stays to be seen, and nobody hears of changes.
            hub.list(&member, MemberCatalog::unheard());
        }
        client.close().await;
        self.save().await;
        next
    }

    /// Writes down what it offers, if that is not done yet.
    async fn save(&mut self) {
        if std::mem::take(&mut self.has_news) {
            self.remember();
        }
        if let Some(saving) = self.saving.take() {
            let _ = saving.await;
        }
    }

    /// Begins to write down what it offers, for the next time.
    pub(super) fn remember(&mut self) {
        if let Some(hub) = self.hub.upgrade() {
            let before = self.saving.take();
            let config = self.config();
            self.saving = hub.remember(&config, before);
        }
    }

    /// What an order means to a server that runs, or is being started.
    pub(super) fn obey(&mut self, order: Option<Order>) -> Result<(), Next> {
        match order {
            None | Some(Order::End) => Err(Next::Over),
            Some(Order::Disconnect(done)) => {
                self.ending.push(done);
                Err(Next::Rest(MemberState::Stopped))
            }
            Some(Order::Connect(begun)) => {
                let _ = begun.send(());
                Ok(())
            }
            Some(Order::Wake) => Ok(()),
        }
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config.borrow())
    }

    /// Takes what it offers out of the catalogue.
    fn forget(&self) {
        if let Some((hub, member)) = self.both()
            && self.role == Role::Shared
        {
            hub.list(&member, MemberCatalog::gone());
        }
    }

    pub(super) fn set_state(&self, state: MemberState) {
        self.stand(state, None);
    }

    /// Stands elsewhere, with a client that can be called or without one. It is told if it can be
    /// seen.
    pub(super) fn stand(&self, state: MemberState, client: Option<Client>) {
        let Some((hub, member)) = self.both() else {
            return;
        };
        let mut is_new = false;
        member.standing.send_modify(|standing| {
            is_new = !standing.state.looks_like(&state);
            standing.state = state.clone();
            standing.client = client;
        });
        if is_new && self.role == Role::Shared {
            hub.state_changed(&member.name, state);
        }
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Standing)) {
        if let Some(member) = self.member.upgrade() {
            member.standing.send_modify(change);
        }
    }

    pub(super) fn both(&self) -> Option<(Arc<Shared>, Arc<Member>)> {
        Some((self.hub.upgrade()?, self.member.upgrade()?))
    }
}

/// However it ends, nobody waits for it any more.
impl Drop for Keeper {
    fn drop(&mut self) {
        self.forget();
        self.set_state(match std::thread::panicking() {
            true => MemberState::Failed {
                reason: Arc::from("what looks after it has panicked"),
                class: Class::Caller,
            },
            false => MemberState::Stopped,
        });
        self.change(|standing| standing.is_over = true);
    }
}

/// Why a connection is over, and what to do about it.
pub(super) fn lost(client: &Client, ready_for: Option<Duration>) -> Next {
    match client.state() {
        State::NeedsLogin(report) => Next::Rest(MemberState::NeedsLogin {
            reason: Arc::from(report.to_string()),
        }),
        State::Failed(report) => Next::Again {
            reason: Arc::from(report.to_string()),
            class: report.class(),
            ready_for,
        },
        state => Next::Again {
            reason: Arc::from(state.to_string()),
            class: Class::Ended,
            ready_for,
        },
    }
}
