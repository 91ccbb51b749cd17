//! One run: what happens, in which order, and what must be true of it.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use switchboard_hub::{Hub, MemberState, ServerConfig, Start};
use switchboard_protocol::Era;
use tokio::runtime::{Builder, Handle};
use tokio::time::{advance, sleep};

use crate::chance::Chance;
use crate::conversation::Side;
use crate::ledger::Task;
use crate::panics;
use crate::server::TOOLS;
use crate::wire::Whose;
use crate::world::World;

/// What came of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Run {
    /// The seed that it was made from.
    pub seed: u64,
    /// How many steps it took.
    pub steps: u64,
    /// The same for the same run, and for no other.
    pub digest: u64,
    /// What must not have happened.
    pub violations: Vec<String>,
    /// What happened, if it was asked for.
    pub lines: Vec<String>,
}

/// Runs the schedule of a seed, with about so many steps.
pub fn run(seed: u64, steps: u64, is_read: bool) -> Run {
    // On a thread of its own: what one run leaves there is not seen by the next.
    let (run, panics) = thread::scope(|scope| {
        let run = scope.spawn(|| panics::noticed(|| play(seed, steps, is_read)));
        let ended = run.join();
        ended.unwrap_or_else(|_| (None, vec!["the thread of the run panicked".to_owned()]))
    });
    let mut run = run.unwrap_or_else(|| Run {
        seed,
        steps: 0,
        digest: 0,
        violations: Vec::new(),
        lines: Vec::new(),
    });
    run.violations.extend(panics);
    run
}

fn play(seed: u64, steps: u64, is_read: bool) -> Run {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("invariant: a runtime without a driver needs nothing of the system");
    runtime.block_on(async {
        let mut schedule = Schedule::new(seed, is_read);
        schedule.play(steps).await;
        schedule.end().await;
        let (violations, lines) = schedule.world.trace.take();
        Run {
            seed,
            steps: schedule.steps,
            digest: schedule.world.trace.digest(),
            violations,
            lines,
        }
    })
}

struct Schedule {
    world: World,
    chance: Chance,
    steps: u64,
    weights: Vec<(u64, Step)>,
    /// Nothing is done to it that is not part of a good day.
    is_calm: bool,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Some of what was said goes through.
    LetThrough,
    /// All of it does.
    Flow,
    /// Somebody calls.
    Call,
    /// Somebody cancels, or does not wait any more.
    Cancel,
    DropCall,
    /// Somebody lists, or listens.
    List,
    Listen,
    /// Time passes.
    Wait,
    /// It passes so fast that everything is late.
    Jump,
    /// A connection is gone: of a client, of a server.
    CutClient,
    CutServer,
    /// A server crashes. It is there again, or stays away for a while.
    Crash,
    GoDown,
    ComeUp,
    /// Only one direction is gone.
    HalfClose,
    /// What somebody says is not read for a while.
    Stall,
    Unstall,
    /// Other servers are configured.
    Reload,
}

impl Schedule {
    fn new(seed: u64, is_read: bool) -> Self {
        let mut chance = Chance::new(seed);
        let is_calm = chance.once_in(4);
        let world = World::new(seed, &mut chance, is_calm, is_read);
        let mut weights = vec![
            (30, Step::LetThrough),
            (8, Step::Flow),
            (12, Step::Call),
            (4, Step::Cancel),
            (2, Step::DropCall),
            (1, Step::List),
            (1, Step::Listen),
            (5, Step::Wait),
        ];
        let faults = [
            (1, Step::Jump),
            (2, Step::CutClient),
            (2, Step::CutServer),
            (2, Step::Crash),
            (1, Step::GoDown),
            (2, Step::HalfClose),
            (3, Step::Stall),
            (2, Step::Reload),
        ];
        for fault in faults {
            // Each run has some of them: with all of them at once few calls would come far.
            if !is_calm && chance.once_in(3) {
                weights.push(fault);
            }
        }
        weights.extend([(2, Step::ComeUp), (2, Step::Unstall)]);
        Self {
            world,
            chance,
            steps: 0,
            weights,
            is_calm,
        }
    }

    async fn play(&mut self, steps: u64) {
        if let Some(gateway) = &self.world.gateway {
            let connecting = gateway.connect_all();
            tokio::spawn(connecting);
        }
        for client in 0..self.world.clients.len() {
            self.world.connect(client);
        }
        if self.chance.once_in(2) {
            self.world.flow(Duration::from_millis(10)).await;
        }
        for _ in 0..steps {
            self.step().await;
            self.steps += 1;
            if self.world.trace.is_broken() {
                return;
            }
        }
    }

    async fn step(&mut self) {
        let Some(step) = self.chance.weighted(&self.weights) else {
            return;
        };
        self.world
            .trace
            .note(&[30, step as u64], || format!("- {step:?}"));
        self.take(step).await;
        // Some things happen before anybody has done anything about the last one.
        match self.chance.below(4) {
            0 => {}
            1 => {
                for _ in 0..=self.chance.below(3) {
                    tokio::task::yield_now().await;
                }
            }
            _ => self.world.settle().await,
        }
        self.world.look().await;
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::LetThrough => self.let_through().await,
            Step::Flow => {
                let time = self.chance.below(30);
                self.world.flow(Duration::from_millis(time + 1)).await;
            }
            Step::Call => self.call(),
            Step::Cancel | Step::DropCall => self.cancel(matches!(step, Step::DropCall)),
            Step::List => {
                let client = self.chance.place(self.world.clients.len());
                if let Some(client) = self.world.clients[client].client.clone() {
                    tokio::spawn(async move { drop(client.tools().await) });
                }
            }
            Step::Listen => {
                let client = self.chance.place(self.world.clients.len());
                self.world.listen(client);
            }
            Step::Wait => {
                let time = match self.chance.below(8) {
                    0 if self.is_calm => 1_000,
                    0 => 30_000,
                    1 | 2 => 3_000,
                    _ => 300,
                };
                sleep(Duration::from_millis(self.chance.below(time) + 1)).await;
            }
            Step::Jump => {
                let time = Duration::from_millis(self.chance.below(90_000));
                self.world.ledger.jump(time);
                advance(time).await;
            }
            Step::CutClient => {
                let found = self.pick(|whose| matches!(whose, Whose::Client(_)));
                if let Some((place, Whose::Client(client))) = found {
                    self.world.cut(place, false);
                    self.world.connect(client);
                }
            }
            Step::CutServer | Step::Crash => {
                let found = self.pick(|whose| matches!(whose, Whose::Gateway(_)));
                if let Some((place, _)) = found {
                    self.world.cut(place, matches!(step, Step::Crash));
                }
            }
            Step::GoDown => {
                let server = self.chance.place(self.world.servers.len());
                self.world.set_down(server, true);
                while let Some(place) = self
                    .world
                    .wires
                    .iter()
                    .position(|wire| wire.whose == Whose::Gateway(server) && !wire.is_over())
                {
                    self.world.cut(place, true);
                }
            }
            Step::ComeUp => {
                let server = self.chance.place(self.world.servers.len());
                self.world.set_down(server, false);
            }
            Step::HalfClose => {
                let (side, loses) = (self.side(), self.chance.once_in(2));
                if let Some((place, _)) = self.pick(|_| true) {
                    self.world.wires[place].half_close(side, loses);
                }
            }
            Step::Stall | Step::Unstall => {
                let side = self.side();
                if let Some((place, _)) = self.pick(|_| true) {
                    self.world.wires[place].stall(side, matches!(step, Step::Stall));
                }
            }
            Step::Reload => self.reload(),
        }
    }

    async fn let_through(&mut self) {
        let mut waiting = Vec::new();
        for (place, wire) in self.world.wires.iter().enumerate() {
            for side in [Side::Client, Side::Server] {
                if wire.has_waiting(side) {
                    waiting.push((place, side));
                }
            }
        }
        if waiting.is_empty() {
            return;
        }
        let (place, side) = waiting[self.chance.place(waiting.len())];
        let wire = &mut self.world.wires[place];
        let first = wire.first_length(side);
        let most = match self.chance.below(5) {
            0 => 1 + self.chance.place(first),
            1 => usize::MAX,
            _ => first,
        };
        poll_fn(|cx| {
            wire.let_through(side, most, cx);
            Poll::Ready(())
        })
        .await;
    }

    fn call(&mut self) {
        let client = self.chance.place(self.world.clients.len());
        let server = self.chance.place(self.world.servers.len());
        let task = match self.chance.below(16) {
            0..=2 => Task::Echo,
            3 | 4 => Task::Nap,
            5 => Task::Hang,
            6 => Task::Steps,
            7..=9 => Task::Ask,
            10 => Task::AskTwice,
            11 => Task::Sample,
            // A URI does not say which of the servers that sleep it is of.
            12 if self.world.servers[server].config.start == Start::Eager => Task::Read,
            12 | 13 => Task::Prompt,
            14 => Task::Touch,
            _ => match self.chance.below(3) {
                0 => Task::Grow,
                1 => Task::Fail,
                _ => Task::Steps,
            },
        };
        self.world.call(client, server, task);
    }

    fn cancel(&mut self, drops: bool) {
        if self.world.waiting.is_empty() {
            return;
        }
        let place = self.chance.place(self.world.waiting.len());
        if drops {
            let waiting = self.world.waiting.remove(place);
            waiting.drop_it(&self.world.ledger);
        } else {
            self.world.waiting[place].cancel(&self.world.ledger);
        }
    }

    /// One server goes, comes, or is another.
    fn reload(&mut self) {
        let place = self.chance.place(self.world.servers.len());
        let changes = self.chance.once_in(2);
        let behind = &mut self.world.servers[place];
        match changes {
            true => behind.config = behind.config.clone().env("AGAIN", &self.steps.to_string()),
            false => behind.is_in = !behind.is_in,
        }
        self.set_servers();
    }

    fn set_servers(&self) {
        let servers = self.world.servers.iter().filter(|behind| behind.is_in);
        let servers: Vec<ServerConfig> = servers.map(|behind| behind.config.clone()).collect();
        if let Some(hub) = self.world.hub() {
            let hub = hub.clone();
            tokio::spawn(async move { drop(hub.set_servers(servers).await) });
        }
    }

    fn side(&mut self) -> Side {
        match self.chance.below(2) {
            0 => Side::Client,
            _ => Side::Server,
        }
    }

    fn pick(&mut self, wanted: impl Fn(Whose) -> bool) -> Option<(usize, Whose)> {
        let wires = self.world.wires.iter().enumerate();
        let found: Vec<_> = wires
            .filter(|(_, wire)| wanted(wire.whose))
            .map(|(place, wire)| (place, wire.whose))
            .collect();
        match found.is_empty() {
            true => None,
            false => Some(found[self.chance.place(found.len())]),
        }
    }
}

/// The end of a run.
impl Schedule {
    /// Faults stop. Everything must come to its end, and nothing must be left.
    async fn end(&mut self) {
        if self.world.trace.is_broken() {
            return;
        }
        self.world
            .trace
            .note(&[31], || "- everything heals".to_owned());
        self.heal();
        self.world.flow(Duration::from_millis(50)).await;
        // Half of those who wait do not wait any more; all others have a limit.
        for place in (0..self.world.waiting.len()).rev() {
            if place % 2 == 0 {
                let waiting = self.world.waiting.remove(place);
                waiting.drop_it(&self.world.ledger);
            }
        }
        // Who is gone without a word may have gone on working for two seconds.
        self.world.flow(Duration::from_secs(3)).await;
        self.check_handlers();
        self.world.flow(Duration::from_secs(75)).await;
        self.check_calls();
        self.check_lists().await;
        self.check_rest().await;
    }

    fn heal(&mut self) {
        for wire in &mut self.world.wires {
            for side in [Side::Client, Side::Server] {
                wire.stall(side, false);
            }
            if wire.is_half_closed() {
                wire.cut();
            }
        }
        for server in 0..self.world.servers.len() {
            self.world.set_down(server, false);
            self.world.servers[server].is_in = true;
        }
        self.set_servers();
    }

    /// Whatever was cancelled or given up is not worked at.
    fn check_handlers(&self) {
        let (clients, servers) = (&self.world.clients, &self.world.servers);
        // Any call may have been asked about in the place of another of the same client.
        let waits = |client: usize, server: usize| {
            clients[client].era == Era::Stateless && servers[server].era == Era::Handshake
        };
        for call in self.world.ledger.haunting(waits) {
            let task = self.world.ledger.task(call);
            let words = format!("call {call} ({task:?}) is over, and its handler works on");
            self.world.trace.violation(words);
        }
    }

    /// Everything has ended.
    fn check_calls(&self) {
        let (ledger, trace) = (&self.world.ledger, &self.world.trace);
        for call in ledger.open() {
            let task = ledger.task(call);
            trace.violation(format!("call {call} ({task:?}) has no outcome"));
        }
        for call in ledger.running() {
            let task = ledger.task(call);
            trace.violation(format!("call {call} ({task:?}) is still worked at"));
        }
        let Some(gateway) = &self.world.gateway else {
            return;
        };
        let load = gateway.load();
        if load.calls + load.parked + load.asking > 0 {
            trace.violation(format!("the gateway is still at something: {load:?}"));
        }
        let metrics = gateway.hub().metrics().snapshot();
        for server in &metrics.servers {
            if server.in_flight() > 0 {
                let (name, calls) = (&server.server, server.in_flight());
                trace.violation(format!("{name} still has {calls} calls in flight"));
            }
        }
    }

    /// Every client sees all that there is.
    async fn check_lists(&mut self) {
        if self.world.trace.is_broken() {
            return;
        }
        self.wait_for_servers().await;
        let mut expected = BTreeSet::new();
        for (number, behind) in self.world.servers.iter().enumerate() {
            for task in TOOLS {
                expected.insert(format!("s{number}__{}", task.tool()));
            }
            let grown = behind
                .machine
                .grown
                .load(std::sync::atomic::Ordering::Relaxed);
            for more in 0..grown {
                expected.insert(format!("s{number}__grown-{more}"));
            }
        }
        for number in 0..self.world.clients.len() {
            let client = self.world.clients[number].client.clone();
            let Some(client) = client.filter(|client| !client.state().is_over()) else {
                continue;
            };
            // Who hears of changes need not ask anew.
            let asks_anew = !self.hears(number);
            let listing = async move {
                match asks_anew {
                    true => client.refresh_tools().await,
                    false => client.tools().await,
                }
            };
            let listed = self
                .world
                .flow_until(Duration::from_secs(30), listing)
                .await;
            let words = match listed {
                None => "no list came".to_owned(),
                Some(Err(error)) => format!("no list: {error}"),
                Some(Ok(tools)) => {
                    let names: BTreeSet<_> = tools.iter().map(|tool| tool.name.clone()).collect();
                    if names == expected {
                        continue;
                    }
                    let missing: Vec<_> = expected.difference(&names).collect();
                    let more: Vec<_> = names.difference(&expected).collect();
                    format!("missing {missing:?}, too many {more:?}")
                }
            };
            self.world
                .trace
                .violation(format!("client {number} does not see all tools: {words}"));
        }
    }

    /// Does a client hear of changes?
    fn hears(&self, number: usize) -> bool {
        let before = &self.world.clients[number];
        let hearing = before.hearing.as_ref();
        before.era == Era::Handshake || hearing.is_some_and(|hearing| !hearing.is_finished())
    }

    /// Servers come back by themselves, or when they are called.
    async fn wait_for_servers(&mut self) {
        for round in 0..20 {
            let Some(hub) = self.world.hub().cloned() else {
                return;
            };
            let servers = hub.servers();
            let mut is_ready = servers.len() == self.world.servers.len();
            for server in servers {
                let is_asleep = matches!(server.state, MemberState::Asleep);
                is_ready &= server.state.is_ready() || (is_asleep && round > 0);
                if is_asleep && round == 0 {
                    let hub = hub.clone();
                    tokio::spawn(async move { drop(hub.connect(&server.name).await) });
                }
            }
            if is_ready {
                // What they offer may be told a moment later.
                self.world.flow(Duration::from_secs(3)).await;
                return;
            }
            self.world.flow(Duration::from_secs(10)).await;
        }
        let states: Vec<_> = self.world.hub().map(Hub::servers).unwrap_or_default();
        let states: Vec<_> = states
            .iter()
            .map(|it| format!("{}: {}", it.name, it.state))
            .collect();
        let words = format!("servers do not come back: {}", states.join(", "));
        self.world.trace.violation(words);
    }

    /// When all are gone, nothing is left.
    async fn check_rest(&mut self) {
        if self.world.trace.is_broken() {
            return;
        }
        for before in &mut self.world.clients {
            if let Some(hearing) = before.hearing.take() {
                hearing.abort();
            }
            before.client = None;
        }
        self.world.waiting.clear();
        self.world.flow(Duration::from_secs(30)).await;
        if let Some(gateway) = &self.world.gateway {
            let load = gateway.load();
            if load.watched > 0 {
                let words = format!("nobody is there, and something is watched: {load:?}");
                self.world.trace.violation(words);
            }
        }
        if let Some(hub) = self.world.hub().cloned() {
            let closing = async move { hub.close().await };
            let closed = self
                .world
                .flow_until(Duration::from_secs(30), closing)
                .await;
            if closed.is_none() {
                self.world
                    .trace
                    .violation("the hub does not close".to_owned());
            }
        }
        self.world.gateway = None;
        self.world.flow(Duration::from_secs(30)).await;
        let left = Handle::current().metrics().num_alive_tasks();
        if left > 0 {
            let words = format!("{left} tasks are left when all is over");
            self.world.trace.violation(words);
        }
    }
}
