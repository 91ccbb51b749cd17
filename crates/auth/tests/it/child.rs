//! This test binary once more: a process of its own, which is told what to do.
//!
//! What runs there is a test that does nothing unless it finds its variables.

use std::env;
use std::ffi::OsStr;
use std::io::Write as _;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{self, ChildStdin, ChildStdout, Command};

/// A process that ends with this value at the latest.
pub(crate) struct Child {
    process: process::Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Child {
    /// Runs this test, with these variables, and waits for nothing.
    pub(crate) fn start(test: &str, variables: &[(&str, &OsStr)]) -> Self {
        let mut process = Command::new(env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self {
            input: process.stdin.take().unwrap(),
            output: BufReader::new(process.stdout.take().unwrap()).lines(),
            process,
        }
    }

    /// Tells it a word.
    pub(crate) async fn tell(&mut self, word: &str) {
        let line = format!("{word}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    /// Waits until it says something, which is this word.
    pub(crate) async fn expect(&mut self, word: &str) {
        while let Some(line) = self.output.next_line().await.unwrap() {
            if let Some(said) = line.strip_prefix(MARK) {
                assert_eq!(said, word);
                return;
            }
        }
        panic!("it ended before it said {word}");
    }

    /// With SIGKILL.
    pub(crate) async fn kill(&mut self) {
        self.process.kill().await.unwrap();
    }
}

/// Waits until each of them says this word.
pub(crate) async fn expect_all(children: &mut [Child], word: &str) {
    for child in children {
        child.expect(word).await;
    }
}

/// Tells each of them a word.
pub(crate) async fn tell_all(children: &mut [Child], word: &str) {
    for child in children {
        child.tell(word).await;
    }
}

/// In the process: says a word to whoever started it.
pub(crate) fn say(word: &str) {
    let mut output = std::io::stdout().lock();
    // The test harness may have begun the line.
    writeln!(output, "\n{MARK}{word}").unwrap();
    output.flush().unwrap();
}

const MARK: &str = "child: ";
