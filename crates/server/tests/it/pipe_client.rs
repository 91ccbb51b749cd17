//! A client on a pipe that writes and reads lines, and knows no protocol.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_server::Site;
use switchboard_server::transport::memory::{self, End};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

/// One connection to a server within the process.
pub(crate) struct PipeClient {
    lines: BufReader<ReadHalf<End>>,
    write: Option<WriteHalf<End>>,
    served: JoinHandle<io::Result<()>>,
    last_id: u64,
    /// What came beside answers that were waited for.
    pub(crate) heard: Vec<Value>,
}

impl PipeClient {
    /// Connects, and says nothing yet.
    pub(crate) fn connect(site: &Site) -> Self {
        Self::connect_holding(site, 64 * 1024)
    }

    /// Connects by a pipe that holds little.
    pub(crate) fn connect_holding(site: &Site, capacity: usize) -> Self {
        let (near, far) = memory::pair_holding(capacity);
        let (read, write) = tokio::io::split(far);
        let site = site.clone();
        let served = tokio::spawn(async move { site.serve(read, write).await });
        let (read, write) = tokio::io::split(near);
        Self {
            lines: BufReader::new(read),
            write: Some(write),
            served,
            last_id: 0,
            heard: Vec::new(),
        }
    }

    /// Connects and does the handshake of a revision, with these capabilities.
    pub(crate) async fn open(site: &Site, revision: &str, capabilities: Value) -> Self {
        let mut client = Self::connect(site);
        let answer = client.initialize(revision, capabilities).await;
        assert_eq!(answer["result"]["protocolVersion"], revision, "{answer}");
        // Before the server has seen that, it tells the client of no changes.
        client.settle().await;
        client
    }

    /// Does the handshake and gives the answer to it.
    pub(crate) async fn initialize(&mut self, revision: &str, capabilities: Value) -> Value {
        let params = json!({
            "protocolVersion": revision,
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "0"},
        });
        let answer = self.call("initialize", params).await;
        self.tell("notifications/initialized", json!({})).await;
        answer
    }

    /// Writes a line.
    pub(crate) async fn send(&mut self, line: &str) {
        let write = self.write.as_mut().unwrap();
        write.write_all(line.as_bytes()).await.unwrap();
        write.write_all(b"\n").await.unwrap();
    }

    /// Writes as it is.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write.as_mut().unwrap().write_all(bytes).await
    }

    /// The next message.
    pub(crate) async fn next(&mut self) -> Value {
        self.next_or_end().await.expect("the server has ended")
    }

    /// The next message, or nothing if the server has ended.
    pub(crate) async fn next_or_end(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line);
        let count = tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap();
        (count > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Sends a request and gives its id.
    pub(crate) async fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&request(id, method, params).to_string()).await;
        id
    }

    /// The answer with this id; what comes before is heard.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.heard.push(message);
        }
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.answer(id).await
    }

    /// Calls a tool and waits for its result.
    pub(crate) async fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.call("tools/call", json!({"name": name, "arguments": arguments}))
            .await
    }

    /// Sends a notification.
    pub(crate) async fn tell(&mut self, method: &str, params: Value) {
        let told = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send(&told.to_string()).await;
    }

    /// Answers a question of the server.
    pub(crate) async fn reply(&mut self, question: &Value, result: Value) {
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
        self.send(&answer.to_string()).await;
    }

    /// The next message that is a request or a notification of this method.
    pub(crate) async fn hear(&mut self, method: &str) -> Value {
        loop {
            if let Some(place) = self.heard.iter().position(|m| m["method"] == method) {
                return self.heard.remove(place);
            }
            let message = self.next().await;
            self.heard.push(message);
        }
    }

    /// Waits until the server has dealt with everything that was sent, and takes what came
    /// of it. Not for clients of the stateless era, which have no ping.
    pub(crate) async fn settle(&mut self) -> Vec<Value> {
        self.last_id += 1;
        let id = format!("ping-{}", self.last_id);
        let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        self.send(&ping.to_string()).await;
        loop {
            let message = self.next().await;
            if message["id"] == id.as_str() {
                return std::mem::take(&mut self.heard);
            }
            self.heard.push(message);
        }
    }

    /// Ends the input of the server.
    pub(crate) async fn finish(&mut self) {
        if let Some(mut write) = self.write.take() {
            write.shutdown().await.unwrap();
        }
    }

    /// Ends the input of the server and waits until it has ended; gives what came until then.
    pub(crate) async fn close(mut self) -> Vec<Value> {
        self.finish().await;
        while let Some(message) = self.next_or_end().await {
            self.heard.push(message);
        }
        self.served.await.unwrap().unwrap();
        self.heard
    }

    /// Is gone, without a word.
    pub(crate) async fn vanish(self) {
        let Self {
            lines,
            write,
            served,
            ..
        } = self;
        drop((lines, write));
        let ended = tokio::time::timeout(PATIENCE, served).await;
        ended.unwrap().unwrap().unwrap();
    }
}

/// A request as JSON.
pub(crate) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Long enough for a busy machine, short enough to notice.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
