//! Files before and after.

use proptest::prelude::*;

use super::*;

/// A change of a text that is in no file yet.
fn change(path: &str, text: &str) -> Change {
    let nowhere = Path::new("/nowhere/at/all").join(path);
    let (file, _) = EditedFile::open(&nowhere).unwrap();
    Change {
        config: read(&nowhere, text).unwrap(),
        file,
        before: text.to_owned(),
        text: text.to_owned(),
    }
}

fn added(path: &str, text: &str) -> String {
    let mut change = change(path, text);
    let json = r#"{"command":"uvx","args":["a","b"],"env":{"K":"v"}}"#;
    change.add("new", json).unwrap();
    change.text
}

fn switched(path: &str, text: &str, is_on: bool) -> String {
    let mut change = change(path, text);
    assert!(change.switch("a", is_on).unwrap());
    assert!(!change.switch("a", is_on).unwrap());
    change.text
}

const NEW: &str = "{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"uvx\",\n      \
                   \"args\": [\"a\", \"b\"],\n      \"env\": {\n        \"K\": \"v\"\n      }\n    }\n  }\n}";

#[test]
fn a_new_file_has_one_server() {
    assert_eq!(added("mcp.json", ""), format!("{NEW}\n"));
    assert_eq!(added("mcp.json", "{}"), NEW);
    assert_eq!(added("mcp.json", "{\n}\n"), format!("{NEW}\n"));
}

#[test]
fn comments_indentation_commas_and_line_ends_stay() {
    let before = "\u{feff}// ours\r\n{\r\n\t\"mcpServers\": { // all\r\n\t\t\"a\": {\"command\":\"x\"}, // a\r\n\t\t// last\r\n\t},\r\n\t\"z\":  [1,2 , 3],\r\n}";
    let after = added("mcp.json", before);
    let server = "\t\t\"new\": {\r\n\t\t\t\"command\": \"uvx\",\r\n\t\t\t\"args\": [\"a\", \"b\"],\r\n\t\t\t\"env\": {\r\n\t\t\t\t\"K\": \"v\",\r\n\t\t\t},\r\n\t\t},\r\n";
    assert_eq!(after.replace(server, ""), before, "{after}");
}

#[test]
fn each_file_has_its_own_words() {
    let check = |path: &str, expected: &str| {
        let text = added(path, "{}");
        assert!(
            text.starts_with(&format!("{{\n  \"{expected}\"")),
            "{path}: {text}"
        );
    };
    check(".vscode/mcp.json", "servers");
    check(".zed/settings.json", "context_servers");
    check("opencode.json", "mcp");
    check(".cursor/mcp.json", "mcpServers");
    let text = added(
        "settings.json",
        r#"{"mcp": {"servers": {"a": {"command": "x"}}}}"#,
    );
    assert!(text.starts_with("{\"mcp\": {\"servers\": {\n"), "{text}");
}

#[test]
fn one_of_the_same_name_is_replaced_where_it_is() {
    let mut change = change(
        "mcp.json",
        "{\n  \"mcpServers\": {\n    \"a\": {\"url\": \"https://a.example\"}, // one\n    \"b\": {\"command\": \"x\"}\n  }\n}\n",
    );
    change.add("a", r#"{"command":"y"}"#).unwrap();
    assert_eq!(
        change.text,
        "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"y\"\n    }, // one\n    \"b\": {\"command\": \"x\"}\n  }\n}\n"
    );
}

#[test]
fn what_is_no_server_is_not_added() {
    let mut change = change("mcp.json", "{}");
    let mut check = |name: &str, json: &str, reason: &str| {
        let failure = change.add(name, json).unwrap_err();
        assert!(failure.message.contains(reason), "{failure}");
        assert_eq!(change.text, "{}");
    };
    check("a", "[]", "no JSON object");
    check("a", "{", "not JSON");
    check("a", "", "found nothing");
    check("a", "{}", "neither a \"command\" nor a \"url\"");
    check(" a", r#"{"command":"x"}"#, "visible characters");
    check(
        "a",
        r#"{"command":"x","args":1}"#,
        "\"args\" expects a list",
    );
    let odd = change.add("a", r#"{"command":"x","arg":[]}"#).unwrap();
    assert_eq!(odd.len(), 1);
}

#[test]
fn servers_that_are_no_object_are_left_alone() {
    let mut change = change("mcp.json", r#"{"mcpServers": []}"#);
    let failure = change.add("a", r#"{"command":"x"}"#).unwrap_err();
    assert!(failure.message.contains("is no object"), "{failure}");
}

#[test]
fn a_server_is_removed_with_its_comma() {
    let text = "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"},\n    // about b\n    \"b\": {\"command\": \"y\"}\n  }\n}\n";
    let check = |name: &str, expected: &str| {
        let mut change = change("mcp.json", text);
        change.remove(name).unwrap();
        assert_eq!(change.text, expected);
    };
    check(
        "a",
        "{\n  \"mcpServers\": {\n    // about b\n    \"b\": {\"command\": \"y\"}\n  }\n}\n",
    );
    check(
        "b",
        "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n    // about b\n  }\n}\n",
    );
    let failure = change("mcp.json", text).remove("aa").unwrap_err();
    assert_eq!(failure.hint.as_deref(), Some("there are: a, b"));
}

#[test]
fn a_name_that_is_there_twice_is_not_removed_by_halves() {
    let text = r#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}"#;
    let failure = change("mcp.json", text).remove("a").unwrap_err();
    assert!(failure.message.contains("more than once"), "{failure}");
}

#[test]
fn switches_are_in_the_words_of_the_file() {
    let check = |path: &str, on: &str, off: &str| {
        assert_eq!(switched(path, on, false), off, "{path}");
        let again = switched(path, off, true);
        let config = read(Path::new(path), &again).unwrap();
        assert!(config.servers[0].is_enabled, "{again}");
    };
    check(
        "mcp.json",
        r#"{"mcpServers": {"a": {"command": "x"}}}"#,
        r#"{"mcpServers": {"a": {"command": "x", "disabled": true}}}"#,
    );
    check(
        "mcp.json",
        r#"{"mcpServers":{"a":{"command":"x"}}}"#,
        r#"{"mcpServers":{"a":{"command":"x","disabled":true}}}"#,
    );
    check(
        "mcp.json",
        "{\n\t\"mcpServers\": {\n\t\t\"a\": {\n\t\t\t\"command\": \"x\" // c\n\t\t}\n\t}\n}\n",
        "{\n\t\"mcpServers\": {\n\t\t\"a\": {\n\t\t\t\"command\": \"x\", // c\n\t\t\t\"disabled\": true\n\t\t}\n\t}\n}\n",
    );
    check(
        ".zed/settings.json",
        r#"{"context_servers": {"a": {"command": "x"}}}"#,
        r#"{"context_servers": {"a": {"command": "x", "enabled": false}}}"#,
    );
    check(
        "opencode.json",
        r#"{"mcp": {"a": {"type": "local", "command": ["x"], "enabled": true}}}"#,
        r#"{"mcp": {"a": {"type": "local", "command": ["x"], "enabled": false}}}"#,
    );
}

#[test]
fn switches_beside_the_servers_are_found() {
    let text = r#"{"mcpServers": {"a": {"command": "x"}}, "disabledMcpServers": ["b", "a"]}"#;
    let after = switched("claude.json", text, true);
    assert_eq!(
        after,
        r#"{"mcpServers": {"a": {"command": "x"}}, "disabledMcpServers": ["b"]}"#
    );
    let text =
        r#"{"mcpServers": {"a": {"command": "x"}}, "mcp": {"allowed": ["b"], "excluded": ["a"]}}"#;
    let after = switched(".gemini/settings.json", text, true);
    let after: Json = serde_json::from_str(&after).unwrap();
    assert_eq!(
        after["mcp"],
        serde_json::json!({"allowed": ["b", "a"], "excluded": []})
    );
    let off = switched(
        ".gemini/settings.json",
        r#"{"mcpServers": {"a": {"command": "x"}}}"#,
        false,
    );
    let off: Json = serde_json::from_str(&off).unwrap();
    assert_eq!(off["mcp"]["excluded"], serde_json::json!(["a"]));
}

#[test]
fn what_a_person_is_asked_for_is_added_once() {
    let mut change = change("mcp.json", "{\n  \"mcpServers\": {}\n}\n");
    let inputs = [serde_json::json!({"id": "tok", "type": "promptString", "password": true})];
    change.add_inputs(&inputs).unwrap();
    change.add_inputs(&inputs).unwrap();
    assert_eq!(change.text.matches("tok").count(), 1, "{}", change.text);
}

#[test]
fn a_change_is_shown_without_secrets() {
    let mut change = change("mcp.json", "{\n  \"mcpServers\": {}\n}\n");
    change
        .add("a", r#"{"command":"x","env":{"K":"hush","L":"${M}"}}"#)
        .unwrap();
    let diff = change.diff();
    assert!(!diff.contains("hush"), "{diff}");
    assert!(
        diff.contains("+        \"K\": \"***\",\n+        \"L\": \"${M}\"\n"),
        "{diff}"
    );
}

#[test]
fn other_syntaxes_are_not_changed() {
    for path in ["config.toml", "config.yaml"] {
        let failure = Change::open(Path::new(path)).unwrap_err();
        assert!(failure.hint.unwrap().contains("import"), "{path}");
    }
}

proptest! {
    /// Whatever stands in a file, adding a server and removing it leaves everything else.
    #[test]
    fn what_is_added_and_removed_was_never_there(
        servers in prop::collection::vec("[a-z]{1,6}", 0..4),
        newline in prop_oneof![Just("\n"), Just("\r\n"), Just(" "), Just("")],
        comment in prop_oneof![Just(""), Just("/* c */"), Just(" ")],
        comma in any::<bool>(),
    ) {
        let mut names = servers;
        names.sort();
        names.dedup();
        let mut text = format!("{{{newline}\"mcpServers\": {{{newline}");
        let last = names.len().saturating_sub(1);
        for (index, name) in names.iter().enumerate() {
            let sign = if index < last || comma { "," } else { "" };
            text += &format!("\"{name}\": {{\"command\": \"x\"}}{comment}{sign}{newline}");
        }
        text += &format!("}}{comment}{newline}}}{newline}");
        let mut change = change("mcp.json", &text);
        change.add("NEW", r#"{"command":"y"}"#).unwrap();
        prop_assert_eq!(change.config.servers.len(), names.len() + 1);
        change.remove("NEW").unwrap();
        let left: Vec<&str> = change.config.servers.iter().map(|it| it.name.as_str()).collect();
        prop_assert_eq!(left, names.iter().map(String::as_str).collect::<Vec<_>>());
        let comments = text.matches("/* c */").count();
        prop_assert_eq!(change.text.matches("/* c */").count(), comments);
    }

    #[test]
    fn no_text_makes_a_change_panic(
        text in r#"(\{"mcpServers":\{)?("a":)?[\[\]{}:,"'\\/*abnultrefs0-9\n \t-]{0,60}(\}\})?"#,
    ) {
        let nowhere = Path::new("/nowhere/at/all/mcp.json");
        if let Ok(config) = read(nowhere, &text) {
            let (file, _) = EditedFile::open(nowhere).unwrap();
            let before = text.clone();
            let mut change = Change { file, before, text, config };
            let _ = change.add("a", r#"{"command":"x"}"#);
            let _ = change.switch("a", false);
            let _ = change.switch("a", true);
            let _ = change.remove("a");
            let _ = change.diff();
        }
    }
}
