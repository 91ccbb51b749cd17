//! Whether somebody has agreed to what a project's file starts.
//!
//! A file that was found on the way up from the current folder may have come with a clone or a
//! download, and it names programs. Nothing of it is started before somebody has agreed: to this
//! text at this place. What it started then is kept beside that, to show what has changed.
//!
//! A file that was named with `--config`, or is the user's own, needs no such thing.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_hub::{Config, ServerConfig, what_runs};

use crate::app::App;
use crate::args::Global;
use crate::edit::EditedFile;
use crate::exit::{Exit, Failure};
use crate::output::{Line, Page};
use crate::source::{Source, state_folder, user_file};

/// What was agreed to.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Agreement {
    file: String,
    /// Of the whole text: values of variables can make a program run another one.
    sha256: String,
    /// What is started, server by server, with nothing secret.
    pub(crate) starts: BTreeMap<String, String>,
}

impl Agreement {
    /// To a file as it is.
    pub(crate) fn to(file: &Path, text: &str, config: &Config) -> Self {
        let servers = config.servers.iter();
        Self {
            file: place(file).to_string_lossy().into_owned(),
            sha256: sha256(text.as_bytes()),
            starts: servers
                .map(|server| (server.name.clone(), started(server)))
                .collect(),
        }
    }

    /// What was last agreed to about a file. One that cannot be read is none.
    pub(crate) fn about(file: &Path) -> Option<Self> {
        let text = fs::read_to_string(record(file).ok()?).ok()?;
        let found: Self = serde_json::from_str(&text).ok()?;
        (found.file == place(file).to_string_lossy()).then_some(found)
    }

    pub(crate) fn is_to(&self, text: &str) -> bool {
        self.sha256 == sha256(text.as_bytes())
    }

    /// Remembers it.
    pub(crate) fn keep(&self) -> Result<(), Failure> {
        let path = record(Path::new(&self.file))?;
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        if let Some(folder) = path.parent() {
            let unmade = |error| {
                let message = format!("{} cannot be made: {error}", folder.display());
                Failure::unexpected(message)
            };
            make_private(folder).map_err(unmade)?;
        }
        let (file, _) = EditedFile::open(&path)?;
        file.private().replace(&text)
    }

    /// Forgets what was agreed to about a file. False: there was nothing.
    pub(crate) fn forget(file: &Path) -> Result<bool, Failure> {
        let path = record(file)?;
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => {
                let message = format!("{} cannot be removed: {error}", path.display());
                Err(Failure::unexpected(message))
            }
        }
    }

    /// A line for each server: what is started, or how that differs from what was before.
    pub(crate) fn page(&self, before: Option<&Self>) -> Page {
        let width = self.starts.keys().map(|name| name.chars().count()).max();
        let width = width.unwrap_or_default();
        let line = |sign: &str, name: &str, words: &str| {
            let gap = " ".repeat(width.saturating_sub(name.chars().count()));
            let line = Line::new().plain(format!("  {sign}"));
            line.strong(name).plain(format!("{gap}  {words}"))
        };
        let mut page = Page::new();
        let Some(before) = before else {
            for (name, words) in &self.starts {
                page = page.line(line("", name, words));
            }
            return page;
        };
        let mut is_seen = false;
        let both = before.starts.keys().chain(self.starts.keys());
        let names: std::collections::BTreeSet<&String> = both.collect();
        for name in names {
            let (old, new) = (before.starts.get(name), self.starts.get(name));
            if old == new {
                continue;
            }
            is_seen = true;
            if let Some(words) = old {
                page = page.line(line("- ", name, words));
            }
            if let Some(words) = new {
                page = page.line(line("+ ", name, words));
            }
        }
        match is_seen {
            true => page,
            false => page.line("  what it starts is the same; values or settings are others"),
        }
    }
}

/// Sees to it that somebody has agreed to a source, and asks if somebody can be asked.
///
/// # Errors
/// When nobody has, or does not want to.
pub(crate) async fn check(app: &App, source: &Source) -> Result<(), Failure> {
    let Some((file, text)) = source.foreign(&app.global) else {
        return Ok(());
    };
    let before = Agreement::about(file);
    if before.as_ref().is_some_and(|before| before.is_to(text)) {
        return Ok(());
    }
    let now = Agreement::to(file, text, &source.config);
    let name = file.display();
    let reason = match before {
        None => "nobody has agreed yet to what it starts",
        Some(_) => "it has changed since somebody agreed to what it starts",
    };
    let mut question = Page::new().line(format!("{name} is a project's, and {reason}:"));
    question = question.append(now.page(before.as_ref()));
    match app
        .desk
        .agree(&question, "start this, here and from now on?")
        .await
    {
        Some(true) => now.keep(),
        Some(false) => Err(untrusted(format!(
            "{name} is not used: nobody agreed to it"
        ))),
        None => Err(untrusted(format!("{name} is not used: {reason}"))),
    }
}

/// Has somebody agreed to it, as far as that is needed? Nobody is asked.
pub(crate) fn is_agreed(global: &Global, source: &Source) -> bool {
    source.foreign(global).is_none_or(|(file, text)| {
        Agreement::about(file).is_some_and(|agreement| agreement.is_to(text))
    })
}

/// Is it for this once enough that somebody has called us?
pub(crate) fn is_waived(global: &Global) -> bool {
    global.trust || std::env::var_os(VARIABLE).is_some_and(|value| value == "1")
}

/// What a user writes with our help is agreed to, if the rest of the file was, or there was none.
/// It is remembered before the file is written, for a gateway may read it at once; what comes
/// back is what to do if it could not be written.
pub(crate) fn follow(
    file: &Path,
    before: Option<&str>,
    text: &str,
    config: &Config,
) -> impl FnOnce() {
    let was = Agreement::about(file);
    let goes_on = match before {
        None => true,
        Some(before) => was.as_ref().is_some_and(|was| was.is_to(before)),
    };
    // Where it cannot be remembered, somebody is asked.
    let is_kept = goes_on && Agreement::to(file, text, config).keep().is_ok();
    let file = file.to_owned();
    move || match was.filter(|_| is_kept) {
        Some(was) => drop(was.keep()),
        None if is_kept => drop(Agreement::forget(&file)),
        None => {}
    }
}

/// Is it the user's own file, wherever it was found from?
pub(crate) fn is_own(file: &Path) -> bool {
    user_file().is_some_and(|own| place(&own) == place(file))
}

fn untrusted(message: String) -> Failure {
    Failure::new(Exit::Untrusted, message).hint(format!(
        "`switchboard trust` shows what it starts and agrees to it; --trust or {VARIABLE}=1 is for this once"
    ))
}

/// What a server runs, for people: no values of variables, no headers.
fn started(server: &ServerConfig) -> String {
    let runs: Value = serde_json::from_str(&what_runs(server)).unwrap_or_default();
    let text = |name: &str| runs[name].as_str().map(str::to_owned);
    let list = |name: &str| -> Vec<String> {
        let all = runs[name].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut parts = match text("url") {
        Some(url) => vec![url],
        None => {
            let words = text("command").into_iter().chain(list("args"));
            let words: Vec<String> = words.map(quoted).collect();
            vec![words.join(" ")]
        }
    };
    parts.extend(text("cwd").map(|folder| format!("in {folder}")));
    let names = list("env");
    if !names.is_empty() {
        parts.push(format!("with {}", names.join(", ")));
    }
    parts.extend(text("envFile").map(|file| format!("with what is in {file}")));
    // A program may be run to fill in a value.
    let templates = server.templates().into_iter();
    let references = templates.flat_map(|template| template.references());
    let programs = references.filter(|written| written.starts_with("${cmd:"));
    parts.extend(programs.map(|written| format!("runs {written}")));
    parts.join("; ")
}

/// A word, in quotes where it would be read as several.
fn quoted(word: String) -> String {
    match word.is_empty() || word.contains([' ', '\t', '\n', '"', ';']) {
        true => format!("{word:?}"),
        false => word,
    }
}

/// Where a file is, links followed; where it would be, if there is none yet.
fn place(file: &Path) -> PathBuf {
    let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    if let Ok(real) = fs::canonicalize(&whole) {
        return real;
    }
    let folder = whole.parent().map(fs::canonicalize);
    match (folder, whole.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => whole,
    }
}

/// Where is remembered what was agreed to about a file.
fn record(file: &Path) -> Result<PathBuf, Failure> {
    let folder = state_folder().ok_or_else(|| {
        Failure::unexpected("there is no home folder to remember agreements in")
            .hint(format!("--trust or {VARIABLE}=1 is for this once"))
    })?;
    let name = sha256(place(file).as_os_str().as_encoded_bytes());
    Ok(folder.join("trust").join(format!("{name}.json")))
}

/// Makes a folder that only its user can look into.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn sha256(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

const VARIABLE: &str = "SWITCHBOARD_TRUST";

#[cfg(test)]
mod tests {
    use switchboard_hub::Origin;

    use super::*;

    #[track_caller]
    fn check(server: &str, expected: &str) {
        let text = format!(r#"{{"mcpServers":{{"a":{server}}}}}"#);
        let config = Config::read(&text, &Origin::text("mcp.json")).unwrap();
        assert_eq!(started(&config.servers[0]), expected);
    }

    #[test]
    fn what_is_started_is_said_with_all_that_can_run_something() {
        check(
            r#"{"command":"npx","args":["-y","a b","; rm",""]}"#,
            r#"npx -y "a b" "; rm" """#,
        );
        check(
            r#"{"command":"./x","cwd":"sub","env":{"B":"s3cret","A":"${cmd:evil --now}"}}"#,
            "./x; in sub; with A, B; runs ${cmd:evil --now}",
        );
        check(
            r#"{"url":"https://example.com/mcp?key=x","headers":{"X":"Bearer ${cmd:evil}"}}"#,
            "https://example.com/mcp?***; runs ${cmd:evil}",
        );
    }

    #[test]
    fn every_byte_of_the_text_counts() {
        let text = r#"{"mcpServers":{"a":{"command":"x","env":{"NODE_OPTIONS":""}}}}"#;
        let config = Config::read(text, &Origin::text("mcp.json")).unwrap();
        let agreement = Agreement::to(Path::new("mcp.json"), text, &config);
        assert!(agreement.is_to(text));
        assert!(!agreement.is_to(&text.replace("\"\"", "\"--require ./evil.js\"")));
    }
}
