//! What is true of every call: who made it, who ran it, what came of it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::chance::mixed;
use crate::trace::Trace;

/// The calls of a run. All clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    calls: Arc<Mutex<Vec<Record>>>,
    /// By how much time went too fast for anybody to keep a limit.
    late: Arc<AtomicU64>,
    /// For how long the user of each client was asked something: its clocks stood still.
    asked: Arc<Mutex<HashMap<usize, Asked>>>,
    trace: Trace,
    seed: u64,
    /// Nothing is done to anybody, and there are no limits: calls that do not ask succeed.
    is_calm: bool,
    /// There is but one client.
    is_alone: bool,
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Answers at once.
    Echo,
    /// Answers after a while.
    Nap,
    /// Never answers.
    Hang,
    /// Says how far it is.
    Steps,
    /// Asks its user, once or twice.
    Ask,
    AskTwice,
    /// Asks its user's model.
    Sample,
    /// Fails.
    Fail,
    /// Has its server offer one tool more.
    Grow,
    /// Has its server tell of a change.
    Touch,
    /// Reads a resource.
    Read,
    /// Fills in a prompt.
    Prompt,
}

impl Task {
    pub(crate) const fn tool(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Nap => "nap",
            Self::Hang => "hang",
            Self::Steps => "steps",
            Self::Ask => "ask",
            Self::AskTwice => "ask-twice",
            Self::Sample => "sample",
            Self::Fail => "fail",
            Self::Grow => "grow",
            Self::Touch => "touch",
            Self::Read => "read",
            Self::Prompt => "prompt",
        }
    }
}

#[derive(Debug)]
struct Record {
    client: usize,
    server: usize,
    task: Task,
    began: Instant,
    /// By how much time had jumped then.
    late_before: u64,
    /// And for how long its user had been asked.
    asked_before: Duration,
    limit: Duration,
    /// How often a handler of it was started, is running, and came to its end.
    starts: u32,
    running: u32,
    ends: u32,
    /// How often its user was asked.
    questions: u32,
    outcome: Option<bool>,
    is_cancelled: bool,
    /// Another call of its client at this server was left while it was open: a stateless client may
    /// have been asked there in the place of this one, and has not come again.
    may_be_held: bool,
    /// Nobody waits for it any more.
    is_given_up: bool,
}

/// For how long a user was asked something.
#[derive(Debug, Default)]
struct Asked {
    /// How many questions there are now, and since when there is any.
    open: u32,
    since: Option<Instant>,
    before: Duration,
}

impl Asked {
    fn time(&self) -> Duration {
        let now = self.since.map(|since| since.elapsed());
        self.before + now.unwrap_or_default()
    }
}

/// Until it is dropped, a user is asked something.
#[derive(Debug)]
pub(crate) struct Asking {
    ledger: Ledger,
    client: usize,
}

impl Drop for Asking {
    fn drop(&mut self) {
        let mut asked = self.ledger.asked_of();
        let asked = asked.entry(self.client).or_default();
        asked.open = asked.open.saturating_sub(1);
        if asked.open == 0 {
            asked.before = asked.time();
            asked.since = None;
        }
    }
}

/// How a user answers a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    AtOnce,
    Later(Duration),
    Declines,
    Never,
}

impl Ledger {
    pub(crate) fn new(seed: u64, is_calm: bool, trace: &Trace) -> Self {
        Self {
            calls: Arc::default(),
            late: Arc::default(),
            asked: Arc::default(),
            trace: trace.clone(),
            seed,
            is_calm,
            is_alone: false,
        }
    }

    /// There is but one client: what servers ask is for him.
    pub(crate) const fn alone(mut self) -> Self {
        self.is_alone = true;
        self
    }

    /// Time jumps by so much.
    pub(crate) fn jump(&self, time: Duration) {
        let time = u64::try_from(time.as_millis()).unwrap_or_default();
        self.late.fetch_add(time, Ordering::Relaxed);
    }

    /// A call begins. Its number.
    pub(crate) fn begin(&self, client: usize, server: usize, task: Task, limit: Duration) -> usize {
        let asked_before = self.time_asked(client);
        let mut calls = self.calls();
        calls.push(Record {
            client,
            server,
            task,
            began: Instant::now(),
            late_before: self.late.load(Ordering::Relaxed),
            asked_before,
            limit,
            starts: 0,
            running: 0,
            ends: 0,
            questions: 0,
            outcome: None,
            is_cancelled: false,
            may_be_held: false,
            is_given_up: false,
        });
        let call = calls.len() - 1;
        let numbers = [10, call as u64, client as u64, server as u64, task as u64];
        self.trace.note(&numbers, || {
            format!("client {client} begins call {call}: {task:?} at server {server}")
        });
        call
    }

    /// A handler of this call starts at this server. It ends when the guard is dropped.
    pub(crate) fn start(&self, call: usize, server: usize) -> Running {
        let mut calls = self.calls();
        self.trace.note(&[11, call as u64], || {
            format!("server {server} starts call {call}")
        });
        match calls.get_mut(call) {
            Some(record) => {
                record.starts += 1;
                record.running += 1;
                if record.server != server {
                    let words =
                        format!("call {call} is for {}, and ran at {server}", record.server);
                    self.trace.violation(words);
                }
                // A stateless server that asks is called again with each answer.
                if record.starts > 1 + record.questions {
                    let words = format!("call {call} ({:?}) ran twice", record.task);
                    self.trace.violation(words);
                }
            }
            None => self
                .trace
                .violation(format!("call {call} ran, and nobody made it")),
        }
        Running {
            ledger: self.clone(),
            call,
            has_ended: false,
        }
    }

    /// The user of this client is asked about a call, until what comes back is dropped.
    pub(crate) fn asked(&self, client: usize, call: Option<usize>) -> Asking {
        let mut asked = self.asked_of();
        let entry = asked.entry(client).or_default();
        entry.open += 1;
        entry.since.get_or_insert_with(Instant::now);
        drop(asked);
        self.note_asked(client, call);
        Asking {
            ledger: self.clone(),
            client,
        }
    }

    fn note_asked(&self, client: usize, call: Option<usize>) {
        let mut calls = self.calls();
        let found = call.and_then(|call| calls.get_mut(call));
        let Some((record, call)) = found.zip(call) else {
            let words = format!("client {client} is asked about nothing it knows");
            return self.trace.violation(words);
        };
        record.questions += 1;
        self.trace.note(&[12, call as u64, client as u64], || {
            format!("client {client} is asked about call {call}")
        });
        if record.client != client {
            let owner = record.client;
            let words = format!("client {client} is asked about call {call}, which is {owner}'s");
            self.trace.violation(words);
        }
    }

    /// How the user answers questions about a call.
    pub(crate) fn mood(&self, call: usize) -> Mood {
        let rolled = mixed(self.seed ^ mixed(call as u64));
        match rolled % 16 {
            0..=8 => Mood::AtOnce,
            9..=12 => Mood::Later(Duration::from_millis(rolled >> 32 & 0xFFF)),
            13 | 14 => Mood::Declines,
            _ => Mood::Never,
        }
    }

    /// A number that is always the same for a call.
    pub(crate) fn rolled(&self, call: usize) -> u64 {
        mixed(self.seed ^ mixed(call as u64 ^ 0xCA11))
    }

    /// Whoever made this call has what came of it.
    pub(crate) fn outcome(&self, call: usize, outcome: Result<String, String>) {
        let mut calls = self.calls();
        let Some(record) = calls.get_mut(call) else {
            return;
        };
        // Clocks stand still while the user is asked.
        let asked = self.time_asked(record.client);
        let asked = asked.saturating_sub(record.asked_before);
        let took = record.began.elapsed().saturating_sub(asked);
        let numbers = [13, call as u64, u64::from(outcome.is_ok())];
        self.trace
            .note(&numbers, || format!("call {call} ends: {outcome:?}"));
        if record.outcome.replace(outcome.is_ok()).is_some() {
            self.trace.violation(format!("call {call} ended twice"));
        }
        if record.is_given_up {
            let words = format!("call {call} ends though nobody waits for it");
            self.trace.violation(words);
        }
        let late = Duration::from_millis(self.late.load(Ordering::Relaxed));
        if took > record.limit + GRACE + late {
            let words = format!("call {call} took {took:?}, its limit is {:?}", record.limit);
            self.trace.violation(words);
        }
        if let Err(words) = &outcome {
            let may_fail = match record.task {
                Task::Hang | Task::Fail => true,
                // On a pipe it is not always known who is asked.
                Task::Ask | Task::AskTwice | Task::Sample => {
                    !self.is_alone || record.may_be_held || self.mood(call) == Mood::Never
                }
                _ => false,
            };
            if self.is_calm && !may_fail && !record.is_cancelled {
                let task = record.task;
                self.trace.violation(format!(
                    "call {call} ({task:?}) failed on a good day: {words}"
                ));
            }
        }
        if let Ok(text) = &outcome {
            let (client, server) = (record.client, record.server);
            let mut expected = expected(call, client, server, record.task, self.mood(call));
            // Who was about to answer when time jumped is taken to have cancelled.
            if self.late.load(Ordering::Relaxed) > record.late_before {
                expected.extend(cut_short(call, client, server, record.task));
            }
            if !expected.contains(text) {
                let words = format!("call {call} got {text:?} and not {expected:?}");
                self.trace.violation(words);
            }
            let is_tool = !matches!(record.task, Task::Read | Task::Prompt);
            if record.ends == 0 && is_tool {
                let words = format!("call {call} has a result, and no handler came to its end");
                self.trace.violation(words);
            }
        }
    }

    /// Whoever made this call cancels it.
    pub(crate) fn cancel(&self, call: usize) {
        self.trace
            .note(&[16, call as u64], || format!("call {call} is cancelled"));
        let mut calls = self.calls();
        if let Some(record) = calls.get_mut(call) {
            record.is_cancelled = true;
        }
        hold(&mut calls, call);
    }

    /// Nobody waits any more for this call.
    pub(crate) fn give_up(&self, call: usize) {
        self.trace
            .note(&[14, call as u64], || format!("call {call} is given up"));
        let mut calls = self.calls();
        if let Some(record) = calls.get_mut(call) {
            record.is_given_up = true;
        }
        hold(&mut calls, call);
    }

    /// Calls that nobody gave up and that have no outcome.
    pub(crate) fn open(&self) -> Vec<usize> {
        self.find(|record| record.outcome.is_none() && !record.is_given_up)
    }

    /// Calls that a handler is at.
    pub(crate) fn running(&self) -> Vec<usize> {
        self.find(|record| record.running > 0)
    }

    /// Calls that a handler is at, though they ended or were given up. `waits` says of a client and
    /// a server whether calls may wait between them for a client that does not come again.
    pub(crate) fn haunting(&self, waits: impl Fn(usize, usize) -> bool) -> Vec<usize> {
        self.find(|record| {
            let is_over = record.outcome.is_some() || record.is_given_up;
            record.running > 0 && is_over && !waits(record.client, record.server)
        })
    }

    pub(crate) fn task(&self, call: usize) -> Option<Task> {
        self.calls().get(call).map(|record| record.task)
    }

    /// For how long the user of this client was asked something so far.
    fn time_asked(&self, client: usize) -> Duration {
        let asked = self.asked_of();
        asked.get(&client).map(Asked::time).unwrap_or_default()
    }

    fn asked_of(&self) -> MutexGuard<'_, HashMap<usize, Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, wanted: impl Fn(&Record) -> bool) -> Vec<usize> {
        let calls = self.calls();
        let found = calls
            .iter()
            .enumerate()
            .filter(|(_, record)| wanted(record));
        found.map(|(call, _)| call).collect()
    }

    fn calls(&self) -> MutexGuard<'_, Vec<Record>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call was left: what others of its client asked by it may be lost.
fn hold(calls: &mut [Record], left: usize) {
    let Some((client, server)) = calls.get(left).map(|left| (left.client, left.server)) else {
        return;
    };
    for record in calls {
        let is_open = record.outcome.is_none();
        record.may_be_held |= is_open && record.client == client && record.server == server;
    }
}

/// What a call may come to.
fn expected(call: usize, client: usize, server: usize, task: Task, mood: Mood) -> Vec<String> {
    let word = said(call, server, task.tool());
    match (task, mood) {
        (Task::Ask | Task::AskTwice, Mood::Declines) => vec![format!("{word} declined")],
        // Who waits for too long is taken to have cancelled.
        (Task::Ask | Task::AskTwice, Mood::Never) => vec![format!("{word} declined")],
        (Task::Ask | Task::Sample, _) => vec![format!("{word} client{client}")],
        (Task::AskTwice, _) => vec![format!("{word} client{client} client{client}")],
        _ => vec![word],
    }
}

/// What a call comes to if its user does not get to answer all of its questions.
fn cut_short(call: usize, client: usize, server: usize, task: Task) -> Vec<String> {
    let word = said(call, server, task.tool());
    let (first, second) = (
        format!("{word} declined"),
        format!("{word} client{client} declined"),
    );
    match task {
        Task::Ask => vec![first],
        Task::AskTwice => vec![first, second],
        _ => Vec::new(),
    }
}

/// What a server says to a call.
pub(crate) fn said(call: usize, server: usize, tool: &str) -> String {
    format!("{tool} {call} at {server}")
}

/// A handler at work.
#[derive(Debug)]
pub(crate) struct Running {
    ledger: Ledger,
    call: usize,
    has_ended: bool,
}

impl Running {
    pub(crate) fn end(mut self) {
        self.has_ended = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut calls = self.ledger.calls();
        if let Some(record) = calls.get_mut(self.call) {
            record.running -= 1;
            record.ends += u32::from(self.has_ended);
        }
        let (call, has_ended) = (self.call, self.has_ended);
        let numbers = [15, call as u64, u64::from(has_ended)];
        self.ledger.trace.note(&numbers, || match has_ended {
            true => format!("the handler of call {call} ends"),
            false => format!("the handler of call {call} is dropped"),
        });
    }
}

/// A call may take so much longer than its limit.
const GRACE: Duration = Duration::from_millis(250);
