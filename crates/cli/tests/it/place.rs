//! A folder with a configuration, and the binary run in it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

/// A folder that is gone after the test. Nothing of the user's own is seen in it.
pub(crate) struct Place {
    folder: PathBuf,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("switchboard-cli-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self { folder }
    }

    /// One with these servers in its `mcp.json`.
    pub(crate) fn with(servers: Value) -> Self {
        let place = Self::new();
        place.write("mcp.json", &json!({"mcpServers": servers}).to_string());
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// The server that is built in, with a file in this place.
    pub(crate) fn tasks(&self) -> Value {
        let file = self.path("tasks.sqlite");
        json!({"command": BINARY, "args": ["demo", "serve", "--db", file.to_str().unwrap()]})
    }

    /// The command, to be started.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command
            .args(words)
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            // Whether files are agreed to is another test's matter.
            .env("SWITCHBOARD_TRUST", "1")
            .env("HOME", &self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the binary with these words.
    pub(crate) fn run(&self, words: &[&str]) -> Ended {
        self.command(words).output().unwrap().into()
    }

    /// The same, with something on standard input.
    pub(crate) fn run_with(&self, words: &[&str], input: &str) -> Ended {
        let mut child = self.command(words).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        child.wait_with_output().unwrap().into()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ended {
    /// It was done, and nothing was said beside it.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!((self.code, &*self.stderr), (0, ""), "{self:?}");
        self.stdout
    }

    /// It ended with this number, with nothing on standard output.
    #[track_caller]
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!((self.code, &*self.stdout), (code, ""), "{self:?}");
        self.stderr
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The last line on standard error.
    #[track_caller]
    pub(crate) fn last_line(&self) -> Value {
        let line = self.stderr.lines().last().unwrap_or_default();
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_switchboard");
