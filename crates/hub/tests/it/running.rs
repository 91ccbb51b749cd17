//! A hub of servers that really run, and what of them can be seen.

use std::future::IntoFuture;
use std::time::Duration;

use switchboard_hub::{Event, Events, Hub, HubBuilder, HubError, MemberState, ServerConfig};
use tokio::time::timeout;

/// A hub of these servers, connected.
pub(crate) async fn hub(servers: impl IntoIterator<Item = ServerConfig>) -> Hub {
    let hub = builder(servers).build();
    hub.connect_all().await;
    hub
}

pub(crate) fn builder(servers: impl IntoIterator<Item = ServerConfig>) -> HubBuilder {
    servers.into_iter().fold(Hub::builder(), HubBuilder::server)
}

pub(crate) async fn text(hub: &Hub, server: &str, tool: &str) -> Result<String, HubError> {
    Ok(hub.call_on(server, tool).await?.joined_text())
}

pub(crate) async fn pid(hub: &Hub, server: &str) -> u32 {
    text(hub, server, "pid").await.unwrap().parse().unwrap()
}

pub(crate) async fn sum(hub: &Hub, server: &str, a: usize) -> String {
    let sum = hub.call_on(server, "add").arg("a", a).arg("b", 1).await;
    sum.unwrap().joined_text()
}

pub(crate) fn is_running(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

pub(crate) fn state(hub: &Hub, server: &str) -> MemberState {
    let servers = hub.servers();
    let found = servers.iter().find(|status| &*status.name == server);
    found.unwrap().state.clone()
}

/// The names of the tools of a server that may be used, as the server has them.
pub(crate) fn tools_of(hub: &Hub, server: &str) -> Vec<String> {
    let catalog = hub.catalog();
    let tools = catalog.tools_of(server).iter();
    tools.map(|entry| entry.tool.name.clone()).collect()
}

/// Waits for a state, at most for a minute.
pub(crate) async fn until(events: &mut Events, server: &str, fits: impl Fn(&MemberState) -> bool) {
    let waiting = async {
        while let Some(event) = events.next().await {
            if let Event::State { server: of, state } = event
                && &*of == server
                && fits(&state)
            {
                return;
            }
        }
        panic!("the hub is gone");
    };
    soon(waiting).await;
}

/// What must come, and not take long. A safety net, no measure.
pub(crate) async fn soon<T>(coming: impl IntoFuture<Output = T>) -> T {
    timeout(BOUND, coming.into_future())
        .await
        .expect("it takes too long")
}

const BOUND: Duration = Duration::from_secs(60);
