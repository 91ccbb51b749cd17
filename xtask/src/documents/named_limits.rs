//! The page of limits, which must name each that can be set.
//!
//! Looked at are the structures of settings: their numbers and times. Limits that are fixed are
//! constants, and are for `fixed_limits`.

use std::fs;
use std::path::Path;

const PAGE: &str = "docs/limits.md";

/// Where the structures are.
const SETTINGS: &[&str] = &[
    "crates/client/src/spec/limits.rs",
    "crates/gateway/src/limit.rs",
    "crates/hub/src/config/server.rs",
    "crates/protocol/src/jsonrpc/limits.rs",
    "crates/server/src/limits.rs",
    "crates/server/src/skills/options.rs",
    "crates/server/src/tasks/limits.rs",
    "crates/telemetry/src/settings.rs",
    "crates/transport/src/http/client/settings.rs",
    "crates/transport/src/http/event_queue.rs",
    "crates/transport/src/http/replay.rs",
    "crates/transport/src/http/settings.rs",
    "crates/transport/src/process/exit.rs",
];

#[test]
fn every_limit_that_can_be_set_is_on_the_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join(PAGE)).unwrap();
    let words: Vec<&str> = page.lines().flat_map(words_of_code).collect();
    let mut missing = Vec::new();
    for path in SETTINGS {
        let text = fs::read_to_string(root.join(path)).unwrap();
        let limits: Vec<&str> = text.lines().filter_map(limit_in).collect();
        assert!(!limits.is_empty(), "{path} has no limits");
        let unnamed = limits.iter().filter(|limit| !words.contains(limit));
        missing.extend(unnamed.map(|limit| format!("{path}: {limit}")));
    }
    assert!(missing.is_empty(), "{PAGE} lacks {missing:#?}");
}

/// The words between the backquotes of a line.
fn words_of_code(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split('`').skip(1).step_by(2);
    code.flat_map(|code| code.split(|letter: char| letter != '_' && !letter.is_alphanumeric()))
}

/// The name of a limit, if a line has one: a field that is a number or a time, or the name that a
/// gateway has for one.
fn limit_in(line: &str) -> Option<&str> {
    if let Some(name) = line.trim().strip_prefix("name: \"") {
        return name.strip_suffix("\",");
    }
    let (name, kind) = line.strip_prefix("    pub ")?.split_once(": ")?;
    let kind = kind.trim_end_matches(',');
    let kind = kind
        .strip_prefix("Option<")
        .map_or(kind, |kind| kind.trim_end_matches('>'));
    matches!(kind, "usize" | "u32" | "u64" | "Duration").then_some(name)
}

#[test]
fn limits_are_numbers_times_and_names() {
    let check = |line: &str, limit| assert_eq!(limit_in(line), limit, "{line}");
    check("    pub calls: usize,", Some("calls"));
    check("    pub handler: Option<Duration>,", Some("handler"));
    check("        name: \"callsPerMinute\",", Some("callsPerMinute"));
    check("    pub name: String,", None);
    check("    pub fn calls(&self) -> usize {", None);
    check("    calls: usize,", None);
}
