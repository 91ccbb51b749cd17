//! What becomes of servers when the host is killed, and of a host that has had many.
//!
//! The host is this test binary again, told by a variable what to do.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use switchboard_transport::process::{Patience, Process};

use crate::process::{is_alive, number, shell, start, state, wait_until, wait_until_gone};

/// Tells the process what to do: `hold` servers or `cycle`.
const PART: &str = "SWITCHBOARD_TEST_HOST";

/// Not a test by itself: what the others start.
#[test]
#[expect(clippy::exit, reason = "the harness is not to print behind it")]
fn the_host() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match part.as_str() {
        "hold" => runtime.unwrap().block_on(hold()),
        _ => runtime.unwrap().block_on(cycle()),
    }
    std::process::exit(0);
}

/// Starts servers, two processes each, as it is told by lines, and prints their numbers.
#[expect(clippy::exit, reason = "a host may end so, and drops nothing then")]
async fn hold() {
    let mut held = Vec::new();
    for line in std::io::stdin().lines() {
        let script = match line.unwrap().as_str() {
            // Deaf to everything but `SIGKILL`.
            "stubborn" => "trap '' TERM HUP; sleep 1000 & echo $!; while :; do sleep 1000; done",
            // Ends with its input, and what it started does not.
            "obedient" => "sleep 1000 & echo $!; read line",
            "exit" => std::process::exit(0),
            _ => {
                held.clear();
                say("cleared");
                continue;
            }
        };
        let (process, input, mut output) = start(&shell(script));
        let helper = number(&mut output).await;
        say(&format!("servers {} {helper}", process.id()));
        held.push((process, input, output));
    }
}

#[expect(clippy::print_stdout, reason = "how the host tells the test")]
fn say(line: &str) {
    // In front of it the harness may have said something without a line feed.
    println!("\n{line}");
    std::io::stdout().flush().unwrap();
}

/// Starts and ends servers in every way, and looks whether anything has grown.
async fn cycle() {
    let mut first = None;
    for round in 0..200 {
        // Every fifth leaves somebody behind.
        let script = match round % 5 {
            0 => "sleep 1000 & echo $!; read line",
            _ => "echo $$; read line",
        };
        let (process, input, mut output) = start(&shell(script));
        let helper = number(&mut output).await;
        drop(input);
        match round % 3 {
            0 => drop(process),
            _ => drop(process.stop(Patience::default()).await),
        }
        drop(output);
        wait_until_gone(&[helper]);
        assert!(Process::spawn(&shell("true").directory("/nowhere")).is_err());
        // The first rounds open what the runtime keeps.
        if round == 5 {
            first = Some(counts().await);
        }
    }
    let (first, last) = (first.unwrap(), counts().await);
    assert_eq!(first, last, "descriptors, threads, children");
    assert_eq!(last.2, 0, "children");
    say("flat");
}

/// Descriptors, threads, and children of whatever state.
async fn counts() -> (usize, usize, usize) {
    // After a drop the task that reads stderr ends when it is next run.
    tokio::task::yield_now().await;
    let entries = |path: &str| std::fs::read_dir(path).unwrap().count();
    let children = children_of(std::process::id()).len();
    (
        entries("/proc/self/fd"),
        entries("/proc/self/task"),
        children,
    )
}

fn children_of(parent: u32) -> Vec<u32> {
    let is_child = |process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(") ").map(|(_, fields)| fields);
        let field = fields.and_then(|fields| fields.split(' ').nth(1)?.parse().ok());
        field == Some(parent)
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.filter_map(number).filter(is_child).collect()
}

/// The watchers of a host.
fn watchers_of(host: u32) -> Vec<u32> {
    let is_watcher = |process: &u32| {
        let command = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        command.ends_with(b"switchboard-watcher\0")
    };
    children_of(host).into_iter().filter(is_watcher).collect()
}

struct Host {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Host {
    fn start(part: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process_host::the_host", "--nocapture"])
            .env(PART, part)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: process.stdin.take().unwrap(),
            output: BufReader::new(process.stdout.take().unwrap()),
            process,
        }
    }

    /// Has it start a server, and gives the processes of that.
    fn servers(&mut self, kind: &str) -> Vec<u32> {
        writeln!(self.input, "{kind}").unwrap();
        let line = self.heard("servers ");
        line.split(' ')
            .map(|number| number.parse().unwrap())
            .collect()
    }

    /// The rest of the line that begins so.
    fn heard(&mut self, begin: &str) -> String {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if let Some(rest) = line.strip_prefix(begin) {
                return rest.trim_end().to_owned();
            }
            line.clear();
        }
        panic!("it did not say {begin:?}");
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn signal(process: u32, name: &str) {
    let sent = Command::new("kill")
        .args(["-s", name, &process.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

#[test]
fn a_host_that_is_killed_leaves_nobody() {
    let mut host = Host::start("hold");
    let mut all = host.servers("stubborn");
    all.extend(host.servers("obedient"));
    let watchers = watchers_of(host.process.id());
    assert_eq!(watchers.len(), 1);
    assert!(all.iter().all(|process| is_alive(*process)));
    host.kill();
    all.extend(watchers);
    wait_until_gone(&all);
}

#[test]
fn a_host_that_exits_with_servers_in_hand_leaves_nobody() {
    let mut host = Host::start("hold");
    let mut all = host.servers("obedient");
    all.extend(watchers_of(host.process.id()));
    writeln!(host.input, "exit").unwrap();
    host.process.wait().unwrap();
    wait_until_gone(&all);
}

#[test]
fn a_watcher_that_was_killed_is_replaced_and_knows_the_old_servers() {
    let mut host = Host::start("hold");
    let id = host.process.id();
    let mut all = host.servers("obedient");
    let first = watchers_of(id);
    signal(first[0], "KILL");
    wait_until("it is killed", || !is_alive(first[0]));
    all.extend(host.servers("obedient"));
    let second = watchers_of(id);
    assert_eq!(second.len(), 1);
    assert_ne!(first, second);
    host.kill();
    wait_until_gone(&all);
    wait_until_gone(&second);
}

#[test]
fn a_watcher_that_was_suspended_has_missed_nothing() {
    let mut host = Host::start("hold");
    let id = host.process.id();
    let mut all = host.servers("obedient");
    signal(watchers_of(id)[0], "STOP");
    // It reads nothing, and what is written waits in the pipe.
    all.extend(host.servers("obedient"));
    let watcher = watchers_of(id)[0];
    assert_eq!(state(watcher), Some('T'));
    host.kill();
    signal(watcher, "CONT");
    wait_until_gone(&all);
    wait_until_gone(&[watcher]);
}

#[test]
fn a_watcher_is_deaf_to_the_keys_of_a_terminal_and_has_a_group_of_its_own() {
    let mut host = Host::start("hold");
    let all = host.servers("obedient");
    let watcher = watchers_of(host.process.id())[0];
    let stat = std::fs::read_to_string(format!("/proc/{watcher}/stat")).unwrap();
    let group = stat.rsplit_once(") ").unwrap().1.split(' ').nth(2).unwrap();
    assert_eq!(group, watcher.to_string());
    // HUP, INT, QUIT and TERM.
    const IGNORED: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 14;
    wait_until("it ignores the signals", || {
        let status = std::fs::read_to_string(format!("/proc/{watcher}/status")).unwrap();
        let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let set = u64::from_str_radix(set.unwrap().trim(), 16).unwrap();
        set & IGNORED == IGNORED
    });
    host.kill();
    wait_until_gone(&all);
}

#[test]
fn with_the_last_server_the_watcher_ends() {
    let mut host = Host::start("hold");
    let mut all = host.servers("obedient");
    all.extend(host.servers("stubborn"));
    writeln!(host.input, "clear").unwrap();
    host.heard("cleared");
    assert!(children_of(host.process.id()).is_empty());
    wait_until_gone(&all);
    host.kill();
}

#[test]
fn many_servers_leave_nothing_behind() {
    let mut host = Host::start("cycle");
    host.heard("flat");
    assert!(host.process.wait().unwrap().success());
}
