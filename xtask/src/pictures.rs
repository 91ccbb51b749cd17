//! `cargo xtask pictures`: the command line as it looks, and the gateway in the Inspector, for
//! `docs/pictures/`.
//!
//! 1. `terminal`: tmux, in which it is typed at real servers
//! 2. `svg`: what was there, drawn
//! 3. `inspector`: a page in a browser
//!
//! It is no check: times and versions differ from run to run. Somebody looks at what it made.

mod inspector;
mod svg;
mod terminal;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::pictures::terminal::Terminal;
use crate::process::{self, Show};
use crate::report::{self, Outcome};
use crate::tools;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    if tools::on_path("tmux").is_none() {
        return Outcome::failed("tmux is not on the search path");
    }
    take(workspace).into()
}

fn take(workspace: &Workspace) -> Result<(), String> {
    let stage = prepare(workspace)?;
    let shown = stage.display().to_string();
    for picture in PICTURES {
        let terminal = Terminal::open(&stage, COLUMNS, ROWS)?;
        let lines = match picture.until {
            // Something is going on meanwhile.
            Some(text) => terminal.see(picture.command, |lines| {
                lines.iter().any(|line| line.contains(text))
            }),
            None => terminal.see(picture.command, |lines| {
                lines.len() > 1 && lines.last().is_some_and(|line| line == "$")
            }),
        };
        let mut lines = lines.map_err(|reason| format!("{}: {reason}", picture.command))?;
        if picture.until.is_none() {
            lines.pop();
        }
        // Nobody else has this folder.
        let lines: Vec<String> = lines.iter().map(|line| line.replace(&shown, "~")).collect();
        let file = workspace.root.join("docs/pictures").join(picture.name);
        let file = file.with_extension("svg");
        write(&file, &svg::draw(&lines, COLUMNS))?;
        report::line(&format!("{} lines in {}", lines.len(), file.display()));
    }
    let taken = inspector::take(workspace, &stage);
    let _ = fs::remove_dir_all(&stage);
    taken
}

/// Runs it in the stage, where the programs are known by their names.
fn within(command: &mut Command, stage: &Path) {
    let before = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(stage.join("bin")).chain(env::split_paths(&before));
    if let Ok(path) = env::join_paths(folders) {
        command.env("PATH", path);
    }
    command.current_dir(stage).env("SWITCHBOARD_TRUST", "1");
}

/// A folder with servers and the programs that they are, by their names alone.
fn prepare(workspace: &Workspace) -> Result<PathBuf, String> {
    let mut command = workspace.cargo();
    command.args(["build", "--package", "switchboard-cli"]);
    process::run(&mut command, Show::All)?.check("cargo build")?;
    let stage = env::temp_dir().join("switchboard-pictures");
    // It is not there mostly.
    let _ = fs::remove_dir_all(&stage);
    let programs = stage.join("bin");
    fs::create_dir_all(&programs).map_err(|error| format!("{}: {error}", programs.display()))?;
    let npm = tools::node(workspace)?.join("node_modules").join(".bin");
    let python = tools::python(workspace, "requirements.txt")?;
    let found = [
        workspace.binary("switchboard"),
        npm.join("mcp-server-everything"),
        npm.join("mcp-server-memory"),
        python.join("mcp-server-time"),
    ];
    for program in found {
        let name = program.file_name().unwrap_or_default();
        link(&program, &programs.join(name))?;
    }
    write(&stage.join("mcp.json"), SERVERS)?;
    Ok(stage)
}

#[cfg(unix)]
fn link(program: &Path, place: &Path) -> Result<(), String> {
    std::os::unix::fs::symlink(program, place)
        .map_err(|error| format!("{}: {error}", place.display()))
}

#[cfg(not(unix))]
fn link(_program: &Path, _place: &Path) -> Result<(), String> {
    Err("pictures are taken on Unix only".to_owned())
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    let made = file.parent().map_or(Ok(()), fs::create_dir_all);
    let written = made.and_then(|()| fs::write(file, text));
    written.map_err(|error| format!("{}: {error}", file.display()))
}

/// What is typed, and when it is taken: once it has ended, or once this is there.
struct Picture {
    name: &'static str,
    command: &'static str,
    until: Option<&'static str>,
}

const PICTURES: &[Picture] = &[
    Picture {
        name: "ls",
        command: "switchboard ls",
        until: None,
    },
    Picture {
        name: "tools",
        command: "switchboard tools everything",
        until: None,
    },
    Picture {
        name: "show",
        command: "switchboard show tasks.create_task",
        until: None,
    },
    Picture {
        name: "call",
        command: "switchboard call everything trigger-long-running-operation duration=8 steps=8",
        until: Some("62%"),
    },
    Picture {
        name: "ask",
        command: "switchboard call everything trigger-elicitation-request",
        until: Some("name"),
    },
    Picture {
        name: "error",
        command: "switchboard call time convert_time source_timezone=UTC tiem=12:00",
        until: None,
    },
    Picture {
        name: "doctor",
        command: "switchboard doctor",
        until: None,
    },
    Picture {
        name: "help",
        command: "switchboard call --help",
        until: None,
    },
];

const COLUMNS: usize = 100;
const ROWS: usize = 70;
const SERVERS: &str = r#"{
  "mcpServers": {
    "everything": { "command": "mcp-server-everything", "args": ["stdio"] },
    "memory": { "command": "mcp-server-memory", "env": { "MEMORY_FILE_PATH": "memory.jsonl" } },
    "notes": { "command": "mcp-server-notes", "disabled": true },
    "tasks": { "command": "switchboard", "args": ["demo", "serve", "--db", "tasks.sqlite"] },
    "time": { "command": "mcp-server-time", "args": ["--local-timezone", "UTC"] },
    "weather": { "url": "http://127.0.0.1:9/mcp" }
  }
}
"#;
