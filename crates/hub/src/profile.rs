//! A named part of what the servers offer: which servers, and which of their tools.
//!
//! What is not in it cannot be told from what does not exist. Who has which profile is for others.

use crate::policy::{ToolFilter, Verdict};

/// A named part of what the servers offer.
///
/// ```
/// use switchboard_hub::{Profile, ToolFilter};
///
/// let mut work = Profile::new("work");
/// work.servers = ToolFilter::default().allow(["git*"]);
/// work.tools = ToolFilter::deny(["*delete*", "github__merge"]);
/// assert!(work.has_server("github") && !work.has_server("mail"));
/// assert!(!work.has_tool("github", "merge", "mcp__github__merge"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Which servers.
    pub servers: ToolFilter,
    /// Which of their tools: by their own names, by those under which they are offered, or as
    /// `server__tool`.
    pub tools: ToolFilter,
}

impl Profile {
    /// One of this name, in which everything is.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Is anything of this server in it?
    pub fn has_server(&self, server: &str) -> bool {
        self.servers.verdict(server, server) == Verdict::Allowed
    }

    /// Is this tool of a server that is in it, offered as `exposed`?
    pub fn has_tool(&self, server: &str, tool: &str, exposed: &str) -> bool {
        let Self { tools, .. } = self;
        if tools.allow.is_none() && tools.deny.is_empty() {
            return true;
        }
        let whole = format!("{server}__{tool}");
        let fits = |pattern: &crate::Pattern| {
            [tool, exposed, &whole]
                .iter()
                .any(|name| pattern.matches(name))
        };
        let is_allowed = match &tools.allow {
            Some(allow) => allow.iter().any(fits),
            None => true,
        };
        is_allowed && !tools.deny.iter().any(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_named_in_any_of_its_three_ways() {
        let check = |allow: &[&str], deny: &[&str], expected: bool| {
            let mut profile = Profile::new("p");
            profile.tools = ToolFilter::deny(deny.iter().copied());
            if !allow.is_empty() {
                profile.tools = profile.tools.allow(allow.iter().copied());
            }
            let has = profile.has_tool("git", "push", "mcp__git__push");
            assert_eq!(has, expected, "{allow:?} {deny:?}");
        };
        check(&[], &[], true);
        check(&["push"], &[], true);
        check(&["git__*"], &[], true);
        check(&["mcp__git__*"], &[], true);
        check(&["pull"], &[], false);
        check(&[], &["git__push"], false);
        check(&["push"], &["pu*"], false);
    }
}
