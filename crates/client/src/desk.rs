//! Between the machine and everybody who waits for it: callers, subscribers, the host.
//!
//! Feeds the machine, brings each outcome to its slot, each question to the host, each
//! notification to whoever wants it. What goes to the server is handed to the [`Wire`];
//! which wire that is makes no difference here.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use switchboard_protocol::Payload;
use switchboard_protocol::jsonrpc::{Message, UsualResult};
use switchboard_protocol::machine::Lane;
use switchboard_protocol::machine::client::{
    Agreed, CallError, CallKey, CallRequest, ClientConfig, ClientMachine, Departure, Expired,
    Failure, Input, Output, QuestionKey, Timeouts as CallTimeouts,
};
use tokio::task::AbortHandle;

use crate::asking;
use crate::error::Cause;
use crate::inbox::{Command, Outcomes};
use crate::report::{Phase, Reason, Report};
use crate::shared::Shared;
use crate::slot::{Outcome, Unanswered};
use crate::slots::Spread;
use crate::state::{Ready, State};
use crate::subscription::Channel;
use crate::telling;

/// The way to the server.
pub(crate) trait Wire {
    /// Takes a message for the server.
    fn send(&mut self, lane: Lane, message: Message);
    /// Takes the request of a call.
    fn depart(&mut self, request: &Departure<'_>);
    /// The answer on this lane is no longer wanted.
    fn close_lane(&mut self, lane: Lane);
    /// The server is to be started anew.
    fn restart(&mut self);
    /// The transport of 2024-11-05 is to be tried.
    fn use_old_transport(&mut self);
    /// What was agreed, from now on.
    fn agreed(&mut self, agreed: &Agreed);
    /// The session is over; the next answer to `initialize` brings a new one.
    fn forget_session(&mut self);
    /// Adds what is known of the end.
    fn describe(&mut self, report: &mut Report);
}

/// One connection's machine and all who wait for it.
pub(crate) struct Desk {
    machine: ClientMachine,
    shared: Arc<Shared>,
    target: Arc<str>,
    channels: HashMap<CallKey, Arc<Channel>, Spread>,
    questions: HashMap<QuestionKey, AbortHandle>,
    /// Calls that wait until the server has read what was sent before.
    held: VecDeque<Held>,
    /// What is known of the failure that is being dealt with.
    cause: Option<Cause>,
    is_open: bool,
    is_over: bool,
    /// What is to be done; empty between two calls of this.
    out: Vec<Output>,
    /// What came of calls; empty between two calls of this, but for [`receive`](Self::receive).
    outcomes: Outcomes,
}

struct Held {
    request: CallRequest,
    since: Instant,
    expired: Option<(Instant, Expired)>,
}

impl Desk {
    pub(crate) fn new(shared: Arc<Shared>, target: Arc<str>, config: ClientConfig) -> Self {
        Self {
            machine: ClientMachine::new(config),
            shared,
            target,
            channels: HashMap::default(),
            questions: HashMap::new(),
            held: VecDeque::new(),
            cause: None,
            is_open: false,
            is_over: false,
            out: Vec::new(),
            outcomes: Outcomes::default(),
        }
    }

    /// Is there nothing more to do but to clean up?
    pub(crate) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// How many calls have no outcome yet, without those that wait for the server to read.
    pub(crate) fn open_calls(&self) -> usize {
        self.machine.open_calls()
    }

    /// Do calls wait for the server to read?
    pub(crate) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// What was run, or the URL.
    pub(crate) fn target(&self) -> &str {
        &self.target
    }

    /// It could not even be begun.
    pub(crate) fn give_up(&mut self, report: Report) {
        self.is_over = true;
        self.shared.enter(State::Failed(Arc::new(report)));
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// When [`tick`](Self::tick) is wanted, if nothing else comes first.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let held = self
            .held
            .iter()
            .filter_map(|held| Some(held.expired?.0))
            .min();
        [self.machine.deadline(), held].into_iter().flatten().min()
    }

    /// The time that [`deadline`](Self::deadline) named has come.
    pub(crate) fn tick(&mut self, now: Instant, wire: &mut impl Wire) {
        self.handle(now, Input::Tick, wire);
        let (due, rest) = std::mem::take(&mut self.held)
            .into_iter()
            .partition(|held: &Held| held.expired.is_some_and(|(at, _)| at <= now));
        self.held = rest;
        for held in due {
            if let Some((_, expired)) = held.expired {
                let outcome = Err(CallError::TimedOut(expired).into());
                self.outcomes.push(held.request.key, outcome);
            }
        }
        self.hand_over();
    }

    /// Takes what a user of the client wants.
    ///
    /// `has_room` says whether the server reads what it is sent: if not, calls wait.
    #[inline(always)]
    pub(crate) fn take(
        &mut self,
        now: Instant,
        command: Command,
        has_room: bool,
        wire: &mut impl Wire,
    ) {
        match command {
            Command::Call(request) if has_room && self.held.is_empty() => {
                self.call(now, request, wire);
            }
            Command::Call(request) => self.hold(now, request),
            Command::Listen(key, filter, channel) => {
                self.channels.insert(key, channel);
                self.handle(now, Input::Listen { key, filter }, wire);
            }
            Command::SetLogLevel(key, level) => {
                self.handle(now, Input::SetLogLevel { key, level }, wire);
            }
            Command::Notify(notification) => {
                self.handle(now, Input::Notify(notification), wire);
            }
            Command::Cancel(key, reason) => {
                if let Some(at) = self.held.iter().position(|held| held.request.key == key) {
                    self.held.remove(at);
                    self.outcomes.push(key, Err(CallError::Cancelled.into()));
                    return self.hand_over();
                }
                self.handle(now, Input::Cancel { key, reason }, wire);
            }
            Command::Answer(question, outcome) => {
                self.questions.remove(&question);
                self.handle(now, Input::Answer { question, outcome }, wire);
            }
            Command::Close => self.handle(now, Input::Close, wire),
        }
    }

    /// The server has read what was sent: what waited for that goes on.
    pub(crate) fn release(&mut self, now: Instant, wire: &mut impl Wire) {
        for Held {
            mut request, since, ..
        } in std::mem::take(&mut self.held)
        {
            let limits = self.limits_of(&request);
            let waited = now.saturating_duration_since(since);
            request.timeouts = Some(limits.after(limits.spent + waited));
            self.call(now, request, wire);
        }
    }

    /// Takes one thing that happened and something that is known about it besides.
    pub(crate) fn handle_with(
        &mut self,
        now: Instant,
        input: Input,
        cause: Option<Cause>,
        wire: &mut impl Wire,
    ) {
        self.cause = cause;
        self.handle(now, input, wire);
        self.cause = None;
    }

    /// Takes one thing that happened.
    pub(crate) fn handle(&mut self, now: Instant, input: Input, wire: &mut impl Wire) {
        self.machine.handle(now, input, &mut self.out);
        self.carry_out_all(wire);
        self.hand_over();
    }

    /// Takes a result that was read in one go. When there are no more of them for now, what came
    /// of all is to be [handed over](Self::hand_over).
    #[inline(always)]
    pub(crate) fn receive(&mut self, now: Instant, received: UsualResult, wire: &mut impl Wire) {
        if let Some((key, result)) = self.machine.receive(now, received, &mut self.out) {
            self.deliver(key, Ok(result));
        }
        self.carry_out_all(wire);
    }

    /// Brings what came of calls to their callers.
    pub(crate) fn hand_over(&mut self) {
        self.shared.inbox.deliver(&mut self.outcomes);
    }

    fn carry_out_all(&mut self, wire: &mut impl Wire) {
        if self.out.is_empty() {
            return;
        }
        let mut out = std::mem::take(&mut self.out);
        for output in out.drain(..) {
            self.carry_out(output, wire);
        }
        self.out = out;
    }

    #[inline]
    fn call(&mut self, now: Instant, request: CallRequest, wire: &mut impl Wire) {
        if let Some(departure) = self.machine.call(now, request, &mut self.out) {
            wire.depart(&departure);
        }
        self.carry_out_all(wire);
        self.hand_over();
    }

    fn hold(&mut self, now: Instant, request: CallRequest) {
        let most = self.shared.limits.calls;
        if self.held.len() >= most {
            let outcome = Err(CallError::TooManyCalls(most).into());
            self.outcomes.push(request.key, outcome);
            return self.hand_over();
        }
        let limits = self.limits_of(&request);
        let idle = limits.idle.map(|limit| (limit, Expired::Idle(limit)));
        let total = limits.left().zip(limits.total.map(Expired::Total));
        let expired = [idle, total]
            .into_iter()
            .flatten()
            .min_by_key(|(limit, _)| *limit)
            .and_then(|(limit, expired)| Some((now.checked_add(limit)?, expired)));
        let since = now;
        self.held.push_back(Held {
            request,
            since,
            expired,
        });
    }

    fn limits_of(&self, request: &CallRequest) -> CallTimeouts {
        request.timeouts.unwrap_or(self.shared.timeouts.call())
    }

    fn carry_out(&mut self, output: Output, wire: &mut impl Wire) {
        match output {
            Output::Send { lane, message } => wire.send(lane, message),
            Output::Finished { key, outcome } => self.finish(key, outcome),
            Output::Sent { key, id } => self.shared.inbox.note_id(key, id),
            Output::Progress { key, params } => self.shared.inbox.report(key, params),
            Output::CloseLane(lane) => wire.close_lane(lane),
            Output::Restart => wire.restart(),
            Output::UseOldTransport => wire.use_old_transport(),
            Output::Opened(agreed) | Output::Reopened(agreed) => self.opened(*agreed, wire),
            Output::Reopening => {
                wire.forget_session();
                self.shared.enter(State::Recovering {
                    reason: "the server no longer knows the session".to_owned(),
                });
            }
            Output::Failed(failure) => self.failed(failure, wire),
            Output::Closed => {
                self.is_over = true;
                self.shared.enter(State::Closed);
            }
            Output::Listening { key, granted } => {
                if let Some(channel) = self.channels.get(&key) {
                    channel.grant(granted);
                }
            }
            Output::Asked(question) => {
                let key = question.key;
                let task = asking::ask(&self.shared, question);
                self.questions.insert(key, task);
            }
            Output::Withdrawn(key) => {
                if let Some(task) = self.questions.remove(&key) {
                    task.abort();
                }
            }
            Output::Told {
                listener,
                call,
                notification,
            } => {
                let change = telling::change(&notification);
                if let Some(change) = &change {
                    self.shared.lists.forget(change);
                    self.tell_subscribers(listener, change);
                }
                let host = &self.shared.host;
                // A host that panics harms itself, not the calls of others.
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    telling::tell(&**host, change, notification, call.map(|key| key.0));
                }));
            }
            // Counted where it was read, or of no consequence.
            Output::Ignored(_) => {}
            // What a later machine may say that has no meaning here.
            _ => {}
        }
    }

    fn finish(&mut self, key: CallKey, outcome: Result<Payload, CallError>) {
        let outcome = outcome.map_err(|error| {
            let cause = self.cause.clone();
            Box::new(Unanswered { error, cause })
        });
        self.deliver(key, outcome);
    }

    #[inline(always)]
    fn deliver(&mut self, key: CallKey, outcome: Outcome) {
        if !self.channels.is_empty()
            && let Some(channel) = self.channels.remove(&key)
        {
            return channel.end(outcome.map(drop));
        }
        self.outcomes.push(key, outcome);
    }

    fn opened(&mut self, agreed: Agreed, wire: &mut impl Wire) {
        self.is_open = true;
        self.shared.memory.set(Some(agreed.revision.era()));
        wire.agreed(&agreed);
        self.shared.lists.forget_all();
        let ready = Arc::new(Ready::from(agreed));
        self.shared.enter(State::Ready(ready));
    }

    fn failed(&mut self, failure: Failure, wire: &mut impl Wire) {
        self.is_over = true;
        if !self.is_open {
            // Perhaps it was remembered wrongly.
            self.shared.memory.set(None);
        }
        let report = match self.cause.take() {
            Some(Cause::Connection(report)) => report,
            cause => {
                let reason = match (cause, failure) {
                    (Some(Cause::Http(http)), Failure::Unreachable(_) | Failure::PeerClosed(_)) => {
                        Reason::Http(http)
                    }
                    (Some(Cause::Http(http)), _) if http.is_unauthorized() => Reason::Http(http),
                    // What the server said itself goes before how it was said.
                    (_, failure) => Reason::Protocol(failure),
                };
                Arc::new(self.report(reason, wire))
            }
        };
        let state = if report.needs_login() {
            State::NeedsLogin(report)
        } else {
            State::Failed(report)
        };
        self.shared.enter(state);
    }

    /// What is known of an end.
    pub(crate) fn report(&self, reason: Reason, wire: &mut impl Wire) -> Report {
        let phase = if self.is_open {
            Phase::Open
        } else {
            Phase::Handshake
        };
        let mut report = Report::new(&*self.target, phase, reason);
        wire.describe(&mut report);
        report
    }

    fn tell_subscribers(&self, listener: Option<CallKey>, change: &crate::host::Change) {
        match listener {
            Some(key) => {
                if let Some(channel) = self.channels.get(&key) {
                    channel.tell(change);
                }
            }
            // In the handshake era nothing says whose change it is.
            None => {
                for channel in self.channels.values() {
                    if channel.wants(change) {
                        channel.tell(change);
                    }
                }
            }
        }
    }
}

/// Nobody is left waiting, however this ends.
impl Drop for Desk {
    fn drop(&mut self) {
        for task in self.questions.values() {
            task.abort();
        }
        if !self.is_over {
            let report = Report::new(&*self.target, Phase::Open, Reason::Abandoned);
            self.shared.enter(State::Failed(Arc::new(report)));
        }
        let over = || Box::<Unanswered>::from(CallError::Lost("the connection is over".to_owned()));
        for channel in self.channels.values() {
            channel.end(Err(over()));
        }
        let unsent = || {
            Box::<Unanswered>::from(match &*self.shared.state.borrow() {
                State::Closed => CallError::Closed,
                state => CallError::Over(state.to_string()),
            })
        };
        for held in &self.held {
            self.outcomes.push(held.request.key, Err(unsent()));
        }
        for command in self.shared.inbox.close() {
            match command {
                Command::Call(CallRequest { key, .. }) | Command::SetLogLevel(key, _) => {
                    self.outcomes.push(key, Err(unsent()));
                }
                Command::Listen(_, _, channel) => channel.end(Err(unsent())),
                Command::Notify(_) | Command::Cancel(..) | Command::Answer(..) | Command::Close => {
                }
            }
        }
        self.shared.inbox.deliver(&mut self.outcomes);
        self.shared.inbox.end(|| Err(over()));
    }
}

impl From<CallError> for Box<Unanswered> {
    fn from(error: CallError) -> Self {
        Self::new(Unanswered { error, cause: None })
    }
}
