//! References in a schema: where they lead, and whether they come back.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Desk;
use super::rule;
use super::walk::walk;
use crate::pointer::{of_reference, step};

/// References to places that are not there, and those that providers refuse.
pub(super) fn check(desk: &mut Desk<'_>, schema: &Value, base: &str) {
    let references = check_broken(desk, schema, base);
    if let Some((place, _)) = references.first() {
        desk.report(
            &rule::REFERENCE,
            place.clone(),
            format!("{} of them", references.len()),
        );
    }
    if let Some((place, target)) = find_cycle(&references, base) {
        desk.report(&rule::REFERENCE_CYCLE, place, target);
    }
}

/// References to places that are not there. The others come back: where each is, and its target,
/// as a place too.
pub(super) fn check_broken(
    desk: &mut Desk<'_>,
    schema: &Value,
    base: &str,
) -> Vec<(String, String)> {
    let mut found = Vec::new();
    walk(schema, base, &mut |visited| {
        let reference = visited.keywords().and_then(|keywords| keywords.get("$ref"));
        if let Some(target) = reference.and_then(Value::as_str) {
            found.push((visited.place.to_owned(), target.to_owned()));
        }
    });
    let mut good = Vec::new();
    for (place, target) in found {
        let at = step(&place, "$ref");
        if !target.starts_with('#') {
            desk.report(&rule::REFERENCE_OUTSIDE, at, target);
            continue;
        }
        // One by an anchor is not followed.
        let Some(path) = of_reference(&target) else {
            continue;
        };
        match schema.pointer(&path) {
            Some(_) => good.push((place, format!("{base}{path}"))),
            None => desk.report(&rule::REFERENCE_BROKEN, at, target),
        }
    }
    good
}

/// A reference whose target contains, by way of others, the reference.
fn find_cycle(references: &[(String, String)], base: &str) -> Option<(String, String)> {
    // From a target to the targets of the references within it.
    let mut within: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let targets: BTreeSet<&str> = references
        .iter()
        .map(|(_, target)| target.as_str())
        .collect();
    for (place, target) in references.iter().take(MOST) {
        for outer in &targets {
            let rest = place.strip_prefix(outer);
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
                within.entry(outer).or_default().insert(target);
            }
        }
    }
    for (place, target) in references.iter().take(MOST) {
        let mut seen = BTreeSet::new();
        let mut open = vec![target.as_str()];
        while let Some(next) = open.pop() {
            for inner in within.get(next).into_iter().flatten() {
                if inner == target {
                    let shown = target.strip_prefix(base).unwrap_or(target);
                    return Some((place.clone(), format!("#{shown}")));
                }
                if seen.insert(*inner) {
                    open.push(inner);
                }
            }
        }
    }
    None
}

/// Cycles are looked for among so many.
const MOST: usize = 300;
