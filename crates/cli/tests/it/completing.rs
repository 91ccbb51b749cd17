//! Completion: what the hidden verb prints, and that the shells show it.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::child::{server, silent};
use crate::place::{BINARY, Ended, Place};

/// The words that could come next, without what they are.
fn next(place: &Place, words: &[&str]) -> Vec<String> {
    let mut all = vec!["__complete", "--", "switchboard"];
    all.extend(words);
    let shown = place.run(&all).done();
    shown
        .lines()
        .map(|line| line.split('\t').next().unwrap().to_owned())
        .collect()
}

#[test]
fn names_come_from_the_configuration_and_the_servers() {
    let place = Place::with(json!({"one": server(), "two": {"url": "http://127.0.0.1:1/mcp"}}));
    assert_eq!(next(&place, &["doc"]), ["doctor"]);
    assert_eq!(next(&place, &["tools", ""]), ["one", "two"]);
    assert_eq!(next(&place, &["call", "t"]), ["two"]);
    let tools = next(&place, &["call", "one", ""]);
    assert_eq!((tools.len(), tools[0].as_str()), (10, "echo"));
    assert_eq!(next(&place, &["call", "one.e"]), ["one.echo"]);
    assert_eq!(next(&place, &["call", "one", "echo", ""]), ["text="]);
    assert_eq!(next(&place, &["call", "one.echo", ""]), ["text="]);
    assert_eq!(next(&place, &["read", "one", ""]), ["demo://picture"]);
    assert_eq!(
        next(&place, &["raw", "one", "tools/"]),
        ["tools/call", "tools/list"]
    );
    assert!(next(&place, &["--config", "nowhere.json", "tools", ""]).is_empty());
}

#[test]
fn values_come_from_the_schema() {
    let place = Place::new();
    let place = Place::with(json!({"tasks": place.tasks()}));
    let values = next(&place, &["call", "tasks", "create_task", "priority="]);
    assert!(values.len() > 1, "{values:?}");
    assert!(
        values.iter().all(|value| value.starts_with("priority=")),
        "{values:?}"
    );
}

#[test]
fn a_server_that_does_not_start_has_no_names_and_no_errors() {
    let place = Place::with(json!({"bad": {"command": "no-such-program"}}));
    assert!(next(&place, &["call", "bad", ""]).is_empty());
    place.write("mcp.json", "{");
    assert!(next(&place, &["call", ""]).is_empty());
}

#[test]
fn a_server_that_takes_too_long_has_no_names() {
    let mut slow = silent();
    slow["x-switchboard"] = json!({"timeouts": {"start": "1h"}});
    let place = Place::with(json!({"slow": slow}));
    let words = ["__complete", "--", "switchboard", "call", "slow", ""];
    let mut completing = place.command(&words).spawn().unwrap();
    // A safety net, no measure: it would take an hour.
    let has_ended = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        completing.try_wait().unwrap().is_some()
    });
    if !has_ended {
        completing.kill().unwrap();
    }
    let ended = Ended::from(completing.wait_with_output().unwrap());
    assert!(has_ended, "it waits for the server");
    assert_eq!(ended.done(), "");
}

#[test]
fn only_so_many_names_are_offered() {
    let servers = (0..2_100).map(|number| {
        let name = format!("server-{number}");
        (name, json!({"url": "http://127.0.0.1:1/mcp"}))
    });
    let servers: serde_json::Map<_, _> = servers.collect();
    let place = Place::with(servers.into());
    assert_eq!(next(&place, &["tools", "server-"]).len(), 2_000);
    assert_eq!(next(&place, &["tools", "server-7"]).len(), 111);
}

#[test]
fn every_shell_has_a_script() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.run(&["completion", shell]).done();
        assert!(script.contains("switchboard __complete"), "{shell}");
    }
    let page = place.run(&["__man"]).done();
    assert!(page.starts_with(".TH SWITCHBOARD 1 "), "{page}");
}

/// A shell, run with this program's folder in its path. None where it is not installed.
fn shell(place: &Place, words: &[&str]) -> Option<String> {
    let folder = std::path::Path::new(BINARY).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    let (program, arguments) = words.split_first().unwrap();
    let ended = Command::new(program)
        .args(arguments)
        .current_dir(place.folder())
        .env("PATH", std::env::join_paths(path).unwrap())
        .env("HOME", place.folder())
        .env("SWITCHBOARD_TRUST", "1")
        .env_remove("XDG_CACHE_HOME")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&ended.stdout).into_owned())
}

#[test]
fn bash_shows_what_could_come_next() {
    let place = Place::with(json!({"one": server()}));
    let script = r#"
        source <(switchboard completion bash)
        COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
        for COMP_LINE in "switchboard do" "switchboard call one.e" "switchboard call one echo te" "switchboard codegen --lang=r"; do
            COMP_POINT=${#COMP_LINE}
            _switchboard
            echo "${COMPREPLY[*]}"
        done"#;
    if let Some(shown) = shell(&place, &["bash", "--norc", "-c", script]) {
        assert_eq!(shown, "doctor\none.echo\ntext=\nrust\n");
    }
}

#[test]
fn fish_shows_what_could_come_next() {
    let place = Place::with(json!({"one": server()}));
    let script = "switchboard completion fish | source; complete -C 'switchboard call one echo '";
    if let Some(shown) = shell(&place, &["fish", "--no-config", "-c", script]) {
        assert_eq!(shown.trim(), "text=\trequired");
    }
}

#[test]
fn zsh_reads_its_script() {
    let place = Place::new();
    let script = "autoload -U compinit && compinit -u -D; source <(switchboard completion zsh); \
                  print -r -- $_comps[switchboard]";
    if let Some(shown) = shell(&place, &["zsh", "-f", "-c", script]) {
        assert_eq!(shown.trim(), "_switchboard");
    }
}
