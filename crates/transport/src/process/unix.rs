//! A process and its group, as Unix knows them.
//!
//! The server leads a group of its own, and what it starts is in it unless that leaves by
//! itself (`setsid`), which only a daemon does.
//!
//! # Whose number it is
//! The number of a group is free again once its leader was waited for and nobody is left in it;
//! then it may be the number of somebody else. So the exit of the leader is noticed without
//! waiting for it (`waitid` with `WNOWAIT`), every signal is sent while it is still a zombie, and
//! only when no further signal will be sent is it reaped. Whoever takes its status from us (a
//! `waitpid(-1)` elsewhere in the process, `SIGCHLD` ignored) ends our right to signal; then
//! nothing is sent.
//!
//! A fork of this process that never calls `exec` has copies of everything. It is not the
//! parent of the server, and neither signals nor reaps.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::process::{self as system, Pid, Signal, WaitId, WaitIdOptions};
use tokio::net::unix::pipe;
use tokio::signal::unix::{Signal as Arrivals, SignalKind, signal};
use tokio::task::JoinHandle;

use super::stderr::AT_ONCE;
use super::{Exit, Stderr, members, unreaped, watcher};
use crate::stdio::wide::Wide;

/// What the standard input of the server is to us.
pub(super) type Input = Wide<pipe::Sender>;

/// What the standard output of the server is to us.
pub(super) type Output = Wide<pipe::Receiver>;

/// A server that was started and not yet let go, and the group that it leads.
#[derive(Debug)]
pub(super) struct Group {
    leader: Child,
    id: Pid,
    /// Who has started it: a fork of ours has not.
    host: u32,
    state: State,
    notice: Option<Notice>,
    is_watched: bool,
    /// Who else was seen in the group.
    others: Vec<u32>,
    stderr: Stderr,
    pipe: Option<Arc<pipe::Receiver>>,
    reader: Option<JoinHandle<()>>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Running,
    /// Ended, and a zombie that keeps the number of the group ours.
    Ended(Exit),
    /// Ended, and the number is no longer ours.
    Gone(Exit),
}

/// By what the exit is noticed.
#[derive(Debug)]
enum Notice {
    /// A descriptor that is readable from the exit on. It is no pipe and nothing is read from
    /// it, but what tokio does to wait for a pipe is what this needs, and it has nothing for
    /// other descriptors that is not `unsafe`.
    #[cfg(target_os = "linux")]
    Descriptor(pipe::Receiver),
    /// The arrival of `SIGCHLD`, which may be that of another child; `false` before the first
    /// look, for it may have come before we listened.
    Signal(Arrivals, bool),
}

impl Group {
    /// Starts the command. Nothing runs after an error.
    pub(super) fn start(mut command: Command, stderr: Stderr) -> io::Result<(Self, Streams)> {
        use std::os::unix::process::CommandExt;

        command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Before the server, so that it is known as soon as it is there.
        watcher::prepare();
        let leader = command.spawn().inspect_err(|_| watcher::rest())?;
        let id = Pid::from_child(&leader);
        let mut group = Self {
            is_watched: watcher::add(id),
            leader,
            id,
            host: std::process::id(),
            state: State::Running,
            notice: None,
            others: Vec::new(),
            stderr,
            pipe: None,
            reader: None,
        };
        let streams = Streams {
            input: group.leader.stdin.take().map(OwnedFd::from),
            output: group.leader.stdout.take().map(OwnedFd::from),
        };
        Ok((group, streams))
    }

    /// Begins to wait for the exit and to read stderr.
    pub(super) fn connect(&mut self, streams: Streams) -> io::Result<(Input, Output)> {
        let missing = || io::Error::from(io::ErrorKind::NotConnected);
        let input = pipe::Sender::from_owned_fd(streams.input.ok_or_else(missing)?)?;
        let output = pipe::Receiver::from_owned_fd(streams.output.ok_or_else(missing)?)?;
        let pipe = OwnedFd::from(self.leader.stderr.take().ok_or_else(missing)?);
        let pipe = Arc::new(pipe::Receiver::from_owned_fd(pipe)?);
        self.notice = Some(Notice::of(self.id)?);
        self.reader = Some(tokio::spawn(read(Arc::clone(&pipe), self.stderr.clone())));
        self.pipe = Some(pipe);
        Ok((Wide::new(input), Wide::new(output)))
    }

    pub(super) fn id(&self) -> u32 {
        self.leader.id()
    }

    pub(super) const fn is_watched(&self) -> bool {
        self.is_watched
    }

    /// Ready when the leader has ended. It costs no call of the system before.
    pub(super) fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        loop {
            if let State::Ended(exit) | State::Gone(exit) = self.state {
                return Poll::Ready(exit);
            }
            match &mut self.notice {
                #[cfg(target_os = "linux")]
                Some(Notice::Descriptor(descriptor)) => {
                    match ready!(descriptor.poll_read_ready(cx)) {
                        // If it was for nothing, it is waited for anew.
                        Ok(()) => drop(descriptor.try_io(forget_readiness)),
                        // The runtime that we were started in has ended.
                        Err(_) => self.notice = None,
                    }
                }
                Some(Notice::Signal(arrivals, has_looked)) => {
                    if *has_looked && ready!(arrivals.poll_recv(cx)).is_none() {
                        self.notice = None;
                    } else {
                        *has_looked = true;
                    }
                }
                None => {
                    self.look();
                    if matches!(self.state, State::Running) {
                        return Poll::Pending;
                    }
                }
            }
            self.look();
        }
    }

    /// Looks whether the leader has ended, and leaves it a zombie.
    fn look(&mut self) {
        if !matches!(self.state, State::Running) || !self.is_ours() {
            return;
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.state = match system::waitid(WaitId::Pid(self.id), options) {
            Ok(Some(status)) => State::Ended(Exit {
                code: status.exit_status(),
                signal: status.terminating_signal(),
            }),
            Err(rustix::io::Errno::CHILD) => State::Gone(Exit::UNSEEN),
            Ok(None) | Err(_) => return,
        };
        self.notice = None;
        // Its last words are in the pipe, and whoever learns of the exit asks for them next.
        self.drain();
    }

    /// Is anybody but the leader alive in the group? `None` if that cannot be found out.
    ///
    /// Asked once the leader has ended.
    pub(super) fn has_others(&mut self) -> Option<bool> {
        if matches!(self.state, State::Gone(_)) {
            return Some(false);
        }
        // Those that were seen before are asked first: it is asked again and again.
        let mut seen = self.others.iter();
        if seen.any(|process| members::is_alive(*process, self.id)) {
            return Some(true);
        }
        self.others = members::others(self.id)?;
        Some(!self.others.is_empty())
    }

    /// Tells everybody in the group to end. Those who are stopped are let go on: they could not
    /// otherwise.
    pub(super) fn terminate(&mut self) {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
    }

    /// Kills everybody in the group.
    pub(super) fn kill(&mut self) {
        self.signal(Signal::KILL);
    }

    fn signal(&mut self, signal: Signal) {
        self.look();
        if self.is_ours() && !matches!(self.state, State::Gone(_)) {
            // Nobody is left, or nobody whom we may signal: neither can be helped.
            let _ = system::kill_process_group(self.id, signal);
        }
    }

    /// Lets go of the group: no signal is sent from here on. Says how the leader ended.
    ///
    /// One that has not ended although it was killed is kept until it has.
    pub(super) fn release(&mut self, patience: &[Duration]) -> Option<Exit> {
        self.look();
        for pause in patience {
            if !self.is_ours() || !matches!(self.state, State::Running) {
                break;
            }
            std::thread::sleep(*pause);
            self.look();
        }
        let exit = match self.state {
            State::Running => None,
            State::Ended(exit) | State::Gone(exit) => Some(exit),
        };
        self.drain();
        self.pipe = None;
        if self.is_ours() {
            // In this order: the watcher never knows a number that is not ours.
            if self.is_watched {
                watcher::remove(self.id);
                self.is_watched = false;
            }
            unreaped::reap(&mut self.leader);
        }
        self.state = State::Gone(exit.unwrap_or(Exit::UNSEEN));
        exit
    }

    /// Stops reading stderr; the task ends soon.
    pub(super) fn abandon_stderr(&mut self) -> Option<JoinHandle<()>> {
        self.reader.take().inspect(JoinHandle::abort)
    }

    /// Reads what is in the pipe now. A grandchild may hold it, so the end is not waited for.
    fn drain(&self) {
        let Some(pipe) = &self.pipe else {
            return;
        };
        for _ in 0..DRAINED_READS {
            match read_once(pipe, &self.stderr) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
        }
    }

    fn is_ours(&self) -> bool {
        self.host == std::process::id()
    }
}

/// The ends of the pipes that are ours.
#[derive(Debug)]
pub(super) struct Streams {
    input: Option<OwnedFd>,
    output: Option<OwnedFd>,
}

impl Notice {
    fn of(leader: Pid) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{PidfdFlags, pidfd_open};

            // Linux before 5.3 has none, and a sandbox may forbid it.
            let descriptor = pidfd_open(leader, PidfdFlags::NONBLOCK)
                .or_else(|_| pidfd_open(leader, PidfdFlags::empty()));
            if let Ok(descriptor) = descriptor
                && let Ok(descriptor) = pipe::Receiver::from_owned_fd_unchecked(descriptor)
            {
                return Ok(Self::Descriptor(descriptor));
            }
        }
        let _ = leader;
        Ok(Self::Signal(signal(SignalKind::child())?, false))
    }
}

#[cfg(target_os = "linux")]
fn forget_readiness() -> io::Result<()> {
    Err(io::ErrorKind::WouldBlock.into())
}

/// Reads stderr until its end, which a grandchild may delay for as long as it lives.
async fn read(pipe: Arc<pipe::Receiver>, stderr: Stderr) {
    while pipe.readable().await.is_ok() {
        match pipe.try_io(|| read_once(&pipe, &stderr)) {
            Ok(0) => break,
            Ok(_) => stderr.deliver(),
            // Somebody has read it for us, and may have left the telling to us.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => stderr.deliver(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
        // It may be a flood, and others want to go on too.
        tokio::task::yield_now().await;
    }
    stderr.end();
    stderr.deliver();
}

/// Not by tokio, which may not know yet that there is something to read.
fn read_once(pipe: &impl AsFd, stderr: &Stderr) -> io::Result<usize> {
    stderr.push_from(|buffer| Ok(rustix::io::read(pipe, buffer)?))
}

/// As much as the widest pipe holds: what was written before the exit is read, and whoever
/// writes on does not keep us.
const DRAINED_READS: usize = 1024 * 1024 / AT_ONCE;

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use rustix::process::{WaitOptions, waitpid};

    use super::*;

    fn start(script: &str) -> (Group, Input, Output) {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let (mut group, streams) = Group::start(command, Stderr::new(None)).unwrap();
        let (input, output) = group.connect(streams).unwrap();
        (group, input, output)
    }

    async fn exit_by_signal(mut group: Group, input: Input) -> Exit {
        let arrivals = signal(SignalKind::child()).unwrap();
        group.notice = Some(Notice::Signal(arrivals, false));
        let pending = poll_fn(|cx| Poll::Ready(group.poll_exit(cx).is_pending())).await;
        assert_eq!(pending, matches!(group.state, State::Running));
        drop(input);
        let exit = poll_fn(|cx| group.poll_exit(cx)).await;
        assert_eq!(group.release(&[]), Some(exit));
        exit
    }

    #[tokio::test]
    async fn without_a_descriptor_the_exit_is_noticed_by_the_signal() {
        let (group, input, _output) = start("read line; exit 3");
        assert_eq!(exit_by_signal(group, input).await.code, Some(3));
    }

    #[tokio::test]
    async fn an_exit_before_anybody_listens_is_noticed_too() {
        let (group, input, _output) = start("exit 4");
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        system::waitid(WaitId::Pid(group.id), options).unwrap();
        assert_eq!(exit_by_signal(group, input).await.code, Some(4));
    }

    #[tokio::test]
    async fn whoever_takes_the_status_ends_our_right_to_signal() {
        let (mut group, _input, _output) = start("sleep 1000 & exit 0");
        waitpid(Some(group.id), WaitOptions::empty()).unwrap();
        assert_eq!(poll_fn(|cx| group.poll_exit(cx)).await, Exit::UNSEEN);
        group.kill();
        // Somebody is left, and the number may be anybody's: here it is still that of the group.
        assert_eq!(members::others(group.id).unwrap().len(), 1);
        system::kill_process_group(group.id, Signal::KILL).unwrap();
        group.release(&[]);
    }
}
