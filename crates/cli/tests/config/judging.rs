//! validate, diff.

use serde_json::json;

use crate::place::{Place, fixture};

#[test]
fn everything_that_is_wrong_is_named_with_its_place() {
    let place = Place::new();
    place.write(
        "mcp.json",
        "{ \"mcpServers\": {\n  \"a\": { \"comand\": \"x\" },\n  \"b\": { \"command\": \"x\", \"timeout\": 30, \"env\": { \"K\": \"${NOBODY_HAS_THIS}\" }, \"args\": [\"${NOBODY_HAS_THIS}\"] }\n} }\n",
    );
    let ended = place.run(&["validate"]);
    assert_eq!(ended.code, 2);
    assert_eq!(
        ended.out,
        "…/project/mcp.json:2:3: error: server \"a\": has neither a \"command\" nor a \"url\"\n\
         …/project/mcp.json:2:10: warning: server \"a\": unknown key \"comand\", did you mean \"command\"?\n\
         …/project/mcp.json:3:37: warning: server \"b\": \"timeout\" is 30 ms, write \"30s\" if seconds were meant\n\
         …/project/mcp.json:3:88: warning: server \"b\": the environment variable \"NOBODY_HAS_THIS\" is not set, set it or write ${NOBODY_HAS_THIS:-default}\n\
         …/project/mcp.json: 1 server, 1 error, 3 warnings\n"
    );
    assert_eq!(ended.err, "");
    let ended = place.run(&["validate", "--json"]);
    assert_eq!(ended.code, 2);
    let document = ended.json();
    assert_eq!(document["errors"], 1);
    assert_eq!(document["problems"][0]["line"], 2);
    assert_eq!(document["problems"][3]["variable"], "NOBODY_HAS_THIS");
    let said: serde_json::Value = serde_json::from_str(&ended.err).unwrap();
    assert_eq!(said["code"], 2);
    let lines = place.run(&["validate", "--jsonl"]);
    assert_eq!(lines.out.lines().count(), 4);
}

#[test]
fn warnings_count_if_that_is_wanted() {
    let place = Place::new();
    place.write("mcp.json", "{\"mcpServers\":{\"a\":{\"command\":\"x y\"}}}");
    assert_eq!(place.run(&["validate"]).code, 0);
    assert_eq!(place.run(&["validate", "--strict"]).code, 2);
    place.write(
        "mcp.json",
        "{\"mcpServers\":{\"a\":{\"command\":\"x\",\"env\":{\"A\":\"${B}\"}}}}",
    );
    let with = place.run_with(&["validate", "--strict"], "", &[("B", "1")]);
    with.done("…/project/mcp.json: 1 server, 0 errors, 0 warnings\n");
}

#[test]
fn no_program_is_run_for_a_variable() {
    let place = Place::new();
    let text = "{\"mcpServers\":{\"a\":{\"command\":\"x\",\"env\":{\"A\":\"${cmd:touch ran}\"}}}}";
    place.write("mcp.json", text);
    assert_eq!(place.run(&["validate", "--strict"]).code, 0);
    assert!(!place.project().join("ran").exists());
}

#[test]
fn files_that_cannot_be_read_are_named_too() {
    let place = Place::new();
    place.write("a.json", "{\n  \"mcpServers\": [}\n");
    let ended = place.run(&["validate", "a.json"]);
    assert_eq!(ended.code, 2);
    assert!(ended.out.starts_with("a.json:2:18: error: "), "{ended:?}");
    place.write("a.toml", "[mcp_servers.a\n");
    let ended = place.run(&["validate", "a.toml"]);
    assert!(
        ended.out.starts_with("a.toml:1:") && ended.out.contains("not TOML"),
        "{ended:?}"
    );
    let ended = place.run(&["validate", "none.json"]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.err.starts_with("error: none.json cannot be read: "),
        "{ended:?}"
    );
    let ended = place.run(&["validate"]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("hint: `switchboard add"), "{ended:?}");
}

#[test]
fn files_of_every_program_are_valid() {
    let place = Place::new();
    for (name, path) in [
        ("claude_desktop_config.json", "claude_desktop_config.json"),
        ("claude.json", ".claude.json"),
        ("vscode-mcp.json", ".vscode/mcp.json"),
        ("cursor-mcp.json", ".cursor/mcp.json"),
        ("codex-config.toml", ".codex/config.toml"),
        ("goose-config.yaml", "goose/config.yaml"),
        ("zed-settings.json", ".zed/settings.json"),
        ("gemini-settings.json", ".gemini/settings.json"),
        ("opencode.jsonc", "opencode.jsonc"),
        ("windsurf-mcp_config.json", "mcp_config.json"),
    ] {
        place.write(path, &fixture(name));
        let ended = place.run(&["validate", path, "--json"]);
        assert_eq!(ended.code, 0, "{path}: {ended:?}");
        let document = ended.json();
        for problem in document["problems"].as_array().unwrap() {
            let is_expected = problem["severity"] == "note"
                || !problem["variable"].is_null()
                || problem["message"]
                    .as_str()
                    .unwrap()
                    .contains("cannot be read");
            assert!(is_expected, "{path}: {problem}");
        }
    }
}

#[test]
fn a_plan_says_what_would_happen() {
    let place = Place::new();
    place.write(
        "mcp.json",
        r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}, "c": {"command": "x"}, "d": {"command": "x"}}}"#,
    );
    place.write(
        "deep/new.json",
        r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}, "c": {"command": "x", "timeout": 5000}, "e": {"url": "https://e.example"}}}"#,
    );
    let expected = "PLAN     SERVER  WHAT CHANGES\n\
                    start    e\n\
                    stop     d\n\
                    restart  b       command\n\
                    update   c       timeout\n\
                    keep     a\n";
    place
        .run(&["diff", "mcp.json", "deep/new.json"])
        .done(expected);
    place.run(&["diff", "deep/new.json"]).done(expected);
    place
        .run(&["diff", "mcp.json", "mcp.json"])
        .done("nothing would change\n");
    let document = place
        .run(&["diff", "mcp.json", "deep/new.json", "--json"])
        .json();
    assert_eq!(
        document["servers"],
        json!([
            {"plan": "start", "server": "e"},
            {"plan": "stop", "server": "d"},
            {"plan": "restart", "server": "b", "changed": ["command"]},
            {"plan": "update", "server": "c", "changed": ["timeout"]},
            {"plan": "keep", "server": "a"},
        ])
    );
    assert_eq!(place.run(&["diff", "mcp.json", "none.json"]).code, 2);
}
