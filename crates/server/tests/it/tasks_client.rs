//! A client that writes raw messages and reads raw answers, on a pipe in memory.

use std::collections::VecDeque;

use serde_json::{Value, json};
use switchboard_server::{Server, Site};
use switchboard_transport::memory::{self, End};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, ReadHalf, WriteHalf, split};

/// A client that writes raw messages and reads raw answers.
pub(crate) struct Client {
    read: BufReader<ReadHalf<End>>,
    write: WriteHalf<End>,
    last: i64,
    extension: bool,
    seen: VecDeque<Value>,
}

impl Client {
    /// A client of the stateless era that declares everything, tasks included.
    pub(crate) fn stateless(server: Server) -> Self {
        Self::on(&server.site().unwrap())
    }

    pub(crate) fn on(site: &Site) -> Self {
        let (near, far) = memory::pair();
        let site = site.clone();
        tokio::spawn(async move {
            let (read, write) = split(far);
            site.serve(read, write).await.unwrap();
        });
        let (read, write) = split(near);
        Self {
            read: BufReader::new(read),
            write,
            last: 0,
            extension: true,
            seen: VecDeque::new(),
        }
    }

    /// The same client, without the extension.
    pub(crate) fn without_tasks(mut self) -> Self {
        self.extension = false;
        self
    }

    /// A client after the handshake.
    pub(crate) async fn handshake(site: &Site, revision: &str) -> Self {
        let mut client = Self::on(site);
        client.initialize(revision).await;
        client
    }

    pub(crate) async fn initialize(&mut self, revision: &str) -> Value {
        let result = self
            .result(
                "initialize",
                json!({
                    "protocolVersion": revision,
                    "capabilities": {"elicitation": {}, "roots": {},
                        // Must not enable anything in this era.
                        "extensions": {"io.modelcontextprotocol/tasks": {}}},
                    "clientInfo": {"name": "test", "version": "1"},
                }),
            )
            .await;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        result
    }

    /// Parameters of the stateless era.
    pub(crate) fn modern(&self, mut params: Value) -> Value {
        let mut capabilities = json!({"elicitation": {}, "roots": {}});
        if self.extension {
            capabilities["extensions"] = json!({"io.modelcontextprotocol/tasks": {}});
        }
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        params
    }

    /// Calls in the stateless era, and gives the result.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let params = self.modern(params);
        self.result(method, params).await
    }

    /// Calls in the stateless era, and gives the error.
    pub(crate) async fn fail(&mut self, method: &str, params: Value) -> Value {
        let params = self.modern(params);
        self.error(method, params).await
    }

    pub(crate) async fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.call(method, params).await;
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].clone()
    }

    pub(crate) async fn error(&mut self, method: &str, params: Value) -> Value {
        let answer = self.call(method, params).await;
        assert!(answer.get("error").is_some(), "{method}: {answer}");
        answer["error"].clone()
    }

    /// Calls, and keeps what comes before the answer for [`next`](Self::next).
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.answer(id).await
    }

    /// Sends a request without waiting for its answer.
    pub(crate) async fn begin(&mut self, method: &str, params: Value) -> i64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    pub(crate) async fn answer(&mut self, id: i64) -> Value {
        let is_answer = |message: &Value| message["id"] == id && message.get("method").is_none();
        if let Some(place) = self.seen.iter().position(is_answer) {
            return self.seen.remove(place).unwrap();
        }
        loop {
            let message = self.read().await;
            if is_answer(&message) {
                return message;
            }
            self.seen.push_back(message);
        }
    }

    /// The next message of this method, which is no answer.
    pub(crate) async fn next(&mut self, method: &str) -> Value {
        if let Some(place) = self.seen.iter().position(|m| m["method"] == method) {
            return self.seen.remove(place).unwrap();
        }
        loop {
            let message = self.read().await;
            if message["method"] == method {
                return message;
            }
            self.seen.push_back(message);
        }
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.write.write_all(line.as_bytes()).await.unwrap();
    }

    /// Calls a tool in the stateless era: the id of the task that it becomes.
    pub(crate) async fn task(&mut self, tool: &str) -> String {
        let created = self
            .ask("tools/call", json!({"name": tool, "arguments": {}}))
            .await;
        assert_eq!(created["resultType"], "task", "{created}");
        created["taskId"].as_str().unwrap().to_owned()
    }

    /// Polls until the task has this status.
    pub(crate) async fn until(&mut self, task: &str, status: &str) -> Value {
        loop {
            let state = self.ask("tasks/get", json!({"taskId": task})).await;
            if state["status"] == status {
                return state;
            }
            assert!(
                matches!(state["status"].as_str(), Some("working" | "input_required")),
                "expected {status}: {state}"
            );
            tokio::task::yield_now().await;
        }
    }

    async fn read(&mut self) -> Value {
        let mut line = String::new();
        let read = self.read.read_line(&mut line).await.unwrap();
        assert!(read > 0, "the server has ended");
        serde_json::from_str(&line).unwrap()
    }
}
