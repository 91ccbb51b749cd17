//! What is done with what servers offer.

use serde_json::json;

use crate::child::server;
use crate::place::{Ended, Place};

fn place() -> Place {
    Place::with(json!({"one": server(), "other": {"command": "/no/such/program"}}))
}

#[test]
fn a_tool_is_called_by_any_of_its_names() {
    let place = place();
    for target in [
        &["one", "echo"][..],
        &["one.echo"],
        &["one/echo"],
        &["mcp__one__echo"],
    ] {
        let words = [&["call"], target, &["text=hi"]].concat();
        // The other server, which cannot be started, is not.
        assert_eq!(place.run(&words).done(), "hi\n", "{target:?}");
    }
}

#[test]
fn arguments_come_as_words_files_and_json() {
    let place = place();
    place.write("said.txt", "from a file");
    let check = |words: &[&str], expected: &str| {
        let words = [&["call", "one.echo"], words].concat();
        assert_eq!(place.run(&words).done(), expected, "{words:?}");
    };
    check(&["text=5"], "5\n");
    check(&["text:=\"json\""], "json\n");
    check(&["text=@said.txt"], "from a file\n");
    check(&[r#"{"text":"whole"}"#], "whole\n");
    let ended = place.run_with(&["call", "one.echo", "-"], r#"{"text":"piped"}"#);
    assert_eq!(ended.done(), "piped\n");
    let ended = place.run_with(&["call", "one.echo", "text=@-"], "raw");
    assert_eq!(ended.done(), "raw\n");
}

#[test]
fn standard_input_that_is_too_large_is_refused_and_not_cut() {
    let place = place();
    let check = |words: &[&str], mebibytes: usize| {
        let too_much = " ".repeat((mebibytes << 20) + 1);
        let refused = place.run_with(words, &too_much).failed(2);
        let reason = format!("standard input: it is larger than {mebibytes} MiB");
        assert!(refused.contains(&reason), "{words:?} {refused}");
    };
    check(&["call", "one.echo", "-"], 64);
    check(&["add-json", "one", "-"], 1);
}

#[test]
fn only_the_text_of_a_result_is_printed() {
    let place = place();
    let check = |tool: &str, expected: &str| {
        let ended = place.run(&["call", "one", tool, "-q"]);
        assert_eq!(ended.done(), expected, "{tool}");
    };
    check("picture", "a picture\n");
    check("colours", "[31mred[0m\n");
    check("steps", "done\n");
    check("structured", "{\n  \"a\": 2,\n  \"z\": 1\n}\n");
    let ended = place.run(&["call", "one.picture"]);
    assert_eq!(
        ended.stderr,
        "image/png, 4 bytes, not shown; --save DIR writes it\n"
    );
}

#[test]
fn what_is_no_text_is_saved_and_nothing_is_written_over() {
    let place = place();
    for name in ["image.png", "image-2.png"] {
        let ended = place.run(&["call", "one.picture", "--save", "out"]);
        assert_eq!(ended.stdout, "a picture\n");
        assert_eq!(ended.stderr, format!("saved out/{name}\n"));
        let bytes = std::fs::read(place.path("out").join(name)).unwrap();
        assert_eq!(bytes, b"\x89PNG");
    }
    let ended = place.run(&["read", "one", "demo://picture", "--save", "out"]);
    assert_eq!(ended.stderr, "saved out/picture.png\n");
    // Into a pipe go the bytes.
    let output = place
        .command(&["read", "one", "demo://picture"])
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"\x89PNG");
}

#[test]
fn a_result_is_one_document_if_json_is_wanted() {
    let place = place();
    let result = place.run(&["call", "one.echo", "text=hi", "--json"]).json();
    assert_eq!(result, json!({"content": [{"type": "text", "text": "hi"}]}));
    let ended = place.run(&["call", "one.fail", "--json"]);
    assert_eq!(ended.json()["isError"], true);
    assert_eq!(
        ended.last_line(),
        json!({"code": 5, "message": "it broke\nbadly", "server": "one", "hint": null})
    );
}

#[test]
fn what_would_be_sent_is_shown() {
    let place = place();
    let shown = place
        .run(&["call", "one.echo", "text=hi", "--dry-run", "--json"])
        .json();
    assert_eq!(shown, json!({"name": "echo", "arguments": {"text": "hi"}}));
}

#[test]
fn a_command_on_the_spot_sees_the_environment() {
    let place = Place::new();
    let server = server();
    let words = [
        "call",
        "echo",
        "text=hi",
        "--",
        server["command"].as_str().unwrap(),
    ];
    let words = [&words[..], &["--exact", "child::serves", "--nocapture"]].concat();
    let (name, part) = server["env"].as_object().unwrap().iter().next().unwrap();
    let mut command = place.command(&words);
    let ended: Ended = command
        .env(name, part.as_str().unwrap())
        .output()
        .unwrap()
        .into();
    assert_eq!(ended.done(), "hi\n");
}

#[test]
fn any_request_can_be_made() {
    let place = place();
    let result = place.run(&["raw", "one", "resources/list"]).json();
    assert_eq!(result["resources"][0]["name"], "picture");
    let params = r#"{"name":"echo","arguments":{"text":"raw"}}"#;
    let result = place.run(&["raw", "one", "tools/call", params]).json();
    assert_eq!(result["content"][0]["text"], "raw");
    let error = place.run(&["raw", "one", "no/such"]).failed(5);
    assert!(error.contains("-32601"), "{error}");
}

#[test]
fn prompts_and_completions_work_with_the_task_server() {
    let place = Place::new();
    let servers = json!({"mcpServers": {"tasks": place.tasks()}});
    place.write("mcp.json", &servers.to_string());
    let made = place
        .run(&[
            "call",
            "create_task",
            "description=Tidy up",
            "priority=high",
            "--json",
        ])
        .json();
    let id = made["structuredContent"]["id"].as_str().unwrap().to_owned();
    let all = place.run(&["read", "tasks://all"]).done();
    assert!(all.contains("Tidy up"), "{all}");
    let one = place
        .run(&["read", "tasks", &format!("task://{id}")])
        .done();
    assert!(one.contains("Tidy up"), "{one}");
    let prompt = place.run(&["prompt", "plan_day", "hours=2"]).done();
    assert!(prompt.contains("Tidy up"), "{prompt}");
    let completed = place
        .run(&["complete", "tasks", "task://{id}", "id="])
        .done();
    assert_eq!(completed, format!("{id}\n"));
    let error = place.run(&["prompt", "plan_day", "hour=2"]).failed(2);
    assert!(error.contains("did you mean \"hours\"?"), "{error}");
}
