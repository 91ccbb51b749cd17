//! What people are to be asked for.

use super::*;

fn shown(text: &str) -> Vec<String> {
    let config = read(text);
    let inputs = config.inputs.iter();
    inputs
        .map(|input| {
            let default = input.default.as_ref().map(|secret| secret.reveal());
            let (kind, words) = (&input.kind, &input.description);
            format!("{} {kind:?} {words:?} {default:?}", input.id)
        })
        .collect()
}

#[test]
fn inputs_of_vs_code_are_read_wherever_they_stand() {
    let inputs = r#""inputs": [
        {"type": "promptString", "id": "tok", "description": "A token", "password": true},
        {"type": "promptString", "id": "host", "default": "example.com"},
        {"type": "pickString", "id": "size", "options": ["s", {"label": "Medium", "value": "m"}],
         "default": "s"},
        {"type": "command", "id": "cmd", "command": "some.command", "args": {"a": 1}}
    ]"#;
    let expected = [
        r#"tok Text { is_secret: true } Some("A token") None"#,
        r#"host Text { is_secret: false } None Some("example.com")"#,
        r#"size Choice([InputOption { label: "s", value: "s" }, InputOption { label: "Medium", value: "m" }]) None Some("s")"#,
        r#"cmd Command("some.command") None None"#,
    ];
    assert_eq!(
        shown(&format!(r#"{{"servers": {{}}, {inputs}}}"#)),
        expected
    );
    assert_eq!(
        shown(&format!(r#"{{"mcpServers": {{}}, {inputs}}}"#)),
        expected
    );
    let settings = format!(r#"{{"mcp": {{"servers": {{}}, {inputs}}}}}"#);
    assert_eq!(shown(&settings), expected);
}

#[test]
fn what_cannot_be_asked_for_is_said_and_harms_no_server() {
    let config = read(
        r#"{"mcpServers": {"a": {"command": "a"}}, "inputs": [
        1, {"id": "x"}, {"type": "promptSring", "id": "y"}, {"type": "promptString", "id": ""},
        {"type": "promptString", "id": "z"}, {"type": "command", "id": "z", "command": "c"},
        {"type": "command", "id": "w"}, {"type": "pickString", "id": "v", "options": [1, {}]}]}"#,
    );
    let ids: Vec<&str> = config.inputs.iter().map(|input| &*input.id).collect();
    assert_eq!(ids, ["z", "v"]);
    assert_eq!(config.inputs[0].kind, InputKind::Text { is_secret: false });
    assert_eq!(config.inputs[1].kind, InputKind::Choice(Vec::new()));
    assert_eq!(config.servers.len(), 1);
    assert_eq!(config.errors().count(), 0);
    let expected = "an id, and a type: promptString, pickString or command";
    let wrong = |place: &str, index: usize| {
        format!(r#"mcp.json:{place}: "inputs[{index}]" expects {expected}"#)
    };
    assert_eq!(
        texts(&config),
        [
            "mcp.json:2:9: \"inputs[0]\" expects an object, found a number".to_owned(),
            wrong("2:12", 1),
            wrong("2:25", 2),
            wrong("2:61", 3),
            wrong("4:9", 6),
        ]
    );
}

#[test]
fn a_default_is_not_printed() {
    let text = r#"{"servers": {}, "inputs": [
        {"type": "promptString", "id": "tok", "password": true, "default": "s3cret"}]}"#;
    let config = read(text);
    assert_eq!(config.inputs.len(), 1);
    assert!(!format!("{config:?}").contains("s3cret"));
}
