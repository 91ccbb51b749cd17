//! add, add-json, remove, enable, disable.

use std::fs;

use serde_json::json;

use crate::place::Place;

const FILE: &str = "// Ours.\n{\n    \"mcpServers\": {\n        \"time\": { \"command\": \"uvx\", \"args\": [\"mcp-server-time\"] }, // clock\n        // more below\n    },\n}\n";

#[test]
fn a_server_is_added_and_everything_else_stays() {
    let place = Place::new();
    place.write(".mcp.json", FILE);
    let words = [
        "add",
        "memory",
        "-e",
        "A=${B}",
        "--",
        "npx",
        "-y",
        "server-memory",
    ];
    place
        .run(&words)
        .done("added \"memory\" to …/project/.mcp.json\n");
    let added = "        \"memory\": {\n            \"type\": \"stdio\",\n            \"command\": \"npx\",\n            \"args\": [\"-y\", \"server-memory\"],\n            \"env\": {\n                \"A\": \"${B}\",\n            },\n        },\n";
    let after = place.read(".mcp.json");
    assert!(after.contains(added), "{after}");
    assert_eq!(after.replace(added, ""), FILE);
}

#[test]
fn a_name_that_is_taken_is_given_away_by_force_only() {
    let place = Place::new();
    place.write(".mcp.json", FILE);
    let words = ["add", "time", "https://time.example/mcp"];
    place.run(&words).failed(
        2,
        "error: there is a server \"time\" in …/project/.mcp.json already\nhint: --force replaces it\n",
    );
    assert_eq!(place.read(".mcp.json"), FILE);
    let words = ["add", "time", "https://time.example/mcp", "--force"];
    place
        .run(&words)
        .done("replaced \"time\" in …/project/.mcp.json\n");
    let after = place.read(".mcp.json");
    assert!(
        after.contains("\"url\": \"https://time.example/mcp\""),
        "{after}"
    );
    assert!(
        after.contains("}, // clock\n        // more below\n"),
        "{after}"
    );
}

#[test]
fn without_a_file_there_is_a_new_one() {
    let place = Place::new();
    let words = [
        "add",
        "docs",
        "https://docs.example/mcp",
        "-H",
        "X-Team: a: b",
        "--bearer-env",
        "TOKEN",
    ];
    place
        .run(&words)
        .done("added \"docs\" to …/home/.config/switchboard/mcp.json\n");
    assert_eq!(
        place.read_home(".config/switchboard/mcp.json"),
        "{\n  \"mcpServers\": {\n    \"docs\": {\n      \"type\": \"http\",\n      \"url\": \"https://docs.example/mcp\",\n      \"headers\": {\n        \"X-Team\": \"a: b\",\n        \"Authorization\": \"Bearer ${TOKEN}\"\n      }\n    }\n  }\n}\n"
    );
    let words = [
        "add",
        "docs",
        "--project",
        "-t",
        "sse",
        "https://docs.example/sse",
    ];
    place
        .run(&words)
        .done("added \"docs\" to …/project/.mcp.json\n");
    assert!(place.read(".mcp.json").contains("\"type\": \"sse\""));
    let words = ["add", "more", "--user", "--", "x"];
    place
        .run(&words)
        .done("added \"more\" to …/home/.config/switchboard/mcp.json\n");
}

#[test]
fn a_dry_run_shows_the_change_without_secrets() {
    let place = Place::new();
    place.write("mcp.json", "{\n  \"mcpServers\": {}\n}\n");
    let words = ["add", "a", "--dry-run", "-e", "KEY=hush", "--", "x"];
    place.run(&words).done(
        "--- …/project/mcp.json\n+++ …/project/mcp.json\n@@ -1,3 +1,11 @@\n {\n-  \"mcpServers\": {}\n+  \"mcpServers\": {\n+    \"a\": {\n+      \"type\": \"stdio\",\n+      \"command\": \"x\",\n+      \"env\": {\n+        \"KEY\": \"***\"\n+      }\n+    }\n+  }\n }\n",
    );
    assert_eq!(place.read("mcp.json"), "{\n  \"mcpServers\": {}\n}\n");
}

#[test]
fn what_makes_no_server_is_refused() {
    let place = Place::new();
    let check = |words: &[&str], err: &str| place.run(words).failed(2, err);
    check(
        &["add", "a"],
        "error: a server is a URL or a command\nhint: `switchboard add a URL`, or `switchboard add a -- COMMAND`\n",
    );
    check(
        &["add", "a", "npx"],
        "error: \"npx\" is no URL\nhint: a command stands behind `--`: `switchboard add a -- npx`\n",
    );
    check(
        &["add", "a", "-t", "http", "--", "x"],
        "error: a command is reached over stdio only\n",
    );
    check(
        &["add", "a", "-H", "A: b", "--", "x"],
        "error: headers and tokens are for URLs; a command has --env\n",
    );
    check(
        &["add", "a", "https://x.example", "-e", "A=b"],
        "error: variables are for commands; a URL has --header\n",
    );
    check(
        &["add", "a", "-e", "A", "--", "x"],
        "error: expected NAME=VALUE, found \"A\"\n",
    );
    check(
        &["add", " a", "--", "x"],
        "error: server \" a\": the name of a server has 1 to 64 visible characters, and no space at its ends\n",
    );
    check(
        &["add", "a", "https://u:p@x.example"],
        "error: server \"a\": \"url\" cannot be connected to: it has a user or a password in it, set a header instead\n",
    );
    let ended = place.run(&["add", "a", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&ended.err).unwrap();
    assert_eq!(said["code"], 2);
    assert!(!place.home().join(".config").exists());
}

#[test]
fn a_server_is_added_as_json() {
    let place = Place::new();
    place.write("mcp.json", "{}");
    let json = r#"{"url": "https://a.example", "x-switchboard": {"start": "lazy"}, "zeta": 1, "alpha": 2}"#;
    let ended = place.run_with(&["add-json", "a", "-", "--json"], json, &[]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.json()["action"], "added");
    assert_eq!(ended.json()["written"], true);
    let text = place.read("mcp.json");
    assert!(
        text.find("zeta").unwrap() < text.find("alpha").unwrap(),
        "{text}"
    );
    place.run(&["add-json", "b", "{\"args\": []}"]).failed(
        2,
        "error: server \"b\": has neither a \"command\" nor a \"url\"\n",
    );
    let odd = place.run(&["add-json", "c", "{\"command\": \"x\", \"arg\": []}"]);
    assert_eq!(odd.code, 0);
    assert!(odd.err.contains("did you mean \"args\"?"), "{odd:?}");
}

#[test]
fn a_server_is_removed() {
    let place = Place::new();
    place.write(".mcp.json", FILE);
    place.run(&["remove", "tine"]).failed(
        2,
        "error: there is no server \"tine\" in …/project/.mcp.json\nhint: did you mean \"time\"?\n",
    );
    let dry = place.run(&["remove", "time", "--dry-run"]);
    assert!(dry.out.contains("-        \"time\""), "{dry:?}");
    assert_eq!(place.read(".mcp.json"), FILE);
    place
        .run(&["rm", "time"])
        .done("removed \"time\" from …/project/.mcp.json\n");
    let after = place.read(".mcp.json");
    assert!(
        !after.contains("time") && after.contains("// more below"),
        "{after}"
    );
}

#[test]
fn a_server_is_switched_off_and_on_again() {
    let place = Place::new();
    place.write(".mcp.json", FILE);
    place
        .run(&["disable", "time"])
        .done("disabled \"time\" in …/project/.mcp.json\n");
    let off = FILE.replace(
        "[\"mcp-server-time\"] }",
        "[\"mcp-server-time\"], \"disabled\": true }",
    );
    assert_eq!(place.read(".mcp.json"), off);
    place
        .run(&["disable", "time"])
        .done("nothing to change about \"time\" in …/project/.mcp.json\n");
    place
        .run(&["enable", "time"])
        .done("enabled \"time\" in …/project/.mcp.json\n");
    assert_eq!(place.read(".mcp.json"), FILE);
}

#[test]
fn files_of_other_programs_are_changed_in_their_words() {
    let place = Place::new();
    place.write(".zed/settings.json", "{ \"theme\": \"One\" } // mine\n");
    let config = ["--config", ".zed/settings.json"];
    let run = |words: &[&str]| place.run(&[&config, words].concat());
    assert_eq!(run(&["add", "a", "--", "x", "y"]).code, 0);
    assert_eq!(run(&["disable", "a"]).code, 0);
    let text = place.read(".zed/settings.json");
    assert!(text.ends_with("} // mine\n"), "{text}");
    let text = text.replace(" // mine", "");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        value,
        json!({"theme": "One", "context_servers": {"a": {"command": "x", "args": ["y"], "enabled": false}}})
    );
    place.write(".codex/config.toml", "[mcp_servers.a]\ncommand = 'x'\n");
    place.run(&["--config", ".codex/config.toml", "remove", "a"]).failed(
        2,
        "error: .codex/config.toml is TOML, which is not changed here\nhint: `switchboard import .codex/config.toml` brings its servers over\n",
    );
}

#[test]
fn a_file_that_is_not_json_is_left_alone() {
    let place = Place::new();
    place.write("mcp.json", "{ \"mcpServers\": { 'a': 1 } }");
    place.run(&["add", "b", "--", "x"]).failed(
        2,
        "error: …/project/mcp.json:1:19: expected double quotes, found single ones\n",
    );
    assert_eq!(place.read("mcp.json"), "{ \"mcpServers\": { 'a': 1 } }");
}

#[test]
fn nothing_is_left_behind() {
    let place = Place::new();
    place.write("mcp.json", "{}");
    for name in ["a", "b", "c"] {
        assert_eq!(place.run(&["add", name, "--", "x"]).code, 0);
    }
    let names: Vec<_> = fs::read_dir(place.project()).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn of_many_at_once_none_is_lost_silently() {
    let place = Place::new();
    place.write("mcp.json", "{}");
    let mut running = Vec::new();
    for number in 0..8 {
        let name = format!("s{number}");
        let child = place.command(&["add", &name, "--", "x"]).spawn().unwrap();
        running.push((name, child));
    }
    let mut done = Vec::new();
    for (name, mut child) in running {
        if child.wait().unwrap().success() {
            done.push(name);
        }
    }
    let value: serde_json::Value = serde_json::from_str(&place.read("mcp.json")).unwrap();
    let servers = value["mcpServers"].as_object().unwrap();
    assert!(!done.is_empty());
    assert!(
        done.iter().all(|name| servers.contains_key(name)),
        "{done:?} {servers:?}"
    );
}
