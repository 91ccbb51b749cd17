//! What a lock says of one server: whether it may run, and which of its definitions are approved.

use std::fmt;

use super::canonical::Node;
use super::{Lock, Pin, PinKind, PinnedServer, runs};
use crate::config::ServerConfig;

/// What a lock says of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pins {
    /// What is as it is here may be used.
    Approved(PinnedServer),
    /// Nothing may.
    Refused(Mismatch),
}

/// Why something is not what was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// Its server is not in the lock.
    UnknownServer,
    /// Its server runs something else; these members of the configuration differ.
    OtherServer(Vec<&'static str>),
    /// It is not in the lock.
    Unknown,
    /// It is in the lock, and is another now.
    Changed {
        /// The members that differ; only such as the specification has.
        members: Vec<&'static str>,
        /// What it is now.
        sha256: String,
    },
}

impl Pins {
    /// What a lock says of a server.
    pub(crate) fn of(lock: &Lock, server: &ServerConfig) -> Self {
        let Some(approved) = lock.server(&server.name) else {
            return Self::Refused(Mismatch::UnknownServer);
        };
        let now = runs::of(server);
        match now == approved.runs {
            true => Self::Approved(approved.clone()),
            false => Self::Refused(Mismatch::OtherServer(differing(&approved.runs, &now))),
        }
    }

    /// Why nothing of the server may be used.
    pub(crate) const fn refusal(&self) -> Option<&Mismatch> {
        match self {
            Self::Approved(_) => None,
            Self::Refused(mismatch) => Some(mismatch),
        }
    }

    /// Why a definition may not be used. It is made only if that matters.
    pub(crate) fn check(
        &self,
        kind: PinKind,
        name: &str,
        pin: impl FnOnce() -> Pin,
    ) -> Option<Mismatch> {
        let approved = match self {
            Self::Approved(approved) => approved,
            Self::Refused(mismatch) => return Some(mismatch.clone()),
        };
        if kind == PinKind::Resource && !approved.has_resources() {
            return None;
        }
        let approved = match kind {
            PinKind::Instructions => approved.instructions.as_ref(),
            kind => approved.of_kind(kind).and_then(|pins| pins.get(name)),
        };
        let Some(approved) = approved else {
            return Some(Mismatch::Unknown);
        };
        let now = pin();
        (now.sha256() != approved.sha256()).then(|| Mismatch::Changed {
            members: differing(approved.definition(), now.definition()),
            sha256: now.sha256().to_owned(),
        })
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let differ = |f: &mut fmt::Formatter<'_>, members: &[&str]| match members {
            [] => Ok(()),
            members => write!(f, " ({})", members.join(", ")),
        };
        match self {
            Self::UnknownServer => f.write_str("the server is not in the lock")?,
            Self::OtherServer(members) => {
                f.write_str("the server runs something else than the lock has")?;
                differ(f, members)?;
            }
            Self::Unknown => f.write_str("it is not in the lock")?,
            Self::Changed { members, .. } => {
                f.write_str("it has changed since it was locked")?;
                differ(f, members)?;
            }
        }
        f.write_str("; `switchboard lock --check` shows it, `switchboard lock` approves it")
    }
}

/// The members that differ, by the specification's words: those that a server makes up would be
/// read by models.
fn differing(old: &Node, new: &Node) -> Vec<&'static str> {
    let all = |node: &Node, name: &str| -> Vec<Node> {
        let members = node.members().iter();
        let same = members.filter(|(known, _)| known == name);
        same.map(|(_, node)| node.clone()).collect()
    };
    let differs = |name: &&&'static str| all(old, name) != all(new, name);
    MEMBERS.iter().filter(differs).copied().collect()
}

const MEMBERS: [&str; 18] = [
    "command",
    "args",
    "cwd",
    "env",
    "envFile",
    "url",
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "execution",
    "arguments",
    "uri",
    "uriTemplate",
    "mimeType",
    "_meta",
];
