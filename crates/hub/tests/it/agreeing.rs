//! Servers that never say that they will tell of changes.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::memory::{End, pair};
use switchboard_hub::{Hub, ServerConfig};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

/// A server of the stateless era that hears that it is to tell of changes, and says nothing.
/// When it heard of what is sent on.
async fn evades(end: End, heard: UnboundedSender<(Instant, Value)>) {
    let (read, mut write) = tokio::io::split(end);
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        let result = match message["method"].as_str() {
            Some("server/discover") => json!({"supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true},
                    "extensions": {"io.modelcontextprotocol/tasks": {}}},
                "serverInfo": {"name": "evasive", "version": "1"}}),
            Some("tools/list") => json!({"tools": []}),
            Some("resources/list") => {
                json!({"resources": [{"uri": "demo://state", "name": "state"}]})
            }
            Some("resources/templates/list") => json!({"resourceTemplates": []}),
            Some("subscriptions/listen") => {
                let wanted = message["params"]["notifications"].clone();
                heard.send((Instant::now(), wanted)).unwrap();
                continue;
            }
            _ => continue,
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        let line = format!("{answer}\n");
        if write.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn evasive() -> (Hub, UnboundedReceiver<(Instant, Value)>) {
    let (tell, heard) = unbounded_channel();
    let hub = Hub::builder()
        .server(ServerConfig::command("one", ["in-process"]))
        .in_process(move |_| {
            let (ours, theirs) = pair();
            tokio::spawn(evades(theirs, tell.clone()));
            Some(ours)
        })
        .build();
    (hub, heard)
}

fn not_agreed(hub: &Hub) -> Option<u64> {
    let numbers = hub.metrics().snapshot();
    numbers.servers[0].limits.get("agreeing").copied()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_agree_to_tell_is_listed_and_asked_again_later_and_later() {
    let (hub, mut heard) = evasive();
    let began = Instant::now();
    hub.connect("one").await.unwrap();
    let waited = began.elapsed();
    assert!(
        (AGREEING..2 * AGREEING).contains(&waited),
        "listed after {waited:?}"
    );
    assert_eq!(not_agreed(&hub), Some(1));
    let mut last = heard.recv().await.unwrap().0;
    let mut pauses = Vec::new();
    for _ in 0..9 {
        let asked = heard.recv().await.unwrap().0;
        pauses.push((asked - last - AGREEING).as_secs());
        last = asked;
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    hub.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_agree_to_tell_of_one_thing_is_not_waited_for_long() {
    let (hub, mut heard) = evasive();
    hub.connect("one").await.unwrap();
    heard.recv().await.unwrap();
    let before = not_agreed(&hub).unwrap_or(0);

    let began = Instant::now();
    let refused = hub.watch("demo://state").await.unwrap_err().to_string();
    assert!(refused.contains("demo://state"), "{refused}");
    assert_eq!(began.elapsed().as_secs(), 10);

    let began = Instant::now();
    assert!(hub.watch_task("one", "t1").await.unwrap().is_none());
    assert_eq!(began.elapsed().as_secs(), 10);
    assert!(not_agreed(&hub) >= Some(before + 2));
    let mut wanted = Vec::new();
    while let Ok((_, filter)) = heard.try_recv() {
        wanted.push(filter);
    }
    for one in [
        json!({"resourceSubscriptions": ["demo://state"]}),
        json!({"taskIds": ["t1"]}),
    ] {
        assert!(wanted.contains(&one), "{wanted:?}");
    }
    hub.close().await;
}

const AGREEING: Duration = Duration::from_secs(5);
