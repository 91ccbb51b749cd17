//! `switchboard` at servers that others wrote, by the transcripts of `interop/cli/`: what is typed,
//! and what standard output, standard error and the exit code have to be.
//!
//! 1. `transcript`: how they are written; `stage`: how they are played
//!
//! What is checked is in those files; here is what has to be installed and built before.

mod stage;
mod transcript;

use std::fs;
use std::path::{Path, PathBuf};

use crate::interop::cli::stage::Stage;
use crate::interop::cli::transcript::{Names, Transcript};
use crate::interop::script::{record, two_at_once};
use crate::process::{self, Show};
use crate::report::Outcome;
use crate::tools;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace) -> Outcome {
    if !cfg!(unix) {
        return Outcome::not_applicable("programs are interrupted on Unix only");
    }
    let prepared = names(workspace).and_then(|names| Ok((names, transcripts(workspace)?)));
    let (names, files) = match prepared {
        Ok(prepared) => prepared,
        Err(reason) => return Outcome::failed(reason),
    };
    let play = |files: &[PathBuf]| {
        let mut outcome = Outcome::default();
        for file in files {
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            let played = play(workspace, file, &name, names.clone());
            record(&mut outcome, &format!("switchboard, {name}"), played);
        }
        outcome
    };
    let (one, other) = files.split_at(files.len() / 2);
    two_at_once(|| play(one), || play(other))
}

fn play(workspace: &Workspace, file: &Path, name: &str, names: Names) -> Result<(), String> {
    let text = read(file)?;
    let transcript = Transcript::read(&text)?;
    let folder = workspace.target.join("interop").join("cli").join(name);
    // It is not there the first time.
    let _ = fs::remove_dir_all(&folder);
    let mut stage = Stage::new(folder, workspace.binary("switchboard"), names);
    let servers = file.with_file_name("mcp.json");
    stage.write("mcp.json", &read(&servers)?)?;
    stage.write("home/.keep", "")?;
    stage.play(&transcript)
}

/// What transcripts call the places that differ from machine to machine.
fn names(workspace: &Workspace) -> Result<Names, String> {
    let mut command = workspace.cargo();
    command.args(["build", "--package", "switchboard-cli"]);
    process::run(&mut command, Show::All)?.check("cargo build")?;
    workspace.build_examples()?;
    let node = tools::node(workspace)?;
    let places = [
        ("SWITCHBOARD", workspace.binary("switchboard")),
        ("EXAMPLES", workspace.target.join("debug")),
        ("NPM", node.join("node_modules").join(".bin")),
        ("NODE", node),
        ("PYPI", tools::python(workspace, "requirements.txt")?),
        ("RUST", tools::rust_servers(workspace)?),
    ];
    let places = places.map(|(name, place)| (name.to_owned(), place.display().to_string()));
    Ok(places.into())
}

fn transcripts(workspace: &Workspace) -> Result<Vec<PathBuf>, String> {
    let folder = workspace.root.join("interop").join("cli");
    let entries = fs::read_dir(&folder);
    let entries = entries.map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = entries.flatten().map(|entry| entry.path());
    let is_transcript = |path: &PathBuf| path.extension().is_some_and(|end| end == "txt");
    let mut files: Vec<PathBuf> = files.filter(is_transcript).collect();
    files.sort();
    Ok(files)
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))
}
