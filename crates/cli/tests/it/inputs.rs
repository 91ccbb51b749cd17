//! What configurations ask for, and where the answers come from.

use serde_json::{Value, json};

use crate::child::saying;
use crate::place::{Ended, Place};
#[cfg(unix)]
use crate::terminal::Terminal;

/// A place whose servers say what they were given.
fn place(servers: &[(&str, &str)], inputs: Value) -> Place {
    let place = Place::new();
    let servers: Value = servers
        .iter()
        .map(|(name, words)| ((*name).to_owned(), saying(words)))
        .collect();
    let text = json!({"mcpServers": servers, "inputs": inputs});
    place.write("mcp.json", &text.to_string());
    place
}

/// One server, and one input of which this is known.
fn one(mut input: Value) -> Place {
    input["id"] = "tok".into();
    place(&[("one", "<${input:tok}>")], json!([input]))
}

fn run_with_variable(place: &Place, value: &str) -> Ended {
    let mut command = place.command(CALL);
    command.env("SWITCHBOARD_INPUT_TOK", value);
    command.output().unwrap().into()
}

#[test]
fn answers_for_scripts_come_from_a_file_or_the_environment() {
    let place = one(json!({"type": "promptString", "password": true}));
    assert_eq!(run_with_variable(&place, "s3cret").done(), "<s3cret>\n");
    place.write(
        "answers.json",
        r#"[{"name": "Ann"}, {"${input:tok}": "filed"}]"#,
    );
    let words = [CALL, &["--answers", "answers.json"]].concat();
    assert_eq!(place.run(&words).done(), "<filed>\n");
    let mut command = place.command(&words);
    command.env("SWITCHBOARD_INPUT_TOK", "s3cret");
    assert_eq!(Ended::from(command.output().unwrap()).done(), "<filed>\n");
    place.write("answers.json", "{");
    let error = place.run(&words).failed(2);
    assert!(error.contains("the answers answers.json: "), "{error}");
}

#[test]
fn an_input_that_nobody_gives_ends_with_what_to_do() {
    let place = place(
        &[("one", "${input:tok-1}"), ("two", "two")],
        json!([{"type": "promptString", "id": "tok-1"}]),
    );
    let words = r#"server "one": "env.SWITCHBOARD_CLI_TEST_PART": nobody could be asked for the input "tok-1": there is no answer; set SWITCHBOARD_INPUT_TOK_1, or give --answers a file with {"${input:tok-1}": "…"}"#;
    for verb in [&["tools", "one"][..], CALL, &["raw", "one", "ping"]] {
        let error = place.run(verb).failed(7);
        assert!(error.contains("mcp.json:1:"), "{error}");
        assert!(error.contains(words), "{error}");
    }
    // It is the business of one server alone.
    let ended = place.run(&["tools"]);
    assert_eq!(ended.code, 8, "{ended:?}");
    assert!(ended.stderr.contains(words), "{ended:?}");
    let ended = place.run(&["doctor", "one"]);
    assert_eq!(ended.code, 7, "{ended:?}");
    assert!(
        ended.stdout.contains("SWITCHBOARD_INPUT_TOK_1"),
        "{ended:?}"
    );
}

#[test]
fn with_nobody_there_the_default_counts() {
    let place = one(json!({"type": "promptString", "default": "usual"}));
    assert_eq!(place.run(CALL).done(), "<usual>\n");
    assert_eq!(run_with_variable(&place, "other").done(), "<other>\n");
}

#[test]
fn a_choice_is_one_of_those_that_there_are() {
    let options = json!(["s", {"label": "Medium", "value": "m"}]);
    let place = one(json!({"type": "pickString", "options": options}));
    assert_eq!(run_with_variable(&place, "s").done(), "<s>\n");
    assert_eq!(run_with_variable(&place, "Medium").done(), "<m>\n");
    let error = run_with_variable(&place, "xl").failed(2);
    assert!(error.contains("it must be one of s, m"), "{error}");
}

#[test]
fn a_command_of_an_editor_is_refused() {
    let place = one(json!({"type": "command", "command": "shellCommand.execute"}));
    let words = r#"nobody could be asked for the input "tok": it comes from the command "shellCommand.execute" of VS Code, which nobody else has; set SWITCHBOARD_INPUT_TOK"#;
    let error = place.run(CALL).failed(2);
    assert!(error.contains(words), "{error}");
    let ended = place.run(&["validate"]);
    assert!(ended.stdout.contains(words), "{ended:?}");
    assert_eq!(run_with_variable(&place, "said").done(), "<said>\n");
}

#[test]
fn what_will_be_asked_for_is_nothing_to_warn_of() {
    let place = one(json!({"type": "promptString"}));
    let said = place.run(&["validate", "--strict"]).done();
    assert!(said.contains("0 errors, 0 warnings"), "{said}");
}

#[test]
fn a_keyring_that_is_not_there_is_said() {
    let place = place(&[("one", "${keyring:github/me}")], json!([]));
    let error = place.run(CALL).failed(2);
    let words = r#"server "one": "env.SWITCHBOARD_CLI_TEST_PART": the keyring cannot be asked for "github/me": "#;
    assert!(error.contains(words), "{error}");
    let reason = match cfg!(feature = "keyring") {
        true => "there is no keyring",
        false => "this switchboard was built without the cargo feature `keyring`",
    };
    assert!(error.contains(reason), "{error}");
}

#[cfg(unix)]
#[test]
fn a_secret_is_asked_for_once_and_not_shown() {
    let place = place(
        &[("one", "1 ${input:tok}"), ("two", "2 ${input:tok}")],
        json!([{"type": "promptString", "id": "tok", "description": "A token", "password": true}]),
    );
    let mut terminal = Terminal::run(&place, &["tools", "--json"]);
    let asked = terminal.until("(not shown) > ");
    assert!(
        asked.contains("one, two need an input: tok\r\nA token"),
        "{asked}"
    );
    assert!(!terminal.echoes());
    // A character of two bytes is taken back, then all, then the right one is typed.
    terminal.types("wrä\u{7f}ong\u{15}s3crét\u{7f}\u{7f}et\n");
    let ended = terminal.ended();
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(!ended.stderr.contains("s3cr"), "{ended:?}");
    assert!(!ended.stderr.contains("need an input"), "{ended:?}");
    let mut terminal = Terminal::run(&place, &["call", "two", "echo", "text=x"]);
    terminal.until("(not shown) > ");
    terminal.types("s3cret\n");
    let ended = terminal.ended();
    assert_eq!((ended.code, &*ended.stdout), (0, "2 s3cret\n"), "{ended:?}");
}

#[cfg(unix)]
#[test]
fn a_text_and_a_choice_are_asked_for() {
    let place = place(
        &[("one", "${input:name} ${input:size} ${input:level}")],
        json!([
            {"type": "promptString", "id": "name"},
            {"type": "pickString", "id": "size", "options": ["s", {"label": "Medium", "value": "m"}]},
            {"type": "promptString", "id": "level", "default": "info"},
        ]),
    );
    let mut terminal = Terminal::run(&place, CALL);
    terminal.until("one needs an input: name\r\n> ");
    terminal.types("\n");
    terminal.until("an answer is required\r\n> ");
    terminal.types("Ann\n");
    let asked = terminal.until("> ");
    assert!(asked.contains("1) s\r\n  2) Medium (m)"), "{asked}");
    terminal.types("xl\n");
    terminal.until("one of s, m\r\n> ");
    terminal.types("2\n");
    terminal.until("an empty line is \"info\"\r\n> ");
    terminal.types("\n");
    let ended = terminal.ended();
    assert_eq!(
        (ended.code, &*ended.stdout),
        (0, "Ann m info\n"),
        "{ended:?}"
    );
}

#[cfg(unix)]
#[test]
fn whoever_does_not_want_to_answer_is_asked_no_more() {
    let place = place(
        &[("one", "${input:tok}"), ("two", "${input:tok}")],
        json!([]),
    );
    // What nobody describes may be secret.
    let mut terminal = Terminal::run(&place, &["tools"]);
    terminal.until("(not shown) > ");
    terminal.types("\u{4}");
    let ended = terminal.ended();
    assert_eq!(ended.code, 7, "{ended:?}");
    assert!(!ended.stderr.contains("not shown"), "{ended:?}");
    let mut terminal = Terminal::run(&place, &["tools"]);
    terminal.until("(not shown) > ");
    terminal.types("s3\u{3}");
    let ended = terminal.ended();
    assert_eq!(ended.code, 130, "{ended:?}");
    assert!(!ended.stderr.contains("s3"), "{ended:?}");
    let place = Terminal::run(&place, &["tools", "--no-input"]).ended();
    assert_eq!(place.code, 7, "{place:?}");
}

const CALL: &[&str] = &["call", "one", "echo", "text=x"];
