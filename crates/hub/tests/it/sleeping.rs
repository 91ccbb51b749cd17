//! Servers that are started by the first call and ended when nobody calls.

use std::time::Duration;

use switchboard_hub::{Hub, MemberState, ServerConfig, Start};

use crate::child::{odd, server};
use crate::running::{builder, hub, is_running, pid, soon, state, text, tools_of, until};

fn lazy(name: &str) -> ServerConfig {
    let mut config = server(name);
    config.start = Start::Lazy;
    config
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
async fn all_who_call_a_server_that_sleeps_are_answered() {
    let hub = hub([lazy("one")]).await;
    let calls: Vec<_> = (0..20)
        .map(|number| {
            let hub = hub.clone();
            tokio::spawn(async move {
                match number % 2 {
                    0 => hub.call("mcp__one__pid").await,
                    _ => hub.call_on("one", "pid").await,
                }
            })
        })
        .collect();
    let mut pids = Vec::new();
    for call in calls {
        pids.push(soon(call).await.unwrap().unwrap().joined_text());
    }
    pids.dedup();
    assert_eq!(pids.len(), 1, "{pids:?}");
    hub.close().await;
}

#[tokio::test]
async fn a_server_that_works_is_not_ended_for_want_of_calls() {
    let mut config = server("one");
    config.idle = Some(Duration::from_millis(50));
    let hub = hub([config]).await;
    let before = pid(&hub, "one").await;
    // It takes ten times as long.
    let after = soon(hub.call_on("one", "steps")).await.unwrap();
    assert_eq!(after.joined_text(), before.to_string());
    hub.close().await;
}

#[tokio::test]
async fn a_server_that_sleeps_wakes_when_it_is_to_be_started_with_the_others() {
    let hub = hub([lazy("one")]).await;
    assert!(matches!(state(&hub, "one"), MemberState::Asleep));
    let mut events = hub.events();
    let plan = hub.set_servers(vec![server("one")]).await;
    assert_eq!(plan.update, ["one"]);
    until(&mut events, "one", MemberState::is_ready).await;
    hub.close().await;
}

#[tokio::test]
async fn what_a_server_offered_is_known_before_it_is_started_again() {
    let folder = std::env::temp_dir().join(format!("switchboard-hub-kept-{}", std::process::id()));
    let first = builder([lazy("one")]).cache(&folder).build();
    first.connect_all().await;
    assert_eq!(tools_of(&first, "one").len(), 0);
    first.call_on("one", "grow").await.unwrap();
    let mut events = first.events();
    soon(async {
        while first.catalog().find_tool("mcp__one__grown").is_err() {
            events.next().await.unwrap();
        }
    })
    .await;
    let offered = tools_of(&first, "one");
    first.close().await;

    let second = builder([lazy("one")]).cache(&folder).build();
    second.connect_all().await;
    assert!(matches!(state(&second, "one"), MemberState::Asleep));
    assert_eq!(tools_of(&second, "one"), offered);
    assert_eq!(second.search("pid", 1).len(), 1);
    let started = pid(&second, "one").await;
    assert!(is_running(started));
    // Now it is known what it really offers.
    assert!(second.catalog().find_tool("mcp__one__grown").is_err());
    second.close().await;

    let mut other = lazy("one");
    other.folder = Some(std::env::temp_dir());
    let third = builder([other]).cache(&folder).build();
    third.connect_all().await;
    assert_eq!(tools_of(&third, "one").len(), 0);
    third.close().await;
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_hub_without_a_folder_keeps_nothing() {
    let hub = hub([lazy("one")]).await;
    pid(&hub, "one").await;
    hub.close().await;
    let again = Hub::builder().server(lazy("one")).build();
    again.connect_all().await;
    assert_eq!(again.catalog().tools().len(), 0);
    again.close().await;
}

#[tokio::test]
async fn a_server_that_is_slower_to_list_than_it_may_be_unused_is_called_all_the_same() {
    let mut config = odd("one", "mute");
    config.start = Start::Lazy;
    config.idle = Some(Duration::from_millis(50));
    let hub = hub([config]).await;
    for _ in 0..2 {
        assert_eq!(soon(text(&hub, "one", "echo")).await.unwrap(), "here");
    }
    hub.close().await;
}

#[tokio::test]
async fn a_server_that_is_to_sleep_before_it_was_connected_sleeps() {
    let hub = builder([server("one")]).build();
    let plan = hub.set_servers(vec![lazy("one")]).await;
    assert_eq!(plan.update, ["one"]);
    soon(hub.connect_all()).await;
    assert!(matches!(state(&hub, "one"), MemberState::Asleep));
    soon(text(&hub, "one", "pid")).await.unwrap();
    hub.close().await;
}

#[tokio::test]
async fn a_change_of_something_else_wakes_nobody() {
    let mut config = server("one");
    config.idle = Some(Duration::from_millis(50));
    let hub = hub([config.clone()]).await;
    let mut events = hub.events();
    until(&mut events, "one", |state| {
        matches!(state, MemberState::Asleep)
    })
    .await;
    config.display_name = Some("another".to_owned());
    hub.set_servers(vec![config]).await;
    // What it was told before it is told of the second change it has taken in by then.
    hub.disconnect("one").await.unwrap();
    let states = async {
        loop {
            if let Some(switchboard_hub::Event::State { state, .. }) = events.next().await {
                return state;
            }
        }
    };
    assert!(matches!(soon(states).await, MemberState::Stopped));
    hub.close().await;
}
