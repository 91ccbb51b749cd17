//! Documents that name tests: each of them must be there.
//!
//! In backquotes, a test is named `path/to/file.rs::name`, and a transcript or another file by its
//! path alone. Whether a test shows what is said of it is for people to judge.

use std::fs;
use std::path::Path;

use crate::fault_matrix::has_test;

/// The documents that are looked at. One that names no test at all is a mistake.
const DOCUMENTS: &[&str] = &["docs/limits.md", "docs/security.md"];

#[test]
fn every_test_that_a_document_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for document in DOCUMENTS {
        let text = fs::read_to_string(root.join(document)).unwrap();
        let named: Vec<Named<'_>> = text.lines().flat_map(named_in).collect();
        assert!(!named.is_empty(), "{document} names no test");
        let missing: Vec<_> = named.iter().filter(|named| !named.is_in(root)).collect();
        assert!(missing.is_empty(), "{document} names {missing:#?}");
    }
}

/// Something that a document names.
#[derive(Debug, PartialEq, Eq)]
struct Named<'a> {
    path: &'a str,
    /// The test, where it is not the whole file.
    test: Option<&'a str>,
}

impl Named<'_> {
    fn is_in(&self, root: &Path) -> bool {
        let text = fs::read_to_string(root.join(self.path));
        text.is_ok_and(|text| self.test.is_none_or(|name| has_test(&text, name)))
    }
}

/// What a line of a document names: every other part between backquotes is code.
fn named_in(line: &str) -> impl Iterator<Item = Named<'_>> {
    line.split('`').skip(1).step_by(2).filter_map(|code| {
        let (path, test) = match code.split_once("::") {
            Some((path, test)) => (path, Some(test)),
            None => (code, None),
        };
        let is_file = path.contains('/') && (path.ends_with(".rs") || path.ends_with(".txt"));
        is_file.then_some(Named { path, test })
    })
}

#[test]
fn tests_are_named_by_file_and_function_and_files_alone() {
    let line = "| `calls` | `a/b.rs::a_test`, `a/c.txt` | `c::d` | `b.rs` | a/e.rs::f |";
    let named = |path, test| Named { path, test };
    assert_eq!(
        named_in(line).collect::<Vec<_>>(),
        [named("a/b.rs", Some("a_test")), named("a/c.txt", None)]
    );
}
