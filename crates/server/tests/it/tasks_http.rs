//! Tasks over HTTP: whose they are, and what sessions see of them.
//!
//! Specification: tasks extension (security, headers); 2025-11-25 basic/utilities/tasks.

use std::future::{poll_fn, ready};
use std::pin::Pin;
use std::sync::Arc;

use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body::Body as _;
use serde_json::{Value, json};
use switchboard_server::HttpService;
use switchboard_server::access::{Access, Identifying, Principal};
use switchboard_server::transport::http::Body;

use crate::tasks::server;

/// Believes whoever says who he is.
struct Believing;

impl Access for Believing {
    fn identify<'a>(&'a self, head: &'a Parts) -> Identifying<'a> {
        let user = head.headers.get("x-user").and_then(|u| u.to_str().ok());
        Box::pin(ready(Ok(Principal::new(user.unwrap_or("nobody")))))
    }
}

fn endpoint() -> HttpService {
    let site = server().site().unwrap();
    let mut settings = site.http_settings();
    settings.access = Some(Arc::new(Believing));
    site.endpoint(settings)
}

fn open_endpoint() -> HttpService {
    let site = server().site().unwrap();
    site.endpoint(site.http_settings())
}

fn post(headers: &[(&str, &str)], message: &Value) -> Request<String> {
    let mut request = Request::post("http://localhost/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(message.to_string()).unwrap()
}

/// A request of the stateless era, with its headers.
fn modern(user: &str, method: &str, name: &str, mut params: Value) -> Request<String> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":
            {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
    });
    let mut headers = vec![
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
        ("x-user", user),
    ];
    if !name.is_empty() {
        headers.push(("mcp-name", name));
    }
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    post(&headers, &message)
}

async fn ask(endpoint: &HttpService, user: &str, method: &str, task: &str) -> Value {
    let params = json!({"taskId": task, "inputResponses": {}});
    let request = modern(user, method, task, params);
    let (_, messages) = messages(endpoint.handle(request).await).await;
    messages.last().unwrap().clone()
}

async fn begin(endpoint: &HttpService, user: &str, tool: &str) -> String {
    let params = json!({"name": tool, "arguments": {}});
    let request = modern(user, "tools/call", tool, params);
    let (_, messages) = messages(endpoint.handle(request).await).await;
    let created = &messages.last().unwrap()["result"];
    assert_eq!(created["resultType"], "task", "{created}");
    created["taskId"].as_str().unwrap().to_owned()
}

/// All of a response: its messages, whether as JSON or as events.
async fn messages(response: Response<Body>) -> (StatusCode, Vec<Value>) {
    let status = response.status();
    let mut body = response.into_body();
    let mut text = Vec::new();
    while let Some(bytes) = chunk(&mut body).await {
        text.extend_from_slice(&bytes);
    }
    (status, parse(std::str::from_utf8(&text).unwrap()))
}

/// The next piece of a body.
async fn chunk(body: &mut Body) -> Option<Vec<u8>> {
    loop {
        let frame = poll_fn(|task| Pin::new(&mut *body).poll_frame(task)).await?;
        if let Ok(data) = frame.unwrap().into_data() {
            return Some(data.to_vec());
        }
    }
}

fn parse(text: &str) -> Vec<Value> {
    if let Ok(message) = serde_json::from_str(text) {
        return vec![message];
    }
    text.lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .filter_map(|data| serde_json::from_str(data.trim()).ok())
        .collect()
}

/// Reads events until one fits.
async fn until(body: &mut Body, fits: impl Fn(&Value) -> bool) -> Value {
    let mut text = String::new();
    loop {
        let bytes = chunk(body).await.expect("the stream has ended");
        text.push_str(std::str::from_utf8(&bytes).unwrap());
        let complete = text.rfind("\n\n").map_or(0, |end| end + 2);
        let events: String = text.drain(..complete).collect();
        if let Some(message) = parse(&events).into_iter().find(&fits) {
            return message;
        }
    }
}

#[tokio::test]
async fn a_task_is_its_owners_alone() {
    let endpoint = endpoint();
    let task = begin(&endpoint, "ann", "confirm").await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let answer = ask(&endpoint, "bob", method, &task).await;
        assert_eq!(answer["error"]["code"], -32602, "{method}");
        let unknown = ask(&endpoint, "bob", method, "unknown").await;
        assert_eq!(answer["error"], unknown["error"], "{method}");
    }
    let answer = ask(&endpoint, "ann", "tasks/get", &task).await;
    assert_ne!(answer["result"]["status"], "cancelled");
}

#[tokio::test]
async fn a_name_in_the_headers_that_is_not_the_task_is_refused() {
    let endpoint = endpoint();
    let task = begin(&endpoint, "ann", "forever").await;
    let request = modern("ann", "tasks/get", "other", json!({"taskId": task}));
    let (status, messages) = messages(endpoint.handle(request).await).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(messages[0]["error"]["code"], -32020);
}

#[tokio::test]
async fn a_stream_hears_nothing_of_the_tasks_of_others() {
    let endpoint = endpoint();
    let task = begin(&endpoint, "ann", "confirm").await;
    let listen = |user: &str| {
        let params = json!({"notifications": {"taskIds": [task], "toolsListChanged": true}});
        endpoint.handle(modern(user, "subscriptions/listen", "", params))
    };
    let mut anns = listen("ann").await.into_body();
    let mut bobs = listen("bob").await.into_body();
    let is_ack = |message: &Value| message["method"] == "notifications/subscriptions/acknowledged";
    until(&mut anns, is_ack).await;
    until(&mut bobs, is_ack).await;
    ask(&endpoint, "ann", "tasks/cancel", &task).await;
    let told = until(&mut anns, |m| m["method"] == "notifications/tasks").await;
    assert_eq!(told["params"]["taskId"], task.as_str());
    // What Bob would have heard is there already when Ann has heard it.
    let mut nothing = what_is_there(&mut bobs).await;
    nothing.retain(|message| message["method"] == "notifications/tasks");
    assert_eq!(nothing, Vec::<Value>::new());
}

/// What a body holds that need not be waited for.
async fn what_is_there(body: &mut Body) -> Vec<Value> {
    let mut text = String::new();
    loop {
        tokio::select! {
            biased;
            bytes = chunk(body) => match bytes {
                Some(bytes) => text.push_str(std::str::from_utf8(&bytes).unwrap()),
                None => return parse(&text),
            },
            () = ready(()) => return parse(&text),
        }
    }
}

#[tokio::test]
async fn a_session_waits_for_the_result_of_its_task_and_answers_its_questions() {
    let endpoint = open_endpoint();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "t", "version": "1"}}});
    let response = endpoint.handle(post(&[], &hello)).await;
    let session = response.headers()["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let headers = [
        ("mcp-session-id", session.as_str()),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    endpoint.handle(post(&headers, &ready)).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "confirm", "arguments": {}, "task": {}}});
    let (_, created) = messages(endpoint.handle(post(&headers, &call)).await).await;
    let task = &created.last().unwrap()["result"]["task"]["taskId"];
    let wait = json!({"jsonrpc": "2.0", "id": 2, "method": "tasks/result",
        "params": {"taskId": task}});
    let mut stream = endpoint.handle(post(&headers, &wait)).await.into_body();
    let asked = until(&mut stream, |m| m["method"] == "elicitation/create").await;
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"],
        "result": {"action": "accept", "content": {"confirm": true}}});
    endpoint.handle(post(&headers, &answer)).await;
    let done = until(&mut stream, |m| m["id"] == 2).await;
    assert_eq!(done["result"]["content"][0]["text"], "deleted");
    // Another session, which nobody knows to be the same client, does not see it.
    let response = endpoint.handle(post(&[], &hello)).await;
    let other = response.headers()["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let headers = [
        ("mcp-session-id", other.as_str()),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    endpoint.handle(post(&headers, &ready)).await;
    let (_, refused) = messages(endpoint.handle(post(&headers, &wait)).await).await;
    assert_eq!(refused.last().unwrap()["error"]["code"], -32602);
}
