//! Sees to it that no two tools, and no two prompts, have one name.
//!
//! Names are made of the server's and the tool's own name alone. Two pairs meet if digits of their
//! digests do, if one is written as another is changed to, or if servers are called almost alike;
//! servers whose names do not begin alike can never meet. A name that several could have is given
//! to none of them: each gets one with more digits, whoever came first. So a name
//! never passes from one tool to another, and does not depend on the order of things. If they meet
//! even then, which nobody does by accident, they are left out.

use std::collections::HashMap;

use crate::exposed_name::Digits;
use crate::{ExposedName, Naming};

/// The name that something got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The one it has by itself.
    Own,
    /// One with more digits.
    Longer(ExposedName),
    /// None.
    LeftOut,
}

/// What one server has, for this purpose.
#[derive(Debug)]
pub(crate) struct Named<'a> {
    pub(crate) server: &'a str,
    /// Its own names of things, and the names that they have by themselves.
    pub(crate) pairs: Vec<(&'a str, &'a ExposedName)>,
}

/// The names of everything that servers have whose names begin alike, by server and place.
pub(crate) fn settle(naming: &Naming, group: &[Named<'_>]) -> Vec<Vec<Settled>> {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for (_, name) in group.iter().flat_map(|named| &named.pairs) {
        *uses.entry(name.as_str()).or_default() += 1;
    }
    let is_shared = |name: &ExposedName| uses.get(name.as_str()).is_some_and(|uses| *uses > 1);
    let mut settled: Vec<Vec<Settled>> = Vec::with_capacity(group.len());
    let mut has_shared = false;
    for named in group {
        let names = named.pairs.iter().map(|(own, name)| {
            if is_shared(name) {
                has_shared = true;
                Settled::Longer(naming.name(named.server, own, Digits::Many))
            } else {
                Settled::Own
            }
        });
        settled.push(names.collect());
    }
    if has_shared {
        leave_out_what_still_meets(group, &mut settled);
    }
    settled
}

fn leave_out_what_still_meets(group: &[Named<'_>], settled: &mut [Vec<Settled>]) {
    let mut uses: HashMap<ExposedName, usize> = HashMap::new();
    for (named, names) in group.iter().zip(&*settled) {
        for ((_, own), name) in named.pairs.iter().zip(names) {
            if let Some(name) = name.name(own) {
                *uses.entry(name.clone()).or_default() += 1;
            }
        }
    }
    for (named, names) in group.iter().zip(settled) {
        for ((_, own), settled) in named.pairs.iter().zip(names) {
            let used = settled.name(own).and_then(|name| uses.get(name));
            if used.is_some_and(|uses| *uses > 1) {
                *settled = Settled::LeftOut;
            }
        }
    }
}

impl Settled {
    /// The name, of something that has this one by itself.
    pub(crate) fn name<'a>(&'a self, own: &'a ExposedName) -> Option<&'a ExposedName> {
        match self {
            Self::Own => Some(own),
            Self::Longer(name) => Some(name),
            Self::LeftOut => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names that all these get.
    fn names(pairs: &[(&str, &str)]) -> Vec<Option<String>> {
        let naming = Naming::default();
        let own: Vec<ExposedName> = pairs.iter().map(|(s, t)| naming.tool(s, t)).collect();
        let group: Vec<Named<'_>> = pairs
            .iter()
            .zip(&own)
            .map(|((server, tool), name)| Named {
                server,
                pairs: vec![(tool, name)],
            })
            .collect();
        let settled = settle(&naming, &group).into_iter().flatten();
        let names = settled.zip(&own);
        names
            .map(|(settled, own)| settled.name(own).map(ToString::to_string))
            .collect()
    }

    fn longer(server: &str, tool: &str) -> String {
        Naming::default()
            .name(server, tool, Digits::Many)
            .to_string()
    }

    #[test]
    fn who_meets_nobody_keeps_the_name() {
        let names = names(&[("a", "x"), ("a", "y"), ("a", "y.")]);
        assert_eq!(names[0].as_deref(), Some("mcp__a__x"));
        assert_eq!(names[1].as_deref(), Some("mcp__a__y"));
        assert_eq!(
            names[2],
            Some(Naming::default().tool("a", "y.").to_string())
        );
    }

    #[test]
    fn a_name_that_two_could_have_is_given_to_neither() {
        // One tool is called what another's name is changed to.
        let forged = Naming::default().tool("a", "b!").to_string();
        let forged = forged.strip_prefix("mcp__a__").unwrap().to_owned();
        for order in [["b!", &forged], [&forged, "b!"]] {
            let pairs = order.map(|tool| ("a", tool));
            let expected = order.map(|tool| Some(longer("a", tool)));
            assert_eq!(names(&pairs), expected);
        }
        // The same between servers that are called almost alike: neither takes the other's name.
        let forged = Naming::default().tool("git hub", "b").to_string();
        let forged = forged.strip_prefix("mcp__git_hub__").unwrap();
        assert_eq!(
            names(&[("git hub", "b"), ("git_hub", forged)]),
            [
                Some(longer("git hub", "b")),
                Some(longer("git_hub", forged))
            ]
        );
    }

    #[test]
    fn digests_that_begin_alike_are_told_apart() {
        let naming = Naming::default();
        let mut seen: HashMap<String, char> = HashMap::new();
        // Two of a few hundred thousand agree in 32 bits.
        let (one, other) = ('\u{80}'..)
            .find_map(|letter| {
                let name = naming.tool("a", &letter.to_string()).to_string();
                seen.insert(name, letter).map(|one| (one, letter))
            })
            .unwrap();
        let (one, other) = (one.to_string(), other.to_string());
        assert_eq!(naming.tool("a", &one), naming.tool("a", &other));
        assert_eq!(
            names(&[("a", &one), ("a", &other)]),
            [Some(longer("a", &one)), Some(longer("a", &other))]
        );
    }

    #[test]
    fn who_meets_even_then_is_left_out() {
        let behind = |name: String| name.strip_prefix("mcp__a__").unwrap().to_owned();
        let forged = behind(Naming::default().tool("a", "b!").to_string());
        let again = behind(longer("a", "b!"));
        let names = names(&[("a", "b!"), ("a", &forged), ("a", &again), ("a", "c")]);
        assert_eq!(names[0], None);
        assert_eq!(names[1], Some(longer("a", &forged)));
        assert_eq!(names[2], None);
        assert_eq!(names[3].as_deref(), Some("mcp__a__c"));
    }
}
