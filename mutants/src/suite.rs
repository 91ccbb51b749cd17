//! The tests of a package, each by itself: to which mutants it comes, and how long it takes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// One test.
#[derive(Debug)]
pub(crate) struct Test {
    program: PathBuf,
    pub(crate) name: String,
    pub(crate) takes: Duration,
    /// The numbers of the mutants that it comes to.
    pub(crate) reaches: BTreeSet<usize>,
}

/// What came of some tests with a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// This test failed.
    Noticed(String),
    /// They did not end; the first of them.
    Hung(String),
    /// All passed, so many.
    Survived(usize),
}

/// Finds the tests, and runs each.
///
/// # Errors
/// When one fails as the code is.
pub(crate) fn learn(
    programs: &[PathBuf],
    folder: &Path,
    threads: usize,
) -> Result<Vec<Test>, String> {
    let mut found = Vec::new();
    for program in programs {
        let output = Command::new(program)
            .args(["--list", "--format", "terse"])
            .output()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let listed = String::from_utf8_lossy(&output.stdout).into_owned();
        let names = listed
            .lines()
            .filter_map(|line| line.strip_suffix(": test"));
        found.extend(names.map(|name| (program, name.to_owned())));
    }
    let scratch = std::env::temp_dir().join(format!("switchboard-mutants-{}", std::process::id()));
    fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let tests = each(&found, threads, |place, (program, name)| {
        let reached = scratch.join(place.to_string());
        let begun = Instant::now();
        let mut command = command(program, folder, &[name]);
        command.env("MUTANTS_REACHED", &reached);
        let ended = run(&mut command, LONGEST)?;
        if ended != Ended::Well {
            return Err(format!("{name} fails as the code is"));
        }
        let takes = begun.elapsed();
        let reached = fs::read_to_string(reached).unwrap_or_default();
        Ok(Test {
            program: (*program).clone(),
            name: name.clone(),
            takes,
            reaches: reached
                .lines()
                .filter_map(|line| line.parse().ok())
                .collect(),
        })
    });
    let _ = fs::remove_dir_all(&scratch);
    tests.into_iter().collect()
}

/// Runs those of the tests that come to a mutant, the quick ones first, until one fails.
pub(crate) fn try_one(tests: &[Test], number: usize, folder: &Path) -> Result<Outcome, String> {
    let mut concerned: Vec<&Test> = tests
        .iter()
        .filter(|test| test.reaches.contains(&number))
        .collect();
    concerned.sort_by_key(|test| test.takes);
    let mut at_once = AT_FIRST;
    let mut left = concerned.as_slice();
    while let Some(first) = left.first() {
        let program = &first.program;
        let mut takes = Duration::ZERO;
        let fits = left.iter().take_while(|test| {
            takes += test.takes;
            test.program == *program && (takes <= at_once || takes == test.takes)
        });
        let (now, later) = left.split_at(fits.count());
        left = later;
        at_once = at_once.saturating_mul(2);
        let names: Vec<&str> = now.iter().map(|test| test.name.as_str()).collect();
        let expected: Duration = now.iter().map(|test| test.takes).sum();
        let mut command = command(program, folder, &names);
        command.env("MUTANT", number.to_string());
        match run(&mut command, expected * 5 + PATIENCE)? {
            Ended::Well => {}
            Ended::Badly(test) => return Ok(Outcome::Noticed(test)),
            Ended::Not => return Ok(Outcome::Hung(first.name.clone())),
        }
    }
    Ok(Outcome::Survived(concerned.len()))
}

/// Does something with each, on some threads; what comes of it is in the same order.
pub(crate) fn each<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    body: impl Fn(usize, &T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(place) else {
                        return;
                    };
                    let result = body(place, item);
                    if let Ok(mut done) = done.lock() {
                        done.push((place, result));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Well,
    /// The first test that failed, or how the program ended.
    Badly(String),
    Not,
}

fn command(program: &Path, folder: &Path, names: &[impl AsRef<str>]) -> Command {
    let mut command = Command::new(program);
    command.args(["--exact", "--test-threads=1"]);
    command.args(names.iter().map(AsRef::as_ref));
    command
        .current_dir(folder)
        .env("CARGO_MANIFEST_DIR", folder);
    command.env("PROPTEST_FAILURE_PERSISTENCE", "off");
    command
}

/// Runs it, in a group of its own so that nothing that it started is left.
fn run(command: &mut Command, limit: Duration) -> Result<Ended, String> {
    use std::os::unix::process::CommandExt as _;

    command.process_group(0);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command.stdout(Stdio::piped());
    let mut child = command
        .spawn()
        .map_err(|error| format!("a test could not be started: {error}"))?;
    let said = child.stdout.take();
    let reader = thread::spawn(move || {
        let mut text = String::new();
        if let Some(mut said) = said {
            // What is no text says nothing of tests.
            let _ = std::io::Read::read_to_string(&mut said, &mut text);
        }
        text
    });
    let ends = Instant::now() + limit;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() < ends => thread::sleep(POLL),
            _ => break None,
        }
    };
    end(&mut child);
    let text = reader.join().unwrap_or_default();
    Ok(match status {
        Some(status) if status.success() => Ended::Well,
        Some(status) => {
            let failed = text
                .lines()
                .find_map(|line| line.strip_suffix(" ... FAILED"));
            let failed = failed.and_then(|line| line.strip_prefix("test "));
            Ended::Badly(failed.map_or_else(|| status.to_string(), str::to_owned))
        }
        None => Ended::Not,
    })
}

/// Ends it and all that it has started.
fn end(child: &mut Child) {
    // Both fail where nobody is left, as it mostly is.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
}

/// How long tests run before it is looked whether one has failed, at first.
const AT_FIRST: Duration = Duration::from_millis(300);
/// How long they may take beside five times what they do.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long one may take as the code is.
const LONGEST: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(2);
