//! Tasks of 2025-11-25, as a raw client sees them after the handshake.
//!
//! Specification: 2025-11-25 basic/utilities/tasks.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_server::Limits;

use crate::tasks::server;
use crate::tasks_client::Client;

const REVISION: &str = "2025-11-25";

async fn connect() -> Client {
    Client::handshake(&server().site().unwrap(), REVISION).await
}

fn call(tool: &str) -> Value {
    json!({"name": tool, "arguments": {}, "task": {"ttl": 60_000}})
}

/// Calls a tool as a task: its id.
async fn begin(client: &mut Client, tool: &str) -> String {
    let created = client.result("tools/call", call(tool)).await;
    created["task"]["taskId"].as_str().unwrap().to_owned()
}

async fn until(client: &mut Client, task: &str, status: &str) -> Value {
    loop {
        let state = client.result("tasks/get", json!({"taskId": task})).await;
        if state["status"] == status {
            return state;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_older_form_is_declared_and_the_extension_is_not() {
    let site = server().site().unwrap();
    let about = Client::on(&site).initialize(REVISION).await;
    let capabilities = &about["capabilities"];
    let declared = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
    assert_eq!(capabilities["tasks"], declared);
    assert!(capabilities.get("extensions").is_none(), "{about}");
    let mut client = Client::handshake(&site, REVISION).await;
    let listed = client.result("tools/list", json!({})).await;
    let support = |name: &str| {
        let tools = listed["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        tool["execution"]["taskSupport"].clone()
    };
    assert_eq!(support("greet"), Value::Null);
    assert_eq!(support("quick"), "optional");
    assert_eq!(support("asks_first"), "optional");
    assert_eq!(support("failing"), "required");
}

#[tokio::test]
async fn older_clients_see_nothing_of_tasks() {
    let site = server().site().unwrap();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let about = Client::on(&site).initialize(revision).await;
        assert!(about["capabilities"].get("tasks").is_none());
        assert!(about["capabilities"].get("extensions").is_none());
        let mut client = Client::handshake(&site, revision).await;
        let listed = client.result("tools/list", json!({})).await;
        let tools = listed["tools"].as_array().unwrap();
        assert!(tools.iter().all(|tool| tool.get("execution").is_none()));
        let result = client.result("tools/call", call("quick")).await;
        assert_eq!(result["content"][0]["text"], "quick");
        let error = client.error("tools/call", call("failing")).await;
        assert_eq!(error["code"], -32601);
        assert!(error["message"].as_str().unwrap().contains(revision));
        let error = client.error("tasks/get", json!({"taskId": "x"})).await;
        assert_eq!(error["code"], -32601);
    }
}

#[tokio::test]
async fn the_client_decides_within_what_the_tool_says() {
    let mut client = connect().await;
    let plain = |tool: &str| json!({"name": tool, "arguments": {}});
    let result = client.result("tools/call", plain("quick")).await;
    assert_eq!(result["content"][0]["text"], "quick");
    let error = client.error("tools/call", plain("failing")).await;
    assert_eq!(error["code"], -32601);
    let mut params = call("greet");
    params["arguments"] = json!({"name": "Ann"});
    let error = client.error("tools/call", params).await;
    assert_eq!(error["code"], -32601);
    let mut params = call("quick");
    params["task"] = json!(1);
    let error = client.error("tools/call", params).await;
    assert_eq!(error["code"], -32602);
    let created = client.result("tools/call", call("forever")).await;
    let task = &created["task"];
    assert_eq!(task["status"], "working");
    assert_eq!(task["ttl"], 60_000);
    assert!(task["pollInterval"].as_u64().unwrap() > 0);
    assert!(task.get("ttlMs").is_none() && task.get("pollIntervalMs").is_none());
    assert!(created.get("resultType").is_none() && created.get("taskId").is_none());
}

#[tokio::test]
async fn a_life_that_is_too_long_is_shortened() {
    let mut limits = Limits::default();
    limits.tasks.max_life = Duration::from_secs(5);
    let site = server().limits(limits).site().unwrap();
    let mut client = Client::handshake(&site, REVISION).await;
    let created = client.result("tools/call", call("forever")).await;
    assert_eq!(created["task"]["ttl"], 5_000);
}

#[tokio::test]
async fn a_result_is_waited_for_and_says_what_it_is_of() {
    let mut client = connect().await;
    let task = begin(&mut client, "quick").await;
    let result = client.result("tasks/result", json!({"taskId": task})).await;
    assert_eq!(result["content"][0]["text"], "quick");
    let related = &result["_meta"]["io.modelcontextprotocol/related-task"];
    assert_eq!(related["taskId"], task.as_str());
    let done = until(&mut client, &task, "completed").await;
    assert!(done.get("result").is_none(), "{done}");
    assert!(done.get("_meta").is_none(), "{done}");
    let error = client.error("tasks/result", json!({"taskId": "x"})).await;
    assert_eq!(error["code"], -32602);
    let error = client.error("tasks/update", json!({"taskId": task})).await;
    assert_eq!(error["code"], -32601);
}

#[tokio::test]
async fn a_tool_that_fails_makes_its_task_fail() {
    let mut client = connect().await;
    let task = begin(&mut client, "failing").await;
    let failed = until(&mut client, &task, "failed").await;
    assert_eq!(failed["statusMessage"], "no luck");
    let result = client.result("tasks/result", json!({"taskId": task})).await;
    assert_eq!(result["isError"], true);
    let task = begin(&mut client, "refused").await;
    let error = client.error("tasks/result", json!({"taskId": task})).await;
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(-32603), &json!("broken"))
    );
    until(&mut client, &task, "failed").await;
}

#[tokio::test]
async fn questions_are_put_where_the_result_is_waited_for() {
    let mut client = connect().await;
    let task = begin(&mut client, "two_questions").await;
    until(&mut client, &task, "input_required").await;
    let waiting = client.begin("tasks/result", json!({"taskId": task})).await;
    for name in ["Ann", "Bob"] {
        let asked = client.next("elicitation/create").await;
        let related = &asked["params"]["_meta"]["io.modelcontextprotocol/related-task"];
        assert_eq!(related["taskId"], task.as_str());
        let result = json!({"action": "accept", "content": {"name": name}});
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
        client.send(&answer).await;
    }
    let answer = client.answer(waiting).await;
    assert_eq!(answer["result"]["content"][0]["text"], "Ann Bob");
}

#[tokio::test]
async fn what_a_task_asks_at_once_is_put_at_once() {
    let mut client = connect().await;
    let task = begin(&mut client, "two_questions").await;
    let waiting = client.begin("tasks/result", json!({"taskId": task})).await;
    let first = client.next("elicitation/create").await;
    let second = client.next("elicitation/create").await;
    for (asked, name) in [(second, "Bob"), (first, "Ann")] {
        let result = json!({"action": "accept", "content": {"name": name}});
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
        client.send(&answer).await;
    }
    let answer = client.answer(waiting).await;
    assert_eq!(answer["result"]["content"][0]["text"], "Ann Bob");
}

#[tokio::test]
async fn a_question_outlives_whoever_waited_for_the_result() {
    let mut client = connect().await;
    let task = begin(&mut client, "confirm").await;
    let waiting = client.begin("tasks/result", json!({"taskId": task})).await;
    let first = client.next("elicitation/create").await;
    let cancel = json!({"requestId": waiting});
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel}))
        .await;
    let withdrawn = client.next("notifications/cancelled").await;
    assert_eq!(withdrawn["params"]["requestId"], first["id"]);
    until(&mut client, &task, "input_required").await;
    let waiting = client.begin("tasks/result", json!({"taskId": task})).await;
    let asked = client.next("elicitation/create").await;
    let result = json!({"action": "accept", "content": {"confirm": true}});
    client
        .send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
        .await;
    let answer = client.answer(waiting).await;
    assert_eq!(answer["result"]["content"][0]["text"], "deleted");
}

#[tokio::test]
async fn a_cancelled_task_is_given_back_and_cannot_be_cancelled_again() {
    let mut client = connect().await;
    let task = begin(&mut client, "confirm").await;
    let waiting = client.begin("tasks/result", json!({"taskId": task})).await;
    client.next("elicitation/create").await;
    let cancelled = client.result("tasks/cancel", json!({"taskId": task})).await;
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(cancelled["taskId"], task.as_str());
    assert!(cancelled["ttl"].is_u64());
    let answer = client.answer(waiting).await;
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    let error = client.error("tasks/cancel", json!({"taskId": task})).await;
    assert_eq!(error["code"], -32602);
    let error = client.error("tasks/cancel", json!({"taskId": "x"})).await;
    assert_eq!(error["code"], -32602);
}

#[tokio::test]
async fn the_session_is_told_how_its_tasks_stand() {
    let mut client = connect().await;
    let task = begin(&mut client, "confirm").await;
    let told = client.next("notifications/tasks/status").await;
    assert_eq!(told["params"]["taskId"], task.as_str());
    assert_eq!(told["params"]["status"], "input_required");
    assert!(told["params"]["ttl"].is_u64());
    assert!(told["params"].get("inputRequests").is_none());
    assert!(told["params"].get("_meta").is_none());
    client.result("tasks/cancel", json!({"taskId": task})).await;
    let told = client.next("notifications/tasks/status").await;
    assert_eq!(told["params"]["status"], "cancelled");
}

#[tokio::test]
async fn tasks_are_listed_page_by_page_to_the_session_that_they_are_of() {
    let mut limits = Limits::default();
    limits.page = 2;
    let site = server().limits(limits).site().unwrap();
    let mut client = Client::handshake(&site, REVISION).await;
    let mut begun = Vec::new();
    for _ in 0..5 {
        begun.push(begin(&mut client, "forever").await);
    }
    let mut listed = Vec::new();
    let mut params = json!({});
    loop {
        let page = client.result("tasks/list", params).await;
        let tasks = page["tasks"].as_array().unwrap();
        assert!(tasks.len() <= 2);
        listed.extend(
            tasks
                .iter()
                .map(|t| t["taskId"].as_str().unwrap().to_owned()),
        );
        match page.get("nextCursor") {
            Some(next) => params = json!({"cursor": next}),
            None => break,
        }
    }
    assert_eq!(listed, begun);
    for cursor in ["x", "99"] {
        let error = client.error("tasks/list", json!({"cursor": cursor})).await;
        assert_eq!(error["code"], -32602, "{cursor}");
    }
    // Another session neither sees nor touches them.
    let mut other = Client::handshake(&site, REVISION).await;
    let page = other.result("tasks/list", json!({})).await;
    assert_eq!(page["tasks"], json!([]));
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let error = other.error(method, json!({"taskId": begun[0]})).await;
        assert_eq!(error["code"], -32602, "{method}");
    }
}

#[tokio::test]
async fn a_handler_may_ask_before_it_becomes_a_task() {
    let mut client = connect().await;
    // Here the client decides: it is a task from the beginning.
    let task = begin(&mut client, "asks_first").await;
    until(&mut client, &task, "input_required").await;
    // Without a wish for one it stays a call, whatever the handler says.
    let params = json!({"name": "asks_first", "arguments": {}});
    let waiting = client.begin("tools/call", params).await;
    let asked = client.next("elicitation/create").await;
    let result = json!({"action": "accept", "content": {"name": "Ann"}});
    client
        .send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
        .await;
    let answer = client.answer(waiting).await;
    let text = &answer["result"]["content"][0]["text"];
    assert_eq!(text, "Hello, Ann! Err(NotWanted)");
}
