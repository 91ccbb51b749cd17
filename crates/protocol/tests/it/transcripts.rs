//! Runs every conversation in `tests/transcripts` against the machines.

use std::collections::BTreeMap;
use std::path::Path;

use switchboard_testkit::transcript::{self, Script};

#[test]
fn every_transcript_goes_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let files = transcript::find(&folder);
    let mut failures = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("the file was just found");
        if let Err(message) = transcript::run(&text) {
            let name = file.strip_prefix(&folder).unwrap_or(file);
            failures.push(format!("{}: {message}", name.display()));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} transcripts differ:\n{}",
        failures.len(),
        files.len(),
        failures.join("\n")
    );
    assert!(files.len() >= 150, "only {} transcripts", files.len());
}

#[test]
fn every_transcript_states_a_rule_of_its_own() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut rules = BTreeMap::new();
    for file in transcript::find(&folder) {
        let text = std::fs::read_to_string(&file).expect("the file was just found");
        let script = Script::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        if let Some(other) = rules.insert(script.rule, file.clone()) {
            panic!("{} states the rule of {}", file.display(), other.display());
        }
    }
}
