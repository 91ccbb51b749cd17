//! Calls that go on after their answer, in all four cells.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_client::types::{ElicitResult, SubscriptionFilter};
use switchboard_client::{Change, Client, Handlers, OnBehalf, Payload, RawJson};
use switchboard_protocol::jsonrpc::{ErrorCode, ErrorObject, MethodName};
use switchboard_protocol::types::TASKS_EXTENSION;
use switchboard_protocol::{Era, Method};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::cell::{Cell, Eras, connect, in_each, soon};

#[tokio::test]
async fn a_call_becomes_a_task_in_the_words_of_the_client() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let made = begin(&cell.client, eras, "one__slow", json!({})).await;
        let made = made.unwrap();
        match eras.client {
            Era::Stateless => {
                assert_eq!(made["resultType"], "task", "{eras:?} {made}");
                assert!(made["ttlMs"].is_u64() && made["task"].is_null(), "{made}");
                assert!(made.get("ttl").is_none() && made.get("pollInterval").is_none());
            }
            Era::Handshake => {
                assert!(made["task"]["ttl"].is_u64(), "{eras:?} {made}");
                assert!(made.get("resultType").is_none(), "{made}");
            }
        }
        let ended = ended(&cell.client, eras, &id(&made)).await.unwrap();
        assert_eq!(ended["content"][0]["text"], "at last", "{eras:?}");
        let related = &ended["_meta"]["io.modelcontextprotocol/related-task"]["taskId"];
        match eras.client {
            Era::Stateless => assert!(related.is_null(), "{ended}"),
            Era::Handshake => assert_eq!(related, &id(&made), "{ended}"),
        }
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_task_asks_the_client_that_it_is_of() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let (related, user) = user_with_meta();
        let client = connect(&cell.gateway, eras.client, user).await;
        let made = begin(&client, eras, "one__greet_later", json!({})).await;
        let made = id(&made.unwrap());
        if eras.client == Era::Stateless {
            let asks = until(&client, &made, "input_required").await;
            let questions = asks["inputRequests"].as_object().unwrap();
            assert_eq!(questions.len(), 1, "{asks}");
            let (name, question) = questions.iter().next().unwrap();
            assert_eq!(question["params"]["message"], "Who are you?");
            assert!(question["params"]["_meta"].is_null(), "{question}");
            answer(&client, &made, name).await;
        }
        let ended = ended(&client, eras, &made).await.unwrap();
        assert_eq!(ended["content"][0]["text"], "Hello, Ada!", "{eras:?}");
        if eras.client == Era::Handshake {
            assert_eq!(*related.lock().unwrap(), [made]);
        }
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn what_a_task_asks_at_once_is_answered_one_by_one() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let made = begin(&cell.client, eras, "one__both", json!({})).await;
        let made = id(&made.unwrap());
        if eras.client == Era::Stateless {
            let asks = loop {
                let asks = until(&cell.client, &made, "input_required").await;
                if asks["inputRequests"].as_object().unwrap().len() == 2 {
                    break asks;
                }
            };
            let names: Vec<_> = asks["inputRequests"].as_object().unwrap().keys().collect();
            answer(&cell.client, &made, names[0]).await;
            let asks = until(&cell.client, &made, "input_required").await;
            let left: Vec<_> = asks["inputRequests"].as_object().unwrap().keys().collect();
            assert_eq!(left, [names[1]], "{eras:?}");
            // What is not asked, or has been answered, is passed over.
            answer(&cell.client, &made, "nothing").await;
            answer(&cell.client, &made, names[0]).await;
            answer(&cell.client, &made, names[1]).await;
        }
        let ended = ended(&cell.client, eras, &made).await.unwrap();
        assert_eq!(ended["content"][0]["text"], "Ada and Ada", "{eras:?}");
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_tool_that_fails_and_a_call_that_does_are_told_apart() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let client = &cell.client;
        let made = begin(client, eras, "one__fail_later", json!({})).await;
        let made = id(&made.unwrap());
        let failed = ended(client, eras, &made).await.unwrap();
        assert_eq!(failed["isError"], true, "{eras:?}");
        let task = request(client, Method::TasksGet, json!({"taskId": made})).await;
        let expected = match eras.client {
            Era::Stateless => "completed",
            Era::Handshake => "failed",
        };
        assert_eq!(task.unwrap()["status"], expected, "{eras:?}");
        let made = begin(client, eras, "one__break_later", json!({})).await;
        let made = id(&made.unwrap());
        let error = ended(client, eras, &made).await.unwrap_err();
        assert_eq!(error.message, "broken", "{eras:?}");
        let task = request(client, Method::TasksGet, json!({"taskId": made})).await;
        assert_eq!(task.unwrap()["status"], "failed", "{eras:?}");
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn cancelling_a_task_reaches_its_server() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let client = &cell.client;
        let (made, mut connection) = held(client, eras).await;
        let cancel = || request(client, Method::TasksCancel, json!({"taskId": made}));
        let cancelled = cancel().await.unwrap();
        if eras.client == Era::Handshake {
            assert_eq!(cancelled["status"], "cancelled", "{eras:?}");
            assert_eq!(cancelled["taskId"], *made);
        } else {
            assert!(cancelled.get("taskId").is_none(), "{cancelled}");
        }
        let ended = soon(connection.read(&mut [0])).await;
        assert!(matches!(ended, Ok(0) | Err(_)), "{eras:?}");
        until(client, &made, "cancelled").await;
        // What is at its end already is said to be so, or passed over.
        let again = cancel().await;
        match eras.client {
            Era::Stateless => assert!(again.is_ok(), "{again:?}"),
            Era::Handshake => {
                assert_eq!(again.unwrap_err().code, ErrorCode::INVALID_PARAMS);
            }
        }
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_task_that_there_is_not_is_not_found() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        for id in ["", "x", "3.one.nothing", "5.other.1", "0..nothing"] {
            let last = match eras.client {
                Era::Stateless => Method::TasksUpdate,
                Era::Handshake => Method::TasksResult,
            };
            for method in [Method::TasksGet, Method::TasksCancel, last] {
                let params = json!({"taskId": id, "inputResponses": {}});
                let error = request(&cell.client, method, params).await.unwrap_err();
                assert_eq!(
                    error.code,
                    ErrorCode::INVALID_PARAMS,
                    "{eras:?} {id} {method}"
                );
            }
        }
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_tool_that_runs_as_a_task_only_is_waited_for_by_clients_without_tasks() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let call = cell.client.pass_on(
            Method::ToolsCall.into(),
            Some(Payload::encode(&json!({"name": "one__must"})).unwrap()),
        );
        let outcome = soon(call.on_behalf(somebody(json!({})))).await;
        match (eras.client, eras.server) {
            (Era::Stateless, Era::Stateless) => {
                let error = outcome.unwrap_err();
                let refusal = error.refusal().unwrap();
                assert_eq!(refusal.code, ErrorCode::MISSING_CLIENT_CAPABILITY);
            }
            _ => {
                let result: Value = outcome.unwrap().decode().unwrap();
                assert_eq!(result["content"][0]["text"], "as a task", "{eras:?}");
            }
        }
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn what_it_asks_it_asks_whoever_waits_for_it() {
    in_each(|eras| async move {
        for is_http in [false, true] {
            let cell = match is_http {
                true => Cell::open_on_http(eras, "one").await,
                false => Cell::open(eras, &["one"]).await,
            };
            assert_eq!(
                cell.text("one__must_greet").await,
                "Hello, Ada!",
                "{eras:?} {is_http}"
            );
            cell.close().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_task_that_nobody_waits_for_any_more_is_cancelled() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let call = cell.client.call("one__must_hold").arg("port", port);
        let call = tokio::spawn(async move { drop(call.await) });
        let (mut connection, _) = soon(listener.accept()).await.unwrap();
        // What is answered after it was answered with the task comes after that.
        cell.text("one__pid").await;
        call.abort();
        let ended = soon(connection.read(&mut [0])).await;
        assert!(matches!(ended, Ok(0) | Err(_)), "{eras:?} {ended:?}");
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn tasks_of_servers_that_a_client_has_alone_are_its_own() {
    in_each(|eras| async move {
        let cell = Cell::open_alone(eras, "one").await;
        if (eras.client, eras.server) != (Era::Stateless, Era::Stateless) {
            // Its tools were never listed there.
            assert_eq!(
                cell.text("one__must_greet").await,
                "Hello, Ada!",
                "{eras:?}"
            );
        }
        let made = begin(&cell.client, eras, "one__slow", json!({})).await;
        let ended = ended(&cell.client, eras, &id(&made.unwrap())).await;
        assert_eq!(ended.unwrap()["content"][0]["text"], "at last", "{eras:?}");
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn tasks_are_the_same_over_http() {
    in_each(|eras| async move {
        let cell = Cell::open_on_http(eras, "one").await;
        let made = begin(&cell.client, eras, "one__greet_later", json!({})).await;
        let made = id(&made.unwrap());
        if eras.client == Era::Stateless {
            let asks = until(&cell.client, &made, "input_required").await;
            let questions = asks["inputRequests"].as_object().unwrap();
            answer(&cell.client, &made, questions.keys().next().unwrap()).await;
        }
        let ended = ended(&cell.client, eras, &made).await.unwrap();
        assert_eq!(ended["content"][0]["text"], "Hello, Ada!", "{eras:?}");
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_wish_for_a_task_that_a_stateless_client_cannot_have_is_passed_over() {
    for server in [Era::Handshake, Era::Stateless] {
        let client = Era::Stateless;
        let cell = Cell::open(Eras { client, server }, &["one"]).await;
        let params = json!({"name": "one__add", "arguments": {"a": 1, "b": 2},
            "task": {"ttl": 60_000}});
        let result = request(&cell.client, Method::ToolsCall, params).await;
        assert_eq!(result.unwrap()["content"][0]["text"], "3");
        cell.close().await;
    }
}

#[tokio::test]
async fn what_a_stateless_server_answers_at_once_is_a_task_at_its_end() {
    let eras = Eras {
        client: Era::Handshake,
        server: Era::Stateless,
    };
    let cell = Cell::open(eras, &["one"]).await;
    let arguments = json!({"a": 1, "b": 2});
    let made = begin(&cell.client, eras, "one__add", arguments).await;
    let made = made.unwrap();
    assert_eq!(made["task"]["status"], "working", "{made}");
    until(&cell.client, &id(&made), "completed").await;
    for _ in 0..2 {
        let result = ended(&cell.client, eras, &id(&made)).await.unwrap();
        assert_eq!(result["content"][0]["text"], "3");
    }
    // It asks before it is a task, and the client is asked while it waits for that.
    let made = begin(&cell.client, eras, "one__greet", json!({})).await;
    let result = ended(&cell.client, eras, &id(&made.unwrap())).await;
    assert_eq!(result.unwrap()["content"][0]["text"], "Hello, Ada!");
    cell.close().await;
}

#[tokio::test]
async fn links_in_results_of_tasks_lead_back_to_their_server() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one", "two"]).await;
        let made = begin(&cell.client, eras, "two__link_later", json!({})).await;
        let result = ended(&cell.client, eras, &id(&made.unwrap())).await;
        let result = result.unwrap();
        let uri = result["content"][0]["uri"].as_str().unwrap().to_owned();
        assert_ne!(uri, "demo://state", "{eras:?}");
        let read = soon(cell.client.read(&*uri)).await.unwrap();
        assert_eq!(read.contents.len(), 1);
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn clients_hear_how_their_tasks_stand() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let (heard, mut hearing) = mpsc::unbounded_channel();
        let user = Handlers::new().on_change(move |change| drop(heard.send(change)));
        let client = connect(&cell.gateway, eras.client, user).await;
        let (made, connection) = held(&client, eras).await;
        let mut filter = SubscriptionFilter::default();
        filter.task_ids = Some(vec![made.clone()]);
        let subscription = match eras.client {
            Era::Stateless => {
                let subscription = soon(client.listen(filter.clone())).await.unwrap();
                assert_eq!(subscription.granted(), filter);
                Some(subscription)
            }
            Era::Handshake => None,
        };
        drop(connection);
        let change = soon(hearing.recv()).await.unwrap();
        assert_eq!(change, Change::Task(made), "{eras:?}");
        drop(subscription);
        cell.close().await;
    })
    .await;
}

#[tokio::test]
async fn only_tasks_that_are_asked_for_are_told_of() {
    for server in [Era::Handshake, Era::Stateless] {
        let client = Era::Stateless;
        let eras = Eras { client, server };
        let cell = Cell::open(eras, &["one"]).await;
        let (one, of_one) = held(&cell.client, eras).await;
        let (other, of_other) = held(&cell.client, eras).await;
        let mut filter = SubscriptionFilter::default();
        filter.task_ids = Some(vec![other.clone()]);
        let mut subscription = soon(cell.client.listen(filter)).await.unwrap();
        drop(of_one);
        until(&cell.client, &one, "completed").await;
        drop(of_other);
        let change = soon(subscription.next()).await.unwrap();
        assert_eq!(change, Some(Change::Task(other)), "{eras:?}");
        cell.close().await;
    }
}

#[tokio::test]
async fn a_client_of_the_handshake_era_hears_of_its_own_tasks_only() {
    for server in [Era::Handshake, Era::Stateless] {
        let client = Era::Handshake;
        let eras = Eras { client, server };
        let cell = Cell::open(eras, &["one"]).await;
        let (heard, mut hearing) = mpsc::unbounded_channel();
        let user = Handlers::new().on_change(move |change| drop(heard.send(change)));
        let other = connect(&cell.gateway, eras.client, user).await;
        let (one, of_one) = held(&cell.client, eras).await;
        let (mine, of_mine) = held(&other, eras).await;
        drop(of_one);
        until(&cell.client, &one, "completed").await;
        drop(of_mine);
        let change = soon(hearing.recv()).await.unwrap();
        assert_eq!(change, Change::Task(mine), "{eras:?}");
        cell.close().await;
    }
}

#[tokio::test]
async fn what_can_be_done_with_tasks_is_said_in_both_forms() {
    in_each(|eras| async move {
        let cell = Cell::open(eras, &["one"]).await;
        let ready = soon(cell.client.ready()).await.unwrap();
        let has_extension = ready.capabilities.has_extension(TASKS_EXTENSION);
        let tasks = ready.capabilities.tasks.as_ref();
        assert_eq!(has_extension, eras.client == Era::Stateless, "{eras:?}");
        assert_eq!(tasks.is_some(), eras.client == Era::Handshake, "{eras:?}");
        if let Some(tasks) = tasks {
            assert!(tasks.accepts_tool_calls() && tasks.accepts_cancel());
            assert!(!tasks.accepts_list());
        }
        let listed = request(&cell.client, Method::ToolsList, json!({})).await;
        let listed = listed.unwrap();
        let tools = listed["tools"].as_array().unwrap();
        let support = |name: &str| {
            let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
            tool["execution"]["taskSupport"].as_str().map(str::to_owned)
        };
        let (slow, add) = match (eras.client, eras.server) {
            (Era::Stateless, _) => (None, None),
            (Era::Handshake, Era::Handshake) => (Some("optional"), None),
            // There the server decides; what it answers at once is a task here all the same.
            (Era::Handshake, Era::Stateless) => (Some("optional"), Some("optional")),
        };
        assert_eq!(support("one__slow").as_deref(), slow, "{eras:?}");
        let forbidden = |support: &String| support != "forbidden";
        assert_eq!(
            support("one__add").filter(forbidden).as_deref(),
            add,
            "{eras:?}"
        );
        cell.close().await;
    })
    .await;
}

/// Calls a tool that may become a task, as somebody who knows tasks.
async fn begin(
    client: &Client,
    eras: Eras,
    tool: &str,
    arguments: Value,
) -> Result<Value, ErrorObject> {
    let mut params = json!({"name": tool, "arguments": arguments});
    if eras.client == Era::Handshake {
        params["task"] = json!({});
    }
    request(client, Method::ToolsCall, params).await
}

/// A task that goes on until what is given back is dropped.
async fn held(client: &Client, eras: Eras) -> (String, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let made = begin(client, eras, "one__released", json!({"port": port})).await;
    let (connection, _) = soon(listener.accept()).await.unwrap();
    (id(&made.unwrap()), connection)
}

/// What a task is called that a call has become.
fn id(made: &Value) -> String {
    let id = made["taskId"].as_str().or(made["task"]["taskId"].as_str());
    id.unwrap_or_else(|| panic!("no task: {made}")).to_owned()
}

/// What comes of a task in the end.
async fn ended(client: &Client, eras: Eras, id: &str) -> Result<Value, ErrorObject> {
    if eras.client == Era::Handshake {
        return request(client, Method::TasksResult, json!({"taskId": id})).await;
    }
    loop {
        let task = request(client, Method::TasksGet, json!({"taskId": id})).await?;
        assert_eq!(task["taskId"], id);
        match task["status"].as_str().unwrap() {
            "completed" => return Ok(task["result"].clone()),
            "failed" => return Err(serde_json::from_value(task["error"].clone()).unwrap()),
            "working" | "input_required" => tokio::task::yield_now().await,
            other => panic!("{other}"),
        }
    }
}

/// How a task stands, once it stands so.
async fn until(client: &Client, id: &str, status: &str) -> Value {
    loop {
        let task = request(client, Method::TasksGet, json!({"taskId": id})).await;
        let task = task.unwrap();
        if task["status"] == status {
            return task;
        }
        tokio::task::yield_now().await;
    }
}

/// Answers a question of a task.
async fn answer(client: &Client, id: &str, name: &str) {
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    let params = json!({"taskId": id, "inputResponses": {name: answer}});
    let done = request(client, Method::TasksUpdate, params).await.unwrap();
    assert!(done.get("taskId").is_none(), "{done}");
}

/// Makes a request as somebody who knows tasks, and can be asked.
pub(crate) async fn request(
    client: &Client,
    method: Method,
    params: Value,
) -> Result<Value, ErrorObject> {
    let can = json!({"elicitation": {}, "extensions": {TASKS_EXTENSION: {}}});
    let params = Payload::encode(&params).unwrap();
    let call = client.pass_on(MethodName::Known(method), Some(params));
    match soon(call.on_behalf(somebody(can))).await {
        Ok(result) => Ok(result.decode().unwrap()),
        Err(error) => Err(error
            .refusal()
            .unwrap_or_else(|| panic!("{method}: {error}"))
            .clone()),
    }
}

fn somebody(can: Value) -> OnBehalf {
    let mut whom = OnBehalf::new(RawJson::encode(&can).unwrap());
    whom.is_asked_himself = true;
    whom
}

/// Somebody who is called Ada, and notes of which tasks he is asked.
fn user_with_meta() -> (Arc<Mutex<Vec<String>>>, Handlers) {
    let related = Arc::new(Mutex::new(Vec::new()));
    let noting = Arc::clone(&related);
    let user = Handlers::new().on_form(move |form, _| {
        let meta = serde_json::to_value(&form.meta).unwrap();
        let task = meta["io.modelcontextprotocol/related-task"]["taskId"].as_str();
        noting.lock().unwrap().extend(task.map(str::to_owned));
        let content = json!({"name": "Ada"}).as_object().cloned().unwrap();
        async move { Ok(ElicitResult::accept(content)) }
    });
    (related, user)
}
