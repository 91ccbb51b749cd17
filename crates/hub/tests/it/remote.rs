//! Servers over HTTP that are replaced, or go.

use std::net::{Ipv4Addr, SocketAddr};

use switchboard_client::Era;
use switchboard_hub::{Config, Event, Hub, HubError, MemberState, Origin, ServerConfig};
use switchboard_server::{Server, tool};
use switchboard_transport::http::OldPaths;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::running::{builder, hub, soon, state, text, tools_of, until};

/// A server over HTTP with one tool, until it is stopped.
struct Deployed {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Deployed {
    async fn start(address: SocketAddr, name: &'static str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let site = Server::new("remote", "1.0.0")
            .tool(tool("same", async || "here"))
            .tool(tool(name, async || "there"))
            .site()
            .unwrap();
        // Only these have sessions that can be lost.
        let handshake = switchboard_client::Revision::ALL.iter().copied();
        let site = site.revisions(
            handshake
                .filter(|revision| revision.era() == switchboard_client::Era::Handshake)
                .collect::<Vec<_>>(),
        );
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            let settings = site.http_settings();
            let stopped = async { drop(stopped.await) };
            drop(site.serve_http_on(listener, settings, stopped).await);
        });
        Self {
            address,
            stop,
            serving,
        }
    }

    fn config(&self) -> ServerConfig {
        ServerConfig::url("web", &format!("http://{}/mcp", self.address))
    }

    async fn stop(self) -> SocketAddr {
        drop(self.stop);
        soon(self.serving).await.unwrap();
        self.address
    }
}

const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

#[tokio::test]
async fn a_server_that_was_deployed_anew_is_listed_anew() {
    let deployed = Deployed::start(ANYWHERE, "old").await;
    let hub = hub([deployed.config()]).await;
    assert_eq!(tools_of(&hub, "web"), ["same", "old"]);
    let mut events = hub.events();
    let address = deployed.stop().await;
    let _deployed = Deployed::start(address, "new").await;
    // The session is lost, and a new one is made for the call, or the server is connected anew.
    let called = async { while text(&hub, "web", "same").await.is_err() {} };
    soon(called).await;
    let listed = async {
        while tools_of(&hub, "web") != ["same", "new"] {
            events.next().await.unwrap();
        }
    };
    soon(listed).await;
    hub.close().await;
}

#[tokio::test]
async fn a_server_that_is_gone_is_not_ready_for_long() {
    let deployed = Deployed::start(ANYWHERE, "old").await;
    let hub = hub([deployed.config()]).await;
    assert!(state(&hub, "web").is_ready());
    let mut events = hub.events();
    deployed.stop().await;
    let error = text(&hub, "web", "same").await.unwrap_err();
    assert!(matches!(error, HubError::Call(_)), "{error}");
    until(&mut events, "web", |state| {
        matches!(state, MemberState::BackingOff { .. })
    })
    .await;
    hub.close().await;
}

#[tokio::test]
async fn a_server_of_the_oldest_transport_is_called_like_any_other() {
    let listener = TcpListener::bind(ANYWHERE).await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::new("old", "1.0.0").tool(tool("where", async || "over SSE"));
    let site = server.site().unwrap();
    let mut settings = site.http_settings();
    settings.old_transport = Some(OldPaths::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        let stopped = async { drop(stopped.await) };
        drop(site.serve_http_on(listener, settings, stopped).await);
    });
    let text =
        format!(r#"{{"mcpServers": {{"old": {{"type": "sse", "url": "http://{address}/sse"}}}}}}"#);
    let config = Config::read(&text, &Origin::text("mcp.json")).unwrap();
    assert!(config.problems.is_empty(), "{:?}", config.problems);
    let hub = Hub::builder().config(config).build();
    soon(hub.connect("old")).await.unwrap();
    let MemberState::Ready(ready) = state(&hub, "old") else {
        panic!("{}", state(&hub, "old"));
    };
    assert_eq!(ready.revision.era(), Era::Handshake);
    let said = hub.call("mcp__old__where").await.unwrap();
    assert_eq!(said.joined_text(), "over SSE");
    hub.close().await;
    drop(stop);
    soon(serving).await.unwrap();
}

#[tokio::test]
async fn a_server_that_wants_a_login_says_so_and_tries_no_more() {
    let locked = switchboard_testkit::faulty::http::HttpServer::start(
        &switchboard_testkit::faulty::Role::new("unauthorized").everywhere(),
    );
    let hub = builder([ServerConfig::url("web", &locked.url())]).build();
    let mut events = hub.events();
    let error = soon(hub.connect("web")).await.unwrap_err();
    assert!(
        matches!(
            error,
            HubError::NotReady {
                needs_login: true,
                ..
            }
        ),
        "{error}"
    );
    hub.close().await;
    let mut starts = 0;
    drop(hub);
    while let Some(event) = soon(events.next()).await {
        if let Event::State { state, .. } = event {
            starts += u32::from(matches!(state, MemberState::Starting));
        }
    }
    assert_eq!(starts, 1);
}
