//! What the design documents want, under their own numbers.

use std::net::Ipv4Addr;
use std::sync::Arc;

use switchboard_client::Class;
use switchboard_hub::{Hub, HubError, MemberState, ServerConfig, ToolFilter};
use switchboard_server::access::{BearerTokens, Principal};
use switchboard_server::{Server, tool};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::child::server;
use crate::running::{hub, is_running, pid, soon, state, until};

#[tokio::test]
async fn document_001_connects_two_servers_denies_finds_and_calls() {
    let hub = hub([server("one"), server("two")]).await;
    let names: Vec<String> = hub
        .catalog()
        .tools()
        .map(|tool| tool.name.to_string())
        .collect();
    assert_eq!(names.len(), 2 * TOOLS);
    assert!(names.contains(&"mcp__one__add".to_owned()), "{names:?}");
    let sum = hub
        .call("mcp__two__add")
        .arg("a", 2)
        .arg("b", 3)
        .await
        .unwrap();
    assert_eq!(sum.joined_text(), "5");

    hub.set_tools("two", ToolFilter::deny(["ad*"])).unwrap();
    assert!(hub.catalog().find_tool("mcp__two__add").is_err());
    let error = hub
        .call("mcp__two__add")
        .arg("a", 2)
        .arg("b", 3)
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("\"add\" of server \"two\" is denied by \"ad*\""),
        "{text}"
    );
    assert!(
        hub.call("mcp__one__add")
            .arg("a", 1)
            .arg("b", 1)
            .await
            .is_ok()
    );

    let error = hub.call_on("three", "add").await.unwrap_err();
    assert!(
        matches!(
            error,
            HubError::NotFound(_) | HubError::UnknownServer { .. }
        ),
        "{error}"
    );
    hub.close().await;
}

#[tokio::test]
async fn document_003_set_servers_keeps_what_did_not_change() {
    let hub = hub([server("context7"), server("playwright")]).await;
    let kept = pid(&hub, "context7").await;
    let stopped = pid(&hub, "playwright").await;
    let mut events = hub.events();
    let plan = hub
        .set_servers(vec![server("context7"), server("github")])
        .await;
    assert_eq!(
        (&*plan.keep, &*plan.start, &*plan.stop),
        (
            &["context7".to_owned()][..],
            &["github".to_owned()][..],
            &["playwright".to_owned()][..],
        )
    );
    assert!(!is_running(stopped));
    until(&mut events, "github", MemberState::is_ready).await;
    assert_eq!(pid(&hub, "context7").await, kept);
    assert!(hub.catalog().find_tool("mcp__github__pid").is_ok());
    assert!(hub.catalog().find_tool("mcp__playwright__pid").is_err());
    let started = pid(&hub, "github").await;
    hub.close().await;
    assert!(!is_running(kept) && !is_running(started));
}

#[tokio::test]
async fn document_003_a_server_that_is_switched_off_keeps_its_connection() {
    let hub = hub([server("one")]).await;
    let before = pid(&hub, "one").await;
    hub.toggle("one", false).unwrap();
    assert_eq!(hub.catalog().tools().count(), 0);
    let error = hub.call_on("one", "pid").await.unwrap_err();
    assert!(error.to_string().contains("switched off"), "{error}");
    hub.toggle("one", true).unwrap();
    assert_eq!(pid(&hub, "one").await, before);
    hub.close().await;
}

/// A call of a tool that connects back, and the connection.
pub(crate) async fn connected(hub: &Hub, server: &str, tool: &str) -> (JoinHandle<()>, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let call = hub.call_on(server, tool).arg("port", port);
    let call = tokio::spawn(async move { drop(call.await) });
    let (connection, _) = soon(listener.accept()).await.unwrap();
    (call, connection)
}

/// Waits until the server has let go.
pub(crate) async fn let_go(mut connection: TcpStream) {
    let ended = soon(connection.read(&mut [0])).await;
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
}

#[tokio::test]
async fn document_003_cancelling_at_the_top_reaches_the_last_server() {
    let hub = hub([server("one")]).await;
    let before = pid(&hub, "one").await;
    let (call, connection) = connected(&hub, "one", "hold").await;
    call.abort();
    let_go(connection).await;
    // By a token of the caller's own, too.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (cancel, cancelled) = tokio::sync::oneshot::channel::<()>();
    let call = hub.call_on("one", "hold").arg("port", port);
    let call = call.cancel_on(async { drop(cancelled.await) });
    let call = tokio::spawn(call.into_future());
    let (connection, _) = soon(listener.accept()).await.unwrap();
    drop(cancel);
    let_go(connection).await;
    let error = soon(call).await.unwrap().unwrap_err();
    assert!(matches!(&error, HubError::Call(call) if call.class() == Class::Ended));
    // It was the call that ended, not the server.
    assert_eq!(pid(&hub, "one").await, before);
    hub.close().await;
}

#[tokio::test]
async fn a_hub_that_is_dropped_leaves_nothing_behind() {
    let hub = hub([server("one"), server("two")]).await;
    let mut connections = Vec::new();
    for name in ["one", "two"] {
        let (call, connection) = connected(&hub, name, "stay").await;
        // Until then the call has the hub.
        call.await.unwrap();
        connections.push(connection);
    }
    drop(hub);
    for connection in connections {
        let_go(connection).await;
    }
}

/// A server over HTTP that wants this token, and its URL.
async fn serve_http(token: &str) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let site = Server::new("remote", "1.0.0")
        .tool(tool("where", async || "over HTTP"))
        .site()
        .unwrap();
    let mut settings = site.http_settings();
    settings.access = Some(Arc::new(
        BearerTokens::new([(token, Principal::new("somebody"))]).unwrap(),
    ));
    tokio::spawn(async move {
        let serving = site.serve_http_on(listener, settings, std::future::pending());
        drop(serving.await);
    });
    url
}

#[tokio::test]
async fn document_002_adds_servers_of_all_kinds_and_connects_them_together() {
    let url = serve_http("a-token").await;
    let hub = Hub::new();
    hub.add_server(server("local")).unwrap();
    hub.add_server(ServerConfig::url("remote", &url).bearer("a-token"))
        .unwrap();
    hub.add_server(ServerConfig::url("refused", &url).bearer("another"))
        .unwrap();
    hub.add_server(ServerConfig::url("stranger", &url)).unwrap();
    assert!(hub.add_server(server("local")).is_err());
    assert!(matches!(state(&hub, "local"), MemberState::Configured));
    let servers = soon(hub.connect_all()).await;
    let ready = servers.iter().filter(|status| status.state.is_ready());
    assert_eq!(
        ready.map(|status| &*status.name).collect::<Vec<_>>(),
        ["local", "remote"]
    );
    let result = hub.call("mcp__remote__where").await.unwrap();
    assert_eq!(result.joined_text(), "over HTTP");
    for name in ["refused", "stranger"] {
        let error = hub.call_on(name, "where").await.unwrap_err();
        assert!(
            matches!(&error, HubError::NotReady { server, .. } if server == name),
            "{error}"
        );
    }
    hub.close().await;
}

/// As many as a child has.
const TOOLS: usize = 15;
