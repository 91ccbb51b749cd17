//! The process and the machine that we run on.

use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use switchboard_auth::Secret;

use super::Surroundings;

/// The environment of this process and the files and programs of this machine. It has no
/// keyring: whoever has one wraps this.
#[derive(Clone, Debug)]
pub struct System {
    patience: Duration,
}

impl System {
    /// Programs have 30 seconds.
    pub const fn new() -> Self {
        Self { patience: PATIENCE }
    }

    /// How long a program may take before it is killed.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

impl Default for System {
    fn default() -> Self {
        Self::new()
    }
}

impl Surroundings for System {
    fn variable(&self, name: &str) -> Option<Secret> {
        // The standard library panics at such names.
        if name.is_empty() || name.contains(['=', '\0']) {
            return None;
        }
        env::var(name).ok().map(Secret::new)
    }

    fn variable_names(&self) -> Vec<String> {
        let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        names.collect()
    }

    /// A regular file of at most 1 MiB.
    fn file(&self, path: &Path) -> io::Result<Secret> {
        // A pipe would be waited for, and a device has no end.
        if !path.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        text(read(File::open(path)?)?)
    }

    /// It has no input, and what it says about errors is not seen. What it has started itself
    /// is not ended with it.
    fn command(&self, words: &[String]) -> io::Result<Secret> {
        let Some((program, arguments)) = words.split_first() else {
            return Err(io::Error::other("no program is named"));
        };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let printed = match child.stdout.take() {
            Some(stdout) => self.watch(&mut child, stdout),
            None => Err(io::Error::other("it has no output")),
        };
        if printed.is_err() {
            let _ = child.kill();
            let _ = child.wait();
        }
        text(printed?)
    }

    fn keyring(&self, _name: &str) -> io::Result<Option<Secret>> {
        let reason = "this program has no keyring";
        Err(io::Error::new(io::ErrorKind::Unsupported, reason))
    }

    fn home(&self) -> Option<PathBuf> {
        env::home_dir().filter(|home| !home.as_os_str().is_empty())
    }
}

impl System {
    /// Reads to the end and waits for the end, but not for ever.
    fn watch(&self, child: &mut Child, stdout: ChildStdout) -> io::Result<Vec<u8>> {
        let deadline = Instant::now().checked_add(self.patience);
        let remaining = || match deadline {
            Some(deadline) => deadline.saturating_duration_since(Instant::now()),
            None => self.patience,
        };
        let late = || {
            let reason = format!("it did not end within {:?}", self.patience);
            io::Error::new(io::ErrorKind::TimedOut, reason)
        };
        // Reading cannot be given up, so it has a thread, which ends with the pipe.
        let (sender, receiver) = sync_channel(1);
        thread::Builder::new()
            .name("variable".to_owned())
            .spawn(move || sender.send(read(stdout)))?;
        let bytes = match receiver.recv_timeout(remaining()) {
            Ok(bytes) => bytes?,
            Err(RecvTimeoutError::Timeout) => return Err(late()),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("reading from it was interrupted"));
            }
        };
        loop {
            match child.try_wait()? {
                Some(status) if status.success() => return Ok(bytes),
                Some(status) => return Err(io::Error::other(format!("it ended with {status}"))),
                None if remaining().is_zero() => return Err(late()),
                // It has closed its output and is about to end.
                None => thread::sleep(PAUSE.min(remaining())),
            }
        }
    }
}

fn read(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(LARGEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > LARGEST {
        true => Err(io::Error::other("it is longer than 1 MiB")),
        false => Ok(bytes),
    }
}

fn text(bytes: Vec<u8>) -> io::Result<Secret> {
    // The error of the standard library holds the bytes.
    let text = String::from_utf8(bytes).map_err(|_| io::Error::other("it is not text"))?;
    Ok(Secret::new(text))
}

// A program may ask a vault, and that a person.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(2);
const LARGEST: u64 = 1024 * 1024;
