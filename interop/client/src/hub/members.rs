//! The servers of a hub, as they are written in a file.
//!
//! Each gets a mark of its own in its environment, so that its processes can be told from those
//! of others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use switchboard_hub::{Config, Hub, Origin, ServerConfig};

use crate::catalog::{Server, Start};
use crate::processes::{self, VARIABLE};
use crate::report;
use crate::started::Started;

/// The servers of a hub.
#[derive(Default)]
pub(crate) struct Members {
    entries: Map<String, Value>,
    marks: BTreeMap<String, String>,
    /// Those behind URLs.
    started: Vec<Started>,
}

impl Members {
    /// A server of the catalogue, under a name.
    pub(crate) fn add(&mut self, name: &str, server: &Server) -> Result<(), String> {
        match &server.start {
            Start::Stdio(command) => {
                let variables = command.variables.iter();
                let variables: Vec<_> = variables.map(|(name, value)| (*name, &**value)).collect();
                self.command(name, &command.words, &variables, &command.folder);
            }
            Start::Http(words, listens) => {
                let mark = processes::new_mark();
                let started = Started::new(words, *listens, &mark)
                    .map_err(|reason| format!("{name}: {reason}"))?;
                let entry = json!({"type": "http", "url": started.url});
                self.entries.insert(name.to_owned(), entry);
                self.started.push(started);
            }
        }
        Ok(())
    }

    /// A program.
    pub(crate) fn command(
        &mut self,
        name: &str,
        words: &[String],
        variables: &[(&str, &str)],
        folder: &Path,
    ) {
        let mark = processes::new_mark();
        let mut env = Map::new();
        env.insert(VARIABLE.to_owned(), mark.clone().into());
        env.insert("PYTHONDONTWRITEBYTECODE".to_owned(), "1".into());
        for (name, value) in variables {
            env.insert((*name).to_owned(), (*value).into());
        }
        let (program, arguments) = words
            .split_first()
            .map_or(("", &[][..]), |(one, rest)| (one.as_str(), rest));
        let entry = json!({"command": program, "args": arguments, "env": env, "cwd": folder});
        self.entries.insert(name.to_owned(), entry);
        self.marks.insert(name.to_owned(), mark);
    }

    /// What it would have to be started anew for.
    pub(crate) fn change(&mut self, name: &str) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry["env"]["SWITCHBOARD_INTEROP_CHANGED"] = "yes".into();
        }
    }

    /// Writes them down.
    pub(crate) fn write(&self, folder: &Path) -> Result<PathBuf, String> {
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let file = folder.join("mcp.json");
        std::fs::write(&file, self.text()).map_err(|error| error.to_string())?;
        Ok(file)
    }

    /// As a hub reads them.
    pub(crate) fn servers(&self) -> Result<Vec<ServerConfig>, String> {
        let config = Config::read(&self.text(), &Origin::text("mcp.json"));
        Ok(config.map_err(|error| error.to_string())?.servers)
    }

    /// A hub of them.
    pub(crate) fn hub(&self) -> Result<Hub, String> {
        let servers = self.servers()?;
        let hub = servers
            .into_iter()
            .fold(Hub::builder(), |hub, server| hub.server(server));
        Ok(hub.build())
    }

    fn text(&self) -> String {
        json!({"mcpServers": self.entries}).to_string()
    }

    /// The processes of each program.
    pub(crate) fn pids(&self) -> Result<BTreeMap<&str, BTreeSet<u32>>, String> {
        let mut running = processes::by_mark()?;
        let pids = self.marks.iter().map(|(name, mark)| {
            let pids = running.remove(mark).unwrap_or_default();
            (name.as_str(), pids)
        });
        Ok(pids.collect())
    }

    /// How many processes they have.
    pub(crate) fn count(&self) -> Result<usize, String> {
        Ok(self.pids()?.values().map(BTreeSet::len).sum())
    }

    /// None of so many may be left.
    pub(crate) fn check_none(&self, before: usize) -> Result<(), String> {
        // Else nothing was counted.
        if before < self.marks.len() {
            return Err(format!("only {before} processes were there before"));
        }
        let left = self.pids()?;
        let left: Vec<_> = left.iter().filter(|(_, pids)| !pids.is_empty()).collect();
        let unreaped = processes::unreaped()?;
        match left.is_empty() && unreaped.is_empty() {
            true => Ok(()),
            false => Err(format!("left: {left:?}, not waited for: {unreaped:?}")),
        }
    }
}

/// Connects all, however long it takes, and says which cannot be ready.
pub(crate) async fn connect(hub: &Hub) -> Result<Duration, String> {
    let begun = Instant::now();
    let mut bad = Vec::new();
    for status in hub.connect_all().await {
        // It is waited for, if it only takes longer than is usual.
        if !status.state.is_ready()
            && let Err(error) = hub.connect(&status.name).await
        {
            bad.push(report::chain(&error));
        }
    }
    match bad.is_empty() {
        true => Ok(begun.elapsed()),
        false => Err(bad.join("; ")),
    }
}
