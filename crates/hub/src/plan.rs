//! What must happen when a configuration becomes another.
//!
//! Pure: whoever carries it out is the hub. A value behind a variable is not looked at, so a
//! server whose token has changed is kept until somebody restarts it.

use std::collections::HashMap;

use crate::config::ServerConfig;

/// What must happen to each server, by name. Every name of either configuration is in exactly
/// one of the lists; those of the new one in its order, those that stop in that of the old one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// Nothing: it is the same.
    pub keep: Vec<String>,
    /// It is new.
    pub start: Vec<String>,
    /// It is gone.
    pub stop: Vec<String>,
    /// It is ended and begun anew, for it is another now. What is not enabled any more is only
    /// ended.
    pub restart: Vec<String>,
    /// It takes over what changed, and its connection stays: the display name, the tools that
    /// are offered, times, what is written down without a meaning for us.
    pub update: Vec<String>,
}

impl Plan {
    /// Is there nothing to do?
    pub const fn is_empty(&self) -> bool {
        self.start.is_empty()
            && self.stop.is_empty()
            && self.restart.is_empty()
            && self.update.is_empty()
    }
}

/// What must happen for `old` to become `new`. Of two servers of a name the first counts.
///
/// ```
/// use switchboard_hub::{ServerConfig, plan};
///
/// let context7 = ServerConfig::command("context7", ["npx", "-y", "@upstash/context7-mcp"]);
/// let playwright = ServerConfig::command("playwright", ["npx", "@playwright/mcp"]);
/// let github = ServerConfig::url("github", "https://mcp.example.com/github");
///
/// let plan = plan(&[context7.clone(), playwright], &[context7, github]);
/// assert_eq!(plan.keep, ["context7"]);
/// assert_eq!(plan.start, ["github"]);
/// assert_eq!(plan.stop, ["playwright"]);
/// ```
pub fn plan(old: &[ServerConfig], new: &[ServerConfig]) -> Plan {
    let (before, after) = (by_name(old), by_name(new));
    let mut plan = Plan::default();
    for (index, server) in new.iter().enumerate() {
        let name = server.name.as_str();
        if after.get(name) != Some(&index) {
            continue;
        }
        let was = before.get(name).and_then(|index| old.get(*index));
        let list = match was {
            None => &mut plan.start,
            Some(was) if was == server => &mut plan.keep,
            Some(was) if connects_alike(was, server) => &mut plan.update,
            Some(_) => &mut plan.restart,
        };
        list.push(name.to_owned());
    }
    for (index, server) in old.iter().enumerate() {
        let name = server.name.as_str();
        if before.get(name) == Some(&index) && !after.contains_key(name) {
            plan.stop.push(name.to_owned());
        }
    }
    plan
}

fn by_name(servers: &[ServerConfig]) -> HashMap<&str, usize> {
    let mut names = HashMap::with_capacity(servers.len());
    for (index, server) in servers.iter().enumerate() {
        names.entry(server.name.as_str()).or_insert(index);
    }
    names
}

/// Would a connection made for the one be as good for the other?
fn connects_alike(one: &ServerConfig, other: &ServerConfig) -> bool {
    // Every field has its say, so that nobody forgets a new one.
    let ServerConfig {
        name,
        display_name: _,
        transport,
        is_enabled,
        is_required: _,
        start: _,
        tools: _,
        is_read_only: _,
        timeouts: _,
        limits,
        idle: _,
        sharing,
        mode,
        folder,
        unknown: _,
        location: _,
    } = one;
    let mut limits = *limits;
    // Results and restarts are counted by the hub, everything else by the connection.
    limits.result = other.limits.result;
    limits.restarts = other.limits.restarts;
    *name == other.name
        && *transport == other.transport
        && *is_enabled == other.is_enabled
        && limits == other.limits
        && *sharing == other.sharing
        && *mode == other.mode
        && *folder == other.folder
}

#[cfg(test)]
mod tests;
