//! Servers that come, go and change at random while calls go on: nothing may be left of them.
//!
//! `cargo test` makes a few changes. The full run is a command; it says for how many seconds:
//!
//! ```text
//! SWITCHBOARD_CHURN=600 cargo test -p switchboard-hub --test it churn -- --nocapture
//! ```
//!
//! It runs in a process of its own, so that other tests do not count. What counts is what is
//! there when all but the steady servers have been taken away: descriptors, tasks and children are
//! as many as before the first change, and memory is as much as after the warm-up.

use std::fmt;
use std::future::IntoFuture as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use switchboard_hub::{Hub, HubError, ServerConfig, Sharing, Start, ToolFilter};
use switchboard_testkit::dice::Dice;
use switchboard_testkit::process::{children, descriptors, resident};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::child::{faulty, odd, server};
use crate::running::{builder, pid, soon};

/// Not a test by itself: what the other starts.
#[test]
fn the_process() {
    if std::env::var(PART).is_err() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.unwrap().block_on(churn());
}

#[test]
fn servers_that_come_and_go_at_random_leave_nothing_behind() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "churn::the_process", "--nocapture"])
        .env(PART, "churn")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
    report(said.lines().filter(|line| line.starts_with("churn: ")));
    assert!(output.status.success(), "{said}\n{wrong}");
}

#[expect(clippy::print_stdout, reason = "figures for whoever runs it by hand")]
fn report<S: AsRef<str>>(lines: impl IntoIterator<Item = S>) {
    for line in lines {
        println!("{}", line.as_ref());
    }
}

/// For how long a part of it goes on.
enum Span {
    Changes(u64),
    Time(Duration),
}

impl Span {
    fn is_over(&self, changes: u64, begun: Instant) -> bool {
        match self {
            Self::Changes(most) => changes >= *most,
            Self::Time(most) => begun.elapsed() >= *most,
        }
    }
}

/// What was done in all.
#[derive(Default)]
struct Done {
    changes: AtomicU64,
    answered: AtomicU64,
    refused: AtomicU64,
    given_up: AtomicU64,
}

async fn churn() {
    let (parts, span) = match std::env::var(WANTED) {
        Err(_) => (5, Span::Changes(CHANGES)),
        Ok(seconds) => {
            let all = Duration::from_secs(seconds.parse().unwrap());
            (20, Span::Time(all / 20))
        }
    };
    let hub = builder(steady())
        .wait_for_server(PATIENCE)
        .optional_patience(PATIENCE)
        .build();
    hub.connect_all().await;
    let mut pids = Vec::new();
    for name in STEADY {
        pids.push(pid(&hub, name).await);
    }
    let done = Arc::new(Done::default());
    let mut dice = Dice::default();
    let begun = Instant::now();
    let first = Look::now();
    report([format!("churn: before the first change {first}")]);
    let mut looks = Vec::new();
    for _ in 0..parts {
        part(&hub, &span, &done, &mut dice).await;
        let look = Look::when_quiet(&hub, &first).await;
        report([format!(
            "churn: {} s, {done}: {look}",
            begun.elapsed().as_secs()
        )]);
        looks.push(look);
    }
    for (name, before) in STEADY.iter().zip(pids) {
        assert_eq!(pid(&hub, name).await, before, "{name}");
    }
    let (warm, last) = (looks[parts / 5], looks[parts - 1]);
    assert!(last.is_as_few_as(&first), "{first} grew to {last}");
    let most = warm.resident + warm.resident / 10;
    assert!(last.resident <= most, "{warm} grew to {last}");
    soon(hub.close()).await;
    assert_eq!(children(), 0);
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        write!(
            f,
            "{} changes, {} calls answered, {} refused, {} given up",
            count(&self.changes),
            count(&self.answered),
            count(&self.refused),
            count(&self.given_up),
        )
    }
}

/// Changes at random, while callers call.
async fn part(hub: &Hub, span: &Span, done: &Arc<Done>, dice: &mut Dice) {
    let is_over = Arc::new(AtomicBool::new(false));
    let callers: Vec<JoinHandle<()>> = (0..CALLERS)
        .map(|_| {
            let (hub, done, is_over) = (hub.clone(), Arc::clone(done), Arc::clone(&is_over));
            let seed = dice.roll(u64::MAX);
            tokio::spawn(async move { call(&hub, &done, &is_over, Dice::new(seed)).await })
        })
        .collect();
    let begun = Instant::now();
    let mut changes = 0;
    while !span.is_over(changes, begun) {
        let servers = some_servers(dice);
        let plan = soon(hub.set_servers(servers)).await;
        assert!(plan.restart.iter().all(|name| !is_steady(name)));
        // Some of the changes come while servers are still being started.
        if dice.roll(2) == 0 {
            soon(hub.connect_all()).await;
        }
        changes += 1;
    }
    done.changes.fetch_add(changes, Ordering::Relaxed);
    is_over.store(true, Ordering::Relaxed);
    for caller in callers {
        soon(caller).await.unwrap();
    }
}

/// Calls at random: some calls are given up, some go to servers that are not there.
async fn call(hub: &Hub, done: &Done, is_over: &AtomicBool, mut dice: Dice) {
    while !is_over.load(Ordering::Relaxed) {
        // Let go at the end of the round, with the processes that it has alone.
        let session = hub.session();
        let steady = STEADY[dice.roll(2) as usize];
        let number = dice.roll(1000);
        let sum = session.call_on(steady, "add").arg("a", number).arg("b", 1);
        let sum = sum.await.unwrap().joined_text();
        assert_eq!(sum, (number + 1).to_string());
        done.answered.fetch_add(1, Ordering::Relaxed);

        let name = name(dice.roll(SERVERS));
        let limit = Duration::from_millis(dice.roll(20));
        // Nobody opens the gate.
        let waiting = session.call_on(&name, "wait");
        let _ = timeout(limit, waiting.into_future()).await;
        done.given_up.fetch_add(1, Ordering::Relaxed);

        let sum = session.call_on(&name, "add").arg("a", number).arg("b", 1);
        match sum.await {
            Ok(result) => {
                assert_eq!(result.joined_text(), (number + 1).to_string());
                done.answered.fetch_add(1, Ordering::Relaxed);
            }
            Err(HubError::Unreadable { error, .. }) => panic!("{error}"),
            Err(_) => {
                done.refused.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

fn name(number: u64) -> String {
    format!("server-{number}")
}

fn is_steady(name: &str) -> bool {
    STEADY.contains(&name)
}

fn steady() -> Vec<ServerConfig> {
    STEADY.iter().map(|name| server(name)).collect()
}

/// The steady ones, and some of the others, some of them changed.
fn some_servers(dice: &mut Dice) -> Vec<ServerConfig> {
    let mut servers = steady();
    for number in 0..SERVERS {
        if dice.roll(2) == 0 {
            continue;
        }
        let name = name(number);
        let mut config = match number {
            0 => faulty(&name, "exits-with-words").0,
            1 => faulty(&name, "no-handshake").0,
            2 => odd(&name, "chatty"),
            _ => server(&name).env("VARIANT", &dice.roll(3).to_string()),
        };
        if dice.roll(4) == 0 {
            config.tools = ToolFilter::deny(["grow"]);
        }
        if dice.roll(4) == 0 {
            config.start = Start::Lazy;
        }
        if number == 3 {
            config.sharing = Sharing::PerClient;
        }
        servers.push(config);
    }
    servers
}

/// What there is of this process.
#[derive(Clone, Copy)]
struct Look {
    resident: usize,
    descriptors: usize,
    tasks: usize,
    children: usize,
}

impl Look {
    fn now() -> Self {
        Self {
            resident: resident(),
            descriptors: descriptors(),
            tasks: Handle::current().metrics().num_alive_tasks(),
            children: children(),
        }
    }

    /// When only the steady servers are there. What has ended is let go of a little later, and
    /// nobody tells when.
    async fn when_quiet(hub: &Hub, first: &Self) -> Self {
        soon(hub.set_servers(steady())).await;
        let ends = Instant::now() + LINGERING;
        loop {
            let look = Self::now();
            if look.is_as_few_as(first) || Instant::now() >= ends {
                return look;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    const fn is_as_few_as(&self, other: &Self) -> bool {
        self.descriptors <= other.descriptors
            && self.tasks <= other.tasks
            && self.children <= other.children
    }
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} KiB, {} descriptors, {} tasks, {} children",
            self.resident >> 10,
            self.descriptors,
            self.tasks,
            self.children
        )
    }
}

/// Tells the process to run.
const PART: &str = "SWITCHBOARD_HUB_CHURN";
/// The variable that says for how many seconds.
const WANTED: &str = "SWITCHBOARD_CHURN";
/// In one part, if no time is set.
const CHANGES: u64 = 2;
/// Those that stay while others come and go.
const STEADY: [&str; 2] = ["steady-0", "steady-1"];
const SERVERS: u64 = 10;
const CALLERS: usize = 4;
/// For servers that may never be ready.
const PATIENCE: Duration = Duration::from_millis(200);
/// How long things may take to be let go of.
const LINGERING: Duration = Duration::from_secs(2);
