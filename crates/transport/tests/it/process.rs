//! Servers that are started: where they are found, what they see, what they say.
//!
//! Most are a line for a shell. How they end is in `process_end`, what becomes of them when the
//! host ends in `process_host`.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use switchboard_transport::process::{Input, Output, Patience, Process, ProcessSpec, SpawnError};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::time::timeout;

/// Longer than anything here takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(20);

pub(crate) fn shell(script: &str) -> ProcessSpec {
    ProcessSpec::new("/bin/sh").arguments(["-c", script])
}

pub(crate) fn start(spec: &ProcessSpec) -> (Process, Input, BufReader<Output>) {
    let (process, input, output) = Process::spawn(spec).unwrap();
    assert!(process.is_watched());
    (process, input, BufReader::new(output))
}

pub(crate) async fn line(output: &mut BufReader<Output>) -> String {
    let mut line = String::new();
    let read = timeout(LONG, output.read_line(&mut line)).await;
    read.expect("a line in time").unwrap();
    line.trim_end().to_owned()
}

pub(crate) async fn number(output: &mut BufReader<Output>) -> u32 {
    line(output).await.parse().unwrap()
}

/// There is such a process and it is not a zombie.
pub(crate) fn is_alive(process: u32) -> bool {
    state(process).is_some_and(|state| state != 'Z' && state != 'X')
}

/// `None` if there is no such process.
pub(crate) fn state(process: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Waits for what the system tells nobody: the end of somebody else's child.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn wait_until_gone(processes: &[u32]) {
    for process in processes {
        wait_until("a process is left", || !is_alive(*process));
    }
}

/// A directory of a test that is removed with it.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let name = format!("switchboard-process-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn refusal(spec: &ProcessSpec) -> SpawnError {
    Process::spawn(spec).map(|_| ()).unwrap_err()
}

fn check_refusal(spec: &ProcessSpec, expected: &str) {
    assert_eq!(refusal(spec).to_string(), expected);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named_with_the_path_that_was_searched() {
    let spec = ProcessSpec::new("no-such-server").variable("PATH", "/nowhere:/neither");
    check_refusal(
        &spec,
        "program \"no-such-server\" was not found in PATH (/nowhere:/neither)",
    );
    check_refusal(
        &ProcessSpec::new("/nowhere/server"),
        "program \"/nowhere/server\" does not exist",
    );
    check_refusal(&ProcessSpec::new(""), "no program is named");
}

#[tokio::test]
async fn a_program_that_cannot_be_run_is_told_from_one_that_is_not_there() {
    let directory = Directory::new("refused");
    let at = directory.0.display();
    directory.file("server", "#!/bin/sh\n", 0o644);
    let spec = ProcessSpec::new("server").variable("PATH", directory.0.as_os_str());
    let expected = format!("\"{at}/server\" is not executable; chmod +x would allow it");
    check_refusal(&spec, &expected);
    let expected = format!("\"{at}\" is a directory and not a program");
    check_refusal(&ProcessSpec::new(directory.0.as_os_str()), &expected);
}

#[tokio::test]
async fn a_program_that_the_system_refuses_says_what_it_needs() {
    let directory = Directory::new("needs");
    let at = directory.0.display();
    let path = directory.file("needs", "#!/nowhere/interpreter\n", 0o755);
    let expected =
        format!("the system did not start \"{at}/needs\": its interpreter or loader is missing");
    check_refusal(&ProcessSpec::new(path.as_os_str()), &expected);
    assert!(refusal(&ProcessSpec::new(path)).source().is_some());
    let path = directory.file("bare", "echo hello\n", 0o755);
    let expected = format!(
        "the system did not start \"{at}/bare\": \
         it is no program for this machine and has no #! line"
    );
    check_refusal(&ProcessSpec::new(path), &expected);
}

#[tokio::test]
async fn a_working_directory_that_is_none_is_named() {
    let spec = shell("true").directory("/nowhere/at/all");
    check_refusal(
        &spec,
        "the working directory \"/nowhere/at/all\" cannot be used",
    );
    let spec = shell("true").directory("/dev/null");
    assert!(refusal(&spec).source().is_some());
}

#[test]
fn outside_of_a_runtime_nothing_is_started() {
    assert!(matches!(refusal(&shell("true")), SpawnError::NoRuntime));
}

/// What it prints as its first line.
async fn said(spec: &ProcessSpec) -> String {
    let (process, input, mut output) = start(spec);
    drop(input);
    let said = line(&mut output).await;
    process.stop(Patience::default()).await;
    said
}

#[tokio::test]
async fn a_program_is_found_in_the_path_of_the_server_and_from_its_directory() {
    let directory = Directory::new("found");
    let script = "#!/bin/sh\necho $0 $(pwd) $*\n";
    directory.file("server", script, 0o755);
    fs::create_dir(directory.0.join("other")).unwrap();
    directory.file("other/server", script, 0o644);
    let at = fs::canonicalize(&directory.0).unwrap();
    let at = at.display();

    // The first of the name cannot be run, so the second is.
    let path = format!(
        ":{}/other:{}:/bin",
        directory.0.display(),
        directory.0.display()
    );
    let spec = ProcessSpec::new("server").variable("PATH", &path);
    let ours = std::env::current_dir().unwrap();
    let file = directory.0.join("server");
    let expected = format!("{} {} 'a b'", file.display(), ours.display());
    assert_eq!(said(&spec.clone().argument("'a b'")).await, expected);

    let expected = format!("{} {at} x", file.display());
    let spec = spec.argument("x").directory(&directory.0);
    assert_eq!(said(&spec).await, expected);

    let spec = ProcessSpec::new("../server").directory(directory.0.join("other"));
    let said = said(&spec).await;
    assert!(said.ends_with(&format!("{at}/other")), "{said}");
}

#[tokio::test]
async fn arguments_arrive_as_they_are() {
    let awkward = [
        "a b", "", "$HOME", "`id`", "%PATH%", "\"'\\", "*", "\u{e4}\n",
    ];
    let spec = ProcessSpec::new("printf").argument("%s\\0");
    let (process, input, mut output) = start(&spec.arguments(awkward));
    drop(input);
    let mut all = String::new();
    output.read_to_string(&mut all).await.unwrap();
    assert_eq!(all.split_terminator('\0').collect::<Vec<_>>(), awkward);
    process.stop(Patience::default()).await;
}

#[tokio::test]
async fn a_server_sees_the_listed_variables_and_no_others() {
    let spec = ProcessSpec::new("env")
        .variable("SWITCHBOARD_TEST", "set")
        .inherit("CARGO_PKG_NAME")
        .inherit("SWITCHBOARD_ABSENT");
    let (process, input, mut output) = start(&spec);
    drop(input);
    let mut all = String::new();
    output.read_to_string(&mut all).await.unwrap();
    process.stop(Patience::default()).await;
    let seen: BTreeMap<_, _> = all
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let listed = [
        "HOME",
        "LANG",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "CARGO_PKG_NAME",
    ];
    let ours: BTreeMap<String, String> = std::env::vars().collect();
    let mut expected: BTreeMap<&str, &str> = ours
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| listed.contains(name) || name.starts_with("LC_"))
        .collect();
    expected.insert("SWITCHBOARD_TEST", "set");
    assert_eq!(seen, expected);
}

fn descriptors(process: &str) -> BTreeSet<u32> {
    let entries = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.flatten().filter_map(number).collect()
}

/// What this test was started with and every child of it gets: no part of what is tested.
fn inherited_by_all() -> BTreeSet<u32> {
    let is_inherited = |descriptor: &u32| {
        let path = format!("/proc/self/fdinfo/{descriptor}");
        let info = fs::read_to_string(path).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        const CLOSE_ON_EXEC: u32 = 0o2_000_000;
        flags.is_some_and(|flags| {
            u32::from_str_radix(flags.trim(), 8).unwrap_or(CLOSE_ON_EXEC) & CLOSE_ON_EXEC == 0
        })
    };
    descriptors("self")
        .into_iter()
        .filter(is_inherited)
        .collect()
}

#[tokio::test]
async fn a_server_has_its_three_streams_and_no_other_descriptor() {
    let (neighbour, _neighbour_input, _neighbour_output) = start(&shell("echo; read line"));
    let (process, input, mut output) = start(&shell("echo ready; read line"));
    assert_eq!(line(&mut output).await, "ready");
    let mut expected = inherited_by_all();
    expected.extend([0, 1, 2]);
    assert_eq!(descriptors(&process.id().to_string()), expected);
    drop(input);
    process.stop(Patience::default()).await;
    drop(neighbour);
}

#[tokio::test]
async fn large_messages_go_through_in_both_directions_at_once() {
    let (process, mut input, mut output) = start(&ProcessSpec::new("cat"));
    let text = vec![b'x'; 8 * 1024 * 1024];
    let mut read = vec![0; text.len()];
    let (written, _) = tokio::join!(input.write_all(&text), async {
        output.read_exact(&mut read).await.unwrap();
    });
    written.unwrap();
    assert!(read == text);
    drop(input);
    assert!(
        process
            .stop(Patience::default())
            .await
            .exit
            .unwrap()
            .is_success()
    );
}

#[tokio::test]
async fn an_exit_is_told_with_its_status_and_the_last_words() {
    let (mut process, _input, _output) = start(&shell("echo one >&2; printf two >&2; exit 3"));
    let exit = timeout(LONG, process.exited()).await.unwrap();
    assert_eq!(exit.code, Some(3));
    assert_eq!(exit.to_string(), "exited with status 3");
    assert_eq!(process.stderr().tail(), "one\ntwo");
    // Asked again, and after it has ended.
    assert_eq!(process.exited().await, exit);
    assert_eq!(process.stop(Patience::default()).await.exit, Some(exit));
}

#[tokio::test]
async fn a_silent_exit_is_told_too() {
    let (mut process, _input, _output) = start(&ProcessSpec::new("true"));
    let exit = timeout(LONG, process.exited()).await.unwrap();
    assert!(exit.is_success());
    assert_eq!(exit.to_string(), "exited with status 0");
    assert_eq!(process.stderr().tail(), "");
}

#[tokio::test]
async fn a_signal_is_named() {
    let (mut process, _input, _output) = start(&shell("kill -s KILL $$"));
    let exit = timeout(LONG, process.exited()).await.unwrap();
    assert_eq!((exit.code, exit.signal), (None, Some(9)));
    assert_eq!(exit.to_string(), "was ended by signal 9 (SIGKILL)");
}

#[tokio::test]
async fn waiting_for_the_exit_can_be_given_up_and_begun_again() {
    let (mut process, input, mut output) = start(&shell("echo ready; read line; exit 5"));
    assert_eq!(line(&mut output).await, "ready");
    for _ in 0..100 {
        tokio::select! {
            biased;
            exit = process.exited() => panic!("it {exit}"),
            () = tokio::task::yield_now() => {}
        }
    }
    drop(input);
    let exit = timeout(LONG, process.exited()).await.unwrap();
    assert_eq!(exit.code, Some(5));
}

#[tokio::test]
async fn megabytes_on_stderr_hold_nobody_up_and_are_not_kept() {
    let script = "head -c 16000000 /dev/zero | tr '\\0' x >&2; echo >&2; yes words | \
                  head -c 7999998 >&2; printf 'last \\033[31mwords\\377' >&2; echo done; read line";
    let (mut process, input, mut output) = start(&shell(script));
    assert_eq!(line(&mut output).await, "done");
    drop(input);
    timeout(LONG, process.exited()).await.unwrap();
    let tail = process.stderr().tail();
    assert!(
        tail.ends_with("words\nwords\nlast \\x1b[31mwords\\xff"),
        "{tail}"
    );
    assert!(tail.len() <= 4096);
    assert!(process.stderr().lines_dropped() > 1_000_000);
}

#[tokio::test]
async fn a_line_on_stderr_that_never_ends_is_cut() {
    let script = "head -c 16000000 /dev/zero | tr '\\0' x >&2; echo done; read line";
    let (process, input, mut output) = start(&shell(script));
    assert_eq!(line(&mut output).await, "done");
    drop(input);
    let stderr = process.stderr();
    process.stop(Patience::default()).await;
    // It outlives the server.
    let tail = stderr.tail();
    assert!(tail.starts_with("xxxx") && tail.ends_with('…'));
    assert!(tail.len() <= 4096);
}

#[tokio::test]
async fn every_line_on_stderr_is_told_to_whoever_asked() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let hook = Arc::clone(&told);
    let spec = shell("seq 1 20000 >&2; printf '\\007end' >&2; sleep 1000 & read line")
        .on_stderr_line(move |line| hook.lock().unwrap().push(line.to_owned()));
    let (process, input, _output) = start(&spec);
    drop(input);
    process.stop(Patience::default()).await;
    let told = told.lock().unwrap();
    let mut expected: Vec<String> = (1..=20_000).map(|number| number.to_string()).collect();
    expected.push("\\x07end".to_owned());
    assert!(*told == expected, "{} lines, {:?}", told.len(), told.last());
}
