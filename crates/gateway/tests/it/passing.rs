//! What comes through as it was written: icons, interfaces, `_meta`; and how things are called.

use serde_json::{Value, json};
use switchboard_client::Handlers;
use switchboard_gateway::Names;
use switchboard_protocol::jsonrpc::ErrorObject;
use switchboard_protocol::{Era, Revision};

use crate::cell::{connect, soon};
use crate::played::{Played, before};

const VIEW: &str = "ui://report/view";
const HTML: &str = "text/html;profile=mcp-app";

fn icons() -> Value {
    json!([{"src": "https://example.com/icon.png", "mimeType": "image/png", "sizes": ["48x48"]}])
}

fn meta() -> Value {
    json!({"com.example/own": {"deep": [1, 2.50, "é"]}, "plain": true})
}

fn tool() -> Value {
    json!({"name": "report", "title": "A report", "description": "Reports.", "icons": icons(),
        "inputSchema": {"type": "object", "x-own": [1.0]},
        "_meta": {"ui": {"resourceUri": VIEW, "visibility": ["model", "app"]},
            "ui/resourceUri": VIEW, "com.example/own": [1]}})
}

fn result() -> Value {
    json!({
        "content": [
            {"type": "text", "text": "all is well", "_meta": meta()},
            {"type": "resource", "_meta": meta(),
                "resource": {"uri": VIEW, "mimeType": HTML, "text": "<p>", "_meta": meta()}},
        ],
        "structuredContent": {"sum": 1.50, "text": VIEW},
        "_meta": meta(),
    })
}

fn read() -> Value {
    json!({"contents": [{"uri": VIEW, "mimeType": HTML, "text": "<p>", "_meta": {"ui": {
        "csp": {"connectDomains": ["https://api.example.com"]}, "prefersBorder": true}}}]})
}

/// A server that has an interface which it does not list.
fn with_interface(revision: Revision) -> Played {
    let prompt = json!({"name": "review", "icons": icons(), "_meta": meta()});
    let resource = json!({"name": "state", "uri": "demo://state", "icons": icons(),
        "_meta": meta()});
    let template = json!({"name": "rows", "uriTemplate": "rows://{id}", "icons": icons(),
        "_meta": meta()});
    Played::new(&[revision])
        .says("tools/list", json!({"tools": [tool()]}))
        .says("prompts/list", json!({"prompts": [prompt]}))
        .says("resources/list", json!({"resources": [resource]}))
        .says(
            "resources/templates/list",
            json!({"resourceTemplates": [template]}),
        )
        .says("tools/call", result())
        .answers("resources/read", |_, params| match params["uri"] == VIEW {
            true => Ok(read()),
            false => Err(ErrorObject::invalid_params(params.to_string())),
        })
}

/// The same without what belongs to the hop.
fn without_hop(mut value: Value) -> Value {
    let members = value.as_object_mut().unwrap();
    for name in ["resultType", "ttlMs", "cacheScope"] {
        members.remove(name);
    }
    if let Some(Value::Object(meta)) = members.get_mut("_meta") {
        meta.remove("io.modelcontextprotocol/serverInfo");
        if meta.is_empty() {
            members.remove("_meta");
        }
    }
    value
}

#[tokio::test]
async fn icons_interfaces_and_what_is_attached_come_through_in_every_cell() {
    for client in [Era::Handshake, Era::Stateless] {
        for server in [Revision::V2025_11_25, Revision::LATEST] {
            let servers = [("one", with_interface(server))];
            let gateway = before(servers, |gateway| gateway).await;
            let client = connect(&gateway, client, Handlers::new()).await;
            let ask = async |method: &str, params: Value| -> Value {
                let result = soon(client.raw(method, Some(&params))).await;
                without_hop(result.unwrap().decode().unwrap())
            };
            let mut named = tool();
            named["name"] = "one__report".into();
            let listed = ask("tools/list", json!({})).await;
            assert_eq!(listed["tools"][0], named, "{client:?} {server}");
            for (method, member) in [
                ("prompts/list", "prompts"),
                ("resources/list", "resources"),
                ("resources/templates/list", "resourceTemplates"),
            ] {
                let listed = ask(method, json!({})).await;
                let thing = &listed[member][0];
                assert_eq!(thing["icons"], icons(), "{client:?} {server} {method}");
                assert_eq!(thing["_meta"], meta(), "{client:?} {server} {method}");
            }
            let called = ask("tools/call", json!({"name": "one__report"})).await;
            assert_eq!(called, result(), "{client:?} {server}");
            // It is in no list.
            let shown = ask("resources/read", json!({"uri": VIEW})).await;
            assert_eq!(shown, read(), "{client:?} {server}");
        }
    }
}

#[tokio::test]
async fn interfaces_of_two_servers_that_are_called_the_same_are_told_apart() {
    let servers = [
        ("one", with_interface(Revision::LATEST)),
        ("two", with_interface(Revision::V2025_11_25)),
    ];
    let gateway = before(servers, |gateway| gateway).await;
    for era in [Era::Handshake, Era::Stateless] {
        let client = connect(&gateway, era, Handlers::new()).await;
        let tools = soon(client.tools()).await.unwrap();
        let mut seen = Vec::new();
        for name in ["one__report", "two__report"] {
            let meta = tools.by_name(name).unwrap().meta.clone().unwrap();
            let meta = serde_json::to_value(meta).unwrap();
            let uri = meta["ui"]["resourceUri"].as_str().unwrap().to_owned();
            assert_eq!(meta["ui/resourceUri"], *uri);
            assert!(uri.starts_with("ui://"), "{era:?} {uri}");
            let read = soon(client.read(&uri)).await.unwrap();
            let read = serde_json::to_value(&read.contents[0]).unwrap();
            assert_eq!(read["uri"], *uri, "{era:?}");
            assert_eq!(read["mimeType"], HTML);
            // What is embedded in results is called the same; what is no URI to us stays.
            let called = soon(client.call(name)).await.unwrap();
            let called = serde_json::to_value(&called).unwrap();
            assert_eq!(called["content"][1]["resource"]["uri"], *uri, "{called}");
            assert_eq!(called["structuredContent"]["text"], VIEW);
            seen.push(uri);
        }
        assert_ne!(seen[0], seen[1], "{era:?}");
    }
}

#[tokio::test]
async fn names_are_those_that_hosts_give_where_that_is_wanted() {
    let servers = [
        ("one", with_interface(Revision::LATEST)),
        ("two", with_interface(Revision::V2025_11_25)),
    ];
    let servers = servers.map(|(name, played)| {
        let filled = json!({"messages": [{"role": "user",
            "content": {"type": "text", "text": name}}]});
        let called = json!({"content": [{"type": "text", "text": name}]});
        let played = played.says("tools/call", called);
        (name, played.says("prompts/get", filled))
    });
    let gateway = before(servers, |gateway| gateway.names(Names::Mcp)).await;
    for era in [Era::Handshake, Era::Stateless] {
        let client = connect(&gateway, era, Handlers::new()).await;
        let tools = soon(client.tools()).await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["mcp__one__report", "mcp__two__report"], "{era:?}");
        let prompts = soon(client.prompts()).await.unwrap();
        let names: Vec<_> = prompts.iter().map(|prompt| &*prompt.name).collect();
        assert_eq!(names, ["mcp__one__review", "mcp__two__review"], "{era:?}");
        for server in ["one", "two"] {
            let said = soon(client.call(format!("mcp__{server}__report"))).await;
            assert_eq!(said.unwrap().joined_text(), server, "{era:?}");
            let none: [(&str, &str); 0] = [];
            let filled = client.prompt(format!("mcp__{server}__review"), none);
            let filled = serde_json::to_value(soon(filled).await.unwrap()).unwrap();
            assert_eq!(filled["messages"][0]["content"]["text"], server, "{era:?}");
        }
        let unknown = soon(client.call("mcp__three__report")).await.unwrap_err();
        assert_eq!(unknown.refusal().unwrap().code.0, -32602, "{era:?}");
    }
}
