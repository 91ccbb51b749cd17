//! Clients, a gateway and servers, and what the schedule can do to them.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use switchboard_client::Client;
use switchboard_gateway::{Gateway, GatewayLimits};
use switchboard_hub::{Hub, HubBuilder, ServerConfig, Sharing, Start};
use switchboard_protocol::Era;
use switchboard_server::Site;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, sleep, timeout};

use crate::chance::Chance;
use crate::conversation::Side;
use crate::ledger::{Ledger, Task};
use crate::server::{Machine, uri};
use crate::trace::Trace;
use crate::user::{self, TOTAL, Waiting};
use crate::wire::{Ends, Middle, Whose, Wire};

/// Everything there is in a run.
pub(crate) struct World {
    pub(crate) trace: Trace,
    pub(crate) ledger: Ledger,
    pub(crate) gateway: Option<Gateway>,
    pub(crate) servers: Vec<Behind>,
    pub(crate) clients: Vec<Before>,
    pub(crate) wires: Vec<Wire>,
    pub(crate) waiting: Vec<Waiting>,
    births: Births,
    wires_made: u64,
    capacity: usize,
    /// Where servers are that can be reached.
    reachable: Arc<Mutex<BTreeMap<String, Reached>>>,
}

/// A server behind the gateway.
pub(crate) struct Behind {
    pub(crate) era: Era,
    pub(crate) machine: Machine,
    pub(crate) config: ServerConfig,
    /// Is it in the configuration?
    pub(crate) is_in: bool,
}

/// A client before it.
pub(crate) struct Before {
    pub(crate) era: Era,
    pub(crate) client: Option<Client>,
    pub(crate) hearing: Option<JoinHandle<()>>,
}

/// What a server's name leads to.
#[derive(Clone)]
struct Reached {
    number: usize,
    site: Site,
    is_down: bool,
}

/// Connections that servers were started for, until they are taken up.
type Births = Arc<Mutex<Nursery>>;

#[derive(Default)]
struct Nursery {
    born: Vec<(usize, Middle, AbortHandle)>,
    /// Who takes them up.
    waker: Option<Waker>,
}

impl World {
    /// Servers and clients as chance wants them. Nothing is connected.
    pub(crate) fn new(seed: u64, chance: &mut Chance, is_calm: bool, is_read: bool) -> Self {
        let trace = Trace::new(is_read);
        let client_count = 1 + chance.place(4);
        let mut ledger = Ledger::new(seed, is_calm, &trace);
        if client_count == 1 {
            ledger = ledger.alone();
        }
        let capacity = match chance.below(4) {
            0 => 300,
            1 => 2_000,
            _ => 64 * 1024,
        };
        let births = Births::default();
        let reachable = Arc::new(Mutex::new(BTreeMap::new()));
        let mut servers = Vec::new();
        for number in 0..1 + chance.place(3) {
            let era = era(chance);
            let page = [3, 1_000][chance.place(2)];
            let machine = Machine::new(number, era, page, &ledger);
            let mut config = ServerConfig::command(&format!("s{number}"), ["in-process"]);
            config.timeouts.call = Some(Duration::from_secs(15));
            config.timeouts.total = Some(Duration::from_secs(40));
            // Who waits in vain on a calm day would have failed for nothing but our waiting.
            let patience = Duration::from_secs(if is_calm { 60 } else { 10 });
            config.timeouts.start = Some(patience);
            config.timeouts.list = Some(patience);
            if chance.once_in(6) {
                config.sharing = Sharing::PerClient;
            }
            if chance.once_in(8) {
                config.start = Start::Lazy;
            }
            if chance.once_in(8) {
                config.idle = Some(Duration::from_secs(5));
            }
            let (sharing, start) = (config.sharing, config.start);
            trace.note(&[20, number as u64, era as u64, page as u64], || {
                format!("server {number}: {era:?}, {sharing:?}, {start:?}, pages of {page}")
            });
            let reached = Reached {
                number,
                site: machine.site.clone(),
                is_down: false,
            };
            lock(&reachable).insert(config.name.clone(), reached);
            servers.push(Behind {
                era,
                machine,
                config,
                is_in: true,
            });
        }
        let mut clients = Vec::new();
        for number in 0..client_count {
            let era = era(chance);
            trace.note(&[21, era as u64], || format!("client {number}: {era:?}"));
            clients.push(Before {
                era,
                client: None,
                hearing: None,
            });
        }
        let hub = hub(chance, capacity, &births, &reachable);
        let hub = servers
            .iter()
            .fold(hub, |hub, behind| hub.server(behind.config.clone()));
        let mut limits = GatewayLimits::default();
        limits.parked_life = PARKED_LIFE;
        if !is_calm && chance.once_in(6) {
            limits.calls = 3;
            limits.parked = 2;
            limits.server.calls = 2;
        }
        let gateway = Gateway::builder(hub).limits(limits).build();
        Self {
            trace,
            ledger,
            gateway: Some(gateway),
            servers,
            clients,
            wires: Vec::new(),
            waiting: Vec::new(),
            births,
            wires_made: 0,
            capacity,
            reachable,
        }
    }

    pub(crate) fn hub(&self) -> Option<&Hub> {
        self.gateway.as_ref().map(Gateway::hub)
    }

    /// Connects a client anew.
    pub(crate) fn connect(&mut self, number: usize) {
        let Some(gateway) = &self.gateway else {
            return;
        };
        let site = gateway.site().clone();
        let (client, server, middle) = Ends::new(self.capacity).split();
        let serving = serve(site, server);
        self.wires_made += 1;
        let name = format!("client{number}/{}", self.wires_made);
        self.trace
            .note(&[22, number as u64], || format!("{name} connects"));
        let whose = Whose::Client(number);
        let names = (self.wires_made, name);
        self.wires
            .push(Wire::new(names, whose, middle, serving, &self.trace));
        if let Some(before) = self.clients.get_mut(number) {
            before.client = Some(user::connect(client, number, before.era, &self.ledger));
        }
    }

    /// Has a client make a call.
    pub(crate) fn call(&mut self, number: usize, server: usize, task: Task) {
        let client = self.clients.get(number).and_then(|it| it.client.clone());
        if let Some(client) = client {
            let call = self.ledger.begin(number, server, task, TOTAL);
            let waiting = Waiting::begin(&client, call, task, server, &self.ledger);
            self.waiting.push(waiting);
        }
    }

    /// Has a client listen to changes.
    pub(crate) fn listen(&mut self, number: usize) {
        let uris = (0..self.servers.len()).map(uri).collect();
        let trace = self.trace.clone();
        let Some(before) = self.clients.get_mut(number) else {
            return;
        };
        let Some(client) = before.client.clone() else {
            return;
        };
        let hearing = tokio::spawn(async move {
            let Ok(mut subscription) = client.listen(user::wishes(uris)).await else {
                return;
            };
            trace.note(&[23, number as u64], || format!("client {number} listens"));
            while let Ok(Some(change)) = subscription.next().await {
                trace.note(&[24, number as u64], || {
                    format!("client {number} hears of {change:?}")
                });
            }
        });
        if let Some(before) = before.hearing.replace(hearing) {
            before.abort();
        }
    }

    /// Takes up new connections, and what was said on all of them. Has anything come?
    pub(crate) fn collect(&mut self, cx: &mut Context<'_>) -> bool {
        let births = {
            let mut nursery = lock(&self.births);
            nursery.waker = Some(cx.waker().clone());
            std::mem::take(&mut nursery.born)
        };
        let mut has_come = !births.is_empty();
        for (server, middle, serving) in births {
            self.wires_made += 1;
            let name = format!("server{server}/{}", self.wires_made);
            self.trace
                .note(&[25, server as u64], || format!("{name} is connected"));
            let names = (self.wires_made, name);
            let whose = Whose::Gateway(server);
            self.wires
                .push(Wire::new(names, whose, middle, serving, &self.trace));
        }
        for wire in &mut self.wires {
            has_come |= wire.collect(cx);
        }
        self.wires.retain(|wire| !wire.is_over());
        self.waiting.retain(|waiting| !waiting.is_over());
        has_come
    }

    /// Everything there is goes through, and everything that comes of it, for so long.
    pub(crate) async fn flow(&mut self, time: Duration) {
        let flowing = poll_fn(|cx| {
            loop {
                let mut has_moved = self.collect(cx);
                for wire in &mut self.wires {
                    for side in [Side::Client, Side::Server] {
                        has_moved |= wire.let_through(side, usize::MAX, cx);
                    }
                }
                if !has_moved {
                    return Poll::<()>::Pending;
                }
            }
        });
        let _ = timeout(time, flowing).await;
    }

    /// Everybody does what there is to do.
    pub(crate) async fn settle(&mut self) {
        sleep(Duration::from_millis(1)).await;
        self.look().await;
        for wire in &mut self.wires {
            wire.settled();
        }
    }

    /// Sees what was said.
    pub(crate) async fn look(&mut self) {
        poll_fn(|cx| {
            self.collect(cx);
            Poll::Ready(())
        })
        .await;
    }

    /// A server is down, or up again. One that goes down loses its connections.
    pub(crate) fn set_down(&mut self, server: usize, is_down: bool) {
        if let Some(behind) = self.servers.get(server)
            && let Some(reached) = lock(&self.reachable).get_mut(&behind.config.name)
        {
            reached.is_down = is_down;
        }
    }

    /// A connection is gone, and who served it with it if it crashed.
    pub(crate) fn cut(&mut self, place: usize, crashes: bool) {
        let Some(wire) = self.wires.get_mut(place) else {
            return;
        };
        self.trace.note(&[26, place as u64], || {
            let what = if crashes { "crashes" } else { "is cut" };
            format!("{} {what}", wire.name)
        });
        if crashes {
            wire.serving.abort();
        }
        wire.cut();
    }

    /// Waits for something while everything flows. None if it takes too long.
    pub(crate) async fn flow_until<T>(
        &mut self,
        limit: Duration,
        waited: impl Future<Output = T>,
    ) -> Option<T> {
        let end = Instant::now() + limit;
        let mut waited = std::pin::pin!(waited);
        let flowing = poll_fn(|cx| {
            loop {
                if let Poll::Ready(ready) = waited.as_mut().poll(cx) {
                    return Poll::Ready(ready);
                }
                let mut has_moved = self.collect(cx);
                for wire in &mut self.wires {
                    for side in [Side::Client, Side::Server] {
                        has_moved |= wire.let_through(side, usize::MAX, cx);
                    }
                }
                if !has_moved {
                    return Poll::Pending;
                }
            }
        });
        tokio::time::timeout_at(end, flowing).await.ok()
    }
}

/// Serves one connection.
fn serve(site: Site, end: switchboard_client::memory::End) -> AbortHandle {
    let serving = tokio::spawn(async move {
        let (read, write) = tokio::io::split(end);
        // How it ended is seen on the other side.
        let _ = site.serve(read, write).await;
    });
    serving.abort_handle()
}

fn hub(
    chance: &mut Chance,
    capacity: usize,
    births: &Births,
    reachable: &Arc<Mutex<BTreeMap<String, Reached>>>,
) -> HubBuilder {
    let (births, reachable) = (Arc::clone(births), Arc::clone(reachable));
    let rolling = Mutex::new(Chance::new(chance.next()));
    Hub::builder()
        .time_between_pings(Duration::from_secs(20))
        .wait_for_server(Duration::from_secs(10))
        .optional_patience(Duration::from_secs(10))
        .chance(move || lock(&rolling).next() as u16)
        .in_process(move |config| {
            let reached = lock(&reachable).get(&config.name).cloned()?;
            let (client, server, middle) = Ends::new(capacity).split();
            if !reached.is_down {
                let serving = serve(reached.site, server);
                let mut nursery = lock(&births);
                nursery.born.push((reached.number, middle, serving));
                if let Some(waker) = nursery.waker.take() {
                    waker.wake();
                }
            }
            Some(client)
        })
}

fn era(chance: &mut Chance) -> Era {
    match chance.below(2) {
        0 => Era::Handshake,
        _ => Era::Stateless,
    }
}

/// Longer than a user has for an answer: who comes in time finds his call.
const PARKED_LIFE: Duration = Duration::from_secs(30);

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
