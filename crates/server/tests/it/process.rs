//! A real process on stdio: how it ends.
//!
//! The process is this test binary again, told by a variable to be the server.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::{Witness, server};
use crate::pipe_client::request;

/// Tells the process to be the server.
const PART: &str = "SWITCHBOARD_TEST_SERVER";

/// Not a test by itself: what the others start.
#[test]
#[expect(clippy::exit, reason = "the harness would print behind the answers")]
fn the_process() {
    if std::env::var(PART).is_err() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let witness = Witness::new();
    let outcome = runtime.unwrap().block_on(server(&witness).serve_stdio());
    std::process::exit(i32::from(outcome.is_err()));
}

struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Process {
    /// Starts it and does the handshake.
    fn open() -> Self {
        // With two threads the harness prints no name before the test has ended.
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "process::the_process",
                "--test-threads=2",
                "--nocapture",
            ])
            .env(PART, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut process = Self {
            child,
            stdin,
            stdout,
        };
        // What the harness says before.
        while process.line().trim() != "running 1 test" {}
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}});
        process.send(&request(1, "initialize", params));
        assert_eq!(process.next()["result"]["protocolVersion"], "2025-11-25");
        process.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        process
    }

    /// Has a call in flight that does not end by itself.
    fn with_a_call_in_flight() -> Self {
        let mut process = Self::open();
        process.send(&request(2, "tools/call", json!({"name": "wait"})));
        process.send(&request(
            3,
            "tools/call",
            json!({"name": "add", "arguments": {"a": 1, "b": 2}}),
        ));
        assert_eq!(process.next()["id"], 3);
        process
    }

    fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    fn ends_within(self, limit: Duration) -> ExitStatus {
        let Self {
            child,
            stdin,
            stdout,
        } = self;
        let status = ends_within(child, limit);
        // Until then nobody had closed them.
        drop((stdin, stdout));
        status
    }
}

/// Waits for the end of a process; one that goes on for longer is killed.
fn ends_within(mut child: Child, limit: Duration) -> ExitStatus {
    let id = child.id().to_string();
    let (sender, ended) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait()));
    match ended.recv_timeout(limit) {
        Ok(status) => status.unwrap(),
        Err(_) => {
            let _ = Command::new("kill").args(["-KILL", &id]).status();
            panic!("it is still there after {limit:?}");
        }
    }
}

#[test]
fn the_end_of_input_with_a_call_in_flight_ends_the_process_within_5_seconds() {
    let mut process = Process::with_a_call_in_flight();
    drop(process.stdin.take());
    assert!(process.ends_within(Duration::from_secs(5)).success());
}

#[test]
fn the_end_of_input_without_calls_ends_the_process_at_once() {
    let mut process = Process::open();
    drop(process.stdin.take());
    assert!(process.ends_within(Duration::from_secs(2)).success());
}

#[test]
fn sigterm_during_calls_ends_the_process_within_5_seconds() {
    let process = Process::with_a_call_in_flight();
    let id = process.child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    assert!(process.ends_within(Duration::from_secs(5)).success());
}

#[test]
fn a_client_that_reads_no_more_and_is_gone_ends_the_process() {
    let mut process = Process::with_a_call_in_flight();
    let stdin = process.stdin.take();
    let Process { child, stdout, .. } = process;
    drop((stdin, stdout));
    ends_within(child, Duration::from_secs(5));
}
