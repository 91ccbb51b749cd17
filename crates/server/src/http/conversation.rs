//! One conversation over HTTP: a session, or a request that stands alone.
//!
//! A machine and its lanes behind a short lock, and no task: an idle session is a few
//! hundred bytes. Handlers that are ready at once are answered where the request is; one
//! that must wait is a task that takes the lock when it has something to say.
//!
//! Specification: basic/transports of each revision.

mod handlers;
mod link;
mod locked;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::{Context as TaskContext, Poll};
use std::time::Instant;

use http::{Response, StatusCode};
use switchboard_protocol::Revision;
use switchboard_protocol::http::negotiate::{Accepted, Format};
use switchboard_protocol::http::server::Stage;
use switchboard_protocol::jsonrpc::{self, Frame, Malformed, Message};
use switchboard_protocol::machine::Lane;
use switchboard_protocol::machine::server::{
    Arrival, Arriving, Caller, Input, Output, Serve, ServerMachine, ServerState,
};
use switchboard_transport::http::{
    Body, EventSender, Post, Principal, ReplayLimits, ResumeError, StreamSettings, event_stream,
    events, json,
};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::AbortHandle;

use self::handlers::Begun;
pub(super) use self::handlers::Handler;
use self::locked::Locked;
use super::Home;
use super::lane::{First, Lanes, Resumes};
use super::waiting::{Later, Patience, Taken, Waiting};
use crate::clock;
use crate::connection::Connection;
use crate::context::{Context, Visitor};
use crate::core::Core;
use crate::link::{Link, SessionName};
use crate::runner::tell;

/// One conversation.
pub(super) struct Conversation {
    home: Arc<Home>,
    /// The place that a request without a session takes while it, or its handler, is there.
    _place: Option<OwnedSemaphorePermit>,
    kind: Kind,
    me: OnceLock<Weak<Self>>,
    /// Whether it is told when the server ends.
    has_waited: AtomicBool,
    name: SessionName,
    /// Who the caller is, if callers are known.
    principal: OnceLock<Arc<Principal>>,
    state: Mutex<State>,
}

/// How requests belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One request that stands alone, of the stateless era.
    Stateless,
    /// One request that stands alone, of the handshake era.
    Sessionless,
    /// A session.
    Session,
    /// A session of the transport of 2024-11-05, with one stream.
    Old,
}

struct State {
    core: Core,
    lanes: Lanes,
    caller: Option<Arc<Caller>>,
    /// Wakes the machine at its deadline. Most conversations never need it.
    alarm: Option<Alarm>,
    /// The call that came last, while its handler has it for the first time and nothing else
    /// has happened: most are answered then.
    arriving: Option<Arrived>,
}

/// A call that is not in flight, on a lane that is not open.
struct Arrived {
    call: Arriving,
    context: Context,
    lane: Lane,
    accepted: Accepted,
}

impl State {
    /// Something else happens: from here on the call that came last is in flight. Gives its context.
    fn enter(&mut self, now: Instant) -> Option<Context> {
        let arrived = self.arriving.take()?;
        self.lanes.open(arrived.lane, arrived.accepted);
        let serve = arrived.context.serve();
        self.core.machine.enter(now, arrived.call, serve);
        Some(arrived.context)
    }
}

/// A task that sleeps until the machine wants to be told the time.
struct Alarm {
    due: Instant,
    task: AbortHandle,
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Conversation {
    pub(super) fn new(home: Arc<Home>, machine: ServerMachine, kind: Kind) -> Self {
        let core = Core::new(machine, &home.site);
        Self {
            home,
            _place: None,
            kind,
            me: OnceLock::new(),
            has_waited: AtomicBool::new(false),
            name: SessionName::default(),
            principal: OnceLock::new(),
            state: Mutex::new(State {
                core,
                lanes: Lanes::default(),
                caller: None,
                alarm: None,
                arriving: None,
            }),
        }
    }

    /// The same, which takes a place as long as it is there.
    pub(super) fn taking(self, place: OwnedSemaphorePermit) -> Self {
        Self {
            _place: Some(place),
            ..self
        }
    }

    /// From now on, the conversation hears of changes.
    pub(super) fn join_audience(self: &Arc<Self>) {
        let me = self.me.get_or_init(|| Arc::downgrade(self));
        self.home
            .site
            .audience
            .join(Weak::clone(me) as Weak<dyn Link>);
        self.home.streams.join(Weak::clone(me) as Weak<dyn Link>);
    }

    /// From now on, the conversation is told when the server ends: it has a call that waits.
    pub(super) fn join_waiting(self: &Arc<Self>) {
        let is_alone = matches!(self.kind, Kind::Stateless | Kind::Sessionless);
        let has_waited = || {
            // One that is used again has, and to look costs less than to say so again.
            self.has_waited.load(Ordering::Relaxed) || self.has_waited.swap(true, Ordering::Relaxed)
        };
        if is_alone && !has_waited() {
            let me = self.me.get_or_init(|| Arc::downgrade(self));
            self.home.waiting.join(Weak::clone(me) as Weak<dyn Link>);
        }
    }

    /// Takes in a POST. What it is answered with may be there then, or be waited for.
    pub(super) fn take(self: Arc<Self>, now: Instant, post: Post) -> Taken {
        let era = post.admission.era();
        let accepts = post.accepted;
        let visitor = Visitor {
            principal: post.principal,
            head: Some(post.head),
        };
        if let Some(principal) = &visitor.principal {
            // A session has one caller, and a request that stands alone has too.
            self.principal.get_or_init(|| Arc::clone(principal));
        }
        self.me.get_or_init(|| Arc::downgrade(&self));
        let mut state = self.lock();
        state.enter(now);
        let lane = state.lanes.number();
        let mut out = Vec::new();
        let mut handler = None;
        match state.core.receive(now, lane, post.frame, &mut out) {
            Some(Arrival { serve, call, .. })
                if out.is_empty() && accepts.choose(false) == Some(Format::Json) =>
            {
                let context = self.context(serve, visitor);
                state.arriving = Some(Arrived {
                    call,
                    context: context.clone(),
                    lane,
                    accepted: accepts,
                });
                drop(state);
                match self.begin(now, context) {
                    Begun::Answered(reply) => {
                        return Taken::Answered(reply.response(era), self);
                    }
                    Begun::Waits => {}
                    Begun::IsAsked(new) => handler = Some(new),
                }
            }
            arrival => {
                state.lanes.open(lane, accepts);
                self.settle(&mut state, Stage::Admission, &mut out);
                if let Some(Arrival { serve, call, .. }) = arrival {
                    state.core.machine.enter(now, call, &serve);
                    out.push(Output::Serve(serve));
                }
                self.go_on(state, out, &visitor);
            }
        }
        let patience = Patience::new(now, self.stream_settings().keep_alive, post.is_asked_again);
        // From here on, being dropped means that the client has gone.
        let waiting = Waiting::new(self, lane, handler, patience);
        Taken::Waiting(Later::new(waiting, era, accepts))
    }

    /// Takes in what a client of 2024-11-05 posted; it is answered on the one stream.
    pub(super) fn receive_shared(
        self: &Arc<Self>,
        frame: Result<Frame, Malformed>,
        visitor: Visitor,
    ) {
        let mut state = self.lock();
        let mut errands = Vec::new();
        let lane = Lane::SHARED;
        let input = Input::Received { lane, frame };
        self.handle(&mut state, Stage::Admission, input, &mut errands);
        self.go_on(state, errands, &visitor);
    }

    /// Opens the stream that belongs to no request, or resumes one.
    pub(super) fn listen(self: &Arc<Self>, last_event_id: Option<&str>) -> Response<Body> {
        let (sender, body) = events(self.stream_settings());
        let mut state = self.lock();
        match last_event_id {
            None => {
                self.hold(&sender);
                state.lanes.listen(sender);
            }
            Some(id) => match state.lanes.resume(id, sender.clone()) {
                Ok(Some(lane)) => self.watch(lane, &sender),
                Ok(None) => self.hold(&sender),
                Err(error) => {
                    if error == ResumeError::Lost {
                        self.refusals().note("replay");
                    }
                    let error = jsonrpc::ErrorObject::invalid_request(error.to_string());
                    let answer = Message::from(jsonrpc::Response::without_id(error));
                    return json(StatusCode::BAD_REQUEST, &answer);
                }
            },
        }
        event_stream(body)
    }

    /// The one stream of a client of 2024-11-05.
    pub(super) fn take_stream(&self, sender: &EventSender) {
        self.lock().lanes.listen(sender.clone());
    }

    /// Has the handshake succeeded?
    pub(super) fn is_open(&self) -> bool {
        self.lock().caller.is_some()
    }

    /// Is it as if nobody had used it, so that another may? It must be held once, and know
    /// nothing of its caller but what every request says.
    pub(super) fn is_spotless(self: &Arc<Self>) -> bool {
        let state = self.lock();
        // Whoever has news for it would bring it twice.
        let known_by = 1 + usize::from(self.has_waited.load(Ordering::Relaxed));
        let is_known = Arc::strong_count(self) > 1 || Arc::weak_count(self) > known_by;
        !is_known
            && self.principal.get().is_none()
            && self.name.is_unset()
            && state.alarm.is_none()
            && state.arriving.is_none()
            && state.lanes.is_empty()
            && state.core.is_idle()
    }

    /// Ends the conversation: the client has gone or must.
    pub(super) fn close(self: &Arc<Self>) {
        let mut state = self.lock();
        self.handle(
            &mut state,
            Stage::Answer,
            Input::PeerClosed,
            &mut Vec::new(),
        );
        state.alarm = None;
        state.lanes.close();
    }

    /// What a POST is answered with, once that is known.
    pub(super) fn poll_first(&self, lane: Lane, task: &mut TaskContext<'_>) -> Poll<Option<First>> {
        self.lock().lanes.poll_first(lane, task)
    }

    /// A POST has waited for long: a stream shows that it is not forgotten.
    pub(super) fn begin_stream(self: &Arc<Self>, lane: Lane) {
        self.lock().lanes.begin_stream(self, lane);
    }

    /// The client of a POST has gone before it was answered.
    pub(super) fn lane_gone(self: &Arc<Self>, lane: Lane) {
        let mut state = self.lock();
        let undelivered = state.lanes.detach(lane);
        let input = Input::LaneClosed { lane };
        self.handle(&mut state, Stage::Answer, input, &mut Vec::new());
        drop(state);
        // The end of a stream is told to this conversation, which takes the lock.
        drop(undelivered);
    }

    /// The client has gone that read the stream of a POST.
    fn stream_gone(self: &Arc<Self>, lane: Lane) {
        // It may have come back already, and reads another.
        if self.lock().lanes.is_unread(lane) {
            self.lane_gone(lane);
        }
    }

    /// A stream for a lane, whose end is noticed.
    pub(super) fn new_stream(self: &Arc<Self>, lane: Lane) -> (EventSender, Body) {
        let (sender, body) = events(self.stream_settings());
        self.watch(lane, &sender);
        (sender, body)
    }

    pub(super) fn stream_settings(&self) -> &StreamSettings {
        &self.home.settings.stream
    }

    pub(super) fn replay_limits(&self) -> &ReplayLimits {
        &self.home.site.limits.replay
    }

    /// Notices when the stream of a lane is not read any more. Until then the conversation
    /// stays: a stream of changes has nothing else to keep it, and a session is in use.
    fn watch(self: &Arc<Self>, lane: Lane, sender: &EventSender) {
        let conversation = Arc::clone(self);
        sender.on_closed(move || conversation.stream_gone(lane));
    }

    /// While the stream that belongs to no POST is read, the session is in use.
    fn hold(self: &Arc<Self>, sender: &EventSender) {
        let conversation = Arc::clone(self);
        sender.on_closed(move || drop(conversation));
    }

    /// Has done what follows from a message.
    fn go_on(self: &Arc<Self>, mut state: Locked<'_>, mut errands: Vec<Output>, visitor: &Visitor) {
        if state.core.machine.state() == ServerState::Shutdown {
            // It was ended while this was on its way, so nobody will answer.
            state.lanes.close();
        }
        let is_serve = |errand: &Output| matches!(errand, Output::Serve(_));
        if !errands.iter().any(is_serve) {
            // An answer to a question has its handler's time go on.
            self.set_alarm(&mut state);
        }
        if errands.iter().all(is_serve) {
            drop(state);
        } else {
            let caller = state.caller.clone();
            drop(state);
            for errand in errands.extract_if(.., |errand| !is_serve(errand)) {
                match errand {
                    Output::Told(told) => tell(&*self.home.site.service, told, caller.as_ref()),
                    Output::Listening { filter, caller, .. } => {
                        let link = Arc::downgrade(self) as Weak<dyn Link>;
                        let connection = Connection::new(link);
                        let service = &self.home.site.service;
                        service.listening(&filter, connection, &caller);
                    }
                    _ => {}
                }
            }
        }
        self.serve_all(errands, visitor);
    }

    fn context(self: &Arc<Self>, serve: Serve, visitor: Visitor) -> Context {
        let link = Arc::clone(self) as Arc<dyn Link>;
        self.home.site.context(serve, link, visitor)
    }

    /// Has the machine told the time when it wants that.
    fn set_alarm(self: &Arc<Self>, state: &mut State) {
        let due = state.core.machine.deadline();
        if due == state.alarm.as_ref().map(|alarm| alarm.due) {
            return;
        }
        state.alarm = due.map(|due| {
            let conversation = Arc::downgrade(self);
            let task = tokio::spawn(async move {
                tokio::time::sleep_until(due.into()).await;
                if let Some(conversation) = conversation.upgrade() {
                    conversation.tick(due);
                }
            });
            let task = task.abort_handle();
            Alarm { due, task }
        });
    }

    /// The time has come that the machine named.
    fn tick(self: &Arc<Self>, now: Instant) {
        let mut state = self.lock();
        let mut out = Vec::new();
        state.enter(now);
        state.core.handle(now, Input::Tick, &mut out);
        self.settle(&mut state, Stage::Answer, &mut out);
        self.set_alarm(&mut state);
    }

    /// Gives the machine something that happened, and does what can be done under the lock.
    /// What must be done without it is left over: to serve and to tell.
    fn handle(
        self: &Arc<Self>,
        state: &mut State,
        stage: Stage,
        input: Input,
        out: &mut Vec<Output>,
    ) {
        let now = clock::now();
        state.enter(now);
        state.core.handle(now, input, out);
        self.settle(state, stage, out);
    }

    fn settle(self: &Arc<Self>, state: &mut State, stage: Stage, out: &mut Vec<Output>) {
        let is_listening = |output: &Output| matches!(output, Output::Listening { .. });
        if self.kind == Kind::Stateless && out.iter().any(is_listening) {
            self.join_audience();
        }
        let is_errand = |output: &Output| {
            matches!(output, Output::Serve(_) | Output::Told(_)) || is_listening(output)
        };
        for output in out.extract_if(.., |output| !is_errand(output)) {
            match output {
                Output::Send { lane, message } => state.lanes.send(self, lane, message, stage),
                Output::SendBatch { lane, responses } => {
                    state.lanes.send_batch(self, lane, responses);
                }
                Output::Accepted { lane } => state.lanes.accept(self, lane),
                Output::Opened(caller) => {
                    state.lanes.resumes = self.resumes(caller.revision);
                    state.caller = Some(caller);
                }
                // What else there is concerns the machine alone.
                _ => {}
            }
        }
    }

    /// What a client of this revision can do after it has lost a stream.
    fn resumes(&self, revision: Revision) -> Resumes {
        match self.kind {
            Kind::Session if revision.primes_streams() => Resumes::Primed,
            Kind::Session => Resumes::ByEvent,
            Kind::Stateless | Kind::Sessionless | Kind::Old => Resumes::Never,
        }
    }

    fn me(&self) -> Option<Arc<Self>> {
        self.me.get().and_then(Weak::upgrade)
    }

    fn lock(&self) -> Locked<'_> {
        Locked::new(&self.state)
    }
}
