//! Which tools of a server may be seen and called.
//!
//! Lists of patterns, read-only mode, and whether the server is switched off. It only judges; that
//! what it refuses is neither listed nor called is the catalogue's part, and where the lists come
//! from the configuration's.
//!
//! Specification: server/tools (annotations are hints of the server, and believed only because the
//! user has chosen the server).

use std::fmt;
use std::sync::Arc;

use switchboard_protocol::types::Tool;

use crate::lock::{Mismatch, Pin, PinKind, Pins};

/// A text in which `*` stands for any characters, also none, and `?` for one.
///
/// Everything else stands for itself, upper and lower case apart. Every text is a pattern.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Pattern(Box<str>);

impl Pattern {
    /// Takes a text as a pattern.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Does the whole of this name fit?
    ///
    /// ```
    /// use switchboard_hub::Pattern;
    ///
    /// assert!(Pattern::new("*delete*").matches("repository_delete"));
    /// assert!(!Pattern::new("get_?").matches("get_all"));
    /// ```
    pub fn matches(&self, name: &str) -> bool {
        let (mut pattern, mut rest) = (&*self.0, name);
        // Behind the last star: the pattern there, and the name where it was tried last. A later
        // star makes earlier ones settled, so the cost is at most the product of both lengths.
        let mut star: Option<(&str, &str)> = None;
        loop {
            let next = pattern.chars().next();
            if next == Some('*') {
                pattern = behind(pattern);
                star = Some((pattern, rest));
                continue;
            }
            match (next, rest.chars().next()) {
                (None, None) => return true,
                (Some(wanted), Some(found)) if wanted == '?' || wanted == found => {
                    pattern = behind(pattern);
                    rest = behind(rest);
                }
                _ => {
                    let Some((after, tried)) = star else {
                        return false;
                    };
                    if tried.is_empty() {
                        return false;
                    }
                    pattern = after;
                    rest = behind(tried);
                    star = Some((after, rest));
                }
            }
        }
    }
}

impl From<&str> for Pattern {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Lists of the tools of a server that may, and that may not, be used.
///
/// A pattern fits a tool by its own name or by the one under which it is offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolFilter {
    /// Only these. All, if there is no list; none, if it is empty.
    pub allow: Option<Vec<Pattern>>,
    /// Not these, even if they are allowed.
    pub deny: Vec<Pattern>,
}

impl ToolFilter {
    /// All but these.
    pub fn deny<P: Into<Pattern>>(patterns: impl IntoIterator<Item = P>) -> Self {
        Self {
            allow: None,
            deny: patterns.into_iter().map(Into::into).collect(),
        }
    }

    /// Only these, and of them only what is not denied.
    #[must_use]
    pub fn allow<P: Into<Pattern>>(mut self, patterns: impl IntoIterator<Item = P>) -> Self {
        self.allow = Some(patterns.into_iter().map(Into::into).collect());
        self
    }

    /// May a tool of this name, offered as `exposed`, be used?
    pub fn verdict(&self, tool: &str, exposed: &str) -> Verdict {
        let fits = |pattern: &&Pattern| pattern.matches(tool) || pattern.matches(exposed);
        if let Some(pattern) = self.deny.iter().find(fits) {
            return Verdict::Denied(Reason::Denied(pattern.clone()));
        }
        match &self.allow {
            Some(allow) if !allow.iter().any(|pattern| fits(&pattern)) => {
                Verdict::Denied(Reason::NotAllowed)
            }
            _ => Verdict::Allowed,
        }
    }
}

/// What is allowed of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// Which tools.
    pub tools: ToolFilter,
    /// Only tools that say of themselves that they change nothing.
    pub is_read_only: bool,
    /// Whether anything of it is offered at all; its connection does not depend on that.
    pub is_enabled: bool,
    /// What was approved of it. None: nobody has to approve anything.
    pub(crate) pins: Option<Arc<Pins>>,
}

impl Policy {
    /// All that passes this filter.
    pub const fn new(tools: ToolFilter) -> Self {
        Self {
            tools,
            is_read_only: false,
            is_enabled: true,
            pins: None,
        }
    }

    /// May this tool, offered under this name, be used?
    pub fn verdict(&self, tool: &Tool, exposed: &str) -> Verdict {
        if !self.is_enabled {
            return Verdict::Denied(Reason::ServerOff);
        }
        let verdict = self.tools.verdict(&tool.name, exposed);
        let says_read_only = tool
            .annotations
            .as_ref()
            .is_some_and(|annotations| annotations.is_read_only());
        if verdict == Verdict::Allowed && self.is_read_only && !says_read_only {
            return Verdict::Denied(Reason::NotReadOnly);
        }
        if verdict == Verdict::Allowed {
            let pin = || Pin::tool(tool);
            if let Some(mismatch) = self.mismatch(PinKind::Tool, &tool.name, pin) {
                return Verdict::Denied(Reason::NotApproved(Box::new(mismatch)));
            }
        }
        verdict
    }

    /// Why a definition is not what was approved.
    pub(crate) fn mismatch(
        &self,
        kind: PinKind,
        name: &str,
        pin: impl FnOnce() -> Pin,
    ) -> Option<Mismatch> {
        self.pins.as_ref()?.check(kind, name, pin)
    }

    /// Why nothing of the server may be used.
    pub(crate) fn refusal(&self) -> Option<Reason> {
        if !self.is_enabled {
            return Some(Reason::ServerOff);
        }
        let mismatch = self.pins.as_ref()?.refusal()?;
        Some(Reason::NotApproved(Box::new(mismatch.clone())))
    }
}

impl Default for Policy {
    /// Everything is allowed.
    fn default() -> Self {
        Self::new(ToolFilter::default())
    }
}

/// Whether a tool may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Allowed,
    /// It may not.
    Denied(Reason),
}

/// Why something may not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// This pattern denies it.
    Denied(Pattern),
    /// There is a list of what is allowed, and it is not there.
    NotAllowed,
    /// Only what is read-only is allowed, and it does not say that it is.
    NotReadOnly,
    /// Its server is switched off.
    ServerOff,
    /// It is not what somebody approved.
    NotApproved(Box<Mismatch>),
}

/// Something of a server that may not be used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Denial {
    /// The server.
    pub server: String,
    /// What it calls the tool, the prompt or the resource. Empty for what it has but one of.
    pub name: String,
    /// What it is: `tool`, `prompt`, `resource`, `resource template`, `instructions`, `server`.
    pub kind: &'static str,
    /// Why.
    pub reason: Reason,
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            server, name, kind, ..
        } = self;
        if *kind == PinKind::Server.word() {
            write!(f, "the server {server:?} ")?;
        } else if *kind == PinKind::Instructions.word() {
            write!(f, "the instructions of server {server:?} ")?;
        } else {
            write!(f, "the {kind} {name:?} of server {server:?} ")?;
        }
        match &self.reason {
            Reason::Denied(pattern) => write!(f, "is denied by {pattern:?}"),
            Reason::NotAllowed => f.write_str("is not in the list of what is allowed"),
            Reason::NotReadOnly => {
                f.write_str("does not say that it is read-only, and only such may be used")
            }
            Reason::ServerOff => f.write_str("may not be used: the server is switched off"),
            Reason::NotApproved(mismatch) => write!(f, "may not be used: {mismatch}"),
        }
    }
}

impl std::error::Error for Denial {}

/// The text behind its first character.
fn behind(text: &str) -> &str {
    let mut characters = text.chars();
    characters.next();
    characters.as_str()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn filter(allow: &[&str], deny: &[&str]) -> ToolFilter {
        let filter = ToolFilter::deny(deny.iter().copied());
        match allow {
            [] => filter,
            allow => filter.allow(allow.iter().copied()),
        }
    }

    fn tool(text: &str) -> Tool {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn patterns_fit_whole_names() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(
                Pattern::from(pattern).matches(name),
                expected,
                "{pattern} {name}"
            );
        };
        for (pattern, name) in [
            ("", ""),
            ("*", ""),
            ("**", "x"),
            ("a", "a"),
            ("a*", "a"),
            ("*a", "bca"),
            ("a?c", "aéc"),
            ("*b*d*", "abcde"),
            ("*ab*ac", "abababac"),
            ("mcp__*__get_*", "mcp__x__get_y"),
            ("[a]{b}", "[a]{b}"),
        ] {
            check(pattern, name, true);
        }
        for (pattern, name) in [
            ("", "a"),
            ("a", ""),
            ("a", "A"),
            ("a", "ab"),
            ("?", ""),
            ("?", "ab"),
            ("*ab", "abc"),
            ("a*b?", "ab"),
        ] {
            check(pattern, name, false);
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_time_to_speak_of() {
        let started = Instant::now();
        let pattern = Pattern::new("*a".repeat(500));
        assert!(!pattern.matches(&format!("{}b", "a".repeat(5_000))));
        assert!(started.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn what_is_denied_is_denied_even_if_it_is_allowed() {
        let filter = filter(&["get_*", "*_delete"], &["*delete*"]);
        let check = |tool: &str, expected: Verdict| {
            assert_eq!(filter.verdict(tool, "mcp__s__x"), expected, "{tool}");
        };
        check("get_user", Verdict::Allowed);
        check(
            "user_delete",
            Verdict::Denied(Reason::Denied("*delete*".into())),
        );
        check("put_user", Verdict::Denied(Reason::NotAllowed));
    }

    #[test]
    fn patterns_may_be_written_for_the_exposed_name() {
        let filter = filter(&["mcp__github__get_*"], &[]);
        let check = |tool, exposed, expected: bool| {
            assert_eq!(filter.verdict(tool, exposed) == Verdict::Allowed, expected);
        };
        check("get_user", "mcp__github__get_user", true);
        check("get_user", "mcp__gitlab__get_user", false);
    }

    #[test]
    fn read_only_mode_wants_the_hint() {
        let policy = Policy {
            is_read_only: true,
            ..Policy::default()
        };
        let check = |annotations: &str, expected: bool| {
            let tool = tool(&format!(
                r#"{{"name":"x","inputSchema":{{}}{annotations}}}"#
            ));
            assert_eq!(
                policy.verdict(&tool, "x") == Verdict::Allowed,
                expected,
                "{annotations}"
            );
        };
        check("", false);
        check(r#","annotations":{}"#, false);
        check(r#","annotations":{"readOnlyHint":false}"#, false);
        check(r#","annotations":{"destructiveHint":false}"#, false);
        check(r#","annotations":{"readOnlyHint":true}"#, true);
    }

    #[test]
    fn a_denial_says_what_is_denied_and_why() {
        let check = |reason: Reason, expected: &str| {
            let denial = Denial {
                server: "y".to_owned(),
                name: "x".to_owned(),
                kind: "tool",
                reason,
            };
            assert_eq!(
                denial.to_string(),
                format!("the tool \"x\" of server \"y\" {expected}")
            );
        };
        check(
            Reason::Denied("*delete*".into()),
            "is denied by \"*delete*\"",
        );
        check(Reason::NotAllowed, "is not in the list of what is allowed");
        check(
            Reason::NotReadOnly,
            "does not say that it is read-only, and only such may be used",
        );
        check(
            Reason::ServerOff,
            "may not be used: the server is switched off",
        );
    }
}
