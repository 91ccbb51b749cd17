//! Clients and servers of the older revisions: each gets what it can read.
//!
//! Specification: docs/revisions.md; 2025-03-26 basic (batches).

use serde_json::{Value, json};
use switchboard_client::types::{CreateMessageResult, ListRootsResult, OneOrMany, Role, Root};
use switchboard_client::{Handlers, types::SamplingMessageContentBlock};
use switchboard_gateway::Gateway;
use switchboard_protocol::{Era, Revision};

use crate::cell::{connect, soon};
use crate::child::behind;
use crate::house::House;
use crate::played::{Played, Wire, before, config, hub_of};

/// A tool, a prompt and a resource with all that the newest revision has.
fn newest(revision: Revision) -> Played {
    let icons = json!([{"src": "https://example.com/icon.png", "mimeType": "image/png"}]);
    let meta = json!({"com.example/kept": 1});
    let tool = json!({"name": "report", "title": "A report", "icons": icons, "_meta": meta,
        "description": "Reports.",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}},
        "annotations": {"readOnlyHint": true}});
    let content = json!([
        {"type": "text", "text": "all is well"},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "demo://state", "name": "state", "title": "The state"},
    ]);
    let resource = json!({"name": "state", "title": "The state", "uri": "demo://state",
        "icons": icons, "_meta": meta});
    let template = json!({"name": "rows", "title": "Rows", "uriTemplate": "rows://{id}",
        "icons": icons});
    let prompt = json!({"name": "review", "title": "A review", "icons": icons,
        "arguments": [{"name": "name", "title": "The name"}]});
    Played::new(&[revision])
        .says("tools/list", json!({"tools": [tool]}))
        .says("prompts/list", json!({"prompts": [prompt]}))
        .says("resources/list", json!({"resources": [resource]}))
        .says(
            "resources/templates/list",
            json!({"resourceTemplates": [template]}),
        )
        .says(
            "tools/call",
            json!({"content": content, "structuredContent": {"sum": 1.50}, "_meta": meta}),
        )
        .says(
            "prompts/get",
            json!({"messages": [{"role": "user", "content":
                {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}}]}),
        )
        .says(
            "resources/read",
            json!({"contents": [{"uri": "demo://state", "text": "fine", "_meta": meta}]}),
        )
}

/// Everything that a client of this revision gets of a server of the other one.
async fn all_of(version: &str, server: Revision) -> [Value; 7] {
    let gateway = before([("one", newest(server))], |gateway| gateway).await;
    let mut wire = Wire::open(&gateway, version, json!({})).await;
    let mut list = async |method: &str, member: &str| {
        let mut result = wire.result(method, json!({})).await;
        for newer in ["resultType", "ttlMs", "cacheScope"] {
            assert!(result.get(newer).is_none(), "{method}: {result}");
        }
        result[member][0].take()
    };
    let tool = list("tools/list", "tools").await;
    let prompt = list("prompts/list", "prompts").await;
    let resource = list("resources/list", "resources").await;
    let template = list("resources/templates/list", "resourceTemplates").await;
    let called = wire
        .result("tools/call", json!({"name": "one__report"}))
        .await;
    let filled = wire
        .result("prompts/get", json!({"name": "one__review"}))
        .await;
    let read = wire
        .result("resources/read", json!({"uri": "demo://state"}))
        .await;
    [tool, prompt, resource, template, called, filled, read]
}

fn kinds(content: &Value) -> Vec<&str> {
    let blocks = content.as_array().unwrap().iter();
    blocks
        .map(|block| block["type"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_client_of_2025_06_18_gets_no_icons_and_all_else() {
    for server in [Revision::LATEST, Revision::V2025_11_25] {
        let [tool, prompt, resource, template, called, filled, read] =
            all_of("2025-06-18", server).await;
        for thing in [&tool, &prompt, &resource, &template] {
            assert!(thing["title"].is_string(), "{thing}");
            assert!(thing.get("icons").is_none(), "{thing}");
        }
        assert!(tool["outputSchema"].is_object(), "{tool}");
        assert_eq!(tool["_meta"]["com.example/kept"], 1, "{tool}");
        assert_eq!(
            kinds(&called["content"]),
            ["text", "audio", "resource_link"]
        );
        assert_eq!(called["structuredContent"]["sum"], 1.5);
        assert_eq!(called["_meta"]["com.example/kept"], 1, "{called}");
        assert_eq!(filled["messages"][0]["content"]["type"], "audio");
        assert_eq!(
            read["contents"][0]["_meta"]["com.example/kept"], 1,
            "{read}"
        );
    }
}

#[tokio::test]
async fn a_client_of_2025_03_26_gets_no_structure_no_titles_and_links_as_text() {
    for server in [
        Revision::LATEST,
        Revision::V2025_11_25,
        Revision::V2025_06_18,
    ] {
        let [tool, prompt, resource, template, called, filled, read] =
            all_of("2025-03-26", server).await;
        for thing in [&tool, &prompt, &resource, &template] {
            for newer in ["title", "icons", "_meta"] {
                assert!(thing.get(newer).is_none(), "{newer}: {thing}");
            }
        }
        assert!(prompt["arguments"][0].get("title").is_none(), "{prompt}");
        assert!(tool.get("outputSchema").is_none(), "{tool}");
        // Its revision has a place for it.
        assert_eq!(tool["annotations"]["title"], "A report");
        assert_eq!(kinds(&called["content"]), ["text", "audio", "text"]);
        let link = called["content"][2]["text"].as_str().unwrap();
        assert!(link.contains("demo://state"), "{link}");
        assert!(called.get("structuredContent").is_none(), "{called}");
        assert_eq!(filled["messages"][0]["content"]["type"], "audio");
        assert!(read["contents"][0].get("_meta").is_none(), "{read}");
    }
}

#[tokio::test]
async fn a_client_of_2024_11_05_gets_no_sound_and_no_annotations_either() {
    for server in [
        Revision::LATEST,
        Revision::V2025_11_25,
        Revision::V2025_03_26,
    ] {
        let [tool, .., called, filled, _] = all_of("2024-11-05", server).await;
        assert!(tool.get("annotations").is_none(), "{tool}");
        assert!(tool.get("title").is_none(), "{tool}");
        assert_eq!(kinds(&called["content"]), ["text", "resource", "text"]);
        assert_eq!(called["content"][1]["resource"]["blob"], "AAAA");
        assert_eq!(filled["messages"][0]["content"]["type"], "resource");
        assert!(called.get("structuredContent").is_none(), "{called}");
    }
}

#[tokio::test]
async fn structure_without_any_text_is_said_as_text_where_it_is_not_known() {
    let played = newest(Revision::LATEST).says(
        "tools/call",
        json!({"content": [], "structuredContent": {"sum": 1.5}}),
    );
    let gateway = before([("one", played)], |gateway| gateway).await;
    let mut wire = Wire::open(&gateway, "2025-03-26", json!({})).await;
    let called = wire
        .result("tools/call", json!({"name": "one__report"}))
        .await;
    let text = called["content"][0]["text"].as_str().unwrap();
    let said: Value = serde_json::from_str(text).unwrap();
    assert_eq!(said, json!({"sum": 1.5}));
}

/// Before a server that speaks this revision only.
async fn pinned(revision: Revision) -> Gateway {
    let site = behind().site().unwrap().revisions(vec![revision]);
    let gateway = Gateway::builder(hub_of([("one", site)], vec![config("one")])).build();
    for status in soon(gateway.connect_all()).await {
        assert!(status.state.is_ready(), "{}: {}", status.name, status.state);
    }
    gateway
}

#[tokio::test]
async fn a_server_of_any_older_revision_works_for_a_stateless_client() {
    for revision in [
        Revision::V2024_11_05,
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
    ] {
        let gateway = pinned(revision).await;
        let user = Handlers::new()
            .on_sample(|_, _| async {
                let answer = SamplingMessageContentBlock::text("4");
                Ok(CreateMessageResult::new(
                    Role::Assistant,
                    OneOrMany::One(answer),
                    "a-model",
                ))
            })
            .on_roots(|_| async { Ok(ListRootsResult::new(vec![Root::new("file:///srv")])) });
        let client = connect(&gateway, Era::Stateless, user).await;
        assert!(
            soon(client.tools())
                .await
                .unwrap()
                .by_name("one__add")
                .is_some()
        );
        let sum = client.call("one__add").arg("a", 2).arg("b", 3);
        assert_eq!(soon(sum).await.unwrap().joined_text(), "5", "{revision}");
        let failed = soon(client.call("one__fail")).await.unwrap();
        assert!(failed.is_error(), "{revision}");
        // It asks in the midst of its call, as it did then.
        let thought = soon(client.call("one__think")).await.unwrap();
        assert_eq!(thought.joined_text(), "a-model says so", "{revision}");
        let folders = soon(client.call("one__folders")).await.unwrap();
        assert_eq!(folders.joined_text(), "file:///srv", "{revision}");
        let linked = soon(client.call("one__link")).await.unwrap();
        assert_eq!(linked.content.len(), 1, "{revision}");
        let read = soon(client.read("demo://state")).await.unwrap();
        assert_eq!(read.contents.len(), 1, "{revision}");
        let row = soon(client.read("rows://7")).await.unwrap();
        assert_eq!(row.contents.len(), 1, "{revision}");
        let filled = soon(client.prompt("one__review", [("name", "Ada")])).await;
        assert_eq!(filled.unwrap().messages.len(), 1, "{revision}");
        soon(client.close()).await;
        soon(gateway.hub().close()).await;
    }
}

/// What a client of 2025-03-26 may send in one go.
fn batch() -> Value {
    json!([
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "one__report", "arguments": {"server": 1}}},
        {"jsonrpc": "2.0", "method": "notifications/whatever"},
        {"jsonrpc": "2.0", "id": "two", "method": "tools/call",
            "params": {"name": "two__report", "arguments": {"server": 2}}},
        {"jsonrpc": "2.0", "id": 3, "method": "ping"},
        {"jsonrpc": "2.0", "id": 4, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "three__none"}},
    ])
}

fn check_answers(answers: &Value) {
    let find = |id: Value| {
        let mut answers = answers.as_array().unwrap().iter();
        answers.find(|answer| answer["id"] == id).unwrap()
    };
    assert_eq!(answers.as_array().unwrap().len(), 5, "{answers}");
    for id in [json!(1), json!("two")] {
        let result = &find(id)["result"];
        assert_eq!(result["content"][0]["text"], "all is well", "{result}");
        assert!(result.get("structuredContent").is_none(), "{result}");
    }
    assert!(find(json!(3))["result"].is_object());
    assert_eq!(
        find(json!(4))["result"]["tools"].as_array().unwrap().len(),
        2
    );
    assert_eq!(find(json!(5))["error"]["code"], -32602);
}

#[tokio::test]
async fn a_batch_is_answered_in_one_whichever_servers_its_calls_are_for() {
    let servers = [
        ("one", newest(Revision::LATEST)),
        ("two", newest(Revision::V2025_03_26)),
    ];
    let gateway = before(servers, |gateway| gateway).await;
    let mut wire = Wire::open(&gateway, "2025-03-26", json!({})).await;
    wire.say(batch()).await;
    check_answers(&wire.next().await);
    // No other revision has them.
    for version in ["2024-11-05", "2025-06-18"] {
        let mut wire = Wire::open(&gateway, version, json!({})).await;
        wire.say(batch()).await;
        let answer = wire.next().await;
        assert_eq!(answer["error"]["code"], -32600, "{version}: {answer}");
    }
}

#[tokio::test]
async fn a_batch_over_http_is_answered_in_its_session() {
    let sites =
        [("one", Revision::LATEST), ("two", Revision::V2025_03_26)].map(|(name, revision)| {
            let site = switchboard_server::Site::new(newest(revision));
            (name, site.revisions(vec![revision]))
        });
    let hub = hub_of(sites, vec![config("one"), config("two")]);
    let house = House::open_to(hub, |gateway| gateway).await;
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let opening = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-03-26", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    let post = async |headers: &[(&str, &str)], body: &Value| {
        let method = http::Method::POST;
        house
            .send(method, "/mcp", None, headers, body.to_string())
            .await
    };
    let opened = post(&headers, &opening).await;
    assert_eq!(opened.status, 200, "{opened:?}");
    let session = opened.headers["mcp-session-id"].to_str().unwrap();
    let headers = [headers[0], headers[1], ("mcp-session-id", session)];
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(&headers, &ready).await.status, 202);
    let answered = post(&headers, &batch()).await;
    assert_eq!(answered.status, 200, "{answered:?}");
    // Either one array, or events of which each has one answer or several.
    let mut answers = Vec::new();
    match serde_json::from_str::<Value>(&answered.text) {
        Ok(Value::Array(all)) => answers = all,
        _ => {
            let events = answered.text.lines();
            for data in events.filter_map(|line| line.strip_prefix("data:")) {
                match serde_json::from_str::<Value>(data.trim()) {
                    Ok(Value::Array(several)) => answers.extend(several),
                    Ok(one) => answers.push(one),
                    Err(_) => {}
                }
            }
        }
    }
    check_answers(&Value::Array(answers));
    house.close().await;
}
