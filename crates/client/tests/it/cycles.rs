//! Connecting, calling and closing again and again leaves nothing behind.
//!
//! In a process of its own, where nobody else opens files or starts tasks.
//!
//! Fault matrix: 51.

use std::process::Command;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use switchboard_testkit::faulty::{Eras, Role};

use crate::case::alive;
use crate::server::{MOMENT, On, Server};

#[test]
fn two_hundred_cycles_leave_nothing_behind_on_stdio() {
    in_own_process("stdio");
}

#[test]
fn two_hundred_cycles_leave_nothing_behind_over_http() {
    in_own_process("http");
}

/// Not a test by itself: what the others start.
#[test]
fn the_cycles() {
    let on = match std::env::var(VARIABLE).as_deref() {
        Ok("stdio") => On::Stdio,
        Ok("http") => On::Http,
        _ => return,
    };
    // How many threads for blocking work there are is a matter of luck, so that those which have
    // nothing to do go at once.
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_keep_alive(Duration::ZERO)
        .enable_all()
        .build()
        .unwrap();
    // What is made once and kept is made by the first ones.
    let threads = Left::now(&runtime, usize::MAX).threads;
    runtime.block_on(cycles(on, 20));
    let before = Left::now(&runtime, threads);
    runtime.block_on(cycles(on, 200));
    let after = Left::now(&runtime, before.threads);
    assert_eq!(after.descriptors, before.descriptors, "{on:?}");
    assert_eq!(after.tasks, before.tasks, "{on:?}");
    assert_eq!(after.children, before.children, "{on:?}");
    assert!(after.threads <= before.threads, "{before:?} {after:?}");
    // 200 clients that were kept would be more than this.
    assert!(
        after.memory < before.memory + 4 * 1024,
        "{before:?} {after:?}"
    );
}

async fn cycles(on: On, count: usize) {
    let mut running = tokio::task::JoinSet::new();
    for number in 0..count {
        if running.len() == TOGETHER {
            let ended = running.join_next().await;
            ended.expect("some run").expect("a cycle holds");
        }
        let eras = [Eras::Legacy, Eras::Modern][number % 2];
        let is_dropped = number % 4 > 1;
        running.spawn(async move {
            let server = Server::start(on, Role::new("honest").eras(eras));
            let client = server.connect().await.expect("it opens");
            alive(&client).await.expect("it answers");
            match is_dropped {
                true => {
                    drop(client);
                    server.check_goes().expect("it goes");
                }
                false => {
                    client.close().await;
                    server.check_gone().expect("it is gone");
                }
            }
        });
    }
    running.join_all().await;
}

/// What a process has.
#[derive(Debug)]
struct Left {
    descriptors: usize,
    threads: usize,
    children: String,
    tasks: usize,
    /// In KiB.
    memory: u64,
}

impl Left {
    /// What there is when tasks and threads that were told to end had a moment for it: all tasks,
    /// and of the threads all but so many.
    fn now(runtime: &Runtime, threads: usize) -> Self {
        let metrics = runtime.metrics();
        let start = Instant::now();
        let is_there = || metrics.num_alive_tasks() > 0 || count("/proc/self/task") > threads;
        while is_there() && start.elapsed() < MOMENT {
            runtime.block_on(tokio::task::yield_now());
        }
        let status = std::fs::read_to_string("/proc/self/status").expect("it is there");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory = line.and_then(|line| line.split_whitespace().next());
        let id = std::process::id();
        let children = format!("/proc/self/task/{id}/children");
        Self {
            descriptors: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            children: std::fs::read_to_string(children).unwrap_or_default(),
            tasks: metrics.num_alive_tasks(),
            memory: memory.and_then(|word| word.parse().ok()).expect("a number"),
        }
    }
}

/// How many entries a folder has.
fn count(folder: &str) -> usize {
    std::fs::read_dir(folder).expect("it is there").count()
}

fn in_own_process(on: &str) {
    let binary = std::env::current_exe().expect("a test knows its own binary");
    let output = Command::new(binary)
        .args(["--exact", "cycles::the_cycles", "--nocapture"])
        .env(VARIABLE, on)
        .output()
        .expect("it can be started");
    let words = String::from_utf8_lossy(&output.stderr);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{words}");
    assert!(told.contains("1 passed"), "{told}");
}

const VARIABLE: &str = "SWITCHBOARD_CYCLES";

/// How many cycles run beside each other.
const TOGETHER: usize = 4;
