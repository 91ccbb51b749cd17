//! The server as a client in the same process sees it, on a pipe in memory.

use std::path::PathBuf;

use serde_json::{Value, json};
use switchboard_server::transport::memory::{self, End};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

use crate::database::Database;

/// A folder that is gone after the test.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("switchboard-tasks-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("tasks.sqlite")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A client that has opened a session, and its server.
struct Client {
    read: BufReader<ReadHalf<End>>,
    write: WriteHalf<End>,
    next_id: u64,
    /// Messages that were no answers.
    heard: Vec<Value>,
    _server: JoinHandle<()>,
    _scratch: Scratch,
}

impl Client {
    async fn new(name: &str) -> Self {
        let scratch = Scratch::new(name);
        let database = Database::open(&scratch.file()).unwrap();
        let site = crate::server(database).site().unwrap();
        let (near, far) = memory::pair();
        let server = tokio::spawn(async move {
            let (read, write) = tokio::io::split(far);
            site.serve(read, write).await.unwrap();
        });
        let (read, write) = tokio::io::split(near);
        let mut client = Self {
            read: BufReader::new(read),
            write,
            next_id: 1,
            heard: Vec::new(),
            _server: server,
            _scratch: scratch,
        };
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        client.call("initialize", params).await;
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        client.send(&ready).await;
        client
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.write.write_all(line.as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.read.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// The whole answer.
    async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        let call = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&call).await;
        loop {
            let message = self.receive().await;
            if message["id"] == id {
                return message;
            }
            self.heard.push(message);
        }
    }

    /// The structured result of a tool.
    async fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        let answer = self.call("tools/call", params).await;
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    async fn read(&mut self, uri: &str) -> Value {
        let answer = self.call("resources/read", json!({"uri": uri})).await;
        let text = answer["result"]["contents"][0]["text"].as_str();
        serde_json::from_str(text.unwrap_or_else(|| panic!("{answer}"))).unwrap()
    }
}

#[tokio::test]
async fn every_schema_is_closed_described_and_explicit() {
    let mut client = Client::new("schemas").await;
    let answer = client.call("tools/list", json!({})).await;
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|t| t["name"].as_str().unwrap()).collect();
    let expected = [
        "create_task",
        "list_tasks",
        "get_task",
        "update_task",
        "complete_task",
        "delete_task",
        "search_tasks",
    ];
    assert_eq!(names, expected);
    let mut faults = Vec::new();
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        if tool["description"].as_str().is_none_or(str::is_empty) {
            faults.push(format!("{name} has no description"));
        }
        for side in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[side]["type"], "object", "{name} {side}");
            look(&tool[side], &format!("{name} {side}"), &mut faults);
        }
    }
    assert_eq!(faults, [""; 0]);
}

/// The rules of the design: objects are closed and say what is required, properties are
/// described, words of a closed set are an `enum`.
fn look(schema: &Value, place: &str, faults: &mut Vec<String>) {
    let properties = schema["properties"].as_object();
    if schema["type"] == "object" {
        if schema["additionalProperties"] != false {
            faults.push(format!("{place} is open"));
        }
        if properties.is_none() || !schema["required"].is_array() {
            faults.push(format!("{place} lacks properties or required"));
        }
    }
    for (name, property) in properties.into_iter().flatten() {
        let place = format!("{place}.{name}");
        if property["description"].as_str().is_none_or(str::is_empty) {
            faults.push(format!("{place} has no description"));
        }
        let has_words = matches!(name.as_str(), "status" | "priority");
        if has_words && !property["enum"].is_array() {
            faults.push(format!("{place} has no enum: {property}"));
        }
        look(property, &place, faults);
    }
    if schema["items"].is_object() {
        look(&schema["items"], &format!("{place}[]"), faults);
    }
    for part in schema["anyOf"].as_array().into_iter().flatten() {
        look(part, place, faults);
    }
}

#[tokio::test]
async fn the_example_of_the_design_is_listed_as_it_was_written() {
    let mut client = Client::new("create").await;
    let answer = client.call("tools/list", json!({})).await;
    let create = &answer["result"]["tools"][0];
    assert_eq!(create["inputSchema"]["required"], json!(["description"]));
    assert_eq!(
        create["inputSchema"]["properties"]["due"],
        json!({
            "type": "string",
            "format": "date",
            "description": "The day by which it should be done, as YYYY-MM-DD.",
        })
    );
    let hints = |tool: usize| answer["result"]["tools"][tool]["annotations"].clone();
    assert_eq!(hints(1)["readOnlyHint"], true);
    assert_eq!(hints(4)["idempotentHint"], true);
    assert_eq!(hints(4)["destructiveHint"], false);
    assert_eq!(hints(5)["destructiveHint"], true);
}

#[tokio::test]
async fn who_follows_a_task_hears_of_its_changes() {
    let mut client = Client::new("follow").await;
    for uri in ["task://task_1", "tasks://all"] {
        let answer = client
            .call("resources/subscribe", json!({"uri": uri}))
            .await;
        assert!(answer["result"].is_object(), "{answer}");
    }
    client
        .tool("create_task", json!({"description": "a"}))
        .await;
    client
        .tool("create_task", json!({"description": "b"}))
        .await;
    client.tool("complete_task", json!({"id": "task_1"})).await;
    client.tool("delete_task", json!({"id": "task_1"})).await;
    client.call("ping", json!({})).await;
    let told: Vec<&str> = client
        .heard
        .iter()
        .inspect(|m| assert_eq!(m["method"], "notifications/resources/updated"))
        .map(|message| message["params"]["uri"].as_str().unwrap())
        .collect();
    let expected = [
        "task://task_1",
        "tasks://all",
        "tasks://all",
        "task://task_1",
        "tasks://all",
        "task://task_1",
        "tasks://all",
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn tasks_are_resources() {
    let mut client = Client::new("resources").await;
    let made = client
        .tool("create_task", json!({"description": "a"}))
        .await;
    client
        .tool("create_task", json!({"description": "b"}))
        .await;
    client.tool("complete_task", json!({"id": "task_2"})).await;
    assert_eq!(client.read("task://task_1").await, made);
    assert_eq!(client.read("tasks://all").await, json!({"tasks": [made]}));
    for uri in ["task://task_3", "task://nonsense"] {
        let answer = client.call("resources/read", json!({"uri": uri})).await;
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
    }
    let typing = json!({
        "ref": {"type": "ref/resource", "uri": "task://{id}"},
        "argument": {"name": "id", "value": "task_"},
    });
    let answer = client.call("completion/complete", typing).await;
    let values = &answer["result"]["completion"]["values"];
    assert_eq!(*values, json!(["task_2", "task_1"]));
}

#[tokio::test]
async fn a_day_is_planned_with_what_it_is_for() {
    let mut client = Client::new("plan").await;
    for task in [
        json!({"description": "due", "due": "2026-07-28"}),
        json!({"description": "later", "due": "2026-07-29"}),
        json!({"description": "urgent", "priority": "high"}),
        json!({"description": "whenever"}),
    ] {
        client.tool("create_task", task).await;
    }
    let plan = |arguments: Value| json!({"name": "plan_day", "arguments": arguments});
    let arguments = json!({"date": "2026-07-28", "hours": "2.5"});
    let answer = client.call("prompts/get", plan(arguments)).await;
    let text = answer["result"]["messages"][0]["content"]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("{answer}"));
    for part in ["2026-07-28", "2.5 hours", "task_1: due", "task_3: urgent"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(
        !text.contains("later") && !text.contains("whenever"),
        "{text}"
    );
    let answer = client.call("prompts/get", plan(json!({}))).await;
    assert!(answer["result"].is_object(), "{answer}");
    let answer = client
        .call("prompts/get", plan(json!({"date": "soon"})))
        .await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("write YYYY-MM-DD"), "{message}");
}
