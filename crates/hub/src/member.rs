//! One server of the hub, looked after on its own.
//!
//! A task for each: it waits for its turn to start, connects, lists, listens for changes, and
//! starts again what has ended. What others want of it are orders; what it has is seen through
//! its state, its client and the catalogue. It knows no other member.
//!
//! Specification: client best practices; server/tools, "List Changed Notification".

use std::future::{Future, pending};
use std::mem::discriminant;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use switchboard_client::{Client, Ready, Spec, State};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::backoff::Backoff;
use crate::config::{ServerConfig, Start};
use crate::hub::Shared;
use crate::state::MemberState;

mod listening;
mod starting;

use listening::{Listed, Listening, Lists, list};

/// Lists that are being asked for.
type Listing = Pin<Box<dyn Future<Output = Listed> + Send>>;

/// What the hub holds of a server.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: Arc<str>,
    pub(crate) config: Mutex<Arc<ServerConfig>>,
    state: watch::Sender<MemberState>,
    /// While it can be called.
    client: Mutex<Option<Client>>,
    orders: mpsc::Sender<Order>,
    last_use: Mutex<Instant>,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// What is wanted of a server.
pub(crate) enum Order {
    /// To run, whatever it did so far.
    Connect,
    /// To run, if it only waits for that.
    Wake,
    /// To end, and stay so.
    Disconnect(oneshot::Sender<()>),
    /// To take over what of a configuration needs no other connection.
    Update(Arc<ServerConfig>),
    /// To end for good.
    End,
}

/// How a connection ended.
enum Ended {
    /// Nobody called for long enough.
    Unused,
    /// Somebody wanted it to, and waits for it.
    Disconnected(oneshot::Sender<()>),
    /// By itself.
    Lost {
        reason: Arc<str>,
        ready_for: Option<Duration>,
    },
    /// Somebody must log in.
    NeedsLogin { reason: Arc<str> },
    /// There is no use in trying again.
    Hopeless { reason: Arc<str> },
    /// The hub is gone.
    Over,
}

impl Member {
    /// A member, and the task that looks after it.
    pub(crate) fn start(hub: &Arc<Shared>, config: ServerConfig, connects: bool) -> Arc<Self> {
        let (orders, received) = mpsc::channel(MOST_ORDERS);
        let config = Arc::new(config);
        let member = Arc::new(Self {
            name: Arc::from(config.name.as_str()),
            config: Mutex::new(Arc::clone(&config)),
            state: watch::Sender::new(first_state(&config)),
            client: Mutex::default(),
            orders,
            last_use: Mutex::new(Instant::now()),
            task: Mutex::default(),
        });
        let keeper = Keeper {
            hub: Arc::downgrade(hub),
            member: Arc::downgrade(&member),
            config,
            orders: received,
            backoff: Backoff::default(),
            spec: None,
        };
        let task = tokio::spawn(keeper.keep(connects));
        *member.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        member
    }

    pub(crate) fn state(&self) -> MemberState {
        self.state.borrow().clone()
    }

    pub(crate) fn states(&self) -> watch::Receiver<MemberState> {
        self.state.subscribe()
    }

    /// The client, while it can be called.
    pub(crate) fn client(&self) -> Option<Client> {
        *self.last_use.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.client
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Wants something. If so much is wanted already, one more changes nothing.
    pub(crate) fn order(&self, order: Order) {
        let _ = self.orders.try_send(order);
    }

    /// Ends it, and waits for that.
    pub(crate) async fn disconnect(&self) {
        let (done, waiting) = oneshot::channel();
        if self.orders.send(Order::Disconnect(done)).await.is_ok() {
            let _ = waiting.await;
        }
    }

    /// Ends it for good, and waits for that.
    pub(crate) async fn end(&self) {
        // If nobody takes it, it has ended.
        let _ = self.orders.send(Order::End).await;
        let task = self
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(task) = task {
            let _ = task.await;
        }
    }

    fn set_client(&self, client: Option<Client>) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
    }

    fn unused_for(&self) -> Duration {
        self.last_use
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .elapsed()
    }
}

/// Looks after one server.
struct Keeper {
    hub: Weak<Shared>,
    member: Weak<Member>,
    config: Arc<ServerConfig>,
    orders: mpsc::Receiver<Order>,
    backoff: Backoff,
    /// The description of the last connection, which remembers what the server spoke.
    spec: Option<Spec>,
}

impl Keeper {
    async fn keep(mut self, connects: bool) {
        let mut state = first_state(&self.config);
        let mut goes_on = connects && matches!(state, MemberState::Configured);
        loop {
            if !goes_on && !self.rest(state).await {
                return;
            }
            let ended = self.connect().await;
            if let Some(member) = self.member.upgrade() {
                member.set_client(None);
            }
            (state, goes_on) = match ended {
                Ended::Over => return,
                Ended::Unused => (MemberState::Asleep, false),
                Ended::Disconnected(done) => {
                    self.stop(done);
                    (MemberState::Stopped, false)
                }
                Ended::NeedsLogin { reason } => (MemberState::NeedsLogin { reason }, false),
                Ended::Hopeless { reason } => (MemberState::Failed { reason }, false),
                Ended::Lost { reason, ready_for } => match self.wait(reason, ready_for).await {
                    Waited::GoesOn => (MemberState::Starting, true),
                    Waited::Stays(state) => (state, false),
                    Waited::Over => return,
                },
            };
            if !matches!(state, MemberState::Asleep | MemberState::Starting) {
                // What cannot be called is not offered.
                self.forget();
            }
        }
    }

    /// Waits until there is something to do. False if there never will be.
    async fn rest(&mut self, state: MemberState) -> bool {
        let is_new = |now: MemberState| discriminant(&now) != discriminant(&state);
        if self.state().is_some_and(is_new) {
            self.set_state(state);
        }
        loop {
            match self.orders.recv().await {
                None | Some(Order::End) => return false,
                Some(Order::Connect) => return true,
                Some(Order::Wake) => {
                    if matches!(self.state(), Some(MemberState::Asleep)) {
                        return true;
                    }
                }
                Some(Order::Disconnect(done)) => self.stop(done),
                Some(Order::Update(config)) => self.update(config),
            }
        }
    }

    /// Waits before the next try.
    async fn wait(&mut self, reason: Arc<str>, ready_for: Option<Duration>) -> Waited {
        let Some(wait) = self.backoff.ended(ready_for, chance()) else {
            let reason = format!("it ended {} times in a row: {reason}", self.backoff.ends());
            return Waited::Stays(MemberState::Failed {
                reason: reason.into(),
            });
        };
        let ends = self.backoff.ends();
        self.set_state(MemberState::BackingOff { reason, wait, ends });
        let until = Instant::now() + wait;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(until) => return Waited::GoesOn,
                order = self.orders.recv() => match order {
                    None | Some(Order::End) => return Waited::Over,
                    Some(Order::Connect) => return Waited::GoesOn,
                    Some(Order::Disconnect(done)) => {
                        self.stop(done);
                        return Waited::Stays(MemberState::Stopped);
                    }
                    Some(Order::Update(config)) => self.update(config),
                    // It comes back as soon as it may.
                    Some(Order::Wake) => {}
                },
            }
        }
    }

    /// One connection, from its beginning to its end.
    async fn connect(&mut self) -> Ended {
        let client = match self.start().await {
            Ok(client) => client,
            Err(ended) => return ended,
        };
        let ended = self.serve(&client).await;
        if let Some(member) = self.member.upgrade() {
            member.set_client(None);
        }
        client.close().await;
        ended
    }

    /// A connection that is ready, until it ends.
    ///
    /// Orders come first, then the end of the connection: what is listed of a server that is to
    /// go is of no use.
    async fn serve(&mut self, client: &Client) -> Ended {
        let began = Instant::now();
        let Some(ready) = ready_of(client) else {
            return lost(client, None);
        };
        let mut states = client.states();
        let mut lists = Lists::new();
        let mut listening = Listening::new(client, &ready);
        let mut listing: Option<Listing> = None;
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
                order = self.orders.recv() => match order {
                    None | Some(Order::End) => return Ended::Over,
                    Some(Order::Disconnect(done)) => return Ended::Disconnected(done),
                    Some(Order::Update(config)) => self.update(config),
                    Some(Order::Connect | Order::Wake) => {}
                },
                _ = states.until(State::is_over) => {
                    return lost(client, Some(began.elapsed()));
                }
                listed = next_of(&mut listing) => {
                    listing = None;
                    self.take_list(client, &ready, &mut lists, listed);
                }
                heard = listening.next() => {
                    if let Some(uri) = lists.note(heard)
                        && let Some(hub) = self.hub.upgrade()
                    {
                        hub.resource_changed(&self.config.name, &uri);
                    }
                }
                () = lists.wait(), if listing.is_none() => {}
                () = sleep(unused.unwrap_or_default()), if unused.is_some() => {
                    if self.is_unused() {
                        return Ended::Unused;
                    }
                }
            }
        }
    }

    /// What a server offers is known, or could not be.
    fn take_list(&self, client: &Client, ready: &Arc<Ready>, lists: &mut Lists, listed: Listed) {
        let Some((hub, member)) = self.both() else {
            return;
        };
        // Before anybody is told that it is ready.
        member.set_client(Some(client.clone()));
        match listed.outcome {
            Ok(catalog) => {
                lists.succeeded();
                hub.list(&self.config, catalog);
                self.set_state(MemberState::Ready(Arc::clone(ready)));
            }
            Err(error) => {
                lists.failed(listed.wanted);
                let reason = Arc::from(error.to_string());
                let ready = Arc::clone(ready);
                self.set_state(MemberState::ListingFailed { ready, reason });
            }
        }
    }

    /// It has ended because somebody wanted it to.
    fn stop(&self, done: oneshot::Sender<()>) {
        self.set_state(MemberState::Stopped);
        self.forget();
        // Whoever wanted it may be gone.
        let _ = done.send(());
    }

    /// How long until it may have been unused for long enough.
    fn time_to_sleep(&self) -> Option<Duration> {
        let most = self.config.idle?;
        let unused = self.member.upgrade()?.unused_for();
        Some(most.saturating_sub(unused).max(SHORTEST_NAP))
    }

    fn is_unused(&self) -> bool {
        let most = self.config.idle;
        let member = self.member.upgrade();
        most.zip(member)
            .is_some_and(|(most, member)| member.unused_for() >= most)
    }

    fn update(&mut self, config: Arc<ServerConfig>) {
        self.config = config;
        if let Some((hub, member)) = self.both() {
            *member.config.lock().unwrap_or_else(PoisonError::into_inner) =
                Arc::clone(&self.config);
            hub.allow(&self.config);
        }
    }

    /// Takes what it offers out of the catalogue.
    fn forget(&self) {
        if let Some(hub) = self.hub.upgrade() {
            hub.unlist(&self.config.name);
        }
    }

    fn set_state(&self, state: MemberState) {
        if let Some((hub, member)) = self.both() {
            member.state.send_replace(state.clone());
            hub.state_changed(&member.name, state);
        }
    }

    fn state(&self) -> Option<MemberState> {
        Some(self.member.upgrade()?.state())
    }

    fn both(&self) -> Option<(Arc<Shared>, Arc<Member>)> {
        Some((self.hub.upgrade()?, self.member.upgrade()?))
    }
}

/// Where a server stands before anything was done about it.
fn first_state(config: &ServerConfig) -> MemberState {
    match (config.is_enabled, config.start) {
        (false, _) => MemberState::Disabled,
        (true, Start::Lazy) => MemberState::Asleep,
        (true, Start::Eager) => MemberState::Configured,
    }
}

/// What came of waiting.
enum Waited {
    GoesOn,
    Stays(MemberState),
    Over,
}

async fn next_of(listing: &mut Option<Listing>) -> Listed {
    match listing {
        Some(listing) => listing.await,
        None => pending().await,
    }
}

fn ready_of(client: &Client) -> Option<Arc<Ready>> {
    match client.state() {
        State::Ready(ready) => Some(ready),
        _ => None,
    }
}

/// Why a connection is over.
fn lost(client: &Client, ready_for: Option<Duration>) -> Ended {
    match client.state() {
        State::NeedsLogin(report) => Ended::NeedsLogin {
            reason: Arc::from(report.to_string()),
        },
        State::Failed(report) => Ended::Lost {
            reason: Arc::from(report.to_string()),
            ready_for,
        },
        state => Ended::Lost {
            reason: Arc::from(state.to_string()),
            ready_for,
        },
    }
}

/// Something that differs from server to server.
fn chance() -> u16 {
    use std::hash::{BuildHasher, RandomState};

    RandomState::new().hash_one(0u8) as u16
}

const MOST_ORDERS: usize = 16;
const SHORTEST_NAP: Duration = Duration::from_millis(10);
