//! `switchboard demo`: a server that is built in, listed and called.
//!
//! The server is this very program, started as a child with a file of its own that is gone
//! afterwards. `switchboard demo serve` is that server, for use with anything.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use switchboard_hub::ServerConfig;

use crate::app::App;
use crate::args::call::{Demo, DemoAction};
use crate::command::tools::{list, table};
use crate::exit::Failure;
use crate::json::Json;
use crate::output::{Line, Outcome, Page};
use crate::servers::Servers;
use crate::source::Source;

pub(crate) async fn run(args: &Demo, app: &App) -> Result<Outcome, Failure> {
    match &args.action {
        Some(DemoAction::Serve { db }) => serve(db.as_ref()).await,
        None => show(app).await,
    }
}

async fn serve(file: Option<&PathBuf>) -> Result<Outcome, Failure> {
    let broken = |error: std::io::Error| Failure::unexpected(crate::exit::with_causes(&error));
    let file = match file {
        Some(file) => file.clone(),
        None => switchboard_demo::file_of_user().map_err(broken)?,
    };
    let server = switchboard_demo::task_server(&file).map_err(broken)?;
    let site = server.site().map_err(|error| broken(error.into()))?;
    site.serve_stdio().await.map_err(broken)?;
    Ok(Outcome::nothing())
}

async fn show(app: &App) -> Result<Outcome, Failure> {
    let scratch = Scratch::new()?;
    let program = std::env::current_exe();
    let program = program.map_err(|error| Failure::unexpected(format!("who am I: {error}")))?;
    let words = [
        program.to_str().unwrap_or("switchboard"),
        "demo",
        "serve",
        "--db",
        scratch.file.to_str().unwrap_or("tasks.sqlite"),
    ];
    let server = ServerConfig::command("tasks", words);
    let servers = Servers::unlocked(app, Source::of_one(server), None);
    let failures = servers.connect(app).await;
    servers.judge(app, failures)?;
    let catalog = servers.hub.catalog();
    let tools: Vec<_> = catalog.tools().collect();
    let mut page = Page::new()
        .line(said("tools", ""))
        .table(table(&tools, true));
    let mut calls = Vec::new();
    for (tool, arguments) in [
        ("create_task", json!({"description": "Try switchboard"})),
        (
            "create_task",
            json!({"description": "Read its help", "priority": "high"}),
        ),
        ("list_tasks", json!({})),
    ] {
        let given = arguments.as_object().cloned().unwrap_or_default();
        let result = servers.hub.call_on("tasks", tool).args(&given).await?;
        if result.is_error() {
            return Err(Failure::unexpected(result.joined_text()));
        }
        page = page
            .blank()
            .line(said("call", &format!("{tool} {}", words_of(&given))))
            .text(result.joined_text());
        calls.push(json!({"tool": tool, "arguments": given, "result": result}));
    }
    page = page
        .blank()
        .line("That was a server over stdio, a child of this program. It is yours too:")
        .line("  switchboard add tasks -- switchboard demo serve")
        .line("  switchboard --help");
    Ok(Outcome::of(
        app,
        || page,
        || {
            Json::object([
                ("tools", list(&tools)),
                (
                    "calls",
                    Json::List(calls.into_iter().map(Json::from).collect()),
                ),
            ])
        },
    ))
}

/// The command line that does the same.
fn said(verb: &str, words: &str) -> Line {
    let words = words.trim_end();
    let gap = if words.is_empty() { "" } else { " " };
    Line::new().faint("$ ").strong(format!(
        "switchboard {verb}{gap}{words} -- switchboard demo serve"
    ))
}

fn words_of(arguments: &Map<String, Value>) -> String {
    let words = arguments.iter().map(|(name, value)| match value {
        Value::String(text) if text.contains(' ') => format!("{name}='{text}'"),
        Value::String(text) => format!("{name}={text}"),
        other => format!("{name}:='{other}'"),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A file of tasks that is gone afterwards.
struct Scratch {
    folder: PathBuf,
    file: PathBuf,
}

impl Scratch {
    fn new() -> Result<Self, Failure> {
        let broken =
            |error| Failure::unexpected(format!("a folder for the demonstration: {error}"));
        for number in 0..MOST_TRIES {
            let name = format!("switchboard-demo-{}-{number}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            match std::fs::create_dir(&folder) {
                Ok(()) => {
                    let file = folder.join("tasks.sqlite");
                    return Ok(Self { folder, file });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(broken(error)),
            }
        }
        Err(broken(std::io::ErrorKind::AlreadyExists.into()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It is in the folder for what may go.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const MOST_TRIES: u32 = 100;
