//! Peers without measure, each a process of its own that yields to everybody else: what is
//! measured is how far apart our process keeps its peers, not who has the machine.
//!
//! A peer floods while a file is there, and is honest or still otherwise.
//!
//! - [`pipe`]: a server on its standard streams
//! - [`web`]: a server over HTTP, those of the testkit
//! - [`client`]: a client of the gateway

mod client;
mod pipe;
mod web;

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

/// Plays a role until it is killed, or its input ends.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode, String> {
    yield_to_all();
    match words {
        ["pipe", kind, flag, limit] => pipe::run(kind, Flag::new(flag), bytes(limit)?),
        ["web", kind, era, file] => web::run(kind, era, file),
        ["client", kind, flag, limit, address, key] => {
            client::run(kind, Flag::new(flag), bytes(limit)?, address, key)
        }
        _ => Err(format!("hostile is not understood: {words:?}")),
    }
}

/// As nice as one can be. A nice process still keeps others waiting until the next tick of the clock, one
/// that only uses what is idle does not. It is no less of a flood if that is not possible.
fn yield_to_all() {
    let _ = rustix::process::nice(40);
    let _ = Command::new("chrt")
        .args(["--idle", "--pid", "0", &std::process::id().to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

fn bytes(word: &str) -> Result<usize, String> {
    word.parse().map_err(|_| format!("{word:?} is no size"))
}

/// Says when to flood.
#[derive(Clone, Debug)]
struct Flag(PathBuf);

impl Flag {
    fn new(path: &str) -> Self {
        Self(PathBuf::from(path))
    }

    fn is_up(&self) -> bool {
        self.0.exists()
    }

    /// Returns when it is up.
    fn wait(&self) {
        while !self.is_up() {
            thread::sleep(PAUSE);
        }
    }
}

/// How often a flag is looked at.
const PAUSE: Duration = Duration::from_millis(5);

/// How much is written at once. Linux lets a write go on until it is done, also that of somebody who only has
/// what is idle, and the neighbour would wait for it.
const PIECE: usize = 32 * 1024;
