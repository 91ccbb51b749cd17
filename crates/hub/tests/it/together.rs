//! Many users of one hub at once, and how many servers start at once.

use std::collections::BTreeSet;
use std::future::IntoFuture as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use switchboard_auth::Secret;
use switchboard_hub::{Config, Event, Hub, MemberState, Origin, Start, Surroundings};

use crate::child::server;
use crate::running::{builder, pid, soon};

#[test]
fn a_hub_and_its_calls_can_be_used_anywhere() {
    const fn is_shared<T: Clone + Send + Sync + 'static>() {}
    fn is_sent<T: Send + 'static>(_: fn(Hub) -> T) {}
    is_shared::<Hub>();
    is_shared::<switchboard_hub::Catalog>();
    is_shared::<Event>();
    is_sent(|hub| hub.call("mcp__one__add").into_future());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn users_who_connect_and_call_at_once_share_one_process() {
    let hub = builder(["one", "two"].map(server)).build();
    let users: Vec<_> = (0..16)
        .map(|user| {
            let hub = hub.clone();
            tokio::spawn(async move {
                let name = ["one", "two"][user % 2];
                hub.connect(name).await.unwrap();
                let mut pids = BTreeSet::new();
                for number in 0..50 {
                    let sum = hub.call_on(name, "add").arg("a", number).arg("b", user);
                    let (sum, pid) = tokio::join!(sum, pid(&hub, name));
                    assert_eq!(sum.unwrap().joined_text(), (number + user).to_string());
                    pids.insert(pid);
                }
                pids
            })
        })
        .collect();
    let mut pids = BTreeSet::new();
    for user in users {
        pids.extend(soon(user).await.unwrap());
    }
    assert_eq!(pids.len(), 2, "{pids:?}");
    hub.close().await;
}

#[tokio::test]
async fn whoever_does_not_listen_loses_the_oldest_and_is_told_how_many() {
    let hub = builder([server("one")]).build();
    soon(hub.connect_all()).await;
    let mut events = hub.events();
    const CHANGES: u64 = 1500;
    for number in 0..CHANGES {
        hub.toggle("one", number % 2 == 1).unwrap();
    }
    let last = hub.catalog().version();
    let mut heard = 0;
    let heard = soon(async {
        loop {
            if let Event::Catalog { version, .. } = events.next().await.unwrap() {
                heard += 1;
                if version == last {
                    return heard;
                }
            }
        }
    })
    .await;
    assert!(events.missed() > 0);
    assert_eq!(heard + events.missed(), CHANGES);
    assert_eq!(hub.metrics().snapshot().missed_events, events.missed());
    hub.close().await;
}

/// Has a turn and no more.
fn begin(future: impl Future) -> bool {
    let waker = std::task::Waker::noop();
    let mut future = std::pin::pin!(future);
    let turn = future
        .as_mut()
        .poll(&mut std::task::Context::from_waker(waker));
    turn.is_ready()
}

#[tokio::test]
async fn whoever_orders_more_than_is_taken_waits() {
    let mut config = server("one");
    config.start = Start::Lazy;
    let hub = builder([config]).build();
    let mut events = hub.events();
    // Nobody obeys before this test waits. Orders that had no place are gone with whoever gave them.
    for _ in 0..20 {
        assert!(!begin(hub.connect("one")));
        assert!(!begin(hub.disconnect("one")));
    }
    soon(hub.disconnect("one")).await.unwrap();
    soon(hub.close()).await;
    drop(hub);
    let mut starts = 0;
    while let Some(event) = soon(events.next()).await {
        let is_start = |state: &MemberState| matches!(state, MemberState::Starting);
        starts += u32::from(matches!(event, Event::State { state, .. } if is_start(&state)));
    }
    assert_eq!(starts, 8);
}

/// Gives a value only when so many ask for one, or none more comes.
#[derive(Debug, Default)]
struct Crowd {
    /// How many ask now, and how many asked at the most.
    asking: Mutex<(usize, usize)>,
    more: Condvar,
}

impl Surroundings for Crowd {
    fn variable(&self, _: &str) -> Option<Secret> {
        let mut asking = self.asking.lock().unwrap();
        asking.0 += 1;
        asking.1 = asking.1.max(asking.0);
        self.more.notify_all();
        let is_few = |asking: &mut (usize, usize)| asking.0 <= TOGETHER;
        let waited = self.more.wait_timeout_while(asking, LULL, is_few);
        waited.unwrap().0.0 -= 1;
        Some(Secret::new("x"))
    }

    fn variable_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn file(&self, _: &Path) -> io::Result<Secret> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn command(&self, _: &[String]) -> io::Result<Secret> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn keyring(&self, _: &str) -> io::Result<Option<Secret>> {
        Ok(None)
    }

    fn home(&self) -> Option<PathBuf> {
        None
    }
}

#[tokio::test]
async fn only_so_many_servers_start_together() {
    let servers: Vec<String> = (0..3 * TOGETHER)
        .map(|number| format!(r#""{number}": {{"command": "no-such-program-${{A}}"}}"#))
        .collect();
    let text = format!(r#"{{"mcpServers": {{{}}}}}"#, servers.join(","));
    let config = Config::read(&text, &Origin::text("mcp.json")).unwrap();
    let crowd = Arc::new(Crowd::default());
    let hub = Hub::builder()
        .config(config)
        .surroundings(Arc::<Crowd>::clone(&crowd))
        .starts_together(TOGETHER)
        .build();
    let servers = soon(hub.connect_all()).await;
    assert!(servers.iter().all(|server| !server.state.is_ready()));
    soon(hub.close()).await;
    assert_eq!(crowd.asking.lock().unwrap().1, TOGETHER);
}

const TOGETHER: usize = 3;
/// Far longer than one more would take to come, and far shorter than one lets others wait.
const LULL: Duration = Duration::from_millis(200);
