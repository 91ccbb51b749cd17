//! What has changed from one lock to another, member by member.

use std::collections::{BTreeMap, BTreeSet};

use super::canonical::Node;
use super::{KINDS, Lock, Pin, PinKind, PinnedServer};

/// One definition that is not the same in two locks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PinDifference {
    /// The server.
    pub server: String,
    /// What it is.
    pub kind: PinKind,
    /// Its name, or its URI; empty for what a server has but one of.
    pub name: String,
    /// What became of it.
    pub change: PinChange,
    /// What of it: all members, if it is new; those that changed otherwise.
    pub fields: Vec<PinnedField>,
}

/// What became of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinChange {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is another.
    Changed,
}

impl PinChange {
    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

/// A part of a definition, before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PinnedField {
    /// Where it is, as a JSON pointer: `/inputSchema/properties/path`.
    pub place: String,
    /// What it was, as JSON. None: it was not there.
    pub old: Option<String>,
    /// What it is now, as JSON. None: it is gone.
    pub new: Option<String>,
}

pub(super) fn between(old: &Lock, new: &Lock) -> Vec<PinDifference> {
    let names: BTreeSet<&String> = old.servers.keys().chain(new.servers.keys()).collect();
    let mut all = Vec::new();
    for name in names {
        let mut report = |kind, item: &str, change, fields| {
            all.push(PinDifference {
                server: name.clone(),
                kind,
                name: item.to_owned(),
                change,
                fields,
            });
        };
        match (old.servers.get(name), new.servers.get(name)) {
            (Some(old), Some(new)) => compare(old, new, &mut report),
            (None, Some(new)) => {
                let fields = fields(None, Some(&new.runs));
                report(PinKind::Server, "", PinChange::Added, fields);
            }
            (Some(_), None) => report(PinKind::Server, "", PinChange::Removed, Vec::new()),
            (None, None) => {}
        }
    }
    all
}

type Report<'a> = dyn FnMut(PinKind, &str, PinChange, Vec<PinnedField>) + 'a;

fn compare(old: &PinnedServer, new: &PinnedServer, report: &mut Report<'_>) {
    let changed = fields(Some(&old.runs), Some(&new.runs));
    if !changed.is_empty() {
        report(PinKind::Server, "", PinChange::Changed, changed);
    }
    let mut pair = |kind, name: &str, old: Option<&Pin>, new: Option<&Pin>| {
        let change = match (old, new) {
            (Some(old), Some(new)) if old == new => return,
            (Some(_), Some(_)) => PinChange::Changed,
            (None, Some(_)) => PinChange::Added,
            (Some(_), None) => PinChange::Removed,
            (None, None) => return,
        };
        // What is gone is gone as a whole.
        let fields = match new {
            Some(new) => fields(old.map(Pin::definition), Some(new.definition())),
            None => Vec::new(),
        };
        report(kind, name, change, fields);
    };
    let (before, after) = (old.instructions.as_ref(), new.instructions.as_ref());
    pair(PinKind::Instructions, "", before, after);
    for kind in KINDS {
        let (Some(before), Some(after)) = (old.of_kind(kind), new.of_kind(kind)) else {
            // What is not pinned does not change.
            continue;
        };
        for name in names(before, after) {
            pair(kind, name, before.get(name), after.get(name));
        }
    }
}

fn names<'a>(
    old: &'a BTreeMap<String, Pin>,
    new: &'a BTreeMap<String, Pin>,
) -> BTreeSet<&'a String> {
    old.keys().chain(new.keys()).collect()
}

/// The members that differ, as deep as they do.
fn fields(old: Option<&Node>, new: Option<&Node>) -> Vec<PinnedField> {
    let mut fields = Vec::new();
    walk(old, new, "", &mut fields);
    fields
}

fn walk(old: Option<&Node>, new: Option<&Node>, place: &str, fields: &mut Vec<PinnedField>) {
    if old == new || fields.len() >= MOST {
        return;
    }
    match (old, new) {
        // One that is new is shown by its members.
        (None, Some(Node::Object(after))) if place.is_empty() => {
            for (name, node) in after {
                walk(None, Some(node), &step(place, name), fields);
            }
        }
        (Some(Node::Object(before)), Some(Node::Object(after)))
            if is_unique(before) && is_unique(after) =>
        {
            let names: BTreeSet<&String> =
                before.iter().chain(after).map(|(name, _)| name).collect();
            let find = |members: &'_ [(String, Node)], name: &String| {
                members.iter().position(|(known, _)| known == name)
            };
            for name in names {
                let old = find(before, name).and_then(|index| before.get(index));
                let new = find(after, name).and_then(|index| after.get(index));
                let (old, new) = (old.map(|(_, node)| node), new.map(|(_, node)| node));
                walk(old, new, &step(place, name), fields);
            }
        }
        (Some(Node::List(before)), Some(Node::List(after))) if before.len() == after.len() => {
            for (index, (old, new)) in before.iter().zip(after).enumerate() {
                walk(
                    Some(old),
                    Some(new),
                    &step(place, &index.to_string()),
                    fields,
                );
            }
        }
        (old, new) => fields.push(PinnedField {
            place: place.to_owned(),
            old: old.map(Node::canonical),
            new: new.map(Node::canonical),
        }),
    }
}

/// Does no name come twice? They are sorted.
fn is_unique(members: &[(String, Node)]) -> bool {
    members
        .iter()
        .zip(members.iter().skip(1))
        .all(|((one, _), (other, _))| one != other)
}

fn step(place: &str, name: &str) -> String {
    format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Nobody reads more about one definition.
const MOST: usize = 200;
