//! The forty obligations that implementations get wrong most often, each shown by a test.
//!
//! A transcript or a test that shows one carries the line `the forty: N`. The list itself
//! is part of the specification digest; its numbers are what counts here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[test]
fn every_obligation_of_the_core_is_shown_by_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut shown = BTreeSet::new();
    for file in files(&root.join("src"))
        .into_iter()
        .chain(files(&root.join("tests")))
    {
        let text = std::fs::read_to_string(&file).expect("the file was just found");
        for line in text.lines() {
            let numbers = line
                .trim_start()
                .strip_prefix("# the forty: ")
                .or_else(|| line.trim_start().strip_prefix("// the forty: "));
            let numbers = numbers.into_iter().flat_map(|list| list.split(','));
            shown.extend(numbers.filter_map(|number| number.trim().parse::<u32>().ok()));
        }
    }
    let elsewhere: BTreeSet<u32> = ELSEWHERE.iter().map(|(number, _)| *number).collect();
    let missing: Vec<u32> = (1..=40)
        .filter(|number| !shown.contains(number) && !elsewhere.contains(number))
        .collect();
    assert!(missing.is_empty(), "no test shows {missing:?}");
    let both: Vec<_> = shown.intersection(&elsewhere).collect();
    assert!(both.is_empty(), "shown here after all: {both:?}");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder exists") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "txt" || e == "rs") {
            found.push(path);
        }
    }
    found
}

/// What the core cannot show, and who will.
const ELSEWHERE: &[(u32, &str)] = &[
    (
        18,
        "sealing requestState needs keys and a clock: crates/server/src/seal",
    ),
    (36, "OAuth: the auth library"),
    (37, "OAuth: the auth library"),
    (38, "OAuth: the auth library"),
    (39, "tokens between two sides: the gateway"),
];
