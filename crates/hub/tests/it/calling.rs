//! Everything that can be called.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::memory;
use switchboard_client::types::{
    CompleteRequestParams, CompletionArgument, CompletionReference, ContentBlock, ResourceContents,
};
use switchboard_hub::{Event, Hub, HubError, MemberState, ServerConfig, ToolFilter};
use switchboard_server::{Server, resource};

use crate::child::{faulty, odd, server};
use crate::running::{builder, hub, pid, soon, until};

fn text_of(contents: &ResourceContents) -> &str {
    match contents {
        ResourceContents::Text(contents) => &contents.text,
        other => panic!("{other:?}"),
    }
}

async fn read(hub: &Hub, uri: &str) -> (String, String) {
    let result = hub.read(uri).await.unwrap();
    let [ResourceContents::Text(contents)] = &*result.contents else {
        panic!("{result:?}");
    };
    (contents.uri.clone(), contents.text.clone())
}

#[tokio::test]
async fn resources_are_read_where_they_are() {
    let hub = hub([server("one"), server("two")]).await;
    let catalog = hub.catalog();
    let shared: Vec<_> = catalog
        .resources()
        .filter(|entry| entry.resource.uri == "demo://shared")
        .map(|entry| entry.uri.to_string())
        .collect();
    assert_eq!(shared.len(), 2);
    for (uri, name) in shared.iter().zip(["one", "two"]) {
        let expected = (uri.clone(), pid(&hub, name).await.to_string());
        assert_eq!(read(&hub, uri).await, expected);
        // Links in results lead there too.
        let result = hub.call_on(name, "link").await.unwrap();
        let [ContentBlock::ResourceLink(link)] = &*result.content else {
            panic!("{result:?}");
        };
        assert_eq!(link.resource.uri, *uri);
        let raw = hub.call_on(name, "link").raw().await.unwrap();
        let raw: Value = raw.decode().unwrap();
        assert_eq!(raw["content"][0]["uri"], **uri);
    }
    let error = hub.read("demo://shared").await.unwrap_err();
    assert!(matches!(&error, HubError::NotFound(_)), "{error}");
    let result = hub.read_on("two", "rows://7").await.unwrap();
    assert_eq!(text_of(&result.contents[0]), "row 7");
    assert!(hub.read("nothing://here").await.is_err());
    hub.close().await;
}

#[tokio::test]
async fn prompts_are_filled_in_and_arguments_completed() {
    let hub = hub([server("one"), server("two")]).await;
    let result = hub
        .prompt("mcp__two__review", [("language", "Rust")])
        .await
        .unwrap();
    let ContentBlock::Text(text) = &result.messages[0].content else {
        panic!("{result:?}");
    };
    assert_eq!(text.text, "Review this Rust code.");
    let result = hub.prompt_on("one", "review", [("language", "C")]).await;
    assert_eq!(result.unwrap().messages.len(), 1);
    assert!(hub.prompt("review", [("a", "b")]).await.is_err());

    let catalog = hub.catalog();
    let template = catalog
        .templates()
        .find(|entry| &*entry.server == "two")
        .unwrap();
    let params = CompleteRequestParams::new(
        CompletionReference::resource_template(&*template.uri_template),
        CompletionArgument::new("id", "4"),
    );
    let result = hub.complete(params).await.unwrap();
    assert_eq!(result.completion.values, ["41", "42"]);
    hub.close().await;
}

#[tokio::test]
async fn raw_results_are_what_the_server_wrote() {
    let hub = hub([odd("by-hand", "plain")]).await;
    let result = hub.call_on("by-hand", "echo").raw().await.unwrap();
    assert_eq!(
        result.text(),
        &br#"{"content":[{"text":"here","type":"text"}]}"#[..]
    );
    hub.close().await;
}

#[tokio::test]
async fn any_request_can_be_made_of_one_server() {
    let hub = hub([server("one"), odd("by-hand", "plain")]).await;
    let listed = hub.request_on("one", "resources/templates/list", None::<&Value>);
    let listed: Value = listed.await.unwrap().decode().unwrap();
    assert_eq!(listed["resourceTemplates"][0]["uriTemplate"], "rows://{id}");
    let params = json!({"name": "echo", "arguments": {}});
    let result = hub.request_on("by-hand", "tools/call", Some(&params)).await;
    assert_eq!(
        result.unwrap().text(),
        &br#"{"content":[{"text":"here","type":"text"}]}"#[..]
    );
    let error = hub.request_on("one", "no/such", Some(&params)).await;
    let error = error.unwrap_err();
    assert!(error.to_string().contains("-32601"), "{error}");
    let error = hub.request_on("on", "ping", None::<&Value>).await;
    assert!(matches!(error, Err(HubError::NotFound(_))), "{error:?}");
    hub.close().await;
}

#[tokio::test]
async fn progress_is_heard_by_the_caller_and_by_those_who_listen() {
    let hub = hub([server("one")]).await;
    let mut events = hub.events();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hearing = Arc::clone(&heard);
    hub.call_on("one", "steps")
        .on_progress(move |progress| {
            hearing
                .lock()
                .unwrap()
                .push(progress.progress.as_f64().unwrap())
        })
        .await
        .unwrap();
    let heard = heard.lock().unwrap().clone();
    assert!(
        heard.len() > 1 && heard.is_sorted_by(|one, next| one < next),
        "{heard:?}"
    );
    let listened = async {
        loop {
            if let Event::Progress {
                server, progress, ..
            } = events.next().await.unwrap()
            {
                assert_eq!(&*server, "one");
                return progress.progress.as_f64().unwrap();
            }
        }
    };
    assert_eq!(soon(listened).await, heard[0]);
    hub.close().await;
}

#[tokio::test]
async fn a_result_larger_than_its_limit_is_an_error_that_names_it() {
    let mut config = server("one");
    config.limits.result = Some(1000);
    let hub = hub([config]).await;
    let fits = hub.call_on("one", "big").arg("bytes", 500).await.unwrap();
    assert_eq!(fits.joined_text().len(), 500);
    let error = hub.call_on("one", "big").arg("bytes", 1000).await;
    let error = error.unwrap_err().to_string();
    assert!(
        error.starts_with("the result of \"big\" of server \"one\" has 1")
            && error.ends_with("bytes; its limit \"result\" is 1000"),
        "{error}"
    );
    pid(&hub, "one").await;
    hub.close().await;
}

#[tokio::test]
async fn arguments_are_given_one_by_one_or_together() {
    let hub = hub([server("one")]).await;
    let call = || hub.call_on("one", "add");
    let all = json!({"a": 1, "b": 5});
    for call in [
        call().args(&all),
        call().arg("a", 1).arg("b", 5),
        call().args(&json!({"a": 1})).arg("b", 5),
        call().arg("a", 9).args(&all),
    ] {
        assert_eq!(call.await.unwrap().joined_text(), "6");
    }
    let unwritable = std::collections::HashMap::from([(vec![1], 2)]);
    let error = call().args(&unwritable).await.unwrap_err();
    assert!(matches!(error, HubError::Call(_)), "{error}");
    hub.close().await;
}

#[tokio::test]
async fn a_resource_is_watched_across_a_restart_of_its_server() {
    let hub = hub([server("one")]).await;
    let mut watch = hub.watch("demo://state").await.unwrap();
    assert_eq!(watch.server(), "one");
    for _ in 0..2 {
        hub.call_on("one", "touch").await.unwrap();
        soon(watch.changed()).await.unwrap();
    }
    hub.call_on("one", "die").await.unwrap_err();
    // It may have changed meanwhile.
    soon(watch.changed()).await.unwrap();
    hub.call_on("one", "touch").await.unwrap();
    soon(watch.changed()).await.unwrap();
    assert!(hub.watch("demo://nothing").await.is_err());
    hub.close().await;
    assert!(soon(watch.changed()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn however_often_a_server_is_restarted_its_resource_is_soon_watched_again() {
    let state = resource("demo://state", async || "it is as it is");
    let site = Server::new("one", "1.0.0").resource(state).site().unwrap();
    let hub = Hub::builder()
        .server(ServerConfig::command("one", ["in-process"]))
        .in_process(move |_| {
            let (ours, theirs) = memory::pair();
            let site = site.clone();
            tokio::spawn(async move {
                let (read, write) = tokio::io::split(theirs);
                let _ = site.serve(read, write).await;
            });
            Some(ours)
        })
        .build();
    hub.connect_all().await;
    let mut watch = hub.watch("demo://state").await.unwrap();
    for _ in 0..12 {
        tokio::time::sleep(Duration::from_secs(30)).await;
        hub.disconnect("one").await.unwrap();
        hub.connect("one").await.unwrap();
        // It may have changed meanwhile.
        let changed = tokio::time::timeout(Duration::from_secs(5), watch.changed()).await;
        changed.unwrap().unwrap();
    }
    hub.close().await;
}

#[tokio::test]
async fn document_003_resources_are_listed_and_read_by_tools() {
    let hub = builder([server("one"), server("two")])
        .resource_tools(true)
        .build();
    hub.connect_all().await;
    let names: Vec<_> = hub
        .own_tools()
        .iter()
        .map(|tool| tool.name.clone())
        .collect();
    assert_eq!(names, ["list_resources", "read_resource"]);
    let listed = hub
        .call("list_resources")
        .arg("server", "two")
        .await
        .unwrap();
    let listed: Value = serde_json::from_str(&listed.joined_text()).unwrap();
    let listed = listed["resources"].as_array().unwrap();
    assert_eq!(listed.len(), 3, "{listed:?}");
    let uri = listed[0]["uri"].as_str().unwrap();
    let result = hub.call("read_resource").arg("uri", uri).await.unwrap();
    assert_eq!(result.joined_text(), "fine");
    let missing = hub.call("read_resource").arg("uri", "no://where").await;
    assert!(missing.unwrap().is_error());
    let wrong = hub.call("read_resource").arg("uri", 5).await.unwrap();
    assert_eq!(
        (wrong.is_error(), wrong.joined_text().as_str()),
        (true, "uri is no string")
    );
    let raw = hub.call("list_resources").raw().await.unwrap();
    assert!(raw.is_object());
    hub.close().await;

    let without = builder([]).build();
    assert!(without.own_tools().is_empty());
    assert!(without.call("list_resources").await.is_err());
}

#[tokio::test]
async fn a_tool_that_is_denied_while_its_server_is_waited_for_is_not_called() {
    let mut config = server("one");
    config.idle = Some(Duration::from_millis(50));
    let hub = hub([config]).await;
    let mut events = hub.events();
    until(&mut events, "one", |state| {
        matches!(state, MemberState::Asleep)
    })
    .await;
    let calling = hub.clone();
    let call = tokio::spawn(async move { calling.call_on("one", "pid").await });
    until(&mut events, "one", |state| {
        matches!(state, MemberState::Starting)
    })
    .await;
    hub.set_tools("one", ToolFilter::deny(["pid"])).unwrap();
    let error = soon(call).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("denied"), "{error}");
    hub.close().await;
}

#[tokio::test]
async fn tools_of_the_hub_itself_are_cancelled_too() {
    let (silent, _launch) = faulty("one", "no-handshake");
    let hub = builder([silent]).resource_tools(true).build();
    let call = hub.call("read_resource").arg("uri", "a://b");
    let call = call.arg("server", "one").cancel_on(std::future::ready(()));
    let error = soon(call).await.unwrap_err();
    assert!(matches!(error, HubError::Cancelled), "{error}");
    soon(hub.close()).await;
}
