//! What is read, and what was found wrong with it so far.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::origin::Grammar;
use super::page::Page;
use super::problem::{Problem, ProblemKind, Severity};

/// What is read, and what was found wrong with it.
#[derive(Debug)]
pub(super) struct Sheet<'a> {
    pub(super) page: Page<'a>,
    pub(super) file: Arc<str>,
    pub(super) grammar: Grammar,
    server: RefCell<Option<String>>,
    problems: RefCell<Vec<Problem>>,
    errors: Cell<usize>,
    /// What nobody took within a server, with the keys around it.
    kept: RefCell<Vec<(String, Map<String, Json>)>>,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(page: Page<'a>, file: Arc<str>, grammar: Grammar) -> Self {
        Self {
            page,
            file,
            grammar,
            server: RefCell::default(),
            problems: RefCell::default(),
            errors: Cell::default(),
            kept: RefCell::default(),
        }
    }

    /// From now on everything is about this server.
    pub(super) fn about(&self, server: Option<&str>) {
        self.server.replace(server.map(str::to_owned));
    }

    pub(super) fn report(&self, severity: Severity, offset: usize, kind: ProblemKind) {
        if severity == Severity::Error {
            self.errors.set(self.errors.get() + 1);
        }
        let problem = Problem {
            severity,
            file: Arc::clone(&self.file),
            position: self.page.position(offset),
            server: self.server.borrow().clone(),
            kind,
        };
        self.problems.borrow_mut().push(problem);
    }

    pub(super) fn error(&self, offset: usize, kind: ProblemKind) {
        self.report(Severity::Error, offset, kind);
    }

    pub(super) fn warn(&self, offset: usize, kind: ProblemKind) {
        self.report(Severity::Warning, offset, kind);
    }

    /// How many errors there were so far.
    pub(super) fn errors(&self) -> usize {
        self.errors.get()
    }

    /// Members that nobody took, with the keys around them, each with a dot.
    pub(super) fn keep(&self, prefix: String, members: Map<String, Json>) {
        self.kept.borrow_mut().push((prefix, members));
    }

    /// What nobody took since it was last asked for, in the objects that it was in.
    pub(super) fn take_kept(&self) -> Map<String, Json> {
        let mut whole = Map::new();
        for (prefix, members) in self.kept.take() {
            put(&mut whole, prefix.split_terminator('.'), members);
        }
        whole
    }

    /// In the order of the file.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|problem| problem.position);
        problems
    }
}

/// Puts members into the object at the end of a path.
fn put<'k>(
    object: &mut Map<String, Json>,
    mut path: impl Iterator<Item = &'k str>,
    members: Map<String, Json>,
) {
    let Some(key) = path.next() else {
        object.extend(members);
        return;
    };
    let inner = object.entry(key).or_insert_with(|| Map::new().into());
    // It is an object in the file, or nothing in it would have been kept.
    if let Json::Object(inner) = inner {
        put(inner, path, members);
    }
}
