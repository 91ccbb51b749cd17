//! How servers live in a hub: they sleep and wake, are asked for signs of life, are killed and come
//! back, and go with the hub.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};

use switchboard_client::Class;
use switchboard_hub::{
    Event, Events, Hub, HubBuilder, HubError, MemberState, ServerConfig, Sharing, Start,
};
use tokio::time::timeout;

use crate::calls;
use crate::catalog::{self, Ask, Server};
use crate::members::{self, Members};
use crate::places::Places;
use crate::report::Report;

/// The servers, and what is asked of them.
struct Town {
    members: Members,
    servers: Vec<Server>,
    configs: Vec<ServerConfig>,
}

pub(crate) async fn check(places: &Places, page: &str, report: &mut Report) {
    let town = match Town::new(places, page) {
        Ok(town) => town,
        Err(reason) => return report.check("lives", Err(reason)),
    };
    report.check(
        "lives: what servers offered is known before they are started again",
        town.remembered(places).await,
    );
    report.check(
        "lives: a call wakes its server alone, and it sleeps again",
        town.woken(places).await,
    );
    report.check(
        "lives: those that give signs of life are left alone",
        town.pinged().await,
    );
    report.check(
        "lives: one that is killed comes back, and the others do not notice",
        town.killed().await,
    );
    report.check(
        "lives: of one that is not shared each user has a process, which goes with the user",
        personal(places, page).await,
    );
    report.check(
        "lives: a hub that is dropped leaves 0 processes",
        town.dropped().await,
    );
}

impl Town {
    fn new(places: &Places, page: &str) -> Result<Self, String> {
        let servers = catalog::servers(places, page).into_iter();
        let servers = servers.filter(|server| WANTED.contains(&server.name.as_str()));
        let servers: Vec<Server> = servers.collect();
        let mut members = Members::default();
        for server in &servers {
            members.add(&server.name, server)?;
        }
        let configs = members.servers()?;
        match configs.len() == WANTED.len() {
            true => Ok(Self {
                members,
                servers,
                configs,
            }),
            false => Err(format!("{} of {WANTED:?} are there", configs.len())),
        }
    }

    fn builder(&self, change: impl Fn(&mut ServerConfig)) -> HubBuilder {
        let configs = self.configs.iter().cloned().map(|mut config| {
            change(&mut config);
            config
        });
        configs.fold(Hub::builder(), HubBuilder::server)
    }

    /// A hub of servers that are started by the first call.
    fn lazy(&self, places: &Places) -> Hub {
        let builder = self.builder(|config| {
            config.start = Start::Lazy;
            config.idle = Some(IDLE);
        });
        builder.cache(places.scratch.join("cache")).build()
    }

    async fn ask_all(&self, hub: &Hub) -> Result<(), String> {
        for server in &self.servers {
            calls::refuses(hub, &server.name, &server.error)
                .await
                .map_err(|reason| format!("{}: {reason}", server.name))?;
        }
        Ok(())
    }

    /// Two hubs, one after the other.
    async fn remembered(&self, places: &Places) -> Result<(), String> {
        let first = self.lazy(places);
        first.connect_all().await;
        for server in &self.servers {
            // What it offers is not known yet, so it is not called by a name of the catalogue.
            let woken = first.call_on(&server.name, server.error.tool);
            let woken = woken.args(&server.error.arguments).await;
            if let Err(error) = woken.map(drop)
                && !matches!(&error, HubError::Call(error) if error.class() == Class::Refused)
            {
                return Err(calls::text(&error));
            }
        }
        let catalog = first.catalog();
        let mut servers = self.servers.iter();
        if let Some(server) = servers.find(|server| catalog.tools_of(&server.name).is_empty()) {
            return Err(format!("{} offers nothing", server.name));
        }
        let wanted = names(&first);
        first.close().await;
        let second = self.lazy(places);
        second.connect_all().await;
        let (found, running) = (names(&second), self.members.count()?);
        second.close().await;
        match (wanted == found, running) {
            (true, 0) => Ok(()),
            _ => Err(format!(
                "{} tools, then {}, with {running} processes",
                wanted.len(),
                found.len()
            )),
        }
    }

    async fn woken(&self, places: &Places) -> Result<(), String> {
        let hub = self.lazy(places);
        hub.connect_all().await;
        let mut events = hub.events();
        let one = self.servers.first().ok_or("no server")?;
        calls::refuses(&hub, &one.name, &one.error).await?;
        let running = self.running()?;
        if running != BTreeSet::from([one.name.as_str()]) {
            return Err(format!("{running:?} run"));
        }
        until(&mut events, &one.name, |state| {
            matches!(state, MemberState::Asleep)
        })
        .await?;
        let running = self.members.count()?;
        let is_known = hub.catalog().find_on(&one.name, one.error.tool).is_ok();
        hub.close().await;
        match (running, is_known) {
            (0, true) => Ok(()),
            other => Err(format!("processes, known: {other:?}")),
        }
    }

    async fn pinged(&self) -> Result<(), String> {
        let hub = self.builder(|_| ()).time_between_pings(PING).build();
        members::connect(&hub).await?;
        let before = self.pids()?;
        let mut events = hub.events();
        let states = async {
            while let Some(event) = events.next().await {
                if let Event::State { server, state } = event {
                    return format!("{server}: {state}");
                }
            }
            "the hub is gone".to_owned()
        };
        // For as long as it takes to miss two and a half.
        if let Ok(state) = timeout(PING * 5 / 2, states).await {
            return Err(state);
        }
        self.ask_all(&hub).await?;
        let after = self.pids()?;
        hub.close().await;
        match before == after {
            true => Ok(()),
            false => Err(format!("{before:?} became {after:?}")),
        }
    }

    async fn killed(&self) -> Result<(), String> {
        let hub = self.builder(|_| ()).build();
        members::connect(&hub).await?;
        let before = self.pids()?;
        let mut events = hub.events();
        let victim = self.servers.last().ok_or("no server")?;
        let place = before.iter().position(|(name, _)| *name == victim.name);
        let (_, pids) = &before[place.ok_or("it does not run")?];
        for pid in pids {
            let killed = Command::new("kill")
                .args(["-KILL", &pid.to_string()])
                .status();
            killed.map_err(|error| error.to_string())?;
        }
        until(&mut events, &victim.name, |state| {
            matches!(state, MemberState::BackingOff { .. })
        })
        .await?;
        self.ask_all(&hub).await?;
        let after = self.pids()?;
        let differ = before
            .iter()
            .zip(&after)
            .filter(|(one, other)| one != other);
        let differ: Vec<&str> = differ.map(|(one, _)| one.0.as_str()).collect();
        hub.close().await;
        match differ == [victim.name.as_str()] {
            true => Ok(()),
            false => Err(format!("other processes: {differ:?}")),
        }
    }

    async fn dropped(&self) -> Result<(), String> {
        let hub = self.builder(|_| ()).build();
        members::connect(&hub).await?;
        let before = self.members.count()?;
        drop(hub);
        // Nobody waits for them, so nobody tells when they are gone.
        let begun = Instant::now();
        loop {
            let left = self.members.check_none(before);
            if left.is_ok() || begun.elapsed() > SURVIVAL {
                return left;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn pids(&self) -> Result<Vec<(String, BTreeSet<u32>)>, String> {
        let pids = self.members.pids()?.into_iter();
        Ok(pids.map(|(name, pids)| (name.to_owned(), pids)).collect())
    }

    fn running(&self) -> Result<BTreeSet<&str>, String> {
        let pids = self.members.pids()?.into_iter();
        let running = pids.filter(|(_, pids)| !pids.is_empty());
        Ok(running.map(|(name, _)| name).collect())
    }
}

/// It numbers the thoughts of its user; those of another do not count.
async fn personal(places: &Places, page: &str) -> Result<(), String> {
    let servers = catalog::servers(places, page);
    let mut servers = servers.iter();
    let server = servers.find(|server| server.name == "server-sequential-thinking");
    let server = server.ok_or("it is not in the catalogue")?;
    let first = server.answer.as_ref().ok_or("it has no answer")?;
    let mut members = Members::default();
    members.add("thinking", server)?;
    let mut configs = members.servers()?;
    for config in &mut configs {
        config.sharing = Sharing::PerClient;
    }
    let hub = configs
        .into_iter()
        .fold(Hub::builder(), HubBuilder::server)
        .build();
    members::connect(&hub).await?;
    let (one, other) = (hub.session(), hub.session());
    calls::answers(&one, "thinking", first).await?;
    calls::answers(&other, "thinking", first).await?;
    let second = Ask {
        contains: "\"thoughtHistoryLength\": 2",
        arguments: first.arguments.clone(),
        ..*first
    };
    calls::answers(&one, "thinking", &second).await?;
    let before = members.count()?;
    drop(other);
    let begun = Instant::now();
    while members.count()? + 1 > before && begun.elapsed() < SURVIVAL {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let during = members.count()?;
    hub.close().await;
    match (before, during, members.count()?) {
        (3, 2, 0) => Ok(()),
        other => Err(format!("processes: {other:?}")),
    }
}

fn names(hub: &Hub) -> Vec<String> {
    let catalog = hub.catalog();
    let tools = catalog.tools();
    tools.map(|entry| entry.name.to_string()).collect()
}

/// Waits until a server stands so.
async fn until(
    events: &mut Events,
    server: &str,
    fits: impl Fn(&MemberState) -> bool,
) -> Result<(), String> {
    let waiting = async {
        while let Some(event) = events.next().await {
            if matches!(&event, Event::State { server: of, state } if **of == *server && fits(state))
            {
                return Ok(());
            }
        }
        Err("the hub is gone".to_owned())
    };
    let came = timeout(SURVIVAL, waiting).await;
    came.unwrap_or_else(|_| Err(format!("{server} does not come to that state")))
}

/// Of each kind one.
const WANTED: [&str; 5] = [
    "server-everything",
    "server-memory",
    "context7-mcp",
    "mcp-server-time",
    "rmcp, stdio",
];
const IDLE: Duration = Duration::from_millis(500);
/// Longer than a server takes to answer on a busy machine.
const PING: Duration = Duration::from_secs(2);
/// Servers may take their time to end, or to be started again.
const SURVIVAL: Duration = Duration::from_secs(10);
