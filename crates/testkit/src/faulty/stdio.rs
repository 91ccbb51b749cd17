//! Misbehaving servers as child processes.
//!
//! The process is the test binary again. A test of that binary calls [`play`], which does nothing
//! unless the process was started by a [`Launch`]:
//!
//! ```no_run
//! use switchboard_testkit::faulty::{Role, stdio};
//!
//! /// Not a test by itself: what the others start.
//! #[test]
//! fn the_process() {
//!     stdio::play();
//! }
//!
//! # fn a_test() {
//! let launch = stdio::Launch::new(&Role::new("answers-twice"), "faults::the_process");
//! // … connect to `launch.program` with `launch.arguments`, call, close …
//! assert!(launch.survivors().is_empty());
//! # }
//! ```
//!
//! - `server`: the honest server on its streams, and where a defect comes in
//! - `lines`, `opening`, `answers`, `calls`, `floods`, `lists`, `lifecycle`: the kinds
//!
//! Whatever happens, a process ends by itself after a minute.

mod answers;
mod calls;
mod floods;
mod launch;
mod lifecycle;
mod lines;
mod lists;
mod opening;
mod server;

use std::time::Duration;

use serde_json::Value;

pub use launch::{Launch, play};
use server::{Pipe, Server};

/// One way to misbehave.
#[derive(Debug)]
pub struct Kind {
    /// The word for it in a [`Role`](super::Role).
    pub name: &'static str,
    /// What such a server does.
    pub about: &'static str,
    defect: Defect,
    start: Start,
}

impl Kind {
    const fn new(name: &'static str, about: &'static str, defect: Defect) -> Self {
        Self {
            name,
            about,
            defect,
            start: Start::Plain,
        }
    }

    const fn started(mut self, start: Start) -> Self {
        self.start = start;
        self
    }
}

/// All kinds.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    let tables = [
        lines::KINDS,
        opening::KINDS,
        answers::KINDS,
        calls::KINDS,
        floods::KINDS,
        lists::KINDS,
        lifecycle::KINDS,
    ];
    tables.into_iter().flatten()
}

/// Where the behaviour differs from the honest one.
#[derive(Clone, Copy, Debug)]
enum Defect {
    /// Nowhere.
    None,
    /// Before anything is read.
    Start(fn(&mut Server)),
    /// On `server/discover` and `initialize`.
    Opening(fn(&mut Server, &Value)),
    /// On requests of this method.
    Method(&'static str, fn(&mut Server, &Value)),
    /// On calls of the tool `defect`.
    Call(fn(&mut Server, &Value)),
    /// On each message.
    Message(fn(&mut Server, &Value)),
    /// On each line that is written.
    Line(fn(&mut Pipe, &str)),
    /// At the end of input.
    End(fn(&mut Server)),
}

/// How the shell starts the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// The shell becomes the process.
    Plain,
    /// The same, with SIGTERM ignored.
    WithoutTerm,
    /// The shell stays, as a package runner does.
    BelowShell,
}

/// When a process ends by itself.
const LIFETIME: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
