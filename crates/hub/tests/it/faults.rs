//! Servers that misbehave, one at a time.

use std::time::Duration;

use switchboard_client::NoHost;
use switchboard_hub::{Event, Hub, MemberState, ServerConfig};

use crate::child::{faulty, odd, server};
use crate::running::{builder, hub, pid, soon, state, text, tools_of, until};

#[tokio::test]
async fn a_list_that_fails_hides_no_other() {
    let hub = hub([odd("one", "partial")]).await;
    let MemberState::ListingFailed { reason, .. } = state(&hub, "one") else {
        panic!("{}", state(&hub, "one"));
    };
    assert!(reason.contains("out of prompts"), "{reason}");
    assert_eq!(tools_of(&hub, "one"), ["echo"]);
    assert_eq!(text(&hub, "one", "echo").await.unwrap(), "here");
    hub.close().await;
}

#[tokio::test]
async fn a_list_that_does_not_come_hides_no_other() {
    let hub = builder([odd("one", "mute")]).build();
    soon(hub.connect("one")).await.unwrap();
    assert!(matches!(state(&hub, "one"), MemberState::Ready(_)));
    assert_eq!(text(&hub, "one", "echo").await.unwrap(), "here");
    hub.close().await;
}

#[tokio::test]
async fn lists_that_are_cut_are_counted_by_their_limits() {
    type Change = fn(&mut ServerConfig);
    let endless: [(&str, Change); 3] = [
        ("pages", |config| config.limits.pages = Some(20)),
        ("items", |config| config.limits.items = Some(10)),
        ("listBytes", |config| config.limits.list_bytes = Some(5000)),
    ];
    for (limit, change) in endless {
        let (mut config, launch) = faulty("one", "endless-pages");
        change(&mut config);
        let hub = hub([config]).await;
        assert!(lists_cut(&hub, limit) > 0, "{limit}");
        soon(hub.close()).await;
        assert!(launch.survivors().is_empty());
    }
    let mut config = odd("one", "mute");
    config.timeouts.list = Some(Duration::from_millis(10));
    let hub = hub([config]).await;
    assert!(lists_cut(&hub, "list") > 0);
    hub.close().await;
}

fn lists_cut(hub: &Hub, limit: &str) -> u64 {
    let numbers = hub.metrics().snapshot();
    let counts = &numbers.servers[0].limits;
    counts.get(limit).copied().unwrap_or(0)
}

#[tokio::test]
async fn a_server_that_is_silent_is_started_anew_unless_it_works() {
    let hub = builder([odd("deaf", "deaf"), server("good")])
        .time_between_pings(Duration::from_millis(50))
        .build();
    hub.connect_all().await;
    let good = pid(&hub, "good").await;
    let mut events = hub.events();
    until(&mut events, "deaf", |state| {
        matches!(state, MemberState::BackingOff { reason, .. }
            if &**reason == "it did not answer 2 pings in a row")
    })
    .await;
    until(&mut events, "deaf", MemberState::is_ready).await;
    assert_eq!(pid(&hub, "good").await, good);
    hub.close().await;
}

#[tokio::test]
async fn a_server_whose_list_changes_all_the_time_is_listed_now_and_then() {
    let began = std::time::Instant::now();
    let hub = hub([odd("restless", "restless"), server("good")]).await;
    let mut events = hub.events();
    let mut lists = 0;
    while lists < 3 {
        pid(&hub, "good").await;
        lists = text(&hub, "restless", "echo")
            .await
            .unwrap()
            .parse()
            .unwrap();
    }
    // It says so five hundred times a second.
    let most = 2 + began.elapsed().as_millis() / 500;
    assert!(lists <= most, "{lists} lists, {most} at most");
    // Each of its lists is the same, so nobody hears of it.
    let version = hub.catalog().version();
    hub.call_on("good", "grow").await.unwrap();
    let first = async {
        loop {
            if let Event::Catalog { server, .. } = events.next().await.unwrap() {
                return server;
            }
        }
    };
    assert_eq!(&*soon(first).await, "good");
    assert_eq!(hub.catalog().version(), version + 1);
    soon(hub.close()).await;
}

#[tokio::test]
async fn an_application_that_panics_fails_only_its_server() {
    let hub = builder([server("one"), server("two")])
        .host(|server| {
            assert_ne!(server, "one", "on purpose");
            NoHost
        })
        .build();
    let error = soon(hub.connect("one")).await.unwrap_err();
    assert!(error.to_string().contains("panicked"), "{error}");
    soon(hub.connect("two")).await.unwrap();
    hub.close().await;
}

#[tokio::test]
async fn times_that_never_pass_are_times() {
    let hub = builder([server("one")])
        .time_between_pings(Duration::MAX)
        .optional_patience(Duration::MAX)
        .wait_for_server(Duration::MAX)
        .build();
    soon(hub.connect_all()).await;
    let pid = hub.call_on("one", "pid").deadline(Duration::MAX);
    soon(pid).await.unwrap();
    hub.close().await;
}

#[tokio::test]
async fn a_server_that_floods_its_log_holds_up_nobody() {
    let hub = hub([odd("chatty", "chatty"), server("good")]).await;
    let mut events = hub.events();
    // Nobody takes the events; what is too old is lost and counted.
    let good = pid(&hub, "good").await;
    for _ in 0..50 {
        assert_eq!(text(&hub, "chatty", "echo").await.unwrap(), "here");
        assert_eq!(pid(&hub, "good").await, good);
    }
    let heard = async {
        loop {
            if let Event::Log { server, .. } = events.next().await.unwrap() {
                return server;
            }
        }
    };
    assert_eq!(&*soon(heard).await, "chatty");
    soon(hub.close()).await;
}

#[tokio::test]
async fn a_server_that_crashes_again_and_again_is_left_alone_for_longer_and_longer() {
    let (config, launch) = faulty("crashing", "exits-silently");
    let hub = builder([config]).build();
    let mut events = hub.events();
    let connecting = hub.clone();
    let connecting = tokio::spawn(async move { connecting.connect_all().await });
    let mut waits = Vec::new();
    while waits.len() < 3 {
        until(&mut events, "crashing", |state| {
            matches!(state, MemberState::BackingOff { .. })
        })
        .await;
        if let MemberState::BackingOff { wait, ends, .. } = state(&hub, "crashing") {
            waits.push((ends, wait));
        }
    }
    assert!(waits.is_sorted_by(|one, next| one.0 < next.0), "{waits:?}");
    assert!(waits[2].1 >= Duration::from_secs(1), "{waits:?}");
    soon(connecting).await.unwrap();
    soon(hub.close()).await;
    assert!(launch.survivors().is_empty());
}

#[tokio::test]
async fn a_server_is_started_again_as_often_as_is_said() {
    let (mut config, launch) = faulty("crashing", "exits-silently");
    config.limits.restarts = Some(1);
    let hub = builder([config]).build();
    let mut events = hub.events();
    soon(hub.connect_all()).await;
    until(&mut events, "crashing", |state| {
        matches!(state, MemberState::Failed { .. })
    })
    .await;
    let MemberState::Failed { reason, .. } = state(&hub, "crashing") else {
        panic!("{:?}", state(&hub, "crashing"));
    };
    assert!(
        reason.starts_with("it ended 2 times in a row: "),
        "{reason}"
    );
    assert_eq!(hub.metrics().snapshot().servers[0].restarts, 1);
    soon(hub.close()).await;
    assert!(launch.survivors().is_empty());
}
