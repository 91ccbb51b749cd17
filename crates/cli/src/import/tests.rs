//! Every format from a file that looks real, brought over and read again.

use std::path::{Path, PathBuf};

use switchboard_auth::Secret;
use switchboard_hub::{
    AuthConfig, ServerConfig, Surroundings as Values, Template, TransportConfig,
};

use super::*;

/// A machine on which every variable has a value.
#[derive(Debug)]
struct Full;

impl Values for Full {
    fn variable(&self, name: &str) -> Option<Secret> {
        Some(Secret::new(format!("<{name}>")))
    }

    fn variable_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn file(&self, path: &Path) -> std::io::Result<Secret> {
        Ok(Secret::new(format!("<file {}>", path.display())))
    }

    fn command(&self, words: &[String]) -> std::io::Result<Secret> {
        Ok(Secret::new(format!("<command {words:?}>")))
    }

    fn keyring(&self, name: &str) -> std::io::Result<Option<Secret>> {
        Ok(Some(Secret::new(format!("<keyring {name}>"))))
    }

    fn input(&self, id: &str) -> std::io::Result<Option<Secret>> {
        Ok(Some(Secret::new(format!("<input {id}>"))))
    }

    fn home(&self) -> Option<PathBuf> {
        Some(PathBuf::from("/home/ada"))
    }
}

fn value(template: &Template) -> String {
    template.resolve(&Full).unwrap().reveal().to_owned()
}

/// All that a server is, with its variables filled in, in whatever words it was written.
fn facts(server: &ServerConfig) -> Vec<String> {
    let mut facts = vec![format!(
        "{} {:?} {} {} {:?} {:?} {} {:?} {:?} {:?} {:?} {:?} {:?}",
        server.name,
        server.display_name,
        server.is_enabled,
        server.is_required,
        server.start,
        server.tools,
        server.is_read_only,
        server.timeouts,
        server.limits,
        server.idle,
        server.sharing,
        server.mode,
        server.folder,
    )];
    let mut unknown = server.unknown.0.clone();
    match &server.transport {
        TransportConfig::Stdio(stdio) => {
            facts.push(format!("program {}", value(&stdio.command)));
            facts.extend(
                stdio
                    .args
                    .iter()
                    .map(|word| format!("word {}", value(word))),
            );
            for (name, it) in &stdio.env {
                facts.push(format!("env {name} {:?}", it.as_ref().map(value)));
            }
            let path = |it: &Option<Template>| it.as_ref().map(value);
            facts.push(format!(
                "{:?} {:?}",
                path(&stdio.env_file),
                path(&stdio.cwd)
            ));
            facts.push(format!("{:?} {}", stdio.inherits, stdio.inherits_all));
        }
        TransportConfig::Http(http) | TransportConfig::Sse(http) => {
            facts.push(format!("{} {}", server.transport.word(), value(&http.url)));
            for (name, it) in &http.headers {
                facts.push(format!("header {name} {}", value(it)));
            }
            match &http.auth {
                AuthConfig::Auto => {}
                AuthConfig::None => facts.push("no login".to_owned()),
                AuthConfig::Bearer(token) => {
                    facts.push(format!("header Authorization Bearer {}", value(token)));
                }
                AuthConfig::OAuth(known) => {
                    let text = |it: &Option<Template>| it.as_ref().map(value);
                    facts.push(format!(
                        "oauth {:?} {:?} {:?} {:?} {:?} {:?} {}",
                        text(&known.client_id),
                        text(&known.client_secret),
                        text(&known.issuer),
                        text(&known.token_url),
                        known.scopes,
                        known.callback_port,
                        known.is_machine,
                    ));
                }
                other => panic!("{other:?}"),
            }
            if let Some(auth) = unknown.remove("auth") {
                unknown.insert("oauth".to_owned(), auth);
            }
        }
        other => panic!("{other:?}"),
    }
    facts.push(serde_json::to_string(&unknown).unwrap());
    facts
}

fn fixture(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    folder.join(name)
}

/// Reads a file as that of a program, in the folder that it is brought to.
fn original(client: Client, file: &str) -> Config {
    let reading = Reading {
        dialect: Some(client.dialect()),
        folder: Some(PathBuf::from("/project")),
    };
    read_as(&fixture(file), &reading).unwrap_or_else(|error| panic!("{error}"))
}

/// Everything that is said about the servers of a file survives being written in our own words.
fn check(client: Client, file: &str, names: &[&str]) {
    let before = original(client, file);
    let errors: Vec<String> = before.errors().map(ToString::to_string).collect();
    assert_eq!(errors, Vec::<String>::new(), "{file}");
    let found: Vec<&str> = before.servers.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(found, names, "{file}");
    let folder = Path::new("/project");
    let members: Vec<String> = before
        .servers
        .iter()
        .map(|it| format!("{:?}:{}", it.name, it.to_json(Some(folder))))
        .collect();
    let text = format!("{{\"mcpServers\":{{{}}}}}", members.join(","));
    let after = Config::read(&text, &Origin::file("/project/mcp.json")).unwrap();
    let problems: Vec<String> = after.errors().map(ToString::to_string).collect();
    assert_eq!(problems, Vec::<String>::new(), "{file}\n{text}");
    assert_eq!(after.servers.len(), before.servers.len(), "{file}");
    for (before, after) in before.servers.iter().zip(&after.servers) {
        let (mut before, mut after) = (facts(before), facts(after));
        before.sort();
        after.sort();
        assert_eq!(after, before, "{file}\n{text}");
    }
}

#[test]
fn servers_of_every_program_come_over_without_loss() {
    use Client::*;
    check(
        ClaudeDesktop,
        "claude_desktop_config.json",
        &["filesystem", "brave-search", "notion"],
    );
    check(
        ClaudeCode,
        "claude.json",
        &["context7", "sentry", "legacy-events"],
    );
    check(VsCode, "vscode-mcp.json", &["github", "perplexity", "old"]);
    check(Cursor, "cursor-mcp.json", &["linear", "figma", "supabase"]);
    check(
        Codex,
        "codex-config.toml",
        &["docs", "git", "my.browser", "figma"],
    );
    check(Goose, "goose-config.yaml", &["git", "docs"]);
    check(Zed, "zed-settings.json", &["postgres", "old-shape", "docs"]);
    check(
        Gemini,
        "gemini-settings.json",
        &["github", "events", "python-tools", "internal"],
    );
    check(
        OpenCode,
        "opencode.jsonc",
        &["everything", "jira", "sentry"],
    );
    check(
        Windsurf,
        "windsurf-mcp_config.json",
        &["github", "remote-docs"],
    );
}

#[test]
fn times_have_the_unit_of_their_program() {
    let seconds = |client, file: &str, server: &str| {
        let config = original(client, file);
        let times = config.server(server).unwrap().timeouts;
        let seconds = |time: Option<std::time::Duration>| time.map(|time| time.as_secs_f64());
        (
            seconds(times.start),
            seconds(times.call),
            seconds(times.list),
        )
    };
    let codex = seconds(Client::Codex, "codex-config.toml", "git");
    assert_eq!(codex, (Some(60.0), Some(90.5), None));
    let goose = seconds(Client::Goose, "goose-config.yaml", "git");
    assert_eq!(goose, (None, Some(300.0), None));
    let zed = seconds(Client::Zed, "zed-settings.json", "postgres");
    assert_eq!(zed, (None, Some(90.0), None));
    let gemini = seconds(Client::Gemini, "gemini-settings.json", "github");
    assert_eq!(gemini, (None, Some(600.0), None));
    let open_code = seconds(Client::OpenCode, "opencode.jsonc", "everything");
    assert_eq!(open_code, (None, None, Some(8.0)));
    let claude = seconds(Client::ClaudeCode, "claude.json", "context7");
    assert_eq!(claude, (None, Some(120.0), None));
}

#[test]
fn what_is_wrong_in_toml_and_yaml_is_reported_there() {
    let texts = |path: &str, text: &str| -> Vec<String> {
        let config = read_text_as(Path::new(path), text, &Reading::default()).unwrap();
        config.problems.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        texts(
            "config.toml",
            "[mcp_servers.a]\ncommand = 'x'\nargs = 3\n\n[mcp_servers.b]\nurl = 'ftp://b'\n"
        ),
        [
            "config.toml:3:8: server \"a\": \"args\" expects a list, found a number",
            "config.toml:6:7: server \"b\": \"url\" cannot be connected to: it does not begin with https:// or http://",
        ]
    );
    assert_eq!(
        texts(
            "config.yaml",
            "extensions:\n  a:\n    type: stdio\n    cmd: x\n    timeout: soon\n"
        ),
        [
            "config.yaml:5:14: server \"a\": \"timeout\" expects a time such as \"30s\" or 30000, at least 1 ms and at most a year",
        ]
    );
    let error = read_text_as(Path::new("config.toml"), "a = \n", &Reading::default()).unwrap_err();
    assert!(error.to_string().starts_with("config.toml:1:"), "{error}");
    assert!(error.to_string().contains("not TOML"), "{error}");
}

#[test]
fn files_are_where_the_programs_keep_them() {
    let folders = Folders {
        here: PathBuf::from("/p"),
        home: Some(PathBuf::from("/h")),
        config: Some(PathBuf::from("/h/.config")),
        data: Some(PathBuf::from("/h/data")),
        codex: None,
    };
    for client in Client::ALL {
        assert_eq!(Client::of(client.word()), Some(client));
        let files = client.files(&folders);
        assert!(
            files.iter().any(|(scope, _)| *scope == Scope::User),
            "{client:?}"
        );
        for (scope, file) in files {
            assert_eq!(file.starts_with("/p"), scope == Scope::Project, "{file:?}");
        }
    }
    let nobody = Folders {
        home: None,
        config: None,
        data: None,
        ..folders
    };
    for client in Client::ALL {
        let files = client.files(&nobody);
        assert!(files.iter().all(|(scope, _)| *scope == Scope::Project));
    }
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let name = format!("switchboard-large-import-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    // A hole on the disk, of zeros.
    File::create(&path).unwrap().set_len(LARGEST + 1).unwrap();
    let refused = read_text(&path);
    std::fs::remove_file(&path).unwrap();
    let Err(ReadError::File { source, .. }) = refused else {
        panic!("it was read");
    };
    assert_eq!(source.to_string(), "it is larger than 32 MiB");
}
