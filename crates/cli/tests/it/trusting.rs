//! What a project's file may start: nothing, until somebody has agreed to it.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::place::{BINARY, Ended, Place};
use crate::running::Serving;
use crate::terminal::Terminal;

/// The command without anybody's leave, which sees no gateway but its own.
fn command(place: &Place, words: &[&str]) -> Command {
    let mut command = crate::running::command(place, words);
    command.env_remove("SWITCHBOARD_TRUST");
    command
}

fn run(place: &Place, words: &[&str]) -> Ended {
    command(place, words).output().unwrap().into()
}

/// A server that leaves a trace when it is started.
fn tracing(place: &Place) -> Value {
    let (trace, tasks) = (place.path("started"), place.path("tasks.sqlite"));
    let script = format!(
        "touch '{}'; exec '{BINARY}' demo serve --db '{}'",
        trace.display(),
        tasks.display()
    );
    json!({"command": "sh", "args": ["-c", script]})
}

/// A place with such a server, which came from somewhere.
fn cloned() -> Place {
    let place = Place::new();
    place.write(
        "mcp.json",
        &json!({"mcpServers": {"one": tracing(&place)}}).to_string(),
    );
    place
}

fn was_started(place: &Place) -> bool {
    let trace = place.path("started");
    let was_started = trace.exists();
    let _ = fs::remove_file(trace);
    was_started
}

#[test]
fn nothing_of_a_project_is_started_before_somebody_agrees() {
    let place = cloned();
    let trace = place.path("started").display().to_string();
    let url = json!({"url": "http://127.0.0.1:9/mcp",
        "headers": {"Authorization": format!("Bearer ${{cmd:touch {trace}}}")}});
    let servers = json!({"mcpServers": {"one": tracing(&place), "two": url}});
    place.write("mcp.json", &servers.to_string());
    fs::create_dir(place.path("below")).unwrap();
    for words in [
        &["ls"][..],
        &["tools"],
        &["tools", "one"],
        &["resources"],
        &["prompts"],
        &["show", "one.list_tasks"],
        &["search", "task"],
        &["watch"],
        &["call", "one", "list_tasks"],
        &["read", "one", "x://y"],
        &["raw", "one", "ping"],
        &["lint"],
        &["lock"],
        &["lock", "--check"],
        &["codegen"],
        &["doctor"],
        &["login", "two"],
        &["auth"],
        &["serve"],
        &["serve", "--http", "0"],
    ] {
        for folder in ["", "below"] {
            let mut command = command(&place, words);
            command.current_dir(place.path(folder));
            let ended: Ended = command.output().unwrap().into();
            let said = ended.failed(10);
            assert!(said.contains("mcp.json is not used"), "{words:?} {said}");
            assert!(said.contains("nobody has agreed yet"), "{words:?} {said}");
            assert!(said.contains("`switchboard trust`"), "{words:?} {said}");
            assert!(!was_started(&place), "{words:?}");
        }
    }
    // Whoever presses a key has agreed to nothing either, but names may be shown.
    let names = run(&place, &["__complete", "--", "switchboard", "call", ""]);
    assert!(names.stdout.contains("one"), "{names:?}");
    run(
        &place,
        &["__complete", "--", "switchboard", "call", "one", ""],
    );
    assert!(!was_started(&place));
    // What starts nothing is done.
    assert_eq!(run(&place, &["validate"]).code, 0);
    let listed = run(&place, &["ls", "--offline"]);
    assert!(listed.stdout.contains("two"), "{listed:?}");
    assert!(!was_started(&place));
    let failure = run(&place, &["ls", "--json"]).last_line();
    assert_eq!(failure["code"], 10, "{failure}");
}

#[test]
fn what_was_agreed_to_is_used_until_anything_in_it_changes() {
    let place = cloned();
    let shown = run(&place, &["trust", "--dry-run"]).done();
    assert!(shown.contains("one  sh -c \"touch"), "{shown}");
    assert!(shown.contains("is not trusted yet"), "{shown}");
    assert_eq!(run(&place, &["tools"]).code, 10);
    let said = run(&place, &["trust"]).done();
    assert!(said.contains("is trusted, as long as"), "{said}");
    assert!(!was_started(&place));
    assert_eq!(run(&place, &["tools"]).code, 0);
    assert!(was_started(&place));
    let said = run(&place, &["trust"]).done();
    assert!(said.contains("is trusted already"), "{said}");
    // Another program; a value, which is shown to nobody; a space.
    let text = fs::read_to_string(place.path("mcp.json")).unwrap();
    let mut file: Value = serde_json::from_str(&text).unwrap();
    file["mcpServers"]["two"] = json!({"command": "evil", "args": ["--now"]});
    let more = file.to_string();
    file["mcpServers"]["two"]["env"] = json!({"NODE_OPTIONS": "--require ./s3cret.js"});
    let valued = file.to_string();
    file["mcpServers"]["two"]["env"] = json!({"NODE_OPTIONS": "--require ./0ther.js"});
    let other = file.to_string();
    for (text, shows) in [
        (more, "+ two  evil --now\n"),
        (valued, "+ two  evil --now; with NODE_OPTIONS\n"),
        (other.clone(), "what it starts is the same; values"),
        (format!("{other} "), "what it starts is the same; values"),
    ] {
        place.write("mcp.json", &text);
        let said = run(&place, &["tools", "one"]).failed(10);
        assert!(said.contains("it has changed since"), "{said}");
        assert!(!was_started(&place));
        let shown = run(&place, &["trust"]).done();
        assert!(shown.contains(shows), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
        assert_eq!(run(&place, &["tools", "one"]).code, 0);
        assert!(was_started(&place));
    }
    let said = run(&place, &["untrust"]).done();
    assert!(said.contains("is no longer trusted"), "{said}");
    assert_eq!(run(&place, &["tools", "one"]).code, 10);
    assert!(!was_started(&place));
}

#[test]
fn what_is_remembered_is_for_its_user_and_has_no_secret() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::with(
        json!({"one": {"command": "x", "args": ["--token", "s3cret"],
        "env": {"KEY": "s3cret"}}}),
    );
    run(&place, &["trust"]).done();
    let folder = place.path(".local/state/switchboard/trust");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let records: Vec<_> = fs::read_dir(&folder).unwrap().flatten().collect();
    assert_eq!(records.len(), 1);
    assert_eq!(mode(&records[0].path()), 0o600);
    let text = fs::read_to_string(records[0].path()).unwrap();
    assert!(text.contains("--token ***"), "{text}");
    assert!(!text.contains("s3cret"), "{text}");
    // A record that was moved from one file to another is none for that.
    let other = place.path("other");
    fs::create_dir(&other).unwrap();
    fs::copy(place.path("mcp.json"), other.join("mcp.json")).unwrap();
    let mut command = command(&place, &["tools"]);
    command.current_dir(&other);
    assert_eq!(Ended::from(command.output().unwrap()).code, 10);
}

#[test]
fn who_sits_at_a_terminal_is_asked_once() {
    let place = cloned();
    let mut terminal = Terminal::start(command(&place, &["tools"]));
    let shown = terminal.until("[y]es, [N]o");
    assert!(shown.contains("nobody has agreed yet"), "{shown}");
    assert!(shown.contains("one  sh -c"), "{shown}");
    terminal.types("\n");
    let ended = terminal.ended();
    assert_eq!((ended.code, &*ended.stdout), (10, ""), "{ended:?}");
    assert!(!was_started(&place));
    let mut terminal = Terminal::start(command(&place, &["tools"]));
    terminal.until("[y]es, [N]o");
    terminal.types("y\n");
    assert_eq!(terminal.ended().code, 0);
    assert!(was_started(&place));
    let ended = Terminal::start(command(&place, &["tools"])).ended();
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(!ended.stderr.contains("agreed"), "{ended:?}");
    let mut file: Value =
        serde_json::from_str(&fs::read_to_string(place.path("mcp.json")).unwrap()).unwrap();
    file["mcpServers"]["one"]["args"] = json!(["-c", "evil \u{1b}[2J"]);
    place.write("mcp.json", &file.to_string());
    was_started(&place);
    let mut terminal = Terminal::start(command(&place, &["tools"]));
    let shown = terminal.until("[y]es, [N]o");
    assert!(shown.contains("- one  sh -c \"touch"), "{shown:?}");
    assert!(shown.contains("+ one  sh -c \"evil"), "{shown:?}");
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    terminal.types("n\n");
    assert_eq!(terminal.ended().code, 10);
    // Nobody is asked who said that nobody is to be.
    let ended = Terminal::start(command(&place, &["tools", "--no-input"])).ended();
    assert_eq!(ended.code, 10, "{ended:?}");
}

#[test]
fn a_file_that_was_named_and_the_users_own_need_no_leave() {
    let place = cloned();
    let file = place.path("mcp.json").display().to_string();
    for words in [&["tools", "--config", &file][..], &["tools", "--trust"]] {
        assert_eq!(run(&place, words).code, 0, "{words:?}");
        assert!(was_started(&place));
    }
    let mut once = command(&place, &["tools"]);
    once.env("SWITCHBOARD_TRUST", "1");
    assert_eq!(Ended::from(once.output().unwrap()).code, 0);
    assert!(was_started(&place));
    for value in ["", "0", "no"] {
        let mut other = command(&place, &["tools"]);
        other.env("SWITCHBOARD_TRUST", value);
        assert_eq!(Ended::from(other.output().unwrap()).code, 10, "{value:?}");
    }
    // None of these is remembered.
    assert_eq!(run(&place, &["tools"]).code, 10);
    assert!(!was_started(&place));
    let own = place.path(".config/switchboard");
    fs::create_dir_all(&own).unwrap();
    fs::rename(place.path("mcp.json"), own.join("mcp.json")).unwrap();
    assert_eq!(run(&place, &["tools"]).code, 0);
    assert!(was_started(&place));
    // Even where it is found on the way up.
    let mut within = command(&place, &["tools"]);
    within.current_dir(&own);
    assert_eq!(Ended::from(within.output().unwrap()).code, 0);
    assert!(was_started(&place));
}

#[test]
fn what_users_write_with_our_help_is_agreed_to() {
    let place = Place::new();
    let tasks = place.path("tasks.sqlite").display().to_string();
    let add = |name: &str| {
        let words = [
            "add",
            name,
            "--project",
            "--",
            BINARY,
            "demo",
            "serve",
            "--db",
            &tasks,
        ];
        run(&place, &words).done();
    };
    add("one");
    assert_eq!(run(&place, &["tools"]).code, 0);
    add("two");
    run(&place, &["disable", "one"]).done();
    assert_eq!(run(&place, &["tools"]).code, 0);
    run(&place, &["remove", "one"]).done();
    assert_eq!(run(&place, &["tools"]).code, 0);
    // What somebody else wrote into it meanwhile is not.
    let file = place.path(".mcp.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"demo\"", "\"demo\", \"--evil\"")).unwrap();
    run(&place, &["add", "three", "--", BINARY, "demo", "serve"]).done();
    assert_eq!(run(&place, &["tools"]).code, 10);
    // Nor is a file that came from elsewhere, whatever is added to it.
    let place = cloned();
    run(&place, &["add", "two", "--", BINARY, "demo", "serve"]).done();
    assert_eq!(run(&place, &["tools", "two"]).code, 10);
    assert!(!was_started(&place));
}

#[test]
fn a_gateway_takes_over_only_changes_that_somebody_agreed_to() {
    let place = Place::new();
    let one = place.tasks();
    place.write("mcp.json", &json!({"mcpServers": {"one": one}}).to_string());
    run(&place, &["trust"]).done();
    let mut serving = Serving::begin(command(&place, &["serve", "--http", "0"]));
    let two = tracing(&place);
    let both = json!({"mcpServers": {"one": one, "two": two}});
    place.write("mcp.json", &both.to_string());
    let said = serving.hear("nobody has agreed to what it starts now");
    assert!(said.contains("the servers stay as they are"), "{said}");
    assert!(!was_started(&place));
    run(&place, &["trust"]).done();
    let reloaded = run(&place, &["reload"]);
    assert_eq!(reloaded.code, 0, "{reloaded:?}");
    serving.hear("added two");
    // What is added with our help is taken over by itself.
    run(&place, &["disable", "two"]).done();
    serving.hear("two");
}
