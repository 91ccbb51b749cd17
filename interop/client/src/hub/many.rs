//! Fifty servers, thirty of them real, twenty bad: the real ones do not suffer.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use switchboard_hub::{Event, Hub, HubBuilder, MemberState, ServerConfig};
use switchboard_testkit::faulty::Role;
use switchboard_testkit::faulty::http::HttpServer;
use switchboard_testkit::faulty::stdio::Launch;
use tokio::time::timeout;

use crate::calls;
use crate::catalog::{self, Server, Start};
use crate::members::Members;
use crate::places::Places;
use crate::report::{self, Report};

/// A real server of the hub.
struct Good {
    name: String,
    server: Arc<Server>,
}

/// What misbehaves.
struct Bad {
    servers: Vec<ServerConfig>,
    launches: Vec<Launch>,
    /// Threads of this process.
    _http: Vec<HttpServer>,
}

pub(crate) async fn check(places: &Places, page: &str, report: &mut Report) {
    let outcome = town(places, page, report).await;
    report.check("many: fifty servers", outcome);
}

async fn town(places: &Places, page: &str, report: &mut Report) -> Result<(), String> {
    let (mut members, good) = real(places, page)?;
    let servers = members.servers()?;
    let alone = alone(&members, &servers, &good).await?;
    let bad = Bad::new();
    let all = [&*bad.servers, &*servers].concat();
    if (all.len(), good.len()) != (50, 30) {
        return Err(format!(
            "{} servers, {} of them good",
            all.len(),
            good.len()
        ));
    }
    let hub = builder(&all).build();
    let begun = Instant::now();
    let connecting = hub.clone();
    // It waits for the silent ones, and nobody waits for it.
    let connecting = tokio::spawn(async move { connecting.connect_all().await });
    let usable = usable(&hub, &good).await;
    let together = begun.elapsed();
    let is_waiting = !connecting.is_finished();
    report::line(&format!(
        "many: 30 are usable after {:.1} s alone, after {:.1} s beside 20 bad ones",
        alone.as_secs_f64(),
        together.as_secs_f64()
    ));
    report.check("many: 30 real servers are usable", usable);
    report.check(
        "many: and no later than without the 20 bad ones",
        match together < alone * FACTOR && is_waiting {
            true => Ok(()),
            false => Err(format!(
                "{together:?} instead of {alone:?}, waiting: {is_waiting}"
            )),
        },
    );
    report.check(
        "many: each of the bad ones is what it is",
        bad.check(&hub).await,
    );
    let changed = changed(&hub, &mut members, &bad, &good).await;
    report.check(
        "many: a change of 2 is of exactly 2 processes, and no call to the others is lost",
        changed.map(|calls| report::line(&format!("many: {calls} calls meanwhile"))),
    );
    connecting.abort();
    let before = members.count()?;
    hub.close().await;
    let left: Vec<u32> = bad.launches.iter().flat_map(Launch::survivors).collect();
    report.check(
        format!("many: closes, 0 of {before} processes left, and none of the bad ones"),
        match left.is_empty() {
            true => members.check_none(before),
            false => Err(format!("bad ones left: {left:?}")),
        },
    );
    Ok(())
}

/// Everything that is started by a command: what is from npm and PyPI twice.
fn real(places: &Places, page: &str) -> Result<(Members, Vec<Good>), String> {
    let servers = catalog::servers(places, page).into_iter();
    let started = servers.filter(|server| matches!(server.start, Start::Stdio(_)));
    let started: Vec<Arc<Server>> = started.map(Arc::new).collect();
    let (mut members, mut good) = (Members::default(), Vec::new());
    for copy in ["", " again"] {
        for server in &started {
            let is_library = server.tools.contains(&"pause");
            if is_library && !copy.is_empty() {
                continue;
            }
            let name = format!("{}{copy}", server.name);
            members.add(&name, server)?;
            good.push(Good {
                name,
                server: Arc::clone(server),
            });
        }
    }
    Ok((members, good))
}

fn builder(servers: &[ServerConfig]) -> HubBuilder {
    let patient = Hub::builder().optional_patience(Duration::from_secs(3600));
    servers.iter().cloned().fold(patient, HubBuilder::server)
}

/// How long it takes until the good ones are usable, if there are no others.
async fn alone(
    members: &Members,
    servers: &[ServerConfig],
    good: &[Good],
) -> Result<Duration, String> {
    let hub = builder(servers).build();
    let begun = Instant::now();
    let connecting = hub.clone();
    let connecting = tokio::spawn(async move { connecting.connect_all().await });
    usable(&hub, good).await?;
    let taken = begun.elapsed();
    connecting.abort();
    let before = members.count()?;
    hub.close().await;
    members.check_none(before)?;
    Ok(taken)
}

/// Waits for each, and has it answer.
async fn usable(hub: &Hub, good: &[Good]) -> Result<(), String> {
    let mut events = hub.events();
    let mut missing: BTreeSet<&str> = good.iter().map(|good| good.name.as_str()).collect();
    for status in hub.servers() {
        if status.state.is_ready() {
            missing.remove(&*status.name);
        }
    }
    while !missing.is_empty() {
        match timeout(PATIENCE, events.next()).await {
            Ok(Some(Event::State { server, state })) if state.is_ready() => {
                missing.remove(&*server);
            }
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return Err(format!("not ready: {missing:?}")),
        }
    }
    let calls = good.iter().map(|good| {
        let (hub, name, server) = (hub.clone(), good.name.clone(), Arc::clone(&good.server));
        tokio::spawn(async move { once(&hub, &name, &server).await })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.map_err(|error| error.to_string())??;
    }
    Ok(())
}

/// What every server has, whatever it was asked before: something that it refuses in its words.
async fn once(hub: &Hub, name: &str, server: &Server) -> Result<(), String> {
    let refused = calls::refuses(hub, name, &server.error).await;
    refused.map_err(|reason| format!("{name}: {reason}"))
}

/// Changes two while all others are called again and again. How many calls there were.
async fn changed(
    hub: &Hub,
    members: &mut Members,
    bad: &Bad,
    good: &[Good],
) -> Result<usize, String> {
    let before: Vec<_> = owned(members)?;
    let wanted: BTreeSet<String> = CHANGED.map(str::to_owned).into();
    let (is_over, calls) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let others = good.iter().filter(|good| !wanted.contains(&good.name));
    let callers = others.map(|good| {
        let (hub, name, server) = (hub.clone(), good.name.clone(), Arc::clone(&good.server));
        let (is_over, calls) = (Arc::clone(&is_over), Arc::clone(&calls));
        tokio::spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                once(&hub, &name, &server).await?;
                calls.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<(), String>(())
        })
    });
    let callers: Vec<_> = callers.collect();
    for name in &wanted {
        members.change(name);
    }
    let new = [bad.servers.clone(), members.servers()?].concat();
    let plan = hub.set_servers(new).await;
    let restarted: BTreeSet<String> = plan.restart.iter().cloned().collect();
    let again: Vec<&Good> = good
        .iter()
        .filter(|good| wanted.contains(&good.name))
        .collect();
    for good in again {
        hub.connect(&good.name)
            .await
            .map_err(|error| calls::text(&error))?;
        once(hub, &good.name, &good.server).await?;
    }
    is_over.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await.map_err(|error| error.to_string())??;
    }
    let after = owned(members)?;
    let differ = before
        .iter()
        .zip(&after)
        .filter(|(one, other)| one != other);
    let differ: BTreeSet<String> = differ.map(|(one, _)| one.0.clone()).collect();
    match restarted == wanted && differ == wanted {
        true => Ok(calls.load(Ordering::Relaxed)),
        false => Err(format!(
            "restarted {restarted:?}, other processes: {differ:?}"
        )),
    }
}

fn owned(members: &Members) -> Result<Vec<(String, BTreeSet<u32>)>, String> {
    let pids = members.pids()?.into_iter();
    Ok(pids.map(|(name, pids)| (name.to_owned(), pids)).collect())
}

impl Bad {
    fn new() -> Self {
        let mut bad = Self {
            servers: Vec::new(),
            launches: Vec::new(),
            _http: Vec::new(),
        };
        for number in 0..OF_A_KIND {
            for kind in [HANGS, CRASHES, NOISY] {
                let launch = Launch::new(&Role::new(kind).everywhere(), "none");
                let program = launch.program.to_string_lossy();
                let arguments = launch.arguments.iter().map(|word| word.to_string_lossy());
                let words: Vec<_> = std::iter::once(program).chain(arguments).collect();
                let words = words.iter().map(|word| &**word);
                let config = ServerConfig::command(&format!("{kind}-{number}"), words);
                bad.servers.push(config);
                bad.launches.push(launch);
            }
            let locked = HttpServer::start(&Role::new("unauthorized").everywhere());
            let name = format!("{LOCKED}-{number}");
            bad.servers.push(ServerConfig::url(&name, &locked.url()));
            bad._http.push(locked);
        }
        bad
    }

    async fn check(&self, hub: &Hub) -> Result<(), String> {
        for status in hub.servers() {
            let Some((kind, _)) = status.name.rsplit_once('-') else {
                continue;
            };
            let is_good = match kind {
                HANGS | CRASHES => !status.state.is_ready(),
                LOCKED => matches!(status.state, MemberState::NeedsLogin { .. }),
                NOISY => {
                    let echo = hub.call_on(&status.name, "echo").arg("text", "hi").await;
                    echo.is_ok_and(|echo| echo.joined_text() == "hi")
                }
                _ => continue,
            };
            if !is_good {
                return Err(format!("{}: {}", status.name, status.state));
            }
        }
        Ok(())
    }
}

const HANGS: &str = "no-handshake";
const CRASHES: &str = "exits-with-words";
const NOISY: &str = "noise-between";
const LOCKED: &str = "locked";
const OF_A_KIND: usize = 5;
const CHANGED: [&str; 2] = ["server-memory again", "mcp-server-time"];
/// Processes compete for the cores; the bad ones are processes too, and start again and again.
const FACTOR: u32 = 3;
/// Nothing at all happens for so long only if nothing comes any more.
const PATIENCE: Duration = Duration::from_secs(60);
