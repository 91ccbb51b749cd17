//! A connection over HTTP: Streamable HTTP in both eras, and the older HTTP with SSE.
//!
//! One task owns the machine. Each request is an exchange in a task of its own, which the
//! owner starts and can end; what exchanges find comes back as events through a bounded
//! queue, so a server that floods is held up and nobody else is.
//!
//! ```text
//!  desk ──▶ wire.rs ── starts ──▶ exchange.rs   a POST and its answer, resumed if need be
//!    ▲                            stream.rs     the GET stream of the handshake era
//!    └── events ──────────────────old.rs        the one stream of 2024-11-05
//! ```
//!
//! Specification: basic/transports of each revision.

mod event;
mod exchange;
mod old;
mod stream;
mod wire;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use switchboard_protocol::http::client::ending_headers;
use switchboard_protocol::machine::client::{Failure, Input};
use switchboard_transport::http::client::HttpClient;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::desk::Desk;
use crate::driver::now;
use crate::driver::timer::Timer;
use crate::error::Cause;
use crate::inbox::Command;
use crate::report::{Phase, Reason, Report};
use crate::spec::HttpTarget;

use event::Event;
use exchange::Place;
use wire::HttpWire;

/// Owns a connection over HTTP from its start to its end.
pub(super) async fn run(target: HttpTarget, mut desk: Desk) {
    let mut settings = target.settings.clone();
    settings.limits = desk.shared().limits.message;
    if let Some(credentials) = &target.credentials {
        settings.credentials = Some(Arc::clone(credentials));
    }
    let client = match HttpClient::new(settings) {
        Ok(client) => client,
        Err(error) => {
            let reason = Reason::Start(Arc::new(error));
            desk.give_up(Report::new(desk.target(), Phase::Start, reason));
            return;
        }
    };
    let place = Arc::new(Place::new(client, target.url, target.headers, &desk));
    let (sender, events) = mpsc::channel(QUEUE);
    let wire = HttpWire::new(Arc::clone(&place), sender, Arc::clone(desk.shared()));
    let mut connection = Connection {
        desk,
        wire,
        events,
        timer: Timer::default(),
        endpoint_until: None,
        commands: Vec::new(),
    };
    if target.is_old {
        let limit = connection.desk.shared().timeouts.connect;
        connection.endpoint_until = now().checked_add(limit);
        connection.wire.open_old_stream();
    } else {
        connection.handle(Input::Opened);
    }
    poll_fn(|cx| connection.poll(cx)).await;
    connection.leave(&place).await;
}

struct Connection {
    desk: Desk,
    wire: HttpWire,
    events: mpsc::Receiver<Event>,
    timer: Timer,
    /// When the old transport must have said where to post; the machine begins only then.
    endpoint_until: Option<Instant>,
    /// Kept for its memory.
    commands: Vec<Command>,
}

impl Connection {
    /// What users want first, then what came from the server, then time.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            self.take_commands(cx);
            let has_events = self.take_events(cx);
            self.take_failures();
            // Not left to the timer: it is not heard while a server floods us.
            let now = now();
            if self.desk.deadline().is_some_and(|deadline| deadline <= now) {
                self.desk.tick(now, &mut self.wire);
            }
            if self.desk.is_over() {
                return Poll::Ready(());
            }
            if has_events {
                continue;
            }
            match self.poll_time(cx) {
                Poll::Ready(()) => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }

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
            for command in commands.drain(..) {
                // Each request has a connection of its own: none waits behind another.
                self.desk.take(now, command, true, &mut self.wire);
            }
        }
        self.commands = commands;
    }

    /// Takes what has come, but not for ever: false if there is no more now.
    fn take_events(&mut self, cx: &mut Context<'_>) -> bool {
        for _ in 0..QUEUE {
            match self.events.poll_recv(cx) {
                Poll::Ready(Some(event)) => self.take_event(event),
                // The wire holds a sender: it never ends before us.
                Poll::Ready(None) | Poll::Pending => return false,
            }
            if self.desk.is_over() {
                return false;
            }
        }
        true
    }

    fn take_event(&mut self, event: Event) {
        match event {
            Event::Received {
                lane,
                frame,
                is_last,
            } => {
                if is_last {
                    self.wire.forget(lane);
                }
                self.handle(Input::Received { lane, frame });
            }
            Event::Lost { lane, end, failure } => {
                self.wire.forget(lane);
                self.wire.note_refusal(&failure);
                let input = Input::LaneClosed { lane, end };
                let cause = Some(Cause::Http(failure));
                self.desk.handle_with(now(), input, cause, &mut self.wire);
            }
            Event::Over(lane) => self.wire.forget(lane),
            Event::Session(session) => self.wire.enter(session),
            Event::Posted { epoch } => self.wire.posted(epoch),
            Event::SessionLost { epoch } if self.wire.is_current(epoch) => {
                self.handle(Input::SessionLost);
            }
            Event::SessionLost { .. } => {}
            Event::Endpoint(uri) => {
                self.wire.post_to(uri);
                self.endpoint_until = None;
                self.handle(Input::Opened);
            }
            Event::Gone(failure) => {
                let failure = self.wire.why_gone(failure);
                let reason = failure.to_string();
                let input = Input::PeerClosed { reason };
                let cause = Some(Cause::Http(failure));
                self.desk.handle_with(now(), input, cause, &mut self.wire);
            }
        }
    }

    /// Takes what could not even be sent.
    fn take_failures(&mut self) {
        while let Some((lane, failure)) = self.wire.next_failure() {
            let end = failure.lane_end();
            let input = Input::LaneClosed { lane, end };
            let cause = Some(Cause::Http(failure));
            self.desk.handle_with(now(), input, cause, &mut self.wire);
        }
    }

    fn handle(&mut self, input: Input) {
        self.desk.handle(now(), input, &mut self.wire);
    }

    fn poll_time(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let times = [self.endpoint_until, self.desk.deadline()];
        let Some(next) = times.into_iter().flatten().min() else {
            return Poll::Pending;
        };
        ready!(self.timer.poll(cx, next));
        if self.endpoint_until.is_some_and(|until| until <= next) {
            let limit = self.desk.shared().timeouts.connect;
            let reason = Reason::Protocol(Failure::TimedOut(limit));
            let report = Report::new(self.desk.target(), Phase::Handshake, reason);
            self.desk.give_up(report);
        } else {
            self.desk.tick(next, &mut self.wire);
        }
        Poll::Ready(())
    }

    /// Ends everything that is under way, and the session.
    async fn leave(self, place: &Place) {
        let Self { desk, wire, .. } = self;
        let farewell = desk.shared().timeouts.farewell;
        let session = wire.leave();
        drop(desk);
        if let Some((revision, session)) = session {
            let request = place.delete(ending_headers(revision, &session));
            // It is polite, and nothing more: a server that does not answer expires it.
            let _ = timeout(farewell, place.client.send(request)).await;
        }
    }
}

/// Events that wait for the owner; exchanges wait beyond.
const QUEUE: usize = 256;
