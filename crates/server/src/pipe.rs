//! A connection on a pipe: stdio, a socket, memory.
//!
//! One task owns it. In this order, because what is further on its way goes first:
//! what handlers have to say, lines that have come, writing, reading, time. Answers are
//! gathered as long as there are lines to read and written together.
//!
//! Specification: basic/transports (stdio).

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use switchboard_protocol::framing::Line;
use switchboard_protocol::jsonrpc::{Frame, FrameReader, Message};
use switchboard_protocol::machine::Lane;
use switchboard_protocol::machine::server::{
    Answer, Arrival, AskError, Caller, Input, Output, Reply, Serve, ServeKey, ServerMachine,
};
use switchboard_protocol::{Method, Payload, Refusals};
use switchboard_transport::lines::Lines;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep_until};

use crate::clock;
use crate::context::{Context, Visitor};
use crate::core::{Core, Site, abandon};
use crate::link::{Asked, Link, Session, SessionName};
use crate::runner::{Running, Started, start, tell};
use crate::seal::SealingKeys;

/// Serves one connection until the client is gone or `shutdown` comes.
///
/// # Errors
/// Reading or writing failed.
pub(crate) async fn serve<R, W>(
    site: Arc<Site>,
    read: R,
    write: W,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let limits = site.limits.message;
    let link = Arc::new_cyclic(|me| PipeLink::new(me, &site));
    let handle: Arc<dyn Link> = Arc::clone(&link) as Arc<dyn Link>;
    site.audience.join(Arc::downgrade(&handle));
    let mut connection = Connection {
        core: Core::new(ServerMachine::new(site.config()), &site),
        lines: Lines::new(read, write, limits),
        reader: FrameReader::new(limits),
        out: Vec::new(),
        spare: Vec::new(),
        said: Vec::new(),
        woken: Vec::new(),
        places: Vec::new(),
        caller: None,
        state: State::Open,
        is_behind: false,
        timer: None,
        last_context: None,
        link,
        handle,
        site,
    };
    let mut shutdown = std::pin::pin!(shutdown);
    poll_fn(|task| connection.poll(task, shutdown.as_mut())).await
}

struct Connection<R, W> {
    site: Arc<Site>,
    core: Core,
    lines: Lines<R, W>,
    reader: FrameReader,
    link: Arc<PipeLink>,
    /// The same, as handlers know it.
    handle: Arc<dyn Link>,
    caller: Option<Arc<Caller>>,
    state: State,
    /// The client must read before more is taken in.
    is_behind: bool,
    timer: Option<Pin<Box<Sleep>>>,
    /// The context of the last call, while there are more lines: it may hold on to a large
    /// message, and after that the next line may be long in coming.
    last_context: Option<Context>,
    /// What the machine wants done; kept for its memory.
    out: Vec<Output>,
    spare: Vec<Output>,
    said: Vec<Said>,
    woken: Vec<usize>,
    /// Who wakes the handlers that are asked here, at the places of their calls.
    places: Vec<Place>,
}

/// Where a connection stands.
///
/// ```text
///  Open ── end of input, shutdown ──▶ Draining ── handlers done, or too late ──▶ Closing
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// Nothing more is read; handlers may finish until then.
    Draining(Instant),
    /// What is left is written until then, if the client reads it.
    Closing(Instant),
}

impl<R, W> Connection<R, W>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    fn poll(
        &mut self,
        task: &mut TaskContext<'_>,
        shutdown: Pin<&mut impl Future<Output = ()>>,
    ) -> Poll<io::Result<()>> {
        if self.state == State::Open && shutdown.poll(task).is_ready() {
            self.drain();
        }
        loop {
            let has_listened = self.lines.queued() < self.most_queued();
            if has_listened {
                self.take_said(task);
            }
            let is_writable = self.take_lines();
            let is_flushed = match self.lines.poll_flush(task) {
                Poll::Ready(Ok(())) => true,
                Poll::Ready(Err(error)) => return Poll::Ready(gone(error)),
                Poll::Pending => false,
            };
            if is_flushed {
                self.link.make_room();
                self.is_behind = false;
            } else if !is_writable && !std::mem::replace(&mut self.is_behind, true) {
                self.site.refusals.note("queued");
            }
            match self.state {
                State::Closing(_) if is_flushed => return Poll::Ready(Ok(())),
                // There is room again for what was left alone before.
                _ if is_flushed && !(has_listened && is_writable) => continue,
                State::Open if is_writable => match self.lines.poll_read(task) {
                    Poll::Ready(Ok(true)) => continue,
                    Poll::Ready(Ok(false)) => {
                        if let Some(line) = self.lines.finish_line() {
                            self.receive(clock::now(), line);
                        }
                        self.drain();
                        continue;
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(gone(error)),
                    Poll::Pending => {}
                },
                State::Draining(_) if self.core.running() == 0 && !self.link.has_said() => {
                    self.close();
                    continue;
                }
                _ => {}
            }
            match self.poll_time(task) {
                Poll::Ready(true) => return Poll::Ready(Ok(())),
                Poll::Ready(false) => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// So much may wait for the client before no more is taken in.
    fn most_queued(&self) -> usize {
        self.site.limits.queued.max(1)
    }

    /// Takes what handlers have said.
    fn take_said(&mut self, task: &TaskContext<'_>) {
        let (mut said, mut woken) = (
            std::mem::take(&mut self.said),
            std::mem::take(&mut self.woken),
        );
        self.link.take(&mut said, &mut woken, task.waker());
        if !(said.is_empty() && woken.is_empty()) {
            let now = clock::now();
            self.take_each(now, &mut said);
            for place in woken.drain(..) {
                self.ask(now, place);
            }
        }
        (self.said, self.woken) = (said, woken);
    }

    fn take_each(&mut self, now: Instant, said: &mut Vec<Said>) {
        for said in said.drain(..) {
            match said {
                Said::Input(input) => {
                    if let Input::Answered { key, .. } = &input {
                        self.core.answered(*key);
                    }
                    self.handle(now, input);
                }
                Said::Ask(key, method, params, asker) => {
                    self.core
                        .ask(now, key, method, params, asker, &mut self.out);
                    self.settle(now);
                }
            }
        }
    }

    /// Asks the handler at this place for its answer.
    fn ask(&mut self, now: Instant, index: usize) {
        while self.places.len() <= index {
            let place = Place::new(self.places.len(), &self.link);
            self.places.push(place);
        }
        let Some(place) = self.places.get(index) else {
            return;
        };
        place.waits();
        let mut task = TaskContext::from_waker(&place.waker);
        if let Poll::Ready((key, answer)) = self.core.poll_here(index, &mut task) {
            self.take_answer(now, key, answer);
        }
        if !self.out.is_empty() {
            self.settle(now);
        }
    }

    /// Takes the answer of a handler that was asked here.
    fn take_answer(&mut self, now: Instant, key: ServeKey, answer: Answer) {
        if self.link.has_said() {
            // What the handler said before comes first.
            return self.link.say(Said::Input(Input::Answered { key, answer }));
        }
        let reply = self
            .core
            .answer_in_flight(|| now, key, answer, &mut self.out);
        if let Some((_, response)) = reply {
            if !self.out.is_empty() {
                self.settle(now);
            }
            self.lines.send_response(&response);
        }
    }

    /// Takes the lines that are there: false if the client must first read what is written.
    fn take_lines(&mut self) -> bool {
        if self.state != State::Open {
            return true;
        }
        let mut now = None;
        while self.lines.queued() < self.most_queued() {
            let Some(line) = self.lines.next_line() else {
                self.last_context = None;
                return true;
            };
            let now = *now.get_or_insert_with(clock::now);
            self.receive(now, line);
        }
        self.last_context = None;
        false
    }

    fn receive(&mut self, now: Instant, line: Line) {
        let lane = Lane::SHARED;
        match self.reader.read_line(line) {
            // Nearly every line. A request is large, and moved as little as possible.
            Ok(Frame::Single(Message::Request(request))) => {
                if let Some(admitted) = self.core.admit(lane, &request, &mut self.out) {
                    let arrival = self.core.machine.arrive(lane, request, admitted);
                    self.begin(now, arrival);
                }
                if !self.out.is_empty() {
                    self.settle(now);
                }
            }
            frame => self.handle(now, Input::Received { lane, frame }),
        }
    }

    fn handle(&mut self, now: Instant, input: Input) {
        self.core.handle(now, input, &mut self.out);
        self.settle(now);
    }

    /// Does what the machine says, until nothing is left to do.
    fn settle(&mut self, now: Instant) {
        while !self.out.is_empty() {
            let mut out = std::mem::replace(&mut self.out, std::mem::take(&mut self.spare));
            for output in out.drain(..) {
                match output {
                    Output::Send { message, .. } => self.lines.send(&message),
                    Output::SendBatch { responses, .. } => self.lines.send_batch(&responses),
                    Output::Serve(serve) => self.serve(now, serve),
                    Output::Opened(caller) => self.caller = Some(caller),
                    Output::Told(told) => tell(&*self.site.service, told, self.caller.as_ref()),
                    Output::Listening { filter, caller, .. } => {
                        let link = Weak::clone(&self.link.me) as Weak<dyn Link>;
                        let connection = crate::Connection::new(link);
                        self.site.service.listening(&filter, connection, &caller);
                    }
                    // A pipe has no streams to open or end, and levels are the machine's.
                    _ => {}
                }
            }
            self.spare = out;
        }
        if self.core.has_stopped() {
            abandon(self.core.take_stopped());
        }
    }

    /// Has a call handled that just came. One that is answered at once, by a handler that
    /// says nothing before, is never in flight.
    fn begin(&mut self, now: Instant, arrival: Arrival) {
        let Arrival { serve, call, .. } = arrival;
        let context = self.context(serve);
        match start(&*self.site.service, &context) {
            Started::Done(answer) if !self.link.has_said() => {
                let reply = self.core.answer(now, call, &context, answer, &mut self.out);
                match reply {
                    Some(Reply::Text(text)) => self.lines.send_written(|out| text.write(out)),
                    Some(Reply::Response(response)) => self.lines.send_response(&response),
                    None => self.core.take_own(0, &mut self.out),
                }
                self.last_context = Some(context);
            }
            started => {
                self.core.machine.enter(now, call, context.serve());
                self.go_on(now, context, started);
            }
        }
    }

    /// Has a call handled that is in flight.
    fn serve(&mut self, now: Instant, serve: Serve) {
        let context = self.context(serve);
        let started = start(&*self.site.service, &context);
        self.go_on(now, context, started);
    }

    /// The context of a call: that of the last one, if its handler has let go of it.
    fn context(&mut self, serve: Serve) -> Context {
        let serve = match self.last_context.take() {
            Some(mut context) => match context.renew(serve, self.site.deadline()) {
                Ok(()) => return context,
                Err(serve) => serve,
            },
            None => serve,
        };
        self.site
            .context(serve, Arc::clone(&self.handle), Visitor::default())
    }

    /// Takes the answer to a call in flight, or has a task wait for it.
    fn go_on(&mut self, now: Instant, context: Context, started: Started) {
        let key = context.serve().key;
        match started {
            Started::Done(answer) => self.take_answer(now, key, answer),
            Started::Long(future) => {
                self.core.keep_here(key, Running::new(future, context));
                self.ask(now, key.place());
            }
            Started::Waiting(running) => {
                let link = Arc::clone(&self.link);
                let task = tokio::spawn(async move {
                    let answer = running.await;
                    link.say(Said::Input(Input::Answered { key, answer }));
                });
                self.core.keep(key, task.abort_handle(), context);
            }
        }
    }

    /// Nothing more comes, but what is in flight may finish.
    fn drain(&mut self) {
        self.state = State::Draining(self.drained());
    }

    /// Whatever still works is told to stop, and its caller is told.
    fn close(&mut self) {
        self.handle(clock::now(), Input::Close);
        self.state = State::Closing(self.drained());
    }

    /// Until when what is under way may go on.
    fn drained(&self) -> Instant {
        let now = clock::now();
        let drain = self.site.limits.drain.min(LONGEST_DRAIN);
        now.checked_add(drain).unwrap_or(now)
    }

    /// Waits for the next time that matters: true if it is over.
    fn poll_time(&mut self, task: &mut TaskContext<'_>) -> Poll<bool> {
        let own = match self.state {
            State::Open => None,
            State::Draining(until) | State::Closing(until) => Some(until),
        };
        let next = match (own, self.core.machine.deadline()) {
            (Some(own), Some(machine)) => own.min(machine),
            (own, machine) => match own.or(machine) {
                Some(next) => next,
                None => return Poll::Pending,
            },
        };
        let next_tokio = tokio::time::Instant::from_std(next);
        let timer = match &mut self.timer {
            Some(timer) => {
                if timer.deadline() != next_tokio {
                    timer.as_mut().reset(next_tokio);
                }
                timer
            }
            None => self.timer.insert(Box::pin(sleep_until(next_tokio))),
        };
        if timer.as_mut().poll(task).is_pending() {
            return Poll::Pending;
        }
        match self.state {
            State::Draining(until) if until <= next => self.close(),
            State::Closing(until) if until <= next => return Poll::Ready(true),
            _ => self.handle(next, Input::Tick),
        }
        Poll::Ready(false)
    }
}

impl<R, W> Drop for Connection<R, W> {
    fn drop(&mut self) {
        self.link.close();
    }
}

/// A client that is gone is no error of ours.
fn gone(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Ok(()),
        _ => Err(error),
    }
}

/// Where handlers leave what they have to say.
struct PipeLink {
    inbox: Mutex<Inbox>,
    /// Whether there is anything in it.
    is_filled: AtomicBool,
    seals: SealingKeys,
    refusals: Refusals,
    me: Weak<Self>,
    name: SessionName,
}

#[derive(Default)]
struct Inbox {
    said: Vec<Said>,
    /// The places of handlers that want to be asked again.
    woken: Vec<usize>,
    /// Whoever takes it.
    reader: Option<Waker>,
    /// Whoever waits for room.
    writers: Vec<Waker>,
    is_full: bool,
    /// Nobody takes it any more.
    is_closed: bool,
}

/// What a handler says.
enum Said {
    Input(Input),
    Ask(
        Option<ServeKey>,
        Method,
        Option<Payload>,
        oneshot::Sender<Result<Payload, AskError>>,
    ),
}

impl Said {
    /// Is it for no call in particular?
    const fn is_news(&self) -> bool {
        matches!(
            self,
            Self::Input(Input::Changed(_) | Input::Notify { key: None, .. })
        )
    }
}

impl PipeLink {
    fn new(me: &Weak<Self>, site: &Site) -> Self {
        Self {
            inbox: Mutex::default(),
            is_filled: AtomicBool::new(false),
            seals: site.seals.clone(),
            refusals: site.refusals.clone(),
            me: Weak::clone(me),
            name: SessionName::default(),
        }
    }

    fn say(&self, said: Said) {
        let reader = {
            let mut inbox = self.inbox();
            if inbox.is_closed {
                return;
            }
            // What nobody waits for must not pile up while the client does not read.
            if inbox.said.len() >= MOST_SAID && said.is_news() {
                drop(inbox);
                return self.refusals.note("news");
            }
            inbox.said.push(said);
            self.is_filled.store(true, Ordering::Release);
            inbox.is_full = inbox.said.len() >= MUCH_SAID;
            inbox.reader.take()
        };
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// The handler at this place wants to be asked again.
    fn wake(&self, place: usize) {
        let reader = {
            let mut inbox = self.inbox();
            if inbox.is_closed {
                return;
            }
            inbox.woken.push(place);
            inbox.reader.take()
        };
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Takes everything, and wants to be woken for more.
    fn take(&self, said: &mut Vec<Said>, woken: &mut Vec<usize>, waker: &Waker) {
        let mut inbox = self.inbox();
        std::mem::swap(&mut inbox.said, said);
        std::mem::swap(&mut inbox.woken, woken);
        self.is_filled.store(false, Ordering::Release);
        match &mut inbox.reader {
            Some(reader) if reader.will_wake(waker) => {}
            reader => *reader = Some(waker.clone()),
        }
    }

    fn has_said(&self) -> bool {
        self.is_filled.load(Ordering::Acquire)
    }

    /// Everything is written: handlers may go on.
    fn make_room(&self) {
        let writers = {
            let mut inbox = self.inbox();
            inbox.is_full = false;
            std::mem::take(&mut inbox.writers)
        };
        for writer in writers {
            writer.wake();
        }
    }

    /// The connection is over: whoever says more is not heard, and whoever waits need not.
    fn close(&self) {
        let unheard = {
            let mut inbox = self.inbox();
            inbox.is_closed = true;
            std::mem::take(&mut inbox.said)
        };
        // Those who asked hear of it by this.
        drop(unheard);
        self.make_room();
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        // Nothing that runs under the lock can leave it half done.
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the calls in flight, and who wakes the handler there, one after the other. That
/// somebody wakes the one before is no harm: nobody minds being asked once more.
struct Place {
    bell: Arc<Bell>,
    /// The same, as handlers know it.
    waker: Waker,
}

struct Bell {
    place: usize,
    /// Nobody needs to ring again until the handler was asked.
    has_rung: AtomicBool,
    link: Arc<PipeLink>,
}

impl Place {
    fn new(place: usize, link: &Arc<PipeLink>) -> Self {
        let bell = Arc::new(Bell {
            place,
            has_rung: AtomicBool::new(false),
            link: Arc::clone(link),
        });
        let waker = Waker::from(Arc::clone(&bell));
        Self { bell, waker }
    }

    /// Its handler is about to be asked, and wants to be woken after that.
    fn waits(&self) {
        self.bell.has_rung.store(false, Ordering::Release);
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.has_rung.swap(true, Ordering::AcqRel) {
            self.link.wake(self.place);
        }
    }
}

impl Link for PipeLink {
    fn tell(&self, input: Input) {
        self.say(Said::Input(input));
    }

    fn ask(&self, key: Option<ServeKey>, method: Method, params: Option<Payload>) -> Asked {
        let (asker, asked) = oneshot::channel();
        self.say(Said::Ask(key, method, params, asker));
        asked
    }

    fn session(&self) -> Option<Session> {
        let link = Weak::clone(&self.me) as Weak<dyn Link>;
        self.name.name().map(|id| Session { id, link })
    }

    fn is_pipe(&self) -> bool {
        true
    }

    fn seals(&self) -> &SealingKeys {
        &self.seals
    }

    fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    fn poll_room(&self, _key: ServeKey, task: &mut TaskContext<'_>) -> Poll<()> {
        let mut inbox = self.inbox();
        if !inbox.is_full {
            return Poll::Ready(());
        }
        if inbox
            .writers
            .iter()
            .all(|writer| !writer.will_wake(task.waker()))
        {
            inbox.writers.push(task.waker().clone());
        }
        Poll::Pending
    }
}

/// Nobody waits longer, whatever was set.
const LONGEST_DRAIN: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// So much unsaid, and handlers wait before they say more.
const MUCH_SAID: usize = 64;

/// So much unsaid, and news is dropped: the client does not read it anyway.
const MOST_SAID: usize = 1_024;
