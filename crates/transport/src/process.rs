//! Servers that are started as child processes.
//!
//! [`Process::spawn`] starts one and gives its streams, which [`lines`](crate::lines) makes
//! messages of. Its stderr is always read and the last of it kept. Its exit is noticed at once,
//! also when something that it has started holds the pipes open.
//!
//! Nobody is left: a server leads a process group of its own, and the whole group is ended with
//! it, politely by [`Process::stop`], at once when a [`Process`] is dropped, and by a watcher
//! when this process is killed. What leaves the group by itself, as a daemon does, is not found.
//! On Windows only the server itself is ended; what it has started is not.
//!
//! # What a server gets
//! Its three streams; the few variables that say who the person is, where programs and files
//! are and how text looks; and what [`ProcessSpec`] adds. Descriptors that Rust has opened are
//! closed for it. One that this process has inherited without that mark is passed on, for
//! nothing short of `unsafe` would close it.
//!
//! Specification: basic/transports, stdio; basic/lifecycle, shutdown.

mod environment;
mod error;
mod exit;
mod lookup;
#[cfg(unix)]
mod members;
#[cfg(not(unix))]
mod other;
mod spec;
mod stderr;
mod streams;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
mod unreaped;
#[cfg(unix)]
mod watcher;

use std::ffi::OsStr;
use std::future::poll_fn;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{sleep, timeout};

pub use error::{Searched, SpawnError};
pub use exit::{Exit, Manner, Patience, Stopped};
pub use spec::ProcessSpec;
pub use stderr::Stderr;
pub use streams::{Input, Output};

#[cfg(not(unix))]
use other::Group;
#[cfg(unix)]
use unix::Group;

/// A server that was started, and everything that it has started.
///
/// ```text
///  spawn ──▶ running ── exits by itself ──▶ ended (known to `exited`, still ours)
///               │                             │
///               └────────── stop ─────────────┴──▶ gone, nobody left
///               └────────── drop ─────────────┴──▶ killed, nobody left
/// ```
///
/// When it is dropped, the whole group is killed at once, and the drop waits a moment, a few
/// milliseconds as a rule, for the system to end the server. That needs no runtime. Prefer
/// [`stop`](Self::stop): a server that is killed saves nothing.
///
/// A server that has ended by itself remains an entry in the table of processes until it is
/// stopped or dropped, because only then is the number of its group surely its own.
#[derive(Debug)]
pub struct Process {
    group: Group,
    stderr: Stderr,
    is_released: bool,
}

impl Process {
    /// Starts a server.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use switchboard_transport::process::{Patience, Process, ProcessSpec};
    ///
    /// let (process, input, _output) = Process::spawn(&ProcessSpec::new("cat"))?;
    /// drop(input);
    /// let stopped = process.stop(Patience::default()).await;
    /// assert!(stopped.exit.is_some_and(|exit| exit.is_success()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The input is the server's stdin and the output its stdout. Both are independent of this
    /// value; drop the input to tell the server that it is over.
    ///
    /// Like any start of a process it blocks for about a millisecond.
    ///
    /// # Errors
    /// Nothing runs then; the error says what was looked for and where.
    ///
    /// # Panics
    /// When the runtime is built without I/O.
    pub fn spawn(spec: &ProcessSpec) -> Result<(Self, Input, Output), SpawnError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(SpawnError::NoRuntime);
        }
        let (path, command) = prepare(spec)?;
        let stderr = Stderr::new(spec.hook.clone());
        let (group, streams) = Group::start(command, stderr.clone())
            .map_err(|source| SpawnError::Refused { path, source })?;
        // Dropped and killed if its streams cannot be used.
        let mut process = Self {
            group,
            stderr,
            is_released: false,
        };
        let streams = process.group.connect(streams);
        let (input, output) = streams.map_err(SpawnError::Streams)?;
        Ok((process, Input(input), Output(output)))
    }

    /// The number of the process, which on Unix is that of its group too.
    pub fn id(&self) -> u32 {
        self.group.id()
    }

    /// Would it be ended if this process were killed? Not without `/bin/sh`, nor on Windows.
    pub fn is_watched(&self) -> bool {
        self.group.is_watched()
    }

    /// What it has written to stderr.
    pub fn stderr(&self) -> Stderr {
        self.stderr.clone()
    }

    /// Waits until the server ends by itself. Asked again, it says the same again.
    ///
    /// What it wrote to stderr before is in [`stderr`](Self::stderr) by then. Others of its
    /// group may be alive and are for [`stop`](Self::stop).
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn exited(&mut self) -> Exit {
        poll_fn(|cx| self.poll_exit(cx)).await
    }

    /// Like [`exited`](Self::exited), for whoever polls by hand. Before the exit it is cheap.
    pub fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        self.group.poll_exit(cx)
    }

    /// Ends the server and whoever else is in its group. Drop the [`Input`] first.
    ///
    /// It may take its time to obey the end of its input, without any signal. Then the group is
    /// told to end, and then killed. When the server has obeyed and others are left, these are
    /// told a tenth of a second later. The whole takes no longer than the three times of the
    /// patience together, and that tenth.
    ///
    /// # Cancel safety
    /// When the future is dropped, the group is killed.
    pub async fn stop(mut self, patience: Patience) -> Stopped {
        let mut manner = Manner::Obeyed;
        let has_obeyed = timeout(patience.obey, self.exited()).await.is_ok();
        let others = patience.obey.min(OTHERS_PATIENCE);
        if !has_obeyed || timeout(others, self.gone()).await.is_err() {
            manner = Manner::Terminated;
            self.group.terminate();
            if timeout(patience.terminate, self.gone()).await.is_err() {
                manner = Manner::Killed;
                self.group.kill();
                let _ = timeout(patience.reap, self.gone()).await;
            }
        }
        let exit = self.release(&[]);
        if let Some(reader) = self.group.abandon_stderr() {
            // It ends at once, unless the hook holds it up.
            let _ = timeout(patience.reap, reader).await;
        }
        self.stderr.end();
        self.stderr.deliver();
        Stopped { exit, manner }
    }

    /// Waits until nobody of the group is alive.
    async fn gone(&mut self) {
        self.exited().await;
        // The system tells of the end of a child, not of that of a grandchild.
        let mut pause = MEMBERS_PAUSE;
        while self.group.has_others() != Some(false) {
            sleep(pause).await;
            pause = (pause * 2).min(MEMBERS_PAUSE_MAX);
        }
    }

    fn release(&mut self, patience: &[Duration]) -> Option<Exit> {
        self.is_released = true;
        self.group.release(patience)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.is_released {
            self.group.kill();
            self.release(DROP_PATIENCE);
        }
        self.group.abandon_stderr();
    }
}

/// The file to run, and how.
fn prepare(spec: &ProcessSpec) -> Result<(PathBuf, Command), SpawnError> {
    let directory = spec.directory.clone().unwrap_or_else(|| PathBuf::from("."));
    let base = std::path::absolute(&directory)
        .and_then(|base| match base.metadata()?.is_dir() {
            true => Ok(base),
            false => Err(io::ErrorKind::NotADirectory.into()),
        })
        .map_err(|source| SpawnError::Directory { directory, source })?;
    let environment = environment::of(spec);
    let variable = |name: &str| {
        let is_same = |other: &OsStr| match cfg!(windows) {
            true => other.eq_ignore_ascii_case(name),
            false => other == name,
        };
        let mut all = environment.iter();
        all.find_map(|(other, value)| is_same(other).then_some(value.as_os_str()))
    };
    let extensions = cfg!(windows).then(|| variable("PATHEXT").unwrap_or(OsStr::new(EXTENSIONS)));
    let path = lookup::find(&spec.program, &base, variable("PATH"), extensions)?;
    let mut command = Command::new(&path);
    // As a shell does it: some programs go by the name that they were called.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::arg0(&mut command, &spec.program);
    command.args(&spec.arguments).env_clear().envs(&environment);
    if spec.directory.is_some() {
        command.current_dir(base);
    }
    Ok((path, command))
}

/// What a server has started ends a little after it, if it does so by itself.
const OTHERS_PATIENCE: Duration = Duration::from_millis(100);

/// How often it is looked whether a grandchild has ended, at first and later.
const MEMBERS_PAUSE: Duration = Duration::from_millis(1);
const MEMBERS_PAUSE_MAX: Duration = Duration::from_millis(20);

/// How long a drop waits for the system in all. One that takes longer is reaped with a later
/// server.
const DROP_PATIENCE: &[Duration] = &[
    Duration::from_micros(200),
    Duration::from_micros(800),
    Duration::from_millis(2),
    Duration::from_millis(5),
    Duration::from_millis(12),
    Duration::from_millis(30),
    Duration::from_millis(50),
];

/// What Windows has by itself.
const EXTENSIONS: &str = ".COM;.EXE;.BAT;.CMD";
