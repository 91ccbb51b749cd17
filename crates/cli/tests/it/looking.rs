//! What servers offer.

use std::io::{BufRead, BufReader};

use serde_json::json;

use crate::child::server;
use crate::place::{BINARY, Place};

#[test]
fn the_demonstration_runs_on_a_fresh_machine() {
    let place = Place::new();
    let shown = place.run(&["demo"]).done();
    assert!(shown.contains("create_task"), "{shown}");
    assert!(shown.contains("Try switchboard"), "{shown}");
    // Its file is gone, and the user's own is not touched.
    assert_eq!(std::fs::read_dir(place.folder()).unwrap().count(), 1);
}

#[test]
fn a_server_is_given_on_the_spot() {
    let place = Place::new();
    let words = [
        "tools", "--names", "--", BINARY, "demo", "serve", "--db", "t.sqlite",
    ];
    let names = place.run(&words).done();
    assert_eq!(
        names,
        "create_task\nlist_tasks\nget_task\nupdate_task\ncomplete_task\ndelete_task\nsearch_tasks\n"
    );
}

#[test]
fn tools_of_several_servers_have_their_server_in_front() {
    let place = Place::with(json!({"one": server(), "two": server()}));
    let shown = place.run(&["tools"]).done();
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("TOOL "), "{shown}");
    assert!(lines[1].starts_with("one.echo "), "{shown}");
    assert!(lines[1].ends_with("  Says it again."), "{shown}");
    assert!(shown.contains("\ntwo.structured "), "{shown}");
    // Of one that is named, only that one is started and shown.
    let shown = place.run(&["tools", "two", "--names"]).done();
    assert!(shown.starts_with("echo\nfail\n"), "{shown}");
}

#[test]
fn that_there_are_none_is_said() {
    let mut denied = server();
    denied["x-switchboard"] = json!({"tools": {"deny": ["*"]}});
    let place = Place::with(json!({"one": denied}));
    assert_eq!(place.run(&["tools"]).done(), "no tools\n");
    assert_eq!(place.run(&["prompts"]).done(), "no prompts\n");
    assert_eq!(place.run(&["tools", "--names"]).done(), "");
}

#[test]
fn json_has_the_shapes_of_the_specification() {
    let place = Place::with(json!({"one": server()}));
    let ended = place.run(&["tools", "--json"]);
    let tools = ended.json()["tools"].clone();
    assert_eq!(tools[0]["name"], "echo");
    assert_eq!(tools[0]["server"], "one");
    assert_eq!(tools[0]["inputSchema"]["required"][0], "text");
    let lines = place.run(&["tools", "--jsonl"]).done();
    assert_eq!(lines.lines().count(), tools.as_array().unwrap().len());
    let resources = place.run(&["resources", "--json"]).json();
    assert_eq!(resources["resources"][0]["uri"], "demo://picture");
    assert_eq!(resources["resourceTemplates"], json!([]));
}

#[test]
fn servers_are_shown_with_their_state_and_without_secrets() {
    let mut secret = server();
    secret["env"]["KEY"] = json!("hidden-value");
    let place = Place::with(json!({
        "one": secret,
        "off": {"command": "x", "disabled": true},
        "far": {"url": "https://${USER_OF_IT}:pw@mcp.example.com/mcp?key=hidden-value", "disabled": true},
    }));
    let shown = place.run(&["ls"]).done();
    assert!(
        !shown.contains("hidden-value") && !shown.contains("pw@"),
        "{shown}"
    );
    let row = |name: &str| {
        let line = shown.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(row("one")[..5], ["one", "ready", "2025-11-25", "10", "1"]);
    assert_eq!(row("off")[1], "disabled");
    let servers = place.run(&["ls", "--json"]).json();
    assert_eq!(servers["servers"][2]["state"], "ready");
    let offline = place.run(&["ls", "--offline", "one"]).done();
    assert!(offline.contains("configured"), "{offline}");
}

#[test]
fn a_tool_is_shown_as_a_signature() {
    let place = Place::new();
    place.write(
        "mcp.json",
        &json!({"mcpServers": {"tasks": place.tasks()}}).to_string(),
    );
    let shown = place.run(&["show", "tasks.create_task"]).done();
    let first: Vec<&str> = shown.lines().take(2).collect();
    assert_eq!(first[0], "tasks.create_task");
    assert!(
        first[1].starts_with("  create_task(description: string, notes?: string, "),
        "{shown}"
    );
    let schema = place.run(&["show", "tasks", "get_task", "--schema"]).done();
    assert!(schema.contains("\"properties\": {"), "{schema}");
    let resource = place.run(&["show", "tasks", "task://{id}"]).done();
    assert!(resource.ends_with("One task, by its id.\n"), "{resource}");
    let missing = place.run(&["show", "tasks.creat_task"]).failed(5);
    assert!(
        missing.contains("did you mean \"create_task\"?"),
        "{missing}"
    );
    let server = place.run(&["show", "tasks"]).done();
    assert!(server.contains("A to-do list that stays."), "{server}");
}

#[test]
fn what_was_offered_before_is_searched_without_a_start() {
    let place = Place::with(json!({"one": server()}));
    let found = place.run(&["search", "says", "again"]).done();
    assert!(found.contains("echo"), "{found}");
    // Started now, it would list nothing; and it is not started.
    let text = std::fs::read_to_string(place.path("mcp.json")).unwrap();
    let text = text.replace("\"all\"", "\"unlisted\"");
    place.write("mcp.json", &text);
    assert_eq!(place.run(&["search", "says", "again"]).done(), found);
    // Another command is another server.
    place.write("mcp.json", &text.replace("--nocapture", "--no-capture"));
    let ended = place.run(&["search", "says", "again"]);
    assert_ne!(ended.code, 0, "{ended:?}");
}

#[test]
fn the_nearest_file_above_is_used() {
    let place = Place::with(json!({"one": server()}));
    let deep = place.path("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    let mut command = place.command(&["ls", "--offline", "--json"]);
    let ended: crate::place::Ended = command.current_dir(&deep).output().unwrap().into();
    assert_eq!(ended.json()["servers"][0]["name"], "one");
    std::fs::write(
        deep.join(".mcp.json"),
        r#"{"mcpServers":{"two":{"command":"x"}}}"#,
    )
    .unwrap();
    let mut command = place.command(&["ls", "--offline", "--json"]);
    let ended: crate::place::Ended = command.current_dir(&deep).output().unwrap().into();
    assert_eq!(ended.json()["servers"][0]["name"], "two");
    let ended = place.run(&["ls", "--offline", "--json", "--config", "a/b/.mcp.json"]);
    assert_eq!(ended.json()["servers"][0]["name"], "two");
}

#[test]
fn what_happens_is_told_as_it_happens() {
    let place = Place::with(json!({"one": server()}));
    let mut child = place.command(&["watch", "--jsonl"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut seen = Vec::new();
    while seen
        .last()
        .is_none_or(|text| text != "ready, revision 2025-11-25")
    {
        let line = lines.next().unwrap().unwrap();
        let told: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(told["server"], "one");
        seen.push(told["text"].as_str().unwrap().to_owned());
    }
    assert_eq!(seen[0], "starting");
    drop(lines);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_resource_is_watched() {
    let place = Place::with(json!({"one": server(), "two": server()}));
    let words = ["watch", "one", "--resource", "demo://picture"];
    let mut child = place.command(&words).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let told = lines
        .map(Result::unwrap)
        .find(|line| line.contains(" resource "));
    assert_eq!(told.as_deref(), Some("one resource demo://picture"));
    child.kill().unwrap();
    child.wait().unwrap();
    let ended = place.run(&["watch", "one", "-r", "demo://none"]);
    assert_eq!(ended.code, 5, "{ended:?}");
}
