//! What a server offers: results of every kind, resources, prompts, completion, and changes.
//!
//! Specification: server/tools, server/resources, server/prompts, server/utilities.

use std::pin::Pin;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_server::protocol::jsonrpc::{ErrorCode, ErrorObject};
use switchboard_server::protocol::types::{
    CallToolResult, ContentBlock, Implementation, PromptMessage, ServerCapabilities, Tool,
};
use switchboard_server::protocol::{Payload, RawJson};
use switchboard_server::{
    About, Answer, Call, Completing, Context, Failure, Json, Limits, NoArguments, Outcome, Reply,
    Server, Service, Site, ToolHandler, prompt, raw_tool, resource, template, tool,
};

use crate::fixture::Echo;
use crate::peer::{HttpPeer, Peer, StatelessPeer, WIRES};
use crate::pipe_client::PipeClient;

/// A sum and how it came about.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Sum {
    /// The sum.
    sum: i64,
}

#[derive(Debug)]
struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the pump is broken")
    }
}

fn refusal() -> Failure {
    Failure::Refused(ErrorObject::new(ErrorCode(-32055), "not on Sundays"))
}

#[tokio::test]
async fn every_kind_of_result_becomes_what_the_client_expects() {
    let site = Server::new("results", "1.0.0")
        .tool(tool("text", async || String::from("text")))
        .tool(tool("static", async || "static"))
        .tool(tool("number", async || 7_i64))
        .tool(tool("fraction", async || 0.5_f64))
        .tool(tool("truth", async || true))
        .tool(tool("nothing", async || ()))
        .tool(tool("block", async || {
            ContentBlock::image(b"png", "image/png")
        }))
        .tool(tool("blocks", async || {
            vec![ContentBlock::text("a"), ContentBlock::text("b")]
        }))
        .tool(tool("json", async || Json(Sum { sum: 3 })))
        .tool(tool("whole", async || CallToolResult::text("whole")))
        .tool(tool("fine", async || Ok::<_, Broken>("fine")))
        .tool(tool("broken", async || Err::<String, _>(Broken)))
        .tool(tool("refused", async || Err::<String, _>(refusal())))
        .tool(tool("outcome", async || {
            Outcome::Failed("it failed".to_owned())
        }))
        .site()
        .unwrap();
    for wire in WIRES {
        let mut peer = Peer::open(wire, &site, "2025-11-25", json!({})).await;
        for (name, texts) in [
            ("text", vec!["text"]),
            ("static", vec!["static"]),
            ("number", vec!["7"]),
            ("fraction", vec!["0.5"]),
            ("truth", vec!["true"]),
            ("nothing", vec![]),
            ("blocks", vec!["a", "b"]),
            ("whole", vec!["whole"]),
            ("fine", vec!["fine"]),
        ] {
            let answer = peer.tool(name, json!({})).await;
            let content = answer["result"]["content"].as_array().unwrap();
            let found: Vec<&str> = content
                .iter()
                .map(|c| c["text"].as_str().unwrap())
                .collect();
            assert_eq!(found, texts, "{name}: {answer}");
            assert_ne!(answer["result"]["isError"], true);
        }
        let answer = peer.tool("block", json!({})).await;
        assert_eq!(
            answer["result"]["content"][0]["mimeType"], "image/png",
            "{answer}"
        );
        let answer = peer.tool("json", json!({})).await;
        assert_eq!(
            answer["result"]["structuredContent"],
            json!({"sum": 3}),
            "{answer}"
        );
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(text).unwrap(),
            json!({"sum": 3})
        );
        for (name, text) in [("broken", "the pump is broken"), ("outcome", "it failed")] {
            let answer = peer.tool(name, json!({})).await;
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            assert_eq!(answer["result"]["content"][0]["text"], text);
        }
        let answer = peer.tool("refused", json!({})).await;
        assert_eq!(answer["error"]["code"], -32055, "{answer}");
        let listed = peer.call("tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().unwrap();
        let json_tool = tools.iter().find(|tool| tool["name"] == "json").unwrap();
        assert_eq!(
            json_tool["outputSchema"]["properties"]["sum"]["type"],
            "integer"
        );
    }
}

#[tokio::test]
async fn a_structured_result_is_text_alone_for_clients_that_know_no_other() {
    let site = Server::new("old", "1.0.0")
        .tool(tool("json", async || Json(Sum { sum: 3 })))
        .site()
        .unwrap();
    let mut client = PipeClient::open(&site, "2024-11-05", json!({})).await;
    let answer = client.tool("json", json!({})).await;
    assert_eq!(answer["result"].get("structuredContent"), None, "{answer}");
    assert!(
        answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains('3')
    );
    let listed = client.call("tools/list", json!({})).await;
    assert_eq!(
        listed["result"]["tools"][0].get("outputSchema"),
        None,
        "{listed}"
    );
}

#[tokio::test]
async fn raw_arguments_that_do_not_fit_their_schema_do_not_reach_the_handler() {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let site = Server::new("raw", "1.0.0")
        .tool(raw_tool(
            "raw",
            RawJson::encode(&schema).unwrap(),
            |arguments, _| async move { String::from_utf8(arguments.text().to_vec()).unwrap() },
        ))
        .site()
        .unwrap();
    let mut client = PipeClient::open(&site, "2025-11-25", json!({})).await;
    let answer = client.tool("raw", json!({"n": 7})).await;
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"n":7}"#);
    if cfg!(feature = "validate") {
        let answer = client.tool("raw", json!({"n": "seven"})).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(
            answer["result"]["content"][0]["text"]
                .as_str()
                .unwrap()
                .contains('n')
        );
        let answer = client.tool("raw", json!({})).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
    let answer = client
        .call("tools/call", json!({"name": "raw", "arguments": [1]}))
        .await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[tokio::test]
async fn lists_come_in_pages_that_entries_coming_and_going_do_not_upset() {
    let mut limits = Limits::default();
    limits.page = 2;
    let mut server = Server::new("pages", "1.0.0").limits(limits);
    for name in ["a", "b", "c", "d", "e"] {
        server = server.tool(tool(name, async || "x"));
    }
    let handle = server.handle();
    let mut client = PipeClient::open(&server.site().unwrap(), "2025-11-25", json!({})).await;
    let names = |page: &Value| -> Vec<String> {
        let tools = page["result"]["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let first = client.call("tools/list", json!({})).await;
    assert_eq!(names(&first), ["a", "b"]);
    handle.remove_tool("a");
    let cursor = &first["result"]["nextCursor"];
    let second = client.call("tools/list", json!({"cursor": cursor})).await;
    assert_eq!(names(&second), ["c", "d"]);
    let cursor = &second["result"]["nextCursor"];
    let third = client.call("tools/list", json!({"cursor": cursor})).await;
    assert_eq!(names(&third), ["e"]);
    assert_eq!(third["result"].get("nextCursor"), None);
    for cursor in [json!("nonsense"), json!(7), json!("")] {
        let answer = client.call("tools/list", json!({"cursor": cursor})).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

#[tokio::test]
async fn a_handler_that_holds_the_handle_does_not_keep_the_server() {
    let server = Server::new("held", "1.0.0");
    let (handle, inside) = (server.handle(), Arc::new(()));
    let (held, watched) = (handle.clone(), Arc::downgrade(&inside));
    let server = server.tool(tool("grow", move || {
        let _inside = Arc::clone(&inside);
        let added = held.add_tool(tool("more", async || "more"));
        async move { added.map_or_else(|error| error.to_string(), |()| "grown".to_owned()) }
    }));
    let mut client = PipeClient::open(&server.site().unwrap(), "2025-11-25", json!({})).await;
    let grown = client
        .call("tools/call", json!({"name": "grow", "arguments": {}}))
        .await;
    assert_eq!(grown["result"]["content"][0]["text"], "grown");
    client.close().await;
    assert!(watched.upgrade().is_none());
    // There is nothing left that could be changed.
    let refused = handle.add_tool(tool("late", async || "late")).unwrap_err();
    assert_eq!(refused.to_string(), "the server is gone");
    assert!(!handle.remove_tool("more"));
    handle.tools_changed();
}

#[tokio::test]
async fn tools_come_and_go_and_clients_are_told() {
    let server = Server::new("changing", "1.0.0").tool(tool("first", async || "1"));
    let handle = server.handle();
    let mut client = PipeClient::open(&server.site().unwrap(), "2025-11-25", json!({})).await;
    let changed = "notifications/tools/list_changed";
    handle.add_tool(tool("second", async || "2")).unwrap();
    client.hear(changed).await;
    assert!(handle.add_tool(tool("second", async || "2")).is_err());
    assert_eq!(
        client.tool("second", json!({})).await["result"]["content"][0]["text"],
        "2"
    );
    assert!(handle.enable_tool("second", false));
    client.hear(changed).await;
    assert!(!handle.enable_tool("second", false));
    assert_eq!(
        client.tool("second", json!({})).await["error"]["code"],
        -32602
    );
    assert!(handle.enable_tool("second", true));
    client.hear(changed).await;
    assert!(client.tool("second", json!({})).await["result"].is_object());
    assert!(handle.remove_tool("second"));
    client.hear(changed).await;
    assert!(!handle.remove_tool("second"));
    assert_eq!(
        client.tool("second", json!({})).await["error"]["code"],
        -32602
    );
    assert_eq!(client.settle().await, Vec::<Value>::new());
}

/// A row of a table.
#[derive(Deserialize)]
struct Row {
    table: String,
    id: u64,
}

/// Asks for a review.
#[derive(Deserialize, JsonSchema)]
struct Review {
    /// The code.
    code: String,
    /// How strict, from 1 to 9.
    strictness: Option<u8>,
}

fn library() -> Server {
    Server::new("library", "1.0.0")
        .resource(resource("demo://motd", async || "Be kind.").mime_type("text/plain"))
        .resource(resource("demo://bytes", async || vec![1_u8, 2, 3]))
        .resource(resource("demo://gone", async || None::<String>))
        .resource(resource("demo://broken", async || Err::<String, _>(Broken)))
        .template(
            template("db://{table}/{id}", |row: Row| async move {
                format!("{} {}", row.table, row.id)
            })
            .complete("table", |typed: Completing| async move {
                let all = ["users", "urls", "posts"];
                all.into_iter()
                    .filter(|t| t.starts_with(&typed.value))
                    .map(str::to_owned)
                    .collect()
            }),
        )
        .prompt(
            prompt("review", |review: Review| async move {
                vec![
                    PromptMessage::user(format!("{} {:?}", review.code, review.strictness)),
                    PromptMessage::assistant("Certainly."),
                ]
            })
            .complete("code", async |typed: Completing| {
                vec![format!("{}!", typed.value)]
            }),
        )
}

#[tokio::test]
async fn resources_and_templates_are_read() {
    let site = library().site().unwrap();
    for wire in WIRES {
        let mut peer = Peer::open(wire, &site, "2025-11-25", json!({})).await;
        let listed = peer.call("resources/list", json!({})).await;
        assert_eq!(listed["result"]["resources"].as_array().unwrap().len(), 4);
        let listed = peer.call("resources/templates/list", json!({})).await;
        assert_eq!(
            listed["result"]["resourceTemplates"][0]["uriTemplate"],
            "db://{table}/{id}"
        );
        let mut read = async |uri: &str| peer.call("resources/read", json!({"uri": uri})).await;
        let motd = read("demo://motd").await;
        let contents = json!({"uri": "demo://motd", "mimeType": "text/plain", "text": "Be kind."});
        assert_eq!(motd["result"]["contents"], json!([contents]), "{motd}");
        assert_eq!(
            read("demo://bytes").await["result"]["contents"][0]["blob"],
            "AQID"
        );
        assert_eq!(
            read("db://users/7").await["result"]["contents"][0]["text"],
            "users 7"
        );
        for missing in ["demo://gone", "demo://nowhere", "db://users/seven"] {
            let answer = read(missing).await;
            assert_eq!(answer["error"]["code"], -32002, "{answer}");
            assert_eq!(answer["error"]["data"]["uri"], missing);
        }
        assert_eq!(read("demo://broken").await["error"]["code"], -32603);
    }
    let mut peer = StatelessPeer::connect(&site).await;
    let answer = peer
        .call("resources/read", json!({"uri": "demo://nowhere"}))
        .await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[tokio::test]
async fn whoever_subscribed_to_a_resource_hears_of_it() {
    let server = library();
    let handle = server.handle();
    let mut client = PipeClient::open(&server.site().unwrap(), "2025-11-25", json!({})).await;
    let uri = json!({"uri": "demo://motd"});
    assert!(client.call("resources/subscribe", uri.clone()).await["result"].is_object());
    let unknown = client
        .call("resources/subscribe", json!({"uri": "demo://nowhere"}))
        .await;
    assert_eq!(unknown["error"]["code"], -32002, "{unknown}");
    handle.resource_updated("demo://bytes");
    handle.resource_updated("demo://motd");
    let updated = client.hear("notifications/resources/updated").await;
    assert_eq!(updated["params"]["uri"], "demo://motd");
    client.call("resources/unsubscribe", uri).await;
    handle.resource_updated("demo://motd");
    assert_eq!(client.settle().await, Vec::<Value>::new());
    handle.remove_resource("demo://motd");
    client.hear("notifications/resources/list_changed").await;
    handle.enable_prompt("review", false);
    client.hear("notifications/prompts/list_changed").await;
}

#[tokio::test]
async fn prompts_are_filled_in_and_arguments_completed() {
    let site = library().site().unwrap();
    for wire in WIRES {
        let mut peer = Peer::open(wire, &site, "2025-11-25", json!({})).await;
        let listed = peer.call("prompts/list", json!({})).await;
        let arguments = &listed["result"]["prompts"][0]["arguments"];
        assert_eq!(arguments[0]["name"], "code");
        assert_eq!(arguments[0]["required"], true);
        let mut get = async |arguments: Value| {
            peer.call(
                "prompts/get",
                json!({"name": "review", "arguments": arguments}),
            )
            .await
        };
        let filled = get(json!({"code": "x", "strictness": "9"})).await;
        let messages = &filled["result"]["messages"];
        assert_eq!(messages[0]["content"]["text"], "x Some(9)", "{filled}");
        assert_eq!(messages[1]["role"], "assistant");
        assert_eq!(filled["result"]["description"], "Asks for a review.");
        for wrong in [json!({}), json!({"code": "x", "strictness": "very"})] {
            assert_eq!(get(wrong).await["error"]["code"], -32602);
        }
        let answer = peer.call("prompts/get", json!({"name": "conjure"})).await;
        assert_eq!(answer["error"]["code"], -32602);
        for (reference, argument, values) in [
            (
                json!({"type": "ref/resource", "uri": "db://{table}/{id}"}),
                json!({"name": "table", "value": "u"}),
                json!(["users", "urls"]),
            ),
            (
                json!({"type": "ref/prompt", "name": "review"}),
                json!({"name": "code", "value": "a"}),
                json!(["a!"]),
            ),
            (
                json!({"type": "ref/prompt", "name": "review"}),
                json!({"name": "strictness", "value": ""}),
                json!([]),
            ),
        ] {
            let params = json!({"ref": reference, "argument": argument});
            let answer = peer.call("completion/complete", params).await;
            assert_eq!(answer["result"]["completion"]["values"], values, "{answer}");
        }
    }
}

/// Tools that are made up as they are called.
struct Dynamic;

impl ToolHandler for Dynamic {
    fn list(&self) -> Vec<Tool> {
        let schema = RawJson::parse(r#"{"type":"object","properties":{}}"#).unwrap();
        vec![Tool::new("one", schema.clone()), Tool::new("two", schema)]
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        _: Payload,
        context: Context,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        Box::pin(async move {
            context.progress(1.0).await;
            tokio::task::yield_now().await;
            Outcome::Text(name.to_owned())
        })
    }
}

#[tokio::test]
async fn a_handler_answers_for_tools_that_nobody_knew_before() {
    let server = Server::new("dynamic", "1.0.0")
        .tool(tool("one", async || "fixed"))
        .tools(Dynamic);
    let handle = server.handle();
    let site: Site = server.site().unwrap();
    let mut client = PipeClient::open(&site, "2025-11-25", json!({})).await;
    let listed = client.call("tools/list", json!({})).await;
    assert_eq!(
        listed["result"]["tools"].as_array().unwrap().len(),
        2,
        "{listed}"
    );
    for (name, text) in [("one", "fixed"), ("two", "two")] {
        let answer = client.tool(name, json!({})).await;
        assert_eq!(answer["result"]["content"][0]["text"], text);
    }
    assert_eq!(
        client.tool("three", json!({})).await["error"]["code"],
        -32602
    );
    handle.tools_changed();
    client.hear("notifications/tools/list_changed").await;
}

/// Answers everything with what was asked.
struct Raw;

impl Service for Raw {
    fn about(&self) -> About {
        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = Some(Default::default());
        About::new(Implementation::new("raw", "1.0.0"), capabilities)
    }

    fn call(&self, call: Call<'_>) -> Reply {
        let text = json!({"method": call.method.as_str()});
        match call.method.as_str() {
            "tools/list" => Reply::Now(Answer::Result(Payload::encode(&text).unwrap())),
            "tools/call" => Reply::later(async move {
                tokio::task::yield_now().await;
                Answer::Result(Payload::encode(&text).unwrap())
            }),
            other => Reply::Now(Answer::Error(ErrorObject::method_not_found(other))),
        }
    }
}

#[tokio::test]
async fn a_service_gets_every_call_raw() {
    let site = Site::new(Raw);
    for wire in WIRES {
        let mut peer = Peer::open(wire, &site, "2025-11-25", json!({})).await;
        for method in ["tools/list", "tools/call"] {
            let answer = peer.call(method, json!({"name": "x"})).await;
            assert_eq!(answer["result"]["method"], method, "{answer}");
        }
        // Methods that the protocol does not know may be an extension's.
        let answer = peer.call("extension/do", json!({})).await;
        assert_eq!(answer["error"]["code"], -32601);
        assert_eq!(peer.call("ping", json!({})).await["result"], json!({}));
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_offered_says_why_before_it_is_served() {
    for (server, reason) in [
        (Server::new("x", "1").tool(tool("a b", async || "x")), "a b"),
        (
            Server::new("x", "1")
                .tool(tool("a", async || "x"))
                .tool(tool("a", async || "y")),
            "already",
        ),
        (
            Server::new("x", "1").resource(resource("motd", async || "x")),
            "scheme",
        ),
        (
            Server::new("x", "1").template(template("db://{", async |_: Echo| "x")),
            "db://{",
        ),
        (
            Server::new("x", "1").prompt(prompt("", async |_: NoArguments| "x")),
            "empty",
        ),
    ] {
        let problem = server.site().unwrap_err().to_string();
        assert!(problem.contains(reason), "{problem}");
    }
}

#[tokio::test]
async fn changes_come_to_every_session() {
    let server = Server::new("many", "1.0.0").tool(tool("a", async || "x"));
    let handle = server.handle();
    let site = server.site().unwrap();
    let mut streams = Vec::new();
    let mut peers = Vec::new();
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let peer = HttpPeer::open(&site, revision, json!({})).await;
        streams.push(peer.listen(None).await);
        peers.push(peer);
    }
    handle.enable_tool("a", false);
    for stream in &mut streams {
        let told = stream.message().await.unwrap();
        assert_eq!(told["method"], "notifications/tools/list_changed");
    }
}
