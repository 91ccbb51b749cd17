//! How much is taken on: calls, sizes, time, and clients that read slowly.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use switchboard_server::protocol::types::LoggingLevel;
use switchboard_server::{Context, Limits, NoArguments, Server, tool};

use crate::fixture::{Witness, server};
use crate::http_client::Served;
use crate::peer::{HttpPeer, Peer, StatelessPeer, WIRES};
use crate::pipe_client::{PipeClient, request};

#[tokio::test]
async fn calls_beyond_the_limit_are_refused_as_busy() {
    let witness = Witness::new();
    let mut limits = Limits::default();
    limits.calls = 2;
    let site = server(&witness).limits(limits).site().unwrap();
    let mut client = PipeClient::open(&site, "2025-11-25", json!({})).await;
    let waiting = [
        client.begin("tools/call", json!({"name": "wait"})).await,
        client.begin("tools/call", json!({"name": "wait"})).await,
    ];
    let refused = client.tool("add", json!({"a": 1, "b": 1})).await;
    assert_eq!(refused["error"]["code"], -31001, "{refused}");
    let data = &refused["error"]["data"];
    assert_eq!(data["limit"], "callsPerConnection", "{refused}");
    assert_eq!(site.refusals().counts()["callsPerConnection"], 1);
    witness.let_go(2);
    for id in waiting {
        assert!(client.answer(id).await["result"].is_object());
    }
    assert!(client.tool("add", json!({"a": 1, "b": 1})).await["result"].is_object());
}

#[tokio::test]
async fn messages_too_large_or_too_deep_are_refused_and_the_server_lives_on() {
    let mut limits = Limits::default();
    limits.message.bytes = 10_000;
    limits.message.depth = 10;
    limits.body = 10_000;
    let site = server(&Witness::new()).limits(limits).site().unwrap();
    let large = request(
        77,
        "tools/call",
        json!({"name": "echo", "arguments": {"text": "x".repeat(20_000)}}),
    );
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{}1{}}}"#,
        r#"{"a":"#.repeat(20),
        "}".repeat(20)
    );
    for wire in WIRES {
        let mut peer = Peer::open(wire, &site, "2025-11-25", json!({})).await;
        for text in [large.to_string(), deep.clone()] {
            let messages = peer.send(&text).await;
            assert_eq!(messages.len(), 1, "{wire:?}: {messages:?}");
            assert!(messages[0]["error"]["code"].is_i64(), "{messages:?}");
        }
        assert!(peer.tool("add", json!({"a": 1, "b": 1})).await["result"].is_object());
    }
    let peer = HttpPeer::open(&site, "2025-11-25", json!({})).await;
    assert_eq!(peer.post(&large.to_string()).await.status, 413);
    let counts = site.refusals().counts();
    let wires = u64::try_from(WIRES.len()).unwrap();
    assert_eq!(counts["message"], wires + 1, "{counts:?}");
    assert_eq!(counts["depth"], wires, "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn time_is_that_of_the_runtime() {
    let mut limits = Limits::default();
    limits.handler = Some(Duration::from_secs(5));
    let site = server(&Witness::new()).limits(limits).site().unwrap();
    let mut client = PipeClient::open(&site, "2025-11-25", json!({})).await;
    // What has passed here has not passed elsewhere.
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    let began = tokio::time::Instant::now();
    let late = client.tool("wait", json!({})).await;
    assert!(late.to_string().contains("5"), "{late}");
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(5), "{took:?}");
    assert!(took < Duration::from_secs(6), "{took:?}");
}

#[tokio::test]
async fn a_handler_that_takes_too_long_is_stopped_and_its_caller_is_told() {
    let witness = Witness::new();
    let mut limits = Limits::default();
    limits.handler = Some(Duration::from_millis(50));
    let site = server(&witness).limits(limits).site().unwrap();
    for (place, wire) in WIRES.into_iter().enumerate() {
        let mut peer = Peer::open(wire, &site, "2025-11-25", json!({})).await;
        let answer = peer.tool("wait", json!({})).await;
        assert_eq!(answer["error"]["code"], -32603, "{wire:?}: {answer}");
        witness.dropped(place + 1).await;
    }
    let mut peer = StatelessPeer::connect(&site).await;
    let answer = peer.tool("wait", json!({})).await;
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    witness.dropped(3).await;
    assert_eq!(site.refusals().counts()["handler"], 3);
}

#[tokio::test]
async fn a_client_that_does_not_answer_in_time_is_given_up() {
    let mut limits = Limits::default();
    limits.answer = Duration::from_millis(50);
    // A person's time is not the handler's.
    limits.handler = Some(Duration::from_millis(20));
    let site = Server::new("asking", "1.0.0")
        .limits(limits)
        .tool(tool("ask", |_: NoArguments, context: Context| async move {
            context.roots("roots").await.map(|roots| roots.len() as u64)
        }))
        .site()
        .unwrap();
    for wire in WIRES {
        let mut peer = Peer::open(wire, &site, "2025-11-25", json!({"roots": {}})).await;
        let answer = peer.tool("ask", json!({})).await;
        assert_eq!(answer["result"]["isError"], true, "{wire:?}: {answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("in time"), "{text}");
    }
    assert_eq!(site.refusals().counts()["answer"], 2);
}

/// A tool that logs without end, and counts.
fn chatting() -> (Server, Arc<AtomicUsize>) {
    let said = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&said);
    let chat = tool("chat", move |_: NoArguments, context: Context| {
        let count = Arc::clone(&count);
        async move {
            let text = "x".repeat(10_000);
            loop {
                context.log(LoggingLevel::Error, &text).await;
                count.fetch_add(1, Ordering::SeqCst);
            }
            #[expect(unreachable_code, reason = "it says what the tool would give")]
            "never"
        }
    });
    (Server::new("chatting", "1.0.0").tool(chat), said)
}

/// Waits until a counter stands still. Where the clock is paused, it goes on only when nobody
/// has anything to do.
async fn stands_still(counter: &AtomicUsize) -> usize {
    let mut before = usize::MAX;
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = counter.load(Ordering::SeqCst);
        if now == before && now > 0 {
            return now;
        }
        before = now;
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_waits_for_a_client_that_reads_slowly() {
    let (server, said) = chatting();
    let site = server.site().unwrap();
    let mut client = PipeClient::open(&site, "2025-11-25", json!({})).await;
    let id = client.begin("tools/call", json!({"name": "chat"})).await;
    let most = stands_still(&said).await;
    // 1 MiB is queued at most, and 64 messages wait to be.
    assert!(most < 64 + 64 + 110, "{most}");
    let waits = || site.refusals().counts()["queued"];
    let on_pipe = waits();
    assert!(on_pipe > 0);
    for _ in 0..most {
        client.hear("notifications/message").await;
    }
    assert!(stands_still(&said).await > most);
    client
        .tell("notifications/cancelled", json!({"requestId": id}))
        .await;
    client.settle().await;

    let mut peer = HttpPeer::open(&site, "2025-11-25", json!({})).await;
    said.store(0, Ordering::SeqCst);
    let mut stream = peer.begin("tools/call", json!({"name": "chat"})).await;
    let most = stands_still(&said).await;
    // 1 MiB is queued at most; the rest is in the sockets.
    assert!(most < 1_500, "{most}");
    assert!(waits() > on_pipe);
    for _ in 0..most {
        stream.message().await.unwrap();
    }
    assert!(stands_still(&said).await > most);
    peer.delete().await;
}

#[tokio::test]
async fn news_that_a_client_does_not_take_is_dropped_and_counted() {
    let server = server(&Witness::new());
    let handle = server.handle();
    let site = server.site().unwrap();
    let mut client = PipeClient::open(&site, "2025-11-25", json!({})).await;
    // All of it comes before the connection has its turn.
    for step in 0..1_100 {
        handle.enable_tool("echo", step % 2 == 1);
    }
    assert_eq!(site.refusals().counts()["news"], 1_100 - 1_024);
    for _ in 0..1_024 {
        client.hear("notifications/tools/list_changed").await;
    }
    handle.enable_tool("echo", false);
    client.hear("notifications/tools/list_changed").await;
}

#[tokio::test]
async fn no_more_calls_are_taken_in_while_the_client_does_not_read() {
    let witness = Witness::new();
    let site = server(&witness).site().unwrap();
    let mut client = PipeClient::open(&site, "2025-11-25", json!({})).await;
    let mut line = request(5, "tools/call", json!({"name": "large"})).to_string();
    line.push('\n');
    let line = line.repeat(1_000);
    let mut sent = 0;
    // Far more than fits: at some point the server stops reading.
    while sent < 200 {
        let write = client.send_bytes(line.as_bytes());
        if tokio::time::timeout(Duration::from_millis(300), write)
            .await
            .is_err()
        {
            break;
        }
        sent += 1;
    }
    assert!(sent < 200, "everything was taken in");
    assert!(site.refusals().counts()["queued"] > 0);
    for _ in 0..100 {
        assert_eq!(client.next().await["id"], 5);
    }
}

#[tokio::test]
async fn a_client_far_behind_with_changes_is_cut_off_and_can_come_back() {
    let server = server(&Witness::new());
    let handle = server.handle();
    let site = server.site().unwrap();
    let peer = HttpPeer::open(&site, "2025-11-25", json!({})).await;
    let mut stream = peer.listen(None).await;
    let primed = stream.event().await.unwrap();
    for step in 0..200_000 {
        handle.enable_tool("echo", step % 2 == 1);
        if step % 1_000 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let mut last = primed.id;
    let mut count = 0;
    while let Some(event) = stream.event().await {
        last = event.id.or(last);
        count += 1;
    }
    assert!(count < 200_000, "{count}");
    // What it missed is more than is kept, and it is told so: it lists again and listens anew.
    assert_eq!(peer.listen(last.as_deref()).await.status, 400);
    let counts = site.refusals().counts();
    assert_eq!((counts["stream"], counts["replay"]), (1, 1));
    let mut anew = peer.listen(None).await;
    assert!(anew.message().await.is_some());
}

#[tokio::test]
async fn as_much_is_kept_for_a_client_that_comes_back_as_is_said() {
    for (events, status) in [(4, 400), (5, 200)] {
        let mut limits = Limits::default();
        limits.replay.events = events;
        let server = server(&Witness::new()).limits(limits);
        let handle = server.handle();
        let site = server.site().unwrap();
        let peer = HttpPeer::open(&site, "2025-11-25", json!({})).await;
        let mut stream = peer.listen(None).await;
        let primed = stream.event().await.unwrap().id;
        for step in 0..5 {
            handle.enable_tool("echo", step % 2 == 1);
            stream.event().await.unwrap();
        }
        drop(stream);
        let again = peer.listen(primed.as_deref()).await;
        assert_eq!(again.status, status, "{events}");
    }
}

#[test]
fn the_times_of_http_are_those_of_the_limits() {
    let mut limits = Limits::default();
    limits.header_timeout = Duration::from_secs(1);
    limits.body_timeout = Duration::from_secs(2);
    limits.idle_timeout = Duration::from_secs(3);
    limits.write_stall = Duration::from_secs(4);
    let site = server(&Witness::new()).limits(limits).site().unwrap();
    let settings = site.http_settings();
    let times = [
        settings.header_timeout,
        settings.body_timeout,
        settings.idle_timeout,
        settings.write_stall,
    ];
    assert_eq!(times, [1, 2, 3, 4].map(Duration::from_secs));
}

#[tokio::test]
async fn connections_that_send_nothing_are_given_up() {
    let site = server(&Witness::new()).site().unwrap();
    let mut settings = site.http_settings();
    settings.header_timeout = Duration::from_millis(50);
    let served = Served::with(&site, settings).await;
    let mut silent = tokio::net::TcpStream::connect(served.address)
        .await
        .unwrap();
    let mut nothing = Vec::new();
    let read = tokio::io::AsyncReadExt::read_to_end(&mut silent, &mut nothing);
    assert_eq!(
        tokio::time::timeout(Duration::from_secs(10), read)
            .await
            .unwrap()
            .unwrap(),
        0
    );
}
