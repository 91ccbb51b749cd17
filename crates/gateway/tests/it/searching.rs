//! Two tools in place of all: what is called through them is called as if it were called itself.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_client::Handlers;
use switchboard_client::types::ElicitResult;
use switchboard_gateway::{Audit, Gateway, Mode};
use switchboard_hub::{Hub, HubBuilder, Sharing};
use switchboard_protocol::Era;

use crate::bounds::Lines;
use crate::cell::{connect, in_each, soon};
use crate::child::server;
use crate::house::House;

#[tokio::test]
async fn two_tools_that_never_change_find_and_call_all_others() {
    in_each(|eras| async move {
        let servers = ["one", "two"].map(|name| server(name, eras.server));
        let hub = servers.into_iter().fold(Hub::builder(), HubBuilder::server);
        let lines = Lines::default();
        let audit = Audit::to(lines.clone()).unwrap();
        let gateway = Gateway::builder(hub)
            .mode(Mode::Search)
            .audit(audit.clone())
            .build();
        soon(gateway.hub().connect_all()).await;
        let client = connect(&gateway, eras.client, Handlers::new()).await;
        let tools = soon(client.tools()).await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["find_tools", "call_tool"]);

        let found = client
            .call("find_tools")
            .arg("query", "add")
            .arg("limit", 2);
        let found = soon(found).await.unwrap().joined_text();
        let found: Value = serde_json::from_str(&found).unwrap();
        let found = found.as_array().unwrap();
        assert_eq!(found.len(), 2);
        let name = found[0]["name"].as_str().unwrap();
        assert!(name.ends_with("__add"), "{name}");
        assert!(found[0]["inputSchema"]["properties"]["a"].is_object());
        let sum = client.call("call_tool").arg("name", name);
        let sum = soon(sum.arg("arguments", json!({"a": 2, "b": 3}))).await;
        assert_eq!(sum.unwrap().joined_text(), "5");

        // What goes wrong is told to the model, or to the client.
        let failed = soon(client.call("call_tool").arg("name", "one__fail")).await;
        assert!(failed.unwrap().is_error());
        let nothing = soon(client.call("find_tools")).await.unwrap();
        assert!(nothing.is_error());
        assert!(soon(client.call("one__add")).await.is_err());

        // What servers have is written down under their names.
        audit.flush();
        let entries = lines.read();
        assert_eq!(entries[0]["name"], "add");

        // A server that offers more changes nothing for the client.
        let grown = client.call("call_tool").arg("name", "one__grow");
        soon(grown).await.unwrap();
        let grown = || client.call("call_tool").arg("name", "one__grown");
        while soon(grown()).await.is_err() {
            tokio::task::yield_now().await;
        }
        assert_eq!(soon(client.tools()).await.unwrap().len(), 2);
        soon(client.close()).await;
        soon(gateway.hub().close()).await;
    })
    .await;
}

#[tokio::test]
async fn who_searches_at_once_waits_until_servers_have_said_what_they_offer() {
    in_each(|eras| async move {
        let hub = Hub::builder().server(server("one", eras.server));
        let gateway = Gateway::builder(hub).mode(Mode::Search).build();
        let connecting = tokio::spawn(gateway.connect_all());
        let client = connect(&gateway, eras.client, Handlers::new()).await;
        let found = soon(client.call("find_tools").arg("query", "greet")).await;
        let found = found.unwrap().joined_text();
        assert!(found.contains("one__greet"), "{found}");
        soon(connecting).await.unwrap();
        soon(client.close()).await;
        soon(gateway.hub().close()).await;
    })
    .await;
}

/// A gateway over HTTP with two tools, before a server that may be each client's own.
async fn house(era: Era, sharing: Sharing) -> House {
    let mut config = server("one", era);
    config.sharing = sharing;
    House::open_before(vec![config], |gateway| gateway.mode(Mode::Search)).await
}

#[tokio::test]
async fn over_http_a_client_keeps_the_server_that_it_has_alone() {
    in_each(|eras| async move {
        let house = house(eras.server, Sharing::PerClient).await;
        let client = house.client(eras.client, "/mcp", "").await;
        let pid = async || {
            let call = client.call("call_tool").arg("name", "one__pid");
            soon(call).await.unwrap().joined_text()
        };
        let first = pid().await;
        assert_eq!(pid().await, first, "{eras:?}");
        soon(client.close()).await;
        house.close().await;
    })
    .await;
}

#[tokio::test]
async fn over_http_whoever_calls_is_asked_and_hears_of_progress() {
    in_each(|eras| async move {
        let house = house(eras.server, Sharing::Shared).await;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let asking = Arc::clone(&asked);
        let user = Handlers::new().on_form(move |form, _| {
            asking.lock().unwrap().push(form.message);
            let content = json!({"name": "Ada"}).as_object().cloned().unwrap();
            async move { Ok(ElicitResult::accept(content)) }
        });
        let client = house.client_of(eras.client, "/mcp", "", user).await;
        let greeted = client.call("call_tool").arg("name", "one__greet");
        let greeted = soon(greeted).await.unwrap().joined_text();
        assert_eq!(greeted, "Hello, Ada!", "{eras:?}");
        assert_eq!(*asked.lock().unwrap(), ["Who are you?"]);
        let steps = Arc::new(Mutex::new(0));
        let counting = Arc::clone(&steps);
        let call = client.call("call_tool").arg("name", "one__steps");
        let call = call.on_progress(move |_| *counting.lock().unwrap() += 1);
        assert_eq!(soon(call).await.unwrap().joined_text(), "done");
        assert!(*steps.lock().unwrap() > 0, "{eras:?}");
        soon(client.close()).await;
        house.close().await;
    })
    .await;
}

#[tokio::test]
async fn over_http_the_trace_of_the_request_goes_on_to_the_server() {
    let house = house(Era::Handshake, Sharing::Shared).await;
    let params = json!({"name": "call_tool", "arguments": {"name": "one__trace"}});
    let trace = [("traceparent", PARENT)];
    let (method, tool) = ("tools/call", Some("call_tool"));
    let told = house.request_with("/mcp", None, method, tool, params, &trace);
    let told = told.await;
    assert!(told.said().starts_with(&PARENT[..36]), "{told:?}");
    house.close().await;
}

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
