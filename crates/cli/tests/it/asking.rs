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

#[cfg(unix)]
mod at_a_terminal {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::place;
    use crate::place::Place;
    use crate::terminal::Terminal;

    #[test]
    fn a_form_is_asked_field_by_field_until_it_fits() {
        let place = place();
        let mut terminal = Terminal::run(&place, &["call", "one.ask"]);
        terminal.until("one asks:");
        terminal.until("Who are you?");
        terminal.until("name");
        terminal.until("> ");
        terminal.types("A\n");
        terminal.until("at least 2 characters");
        terminal.until("> ");
        terminal.types("Ann\n");
        terminal.until("size");
        terminal.until("> ");
        terminal.types("s\n");
        terminal.until("send this? [Y]es, [n]o, [c]ancel");
        terminal.types("\n");
        let ended = terminal.ended();
        assert_eq!(ended.code, 0, "{ended:?}");
        let sent = r#"{"action":"accept","content":{"name":"Ann","size":"s"}}"#;
        assert_eq!(ended.stdout, format!("{sent}\n"));
    }

    /// A call that wants a page to be visited, and a browser that notes what it is given.
    fn visit(place: &Place) -> Command {
        let browser = place.path("browser");
        let note = place.path("opened");
        let script = format!("#!/bin/sh\nprintf %s \"$1\" > {}\n", note.display());
        std::fs::write(&browser, script).unwrap();
        std::fs::set_permissions(&browser, PermissionsExt::from_mode(0o755)).unwrap();
        let mut command = place.command(&["call", "one.visit", "--color=never"]);
        command.env("BROWSER", browser);
        command
    }

    #[test]
    fn a_page_is_shown_and_opened_once_somebody_agrees() {
        let place = place();
        let mut terminal = Terminal::start(visit(&place));
        terminal.until("one wants you to visit a page:");
        terminal.until("https://pay.example.com/1");
        terminal.until("open it in the browser? [y]es, [N]o, [c]ancel");
        assert!(!place.path("opened").exists());
        terminal.types("y\n");
        let ended = terminal.ended();
        assert_eq!(
            (ended.code, &*ended.stdout),
            (0, "{\"action\":\"accept\"}\n")
        );
        let opened = std::fs::read_to_string(place.path("opened")).unwrap();
        assert_eq!(opened, "https://pay.example.com/1");
    }

    #[test]
    fn a_page_that_nobody_agrees_to_is_not_opened() {
        let place = place();
        let mut terminal = Terminal::start(visit(&place));
        terminal.until("[c]ancel");
        terminal.types("\n");
        let ended = terminal.ended();
        assert_eq!(
            (ended.code, &*ended.stdout),
            (0, "{\"action\":\"decline\"}\n")
        );
        assert!(!place.path("opened").exists());
    }
}
