//! A server in memory whose every message is written by the test.

use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::memory::{End, pair};
use switchboard_client::{Client, Host, Spec};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines, ReadHalf, WriteHalf, split};
use tokio::runtime::Builder;

/// The server's end.
pub(crate) struct Peer {
    read: Lines<BufReader<ReadHalf<End>>>,
    write: WriteHalf<End>,
}

impl Peer {
    /// A client that is open, and its server: stateless, or by handshake.
    pub(crate) async fn open(is_stateless: bool, host: impl Host) -> (Client, Self) {
        Self::open_on(pair(), is_stateless, host).await
    }

    /// The same on this pipe.
    pub(crate) async fn open_on(
        pipe: (End, End),
        is_stateless: bool,
        host: impl Host,
    ) -> (Client, Self) {
        let spec = Spec::in_memory().name("faulty");
        Self::open_as(pipe, spec, is_stateless, host).await
    }

    /// The same with these settings.
    pub(crate) async fn open_as(
        (ours, theirs): (End, End),
        spec: Spec,
        is_stateless: bool,
        host: impl Host,
    ) -> (Client, Self) {
        let mut peer = Self::on(theirs);
        let connecting = Client::connect_in_memory_as(ours, spec, host);
        let opening = async {
            let probe = peer.next().await;
            assert_eq!(probe["method"], "server/discover");
            if is_stateless {
                peer.answer(
                    &probe,
                    json!({"supportedVersions": ["2026-07-28"],
                    "capabilities": capabilities(), "ttlMs": 0, "cacheScope": "private"}),
                )
                .await;
                return;
            }
            peer.send(json!({"jsonrpc": "2.0", "id": probe["id"],
                "error": {"code": -32601, "message": "Method not found"}}))
                .await;
            peer.greet().await;
        };
        let (client, ()) = tokio::join!(connecting, opening);
        (client.expect("it opens as it should"), peer)
    }

    /// One that has said nothing yet.
    pub(crate) fn on(end: End) -> Self {
        let (read, write) = split(end);
        Self {
            read: BufReader::new(read).lines(),
            write,
        }
    }

    /// Shakes hands.
    pub(crate) async fn greet(&mut self) {
        let greeting = self.next().await;
        self.answer(
            &greeting,
            json!({"protocolVersion": "2025-11-25",
                "capabilities": capabilities(), "serverInfo": {"name": "x", "version": "1"}}),
        )
        .await;
        assert_eq!(self.next().await["method"], "notifications/initialized");
    }

    /// The next message.
    pub(crate) async fn next(&mut self) -> Value {
        let line = self.read.next_line().await.expect("it can be read");
        serde_json::from_str(&line.expect("a message comes")).expect("a message is JSON")
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.raw(&format!("{message}\n")).await;
    }

    pub(crate) async fn raw(&mut self, text: &str) {
        let written = self.write.write_all(text.as_bytes()).await;
        written.expect("somebody reads");
    }

    /// Writes, and after that pause reads so many messages at the same time.
    pub(crate) async fn raw_and_read(&mut self, text: &str, pause: Duration, count: usize) {
        let writing = self.write.write_all(text.as_bytes());
        let reading = async {
            tokio::time::sleep(pause).await;
            for _ in 0..count {
                let line = self.read.next_line().await.expect("it can be read");
                line.expect("a message comes");
            }
        };
        let (written, ()) = tokio::join!(writing, reading);
        written.expect("somebody reads");
    }

    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        self.send(answer(request, result)).await;
    }

    /// Answers all of them in one write.
    pub(crate) async fn answer_all(&mut self, requests: &[Value], result: &Value) {
        let answers = requests
            .iter()
            .map(|request| format!("{}\n", answer(request, result.clone())));
        self.raw(&answers.collect::<String>()).await;
    }

    /// Writes this again and again until nobody reads it, in a thread of its own.
    pub(crate) fn flood(mut self, message: &Value) -> JoinHandle<()> {
        let lines = format!("{message}\n").repeat(500);
        std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().build().expect("a runtime");
            runtime
                .block_on(async { while self.write.write_all(lines.as_bytes()).await.is_ok() {} });
        })
    }

    pub(crate) async fn tell(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }
}

fn answer(request: &Value, mut result: Value) -> Value {
    if request["params"]["_meta"]
        .get("io.modelcontextprotocol/protocolVersion")
        .is_some()
        && result.get("resultType").is_none()
    {
        result["resultType"] = "complete".into();
    }
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
}

/// A result of a tool that is one text.
pub(crate) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn capabilities() -> Value {
    json!({"tools": {"listChanged": true}, "logging": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}
