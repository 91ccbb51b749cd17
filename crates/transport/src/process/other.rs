//! A process where there are no groups of Unix, which is Windows.
//!
//! **The gap**: what the server starts is not ended with it. A job object would do that, but the
//! standard library and tokio have none, and calling the system takes `unsafe`, which this
//! crate forbids. A server that is stopped is killed by itself, after the time to obey; one that
//! reads its input to the end, as the protocol asks, ends what it has started.

use std::io;
use std::process::{Command, Stdio};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

use super::stderr::AT_ONCE;
use super::{Exit, Stderr};

/// What the standard input of the server is to us.
pub(super) type Input = ChildStdin;

/// What the standard output of the server is to us.
pub(super) type Output = ChildStdout;

/// A server that was started and not yet let go.
#[derive(Debug)]
pub(super) struct Group {
    leader: Child,
    id: u32,
    exit: Option<Exit>,
    stderr: Stderr,
    reader: Option<JoinHandle<()>>,
}

impl Group {
    pub(super) fn start(command: Command, stderr: Stderr) -> io::Result<(Self, Streams)> {
        let mut leader = tokio::process::Command::from(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let streams = Streams {
            input: leader.stdin.take(),
            output: leader.stdout.take(),
            stderr: leader.stderr.take(),
        };
        let group = Self {
            id: leader.id().unwrap_or_default(),
            leader,
            exit: None,
            stderr,
            reader: None,
        };
        Ok((group, streams))
    }

    pub(super) fn connect(&mut self, streams: Streams) -> io::Result<(Input, Output)> {
        let missing = || io::Error::from(io::ErrorKind::NotConnected);
        let pipe = streams.stderr.ok_or_else(missing)?;
        self.reader = Some(tokio::spawn(read(pipe, self.stderr.clone())));
        let input = streams.input.ok_or_else(missing)?;
        Ok((input, streams.output.ok_or_else(missing)?))
    }

    pub(super) const fn id(&self) -> u32 {
        self.id
    }

    pub(super) const fn is_watched(&self) -> bool {
        false
    }

    pub(super) fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        if let Some(exit) = self.exit {
            return Poll::Ready(exit);
        }
        // The future holds nothing between two polls, so it can be made anew for each.
        let status = std::task::ready!(std::pin::pin!(self.leader.wait()).poll(cx));
        let code = status.ok().and_then(|status| status.code());
        Poll::Ready(*self.exit.insert(Exit { code, signal: None }))
    }

    pub(super) const fn has_others(&self) -> Option<bool> {
        Some(false)
    }

    /// There is no way to ask it.
    pub(super) fn terminate(&mut self) {
        self.kill();
    }

    pub(super) fn kill(&mut self) {
        let _ = self.leader.start_kill();
    }

    pub(super) fn release(&mut self, _patience: &[Duration]) -> Option<Exit> {
        self.exit
    }

    pub(super) fn abandon_stderr(&mut self) -> Option<JoinHandle<()>> {
        self.reader.take().inspect(JoinHandle::abort)
    }
}

/// The ends of the pipes that are ours.
#[derive(Debug)]
pub(super) struct Streams {
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

async fn read(mut pipe: ChildStderr, stderr: Stderr) {
    let mut buffer = vec![0; AT_ONCE];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        stderr.push(buffer.get(..count).unwrap_or_default());
        stderr.deliver();
    }
    stderr.end();
    stderr.deliver();
}
