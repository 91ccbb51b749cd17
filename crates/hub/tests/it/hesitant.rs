//! Servers that say late what they offer besides tools.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::memory::{End, pair};
use switchboard_hub::{Hub, HubError, MemberState, ServerConfig};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

/// A server that lists its prompts and its resources so long after it was asked.
async fn hesitates(end: End, prompts: Duration, resources: Duration) {
    let (read, write) = tokio::io::split(end);
    let write = Arc::new(Mutex::new(write));
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        let (wait, result) = match message["method"].as_str() {
            Some("initialize") => (
                Duration::ZERO,
                json!({"protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
                    "serverInfo": {"name": "hesitant", "version": "1"}}),
            ),
            Some("tools/list") => (Duration::ZERO, json!({"tools": []})),
            Some("prompts/list") => (prompts, json!({"prompts": [{"name": "greet"}]})),
            Some("resources/list") => (
                resources,
                json!({"resources": [{"uri": "demo://state", "name": "state"}]}),
            ),
            Some("resources/templates/list") => (resources, json!({"resourceTemplates": []})),
            Some("prompts/get") => (Duration::ZERO, json!({"messages": []})),
            Some("resources/read") => (Duration::ZERO, json!({"contents": []})),
            _ => continue,
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        let write = Arc::clone(&write);
        tokio::spawn(async move {
            sleep(wait).await;
            let line = format!("{answer}\n");
            let _ = write.lock().await.write_all(line.as_bytes()).await;
        });
    }
}

fn hesitant(prompts: u64, resources: u64) -> Hub {
    let (prompts, resources) = (Duration::from_secs(prompts), Duration::from_secs(resources));
    let mut config = ServerConfig::command("one", ["in-process"]);
    config.timeouts.list = Some(Duration::from_secs(120));
    Hub::builder()
        .server(config)
        .wait_for_server(Duration::from_secs(15))
        .in_process(move |_| {
            let (ours, theirs) = pair();
            tokio::spawn(hesitates(theirs, prompts, resources));
            Some(ours)
        })
        .build()
}

const NO_ARGUMENTS: [(&str, &str); 0] = [];

#[tokio::test(start_paused = true)]
async fn what_is_listed_late_is_waited_for_by_whoever_wants_it() {
    let hub = hesitant(10, 12);
    hub.connect("one").await.unwrap();
    // It counts as ready two seconds after its tools are known.
    let began = Instant::now();
    // What tools there are is known.
    let missing = hub.call_on("one", "none").await.unwrap_err();
    assert!(matches!(missing, HubError::NotFound(_)), "{missing}");
    assert_eq!(began.elapsed().as_secs(), 0);

    let filled = hub.prompt_on("one", "greet", NO_ARGUMENTS).await;
    assert!(filled.is_ok(), "{filled:?}");
    assert_eq!(began.elapsed().as_secs(), 8);
    // Nor does a URI say whose it is.
    let read = hub.read("demo://state").await;
    assert!(read.is_ok(), "{read:?}");
    assert_eq!(began.elapsed().as_secs(), 10);
    let missing = hub.prompt_on("one", "none", NO_ARGUMENTS).await;
    assert!(matches!(missing, Err(HubError::NotFound(_))), "{missing:?}");
    hub.close().await;
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_list_that_does_not_come_is_told_so() {
    let hub = hesitant(100, 0);
    hub.connect("one").await.unwrap();
    let began = Instant::now();
    let refused = hub.prompt_on("one", "greet", NO_ARGUMENTS).await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("not said yet which prompts it has"),
        "{refused}"
    );
    assert_eq!(began.elapsed().as_secs(), 15);
    // Nothing is wrong with it otherwise.
    assert!(hub.read("demo://state").await.is_ok());
    let state = hub.servers().remove(0).state;
    assert!(matches!(state, MemberState::Ready(_)), "{state}");
    hub.close().await;
}
