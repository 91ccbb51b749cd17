//! How long servers may take with their tasks, and how many hear of them.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::memory::{End, pair};
use switchboard_client::types::SubscriptionFilter;
use switchboard_client::{Change, Client, Handlers};
use switchboard_gateway::Gateway;
use switchboard_hub::{Hub, ServerConfig};
use switchboard_protocol::types::TASKS_EXTENSION;
use switchboard_protocol::{Era, Method};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, timeout};

use crate::cell::{connect, soon};
use crate::tasks::request;

/// A server of this era whose tasks are all the same, until it is told that one has ended.
struct Idler {
    era: Era,
    /// How its tasks stand.
    status: &'static str,
}

impl Idler {
    /// A gateway before it, and what tells it which tasks have ended.
    async fn served(self) -> (Gateway, UnboundedSender<String>) {
        let (tell, ended) = unbounded_channel();
        let (ours, theirs) = pair();
        let near = std::sync::Mutex::new(Some(ours));
        tokio::spawn(self.serve(theirs, ended));
        let hub = Hub::builder()
            .server(ServerConfig::command("one", ["in-process"]))
            .in_process(move |_| near.lock().unwrap().take());
        let gateway = Gateway::builder(hub).build();
        soon(gateway.connect_all()).await;
        (gateway, tell)
    }

    async fn serve(self, end: End, mut ended: UnboundedReceiver<String>) {
        let (read, mut write) = tokio::io::split(end);
        let mut lines = BufReader::new(read).lines();
        let mut over = Vec::new();
        loop {
            let said = tokio::select! {
                biased;
                Some(task) = ended.recv() => {
                    over.push(task.clone());
                    let params = self.task(&task, "completed");
                    json!({"jsonrpc": "2.0", "method": "notifications/tasks/status", "params": params})
                }
                line = lines.next_line() => {
                    let Ok(Some(line)) = line else { return };
                    let message: Value = serde_json::from_str(&line).unwrap();
                    let Some(answer) = self.answer(&message, &over) else { continue };
                    answer
                }
            };
            let line = format!("{said}\n");
            if write.write_all(line.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    fn answer(&self, message: &Value, over: &[String]) -> Option<Value> {
        let id = message.get("id")?;
        let is_stateless = self.era == Era::Stateless;
        let task = message["params"]["taskId"].as_str().unwrap_or_default();
        let is_over = over.iter().any(|one| one == task);
        let result = match message["method"].as_str()? {
            "server/discover" if is_stateless => json!({"supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}, "extensions": {TASKS_EXTENSION: {}}},
                "serverInfo": {"name": "idler", "version": "1"}}),
            "server/discover" => {
                let error = json!({"code": -32601, "message": "no such method"});
                return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
            "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {},
                "tasks": {"requests": {"tools": {"call": {}}}, "cancel": {}}},
                "serverInfo": {"name": "idler", "version": "1"}}),
            "tools/list" => json!({"tools": []}),
            "tasks/get" if is_over => self.task(task, "completed"),
            "tasks/get" => self.task(task, self.status),
            "tasks/result" if is_over => json!({"content": []}),
            // What it hears is not done.
            "tasks/cancel" => json!({}),
            _ => return None,
        };
        Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn task(&self, id: &str, status: &str) -> Value {
        let at = "2026-01-01T00:00:00Z";
        let mut task =
            json!({"taskId": id, "status": status, "createdAt": at, "lastUpdatedAt": at});
        let life = if self.era == Era::Stateless {
            "ttlMs"
        } else {
            "ttl"
        };
        task[life] = json!(60_000);
        task
    }
}

fn counted(gateway: &Gateway, limit: &str) -> Option<u64> {
    gateway.site().refusals().counts().get(limit).copied()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_cancel_a_task_is_not_waited_for_long() {
    let (era, status) = (Era::Stateless, "working");
    let (gateway, _tell) = Idler { era, status }.served().await;
    let client = connect(&gateway, Era::Handshake, Handlers::new()).await;
    let began = Instant::now();
    let task = json!({"taskId": "3.one.t"});
    let stands = request(&client, Method::TasksCancel, task).await.unwrap();
    assert_eq!(stands["status"], "working", "{stands}");
    assert_eq!(began.elapsed().as_secs(), 5);
    assert_eq!(counted(&gateway, "taskCancelSeconds"), Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_say_what_a_task_asks_is_not_waited_for_long() {
    let (era, status) = (Era::Handshake, "input_required");
    let (gateway, _tell) = Idler { era, status }.served().await;
    let client = connect(&gateway, Era::Stateless, Handlers::new()).await;
    let began = Instant::now();
    let task = json!({"taskId": "3.one.t"});
    let stands = request(&client, Method::TasksGet, task).await.unwrap();
    // What it asks is not known, so it goes on.
    assert_eq!(stands["status"], "working", "{stands}");
    assert_eq!(began.elapsed().as_secs(), 2);
    assert_eq!(counted(&gateway, "taskQuestionSeconds"), Some(1));
}

/// Wants to hear of these tasks.
async fn listen(
    client: &Client,
    tasks: impl Iterator<Item = usize>,
) -> switchboard_client::Subscription {
    let mut filter = SubscriptionFilter::default();
    filter.task_ids = Some(tasks.map(|task| format!("3.one.{task}")).collect());
    soon(client.listen(filter)).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn only_so_many_hear_of_one_task() {
    let (era, status) = (Era::Handshake, "working");
    let (gateway, tell) = Idler { era, status }.served().await;
    let mut all = Vec::new();
    for _ in 0..17 {
        let client = connect(&gateway, Era::Stateless, Handlers::new()).await;
        let listening = listen(&client, 7..8).await;
        all.push((client, listening));
    }
    assert_eq!(counted(&gateway, "taskListeners"), Some(1));
    tell.send("7".to_owned()).unwrap();
    let (_, mut last) = all.pop().unwrap();
    for (_, listening) in &mut all {
        let change = soon(listening.next()).await.unwrap();
        assert_eq!(change, Some(Change::Task("3.one.7".to_owned())));
    }
    timeout(MINUTE, last.next()).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn only_so_many_tasks_are_heard_of() {
    let (era, status) = (Era::Handshake, "working");
    let (gateway, tell) = Idler { era, status }.served().await;
    let client = connect(&gateway, Era::Stateless, Handlers::new()).await;
    let mut first = listen(&client, 0..1_000).await;
    let mut others = Vec::new();
    for from in [1_000, 2_000, 3_000] {
        others.push(listen(&client, from..from + 1_000).await);
    }
    others.push(listen(&client, 4_000..4_096).await);
    assert_eq!(counted(&gateway, "heardTasks"), None);
    let mut last = listen(&client, 4_096..4_097).await;
    assert_eq!(counted(&gateway, "heardTasks"), Some(1));
    // Who wants to hear of one of those that are heard of does.
    let mut late = listen(&client, 3..4).await;
    assert_eq!(counted(&gateway, "heardTasks"), Some(1));
    for task in ["4096", "3"] {
        tell.send(task.to_owned()).unwrap();
    }
    for listening in [&mut first, &mut late] {
        let change = soon(listening.next()).await.unwrap();
        assert_eq!(change, Some(Change::Task("3.one.3".to_owned())));
    }
    timeout(MINUTE, last.next()).await.unwrap_err();
}

const MINUTE: Duration = Duration::from_secs(60);
