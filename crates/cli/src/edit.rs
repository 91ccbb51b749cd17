//! Configurations changed in place.
//!
//! What is not touched stays byte for byte: comments, order, indentation, line ends. Each change
//! is read again before it is written, so that nothing but what was meant is different.
//!
//! 1. here: which file is changed, and what is shown of it
//! 2. `file`: reading a file, and replacing it as a whole unless somebody else changed it
//! 3. `change`: a server added, removed, switched on or off; `tree`: where that is in the file
//! 4. `words`: a server in the words of the file's own program
//! 5. `diff`, `hide`: what is shown of a change

mod change;
mod diff;
mod file;
mod hide;
mod tree;
mod words;

use std::env;
use std::path::PathBuf;

use serde_json::json;

use crate::app::App;
use crate::args::Global;
use crate::args::edit::WhichFile;
use crate::exit::Failure;
use crate::output::{Line, Outcome, Page};
use crate::source::{find_file, user_file};

pub(crate) use change::Change;
pub(crate) use diff::unified;
pub(crate) use file::EditedFile;
pub(crate) use words::{NewServer, Reach};

/// The file that servers are added to: the one that was said, the one in use, or the user's own.
pub(crate) fn target(global: &Global, which: WhichFile) -> Result<PathBuf, Failure> {
    let own = || {
        user_file().ok_or_else(|| {
            Failure::usage("there is no home folder to keep servers in")
                .hint("name a file with --config")
        })
    };
    if which.user {
        return own();
    }
    if which.project {
        let here = env::current_dir();
        let here = here.map_err(|error| Failure::unexpected(format!("this folder: {error}")))?;
        let names = ["mcp.json", ".mcp.json"].map(|name| here.join(name));
        let there = names.iter().find(|file| file.is_file());
        return Ok(there.cloned().unwrap_or_else(|| here.join(".mcp.json")));
    }
    match find_file(global) {
        Some(file) => Ok(file),
        None => own(),
    }
}

/// The file in use, which must be there.
pub(crate) fn file_in_use(global: &Global) -> Result<PathBuf, Failure> {
    let missing = || {
        Failure::usage("there is no mcp.json or .mcp.json here or above, and none of your own")
            .hint("`switchboard add NAME -- COMMAND`, or `switchboard import`")
    };
    match find_file(global) {
        Some(file) if file.is_file() => Ok(file),
        Some(file) => Err(Failure::usage(format!(
            "there is no file {}",
            file.display()
        ))),
        None => Err(missing()),
    }
}

/// Writes a change, or shows it, and says what was done: `added "memory" to mcp.json`.
pub(crate) fn finish(
    app: &App,
    change: &Change,
    is_dry: bool,
    action: &'static str,
    name: &str,
) -> Result<Outcome, Failure> {
    if !is_dry {
        change.write()?;
    }
    let file = change.path().display().to_string();
    let diff = change.diff();
    let said = || {
        let preposition = match action {
            "added" => "to",
            "removed" => "from",
            _ => "in",
        };
        Line::new()
            .plain(format!("{action} "))
            .strong(format!("{name:?}"))
            .plain(format!(" {preposition} {file}"))
    };
    let page = || match is_dry {
        true if diff.is_empty() => Page::new().line("nothing changes that may be shown"),
        true => Page::new().text(diff.as_str()),
        false => Page::new().line(said()),
    };
    Ok(Outcome::of(app, page, || {
        json!({
            "action": action,
            "server": name,
            "file": file,
            "written": !is_dry,
            "diff": diff,
        })
    }))
}
