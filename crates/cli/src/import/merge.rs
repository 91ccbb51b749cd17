//! Which servers are new to a file, which are there already, and which only have the same name.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use switchboard_hub::{Config, ServerConfig};

use super::client::Client;

/// A server that is to be brought over.
#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    pub(crate) server: ServerConfig,
    /// The program that it is from, unless a file was named.
    pub(crate) client: Option<Client>,
    pub(crate) file: PathBuf,
}

/// What becomes of a server.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) name: String,
    pub(crate) client: Option<Client>,
    pub(crate) file: PathBuf,
    pub(crate) fate: Fate,
    /// As it is written.
    pub(crate) json: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is new.
    Added,
    /// It is there already.
    Same,
    /// Another of its name was there.
    Replaced,
    /// Another of its name is there, and stays.
    Conflict,
}

impl Fate {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Same => "same",
            Self::Replaced => "replaced",
            Self::Conflict => "conflict",
        }
    }
}

/// Decides about each. Of two of a name that come together the first counts.
pub(crate) fn merge(
    existing: &Config,
    incoming: impl IntoIterator<Item = Incoming>,
    folder: Option<&Path>,
    replaces: bool,
) -> Vec<Arrival> {
    let mut known: HashMap<String, Option<Value>> = HashMap::new();
    for server in &existing.servers {
        let meaning = meaning(&server.to_json(folder));
        known.insert(server.name.clone(), meaning);
    }
    for name in &existing.broken {
        known.entry(name.clone()).or_insert(None);
    }
    let mut came: HashMap<String, Option<Value>> = HashMap::new();
    let mut arrivals = Vec::new();
    for Incoming {
        server,
        client,
        file,
    } in incoming
    {
        let json = server.to_json(folder);
        let meaning = meaning(&json);
        let name = server.name;
        let fate = match (came.get(&name), known.get(&name)) {
            (Some(first), _) if *first == meaning => continue,
            // What came first stays, whatever was said about what was there before.
            (Some(_), _) => Fate::Conflict,
            (None, None) => Fate::Added,
            (None, Some(there)) if *there == meaning => Fate::Same,
            (None, Some(_)) if replaces => Fate::Replaced,
            (None, Some(_)) => Fate::Conflict,
        };
        if fate != Fate::Conflict {
            came.insert(name.clone(), meaning);
        }
        arrivals.push(Arrival {
            name,
            client,
            file,
            fate,
            json,
        });
    }
    arrivals
}

/// Two texts mean the same in any order.
fn meaning(json: &str) -> Option<Value> {
    serde_json::from_str(json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incoming(name: &str, url: &str) -> Incoming {
        Incoming {
            server: ServerConfig::url(name, url),
            client: None,
            file: PathBuf::from("x.json"),
        }
    }

    #[test]
    fn nothing_is_replaced_unless_that_is_wanted() {
        let mut existing = Config::default();
        existing
            .servers
            .push(ServerConfig::url("a", "https://a.example"));
        existing
            .servers
            .push(ServerConfig::url("b", "https://b.example"));
        existing.broken.push("c".to_owned());
        let all = || {
            [
                incoming("a", "https://a.example"),
                incoming("b", "https://other.example"),
                incoming("c", "https://c.example"),
                incoming("d", "https://d.example"),
                incoming("d", "https://d.example"),
                incoming("d", "https://other.example"),
            ]
        };
        let check = |replaces, expected: &[&str]| {
            let arrivals = merge(&existing, all(), None, replaces);
            let fates: Vec<String> = arrivals
                .iter()
                .map(|arrival| format!("{} {}", arrival.name, arrival.fate.word()))
                .collect();
            assert_eq!(fates, expected);
        };
        check(
            false,
            &[
                "a same",
                "b conflict",
                "c conflict",
                "d added",
                "d conflict",
            ],
        );
        check(
            true,
            &[
                "a same",
                "b replaced",
                "c replaced",
                "d added",
                "d conflict",
            ],
        );
    }
}
