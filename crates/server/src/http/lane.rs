//! The streams of one conversation, and what is on its way on them.
//!
//! Each POST has a lane. Its first message decides what it is answered with: JSON if that is
//! the answer, an event stream if something comes before. A client of the handshake era that
//! loses a stream may come back for it; what it missed is kept.
//!
//! Specification: basic/transports of each revision.

use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use switchboard_protocol::http::negotiate::{Accepted, Format};
use switchboard_protocol::http::server::Stage;
use switchboard_protocol::jsonrpc::{Message, Response};
use switchboard_protocol::machine::Lane;
use switchboard_transport::http::{
    Body, EventSender, Replay, ResumeError, SendError, message_event,
};

use super::conversation::Conversation;
use crate::link::Link;

/// What a POST is answered with.
#[derive(Debug)]
pub(super) enum First {
    /// Nothing: 202.
    Nothing,
    /// The answer.
    Answer(Message, Stage),
    /// The answers of a batch.
    Batch(Vec<Response>),
    /// An event stream.
    Stream(Body),
}

/// What a client can do after it has lost a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Resumes {
    /// Nothing: the stream is lost.
    #[default]
    Never,
    /// It comes back with the id of the last event.
    ByEvent,
    /// The same, and it is given an id before the first message.
    Primed,
}

/// The streams of one conversation.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// In boxes: a session keeps the room of its map while it is idle.
    lanes: Table,
    last: u64,
    replay: Replay,
    shared: Shared,
    pub(super) resumes: Resumes,
}

/// The POSTs under way: few, so that looking through them is quicker than hashing.
#[derive(Debug, Default)]
struct Table(Vec<(u64, Box<State>)>);

impl Table {
    fn insert(&mut self, number: u64, state: Box<State>) {
        self.0.push((number, state));
    }

    fn get(&self, number: u64) -> Option<&State> {
        let found = self.0.iter().find(|(known, _)| *known == number);
        found.map(|(_, state)| &**state)
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut State> {
        let found = self.0.iter_mut().find(|(known, _)| *known == number);
        found.map(|(_, state)| &mut **state)
    }

    fn remove(&mut self, number: u64) -> Option<Box<State>> {
        let place = self.0.iter().position(|(known, _)| *known == number)?;
        Some(self.0.swap_remove(place).1)
    }
}

/// One POST.
#[derive(Debug)]
struct State {
    accepted: Accepted,
    /// What it is answered with, until it is.
    first: Option<First>,
    /// Whoever answers it.
    waker: Option<Waker>,
    way: Way,
}

/// Where the messages of a POST go.
#[derive(Debug)]
enum Way {
    /// The first one decides.
    Undecided,
    Streaming {
        sender: EventSender,
        stream: Option<u64>,
    },
    /// The client has gone, but may come back for it.
    Detached { stream: u64 },
    /// There are no more.
    Ended,
}

/// The stream that belongs to no POST.
#[derive(Debug, Default)]
struct Shared {
    sender: Option<EventSender>,
    stream: Option<u64>,
    /// What came while nobody listened.
    unsent: Vec<Bytes>,
}

impl Lanes {
    /// Is no POST under way?
    pub(super) const fn is_empty(&self) -> bool {
        self.lanes.0.is_empty()
    }

    /// A number for the lane of a POST that has come.
    pub(super) const fn number(&mut self) -> Lane {
        self.last += 1;
        Lane(self.last)
    }

    /// Opens the lane of a POST that was not answered at once.
    pub(super) fn open(&mut self, lane: Lane, accepted: Accepted) {
        let state = State {
            accepted,
            first: None,
            waker: None,
            way: Way::Undecided,
        };
        self.lanes.insert(lane.0, Box::new(state));
    }

    /// What a POST is answered with; none if nobody will answer any more.
    pub(super) fn poll_first(
        &mut self,
        lane: Lane,
        task: &mut TaskContext<'_>,
    ) -> Poll<Option<First>> {
        let Some(state) = self.lanes.get_mut(lane.0) else {
            return Poll::Ready(None);
        };
        match (state.first.take(), &state.way) {
            (None, Way::Undecided) => {
                match &mut state.waker {
                    Some(known) => known.clone_from(task.waker()),
                    none => *none = Some(task.waker().clone()),
                }
                Poll::Pending
            }
            (first, Way::Undecided | Way::Ended) => {
                self.lanes.remove(lane.0);
                Poll::Ready(first)
            }
            (first, _) => Poll::Ready(first),
        }
    }

    /// Takes a lane on which nothing was sent: false if something was, or its client has gone.
    pub(super) fn take_undecided(&mut self, lane: Lane) -> bool {
        let is_undecided = |state: &State| matches!(state.way, Way::Undecided);
        let found = self.lanes.get(lane.0);
        let is_free = found.is_some_and(|state| is_undecided(state) && state.first.is_none());
        is_free && self.lanes.remove(lane.0).is_some()
    }

    /// Sends a message to wherever its lane leads.
    pub(super) fn send(
        &mut self,
        home: &Arc<Conversation>,
        lane: Lane,
        message: Message,
        stage: Stage,
    ) {
        if lane == Lane::SHARED {
            return self.send_shared(home, &message);
        }
        let is_answer = matches!(message, Message::Response(_));
        let Some(state) = self.lanes.get_mut(lane.0) else {
            // Its client has gone for good.
            return;
        };
        match &state.way {
            Way::Undecided if is_answer => state.decide(First::Answer(message, stage)),
            Way::Undecided => {
                // A client that takes no stream does not hear of it.
                if self.begin_stream(home, lane) {
                    self.put(home, lane, &message);
                }
            }
            Way::Streaming { .. } | Way::Detached { .. } => {
                self.put(home, lane, &message);
                if is_answer {
                    self.end(home, lane);
                }
            }
            Way::Ended => {}
        }
    }

    /// Sends the answers of a batch.
    pub(super) fn send_batch(
        &mut self,
        home: &Arc<Conversation>,
        lane: Lane,
        responses: Vec<Response>,
    ) {
        if lane == Lane::SHARED {
            // The one stream of 2024-11-05, whose clients may speak a later revision.
            for response in responses {
                self.send_shared(home, &Message::from(response));
            }
            return;
        }
        let Some(state) = self.lanes.get_mut(lane.0) else {
            return;
        };
        if matches!(state.way, Way::Undecided) {
            return state.decide(First::Batch(responses));
        }
        // The stream has begun, so they go out one by one.
        for response in responses {
            self.put(home, lane, &Message::from(response));
        }
        self.end(home, lane);
    }

    /// There is nothing to answer, or not any more.
    pub(super) fn accept(&mut self, home: &Arc<Conversation>, lane: Lane) {
        let Some(state) = self.lanes.get_mut(lane.0) else {
            return;
        };
        match &state.way {
            Way::Undecided if state.first.is_none() => state.decide(First::Nothing),
            Way::Undecided => {}
            Way::Streaming { .. } | Way::Detached { .. } | Way::Ended => self.end(home, lane),
        }
    }

    /// Nothing more comes on a lane.
    pub(super) fn end(&mut self, home: &Arc<Conversation>, lane: Lane) {
        let Some(state) = self.lanes.get_mut(lane.0) else {
            return;
        };
        let stream = match std::mem::replace(&mut state.way, Way::Ended) {
            Way::Streaming { sender, stream } => {
                sender.close();
                stream
            }
            Way::Detached { stream } => Some(stream),
            Way::Undecided | Way::Ended => None,
        };
        if let Some(stream) = stream {
            self.replay.end(home.replay_limits(), stream);
        }
        // Whoever answers the POST may not have seen it yet.
        match state.waker.take() {
            Some(waker) => waker.wake(),
            None if state.first.is_none() => {
                self.lanes.remove(lane.0);
            }
            None => {}
        }
    }

    /// Turns a POST that waits into an event stream: false if it cannot be one.
    pub(super) fn begin_stream(&mut self, home: &Arc<Conversation>, lane: Lane) -> bool {
        let Some(state) = self.lanes.get_mut(lane.0) else {
            return false;
        };
        let can_stream = state.accepted.accepts(Format::EventStream)
            && matches!(state.way, Way::Undecided)
            && state.first.is_none();
        if !can_stream {
            return false;
        }
        let (sender, body) = home.new_stream(lane);
        let stream = (self.resumes != Resumes::Never).then(|| self.replay.open());
        if let Some(stream) = stream
            && self.resumes == Resumes::Primed
        {
            // There is room in a new stream.
            let _ = sender.send(self.replay.prime(stream, None));
        }
        state.way = Way::Streaming { sender, stream };
        state.decide(First::Stream(body));
        true
    }

    /// Ends the stream of a POST for now: the client shall come back for the rest.
    pub(super) fn release(&mut self, home: &Arc<Conversation>, lane: Lane, retry: Duration) {
        if self.resumes != Resumes::Primed {
            return;
        }
        self.begin_stream(home, lane);
        let Some(state) = self.lanes.get_mut(lane.0) else {
            return;
        };
        if let Way::Streaming {
            sender,
            stream: Some(stream),
        } = &state.way
        {
            let stream = *stream;
            let _ = sender.send(self.replay.prime(stream, Some(retry)));
            sender.close();
            state.way = Way::Detached { stream };
        }
    }

    /// The client of a lane has gone; it may come back for its stream. Gives what it was to
    /// be answered with, which must be dropped without the lock of the conversation.
    #[must_use = "dropping a stream under the lock of its conversation waits for ever"]
    pub(super) fn detach(&mut self, lane: Lane) -> Option<First> {
        let state = self.lanes.get_mut(lane.0)?;
        match &state.way {
            Way::Streaming {
                stream: Some(stream),
                ..
            } => {
                state.way = Way::Detached { stream: *stream };
                state.first.take()
            }
            Way::Detached { .. } => state.first.take(),
            _ => self.lanes.remove(lane.0)?.first,
        }
    }

    /// Does nobody read the stream of this lane?
    pub(super) fn is_unread(&self, lane: Lane) -> bool {
        match self.lanes.get(lane.0).map(|state| &state.way) {
            Some(Way::Streaming { sender, .. }) => sender.is_closed(),
            _ => true,
        }
    }

    /// Has the client room for more on this lane?
    pub(super) fn poll_room(&self, lane: Lane, task: &mut TaskContext<'_>) -> Poll<()> {
        if lane == Lane::SHARED {
            let sender = self.shared.sender.as_ref();
            return sender.map_or(Poll::Ready(()), |sender| sender.poll_room(task));
        }
        match self.lanes.get(lane.0).map(|state| &state.way) {
            Some(Way::Streaming { sender, .. }) => sender.poll_room(task),
            _ => Poll::Ready(()),
        }
    }

    /// The stream that belongs to no POST has a reader. A reader before loses it.
    pub(super) fn listen(&mut self, sender: EventSender) {
        if let Some(before) = self.shared.sender.take() {
            before.close();
        }
        if self.resumes != Resumes::Never {
            let stream = *self.shared.stream.get_or_insert_with(|| self.replay.open());
            if self.resumes == Resumes::Primed {
                let _ = sender.send(self.replay.prime(stream, None));
            }
        }
        for event in self.shared.unsent.drain(..) {
            let _ = sender.send(event);
        }
        self.shared.sender = Some(sender);
    }

    /// A client comes back for a stream. Gives the lane that goes on there, if it is that of a
    /// POST and not over.
    pub(super) fn resume(
        &mut self,
        last_event_id: &str,
        sender: EventSender,
    ) -> Result<Option<Lane>, ResumeError> {
        let resumed = self.replay.resume(last_event_id)?;
        for event in resumed.events {
            let _ = sender.send(event);
        }
        if resumed.is_ended {
            sender.close();
            return Ok(None);
        }
        let number = resumed.stream;
        if self.shared.stream == Some(number) {
            // What came meanwhile is among the events of the replay.
            self.shared.unsent.clear();
            if let Some(before) = self.shared.sender.replace(sender) {
                before.close();
            }
            return Ok(None);
        }
        let found = self.lanes.0.iter_mut().find(|(_, state)| match &state.way {
            Way::Detached { stream } => *stream == number,
            Way::Streaming { stream, .. } => *stream == Some(number),
            _ => false,
        });
        let Some((lane, state)) = found else {
            sender.close();
            return Ok(None);
        };
        let stream = Some(number);
        let before = std::mem::replace(&mut state.way, Way::Streaming { sender, stream });
        if let Way::Streaming { sender, .. } = before {
            sender.close();
        }
        Ok(Some(Lane(*lane)))
    }

    /// Ends the stream that belongs to no POST.
    pub(super) fn end_shared(&mut self) {
        if let Some(sender) = self.shared.sender.take() {
            sender.close();
        }
    }

    /// Ends everything.
    pub(super) fn close(&mut self) {
        self.end_shared();
        self.lanes.0.retain_mut(|(_, state)| {
            if let Way::Streaming { sender, .. } = &state.way {
                sender.close();
            }
            state.way = Way::Ended;
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
            state.first.is_some()
        });
    }

    /// Puts a message on a stream, or keeps it for when the client is back.
    fn put(&mut self, home: &Arc<Conversation>, lane: Lane, message: &Message) {
        let limits = home.replay_limits();
        match self.lanes.get(lane.0).map(|state| &state.way) {
            Some(Way::Streaming {
                sender,
                stream: Some(stream),
            }) => put_or_end(home, sender, self.replay.push(limits, *stream, message)),
            Some(Way::Streaming { sender, .. }) => {
                put_or_end(home, sender, message_event(message, None));
            }
            Some(Way::Detached { stream }) => {
                self.replay.push(limits, *stream, message);
            }
            _ => {}
        }
    }

    fn send_shared(&mut self, home: &Arc<Conversation>, message: &Message) {
        let event = match self.resumes {
            Resumes::Never => message_event(message, None),
            Resumes::ByEvent | Resumes::Primed => {
                let stream = *self.shared.stream.get_or_insert_with(|| self.replay.open());
                self.replay.push(home.replay_limits(), stream, message)
            }
        };
        if let Some(sender) = &self.shared.sender
            && !sender.is_closed()
        {
            put_or_end(home, sender, event);
            return;
        }
        self.shared.sender = None;
        if self.shared.unsent.len() >= MOST_UNSENT {
            self.shared.unsent.remove(0);
            home.refusals().note("news");
        }
        self.shared.unsent.push(event);
    }
}

/// Sends an event. A client that is so far behind that there is no room for it must not
/// think that it has heard everything: its stream ends, and it may come back for the rest.
fn put_or_end(home: &Conversation, sender: &EventSender, event: Bytes) {
    if sender.send(event) == Err(SendError::Full) {
        home.refusals().note("stream");
        sender.end_early();
    }
}

impl State {
    fn decide(&mut self, first: First) {
        self.first = Some(first);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// How much waits for a client that does not listen yet; it may never.
const MOST_UNSENT: usize = 64;
