//! The file with the servers while they are served: read again when it changes.
//!
//! What is wrong with it changes nothing: a file that cannot be read leaves all servers as they
//! are, a server that is written wrongly leaves that one as it was.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_gateway::{FileWatch, Gateway, Key};
use switchboard_hub::{Config, HubSettings, Plan, ServerConfig};
use tokio::sync::mpsc;

use super::ending::Hangups;
use super::key_ring::KeyRing;
use super::locked::Locked;
use crate::args::Global;
use crate::exit::with_causes;
use crate::journal::Journal;
use crate::source::Source;
use crate::trust;

/// Keeps servers as their file says.
pub(super) struct Reloading {
    file: PathBuf,
    /// Is a change of it used only if somebody has agreed to it?
    must_agree: bool,
    /// Those that were last taken over.
    servers: Vec<ServerConfig>,
    settings: HubSettings,
    /// None if only a signal has it read again.
    watch: Option<FileWatch>,
    ring: KeyRing,
}

impl Reloading {
    /// From a file that was read after this watch was made.
    pub(super) fn new(
        file: PathBuf,
        must_agree: bool,
        config: &Config,
        watch: Option<FileWatch>,
        ring: KeyRing,
    ) -> Self {
        Self {
            file,
            must_agree,
            servers: config.servers.clone(),
            settings: config.settings.clone(),
            watch,
            ring,
        }
    }

    /// Takes changes over, for ever.
    pub(super) async fn run(
        mut self,
        gateway: &Gateway,
        journal: &Journal,
        mut asked: mpsc::Receiver<Asked>,
        mut locked: Option<Locked>,
    ) {
        let mut hangups = Hangups::new();
        loop {
            let watch = self.watch.as_mut();
            let changed = async {
                match watch {
                    Some(watch) => watch.changed().await,
                    None => std::future::pending().await,
                }
            };
            let relocked = async {
                match &mut locked {
                    Some(locked) => locked.changed().await,
                    None => std::future::pending().await,
                }
            };
            let asked = tokio::select! {
                () = relocked => {
                    if let Some(locked) = &mut locked {
                        locked.read_again(gateway.hub(), journal).await;
                    }
                    continue;
                }
                () = changed => None,
                () = self.ring.changed() => None,
                () = hangups.next() => None,
                Some(asked) = asked.recv() => Some(asked),
            };
            // First what was approved, so that a server that is new is judged by it.
            if let Some(locked) = &mut locked {
                locked.read_again(gateway.hub(), journal).await;
            }
            let said = self.reload(gateway, journal).await;
            if let Some(asked) = asked {
                // Whoever asked may have gone.
                let _ = asked.send(said);
            }
        }
    }

    /// Reads the file again. What comes back was said to the journal too.
    async fn reload(&mut self, gateway: &Gateway, journal: &Journal) -> Result<String, String> {
        let (file, must_agree) = (self.file.clone(), self.must_agree);
        let read = tokio::task::spawn_blocking(move || Source::again(file, must_agree)).await;
        let config = match read {
            Ok(Ok(source)) if trust::is_agreed(&Global::default(), &source) => {
                Arc::new(source.config)
            }
            Ok(Ok(_)) => {
                let reason = "nobody has agreed to what it starts now; `switchboard trust`, then \
                              `switchboard reload`";
                let reason = format!("{}: {reason}", self.file.display());
                return Err(self.keep(journal, &reason));
            }
            Ok(Err(error)) => return Err(self.keep(journal, &with_causes(&error))),
            Err(error) => return Err(self.keep(journal, &error.to_string())),
        };
        for problem in config.errors() {
            journal.warn(None, &problem.to_string());
        }
        self.take_keys(gateway, &config, journal).await;
        if !is_same_but_keys(&config.settings, &self.settings) {
            let words = "what stands under \"x-switchboard\" at the top is taken over by a restart";
            journal.warn(None, &format!("{}: {words}", self.file.display()));
        }
        let servers = merged(&self.servers, &config);
        let plan = gateway.hub().set_servers(servers.clone()).await;
        self.servers = servers;
        let said = told(&self.file, &plan);
        journal.note(None, &said);
        Ok(said)
    }

    /// Lets those in who have keys now. What is wrong with them changes nothing.
    async fn take_keys(&mut self, gateway: &Gateway, config: &Arc<Config>, journal: &Journal) {
        let stay = |reason: &str| {
            journal.warn(None, &format!("{reason}; the keys stay as they are"));
        };
        let keys = match self.ring.read_again(config).await {
            Ok(keys) => keys,
            Err(failure) => return stay(&failure.message),
        };
        if keys == self.ring.keys {
            return;
        }
        if !gateway.is_locked() {
            return stay("without keys it was started, and a restart is needed to have some");
        }
        match gateway.set_keys(&keys) {
            Ok(()) => {
                journal.note(None, &told_keys(&self.ring.keys, &keys));
                self.ring.keys = keys;
            }
            Err(error) => stay(&format!("the keys: {error}")),
        }
    }

    fn keep(&self, journal: &Journal, reason: &str) -> String {
        let said = format!("{reason}; the servers stay as they are");
        journal.warn(None, &said);
        said
    }
}

/// Somebody who wants the file to be read now, and to hear what came of it.
pub(super) type Asked = tokio::sync::oneshot::Sender<Result<String, String>>;

/// The servers of a file; those that are written wrongly as they were.
fn merged(old: &[ServerConfig], config: &Config) -> Vec<ServerConfig> {
    let mut servers = config.servers.clone();
    let kept = old.iter().filter(|was| config.broken.contains(&was.name));
    servers.extend(kept.cloned());
    servers
}

/// Everything but keys is taken over by a restart only.
fn is_same_but_keys(one: &HubSettings, other: &HubSettings) -> bool {
    let without = |settings: &HubSettings| {
        let mut settings = settings.clone();
        settings.gateway.keys.clear();
        settings
    };
    without(one) == without(other)
}

/// Which keys come, go, or are others now.
fn told_keys(old: &[Key], new: &[Key]) -> String {
    let named = |keys: &[Key], name: &str| keys.iter().find(|key| key.name() == name).cloned();
    let names = |keys: &[Key], wanted: &dyn Fn(&Key) -> bool| -> Vec<String> {
        let wanted = keys.iter().filter(|key| wanted(key));
        wanted.map(|key| key.name().to_owned()).collect()
    };
    let parts = [
        ("added", names(new, &|key| named(old, key.name()).is_none())),
        (
            "removed",
            names(old, &|key| named(new, key.name()).is_none()),
        ),
        (
            "changed",
            names(new, &|key| {
                named(old, key.name()).is_some_and(|was| was != *key)
            }),
        ),
    ];
    let parts = parts.iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<String> = parts
        .map(|(word, names)| format!("{word} {}", names.join(", ")))
        .collect();
    format!("keys: {}", parts.join("; "))
}

/// A plan, as people read it.
fn told(file: &Path, plan: &Plan) -> String {
    let mut text = format!("{}: ", file.display());
    if plan.is_empty() {
        text.push_str("nothing has changed");
        return text;
    }
    let parts = [
        ("added", &plan.start),
        ("removed", &plan.stop),
        ("restarted", &plan.restart),
        ("updated", &plan.update),
        ("kept", &plan.keep),
    ];
    let mut separator = "";
    for (word, names) in parts {
        if !names.is_empty() {
            let _ = write!(text, "{separator}{word} {}", names.join(", "));
            separator = "; ";
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use switchboard_hub::{Origin, plan};

    use super::*;

    fn read(text: &str) -> Config {
        Config::read(text, &Origin::text("mcp.json")).unwrap()
    }

    #[test]
    fn a_plan_is_told_in_one_line() {
        let old =
            read(r#"{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"},"c":{"command":"c"}}}"#);
        let new =
            read(r#"{"mcpServers":{"a":{"command":"a"},"b":{"command":"x"},"d":{"command":"d"}}}"#);
        let check = |old: &Config, new: &Config, expected: &str| {
            let plan = plan(&old.servers, &new.servers);
            assert_eq!(told(Path::new("mcp.json"), &plan), expected);
        };
        check(
            &old,
            &new,
            "mcp.json: added d; removed c; restarted b; kept a",
        );
        check(&old, &old, "mcp.json: nothing has changed");
    }

    #[test]
    fn a_server_that_is_written_wrongly_stays_as_it_was() {
        let old = read(r#"{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"}}}"#);
        let new = read(r#"{"mcpServers":{"a":{"args":[]},"c":{"args":[]}}}"#);
        let servers = merged(&old.servers, &new);
        let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["a"]);
        assert_eq!(servers[0].transport, old.servers[0].transport);
    }
}
