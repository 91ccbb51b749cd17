//! A machine with the handlers that work for it.
//!
//! Everything that does not depend on how bytes travel: questions find their askers,
//! handlers that nobody waits for are stopped. The drivers in `pipe.rs` and `http.rs` do
//! the rest.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Instant;

use switchboard_protocol::jsonrpc::{
    ErrorCode, ErrorObject, Frame, Malformed, Message, Request, Response,
};
use switchboard_protocol::machine::Lane;
use switchboard_protocol::machine::server::{
    Admitted, Answer, Arrival, Arriving, AskError, AskKey, Input, Output, Reply, Serve, ServeKey,
    ServerConfig, ServerMachine, ServerState,
};
use switchboard_protocol::types::CallToolResult;
use switchboard_protocol::{Method, Payload, Refusals, Revision};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::audience::Audience;
use crate::clock;
use crate::context::{Context, Visitor};
use crate::limits::Limits;
use crate::link::Link;
use crate::runner::Running;
use crate::seal::SealingKeys;
use crate::service::Service;

/// What every connection of one server shares.
pub(crate) struct Site {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) limits: Limits,
    pub(crate) revisions: Vec<Revision>,
    pub(crate) seals: SealingKeys,
    pub(crate) audience: Arc<Audience>,
    /// Where is counted what was over a limit.
    pub(crate) refusals: Refusals,
}

impl Site {
    /// The context of a call.
    #[inline]
    pub(crate) fn context(&self, serve: Serve, link: Arc<dyn Link>, visitor: Visitor) -> Context {
        Context::of_call(serve, link, visitor, self.deadline())
    }

    /// When a call that begins now will be given up.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let limit = self.limits.handler?;
        clock::now().checked_add(limit)
    }

    /// What a machine is set up with.
    pub(crate) fn config(&self) -> ServerConfig {
        let about = self.service.about();
        let mut config = ServerConfig::new(about.info, about.capabilities);
        config.instructions = about.instructions;
        config.revisions.clone_from(&self.revisions);
        config.max_calls = self.limits.calls;
        config.max_subscriptions = self.limits.subscriptions;
        config.max_streams = self.limits.streams;
        config.handler_timeout = self.limits.handler;
        config.ask_timeout = self.limits.answer;
        config.refusals = self.refusals.clone();
        config
    }
}

/// A machine with the handlers that work for it.
pub(crate) struct Core {
    pub(crate) machine: ServerMachine,
    refusals: Refusals,
    most_bytes: usize,
    /// A result that is a text of no more than this is not larger than that.
    safe_text: usize,
    /// At the places of their calls.
    workers: Vec<Option<Worker>>,
    running: usize,
    /// Those that nobody waits for any more.
    stopped: Vec<Running>,
    asked: HashMap<AskKey, oneshot::Sender<Result<Payload, AskError>>>,
    last_ask: u64,
}

/// A handler that must wait.
struct Worker {
    key: ServeKey,
    work: Work,
}

enum Work {
    /// A task of its own asks it.
    Task(AbortHandle, Context),
    /// Whoever has the connection does.
    Here(Running),
    /// He is at it.
    Taken(Context),
}

impl Work {
    const fn context(&self) -> &Context {
        match self {
            Self::Task(_, context) | Self::Taken(context) => context,
            Self::Here(running) => running.context(),
        }
    }
}

impl Worker {
    /// Stops it, but for what is to be dropped of it where nobody has to wait for that.
    fn stop(self) -> Option<Running> {
        self.work.context().end();
        match self.work {
            Work::Task(task, _) => {
                task.abort();
                None
            }
            Work::Here(running) => Some(running),
            Work::Taken(_) => None,
        }
    }
}

impl Core {
    /// No answer may be larger than a message of this site.
    pub(crate) fn new(machine: ServerMachine, site: &Site) -> Self {
        let most_bytes = site.limits.message.bytes;
        Self {
            machine,
            refusals: site.refusals.clone(),
            most_bytes,
            // No byte takes more than six, and the rest of the result is short.
            safe_text: most_bytes.saturating_sub(64) / 6,
            workers: Vec::new(),
            running: 0,
            stopped: Vec::new(),
            asked: HashMap::new(),
            last_ask: 0,
        }
    }

    /// Takes in something that happened; what is left for the driver is appended.
    pub(crate) fn handle(&mut self, now: Instant, mut input: Input, out: &mut Vec<Output>) {
        if let Input::Answered { answer, .. } = &mut input {
            self.check_size(answer);
        }
        let place = out.len();
        self.machine.handle(now, input, out);
        self.take_own(place, out);
    }

    /// Takes in a frame; gives a call that is to be handled, and appends what else is left
    /// for the driver.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        lane: Lane,
        frame: Result<Frame, Malformed>,
        out: &mut Vec<Output>,
    ) -> Option<Arrival> {
        match frame {
            Ok(Frame::Single(Message::Request(request))) => {
                let admitted = self.admit(lane, &request, out)?;
                Some(self.machine.arrive(lane, request, admitted))
            }
            frame => {
                self.handle(now, Input::Received { lane, frame }, out);
                None
            }
        }
    }

    /// Takes in a request that came by itself. If it may be handled, it
    /// [arrives](ServerMachine::arrive) next; what else is left for the driver is appended.
    pub(crate) fn admit(
        &mut self,
        lane: Lane,
        request: &Request,
        out: &mut Vec<Output>,
    ) -> Option<Admitted> {
        let place = out.len();
        let admitted = self.machine.admit_request(lane, request, out);
        if out.len() > place {
            self.take_own(place, out);
        }
        admitted
    }

    /// The handler of a call that just came has answered; gives what is to be sent. If that
    /// is nothing, what follows is appended, and [`take_own`](Self::take_own) comes next.
    pub(crate) fn answer(
        &mut self,
        now: Instant,
        call: Arriving,
        context: &Context,
        mut answer: Answer,
        out: &mut Vec<Output>,
    ) -> Option<Reply<'_>> {
        self.check_size(&mut answer);
        self.machine.answer(now, call, context.serve(), answer, out)
    }

    /// The handler of a call in flight has answered; gives what is to be sent after all that is
    /// appended.
    pub(crate) fn answer_in_flight(
        &mut self,
        now: impl FnOnce() -> Instant,
        key: ServeKey,
        mut answer: Answer,
        out: &mut Vec<Output>,
    ) -> Option<(Lane, Response)> {
        self.check_size(&mut answer);
        let place = out.len();
        let reply = self.machine.answer_in_flight(now, key, answer, out);
        if out.len() > place {
            self.take_own(place, out);
        }
        reply
    }

    /// A handler has answered.
    pub(crate) fn answered(&mut self, key: ServeKey) {
        if let Some(worker) = self.take(key) {
            worker.work.context().end();
        }
    }

    /// A handler must wait, as this task.
    pub(crate) fn keep(&mut self, key: ServeKey, task: AbortHandle, context: Context) {
        self.put(key, Work::Task(task, context));
    }

    /// A handler must wait, and is asked here.
    pub(crate) fn keep_here(&mut self, key: ServeKey, running: Running) {
        self.put(key, Work::Here(running));
    }

    /// Asks the handler at this place, if it is one that is asked here.
    pub(crate) fn poll_here(
        &mut self,
        place: usize,
        task: &mut TaskContext<'_>,
    ) -> Poll<(ServeKey, Answer)> {
        let Some(Some(worker)) = self.workers.get_mut(place) else {
            return Poll::Pending;
        };
        let Work::Here(running) = &mut worker.work else {
            return Poll::Pending;
        };
        let Poll::Ready(answer) = running.poll_answer(task) else {
            return Poll::Pending;
        };
        let key = worker.key;
        if let Some(running) = self.take(key).and_then(Worker::stop) {
            // It has answered, even if what it leaves behind breaks.
            running.abandon();
        }
        Poll::Ready((key, answer))
    }

    /// Takes a handler that is asked here, to ask it where nobody has to wait for that. It must be
    /// [given back](Self::give_back), or have a [task](Self::keep).
    pub(crate) fn take_here(&mut self, key: ServeKey) -> Option<Running> {
        let worker = self.workers.get_mut(key.place())?.as_mut()?;
        let Work::Here(running) = &worker.work else {
            return None;
        };
        if worker.key != key {
            return None;
        }
        let taken = Work::Taken(running.context().clone());
        match std::mem::replace(&mut worker.work, taken) {
            Work::Here(running) => Some(running),
            _ => None,
        }
    }

    /// The other half of it: gives the handler to the caller if nobody waits for it any more.
    pub(crate) fn give_back(&mut self, key: ServeKey, running: Running) -> Option<Running> {
        match self.workers.get_mut(key.place()) {
            Some(Some(worker)) if worker.key == key => {
                worker.work = Work::Here(running);
                None
            }
            _ => Some(running),
        }
    }

    fn put(&mut self, key: ServeKey, work: Work) {
        let place = key.place();
        if self.workers.len() <= place {
            self.workers.resize_with(place + 1, || None);
        }
        if let Some(free) = self.workers.get_mut(place) {
            let worker = Worker { key, work };
            if free.replace(worker).is_none() {
                self.running += 1;
            }
        }
    }

    fn take(&mut self, key: ServeKey) -> Option<Worker> {
        let place = self.workers.get_mut(key.place())?;
        let worker = place.take_if(|worker| worker.key == key)?;
        self.running -= 1;
        Some(worker)
    }

    /// Is nothing under way?
    pub(crate) fn is_idle(&self) -> bool {
        self.running == 0
            && self.asked.is_empty()
            && self.machine.open_calls() == 0
            && self.machine.state() != ServerState::Shutdown
    }

    /// How many handlers are waiting.
    pub(crate) const fn running(&self) -> usize {
        self.running
    }

    /// Is there a handler that nobody waits for any more?
    pub(crate) const fn has_stopped(&self) -> bool {
        !self.stopped.is_empty()
    }

    /// The handlers that nobody waits for any more, to be [abandoned](abandon) where they keep
    /// nobody waiting either.
    pub(crate) fn take_stopped(&mut self) -> Vec<Running> {
        std::mem::take(&mut self.stopped)
    }

    /// Asks the client for a handler, or for no call.
    pub(crate) fn ask(
        &mut self,
        now: Instant,
        key: Option<ServeKey>,
        method: Method,
        params: Option<Payload>,
        asker: oneshot::Sender<Result<Payload, AskError>>,
        out: &mut Vec<Output>,
    ) {
        self.last_ask += 1;
        let ask = AskKey(self.last_ask);
        self.asked.retain(|_, waiting| !waiting.is_closed());
        self.asked.insert(ask, asker);
        let input = Input::Ask {
            key,
            ask,
            method,
            params,
        };
        self.handle(now, input, out);
    }

    /// Does what is not for the driver, of what was appended from this place on.
    pub(crate) fn take_own(&mut self, mut place: usize, out: &mut Vec<Output>) {
        while let Some(output) = out.get(place) {
            if !matches!(output, Output::Stop { .. } | Output::Reply { .. }) {
                place += 1;
                continue;
            }
            match out.remove(place) {
                Output::Stop { key } => {
                    self.stop(key);
                    // A batch may cancel a call of its own, which has not begun then.
                    let is_its = |o: &Output| matches!(o, Output::Serve(s) if s.key == key);
                    if let Some(begun) = out.iter().position(is_its) {
                        out.remove(begun);
                        place -= usize::from(begun < place);
                    }
                }
                Output::Reply { ask, outcome, .. } => {
                    if let Some(asker) = self.asked.remove(&ask) {
                        // Whoever asked may have stopped waiting.
                        let _ = asker.send(outcome);
                    }
                }
                other => out.insert(place, other),
            }
        }
    }

    /// What the client would refuse to read is not sent.
    #[inline]
    fn check_size(&self, answer: &mut Answer) {
        if let Answer::Text(text) = answer {
            if text.len() <= self.safe_text {
                return;
            }
            *answer = Answer::Result(CallToolResult::text_payload(text));
        }
        let (Answer::Result(result) | Answer::InputRequired(result)) = &*answer else {
            return;
        };
        let (bytes, limit) = (result.length(), self.most_bytes);
        if bytes > limit {
            self.refusals.note("message");
            *answer = Answer::Error(ErrorObject::over_limit(
                ErrorCode::INTERNAL_ERROR,
                format!("the result has {bytes} bytes, and a message may have {limit}"),
                "message",
                None,
            ));
        }
    }

    fn stop(&mut self, key: ServeKey) {
        let stopped = self.take(key).and_then(Worker::stop);
        self.stopped.extend(stopped);
    }
}

/// Drops handlers that nobody waits for. They are not ours: whatever they do then, they do without
/// anything of ours being locked.
pub(crate) fn abandon(stopped: Vec<Running>) {
    for running in stopped {
        running.abandon();
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let mut workers: Vec<Worker> = self.workers.drain(..).flatten().collect();
        // In the order in which they came.
        workers.sort_unstable_by_key(|worker| worker.key);
        let stopped = workers.into_iter().filter_map(Worker::stop);
        self.stopped.extend(stopped);
        abandon(std::mem::take(&mut self.stopped));
    }
}
