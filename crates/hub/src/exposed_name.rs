//! The name under which a tool or a prompt of one server is offered among those of many.
//!
//! `mcp__server__tool`: a function of the server's name and the tool's own, so that it is the same
//! after a restart and whatever else is there. What two pairs of names do that still meet is
//! decided in `registry/names.rs`, which also finds the way back: nothing is ever called by taking
//! a name apart.
//!
//! Specification: server/tools (tool names); 64 of `A-Z a-z 0-9 _ -` is what models accept.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use ring::digest::{Context, SHA256};
use serde::{Serialize, Serializer};

/// How tools and prompts are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Naming {
    /// What stands before the tool's own name.
    pub prefix: Prefix,
    /// How long a name may be, from 32 to 128; what is outside is taken for the nearer end.
    pub longest: usize,
}

/// What stands before a tool's own name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prefix {
    /// `mcp__server__tool`, the form that permissions of hosts are written in.
    #[default]
    Mcp,
    /// `server__tool`, for hosts that put a prefix of their own before it.
    Server,
}

impl Naming {
    /// Names with this prefix, of at most 64 characters.
    pub const fn new(prefix: Prefix) -> Self {
        Self {
            prefix,
            longest: LONGEST,
        }
    }

    /// The same with names of at most this many characters.
    #[must_use]
    pub const fn with_longest(mut self, longest: usize) -> Self {
        self.longest = longest;
        self
    }

    /// The name of a server's tool.
    ///
    /// ```
    /// use switchboard_hub::Naming;
    ///
    /// let naming = Naming::default();
    /// assert_eq!(naming.tool("github", "create_issue").as_str(), "mcp__github__create_issue");
    /// // What had to be changed ends in a part of a digest of both names.
    /// assert_eq!(naming.tool("github", "issue.create").as_str(), "mcp__github__issue_create_d38d5521");
    /// ```
    pub fn tool(&self, server: &str, tool: &str) -> ExposedName {
        self.name(server, tool, Digits::Few)
    }

    /// The name of a server's prompt. Tools and prompts are never mistaken for each other, so it
    /// may be that of a tool.
    pub fn prompt(&self, server: &str, prompt: &str) -> ExposedName {
        self.name(server, prompt, Digits::Few)
    }

    /// What all names of a server begin with, up to and with the second `__`; what a permission
    /// for all its tools ends before the `*` with.
    pub fn server_prefix(&self, server: &str) -> String {
        let mut prefix = String::from(self.lead());
        prefix.push_str(&self.server_part(server).0);
        prefix.push_str(SEPARATOR);
        prefix
    }

    /// Takes a name apart: the part of the server, which never holds `__`, and that of the tool.
    ///
    /// To show it, or to find the server's table: what is behind a name says the catalogue.
    pub fn split<'a>(&self, name: &'a str) -> Option<(&'a str, &'a str)> {
        let rest = name.strip_prefix(self.lead())?;
        // For two letters this is an eighth of what a general search begins with.
        let mut pairs = rest.as_bytes().windows(SEPARATOR.len());
        let at = pairs.position(|pair| pair == SEPARATOR.as_bytes())?;
        Some((rest.get(..at)?, rest.get(at + SEPARATOR.len()..)?))
    }

    /// The part of the server: the same for all that the server offers. Was it changed?
    ///
    /// It neither holds `__` nor begins or ends with `_`; so the first `__` behind it is where the
    /// tool begins, and no two pairs that are left as they are have one name.
    pub(crate) fn server_part(&self, server: &str) -> (String, bool) {
        let mut part = String::with_capacity(server.len().min(self.longest()));
        for letter in server.chars() {
            let letter = if is_plain(letter) { letter } else { '_' };
            if letter != '_' || !(part.is_empty() || part.ends_with('_')) {
                part.push(letter);
            }
            if part.len() > self.longest() {
                break;
            }
        }
        let room = self
            .longest()
            .saturating_sub(self.lead().len() + SEPARATOR.len() + LEAST_TOOL);
        part.truncate(room);
        part.truncate(part.trim_end_matches('_').len());
        if part.is_empty() {
            part.push_str(NAMELESS);
        }
        let is_changed = part != server;
        (part, is_changed)
    }

    /// The name of a pair; with more digits if two pairs met.
    pub(crate) fn name(&self, server: &str, tool: &str, digits: Digits) -> ExposedName {
        let (part, is_changed) = self.server_part(server);
        let room = self
            .longest()
            .saturating_sub(self.lead().len() + part.len() + SEPARATOR.len());
        let mut name = String::with_capacity(self.longest());
        name.push_str(self.lead());
        name.push_str(&part);
        name.push_str(SEPARATOR);
        let is_plain_tool = !tool.is_empty() && tool.chars().all(is_plain);
        if digits == Digits::Few && !is_changed && is_plain_tool && tool.len() <= room {
            name.push_str(tool);
        } else {
            let digits = digits.count();
            let letters = tool.chars().take(room.saturating_sub(digits + 1));
            name.extend(letters.map(|letter| if is_plain(letter) { letter } else { '_' }));
            name.push('_');
            push_digest(server, tool, digits, &mut name);
        }
        ExposedName(name.into())
    }

    fn lead(&self) -> &'static str {
        match self.prefix {
            Prefix::Mcp => "mcp__",
            Prefix::Server => "",
        }
    }

    fn longest(&self) -> usize {
        self.longest.clamp(SHORTEST_LIMIT, LONGEST_LIMIT)
    }
}

impl Default for Naming {
    fn default() -> Self {
        Self::new(Prefix::default())
    }
}

/// The name under which a tool or a prompt is offered. Cheap to clone.
///
/// ASCII letters, digits, `_` and `-`, of at most the length that [`Naming`] says.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExposedName(Arc<str>);

impl ExposedName {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for ExposedName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ExposedName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for ExposedName {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for ExposedName {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for ExposedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for ExposedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for ExposedName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// How much of the digest a name shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Digits {
    /// Eight, and none where nothing had to be changed.
    Few,
    /// Sixteen, always.
    Many,
}

impl Digits {
    fn count(self) -> usize {
        match self {
            Self::Few => 8,
            Self::Many => 16,
        }
    }
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// Appends hexadecimal digits of the digest of both names as they are.
fn push_digest(server: &str, tool: &str, digits: usize, out: &mut String) {
    let mut context = Context::new(&SHA256);
    // The length first: `a` + `bc` and `ab` + `c` are two pairs.
    let length = u64::try_from(server.len()).unwrap_or(u64::MAX);
    context.update(&length.to_be_bytes());
    context.update(server.as_bytes());
    context.update(tool.as_bytes());
    let digest = context.finish();
    let nibbles = digest
        .as_ref()
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15]);
    out.extend(
        nibbles
            .take(digits)
            .filter_map(|nibble| char::from_digit(nibble.into(), 16)),
    );
}

const SEPARATOR: &str = "__";

/// For a server whose name has not one letter that can stand here.
const NAMELESS: &str = "server";

/// What models accept.
const LONGEST: usize = 64;

/// Room for a prefix, a bit of the server's name, and sixteen digits.
const SHORTEST_LIMIT: usize = 32;

/// What the specification allows.
const LONGEST_LIMIT: usize = 128;

/// What is always left for the tool: `_` and sixteen digits.
const LEAST_TOOL: usize = 17;

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn is_valid(naming: &Naming, name: &ExposedName) -> bool {
        (1..=naming.longest()).contains(&name.as_str().len()) && name.as_str().chars().all(is_plain)
    }

    #[test]
    fn a_plain_pair_is_left_as_it_is() {
        let check = |server, tool, expected: &str| {
            assert_eq!(Naming::default().tool(server, tool), expected);
        };
        check("github", "create_issue", "mcp__github__create_issue");
        check("a-b_c", "_x__y_", "mcp__a-b_c___x__y_");
        check("1", "2", "mcp__1__2");
        let short = Naming::new(Prefix::Server);
        assert_eq!(short.tool("github", "create_issue"), "github__create_issue");
    }

    #[test]
    fn what_is_changed_gets_digits_of_both_names() {
        let check = |server: &str, tool: &str, start: &str| {
            let name = Naming::default().tool(server, tool);
            let (rest, digits) = name.as_str().rsplit_once('_').unwrap();
            assert_eq!(rest, start, "{server} {tool}");
            assert_eq!(digits.len(), 8, "{server} {tool}");
        };
        check("github", "issue.create", "mcp__github__issue_create");
        check("git hub", "x", "mcp__git_hub__x");
        check("a__b", "x", "mcp__a_b__x");
        check("a_", "x", "mcp__a__x");
        check("_a", "x", "mcp__a__x");
        check("", "", "mcp__server__");
        check("ü", "é", "mcp__server___");
        check(
            &"s".repeat(90),
            "tool",
            &format!("mcp__{}__tool", "s".repeat(40)),
        );
        check("s", &"t".repeat(90), &format!("mcp__s__{}", "t".repeat(47)));
    }

    #[test]
    fn the_longest_name_that_fits_is_not_cut() {
        let naming = Naming::default();
        let check = |server: usize, tool: usize, is_cut: bool| {
            let (server, tool) = ("s".repeat(server), "t".repeat(tool));
            let name = naming.tool(&server, &tool);
            assert_eq!(name.as_str().len(), 64);
            assert_eq!(!name.as_str().ends_with('t'), is_cut);
        };
        check(9, 48, false);
        check(9, 49, true);
        check(40, 17, false);
        check(40, 18, true);
    }

    #[test]
    fn all_names_of_a_server_begin_alike_and_can_be_taken_apart() {
        let naming = Naming::default();
        for server in ["github", "a__b", "", "_", "é_", &"x_".repeat(50)] {
            let prefix = naming.server_prefix(server);
            let (part, _) = naming.server_part(server);
            for tool in ["x", "", "_", "__", "a__b", &"t".repeat(99)] {
                let name = naming.tool(server, tool);
                let rest = name.as_str().strip_prefix(&prefix).unwrap();
                assert_eq!(naming.split(name.as_str()), Some((part.as_str(), rest)));
            }
        }
        assert_eq!(naming.split("github__x"), None);
        assert_eq!(naming.split("mcp__github"), None);
    }

    #[test]
    fn names_stay_what_they_are_from_version_to_version() {
        // Permissions of users hold these names: if this test fails, theirs do too.
        let check = |server, tool, expected: &str| {
            assert_eq!(Naming::default().tool(server, tool), expected);
        };
        check(
            "git hub",
            "create issue",
            "mcp__git_hub__create_issue_ac437959",
        );
        check("", "", "mcp__server___af5570f5");
        check("日本", "検索", "mcp__server_____d03f7e3c");
    }

    /// Names as servers and people might write them, and as they should not.
    fn wild() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z][a-z0-9_-]{0,40}",
            "[A-Za-z0-9_.-]{0,130}",
            "[ab_]{0,4}",
            "[0-9]{1,3}[a-z_]{0,80}",
            any::<String>(),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(16) })]

        /// Ten thousand pairs in one catalogue are in `tests/it/any_order.rs`.
        #[test]
        fn any_names_make_valid_stable_and_different_names(
            pairs in proptest::collection::vec((wild(), wild()), 100),
            longest in 0_usize..200,
            prefix in prop_oneof![Just(Prefix::Mcp), Just(Prefix::Server)],
        ) {
            let naming = Naming::new(prefix).with_longest(longest);
            let mut seen = HashMap::new();
            for (server, tool) in &pairs {
                let name = naming.tool(server, tool);
                prop_assert!(is_valid(&naming, &name), "{name}");
                prop_assert_eq!(&name, &naming.tool(server, tool));
                let more = naming.name(server, tool, Digits::Many);
                prop_assert!(is_valid(&naming, &more), "{more}");
                let (part, _) = naming.server_part(server);
                prop_assert_eq!(naming.split(name.as_str()).unwrap().0, part.as_str());
                prop_assert_eq!(naming.split(more.as_str()).unwrap().0, part.as_str());
                if let Some(other) = seen.insert(name, (server, tool)) {
                    prop_assert_eq!(other, (server, tool));
                }
            }
        }
    }
}
