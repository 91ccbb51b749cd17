//! What becomes of the handlers of a conversation: answered at once, asked by the POST that waits
//! for them, or a task.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Instant;

use switchboard_protocol::http::server::Stage;
use switchboard_protocol::jsonrpc::Message;
use switchboard_protocol::machine::Lane;
use switchboard_protocol::machine::server::{Answer, Input, Output, Reply, Serve, ServeKey};
use tokio::runtime::Handle;

use super::locked::Locked;
use super::{Arrived, Conversation};
use crate::clock;
use crate::context::{Context, Visitor};
use crate::http::lane::First;
use crate::http::waiting::Ready;
use crate::runner::{Running, Started, start};

/// What has become of a call that just came.
pub(super) enum Begun {
    Answered(Ready),
    /// Its answer comes.
    Waits,
    /// The same, and whoever waits for it asks its handler.
    IsAsked(Handler),
}

/// The handler of a POST that waits, for whoever waits to ask it.
pub(in crate::http) enum Handler {
    /// It was not asked yet, and its call may not be in flight.
    New(New),
    /// It is kept with its call, which is in flight. This is its context.
    Kept(Context),
}

/// A handler that was not asked yet.
pub(in crate::http) struct New {
    running: Running,
    /// When its call came.
    came: Instant,
}

impl Conversation {
    /// Has a call handled that just came. If it is answered at once, and nothing happens
    /// before, it never is in flight.
    pub(super) fn begin(self: &Arc<Self>, now: Instant, context: Context) -> Begun {
        let key = context.serve().key;
        let started = start(&*self.home.site.service, &context);
        let mut errands = Vec::new();
        match started {
            Started::Done(answer) => {
                let mut state = self.lock();
                let is_this = |arrived: &mut Arrived| arrived.context.serve().key == key;
                let Some(arrived) = state.arriving.take_if(is_this) else {
                    drop(state);
                    self.answered(key, answer, &mut errands);
                    self.serve_all(errands, context.visitor());
                    return Begun::Waits;
                };
                let call = arrived.call;
                let reply = state.core.answer(now, call, &context, answer, &mut errands);
                match reply {
                    Some(Reply::Text(text)) => {
                        return Begun::Answered(Ready::Text(text.to_bytes()));
                    }
                    Some(Reply::Response(response)) => {
                        return Begun::Answered(Ready::Response(response));
                    }
                    None => {}
                }
                // The client is asked.
                state.core.take_own(0, &mut errands);
                state.lanes.open(arrived.lane, arrived.accepted);
                self.settle(&mut state, Stage::Answer, &mut errands);
                self.set_alarm(&mut state);
                drop(state);
                self.serve_all(errands, context.visitor());
            }
            Started::Waiting(running) => {
                let mut state = self.lock();
                state.enter(now);
                self.wait(state, context, running);
            }
            Started::Long(future) => {
                return Begun::IsAsked(Handler::New(New {
                    running: Running::new(future, context),
                    came: now,
                }));
            }
        }
        Begun::Waits
    }

    /// What a POST is answered with, once that is known. Its handler is asked as long as that is for
    /// whoever waits.
    pub(in crate::http) fn poll_post(
        self: &Arc<Self>,
        lane: Lane,
        handler: &mut Option<Handler>,
        task: &mut TaskContext<'_>,
    ) -> Poll<Option<First>> {
        // Without the lock: it may have something to say.
        let (context, answer) = match handler.take() {
            None => return self.poll_first(lane, task),
            Some(Handler::New(mut new)) => {
                let Poll::Ready(answer) = new.running.poll_answer(task) else {
                    return match self.keep_new(new) {
                        Some((mut state, context)) => {
                            *handler = Some(Handler::Kept(context));
                            state.lanes.poll_first(lane, task)
                        }
                        None => self.poll_first(lane, task),
                    };
                };
                let context = new.running.context().clone();
                new.running.abandon();
                context.end();
                (context, answer)
            }
            Some(Handler::Kept(context)) => {
                let key = context.serve().key;
                let Some(mut running) = self.lock().core.take_here(key) else {
                    return self.poll_first(lane, task);
                };
                let Poll::Ready(answer) = running.poll_answer(task) else {
                    let mut state = self.lock();
                    let Some(stopped) = state.core.give_back(key, running) else {
                        *handler = Some(Handler::Kept(context));
                        return state.lanes.poll_first(lane, task);
                    };
                    drop(state);
                    stopped.abandon();
                    return self.poll_first(lane, task);
                };
                running.abandon();
                (context, answer)
            }
        };
        let (first, errands) = self.answer_post(context.serve().key, answer);
        self.serve_all(errands, context.visitor());
        match first {
            Some(first) => Poll::Ready(Some(first)),
            None => self.poll_first(lane, task),
        }
    }

    /// Keeps a handler that must wait with its call, which is in flight from now on at the latest.
    /// Gives its context, under the lock, unless nobody waits for it any more.
    fn keep_new(self: &Arc<Self>, new: New) -> Option<(Locked<'_>, Context)> {
        let New { running, came } = new;
        let key = running.context().serve().key;
        let mut state = self.lock();
        let entered = state.enter(came);
        if state.core.machine.is_open(key) {
            // If something has happened meanwhile, another context was given up then.
            let own = entered.filter(|entered| entered.serve().key == key);
            let own = own.unwrap_or_else(|| running.context().clone());
            state.core.keep_here(key, running);
            self.set_alarm(&mut state);
            return Some((state, own));
        }
        drop(state);
        running.context().end();
        running.abandon();
        None
    }

    /// The handler of a POST that waits has answered: what it is answered with, unless that goes
    /// another way, and what is to be handled after it.
    fn answer_post(
        self: &Arc<Self>,
        key: ServeKey,
        answer: Answer,
    ) -> (Option<First>, Vec<Output>) {
        let mut state = self.lock();
        // One that came meanwhile, which is rare.
        if state.arriving.is_some() {
            state.enter(clock::now());
        }
        state.core.answered(key);
        let mut out = Vec::new();
        let reply = state
            .core
            .answer_in_flight(clock::now, key, answer, &mut out);
        if !out.is_empty() {
            self.settle(&mut state, Stage::Answer, &mut out);
        }
        let mut first = None;
        if let Some((lane, response)) = reply {
            let message = Message::from(response);
            match state.lanes.take_undecided(lane) {
                true => first = Some(First::Answer(message, Stage::Answer)),
                false => state.lanes.send(self, lane, message, Stage::Answer),
            }
        }
        if state.core.machine.open_questions() > 0 || state.alarm.is_some() {
            self.set_alarm(&mut state);
        }
        (first, out)
    }

    /// The context of a handler that is kept with its call, which one that was not asked is from now on.
    pub(in crate::http) fn kept(self: &Arc<Self>, handler: Handler) -> Option<Context> {
        match handler {
            Handler::New(new) => self.keep_new(new).map(|(_, context)| context),
            Handler::Kept(context) => Some(context),
        }
    }

    /// No POST waits for this handler any more. If it is to go on all the same, it has a task.
    pub(in crate::http) fn part_with(self: &Arc<Self>, handler: Handler) {
        let Some(context) = self.kept(handler) else {
            return;
        };
        let key = context.serve().key;
        let mut state = self.lock();
        let Some(running) = state.core.take_here(key) else {
            return;
        };
        match Handle::try_current() {
            Ok(runtime) => {
                let worker = Arc::clone(self).work(key, running, context.visitor().clone());
                // It cannot get to its end before the lock is free.
                let task = runtime.spawn(worker);
                state.core.keep(key, task.abort_handle(), context);
            }
            // Nothing goes on after the runtime.
            Err(_) => {
                drop(state);
                running.abandon();
            }
        }
    }

    /// Has calls handled, in order, and what follows from their answers.
    pub(super) fn serve_all(self: &Arc<Self>, errands: Vec<Output>, visitor: &Visitor) {
        let mut errands = VecDeque::from(errands);
        let mut next = Vec::new();
        while let Some(errand) = errands.pop_front() {
            let Output::Serve(serve) = errand else {
                continue;
            };
            if errands.is_empty() {
                // Mostly it was the only one, and there is room for its answer now.
                next = Vec::from(std::mem::take(&mut errands));
            }
            self.serve(serve, visitor, &mut next);
            // Answers may have calls started again, with input.
            errands.extend(next.drain(..));
        }
    }

    /// Has a call handled; what is to be handled after it is appended.
    fn serve(self: &Arc<Self>, serve: Serve, visitor: &Visitor, errands: &mut Vec<Output>) {
        let key = serve.key;
        let context = self.context(serve, visitor.clone());
        match start(&*self.home.site.service, &context) {
            Started::Done(answer) => self.answered(key, answer, errands),
            Started::Waiting(running) => self.wait(self.lock(), context, running),
            Started::Long(future) => {
                let running = Running::new(future, context.clone());
                self.wait(self.lock(), context, running);
            }
        }
    }

    /// Has a task wait for the answer to a call in flight.
    fn wait(self: &Arc<Self>, mut state: Locked<'_>, context: Context, running: Running) {
        let key = context.serve().key;
        if !state.core.machine.is_open(key) {
            // Cancelled while it began. It is dropped without the lock: it is not ours.
            drop(state);
            context.end();
            drop(running);
            return;
        }
        let worker = Arc::clone(self).work(key, running, context.visitor().clone());
        // It cannot get to its end before the lock is free.
        let task = tokio::spawn(worker);
        state.core.keep(key, task.abort_handle(), context);
        self.set_alarm(&mut state);
    }

    /// A handler that must wait.
    async fn work(self: Arc<Self>, key: ServeKey, running: Running, visitor: Visitor) {
        let answer = running.await;
        let mut errands = Vec::new();
        self.answered(key, answer, &mut errands);
        self.serve_all(errands, &visitor);
    }

    fn answered(self: &Arc<Self>, key: ServeKey, answer: Answer, errands: &mut Vec<Output>) {
        let mut state = self.lock();
        // Mostly it was answered at once, and nothing is.
        if state.core.running() > 0 {
            state.core.answered(key);
        }
        let input = Input::Answered { key, answer };
        self.handle(&mut state, Stage::Answer, input, errands);
        if state.core.machine.open_questions() > 0 || state.alarm.is_some() {
            self.set_alarm(&mut state);
        }
    }
}
