//! Tasks in a store of the author's own, of tools that are not known beforehand, and many
//! at once.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde_json::json;
use switchboard_server::protocol::types::{TaskSupport, Tool, ToolExecution};
use switchboard_server::protocol::{Payload, RawJson};
use switchboard_server::{
    Context, MemoryTasks, Outcome, Server, StoreError, StoreFuture, TaskChange, TaskOwner,
    TaskPage, TaskRecord, TaskStore, ToolHandler,
};

use crate::tasks::server;
use crate::tasks_client::Client;

/// A store that takes its time, like one across a network.
struct Slow(MemoryTasks);

async fn slowly<T>(work: StoreFuture<'_, T>) -> Result<T, StoreError> {
    tokio::time::sleep(Duration::from_millis(20)).await;
    work.await
}

impl TaskStore for Slow {
    fn create(&self, task: TaskRecord) -> StoreFuture<'_, ()> {
        Box::pin(async move { slowly(self.0.create(task)).await })
    }

    fn find<'a>(
        &'a self,
        owner: &'a TaskOwner,
        id: &'a str,
    ) -> StoreFuture<'a, Option<TaskRecord>> {
        Box::pin(slowly(self.0.find(owner, id)))
    }

    fn change<'a>(
        &'a self,
        id: &'a str,
        change: TaskChange,
    ) -> StoreFuture<'a, Option<TaskRecord>> {
        Box::pin(async move { slowly(self.0.change(id, change)).await })
    }

    fn list<'a>(
        &'a self,
        owner: &'a TaskOwner,
        cursor: Option<&'a str>,
        limit: usize,
    ) -> StoreFuture<'a, TaskPage> {
        Box::pin(slowly(self.0.list(owner, cursor, limit)))
    }
}

/// Does not work.
struct Broken;

impl TaskStore for Broken {
    fn create(&self, _: TaskRecord) -> StoreFuture<'_, ()> {
        Box::pin(async { Err(StoreError::Unavailable("no disk".to_owned())) })
    }

    fn find<'a>(&'a self, _: &'a TaskOwner, _: &'a str) -> StoreFuture<'a, Option<TaskRecord>> {
        Box::pin(async { Err(StoreError::Unavailable("no disk".to_owned())) })
    }

    fn change<'a>(&'a self, _: &'a str, _: TaskChange) -> StoreFuture<'a, Option<TaskRecord>> {
        Box::pin(async { Err(StoreError::Unavailable("no disk".to_owned())) })
    }

    fn list<'a>(
        &'a self,
        _: &'a TaskOwner,
        _: Option<&'a str>,
        _: usize,
    ) -> StoreFuture<'a, TaskPage> {
        Box::pin(async { Err(StoreError::Unavailable("no disk".to_owned())) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_in_the_store_before_the_client_knows_of_it() {
    let mut client = Client::stateless(server().tasks(Slow(MemoryTasks::default())));
    let task = client.task("confirm").await;
    client.until(&task, "input_required").await;
    let answers = json!({"confirm": {"action": "accept", "content": {"confirm": true}}});
    let params = json!({"taskId": task, "inputResponses": answers});
    client.ask("tasks/update", params).await;
    let done = client.until(&task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "deleted");
    let task = client.task("forever").await;
    client.ask("tasks/cancel", json!({"taskId": task})).await;
    client.until(&task, "cancelled").await;
}

#[tokio::test(start_paused = true)]
async fn a_result_is_waited_for_in_a_slow_store_too() {
    let site = server().tasks(Slow(MemoryTasks::default())).site().unwrap();
    let mut client = Client::handshake(&site, "2025-11-25").await;
    let params = json!({"name": "quick", "arguments": {}, "task": {}});
    let created = client.result("tools/call", params).await;
    let params = json!({"taskId": created["task"]["taskId"]});
    let result = client.result("tasks/result", params).await;
    assert_eq!(result["content"][0]["text"], "quick");
}

#[tokio::test]
async fn without_a_store_that_works_the_client_waits_for_the_result() {
    let mut client = Client::stateless(server().tasks(Broken));
    let params = json!({"name": "quick", "arguments": {}});
    let result = client.ask("tools/call", params).await;
    assert_eq!(result["content"][0]["text"], "quick");
    let params = json!({"name": "failing", "arguments": {}});
    let error = client.fail("tools/call", params).await;
    assert_eq!(error["code"], -32603);
    let error = client.fail("tasks/get", json!({"taskId": "x"})).await;
    assert_eq!(error["code"], -32603);
}

/// One tool, which must be a task.
struct Dynamic;

impl ToolHandler for Dynamic {
    fn list(&self) -> Vec<Tool> {
        let schema = RawJson::parse(r#"{"type":"object","properties":{}}"#).unwrap();
        let mut tool = Tool::new("dynamic", schema);
        let mut execution = ToolExecution::default();
        execution.task_support = Some(TaskSupport::Required);
        tool.execution = Some(execution);
        vec![tool]
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        _: Payload,
        context: Context,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        Box::pin(async move { Outcome::Text(format!("{name} {}", context.is_task())) })
    }
}

#[tokio::test]
async fn tools_that_come_later_become_tasks_as_their_definitions_say() {
    let server = Server::new("t", "1")
        .tools(Dynamic)
        .tasks(MemoryTasks::default());
    let mut client = Client::stateless(server);
    let task = client.task("dynamic").await;
    let done = client.until(&task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "dynamic true");
    let mut client = client.without_tasks();
    let params = json!({"name": "dynamic", "arguments": {}});
    let error = client.fail("tools/call", params).await;
    assert_eq!(error["code"], -32021);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_tasks_at_once_each_come_to_an_end() {
    let site = server().site().unwrap();
    let clients = (0..8).map(|number| {
        let site = site.clone();
        tokio::spawn(async move {
            let mut client = Client::on(&site);
            for round in 0..20 {
                let tool = ["quick", "forever", "confirm"][(number + round) % 3];
                let task = client.task(tool).await;
                let update = json!({"taskId": task, "inputResponses":
                    {"confirm": {"action": "decline"}}});
                client.ask("tasks/update", update).await;
                client.ask("tasks/cancel", json!({"taskId": task})).await;
                let state = client.ask("tasks/get", json!({"taskId": task})).await;
                let status = state["status"].as_str();
                assert!(matches!(status, Some("completed" | "cancelled")), "{state}");
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
}
