//! How a test starts itself as a server, and finds what is left of it.
//!
//! A shell stands between: it moves the real stdout to descriptor 3, because the test harness
//! prints on stdout before the first test runs, and it ignores signals, which needs `unsafe` here.

use std::ffi::OsString;
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::server::{Server, end};
use super::{LIFETIME, Start, kinds};
use crate::faulty::Role;

/// How to start this test binary as a misbehaving server.
#[derive(Clone, Debug)]
pub struct Launch {
    /// What to run.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// In the command line of the shell and in the environment of everything below it.
    mark: String,
}

impl Launch {
    /// A server of this role; `test` is the full name of the test that calls [`play`].
    ///
    /// # Panics
    /// For an unknown kind.
    pub fn new(role: &Role, test: &str) -> Self {
        let kind = kinds().find(|kind| kind.name == role.kind);
        let kind = kind.unwrap_or_else(|| panic!("no kind {:?} of stdio server", role.kind));
        let (before, run) = match kind.start {
            Start::Plain => ("", r#"exec "$0" "$@""#),
            Start::WithoutTerm => ("trap '' TERM; ", r#"exec "$0" "$@""#),
            Start::BelowShell => ("", r#""$0" "$@"; exit $?"#),
        };
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{PART}={role}#{}-{count}", std::process::id());
        let script = format!("exec 3>&1 1>/dev/null; {before}export {mark}; {run}");
        // With two threads the harness runs the test beside itself, as it is told to in tests.
        let harness = ["--exact", test, "--test-threads=2", "--nocapture"];
        let binary = std::env::current_exe().expect("a test knows its own binary");
        let mut arguments = vec!["-c".into(), script.into(), binary.into_os_string()];
        arguments.extend(harness.map(OsString::from));
        Self {
            program: "sh".into(),
            arguments,
            mark,
        }
    }

    /// The same as a command.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }

    /// The ids of the processes that were started by this launch and still run, also by others
    /// below them. Known on Linux only; elsewhere there are none.
    pub fn survivors(&self) -> Vec<u32> {
        let Ok(processes) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        ids.filter(|id| self.is_mine(*id)).collect()
    }

    /// The same, once there are none or this time has passed: for processes that nobody waits for.
    pub fn survivors_after(&self, limit: Duration) -> Vec<u32> {
        let end = Instant::now() + limit;
        loop {
            let survivors = self.survivors();
            if survivors.is_empty() || Instant::now() >= end {
                return survivors;
            }
            // The system tells only parents about the end of a process.
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn is_mine(&self, id: u32) -> bool {
        let read = |part| fs::read(format!("/proc/{id}/{part}")).unwrap_or_default();
        // A process that is becoming another program has no environment for a moment; others
        // were given none, so this ends.
        let environment = (0..100).find_map(|_| {
            let environment = read("environ");
            if environment.is_empty() && is_running(id) {
                thread::yield_now();
                return None;
            }
            Some(environment)
        });
        let environment = environment.unwrap_or_default();
        self.is_in(&environment) || self.is_in(&read("cmdline"))
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        // Ended by `;` in the script and by NUL in the environment: `-1` is not `-12`.
        bytes
            .windows(self.mark.len() + 1)
            .any(|found| found.starts_with(self.mark.as_bytes()) && is_end(found.last()))
    }
}

/// Is this process if a [`Launch`] started it as a server, and ends it then; else nothing.
///
/// # Panics
/// If the variable holds no role.
pub fn play() {
    let Ok(value) = std::env::var(PART) else {
        return;
    };
    let role = value.split('#').next().unwrap_or(&value);
    let role: Role = role.parse().expect("a launch writes a role");
    let kind = kinds().find(|kind| kind.name == role.kind);
    thread::spawn(|| {
        thread::sleep(LIFETIME);
        end(OVERDUE)
    });
    Server::new(kind.expect("a launch checks the kind"), &role).run();
    end(0)
}

/// Is it a process that runs a program? Neither one that has ended nor a thread of the kernel is.
fn is_running(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let state = status
        .lines()
        .find_map(|line| line.strip_prefix("State:\t"));
    let has_memory = status.contains("\nVmSize:");
    has_memory && state.is_some_and(|state| !state.starts_with(['Z', 'X']))
}

fn is_end(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b';' | 0))
}

/// Tells the process what to be.
const PART: &str = "SWITCHBOARD_FAULTY";

/// The exit status of a process that nobody ended.
const OVERDUE: i32 = 99;

/// Makes each launch different.
static COUNT: AtomicUsize = AtomicUsize::new(0);
