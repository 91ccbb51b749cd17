//! The step `deny`: licences, bans and sources of what we stand on, and what is known against it.
//!
//! What is known is a repository that others keep. It is looked at where there is a copy of it,
//! so that the check needs no network of its own and says the same of the same commit.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::check::succeeds;
use crate::report::{self, Outcome};
use crate::tools;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    prepare(workspace)
        .and_then(|mut command| succeeds(&mut command, "cargo-deny"))
        .into()
}

fn prepare(workspace: &Workspace) -> Result<Command, String> {
    let mut command = Command::new(tools::cargo_deny(workspace)?);
    command.current_dir(&workspace.root);
    command.args(["--color", "never"]);
    let what = ["check", "licenses", "bans", "sources"];
    match env::var_os(VARIABLE).map(PathBuf::from) {
        Some(copy) => {
            let copy = fs::canonicalize(&copy)
                .map_err(|error| format!("{VARIABLE}, {}: {error}", copy.display()))?;
            command.arg("--config").arg(config(workspace)?);
            // cargo-deny wants an address with a host; git is told where that is.
            command.env("GIT_CONFIG_COUNT", "1");
            command.env(
                "GIT_CONFIG_KEY_0",
                format!("url.{}.insteadOf", copy.display()),
            );
            command.env("GIT_CONFIG_VALUE_0", ADDRESS);
            command.args(what).arg("advisories");
        }
        None => {
            report::line(&format!(
                "advisories: {VARIABLE} names no copy of the RustSec database, so they are not looked at"
            ));
            command.args(what);
        }
    }
    Ok(command)
}

/// `deny.toml`, and where the advisories are.
fn config(workspace: &Workspace) -> Result<PathBuf, String> {
    let folder = workspace.target.join("advisories");
    let text = fs::read_to_string(workspace.root.join("deny.toml"));
    let text = text.map_err(|error| format!("deny.toml: {error}"))?;
    write(&folder, &text).map_err(|error| format!("{}: {error}", folder.display()))
}

fn write(folder: &Path, text: &str) -> std::io::Result<PathBuf> {
    // Whatever was fetched before may be of another copy.
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let path = folder.join("deny.toml");
    let database = folder.join("database");
    fs::write(
        &path,
        format!(
            "{text}\n[advisories]\ndb-path = {database:?}\ndb-urls = [{ADDRESS:?}]\n\
             git-fetch-with-cli = true\n"
        ),
    )?;
    Ok(path)
}

const VARIABLE: &str = "SWITCHBOARD_ADVISORIES";

/// Stands for wherever the copy is; nobody else can have this name.
const ADDRESS: &str = "https://advisories.invalid/database";
