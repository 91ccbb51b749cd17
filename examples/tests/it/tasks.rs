//! The task server: all its tools, and what it keeps through everything.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::process::{HttpServer, Scratch, Server};

fn command(file: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tasks"));
    command.arg("--db").arg(file);
    command
}

fn start(file: &Path) -> Server {
    Server::start(&mut command(file))
}

/// The database is whole, and its index of words is that of its tasks.
fn check_database(file: &Path) {
    let connection = Connection::open(file).unwrap();
    let whole: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(whole, "ok");
    let words = "INSERT INTO task_words (task_words, rank) VALUES ('integrity-check', 1)";
    connection.execute(words, []).unwrap();
}

/// The ids of all tasks, page by page.
fn all_ids(server: &mut Server) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    let mut arguments = json!({"limit": 90});
    loop {
        let page = server.tool("list_tasks", &arguments).unwrap();
        for task in page["tasks"].as_array().unwrap() {
            let id = task["id"].as_str().unwrap().to_owned();
            assert!(ids.insert(id), "listed twice: {task}");
        }
        if page["next"].is_null() {
            assert_eq!(page["total"], ids.len());
            return ids;
        }
        arguments["after"] = page["next"].clone();
    }
}

fn id_of(answer: &Value) -> String {
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    let task: Value = serde_json::from_str(text).unwrap();
    task["id"].as_str().unwrap().to_owned()
}

fn creating(description: &str) -> Value {
    json!({"name": "create_task", "arguments": {"description": description}})
}

#[test]
fn tasks_are_made_found_changed_and_deleted() {
    let scratch = Scratch::new();
    let mut server = start(&scratch.path("new/folder/tasks.sqlite"));
    let made = server
        .tool("create_task", &json!({"description": "Fix parser bug"}))
        .unwrap();
    assert_eq!(made["id"], "task_1");
    assert_eq!(made["status"], "pending");
    let more =
        json!({"description": "Buy milk", "notes": "Oat", "priority": "high", "due": "2026-07-28"});
    let milk = server.tool("create_task", &more).unwrap();
    let get = json!({"id": "task_2"});
    assert_eq!(server.tool("get_task", &get).unwrap(), milk);

    let high = server
        .tool(
            "list_tasks",
            &json!({"priority": "high", "due_by": "2026-07-28"}),
        )
        .unwrap();
    assert_eq!(high, json!({"tasks": [milk], "total": 1, "next": null}));
    let found = server
        .tool("search_tasks", &json!({"query": "\"OAT\" mil"}))
        .unwrap();
    assert_eq!(found, json!({"tasks": [milk]}));

    let change = json!({"id": "task_2", "status": "in_progress", "clear": ["due"]});
    let changed = server.tool("update_task", &change).unwrap();
    assert_eq!(changed["status"], "in_progress");
    assert_eq!(changed["due"], Value::Null);
    assert_eq!(changed["notes"], "Oat");
    let done = server.tool("complete_task", &get).unwrap();
    assert_eq!(done["status"], "completed");
    assert_eq!(server.tool("complete_task", &get).unwrap(), done);
    assert_eq!(server.tool("delete_task", &get).unwrap(), done);
    let left = server.tool("list_tasks", &json!({})).unwrap();
    assert_eq!(left["tasks"], json!([made]));
    assert!(server.close().success());
}

#[test]
fn what_is_wrong_with_a_call_is_said_to_the_model() {
    let scratch = Scratch::new();
    let mut server = start(&scratch.path("tasks.sqlite"));
    server
        .tool("create_task", &json!({"description": "a"}))
        .unwrap();
    let mut check = |tool: &str, arguments: Value, expected: &str| {
        let complaint = server.tool(tool, &arguments).unwrap_err();
        assert!(complaint.contains(expected), "{complaint}");
    };
    for tool in ["get_task", "complete_task", "delete_task"] {
        check(tool, json!({"id": "task_7"}), "task not found: task_7");
        check(tool, json!({"id": "nonsense"}), "task not found: nonsense");
    }
    let change = json!({"id": "task_7", "status": "completed"});
    check("update_task", change, "task not found: task_7");
    check("update_task", json!({"id": "task_1"}), "nothing to change");
    let both = json!({"id": "task_1", "due": "2026-01-01", "clear": ["due"]});
    check("update_task", both, "due: is both given");
    let day = |due: &str| json!({"description": "a", "due": due});
    check(
        "create_task",
        day("2026-02-30"),
        "due: \"2026-02-30\" is not a date",
    );
    check("create_task", day("tomorrow"), "write YYYY-MM-DD");
    check(
        "create_task",
        json!({"description": " "}),
        "description: must not be blank",
    );
    let long = "x".repeat(501);
    check("create_task", json!({"description": long}), "more than 500");
    check("create_task", json!({}), "description: required");
    check(
        "create_task",
        json!({"description": "a", "prio": 1}),
        "prio",
    );
    check("list_tasks", json!({"status": "done"}), "status");
    check("list_tasks", json!({"after": "x"}), "task not found: x");
    check(
        "search_tasks",
        json!({"query": "\"*\""}),
        "query: has no word",
    );
    assert_eq!(all_ids(&mut server).len(), 1);
}

#[test]
fn tasks_survive_a_restart() {
    let scratch = Scratch::new();
    let file = scratch.path("tasks.sqlite");
    let mut server = start(&file);
    let made = server
        .tool("create_task", &json!({"description": "stay"}))
        .unwrap();
    assert!(server.close().success());
    let mut server = start(&file);
    let found = server
        .tool("search_tasks", &json!({"query": "stay"}))
        .unwrap();
    assert_eq!(found["tasks"], json!([made]));
    assert!(server.close().success());
    check_database(&file);
}

#[test]
fn processes_that_write_at_once_lose_nothing() {
    let scratch = Scratch::new();
    let file = scratch.path("tasks.sqlite");
    let write = |name: &'static str| {
        let file = file.clone();
        thread::spawn(move || {
            // Both make the file, both bring it into form.
            let mut server = start(&file);
            let calls: Vec<u64> = (0..200)
                .map(|n| server.begin("tools/call", &creating(&format!("{name} {n}"))))
                .collect();
            let ids: Vec<String> = calls.iter().map(|id| id_of(&server.answer(*id))).collect();
            assert!(server.close().success());
            ids
        })
    };
    let (one, two) = (write("one"), write("two"));
    let mut written: BTreeSet<String> = one.join().unwrap().into_iter().collect();
    written.extend(two.join().unwrap());
    assert_eq!(written.len(), 400, "an id was given out twice");
    assert_eq!(all_ids(&mut start(&file)), written);
    check_database(&file);
}

#[test]
fn a_killed_process_leaves_all_that_it_answered() {
    let scratch = Scratch::new();
    let file = scratch.path("tasks.sqlite");
    let mut answered = BTreeSet::new();
    for round in 1..=3 {
        let mut server = start(&file);
        for n in 0..200 {
            server.begin(
                "tools/call",
                &creating(&format!("round {round} number {n}")),
            );
        }
        for _ in 0..20 {
            let (_, answer) = server.next_answer().unwrap();
            answered.insert(id_of(&answer));
        }
        server.kill();
    }
    assert_eq!(answered.len(), 60);
    let mut server = start(&file);
    assert!(all_ids(&mut server).is_superset(&answered));
    let search = json!({"query": "round 1 number", "limit": 200});
    let found = server.tool("search_tasks", &search).unwrap();
    assert!(found["tasks"].as_array().unwrap().len() >= 20);
    check_database(&file);
}

#[test]
fn cancelled_calls_are_done_or_not_but_never_half() {
    let scratch = Scratch::new();
    let file = scratch.path("tasks.sqlite");
    let mut server = start(&file);
    let calls: Vec<u64> = (0..100)
        .map(|n| server.begin("tools/call", &creating(&format!("number {n}"))))
        .collect();
    for id in calls.iter().skip(50) {
        server.cancel(*id);
    }
    let kept: BTreeSet<String> = calls
        .iter()
        .take(50)
        .map(|id| id_of(&server.answer(*id)))
        .collect();
    assert!(all_ids(&mut server).is_superset(&kept));
    assert!(server.close().success());
    check_database(&file);
}

#[test]
fn a_writer_that_waits_does_not_keep_the_server_from_ending() {
    let scratch = Scratch::new();
    let file = scratch.path("tasks.sqlite");
    let mut server = start(&file);
    let other = Connection::open(&file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    server.begin("tools/call", &creating("never"));
    // A reader does not wait; its answer also says that the call above was taken in.
    assert_eq!(all_ids(&mut server).len(), 0);
    let closed = Instant::now();
    assert!(server.close().success());
    assert!(closed.elapsed() < Duration::from_secs(5));
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(all_ids(&mut start(&file)).len(), 0);
}

#[test]
fn tasks_are_served_over_http() {
    let scratch = Scratch::new();
    let server = HttpServer::start(&mut command(&scratch.path("tasks.sqlite")));
    let made = post(
        &server.address,
        "create_task",
        &json!({"description": "over HTTP"}),
    );
    assert_eq!(made["result"]["structuredContent"]["id"], "task_1");
    let listed = post(&server.address, "list_tasks", &json!({}));
    assert_eq!(listed["result"]["structuredContent"]["total"], 1);
}

/// Calls a tool in the stateless way, one connection for each.
fn post(address: &str, tool: &str, arguments: &Value) -> Value {
    let body = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": tool,
            "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    })
    .to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: {tool}\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    let (_, body) = response.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{response}"))
}

#[test]
fn a_file_that_is_not_ours_is_refused_before_anybody_is_served() {
    let scratch = Scratch::new();
    let file = scratch.path("theirs.sqlite");
    let connection = Connection::open(&file).unwrap();
    connection.execute_batch("CREATE TABLE theirs (a)").unwrap();
    let output = command(&file).output().unwrap();
    assert!(!output.status.success());
    assert!(output.stdout.is_empty());
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.starts_with("error: "), "{complaint}");
    assert!(
        complaint.contains("theirs.sqlite is not a database of tasks"),
        "{complaint}"
    );
}

#[test]
fn help_is_given_without_a_word_on_standard_output() {
    let output = Command::new(env!("CARGO_BIN_EXE_tasks"))
        .arg("--help")
        .output()
        .unwrap();
    assert!(output.status.success() && output.stdout.is_empty());
    let help = String::from_utf8(output.stderr).unwrap();
    assert!(
        help.contains("--db FILE") && help.contains("--http PORT"),
        "{help}"
    );
}
