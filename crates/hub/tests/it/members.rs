//! Servers that are really run: started, called, changed, ended.

use std::net::Ipv4Addr;
use std::time::Duration;

use switchboard_hub::{Event, Events, Hub, HubError, MemberState, ServerConfig, Start, ToolFilter};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::child::server;

async fn hub(servers: impl IntoIterator<Item = ServerConfig>) -> Hub {
    let mut builder = Hub::builder();
    for server in servers {
        builder = builder.server(server);
    }
    let hub = builder.build();
    hub.connect_all().await;
    hub
}

async fn pid(hub: &Hub, server: &str) -> u32 {
    let result = hub.call_on(server, "pid").await.unwrap();
    result.joined_text().parse().unwrap()
}

fn is_running(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

fn state(hub: &Hub, server: &str) -> MemberState {
    let servers = hub.servers();
    let found = servers.iter().find(|status| &*status.name == server);
    found.unwrap().state.clone()
}

/// Waits for a state, at most for a minute.
async fn until(events: &mut Events, server: &str, fits: impl Fn(&MemberState) -> bool) {
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
    timeout(BOUND, waiting).await.unwrap();
}

#[tokio::test]
async fn document_001_connects_two_servers_denies_finds_and_calls() {
    let hub = hub([server("one"), server("two")]).await;
    let names: Vec<String> = hub
        .catalog()
        .tools()
        .map(|tool| tool.name.to_string())
        .collect();
    assert_eq!(names.len(), 12);
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
async fn connected(hub: &Hub, server: &str, tool: &str) -> (JoinHandle<()>, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let call = hub.call_on(server, tool).arg("port", port);
    let call = tokio::spawn(async move { drop(call.await) });
    let (connection, _) = timeout(BOUND, listener.accept()).await.unwrap().unwrap();
    (call, connection)
}

/// Waits until the server has let go.
async fn let_go(mut connection: TcpStream) {
    let ended = timeout(BOUND, connection.read(&mut [0])).await.unwrap();
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
}

#[tokio::test]
async fn document_003_cancelling_at_the_top_reaches_the_last_server() {
    let hub = hub([server("one")]).await;
    let before = pid(&hub, "one").await;
    let (call, connection) = connected(&hub, "one", "hold").await;
    call.abort();
    let_go(connection).await;
    // It was the call that ended, not the server.
    assert_eq!(pid(&hub, "one").await, before);
    hub.close().await;
}

#[tokio::test]
async fn a_server_that_dies_is_started_again() {
    let hub = hub([server("one")]).await;
    let before = pid(&hub, "one").await;
    let mut events = hub.events();
    let error = hub.call_on("one", "die").await.unwrap_err();
    assert!(matches!(error, HubError::Call(_)), "{error}");
    until(&mut events, "one", |state| {
        matches!(state, MemberState::BackingOff { .. })
    })
    .await;
    until(&mut events, "one", MemberState::is_ready).await;
    let after = pid(&hub, "one").await;
    assert_ne!(before, after);
    hub.close().await;
    assert!(!is_running(after));
}

#[tokio::test]
async fn bad_servers_hold_up_nobody() {
    let silent = ServerConfig::command("silent", ["sleep", "3600"]);
    let broken = ServerConfig::command("broken", ["false"]);
    let missing = ServerConfig::command("missing", ["no-such-program-anywhere"]);
    let nowhere = ServerConfig::url("nowhere", "http://127.0.0.1:1/mcp");
    let servers = [silent, broken, missing, nowhere, server("good")];
    let mut builder = Hub::builder();
    for server in servers {
        builder = builder.server(server);
    }
    let hub = builder.build();
    let mut events = hub.events();
    let all = hub.clone();
    let connecting = tokio::spawn(async move { all.connect_all().await });
    until(&mut events, "good", MemberState::is_ready).await;
    let good = pid(&hub, "good").await;
    let sum = hub
        .call("mcp__good__add")
        .arg("a", 2)
        .arg("b", 3)
        .await
        .unwrap();
    assert_eq!(sum.joined_text(), "5");
    connecting.abort();
    for name in ["silent", "broken", "missing", "nowhere"] {
        assert!(!state(&hub, name).is_ready(), "{name}");
    }
    timeout(BOUND, hub.close()).await.unwrap();
    assert!(!is_running(good));
}

#[tokio::test]
async fn new_tools_of_a_server_are_in_the_catalogue() {
    let hub = hub([server("one")]).await;
    let mut events = hub.events();
    hub.call_on("one", "grow").await.unwrap();
    let waiting = async {
        while hub.catalog().find_tool("mcp__one__grown").is_err() {
            events.next().await.unwrap();
        }
    };
    timeout(BOUND, waiting).await.unwrap();
    assert_eq!(
        hub.call("mcp__one__grown").await.unwrap().joined_text(),
        "new"
    );
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

#[tokio::test]
async fn a_server_that_was_disconnected_stays_so_until_it_is_connected() {
    let hub = hub([server("one")]).await;
    let before = pid(&hub, "one").await;
    hub.disconnect("one").await.unwrap();
    assert!(!is_running(before));
    assert!(matches!(state(&hub, "one"), MemberState::Stopped));
    assert_eq!(hub.catalog().tools().count(), 0);
    hub.connect("one").await.unwrap();
    assert_ne!(pid(&hub, "one").await, before);
    hub.close().await;
}

#[tokio::test]
async fn a_lazy_server_is_started_by_the_first_call_and_ended_when_nobody_calls() {
    let mut config = server("one");
    config.start = Start::Lazy;
    config.idle = Some(Duration::from_millis(200));
    let hub = hub([config]).await;
    assert!(matches!(state(&hub, "one"), MemberState::Asleep));
    let mut events = hub.events();
    let first = hub.call("mcp__one__pid").await.unwrap().joined_text();
    let first: u32 = first.parse().unwrap();
    assert!(is_running(first));
    until(&mut events, "one", |state| {
        matches!(state, MemberState::Asleep)
    })
    .await;
    assert!(!is_running(first));
    // What it offered is remembered, and the next call starts it again.
    assert!(hub.catalog().find_tool("mcp__one__pid").is_ok());
    assert_ne!(pid(&hub, "one").await, first);
    hub.close().await;
}

#[tokio::test]
async fn what_a_file_says_is_what_runs() {
    let folder = std::env::temp_dir().join(format!("switchboard-hub-file-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("mcp.json");
    let program = std::env::current_exe().unwrap();
    let text = format!(
        r#"{{ // comments are fine
          "mcpServers": {{
            "one": {{ "command": {program:?}, "args": ["--exact", "child::serves", "--nocapture"],
                      "env": {{ "SWITCHBOARD_HUB_CHILD": "yes" }}, "disabledTools": ["die"] }},
            "lost": {{ "command": "x", "env": {{ "KEY": "${{SWITCHBOARD_NO_SUCH_VARIABLE}}" }} }},
            "off": {{ "command": "x", "disabled": true }},
          }}
        }}"#
    );
    std::fs::write(&file, text).unwrap();
    let hub = Hub::from_file(&file).await.unwrap();
    hub.connect_all().await;
    assert_eq!(
        hub.call_on("one", "add")
            .arg("a", 2)
            .arg("b", 3)
            .await
            .unwrap()
            .joined_text(),
        "5"
    );
    assert!(hub.catalog().find_tool("mcp__one__die").is_err());
    assert!(matches!(state(&hub, "off"), MemberState::Disabled));
    let MemberState::Failed { reason } = state(&hub, "lost") else {
        panic!("{}", state(&hub, "lost"));
    };
    assert!(reason.contains("SWITCHBOARD_NO_SUCH_VARIABLE"), "{reason}");
    hub.close().await;
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn calls_in_flight_elsewhere_outlive_a_change_of_servers() {
    let hub = hub([server("one"), server("two"), server("three")]).await;
    let mut calls = Vec::new();
    for number in 0..200 {
        let hub = hub.clone();
        let name = ["one", "two"][number % 2];
        calls.push(tokio::spawn(async move {
            let sum = hub.call_on(name, "add").arg("a", number).arg("b", 1).await;
            sum.unwrap().joined_text() == (number + 1).to_string()
        }));
    }
    let mut changed = server("three");
    changed.is_read_only = true;
    let plan = hub
        .set_servers(vec![server("one"), server("two"), changed, server("four")])
        .await;
    assert_eq!(plan.update, ["three"]);
    for call in calls {
        assert!(call.await.unwrap());
    }
    hub.close().await;
}

#[tokio::test]
async fn an_unknown_server_is_named_with_those_that_there_are() {
    let hub = hub([server("one")]).await;
    let error = hub.connect("won").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no server \"won\"; there are one"
    );
    assert!(hub.add_server(server("one")).is_err());
    hub.close().await;
}

/// A safety net: nothing here takes long.
const BOUND: Duration = Duration::from_secs(60);
