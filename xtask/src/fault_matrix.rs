//! `docs/fault-matrix.md`: every row is there, names tests that exist, and is counted.
//!
//! Whether a test shows what its row wants is for people to judge. This step sees that no row is
//! lost, and that no test is renamed or removed without the document.

use std::fs;
use std::path::Path;

use crate::report::Outcome;
use crate::workspace::Workspace;

/// The document as it should be, and every test in it there.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    Outcome {
        failures: faults_below(&workspace.root),
        ..Outcome::default()
    }
}

fn faults_below(root: &Path) -> Vec<String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    match read(DOCUMENT) {
        Some(text) => faults(&text, &read),
        None => vec![format!("{DOCUMENT} cannot be read")],
    }
}

/// What is wrong with the document. `read` gives the text of a file of the workspace.
fn faults(text: &str, read: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut rows = Vec::new();
    let mut counts = Vec::new();
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        match *cells {
            ["#" | "", ..] => {}
            [rule, ..] if rule.starts_with("---") => {}
            [id, _, outcome, state, shown] if !outcome.is_empty() => {
                rows.push(Row { id, state, shown });
            }
            [_, _, _, _, _, _] => counts.push(cells),
            _ => faults.push(format!("not a row: {line}")),
        }
    }
    faults.extend(wrong_numbers(&rows));
    faults.extend(wrong_counts(&rows, &counts));
    for row in &rows {
        let found = row.wrong_state().into_iter();
        let found = found.chain(row.named().filter_map(|name| missing(name, read)));
        faults.extend(found.map(|fault| format!("row {}: {fault}", row.id)));
    }
    faults
}

/// A line of one of the tables.
struct Row<'a> {
    id: &'a str,
    state: &'a str,
    /// The tests between backticks, and what is missing.
    shown: &'a str,
}

impl<'a> Row<'a> {
    /// The tests and transcripts.
    fn named(&self) -> impl Iterator<Item = &'a str> {
        let quoted = self.shown.split('`').skip(1).step_by(2);
        quoted.filter(|text| text.contains('/'))
    }

    fn wrong_state(&self) -> Option<String> {
        let has_tests = self.named().next().is_some();
        let is_lacking = self.shown.contains(MISSING);
        let is_right = match self.state {
            "shown" => has_tests && !is_lacking,
            "in part" => has_tests && is_lacking,
            "open" => self.shown.starts_with(MISSING),
            "not built" => !has_tests && !is_lacking && !self.shown.is_empty(),
            _ => return Some(format!("no such state: {:?}", self.state)),
        };
        let state = self.state;
        (!is_right).then(|| format!("{state:?} does not go with its tests and what is missing"))
    }
}

/// Rows that are not there, and such as should not be.
fn wrong_numbers(rows: &[Row<'_>]) -> Vec<String> {
    let wanted = KINDS.iter().flat_map(|(_, prefix, most)| {
        let ids = 1..=*most;
        ids.map(move |number| format!("{prefix}{number}"))
    });
    let wanted: Vec<String> = wanted.collect();
    let times = |id: &str| rows.iter().filter(|row| row.id == id).count();
    let lost = wanted.iter().filter(|id| times(id) != 1);
    let lost = lost.map(|id| format!("row {id} is there {} times", times(id)));
    let unknown = rows
        .iter()
        .filter(|row| !wanted.iter().any(|id| id == row.id));
    lost.chain(unknown.map(|row| format!("there is no row {} to be", row.id)))
        .collect()
}

/// Lines of the last table that do not say how many there are.
fn wrong_counts(rows: &[Row<'_>], counts: &[Vec<&str>]) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, prefix, _) in KINDS {
        let digits = |row: &&Row<'_>| {
            let rest = row.id.strip_prefix(prefix);
            rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
        };
        let own: Vec<&Row<'_>> = rows.iter().filter(digits).collect();
        let of_state = |state: &&str| own.iter().filter(|row| row.state == *state).count();
        let mut expected = vec![(*name).to_owned(), own.len().to_string()];
        expected.extend(STATES.iter().map(|state| of_state(state).to_string()));
        if !counts.iter().any(|cells| *cells == expected) {
            faults.push(format!("the count should be | {} |", expected.join(" | ")));
        }
    }
    faults
}

/// Why there is no such test, if there is none.
fn missing(named: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let (path, name) = match named.split_once("::") {
        Some((path, name)) => (path, Some(name)),
        None => (named, None),
    };
    let Some(text) = read(path) else {
        return Some(format!("there is no file {path}"));
    };
    let is_there = match name {
        Some(name) if RULES.iter().any(|folder| path.starts_with(folder)) => {
            has_rule(&text, name) || has_test(&text, name)
        }
        Some(name) => has_test(&text, name),
        None => path.starts_with(TRANSCRIPTS),
    };
    (!is_there).then(|| format!("there is no test {named}"))
}

/// Is there a function of this name with the attribute of a test?
pub(crate) fn has_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let functions = lines.iter().enumerate();
    let mut functions = functions.filter(|(_, line)| is_function(line, name));
    functions.any(|(place, _)| {
        let above = lines.iter().take(place).rev();
        let mut attributes = above.take_while(|line| !line.is_empty() && **line != "}");
        attributes.any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
    })
}

/// A function or a variant of this name.
fn has_rule(text: &str, name: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    lines.any(|line| is_function(line, name) || line.strip_suffix(',') == Some(name))
}

fn is_function(line: &str, name: &str) -> bool {
    let mut words = line.split_whitespace().skip_while(|word| *word != "fn");
    let named = words.nth(1).and_then(|word| word.split(['(', '<']).next());
    named == Some(name)
}

const DOCUMENT: &str = "docs/fault-matrix.md";

/// What there are rows of, what their numbers begin with, and how many there are.
const KINDS: &[(&str, &str, usize)] = &[
    ("promises", "T", 11),
    ("faults", "", 100),
    ("vulnerabilities", "V", 31),
];

const STATES: [&str; 4] = ["shown", "in part", "open", "not built"];

const MISSING: &str = "missing: ";

/// Where every run is held to rules that are no tests by themselves.
const RULES: [&str; 2] = ["crates/simulation/src/", "soak/src/"];

const TRANSCRIPTS: &str = "crates/protocol/tests/transcripts/";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_holds() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let faults = faults_below(package.parent().unwrap());
        assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    }

    /// A file with a test `good`, a function `helper` and a counter `Lost`.
    fn read(path: &str) -> Option<String> {
        let text = "#[tokio::test(start_paused = true)]\n#[expect(x)]\nasync fn good() {\n}\n\
                    \nfn helper() {\n}\n\nenum Fault {\n    Lost,\n}\n";
        let known = [
            "a/b.rs",
            "soak/src/b.rs",
            "crates/protocol/tests/transcripts/x.txt",
        ];
        known.contains(&path).then(|| text.to_owned())
    }

    /// A document with every row, of which one is so.
    fn document(changed: &str, state: &str, shown: &str) -> String {
        let mut text =
            "| # | what | outcome | state | shown by |\n|---|---|---|---|---|\n".to_owned();
        for (_, prefix, most) in KINDS {
            for number in 1..=*most {
                let id = format!("{prefix}{number}");
                let (state, shown) = match id == changed {
                    true => (state, shown),
                    false => ("shown", "`a/b.rs::good`"),
                };
                text.push_str(&format!("| {id} | x | y | {state} | {shown} |\n"));
            }
        }
        text.push_str("| promises | 11 | 11 | 0 | 0 | 0 |\n");
        text.push_str("| faults | 100 | 100 | 0 | 0 | 0 |\n");
        text.push_str("| vulnerabilities | 31 | 31 | 0 | 0 | 0 |\n");
        text
    }

    fn check(state: &str, shown: &str, expected: &[&str]) {
        assert_eq!(faults(&document("7", state, shown), &read), expected);
    }

    #[test]
    fn a_test_that_is_named_must_be_one() {
        check(
            "shown",
            "`a/b.rs::good`<br>`crates/protocol/tests/transcripts/x.txt`",
            &[],
        );
        let none = ["row 7: there is no test a/b.rs::helper"];
        check("shown", "`a/b.rs::helper`", &none);
        check(
            "shown",
            "`a/b.rs::goo`",
            &["row 7: there is no test a/b.rs::goo"],
        );
        check("shown", "`a/b.rs`", &["row 7: there is no test a/b.rs"]);
        check(
            "shown",
            "`a/c.rs::good`",
            &["row 7: there is no file a/c.rs"],
        );
    }

    #[test]
    fn rules_of_long_runs_are_functions_and_counters() {
        check(
            "shown",
            "`soak/src/b.rs::helper`<br>`soak/src/b.rs::Lost`",
            &[],
        );
        let none = ["row 7: there is no test soak/src/b.rs::Found"];
        check("shown", "`soak/src/b.rs::Found`", &none);
    }

    #[test]
    fn a_state_says_whether_something_is_missing() {
        for (state, shown) in [
            ("shown", "nothing"),
            ("shown", "`a/b.rs::good`<br>missing: much"),
            ("in part", "`a/b.rs::good`"),
            ("in part", "missing: much"),
            ("open", "`a/b.rs::good`"),
            ("not built", "`a/b.rs::good`"),
            ("done", "`a/b.rs::good`"),
        ] {
            let faults = faults(&document("7", state, shown), &read);
            assert!(
                faults.iter().any(|fault| fault.starts_with("row 7: ")),
                "{state} {shown}"
            );
        }
    }

    #[test]
    fn rows_are_complete_and_counted() {
        let whole = document("", "", "");
        assert!(faults(&whole, &read).is_empty());
        let lacking = whole.replace("| V31 |", "| V32 |");
        let expected = ["row V31 is there 0 times", "there is no row V32 to be"];
        assert_eq!(faults(&lacking, &read), expected);
        let twice = whole.replace("| T2 |", "| T1 |");
        let expected = ["row T1 is there 2 times", "row T2 is there 0 times"];
        assert_eq!(faults(&twice, &read), expected);
        let open = document("V3", "open", "missing: all of it");
        let expected = ["the count should be | vulnerabilities | 31 | 30 | 0 | 1 | 0 |"];
        assert_eq!(faults(&open, &read), expected);
        let odd = format!("{whole}| 5 | too | few |\n");
        assert_eq!(faults(&odd, &read), ["not a row: | 5 | too | few |"]);
    }
}
