//! Who may call a gateway, what they see, and how much they may do.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::child::server;
use crate::place::Place;
use crate::running::{Serving, answer, run};

/// A place with two servers, and this about the gateway.
fn place(extras: &Value) -> Place {
    let place = Place::new();
    let config = json!({
        "mcpServers": {"one": server(), "two": server()},
        "x-switchboard": extras,
    });
    place.write("mcp.json", &config.to_string());
    place
}

fn echo(serving: &Serving, tool: &str, key: &str) -> (u16, String) {
    let header = format!("Authorization: Bearer {key}\r\n");
    answer(serving.post(tool, &json!({"text": "hi"}), &json!({}), &header))
}

#[test]
fn keys_are_in_the_file_or_in_one_of_their_own() {
    let place = place(&json!({
        "profiles": {"work": {"servers": ["one"]}},
        "gateway": {"keys": [{"name": "ci", "value": "${file:ci.key}", "profile": "work"}]},
    }));
    place.write("ci.key", "secret-ci\n");
    // Of "secret-bob".
    let digest = "121d6cf8eecc49b58b007cdb17a804e2c660f30250e1451ffb3d46799c116edb";
    let keys = json!({"keys": [
        {"name": "ada", "value": "secret-ada", "limits": {"callsPerMinute": 6}},
        {"name": "bob", "sha256": digest},
    ]});
    place.write("keys.json", &keys.to_string());
    let mut serving = Serving::start(&place, &["--keys", "keys.json"]);
    serving.hear("one: ready");
    assert_eq!(
        answer(serving.call("one__echo", &json!({"text": "hi"}))).0,
        401
    );
    assert_eq!(echo(&serving, "one__echo", "secret").0, 401);
    let (status, text) = echo(&serving, "one__echo", "secret-ada");
    assert!(status == 200 && text.contains("\"hi\""), "{text}");
    let (status, text) = echo(&serving, "one__echo", "secret-ada");
    assert_eq!(status, 429, "{text}");
    assert!(
        text.to_ascii_lowercase().contains("retry-after: "),
        "{text}"
    );
    let (status, text) = echo(&serving, "one__echo", "secret-ci");
    assert!(status == 200 && text.contains("\"hi\""), "{text}");
    assert_eq!(echo(&serving, "one__echo", "secret-bob").0, 200);
    let (_, text) = echo(&serving, "two__echo", "secret-ci");
    assert!(text.contains("\"error\""), "{text}");
}

#[test]
fn what_makes_no_sense_is_not_served() {
    let check = |extras: Value, words: &[&str], expected: &str| {
        let place = place(&extras);
        place.write("empty.json", "{}");
        let words = [&["serve", "--http", "0"], words].concat();
        let failed = run(&place, &words);
        assert_eq!(failed.code, 2, "{failed:?}");
        assert!(failed.stderr.contains(expected), "{failed:?}");
    };
    let nothing = json!({});
    check(
        nothing.clone(),
        &["--profile", "work"],
        "no profile \"work\"",
    );
    check(
        json!({"profiles": {"works": {}}}),
        &["--profile", "work"],
        "did you mean \"works\"?",
    );
    check(
        nothing.clone(),
        &["--limit", "session=1"],
        "sessionsPerCaller",
    );
    check(
        nothing.clone(),
        &["--keys", "empty.json"],
        "there are no keys",
    );
    check(nothing.clone(), &["--keys", "none.json"], "none.json");
    check(
        nothing.clone(),
        &["--issuer", "https://a.example"],
        "--resource",
    );
    check(
        json!({"gateway": {"keys": [{"name": "a"}]}}),
        &[],
        "either \"value\" or \"sha256\"",
    );
    check(
        json!({"gateway": {"keys": [{"name": "a", "value": "x", "profile": "b"}]}}),
        &[],
        "no profile \"b\"",
    );
    check(
        json!({"gateway": {"keys": [{"name": "a", "value": "${NOBODY_SETS_THIS}"}]}}),
        &[],
        "NOBODY_SETS_THIS",
    );
    let open = run(&place(&nothing), &["serve", "--http", "0.0.0.0:0"]);
    assert_eq!(open.code, 2);
    assert!(open.stderr.contains("--keys"), "{open:?}");
}

#[test]
fn a_profile_is_served_alone_or_by_its_path() {
    let extras = json!({"profiles": {"work": {"servers": ["one"], "tools": ["echo"]}}});
    let place = place(&extras);
    let mut serving = Serving::start(&place, &["--profile", "work"]);
    serving.hear("one: ready");
    let (status, text) = answer(serving.call("one__echo", &json!({"text": "hi"})));
    assert!(status == 200 && text.contains("\"hi\""), "{text}");
    for hidden in ["two__echo", "one__picture"] {
        let (_, text) = answer(serving.call(hidden, &json!({})));
        assert!(text.contains("\"error\""), "{text}");
    }
}

#[test]
fn tools_are_found_and_called_by_two() {
    let place = place(&json!({}));
    let mut serving = Serving::start(&place, &["--mode", "search"]);
    serving.hear("one: ready");
    let (_, text) = answer(serving.call("find_tools", &json!({"query": "says it again"})));
    assert!(text.contains("one__echo"), "{text}");
    let arguments = json!({"name": "one__echo", "arguments": {"text": "hi"}});
    let (_, text) = answer(serving.call("call_tool", &arguments));
    assert!(text.contains("\"hi\""), "{text}");
}

#[test]
fn calls_are_written_down() {
    let place = place(&json!({}));
    let mut serving = Serving::start(&place, &["--audit", "calls.jsonl"]);
    serving.hear("one: ready");
    answer(serving.call("one__echo", &json!({"text": "whisper"})));
    serving.signal(Signal::TERM);
    assert_eq!(serving.ended(), Some(0));
    let text = std::fs::read_to_string(place.path("calls.jsonl")).unwrap();
    let entry: Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!(
        (&entry["server"], &entry["outcome"]),
        (&json!("one"), &json!("ok"))
    );
    assert_eq!(entry["caller"], Value::Null);
    assert!(!text.contains("whisper"), "{text}");
    // Standard output is the connection.
    let failed = run(&place, &["serve", "--audit", "-"]);
    assert_eq!(failed.code, 2, "{failed:?}");
}

#[test]
fn limits_are_set_where_it_is_started() {
    let place = place(&json!({"gateway": {"limits": {"result": 10, "message": "1KiB"}}}));
    let mut serving = Serving::start(&place, &["--limit", "message=64KiB"]);
    serving.hear("one: ready");
    let (_, text) = answer(serving.call("one__echo", &json!({"text": "hi"})));
    assert!(text.contains("10 are passed on at most"), "{text}");
    let long = "x".repeat(2_000);
    let (status, _) = answer(serving.call("one__echo", &json!({"text": long})));
    assert_eq!(status, 200);
}

#[test]
fn keys_come_and_go_while_it_runs() {
    let place = place(&json!({}));
    let keys = |name: &str, value: &str| {
        let keys = json!({"keys": [{"name": name, "value": value}]});
        place.write("new.json", &keys.to_string());
        std::fs::rename(place.path("new.json"), place.path("keys.json")).unwrap();
    };
    keys("ada", "secret-ada");
    let mut serving = Serving::start(&place, &["--keys", "keys.json"]);
    serving.hear("one: ready");
    assert_eq!(echo(&serving, "one__echo", "secret-ada").0, 200);
    keys("bob", "secret-bob");
    assert_eq!(serving.hear("keys: "), "keys: added bob; removed ada");
    assert_eq!(echo(&serving, "one__echo", "secret-ada").0, 401);
    assert_eq!(echo(&serving, "one__echo", "secret-bob").0, 200);
    place.write("keys.json", "{\"keys\": [{]}");
    let said = serving.hear("the keys stay");
    assert!(said.contains("keys.json:1:"), "{said}");
    assert_eq!(echo(&serving, "one__echo", "secret-bob").0, 200);
    // Nobody is let in without one.
    place.write("keys.json", "{\"keys\": []}");
    serving.hear("the keys stay");
    assert_eq!(echo(&serving, "one__echo", "secret-bob").0, 200);
}
