//! How a server ended, and how long it is waited for.

use std::fmt;
use std::time::Duration;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exit {
    /// The status that it gave, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl Exit {
    /// Neither is known: somebody else in this process has waited for its children.
    #[cfg(unix)]
    pub(super) const UNSEEN: Self = Self {
        code: None,
        signal: None,
    };

    /// Did it end by itself, with status 0?
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }
}

/// Follows the name of the server: `exited with status 3`.
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exited with status {code}"),
            (None, Some(signal)) => match name(signal) {
                Some(name) => write!(f, "was ended by signal {signal} ({name})"),
                None => write!(f, "was ended by signal {signal}"),
            },
            (None, None) => write!(f, "ended, and its status was taken by somebody else"),
        }
    }
}

/// How long [`stop`](super::Process::stop) waits before it does more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patience {
    /// For the server to end by itself after the end of its input.
    pub obey: Duration,
    /// For it and for what it started to end after `SIGTERM`.
    pub terminate: Duration,
    /// For the system to end them after `SIGKILL`.
    pub reap: Duration,
}

impl Patience {
    /// How long a server may take to end by itself.
    #[must_use]
    pub fn obey(mut self, time: Duration) -> Self {
        self.obey = time;
        self
    }

    /// How long it may take after it was told to end.
    #[must_use]
    pub fn terminate(mut self, time: Duration) -> Self {
        self.terminate = time;
        self
    }

    /// How long the system may take.
    #[must_use]
    pub fn reap(mut self, time: Duration) -> Self {
        self.reap = time;
        self
    }
}

/// Two seconds, two seconds, one second.
impl Default for Patience {
    fn default() -> Self {
        Self {
            obey: Duration::from_secs(2),
            terminate: Duration::from_secs(2),
            reap: Duration::from_secs(1),
        }
    }
}

/// What became of a server that was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stopped {
    /// How it ended; nothing if the system did not end it in time, which takes a broken device.
    pub exit: Option<Exit>,
    /// What it took.
    pub manner: Manner,
}

impl Stopped {
    /// Was anybody killed?
    pub fn is_forced(&self) -> bool {
        self.manner == Manner::Killed
    }
}

/// What it took until nobody of the group was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Manner {
    /// The end of input was enough.
    Obeyed,
    /// The server, or something that it had left behind, was told to end.
    Terminated,
    /// The server, or something that it had left behind, was killed.
    Killed,
}

#[cfg(unix)]
fn name(signal: i32) -> Option<&'static str> {
    use rustix::process::Signal;

    let names = [
        (Signal::ABORT, "SIGABRT"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::HUP, "SIGHUP"),
        (Signal::ILL, "SIGILL"),
        (Signal::INT, "SIGINT"),
        (Signal::KILL, "SIGKILL"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::SYS, "SIGSYS"),
        (Signal::TERM, "SIGTERM"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
    ];
    let mut names = names.into_iter();
    names.find_map(|(known, name)| (known.as_raw() == signal).then_some(name))
}

#[cfg(not(unix))]
fn name(_signal: i32) -> Option<&'static str> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn check(code: Option<i32>, signal: Option<i32>, expected: &str) {
        assert_eq!(Exit { code, signal }.to_string(), expected);
    }

    #[test]
    fn an_end_is_said_in_words() {
        check(Some(3), None, "exited with status 3");
        check(None, Some(9), "was ended by signal 9 (SIGKILL)");
        check(None, Some(40), "was ended by signal 40");
        check(
            None,
            None,
            "ended, and its status was taken by somebody else",
        );
    }
}
