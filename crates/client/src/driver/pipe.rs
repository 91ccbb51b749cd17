//! A connection on a pipe: the standard streams of a process, or memory.
//!
//! In this order, because what is further on its way goes first: what users want, writing, lines
//! that have come, reading, the end of the process, time. Calls are gathered as long as there are
//! any and written together.
//!
//! Specification: basic/transports (stdio), basic/lifecycle (shutdown).

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use switchboard_protocol::framing::Line;
use switchboard_protocol::jsonrpc::{
    Frame, FrameReader, LargeFrame, Limits as MessageLimits, Malformed, Message,
};
use switchboard_protocol::machine::Lane;
use switchboard_protocol::machine::client::{Agreed, Departure, Failure, Input};
use switchboard_transport::lines::Lines;
use switchboard_transport::memory::End;
use switchboard_transport::process::{Exit, Manner, Process, ProcessSpec, Stderr};
use switchboard_transport::turn::{Party, Turn};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::desk::{Desk, Wire};
use crate::driver::noise::Noise;
use crate::driver::now;
use crate::driver::timer::Timer;
use crate::error::Cause;
use crate::inbox::Command;
use crate::report::{Phase, Reason, Report};
use crate::words::plain;

/// Owns a connection to a process from its start to its end.
pub(super) async fn run_process(spec: ProcessSpec, mut desk: Desk) {
    let shared = Arc::clone(desk.shared());
    let hear = Arc::clone(&shared);
    let spec = spec.on_stderr_line(move |line| hear.host.hear_stderr(line));
    loop {
        let (process, input, output) = match Process::spawn(&spec) {
            Ok(started) => started,
            Err(error) => {
                let report =
                    Report::new(desk.target(), Phase::Start, Reason::Start(Arc::new(error)));
                desk.give_up(report);
                return;
            }
        };
        let mut connection = Connection::new(desk, output, input, Some(process));
        let end = poll_fn(|cx| connection.poll(cx)).await;
        let Connection {
            desk: kept,
            lines,
            process,
            seen,
            ..
        } = connection;
        desk = kept;
        // The end of its input is what tells a server to end.
        drop(lines);
        if let Some(process) = process {
            let stopped = process.stop(shared.timeouts.stop).await;
            // What ended before it was closed is in the report.
            if end == Ended::Over
                && seen.exit.is_none()
                && stopped.manner == Manner::Obeyed
                && let Some(exit) = stopped.exit.filter(|exit| !exit.is_success())
            {
                shared.host.hear_bad_end(&exit.to_string());
            }
        }
        if end == Ended::Over {
            return;
        }
    }
}

/// Owns a connection in memory from its start to its end.
pub(super) async fn run_in_memory(end: End, desk: Desk) {
    let (read, write) = tokio::io::split(end);
    let mut connection = Connection::new(desk, read, write, None);
    // What cannot be started anew is over.
    let _ = poll_fn(|cx| connection.poll(cx)).await;
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// The server is to be started anew.
    Restart,
    Over,
}

struct Connection<R, W> {
    desk: Desk,
    lines: Lines<R, W>,
    reader: FrameReader,
    limits: MessageLimits,
    /// A large line that is being looked through, while nothing behind it is heard.
    large: Option<Box<Large>>,
    process: Option<Process>,
    seen: Seen,
    timer: Timer,
    turn: Turn,
    /// Nothing more can be read; the process may still say how it ended until then.
    ended: Option<(Instant, String)>,
    /// Whether the output has ended. The input may end before: answers may still come then.
    is_read: bool,
    has_begun: bool,
    /// Kept for its memory.
    commands: Vec<Command>,
}

struct Large {
    text: Bytes,
    frame: LargeFrame,
}

/// What was seen of the server beside its messages.
struct Seen {
    noise: Noise,
    stderr: Option<Stderr>,
    exit: Option<Exit>,
    restarts: bool,
    /// Bytes of answers to its questions that wait to be written, at most: since all was.
    answers: usize,
}

impl<R, W> Connection<R, W>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    fn new(desk: Desk, read: R, write: W, process: Option<Process>) -> Self {
        let limits = desk.shared().limits.message;
        Self {
            desk,
            lines: Lines::new(read, write, limits),
            reader: FrameReader::new(limits),
            limits,
            large: None,
            seen: Seen {
                noise: Noise::default(),
                stderr: process.as_ref().map(Process::stderr),
                exit: None,
                restarts: false,
                answers: 0,
            },
            process,
            timer: Timer::default(),
            turn: Turn::of(&Party::default()),
            ended: None,
            is_read: false,
            has_begun: false,
            commands: Vec::new(),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        if !self.has_begun {
            self.has_begun = true;
            self.handle(now(), Input::Opened);
        }
        let (mut reads, mut lines) = (0, 0);
        loop {
            self.take_commands(cx);
            // What is asked for is on its way while what has come is taken.
            self.flush(cx);
            // Who asks and does not take the answers is not heard any more until they are taken.
            let is_heard = self.seen.answers < self.limits.bytes;
            if is_heard && self.look_through(cx).is_pending() {
                self.keep_time();
                return Poll::Pending;
            }
            let portion = self.portion();
            let taken = match is_heard {
                true => self.take_lines(portion),
                false => 0,
            };
            lines += taken;
            self.keep_time();
            if self.seen.restarts {
                return Poll::Ready(Ended::Restart);
            }
            let is_flushed = self.flush(cx);
            if self.desk.is_over() {
                return Poll::Ready(Ended::Over);
            }
            if is_flushed && self.desk.holds() {
                let mut wire = PipeWire {
                    lines: &mut self.lines,
                    seen: &mut self.seen,
                };
                self.desk.release(now(), &mut wire);
                continue;
            }
            if is_heard && self.large.is_some() {
                // It is looked through before anything behind it is read.
                continue;
            }
            if is_flushed && !is_heard {
                // They were taken just now: what it said meanwhile is heard.
                continue;
            }
            if taken >= portion {
                // Those who have their answers go on before more is taken.
                if self.turn.poll(cx).is_ready() {
                    cx.waker().wake_by_ref();
                }
                return Poll::Pending;
            }
            if is_heard && !self.is_read {
                // To move a large line to where there is more room takes its time.
                if self.lines.is_making_room() {
                    ready!(self.turn.poll(cx));
                }
                match self.lines.poll_read(cx) {
                    Poll::Ready(Ok(true)) => {
                        reads += 1;
                        let has_turn = reads < READS && lines < LINES;
                        if has_turn || self.poll_time(cx).is_ready() {
                            continue;
                        }
                        // A flood: others on this thread have their turn before more is read.
                        if self.turn.poll(cx).is_ready() {
                            cx.waker().wake_by_ref();
                        }
                        return Poll::Pending;
                    }
                    Poll::Ready(Ok(false)) => {
                        self.is_read = true;
                        self.take_last_line();
                        self.lose("its output ended".to_owned());
                        continue;
                    }
                    Poll::Ready(Err(error)) => {
                        self.is_read = true;
                        self.lose(format!("its output cannot be read: {error}"));
                        continue;
                    }
                    Poll::Pending if self.lines.is_making_room() => return Poll::Pending,
                    Poll::Pending => {}
                }
            }
            if self.poll_exit(cx).is_ready() {
                continue;
            }
            ready!(self.poll_time(cx));
        }
    }

    /// Writes what is to be written, and says whether that is all.
    fn flush(&mut self, cx: &mut Context<'_>) -> bool {
        match self.lines.poll_flush(cx) {
            Poll::Ready(Ok(())) => {
                self.seen.answers = 0;
                true
            }
            Poll::Ready(Err(error)) => {
                // Nobody waits for them any more.
                self.seen.answers = 0;
                self.lose(format!("its input cannot be written to: {error}"));
                true
            }
            Poll::Pending => false,
        }
    }

    /// Takes what users want.
    fn take_commands(&mut self, cx: &Context<'_>) {
        let mut commands = std::mem::take(&mut self.commands);
        while self
            .desk
            .shared()
            .inbox
            .poll_take(&mut commands, cx)
            .is_ready()
        {
            let now = now();
            let most = self.desk.shared().limits.queued.max(1);
            for command in commands.drain(..) {
                let has_room = self.lines.queued() < most;
                let mut wire = PipeWire {
                    lines: &mut self.lines,
                    seen: &mut self.seen,
                };
                self.desk.take(now, command, has_room, &mut wire);
            }
        }
        self.commands = commands;
    }

    /// How many lines are taken in one go: half as many as calls are out. While the server is at
    /// what the first half asks for next, we are at the answers of the other, and neither has to
    /// be put to sleep and woken for each batch.
    fn portion(&self) -> usize {
        (self.desk.open_calls() / 2).clamp(PORTION, LINES)
    }

    /// Takes the lines that are there, but no more than these, and says how many there were.
    fn take_lines(&mut self, most: usize) -> usize {
        let mut time = None;
        let mut count = 0;
        while count < most
            && let Some(line) = self.lines.next_line()
        {
            count += 1;
            match line {
                Line::Text(text) if text.len() >= LargeFrame::FROM => {
                    let frame = LargeFrame::new(text.clone(), &self.limits);
                    self.large = Some(Box::new(Large { text, frame }));
                }
                line => self.take_line(*time.get_or_insert_with(now), line),
            }
            if self.desk.is_over() || self.seen.restarts || self.large.is_some() {
                break;
            }
        }
        self.desk.hand_over();
        count
    }

    /// Looks through a large line, if there is one, and takes it. Others have their turn meanwhile.
    fn look_through(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(large) = &mut self.large {
            while !large.frame.step() {
                ready!(self.turn.poll(cx));
            }
        }
        if let Some(large) = self.large.take() {
            let Large { text, frame } = *large;
            let frame = self.reader.read_large(frame);
            let frame = frame.or_else(|malformed| {
                let frame = self.seen.noise.note(&text, malformed, &self.limits);
                self.hear_noise();
                frame
            });
            let lane = Lane::SHARED;
            self.handle(now(), Input::Received { lane, frame });
            self.desk.hand_over();
        }
        Poll::Ready(())
    }

    fn take_line(&mut self, now: Instant, mut line: Line) {
        if let Line::Text(text) = line {
            match self.reader.read_result(text) {
                Ok(result) => {
                    let mut wire = PipeWire {
                        lines: &mut self.lines,
                        seen: &mut self.seen,
                    };
                    return self.desk.receive(now, result, &mut wire);
                }
                Err(text) => line = Line::Text(text),
            }
        }
        let lane = Lane::SHARED;
        let frame = self.read_frame(&line);
        self.handle(now, Input::Received { lane, frame });
    }

    /// Reads a line as a message, and lets the host hear one that is none.
    fn read_frame(&mut self, line: &Line) -> Result<Frame, Malformed> {
        let frame = self.seen.noise.read(line, &self.limits);
        self.hear_noise();
        frame
    }

    fn hear_noise(&mut self) {
        if let Some(noise) = self.seen.noise.take_fresh() {
            self.desk.shared().host.hear_noise(&plain(&noise, HEARD));
        }
    }

    /// A last line needs no line feed. One that breaks off is no message: how the server ended
    /// says more than where the text did.
    fn take_last_line(&mut self) {
        while let Some(line) = self.lines.finish_line() {
            let frame = self.read_frame(&line);
            if frame.is_ok() {
                let lane = Lane::SHARED;
                self.handle(now(), Input::Received { lane, frame });
            }
        }
    }

    fn handle(&mut self, now: Instant, input: Input) {
        let mut wire = PipeWire {
            lines: &mut self.lines,
            seen: &mut self.seen,
        };
        self.desk.handle(now, input, &mut wire);
    }

    /// The connection is gone. If there is a process, it is given a moment to say why.
    fn lose(&mut self, reason: String) {
        if self.ended.is_some() {
            return;
        }
        let patience = match &self.process {
            Some(_) if self.seen.exit.is_none() => LAST_WORDS,
            _ => Duration::ZERO,
        };
        let until = now().checked_add(patience).unwrap_or_else(now);
        self.ended = Some((until, reason));
    }

    /// The process has ended: what it wrote before is read, and then it is over.
    fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(process) = &mut self.process else {
            return Poll::Pending;
        };
        if self.seen.exit.is_some() {
            return Poll::Pending;
        }
        let exit = ready!(process.poll_exit(cx));
        self.seen.exit = Some(exit);
        // Nothing more comes but what others hold the pipe open for: reading found nothing.
        match &mut self.ended {
            Some((until, _)) => *until = now(),
            None => self.lose("its process ended".to_owned()),
        }
        Poll::Ready(())
    }

    /// Tells the machine that the connection is gone, with all that is known.
    fn finish(&mut self, reason: String) {
        let mut wire = PipeWire {
            lines: &mut self.lines,
            seen: &mut self.seen,
        };
        let failure = Reason::Protocol(Failure::PeerClosed(reason.clone()));
        let report = Arc::new(self.desk.report(failure, &mut wire));
        let input = Input::PeerClosed { reason };
        let cause = Some(Cause::Connection(report));
        self.desk.handle_with(now(), input, cause, &mut wire);
    }

    /// Not left to the timer alone: it is not heard while a server floods us.
    fn keep_time(&mut self) {
        let Some(deadline) = self.desk.deadline() else {
            return;
        };
        let now = now();
        if deadline <= now {
            let mut wire = PipeWire {
                lines: &mut self.lines,
                seen: &mut self.seen,
            };
            self.desk.tick(now, &mut wire);
        }
    }

    /// Waits for the next time that matters.
    fn poll_time(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let ended = self.ended.as_ref().map(|(until, _)| *until);
        let Some(next) = [ended, self.desk.deadline()].into_iter().flatten().min() else {
            return Poll::Pending;
        };
        ready!(self.timer.poll(cx, next));
        match self.ended.take_if(|(until, _)| *until <= next) {
            Some((until, reason)) => {
                self.finish(reason.clone());
                self.ended = Some((until + FOREVER, reason));
            }
            None => {
                let mut wire = PipeWire {
                    lines: &mut self.lines,
                    seen: &mut self.seen,
                };
                self.desk.tick(next, &mut wire);
            }
        }
        Poll::Ready(())
    }
}

/// A pipe as the desk sees it.
struct PipeWire<'a, R, W> {
    lines: &'a mut Lines<R, W>,
    seen: &'a mut Seen,
}

impl<R, W> Wire for PipeWire<'_, R, W> {
    fn send(&mut self, _: Lane, message: Message) {
        let before = self.lines.queued();
        self.lines.send(&message);
        if matches!(message, Message::Response(_)) {
            let more = self.lines.queued().saturating_sub(before);
            self.seen.answers = self.seen.answers.saturating_add(more);
        }
    }

    fn depart(&mut self, request: &Departure<'_>) {
        if request.length() < LARGE {
            self.lines.send_written(|line| request.write(line));
        } else {
            self.lines.send(&request.request().into());
        }
    }

    // A pipe has one stream: a call is cancelled by a message.
    fn close_lane(&mut self, _: Lane) {}

    fn restart(&mut self) {
        self.seen.restarts = true;
    }

    // Only said over HTTP.
    fn use_old_transport(&mut self) {}

    fn agreed(&mut self, _: &Agreed) {}

    // Sessions are of HTTP.
    fn forget_session(&mut self) {}

    fn describe(&mut self, report: &mut Report) {
        self.seen.noise.describe(report);
        report.exit = self.seen.exit.as_ref().map(ToString::to_string);
        if let Some(stderr) = &self.seen.stderr {
            report.stderr = stderr.tail();
        }
    }
}

/// How long a process whose pipes are closed may take to say how it ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A request from this size on is not copied between those that wait.
const LARGE: usize = 16 * 1024;

/// Fewer lines are not worth a write of their own for what they set going.
const PORTION: usize = 24;

/// After so many reads in a row, or so many lines, others have their turn. The runtime would let
/// it be 128 reads, which is long when each brings hundreds of lines.
const READS: usize = 4;
const LINES: usize = 512;

/// Longer than anybody waits.
const FOREVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);
/// Characters of a line that is no message; more says nothing more.
const HEARD: usize = 200;
