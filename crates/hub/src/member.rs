//! One server of the hub, looked after on its own.
//!
//! A task for each (`keeper`): it waits for its turn to start, connects (`starting`), lists and
//! listens (`serving`, `listing`, `listening`, `health`), and starts again what has ended. What
//! others want of it are orders; what it has is seen through its standing and the catalogue. It
//! knows no other member.
//!
//! Specification: client best practices; server/tools, "List Changed Notification".

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use switchboard_client::Client;
use switchboard_transport::watch;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

use crate::config::{ServerConfig, Sharing};
use crate::error::HubError;
use crate::hub::{HostMaker, Shared};
use crate::metrics::ServerMeter;
use crate::registry::Kind;
use crate::state::MemberState;

mod health;
mod keeper;
mod listening;
mod listing;
mod serving;
mod starting;
mod uses;

use keeper::Keeper;
use listing::Awaited;
use uses::{Guard, Uses};

pub(crate) use uses::InUse;

/// What the hub holds of a server.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: Arc<str>,
    pub(crate) meter: Arc<ServerMeter>,
    config: watch::Sender<Arc<ServerConfig>>,
    standing: watch::Sender<Standing>,
    orders: mpsc::Sender<Order>,
    uses: Arc<Uses>,
    personal: Mutex<Personal>,
}

/// Those of single users, which end when the shared one does.
#[derive(Debug, Default)]
struct Personal {
    members: Vec<Weak<Member>>,
    /// The shared one ends or has ended, and there are no new ones.
    is_closed: bool,
}

impl Personal {
    fn living(&self) -> Vec<Arc<Member>> {
        self.members.iter().filter_map(Weak::upgrade).collect()
    }
}

/// Where a server stands, for whoever wants to call it.
#[derive(Debug)]
struct Standing {
    state: MemberState,
    /// While it can be called.
    client: Option<Client>,
    /// While it can be called: what it has not said yet.
    awaited: Awaited,
    /// Nobody looks after it any more.
    is_over: bool,
}

impl Standing {
    /// Will it stay so, unless somebody does something or time passes?
    const fn is_settled(&self) -> bool {
        match &self.state {
            MemberState::Configured | MemberState::Starting => self.is_over,
            MemberState::Ready(_) | MemberState::ListingFailed { .. } => {
                self.client.is_some() || self.is_over
            }
            _ => true,
        }
    }
}

/// What is wanted of a server. Whoever wants to know when it is done leaves a way to be told.
#[derive(Debug)]
enum Order {
    /// To run, whatever it did so far. Told when it is about to.
    Connect(oneshot::Sender<()>),
    /// To run, if it only waits for that.
    Wake,
    /// To end, and stay so. Told when it has.
    Disconnect(oneshot::Sender<()>),
    /// To end for good.
    End,
}

/// What a member is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Everybody calls it, and what it offers is in the catalogue.
    Shared,
    /// One user calls it; what it offers is known from the shared one.
    Personal,
}

/// How a member begins.
#[derive(Debug, Default)]
pub(crate) struct Beginning {
    /// To run at once, if the configuration says nothing else.
    pub(crate) connects: bool,
    /// Not before this one has ended.
    pub(crate) after: Option<Arc<Member>>,
}

impl Member {
    /// A member, and the task that looks after it.
    pub(crate) fn start(
        hub: &Arc<Shared>,
        config: ServerConfig,
        beginning: Beginning,
    ) -> Arc<Self> {
        let host = &hub.settings.host;
        Self::begin(hub, Arc::new(config), (Role::Shared, host), beginning)
    }

    /// The same server for one user alone, started by the first call. None if it is not to run.
    pub(crate) fn start_personal(
        &self,
        hub: &Arc<Shared>,
        host: &Arc<HostMaker>,
    ) -> Option<Arc<Self>> {
        let mut personal = self.personal();
        if personal.is_closed {
            return None;
        }
        let member = Self::begin(
            hub,
            self.config(),
            (Role::Personal, host),
            Beginning::default(),
        );
        personal.members.retain(|member| member.strong_count() > 0);
        personal.members.push(Arc::downgrade(&member));
        Some(member)
    }

    fn begin(
        hub: &Arc<Shared>,
        config: Arc<ServerConfig>,
        (role, host): (Role, &Arc<HostMaker>),
        beginning: Beginning,
    ) -> Arc<Self> {
        let (orders, received) = mpsc::channel(MOST_ORDERS);
        let (config, configured) = watch::channel(config);
        let name: Arc<str> = Arc::from(configured.borrow().name.as_str());
        let member = Arc::new(Self {
            meter: hub.metrics.server(&name),
            name,
            config,
            standing: watch::Sender::new(Standing {
                state: MemberState::Configured,
                client: None,
                awaited: Awaited::default(),
                is_over: false,
            }),
            orders,
            uses: Arc::new(Uses::new()),
            personal: Mutex::default(),
        });
        let keeper = Keeper::new(hub, &member, (role, host), configured, received);
        tokio::spawn(keeper.keep(beginning));
        member
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config.borrow())
    }

    /// The same, read where it lies.
    pub(crate) fn with_config<T>(&self, read: impl FnOnce(&ServerConfig) -> T) -> T {
        read(&self.config.borrow())
    }

    /// Has it take over what of a configuration needs no other connection.
    pub(crate) fn configure(&self, config: ServerConfig) {
        let config = Arc::new(config);
        let personal = self.personal();
        for member in personal.living() {
            member.config.send_replace(Arc::clone(&config));
        }
        self.config.send_replace(config);
    }

    pub(crate) fn is_shared_by_all(&self) -> bool {
        self.with_config(|config| config.sharing == Sharing::Shared)
    }

    pub(crate) fn state(&self) -> MemberState {
        self.standing.borrow().state.clone()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.standing.borrow().is_over
    }

    /// Has it connected, and waits until it is ready or cannot be. Where it stands then.
    pub(crate) async fn connect(&self) -> MemberState {
        self.personal().is_closed = false;
        let (begun, beginning) = oneshot::channel();
        let is_taken = self.orders.send(Order::Connect(begun)).await.is_ok();
        // If nobody takes it, it has ended for good.
        if is_taken && beginning.await.is_ok() {
            self.settled().await;
        }
        self.state()
    }

    /// Waits until it is known what it offered before, if it is to sleep until it is called.
    pub(crate) async fn recalled(&self) {
        let mut standings = self.standing.subscribe();
        let is_known = |standing: &Standing| {
            !matches!(standing.state, MemberState::Configured) || standing.is_over
        };
        // We hold the sender.
        let _ = standings.wait_for(is_known).await;
    }

    /// Waits until it is ready, or stays what it is.
    async fn settled(&self) {
        let mut standings = self.standing.subscribe();
        // We hold the sender.
        let _ = standings.wait_for(Standing::is_settled).await;
    }

    /// The client, to be held as long as it is called: started if it sleeps, waited for if it is
    /// about to be ready.
    ///
    /// # Errors
    /// When it does not become ready in time.
    pub(crate) async fn client(self: &Arc<Self>, limit: Duration) -> Result<InUse, HubError> {
        if let Some(client) = self.client_now() {
            return Ok(client);
        }
        let limit = self.patience(limit);
        // Whoever is waited for is not ended for want of calls.
        let _waiting = Guard::new(self);
        let waiting = async {
            // If it takes no orders, it has ended, and that is seen below.
            let _ = self.orders.send(Order::Wake).await;
            let mut standings = self.standing.subscribe();
            loop {
                // We hold the sender.
                let _ = standings
                    .wait_for(|standing| match &standing.state {
                        MemberState::Asleep => standing.is_over,
                        MemberState::BackingOff { wait, .. } => standing.is_over || *wait >= limit,
                        _ => standing.is_settled(),
                    })
                    .await;
                if let Some(client) = self.client_now() {
                    return Some(client);
                }
                // It was ready, and has just ended.
                if !self.state().is_ready() || self.is_over() {
                    return None;
                }
                let _ = standings.changed().await;
            }
        };
        match timeout(limit, waiting).await {
            Ok(Some(client)) => Ok(client),
            Ok(None) | Err(_) => Err(HubError::not_ready(&self.name, &self.state())),
        }
    }

    /// How long it is waited for: whoever starts slowly by its configuration, as long as it says.
    fn patience(&self, limit: Duration) -> Duration {
        limit.max(self.config().timeouts.start.unwrap_or_default())
    }

    /// May it have more of this kind than is known of it?
    pub(crate) fn may_have_more(&self, kind: Kind) -> bool {
        let standing = self.standing.borrow();
        !standing.state.is_ready() || standing.awaited.may_have(kind)
    }

    /// Waits until it is known what it has of this kind, or why that cannot be known: started if it
    /// sleeps.
    ///
    /// # Errors
    /// When it does not become ready in time.
    pub(crate) async fn listed(
        self: &Arc<Self>,
        kind: Kind,
        limit: Duration,
    ) -> Result<(), HubError> {
        let (began, limit) = (Instant::now(), self.patience(limit));
        // As long as it is held, it is not ended for want of calls.
        let _client = self.client(limit).await?;
        let mut standings = self.standing.subscribe();
        let is_known = |standing: &Standing| {
            !standing.state.is_ready() || !standing.awaited.may_have(kind) || standing.is_over
        };
        let rest = limit.saturating_sub(began.elapsed());
        match timeout(rest, standings.wait_for(is_known)).await {
            Ok(_) => Ok(()),
            Err(_) => Err(HubError::not_listed(&self.name, kind)),
        }
    }

    /// The client, if it can be called now.
    pub(crate) fn client_now(self: &Arc<Self>) -> Option<InUse> {
        // Before we look: whoever takes the client away looks at who uses it afterwards.
        let guard = Guard::new(self);
        let client = self.standing.borrow().client.clone()?;
        Some(guard.with(client))
    }

    /// Ends it, and waits for that.
    pub(crate) async fn disconnect(&self) {
        self.end_personal().await;
        let (done, waiting) = oneshot::channel();
        if self.orders.send(Order::Disconnect(done)).await.is_ok() {
            let _ = waiting.await;
        }
    }

    /// Ends it for good, and waits for that.
    pub(crate) async fn end(&self) {
        self.end_personal().await;
        self.end_itself().await;
    }

    async fn end_itself(&self) {
        // If nobody takes it, it has ended.
        let _ = self.orders.send(Order::End).await;
        let mut standings = self.standing.subscribe();
        // We hold the sender.
        let _ = standings.wait_for(|standing| standing.is_over).await;
    }

    async fn end_personal(&self) {
        let members = {
            let mut personal = self.personal();
            personal.is_closed = true;
            personal.living()
        };
        let ending = members
            .into_iter()
            .map(|member| tokio::spawn(async move { member.end_itself().await }));
        for task in ending.collect::<Vec<_>>() {
            let _ = task.await;
        }
    }

    fn personal(&self) -> MutexGuard<'_, Personal> {
        self.personal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const MOST_ORDERS: usize = 16;
