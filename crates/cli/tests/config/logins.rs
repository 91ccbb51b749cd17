//! login, logout, auth.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Child;

use serde_json::json;

use crate::issuer::Issuer;
use crate::place::{Ended, Place};

/// A project with one server, which wants a login.
fn place(issuer: &Issuer) -> Place {
    let place = Place::new();
    let file = json!({"mcpServers": {
        "docs": {"url": issuer.server()},
        "here": {"command": "x"},
        "known": {"url": "https://known.example/mcp", "bearerToken": "t"},
    }});
    place.write("mcp.json", &file.to_string());
    place
}

/// Logs in with `--no-browser`, and pastes what the browser would have ended at.
fn log_in(place: &Place, issuer: &Issuer) -> Ended {
    let mut child = place
        .command(&["login", "docs", "--no-browser"])
        .spawn()
        .unwrap();
    let (url, err) = shown_url(&mut child);
    let parameter = |name: &str| {
        let query = url.split_once('?').unwrap().1;
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let value = pairs.find(|(key, _)| *key == name).unwrap().1;
        value.replace("%3A", ":").replace("%2F", "/")
    };
    let back = format!(
        "{}?code=once&state={}&iss={}\n",
        parameter("redirect_uri"),
        parameter("state"),
        issuer.origin,
    );
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(back.as_bytes()).unwrap();
    let mut out = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    let code = child.wait().unwrap().code().unwrap_or(-1);
    Ended { code, out, err }
}

/// The address that is shown, and what stands before it.
fn shown_url(child: &mut Child) -> (String, String) {
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut before = String::new();
    for line in lines.by_ref() {
        let line = line.unwrap();
        if let Some(url) = line.strip_prefix("  http") {
            let url = format!("http{url}");
            // Whoever writes there next must not find it closed.
            std::thread::spawn(move || lines.for_each(drop));
            return (url, before);
        }
        before += &line;
    }
    panic!("no address was shown: {before}")
}

#[test]
fn a_person_logs_in_by_pasting_and_out_again() {
    let issuer = Issuer::start();
    let place = place(&issuer);
    place.run(&["auth"]).done("no logins\n");
    let ended = log_in(&place, &issuer);
    let said = format!("logged in to docs at {}, for read\n", issuer.origin);
    assert_eq!((ended.code, ended.out), (0, said), "{}", ended.err);

    let listed = place.run(&["auth"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    assert!(listed.out.starts_with("SERVER  EXPIRES"), "{listed:?}");
    assert!(listed.out.contains(" min, renews itself"), "{listed:?}");
    let document = place.run(&["auth", "docs", "--json"]);
    assert_eq!(document.json()["logins"][0]["issuer"], issuer.origin);
    assert_eq!(document.json()["logins"][0]["scopes"], json!(["read"]));
    for shown in [&listed.out, &document.out] {
        assert!(!shown.contains("secret"), "{shown}");
    }
    // Elsewhere the server has no name.
    let nowhere = Place::new();
    nowhere.run(&["auth"]).done("no logins\n");
    let by_url = place.run(&["--config", "none.json", "auth", &issuer.server()]);
    assert_eq!(by_url.code, 0, "{by_url:?}");

    place.run(&["logout", "docs"]).done("logged out of docs\n");
    assert!(issuer.seen().iter().any(|asked| asked == "POST /revoke"));
    place
        .run(&["logout", "docs"])
        .done("nobody was logged in to docs\n");
    place.run(&["auth", "docs"]).failed(
        3,
        "error: nobody is logged in to \"docs\"\nhint: `switchboard login docs`\n",
    );
}

#[test]
fn a_login_is_used_by_those_who_need_it() {
    let issuer = Issuer::start();
    let place = place(&issuer);
    let before = place.run(&["tools", "docs"]);
    assert_eq!(before.code, 3, "{before:?}");
    assert!(
        before.err.contains("`switchboard login docs`"),
        "{before:?}"
    );
    assert_eq!(log_in(&place, &issuer).code, 0);
    let after = place.run(&["tools", "docs", "--timeout", "2s"]);
    assert_eq!(after.code, 4, "{after:?}");
    let seen = issuer.seen();
    let with_token = seen
        .iter()
        .any(|asked| asked == "POST /mcp with bearer access-secret");
    assert!(with_token, "{seen:?}");
}

#[test]
fn a_person_logs_in_with_a_code() {
    let issuer = Issuer::start();
    let place = place(&issuer);
    let ended = place.run(&["login", "docs", "--device", "--json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(
        ended.err.contains("enter the code ABCD-EFGH"),
        "{}",
        ended.err
    );
    assert!(
        ended.err.contains(&format!("  {}/enter\n", issuer.origin)),
        "{}",
        ended.err
    );
    let document = ended.json();
    assert_eq!(document["server"], "docs");
    assert_eq!(document["renewable"], true);
    assert!(!ended.out.contains("secret"), "{}", ended.out);
    let all = place.run(&["logout", "--all"]);
    assert_eq!(
        (all.code, all.out),
        (0, format!("logged out of {}\n", issuer.server()))
    );
    place
        .run(&["logout", "--all"])
        .done("nobody was logged in\n");
}

#[test]
fn who_cannot_log_in_is_told_why() {
    let issuer = Issuer::start();
    let place = place(&issuer);
    for name in ["here", "known"] {
        place.run(&["login", name]).failed(
            2,
            &format!("error: {name:?} has no login: it is a program, or has a token of its own\n"),
        );
    }
    let ended = place.run(&["login", "dogs"]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.err.ends_with("hint: did you mean \"docs\"?\n"),
        "{ended:?}"
    );
    let words = [
        "login",
        "docs",
        "--no-browser",
        "--no-input",
        "--timeout",
        "50ms",
    ];
    let late = place.run(&words);
    assert_eq!(late.code, 3, "{late:?}");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", closed.local_addr().unwrap());
    drop(closed);
    let ended = place.run(&["login", &url, "--no-browser"]);
    assert_eq!(ended.code, 4, "{ended:?}");
    let ended = place.run(&["login", "http://example.com/mcp"]);
    assert_eq!(ended.code, 2, "{ended:?}");
}
