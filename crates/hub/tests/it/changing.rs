//! Changes of which servers there are, and of what is allowed of them.

use std::time::Duration;

use switchboard_client::Mode;
use switchboard_hub::{Hub, HubError, MemberState, ServerConfig, ToolFilter};

use crate::child::server;
use crate::running::{hub, is_running, pid, soon, state, sum, text, tools_of, until};

/// The same program, to be run once more.
fn changed(name: &str) -> ServerConfig {
    server(name).env("CHANGED", "yes")
}

#[tokio::test]
async fn calls_in_flight_outlive_a_change_of_other_servers() {
    let names = ["one", "two", "three", "four"];
    let hub = hub(names.map(server)).await;
    let mut calls = Vec::new();
    for number in 0..CALLS {
        let hub = hub.clone();
        let name = ["one", "two"][number % 2];
        calls.push(tokio::spawn(async move { text(&hub, name, "wait").await }));
    }
    for name in ["one", "two"] {
        let all = async {
            let each = (CALLS / 2).to_string();
            while text(&hub, name, "waiting").await.unwrap() != each {}
        };
        soon(all).await;
    }
    let mut pids = Vec::new();
    for name in names {
        pids.push(pid(&hub, name).await);
    }
    let mut events = hub.events();
    let mut read_only = server("two");
    read_only.is_read_only = true;
    let new = vec![server("one"), read_only, changed("three"), server("five")];
    let plan = soon(hub.set_servers(new)).await;
    assert_eq!(
        (
            &*plan.keep,
            &*plan.update,
            &*plan.restart,
            &*plan.start,
            &*plan.stop
        ),
        (
            &["one".to_owned()][..],
            &["two".to_owned()][..],
            &["three".to_owned()][..],
            &["five".to_owned()][..],
            &["four".to_owned()][..],
        )
    );
    until(&mut events, "three", MemberState::is_ready).await;
    assert!(!is_running(pids[2]) && !is_running(pids[3]));
    // What may not be called any more is not called by name.
    assert!(hub.call_on("two", "open").await.is_err());
    hub.set_tools("two", ToolFilter::default()).unwrap();
    let back = vec![
        server("one"),
        server("two"),
        changed("three"),
        server("five"),
    ];
    hub.set_servers(back).await;
    for name in ["one", "two"] {
        hub.call_on(name, "open").await.unwrap();
    }
    for (number, call) in calls.into_iter().enumerate() {
        let answered = soon(call).await.unwrap().unwrap();
        assert_eq!(answered, pids[number % 2].to_string());
    }
    assert_eq!(pid(&hub, "one").await, pids[0]);
    hub.close().await;
}

#[tokio::test]
async fn a_server_that_is_kept_keeps_its_subscriptions() {
    for mode in [Mode::Auto, Mode::Legacy] {
        let kept = || {
            let mut config = server("one");
            config.mode = mode;
            config
        };
        let hub = hub([kept(), server("two")]).await;
        let uri = hub.catalog().expose_uri("one", "demo://state").into_owned();
        let mut watch = hub.watch(&uri).await.unwrap();
        let plan = soon(hub.set_servers(vec![kept(), changed("two")])).await;
        assert_eq!(
            (plan.keep, plan.restart),
            (vec!["one".to_owned()], vec!["two".to_owned()])
        );
        // One that was made anew would say that something may have been missed.
        pid(&hub, "one").await;
        let mut is_told = false;
        tokio::select! {
            biased;
            _ = watch.changed() => is_told = true,
            () = std::future::ready(()) => {}
        }
        assert!(!is_told);
        hub.call_on("one", "touch").await.unwrap();
        soon(watch.changed()).await.unwrap();
        hub.close().await;
    }
}

#[tokio::test]
async fn what_was_set_meanwhile_outlives_a_change_of_something_else() {
    let hub = hub([server("one"), server("two")]).await;
    hub.toggle("one", false).unwrap();
    hub.set_tools("two", ToolFilter::deny(["add"])).unwrap();
    let renamed = |name: &str| {
        let mut config = server(name);
        config.display_name = Some("another".to_owned());
        config.timeouts.call = Some(Duration::from_secs(5));
        config
    };
    let plan = hub.set_servers(vec![renamed("one"), renamed("two")]).await;
    assert_eq!(plan.update, ["one", "two"]);
    assert_eq!(tools_of(&hub, "one").len(), 0);
    assert!(!tools_of(&hub, "two").contains(&"add".to_owned()));
    // Also one that is started anew.
    let mut events = hub.events();
    hub.set_servers(vec![changed("one"), renamed("two")]).await;
    until(&mut events, "one", MemberState::is_ready).await;
    assert_eq!(tools_of(&hub, "one").len(), 0);
    hub.toggle("one", true).unwrap();
    assert!(tools_of(&hub, "one").contains(&"add".to_owned()));
    hub.close().await;
}

#[tokio::test]
async fn what_is_disabled_or_gone_is_not_offered() {
    let hub = hub([server("one"), server("two")]).await;
    let before = pid(&hub, "one").await;
    let mut off = server("one");
    off.is_enabled = false;
    hub.set_servers(vec![off]).await;
    assert!(!is_running(before));
    assert_eq!(hub.catalog().tools().len(), 0);
    let error = soon(hub.call_on("one", "pid")).await.unwrap_err();
    assert!(matches!(error, HubError::NotReady { .. }), "{error}");
    assert!(matches!(state(&hub, "one"), MemberState::Disabled));
    assert_eq!(hub.catalog().servers().len(), 1);
    hub.close().await;
}

#[tokio::test]
async fn a_call_waits_for_a_server_that_is_being_replaced() {
    let hub = hub([server("one")]).await;
    let before = pid(&hub, "one").await;
    let changing = hub.clone();
    let changing = tokio::spawn(async move { changing.set_servers(vec![changed("one")]).await });
    // It is called all the time, by its name in the catalogue and by its own.
    let mut number = 0;
    while !changing.is_finished() {
        number += 1;
        let call = hub.call_on("one", "add").arg("a", number).arg("b", 1);
        match soon(call).await {
            Ok(result) => assert_eq!(result.joined_text(), (number + 1).to_string()),
            // It was on its way to the old one.
            Err(HubError::Call(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    changing.await.unwrap();
    assert_ne!(pid(&hub, "one").await, before);
    assert!(!is_running(before));
    hub.close().await;
}

#[tokio::test]
async fn a_change_is_made_as_a_whole() {
    let hub = hub([server("one")]).await;
    let before = pid(&hub, "one").await;
    let mut events = hub.events();
    let new = vec![changed("one"), server("two")];
    // The first poll begins it, and nobody waits for the rest.
    let begun = tokio::time::timeout(Duration::ZERO, hub.set_servers(new)).await;
    assert!(begun.is_err());
    until(&mut events, "two", MemberState::is_ready).await;
    assert_ne!(pid(&hub, "one").await, before);
    assert_eq!(sum(&hub, "two", 1).await, "2");
    hub.close().await;
}

#[tokio::test]
async fn the_first_of_two_servers_of_a_name_counts() {
    let hub = Hub::new();
    let plan = hub
        .set_servers(vec![server("one"), ServerConfig::command("one", ["false"])])
        .await;
    assert_eq!(plan.start, ["one"]);
    pid(&hub, "one").await;
    hub.close().await;
}

#[tokio::test]
async fn times_of_calls_change_without_a_new_connection() {
    let hub = hub([server("one")]).await;
    let before = pid(&hub, "one").await;
    let mut hasty = server("one");
    hasty.timeouts.call = Some(Duration::from_millis(50));
    hub.set_servers(vec![hasty]).await;
    let error = soon(hub.call_on("one", "wait")).await.unwrap_err();
    assert!(
        matches!(&error, HubError::Call(error) if error.is_timeout()),
        "{error}"
    );
    assert_eq!(pid(&hub, "one").await, before);
    hub.close().await;
}

#[tokio::test]
async fn what_is_denied_of_a_new_server_outlives_the_end_of_the_old_one() {
    for _ in 0..5 {
        let hub = hub([server("one")]).await;
        let mut events = hub.events();
        let stopping = hub.clone();
        let stopping = tokio::spawn(async move { stopping.set_servers(Vec::new()).await });
        until(&mut events, "one", |state| {
            matches!(state, MemberState::Stopped)
        })
        .await;
        let mut denied = server("one");
        denied.tools = ToolFilter::deny(["die"]);
        hub.add_server(denied).unwrap();
        soon(stopping).await.unwrap();
        hub.connect("one").await.unwrap();
        let tools = tools_of(&hub, "one");
        assert!(tools.contains(&"pid".to_owned()) && !tools.contains(&"die".to_owned()));
        hub.close().await;
    }
}

#[tokio::test]
async fn a_server_that_was_disconnected_is_not_started_by_a_change() {
    let hub = hub([server("one"), server("two")]).await;
    hub.disconnect("one").await.unwrap();
    let mut events = hub.events();
    hub.set_servers(vec![changed("one"), changed("two")]).await;
    until(&mut events, "two", MemberState::is_ready).await;
    assert!(!state(&hub, "one").is_ready());
    hub.connect("one").await.unwrap();
    hub.close().await;
}

#[tokio::test]
async fn resources_of_a_server_that_is_being_replaced_or_started_are_waited_for() {
    let hub = hub([server("one")]).await;
    hub.set_servers(vec![changed("one")]).await;
    assert!(soon(hub.read("demo://state")).await.is_ok());
    assert!(soon(hub.watch("demo://state")).await.is_ok());
    hub.close().await;
    let hub = Hub::new();
    hub.set_servers(vec![server("one")]).await;
    assert!(soon(hub.watch("demo://state")).await.is_ok());
    hub.close().await;
}

const CALLS: usize = 200;
