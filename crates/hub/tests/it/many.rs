//! Fifty servers, of which twenty are bad: the others do not suffer.

use std::collections::BTreeMap;
use std::time::Duration;

use switchboard_hub::{Hub, HubBuilder, MemberState, ServerConfig};
use switchboard_testkit::faulty::Role;
use switchboard_testkit::faulty::http::HttpServer;
use switchboard_testkit::faulty::stdio::Launch;

use crate::child::{faulty, server};
use crate::running::{is_running, pid, soon, state, text, until};

/// The servers, and what tells whether anything is left of them.
struct Town {
    servers: Vec<ServerConfig>,
    launches: Vec<Launch>,
    /// Threads of this process.
    http: Vec<HttpServer>,
}

fn good(number: usize) -> String {
    format!("good-{number:02}")
}

impl Town {
    fn new() -> Self {
        let mut town = Self {
            servers: (0..GOOD).map(|number| server(&good(number))).collect(),
            launches: Vec::new(),
            http: Vec::new(),
        };
        for number in 0..BAD_OF_A_KIND {
            for kind in ["no-handshake", "exits-with-words", "noise-between"] {
                let (config, launch) = faulty(&format!("{kind}-{number}"), kind);
                town.servers.push(config);
                town.launches.push(launch);
            }
            let locked = HttpServer::start(&Role::new("unauthorized").everywhere());
            let name = format!("locked-{number}");
            town.servers.push(ServerConfig::url(&name, &locked.url()));
            town.http.push(locked);
        }
        // Bad ones come first.
        town.servers.reverse();
        town
    }
}

async fn pids(hub: &Hub) -> BTreeMap<String, u32> {
    let mut pids = BTreeMap::new();
    for number in 0..GOOD {
        pids.insert(good(number), pid(hub, &good(number)).await);
    }
    pids
}

#[tokio::test]
async fn thirty_of_fifty_are_usable_whatever_the_others_do() {
    let town = Town::new();
    assert_eq!(town.servers.len(), 50);
    let patient = Hub::builder().optional_patience(Duration::from_secs(3600));
    let servers = town.servers.iter().cloned();
    let hub = servers.fold(patient, HubBuilder::server).build();
    let mut events = hub.events();
    let all = hub.clone();
    // It waits for the silent ones, and nobody waits for it.
    let connecting = tokio::spawn(async move { all.connect_all().await });
    for number in 0..GOOD {
        let name = good(number);
        if !state(&hub, &name).is_ready() {
            until(&mut events, &name, MemberState::is_ready).await;
        }
    }
    assert!(!connecting.is_finished());
    connecting.abort();
    let before = pids(&hub).await;
    for number in 0..BAD_OF_A_KIND {
        assert!(!state(&hub, &format!("no-handshake-{number}")).is_ready());
        assert!(!state(&hub, &format!("exits-with-words-{number}")).is_ready());
        let noisy = format!("noise-between-{number}");
        let echo = hub.call_on(&noisy, "echo").arg("text", "hi");
        assert_eq!(soon(echo).await.unwrap().joined_text(), "hi");
        let locked = format!("locked-{number}");
        let error = soon(hub.call_on(&locked, "echo")).await.unwrap_err();
        assert!(error.to_string().contains("login"), "{error}");
    }

    let mut calls = Vec::new();
    for number in 0..CALLS {
        let hub = hub.clone();
        calls.push(tokio::spawn(async move {
            let name = good(2 + number % (GOOD - 2));
            (text(&hub, &name, "wait").await.unwrap(), name)
        }));
    }
    let waiting = async {
        let mut waiting = 0;
        while waiting < CALLS {
            waiting = 0;
            for number in 2..GOOD {
                let here = text(&hub, &good(number), "waiting").await.unwrap();
                waiting += here.parse::<usize>().unwrap();
            }
        }
    };
    soon(waiting).await;
    let mut new = town.servers.clone();
    for config in &mut new {
        if config.name == good(0) || config.name == good(1) {
            *config = config.clone().env("CHANGED", "yes");
        }
    }
    let plan = soon(hub.set_servers(new)).await;
    assert_eq!(plan.restart, [good(1), good(0)]);
    assert_eq!(plan.keep.len(), 48);
    for number in 2..GOOD {
        hub.call_on(&good(number), "open").await.unwrap();
    }
    for call in calls {
        let (answer, name) = soon(call).await.unwrap();
        assert_eq!(answer, before[&name].to_string(), "{name}");
    }
    let after = pids(&hub).await;
    let is_changed = |name: &&String| before[*name] != after[*name];
    assert_eq!(before.keys().filter(is_changed).count(), 2);

    soon(hub.close()).await;
    assert!(after.values().all(|pid| !is_running(*pid)));
    let left: Vec<_> = town.launches.iter().flat_map(Launch::survivors).collect();
    assert!(left.is_empty(), "{left:?}");
}

const GOOD: usize = 30;
const BAD_OF_A_KIND: usize = 5;
const CALLS: usize = 1000;
