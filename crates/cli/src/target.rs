//! What of which server is meant: `SERVER NAME`, `SERVER.NAME`, `mcp__SERVER__NAME`, `URL NAME`, or
//! `NAME` of a command or of the only server there is.
//!
//! Only the servers that can be meant are started.

use switchboard_hub::{Config, Naming};

use crate::app::App;
use crate::args::look::Spot;
use crate::arguments::looks_like_one;
use crate::exit::Failure;
use crate::servers::Servers;
use crate::source::{self, Source};

/// What is meant, with its servers connected.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) servers: Servers,
    /// The server. None, if only the name says which.
    pub(crate) server: Option<String>,
    /// What the server calls it, or the name in the catalogue if there is no server. None, if only
    /// a server is meant.
    pub(crate) name: Option<String>,
    /// The words behind it.
    pub(crate) rest: Vec<String>,
}

impl Target {
    /// Finds out what is meant, and connects to it.
    pub(crate) async fn find(app: &App, words: &[String], spot: &Spot) -> Result<Self, Failure> {
        let target = Self::read(app, words, spot).await?;
        let failures = target.servers.connect(app).await;
        target.servers.judge(app, failures)?;
        Ok(target)
    }

    /// The name, or why there must be one.
    pub(crate) fn name(&self, kind: &str) -> Result<&str, Failure> {
        self.name.as_deref().ok_or_else(|| {
            let server = self.server.as_deref().unwrap_or_default();
            Failure::usage(format!("which {kind} of server {server:?}?"))
                .hint(format!("`switchboard {kind}s {server}` shows them"))
                .server(server)
        })
    }

    async fn read(app: &App, words: &[String], spot: &Spot) -> Result<Self, Failure> {
        let (first, rest) = match words.split_first() {
            Some((first, rest)) => (Some(first.as_str()), rest),
            None => (None, words),
        };
        if let Some(config) = source::given(first, spot)? {
            let server = config.name.clone();
            let servers = Servers::new(app, Source::of_one(config), None)?;
            // A URL is the server itself; behind a command the first word is the name.
            let behind = if spot.command.is_empty() { rest } else { words };
            return Ok(Self::on(servers, server, behind));
        }
        let source = Source::agreed(app).await?;
        let Some(first) = first else {
            return Err(Failure::usage("which server, or what of it?"));
        };
        match meant(&source.config, first, rest) {
            Meant::Server(server) => {
                let servers = Servers::new(app, source, Some(&[server.as_str()]))?;
                Ok(Self::on(servers, server, rest))
            }
            Meant::Named(server, name) => Ok(Self {
                servers: Servers::new(app, source, Some(&[server.as_str()]))?,
                server: Some(server),
                name: Some(name),
                rest: rest.to_vec(),
            }),
            Meant::Exposed(candidates) => {
                let names: Vec<&str> = candidates.iter().map(String::as_str).collect();
                Ok(Self {
                    servers: Servers::new(app, source, Some(&names))?,
                    server: None,
                    name: Some(first.to_owned()),
                    rest: rest.to_vec(),
                })
            }
            Meant::NoServer => {
                source.check_server(first)?;
                Err(Failure::usage(format!("there is no server {first:?}")))
            }
            Meant::Anything => Ok(Self {
                servers: Servers::new(app, source, None)?,
                server: None,
                name: Some(first.to_owned()),
                rest: rest.to_vec(),
            }),
        }
    }

    fn on(servers: Servers, server: String, words: &[String]) -> Self {
        let named = words.first().filter(|word| !looks_like_one(word));
        let rest = if named.is_some() { 1 } else { 0 };
        Self {
            servers,
            server: Some(server),
            name: named.cloned(),
            rest: words.get(rest..).unwrap_or_default().to_vec(),
        }
    }
}

/// What a word means.
#[derive(Debug, PartialEq, Eq)]
enum Meant {
    /// A server; what of it follows.
    Server(String),
    /// Something of a server.
    Named(String, String),
    /// A name of the catalogue; one of these servers has it.
    Exposed(Vec<String>),
    /// A name of something, whoever has it.
    Anything,
    /// A server that is not there.
    NoServer,
}

fn meant(config: &Config, first: &str, rest: &[String]) -> Meant {
    let servers = || config.servers.iter().map(|server| server.name.as_str());
    if servers().any(|server| server == first) || config.broken.iter().any(|name| name == first) {
        return Meant::Server(first.to_owned());
    }
    // A server's name may have dots itself: the longest counts.
    let mut split: Vec<(&str, &str)> = servers()
        .filter_map(|server| {
            let behind = first.strip_prefix(server)?;
            let name = behind.strip_prefix(['.', '/'])?;
            (!name.is_empty()).then_some((server, name))
        })
        .collect();
    split.sort_by_key(|(server, _)| std::cmp::Reverse(server.len()));
    if let Some((server, name)) = split.first() {
        return Meant::Named((*server).to_owned(), (*name).to_owned());
    }
    let naming = Naming::new(config.settings.prefix.unwrap_or_default());
    let exposed = servers().filter(|server| first.starts_with(&naming.server_prefix(server)));
    let exposed: Vec<String> = exposed.map(str::to_owned).collect();
    if !exposed.is_empty() {
        return Meant::Exposed(exposed);
    }
    let has_name_behind = rest.first().is_some_and(|word| !looks_like_one(word));
    if has_name_behind {
        return Meant::NoServer;
    }
    let mut on = config.servers.iter().filter(|server| server.is_enabled);
    match (on.next(), on.next()) {
        (Some(only), None) => Meant::Named(only.name.clone(), first.to_owned()),
        _ => Meant::Anything,
    }
}

#[cfg(test)]
mod tests {
    use switchboard_hub::ServerConfig;

    use super::*;

    fn check(servers: &[&str], words: &[&str], expected: &str) {
        let mut config = Config::default();
        for name in servers {
            config.servers.push(ServerConfig::command(name, ["x"]));
        }
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let (first, rest) = words.split_first().unwrap();
        let meant = match meant(&config, first, rest) {
            Meant::Server(server) => format!("server {server}"),
            Meant::Named(server, name) => format!("{name} of {server}"),
            Meant::Exposed(servers) => format!("one of {}", servers.join(",")),
            Meant::Anything => "anything".to_owned(),
            Meant::NoServer => "no server".to_owned(),
        };
        assert_eq!(meant, expected, "{words:?}");
    }

    #[test]
    fn a_target_is_written_in_several_ways() {
        let servers = ["git", "git.hub", "time"];
        check(&servers, &["git"], "server git");
        check(&servers, &["git", "log"], "server git");
        check(&servers, &["git.log", "n=1"], "log of git");
        check(&servers, &["git/log"], "log of git");
        check(&servers, &["git.hub.me"], "me of git.hub");
        check(&servers, &["mcp__time__now"], "one of time");
        check(&servers, &["now", "zone=x"], "anything");
        check(&servers, &["gti", "log"], "no server");
        check(&["time"], &["now"], "now of time");
    }
}
