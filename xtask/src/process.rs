//! Runs another program: shows what it prints as it comes, and keeps it for reading.
//!
//! A foreign program gets a time limit and a process group of its own, so that nothing it
//! started outlives it. Programs of the toolchain run as long as they need, and in our
//! group, so that an interrupt from the terminal reaches them.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crate::report;

/// What a program left behind.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) succeeded: bool,
    /// How it ended, in words.
    pub(crate) ending: String,
    /// Every line of stdout.
    pub(crate) stdout: Vec<String>,
}

impl Finished {
    /// `Err` with how the program ended, unless it ended well.
    pub(crate) fn check(&self, name: &str) -> Result<(), String> {
        if self.succeeded {
            Ok(())
        } else {
            Err(format!("{name} {}", self.ending))
        }
    }
}

/// What is shown of a program while it runs. Its stderr is, unless it says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show {
    All,
    /// Only lines that begin like this.
    Beginning(&'static str),
    OnlyErrors,
    /// As progress of ours: its stderr goes to our stderr.
    AsProgress,
    /// As progress, and not even the command.
    AsProgressQuietly,
    /// Nothing, where what it leaves behind says it better.
    Nothing,
}

impl Show {
    fn line(self, text: &str) {
        match self {
            Self::All | Self::Beginning(_) | Self::OnlyErrors => report::line(text),
            Self::AsProgress | Self::AsProgressQuietly => report::progress(text),
            Self::Nothing => {}
        }
    }

    fn shows(self, line: &str) -> bool {
        match self {
            Self::All => true,
            Self::Beginning(prefix) => line.starts_with(prefix),
            Self::OnlyErrors | Self::AsProgress | Self::AsProgressQuietly | Self::Nothing => false,
        }
    }
}

/// Runs a program of the toolchain to its end.
pub(crate) fn run(command: &mut Command, show: Show) -> Result<Finished, String> {
    let name = describe(command);
    let mut child = spawn(command, show)?;
    let lines = read(&mut child, show);
    let stdout = lines.iter().collect();
    let status = child
        .wait()
        .map_err(|error| format!("{name} could not be awaited: {error}"))?;
    Ok(finished(status, stdout))
}

/// Runs a foreign program; at the limit it and everything it started is killed.
pub(crate) fn run_bounded(
    command: &mut Command,
    show: Show,
    limit: Duration,
) -> Result<Finished, String> {
    own_group(command);
    let mut child = spawn(command, show)?;
    let lines = read(&mut child, show);
    let ends = Instant::now() + limit;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() < ends => thread::sleep(POLL),
            Ok(None) | Err(_) => break None,
        }
    };
    kill_group(&mut child);
    // The group is gone, so the pipes end by themselves; the grace is for one that left its group.
    let mut stdout = Vec::new();
    while let Ok(line) = lines.recv_timeout(GRACE) {
        stdout.push(line);
    }
    Ok(match status {
        Some(status) => finished(status, stdout),
        None => Finished {
            succeeded: false,
            ending: format!("did not end within {} s", limit.as_secs()),
            stdout,
        },
    })
}

/// Runs one of our servers while `body` uses it, then kills and awaits it.
///
/// The server has told on stderr where it is when a line begins with `prefix`; `body` gets the
/// rest of that line. It starts no programs, so it stays in our group. One that ends before
/// `body` does has failed, whatever `body` found.
pub(crate) fn with_server(
    command: &mut Command,
    prefix: &'static str,
    body: impl FnOnce(&str),
) -> Result<(), String> {
    let name = describe(command);
    let mut child = spawn(command, Show::All)?;
    let (sender, told) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        // A pipe that nobody reads fills up, and its writer stands still.
        thread::spawn(move || each_line(stdout, |line| report::line(&line)));
    }
    if let Some(stderr) = child.stderr.take() {
        thread::spawn(move || {
            each_line(stderr, |line| {
                report::line(&line);
                if let Some(place) = line.strip_prefix(prefix) {
                    // Nobody waits for a second place.
                    let _ = sender.send(place.to_owned());
                }
            });
        });
    }
    let place = told.recv_timeout(READY_LIMIT);
    if let Ok(place) = &place {
        body(place);
    }
    let ended = child.try_wait();
    // Both fail only for a child that has ended.
    let _ = child.kill();
    let _ = child.wait();
    match (place, ended) {
        (Ok(_), Ok(None)) => Ok(()),
        (Err(_), Ok(None)) => Err(format!(
            "{name} printed no line that begins with {prefix:?} within {} s",
            READY_LIMIT.as_secs()
        )),
        (_, Ok(Some(status))) => Err(format!("{name} ended by itself, with {status}")),
        (_, Err(error)) => Err(format!("{name} could not be asked how it is: {error}")),
    }
}

fn spawn(command: &mut Command, show: Show) -> Result<Child, String> {
    let name = describe(command);
    if show != Show::AsProgressQuietly {
        show.line(&format!("$ {name}"));
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{name} could not be started: {error}"))
}

/// Reads both pipes to their end on threads of their own; the receiver gets stdout.
fn read(child: &mut Child, show: Show) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(stderr) = child.stderr.take() {
        thread::spawn(move || each_line(stderr, |line| show.line(&line)));
    }
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            each_line(stdout, |line| {
                if show.shows(&line) {
                    report::line(&line);
                }
                // The receiver is gone only after a time limit, when nobody reads on.
                let _ = sender.send(line);
            });
        });
    }
    receiver
}

fn each_line(pipe: impl Read, mut take: impl FnMut(String)) {
    let mut pipe = BufReader::new(pipe);
    let mut bytes = Vec::new();
    while let Ok(1..) = pipe.read_until(b'\n', &mut bytes) {
        let line = String::from_utf8_lossy(&bytes);
        take(line.trim_end_matches(['\n', '\r']).to_owned());
        bytes.clear();
    }
}

fn finished(status: ExitStatus, stdout: Vec<String>) -> Finished {
    Finished {
        succeeded: status.success(),
        ending: format!("ended with {status}"),
        stdout,
    }
}

fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// Puts it into a process group of its own.
#[cfg(unix)]
pub(crate) fn own_group(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;

    command.process_group(0);
}

#[cfg(not(unix))]
pub(crate) fn own_group(_command: &mut Command) {}

/// Kills what is left of the child's group. The standard library can only signal one process.
pub(crate) fn kill_group(child: &mut Child) {
    if cfg!(unix) {
        let group = format!("-{}", child.id());
        // It fails when the group is empty already, which is the usual case.
        let _ = Command::new("kill")
            .args(["-KILL", "--", &group])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
    // Both fail only for a child that has ended.
    let _ = child.kill();
    let _ = child.wait();
}

/// How long a server of ours may take to say where it is.
const READY_LIMIT: Duration = Duration::from_secs(10);
/// How often a bounded program is asked whether it has ended.
const POLL: Duration = Duration::from_millis(20);
/// How long we wait for the last lines of a program that has been killed.
const GRACE: Duration = Duration::from_secs(2);

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn stdout_is_kept_line_by_line() {
        let done = run(&mut shell("echo one; echo two; echo three >&2"), Show::All).unwrap();
        assert!(done.succeeded);
        assert_eq!(done.stdout, ["one", "two"]);
    }

    #[test]
    fn a_bad_exit_code_is_told() {
        let done = run(&mut shell("exit 3"), Show::All).unwrap();
        let error = done.check("sh").unwrap_err();
        assert!(error.contains('3'), "{error}");
    }

    #[test]
    fn a_program_past_its_limit_is_killed_with_its_children() {
        let started = Instant::now();
        let script = "echo before; sleep 60 & sleep 60; wait";
        let done = run_bounded(&mut shell(script), Show::All, Duration::from_millis(200)).unwrap();
        assert!(!done.succeeded);
        assert_eq!(done.stdout, ["before"]);
        // The pipe of a child left alive would have kept us for the whole grace.
        assert!(started.elapsed() < GRACE, "{:?}", started.elapsed());
    }

    #[test]
    fn a_child_left_behind_does_not_keep_us_waiting() {
        let started = Instant::now();
        let script = "sleep 60 & echo done";
        let done = run_bounded(&mut shell(script), Show::All, Duration::from_secs(30)).unwrap();
        assert!(done.succeeded);
        assert_eq!(done.stdout, ["done"]);
        assert!(started.elapsed() < GRACE, "{:?}", started.elapsed());
    }
    #[test]
    fn a_server_runs_while_it_is_used() {
        let mut found = String::new();
        let script = "echo starting >&2; echo listening on here >&2; exec sleep 60";
        let served = with_server(
            &mut shell(&format!("exec sh -c '{script}'")),
            "listening on ",
            |place| {
                found = place.to_owned();
            },
        );
        assert_eq!(served, Ok(()));
        assert_eq!(found, "here");
    }

    #[test]
    fn a_server_that_ends_by_itself_is_a_failure() {
        let mut used = false;
        let error =
            with_server(&mut shell("exit 3"), "listening on ", |_| used = true).unwrap_err();
        assert!(!used);
        assert!(error.contains('3'), "{error}");
    }
}
