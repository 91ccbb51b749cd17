//! The rules about the name of one tool.

use super::rule;
use super::{Desk, Subject};

pub(super) fn check(desk: &mut Desk<'_>, subject: Subject<'_>) {
    let name = subject.tool.name.as_str();
    let length = name.chars().count();
    if length > LONGEST {
        desk.report(&rule::NAME_LENGTH, PLACE, format!("{length} characters"));
    } else {
        // As most hosts write it.
        let prefixed = length + subject.server.chars().count() + "mcp____".len();
        if prefixed > LONGEST {
            desk.report(
                &rule::NAME_PREFIXED,
                PLACE,
                format!("{prefixed} characters"),
            );
        }
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut others: Vec<char> = name.chars().filter(|c| !is_plain(*c)).collect();
    others.sort_unstable();
    others.dedup();
    if name.is_empty() {
        desk.report(&rule::NAME_CHARACTERS, PLACE, "it is empty");
    } else if !others.is_empty() {
        let shown: Vec<String> = others.iter().take(8).map(|c| format!("{c:?}")).collect();
        desk.report(&rule::NAME_CHARACTERS, PLACE, shown.join(" "));
    }
    let first = name.chars().next();
    if first.is_some_and(|first| first.is_ascii_digit() || first == '-') {
        desk.report(&rule::NAME_START, PLACE, "");
    }
}

const PLACE: &str = "/name";
const LONGEST: usize = 64;
