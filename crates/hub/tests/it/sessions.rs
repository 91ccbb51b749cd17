//! Servers that are not shared: each user has a process of its own.

use switchboard_hub::{HubError, ServerConfig, Sharing};

use crate::child::server;
use crate::running::{hub, is_running, pid, soon};

fn personal(name: &str) -> ServerConfig {
    let mut config = server(name);
    config.sharing = Sharing::PerClient;
    config
}

#[tokio::test]
async fn each_session_has_its_own_process_and_takes_it_along() {
    let hub = hub([personal("own"), server("shared")]).await;
    let (first, second) = (hub.session(), hub.session());
    let pids = [
        pid(&hub, "own").await,
        pid(&first, "own").await,
        pid(&second, "own").await,
    ];
    assert!(pids[0] != pids[1] && pids[1] != pids[2] && pids[0] != pids[2]);
    assert_eq!(pid(&first, "own").await, pids[1]);
    assert_eq!(pid(&first.clone(), "own").await, pids[1]);
    let shared = pid(&hub, "shared").await;
    assert_eq!(pid(&second, "shared").await, shared);
    let result = first.call("mcp__own__pid").await.unwrap();
    assert_eq!(result.joined_text(), pids[1].to_string());

    let (ended, connection) = crate::documents::connected(&first, "own", "stay").await;
    ended.await.unwrap();
    drop(first);
    crate::documents::let_go(connection).await;
    assert_eq!(pid(&second, "own").await, pids[2]);
    hub.close().await;
    assert!(pids.into_iter().all(|pid| !is_running(pid)));
}

#[tokio::test]
async fn what_is_stopped_or_changed_for_all_is_so_for_each() {
    let hub = hub([personal("own")]).await;
    let session = hub.session();
    let before = pid(&session, "own").await;
    hub.disconnect("own").await.unwrap();
    assert!(!is_running(before));
    let error = soon(session.call_on("own", "pid")).await.unwrap_err();
    assert!(
        matches!(error, HubError::NotFound(_) | HubError::NotReady { .. }),
        "{error}"
    );
    hub.connect("own").await.unwrap();
    let again = pid(&session, "own").await;
    assert_ne!(again, before);
    let changed = personal("own").env("CHANGED", "yes");
    hub.set_servers(vec![changed]).await;
    assert!(!is_running(again));
    assert_ne!(pid(&session, "own").await, pid(&hub, "own").await);
    hub.close().await;
}

#[tokio::test]
async fn a_process_of_a_session_that_died_is_started_again() {
    let hub = hub([personal("own")]).await;
    let session = hub.session();
    let before = pid(&session, "own").await;
    session.call_on("own", "die").await.unwrap_err();
    assert_ne!(pid(&session, "own").await, before);
    hub.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_process_of_a_session_is_started_behind_a_disconnect() {
    let hub = hub([personal("own")]).await;
    let session = hub.session();
    pid(&session, "own").await;
    let calls: Vec<_> = (0..4)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move {
                let mut last = None;
                while let Ok(result) = session.call_on("own", "pid").await {
                    last = Some(result.joined_text().parse().unwrap());
                }
                // It is tried once more, when it has certainly begun to end.
                let again = session.call_on("own", "pid").await;
                again.map_or(last, |result| Some(result.joined_text().parse().unwrap()))
            })
        })
        .collect();
    hub.disconnect("own").await.unwrap();
    for call in calls {
        let last: Option<u32> = soon(call).await.unwrap();
        assert!(!last.is_some_and(is_running));
    }
    hub.close().await;
}
