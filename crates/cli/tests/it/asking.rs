//! What servers ask.

use serde_json::json;

use crate::child::server;
use crate::place::Place;

fn place() -> Place {
    Place::with(json!({"one": server()}))
}

#[test]
fn answers_come_from_a_file() {
    let place = place();
    let check = |answers: &str, tool: &str, expected: &str| {
        place.write("answers.json", answers);
        let ended = place.run(&["call", "one", tool, "--answers", "answers.json"]);
        assert_eq!(ended.done(), format!("{expected}\n"), "{answers}");
    };
    check(
        r#"{"name": "Ann"}"#,
        "ask",
        r#"{"action":"accept","content":{"name":"Ann","size":"m"}}"#,
    );
    check(r#"["decline"]"#, "ask", r#"{"action":"decline"}"#);
    check(r#""accept""#, "visit", r#"{"action":"accept"}"#);
    check(r#""cancel""#, "visit", r#"{"action":"cancel"}"#);
}

#[test]
fn an_answer_that_does_not_fit_is_not_sent() {
    let place = place();
    place.write("answers.json", r#"{"name": "A"}"#);
    let ended = place.run(&[
        "call",
        "one.ask",
        "--answers",
        "answers.json",
        "-q",
        "--json",
    ]);
    assert_eq!(ended.code, 7, "{ended:?}");
    let message = ended.last_line()["message"].to_string();
    assert!(message.contains("name: at least 2 characters"), "{message}");
}
