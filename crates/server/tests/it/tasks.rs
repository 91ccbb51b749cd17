//! Tasks of the extension, as a raw client of the stateless era sees them.
//!
//! Specification: tasks extension.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_server::protocol::jsonrpc::ErrorObject;
use switchboard_server::{
    Context, Elicited, Failure, Limits, NoArguments, Server, TaskLimits, TaskMode, tool,
};
use tokio::sync::Notify;

use crate::tasks_client::Client;

/// Who.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Name {
    /// A name.
    name: String,
}

/// Whether.
#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Really?
    confirm: bool,
}

async fn forever() -> String {
    std::future::pending().await
}

async fn confirm(_: NoArguments, context: Context) -> Result<String, Failure> {
    let said: Elicited<Confirm> = context.elicit("confirm", "Really?").await?;
    Ok(match said.accepted() {
        Some(Confirm { confirm: true }) => "deleted".to_owned(),
        _ => "kept".to_owned(),
    })
}

async fn two_questions(_: NoArguments, context: Context) -> Result<String, Failure> {
    let (first, second) = tokio::join!(
        context.elicit::<Name>("first", "First?"),
        context.elicit::<Name>("second", "Second?"),
    );
    let name = |said: Elicited<Name>| said.accepted().map_or_else(String::new, |n| n.name);
    Ok(format!("{} {}", name(first?), name(second?)))
}

async fn asks_first(_: NoArguments, context: Context) -> Result<String, Failure> {
    let said: Elicited<Name> = context.elicit("user_name", "Who?").await?;
    let name = said.accepted().map_or_else(String::new, |n| n.name);
    let became = context.continue_as_task().await;
    assert_eq!(became.is_ok(), context.is_task());
    Ok(format!("Hello, {name}! {became:?}"))
}

async fn asks_the_same_twice(_: NoArguments, context: Context) -> Result<String, Failure> {
    for _ in 0..2 {
        context.elicit::<Name>("again", "Again?").await?;
    }
    Ok("done".to_owned())
}

async fn changes_its_mind(_: NoArguments, context: Context) -> Result<String, Failure> {
    tokio::select! {
        biased;
        _ = context.elicit::<Name>("late", "Late?") => {}
        () = tokio::time::sleep(Duration::from_secs(5)) => {}
    }
    context.elicit::<Name>("last", "Last?").await?;
    Ok("done".to_owned())
}

pub(crate) fn server() -> Server {
    Server::new("test", "1")
        .tool(tool("greet", |name: Name| async move {
            format!("Hello, {}!", name.name)
        }))
        .tool(tool("quick", || async { "quick" }).task(TaskMode::WhenPossible))
        .tool(tool("forever", forever).task(TaskMode::WhenPossible))
        .tool(
            tool("failing", || async {
                Err::<String, _>(Failure::failed("no luck"))
            })
            .task(TaskMode::Always),
        )
        .tool(
            tool("refused", || async {
                Err::<String, _>(Failure::Refused(ErrorObject::internal("broken")))
            })
            .task(TaskMode::Always),
        )
        .tool(
            tool("panics", || async {
                tokio::task::yield_now().await;
                if true {
                    panic!("oh");
                }
                "never"
            })
            .task(TaskMode::WhenPossible),
        )
        .tool(tool("confirm", confirm).task(TaskMode::WhenPossible))
        .tool(tool("two_questions", two_questions).task(TaskMode::WhenPossible))
        .tool(tool("asks_first", asks_first).task(TaskMode::ByHandler))
        .tool(tool("asks_twice", asks_the_same_twice).task(TaskMode::WhenPossible))
        .tool(tool("changes_its_mind", changes_its_mind).task(TaskMode::WhenPossible))
        .tool(tool("never", asks_first))
}

fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

#[tokio::test]
async fn the_extension_is_declared_and_the_older_form_is_not() {
    let mut client = Client::stateless(server());
    let about = client.ask("server/discover", json!({})).await;
    let capabilities = &about["capabilities"];
    assert_eq!(
        capabilities["extensions"]["io.modelcontextprotocol/tasks"],
        json!({})
    );
    assert!(capabilities.get("tasks").is_none(), "{about}");
    let listed = client.ask("tools/list", json!({})).await;
    let tools = listed["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool.get("execution").is_none()));
}

#[tokio::test]
async fn a_server_without_tasks_declares_none() {
    let mut client = Client::stateless(Server::new("t", "1").tool(tool("a", || async { "a" })));
    let about = client.ask("server/discover", json!({})).await;
    assert!(about["capabilities"].get("extensions").is_none());
    let error = client.fail("tasks/get", json!({"taskId": "x"})).await;
    assert_eq!(error["code"], -32601);
}

#[tokio::test]
async fn a_task_is_created_flat_and_found_at_once() {
    let mut client = Client::stateless(server());
    let params = json!({"name": "forever", "arguments": {}});
    let created = client.ask("tools/call", params).await;
    assert_eq!(created["resultType"], "task");
    assert_eq!(created["status"], "working");
    for absent in [
        "task",
        "result",
        "error",
        "inputRequests",
        "requestState",
        "ttl",
        "pollInterval",
    ] {
        assert!(created.get(absent).is_none(), "{absent}");
    }
    assert!(created["ttlMs"].as_u64().unwrap() > 0);
    assert!(created["pollIntervalMs"].as_u64().unwrap() > 0);
    let at = created["createdAt"].as_str().unwrap();
    assert!(
        at.len() == 24 && at.ends_with('Z') && at.contains('T'),
        "{at}"
    );
    assert!(created["taskId"].as_str().unwrap().len() >= 22);
    let params = json!({"taskId": created["taskId"]});
    let found = client.ask("tasks/get", params).await;
    assert_eq!(found["resultType"], "complete");
    assert_eq!(found["status"], "working");
    assert_eq!(found["createdAt"], created["createdAt"]);
}

#[tokio::test]
async fn a_tool_that_never_becomes_a_task_ignores_the_older_wish_for_one() {
    let mut client = Client::stateless(server());
    let params = json!({"name": "greet", "arguments": {"name": "Ann"}, "task": {"ttl": 1}});
    let result = client.ask("tools/call", params).await;
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["content"][0]["text"], "Hello, Ann!");
}

#[tokio::test]
async fn a_result_is_inlined_when_the_task_is_completed() {
    let mut client = Client::stateless(server());
    let task = client.task("quick").await;
    let done = client.until(&task, "completed").await;
    assert_eq!(done["resultType"], "complete");
    assert_eq!(done["result"]["content"][0]["text"], "quick");
    assert!(done["result"].get("_meta").is_none());
    assert!(done.get("error").is_none() && done.get("requestState").is_none());
}

#[tokio::test]
async fn a_tool_that_fails_is_completed_and_one_that_is_refused_has_failed() {
    let mut client = Client::stateless(server());
    let task = client.task("failing").await;
    let done = client.until(&task, "completed").await;
    assert_eq!(done["result"]["isError"], true);
    assert_eq!(done["statusMessage"], "no luck");
    let task = client.task("refused").await;
    let failed = client.until(&task, "failed").await;
    assert_eq!(failed["error"]["code"], -32603);
    assert_eq!(failed["error"]["message"], "broken");
    assert!(failed.get("result").is_none());
    let task = client.task("panics").await;
    let failed = client.until(&task, "failed").await;
    assert_eq!(failed["error"]["code"], -32603);
}

#[tokio::test]
async fn a_client_that_did_not_declare_the_extension_gets_no_task() {
    let mut client = Client::stateless(server()).without_tasks();
    let params = json!({"name": "quick", "arguments": {}});
    let result = client.ask("tools/call", params).await;
    assert_eq!(result["content"][0]["text"], "quick");
    let params = json!({"name": "failing", "arguments": {}});
    let error = client.fail("tools/call", params).await;
    assert_eq!(error["code"], -32021);
    let required = &error["data"]["requiredCapabilities"]["extensions"];
    assert!(required["io.modelcontextprotocol/tasks"].is_object());
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({"taskId": "x", "inputResponses": {}});
        let error = client.fail(method, params).await;
        assert_eq!(error["code"], -32021, "{method}");
    }
}

#[tokio::test]
async fn what_is_unknown_is_refused() {
    let mut client = Client::stateless(server());
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({"taskId": "unknown", "inputResponses": {}});
        let error = client.fail(method, params).await;
        assert_eq!(error["code"], -32602, "{method}");
        let error = client.fail(method, json!({})).await;
        assert_eq!(error["code"], -32602, "{method} without an id");
    }
    for method in ["tasks/result", "tasks/list"] {
        let error = client.fail(method, json!({"taskId": "x"})).await;
        assert_eq!(error["code"], -32601, "{method}");
    }
}

#[tokio::test]
async fn a_task_asks_and_goes_on_with_the_answer() {
    let mut client = Client::stateless(server());
    let task = client.task("confirm").await;
    let waiting = client.until(&task, "input_required").await;
    let requests = waiting["inputRequests"].as_object().unwrap();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests["confirm"]["method"], "elicitation/create");
    assert_eq!(requests["confirm"]["params"]["message"], "Really?");
    let answers = json!({"unknown": {}, "confirm": accept(json!({"confirm": true}))});
    let update = json!({"taskId": task, "inputResponses": answers});
    let ack = client.ask("tasks/update", update.clone()).await;
    assert_eq!(ack["resultType"], "complete");
    assert!(ack.get("taskId").is_none() && ack.get("status").is_none());
    let done = client.until(&task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "deleted");
    // Too late, and of no harm.
    client.ask("tasks/update", update).await;
    client.until(&task, "completed").await;
}

#[tokio::test]
async fn answering_one_of_two_questions_leaves_the_other() {
    let mut client = Client::stateless(server());
    let task = client.task("two_questions").await;
    loop {
        let waiting = client.until(&task, "input_required").await;
        if waiting["inputRequests"].as_object().unwrap().len() == 2 {
            break;
        }
    }
    let answers = json!({"first": accept(json!({"name": "Ann"}))});
    let params = json!({"taskId": task, "inputResponses": answers});
    client.ask("tasks/update", params).await;
    let waiting = client.until(&task, "input_required").await;
    let left: Vec<_> = waiting["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(left, ["second"]);
    let answers = json!({"second": accept(json!({"name": "Bob"}))});
    let params = json!({"taskId": task, "inputResponses": answers});
    client.ask("tasks/update", params).await;
    let done = client.until(&task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "Ann Bob");
}

#[tokio::test]
async fn the_key_of_a_question_is_used_once() {
    let mut client = Client::stateless(server());
    let task = client.task("asks_twice").await;
    for key in ["again", "again-2"] {
        let waiting = client.until(&task, "input_required").await;
        let keys: Vec<_> = waiting["inputRequests"]
            .as_object()
            .unwrap()
            .keys()
            .collect();
        assert_eq!(keys, [key]);
        let mut answers = json!({});
        answers[key] = accept(json!({"name": "x"}));
        let params = json!({"taskId": task, "inputResponses": answers});
        client.ask("tasks/update", params).await;
    }
    client.until(&task, "completed").await;
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_asked_no_more_is_withdrawn() {
    let mut client = Client::stateless(server());
    let task = client.task("changes_its_mind").await;
    let waiting = client.until(&task, "input_required").await;
    assert!(waiting["inputRequests"].get("late").is_some());
    tokio::time::sleep(Duration::from_secs(6)).await;
    let waiting = client.until(&task, "input_required").await;
    let left: Vec<_> = waiting["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(left, ["last"]);
}

#[tokio::test]
async fn a_handler_asks_first_and_becomes_a_task_then() {
    let mut client = Client::stateless(server());
    let params = json!({"name": "asks_first", "arguments": {}});
    let first = client.ask("tools/call", params.clone()).await;
    assert_eq!(first["resultType"], "input_required");
    assert!(first.get("taskId").is_none());
    let mut params = params;
    params["inputResponses"] = json!({"user_name": accept(json!({"name": "Alice"}))});
    if let Some(state) = first.get("requestState") {
        params["requestState"] = state.clone();
    }
    let created = client.ask("tools/call", params.clone()).await;
    assert_eq!(created["resultType"], "task");
    assert!(created.get("requestState").is_none() && created.get("inputRequests").is_none());
    let task = created["taskId"].as_str().unwrap();
    let done = client.until(task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "Hello, Alice! Ok(())");

    // The same without tasks, and of a tool that may not become one.
    let mut client = client.without_tasks();
    let result = client.ask("tools/call", params.clone()).await;
    let text = &result["content"][0]["text"];
    assert_eq!(text, "Hello, Alice! Err(NotWanted)");
    params["name"] = json!("never");
    params.as_object_mut().unwrap().remove("requestState");
    let result = client.ask("tools/call", params).await;
    let text = &result["content"][0]["text"];
    assert_eq!(text, "Hello, Alice! Err(NotOffered)");
}

#[tokio::test]
async fn a_cancelled_task_is_dropped_and_stays_cancelled() {
    struct Dropped(Arc<Notify>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let (dropped, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (on_drop, on_end) = (Arc::clone(&dropped), Arc::clone(&ended));
    let work = move |_: NoArguments, context: Context| {
        let (dropped, ended) = (Dropped(Arc::clone(&on_drop)), Arc::clone(&on_end));
        async move {
            let _dropped = dropped;
            tokio::spawn(async move {
                context.ended().await;
                ended.notify_one();
            });
            forever().await
        }
    };
    let server = Server::new("t", "1").tool(tool("work", work).task(TaskMode::WhenPossible));
    let mut client = Client::stateless(server);
    let task = client.task("work").await;
    client.until(&task, "working").await;
    for _ in 0..2 {
        let ack = client.ask("tasks/cancel", json!({"taskId": task})).await;
        assert_eq!(ack["resultType"], "complete");
        assert!(ack.get("taskId").is_none());
    }
    dropped.notified().await;
    ended.notified().await;
    let cancelled = client.until(&task, "cancelled").await;
    assert!(cancelled.get("result").is_none() && cancelled.get("error").is_none());
}

#[tokio::test]
async fn cancelling_what_is_done_changes_nothing() {
    let mut client = Client::stateless(server());
    let task = client.task("quick").await;
    client.until(&task, "completed").await;
    client.ask("tasks/cancel", json!({"taskId": task})).await;
    client.until(&task, "completed").await;
}

#[tokio::test(start_paused = true)]
async fn a_task_is_gone_after_its_time() {
    let mut limits = Limits::default();
    limits.tasks.life = Duration::from_secs(10);
    let site = server().limits(limits).site().unwrap();
    let mut client = Client::on(&site);
    let task = client.task("forever").await;
    tokio::time::sleep(Duration::from_secs(9)).await;
    client.until(&task, "working").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let error = client.fail("tasks/get", json!({"taskId": task})).await;
    assert_eq!(error["code"], -32602);
    assert_eq!(site.refusals().counts()["taskLife"], 1);
}

#[tokio::test(start_paused = true)]
async fn tasks_are_bounded() {
    let mut limits = Limits::default();
    limits.tasks = TaskLimits::default();
    limits.tasks.total = 1;
    limits.tasks.result = 40;
    limits.tasks.life = Duration::from_secs(10);
    let site = server().limits(limits).site().unwrap();
    let mut client = Client::on(&site);
    let task = client.task("quick").await;
    let failed = client.until(&task, "failed").await;
    assert_eq!(failed["error"]["code"], -32603, "the result is too large");
    // What can be answered without a task is; what cannot is refused.
    let params = json!({"name": "quick", "arguments": {}});
    let result = client.ask("tools/call", params).await;
    assert_eq!(result["resultType"], "complete");
    let params = json!({"name": "refused", "arguments": {}});
    let error = client.fail("tools/call", params).await;
    assert_eq!(error["code"], -31001);
    assert_eq!(error["data"]["limit"], "tasks");
    let counts = site.refusals().counts();
    assert_eq!((counts["tasks"], counts["taskResult"]), (2, 1));
    tokio::time::sleep(Duration::from_secs(11)).await;
    client.task("quick").await;
}

#[tokio::test]
async fn a_task_asks_so_often_only_and_says_when_to_look_again() {
    let mut limits = Limits::default();
    limits.tasks.questions = 1;
    limits.tasks.poll_interval = Duration::from_secs(3);
    let site = server().limits(limits).site().unwrap();
    let mut client = Client::on(&site);
    let task = client.task("asks_twice").await;
    let waiting = client.until(&task, "input_required").await;
    assert_eq!(waiting["pollIntervalMs"], 3_000, "{waiting}");
    let answers = json!({"again": accept(json!({"name": "x"}))});
    let params = json!({"taskId": task, "inputResponses": answers});
    client.ask("tasks/update", params).await;
    let ended = client.until(&task, "completed").await;
    let text = ended["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("a task may ask 1 times"), "{ended}");
    assert_eq!(site.refusals().counts()["taskQuestions"], 1);
}

#[tokio::test]
async fn results_that_do_not_fit_beside_others_are_counted() {
    let mut limits = Limits::default();
    limits.tasks.results = 10;
    let site = server().limits(limits).site().unwrap();
    let mut client = Client::on(&site);
    let task = client.task("quick").await;
    client.until(&task, "failed").await;
    assert_eq!(site.refusals().counts()["taskResults"], 1);
}

#[tokio::test]
async fn a_stream_hears_of_the_tasks_that_it_names() {
    let mut client = Client::stateless(server());
    let other = client.task("confirm").await;
    let task = client.task("confirm").await;
    let params = json!({"notifications": {"taskIds": [task]}});
    let params = client.modern(params);
    let listen = client.begin("subscriptions/listen", params).await;
    let ack = client
        .next("notifications/subscriptions/acknowledged")
        .await;
    assert_eq!(ack["params"]["notifications"]["taskIds"], json!([task]));
    client.until(&task, "input_required").await;
    let answers = json!({"confirm": accept(json!({"confirm": true}))});
    for task in [&other, &task] {
        let params = json!({"taskId": task, "inputResponses": answers});
        client.ask("tasks/update", params).await;
    }
    loop {
        let told = client.next("notifications/tasks").await;
        let params = &told["params"];
        assert_eq!(params["taskId"], task.as_str());
        assert_eq!(
            params["_meta"]["io.modelcontextprotocol/subscriptionId"],
            listen
        );
        if params["status"] == "completed" {
            assert_eq!(params["result"]["content"][0]["text"], "deleted");
            break;
        }
    }
}

#[tokio::test]
async fn a_stream_of_tasks_needs_the_extension() {
    let mut client = Client::stateless(server()).without_tasks();
    let params = json!({"notifications": {"taskIds": ["x"]}});
    let error = client.fail("subscriptions/listen", params).await;
    assert_eq!(error["code"], -32021);
}

#[tokio::test]
async fn a_task_outlives_the_connection_that_it_began_on() {
    let site = server().site().unwrap();
    let mut client = Client::on(&site);
    let task = client.task("confirm").await;
    drop(client);
    let mut client = Client::on(&site);
    client.until(&task, "input_required").await;
    let answers = json!({"confirm": {"action": "decline"}});
    let params = json!({"taskId": task, "inputResponses": answers});
    client.ask("tasks/update", params).await;
    let done = client.until(&task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "kept");
}

#[tokio::test]
async fn tasks_end_with_the_server() {
    let ended = Arc::new(Notify::new());
    let on_end = Arc::clone(&ended);
    let work = move |_: NoArguments, context: Context| {
        let ended = Arc::clone(&on_end);
        async move {
            tokio::spawn(async move {
                context.ended().await;
                ended.notify_one();
            });
            forever().await
        }
    };
    let site = Server::new("t", "1")
        .tool(tool("work", work).task(TaskMode::WhenPossible))
        .site()
        .unwrap();
    let mut client = Client::on(&site);
    client.task("work").await;
    drop(client);
    drop(site);
    ended.notified().await;
}
