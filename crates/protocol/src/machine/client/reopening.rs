//! A session that the server has lost, and opening it anew.
//!
//! Over HTTP a server of the handshake era may end a session whenever it likes. One new
//! `initialize` is sent then, however many requests find out; whatever the server refused
//! unseen, and whatever our user asks for meanwhile, waits for it in order. A session lasts
//! from its `initialize` to the next, so the ids tell which requests were sent in which.
//!
//! ```text
//!  Standing ── lost ──▶ Reopening ── initialize result ──▶ Standing
//!     │                     ▲  └──── refused, late ──▶ the connection fails
//!     │ lost again too soon,│
//!     │ and no call waits   │ a call
//!     └───────────────▶ Lost
//! ```
//!
//! A call is sent again once, so each starts one reopening at most. What nobody waits for
//! starts at most one in the time that an opening may take: with a server that forgets every
//! session at once, all else would go round in circles.
//!
//! Specification: 2025-11-25 basic/transports (session management).

use std::time::{Duration, Instant};

use crate::jsonrpc::{Request, RequestId};
use crate::machine::allowance::Allowance;
use crate::machine::client::call::{Call, CallKey, Stage, check_method};
use crate::machine::client::call_error::CallError;
use crate::machine::client::input::{Agreed, Output};
use crate::machine::client::opening::Opening;
use crate::machine::client::parked::Parked;
use crate::machine::client::{ClientMachine, ClientState, Owner};
use crate::machine::{Lane, Wire};
use crate::method::Method;
use crate::payload::Payload;
use crate::revision::Era;

/// The session that requests belong to. Where there are none, it stands for ever.
#[derive(Debug, Default)]
pub(super) struct Session {
    phase: Phase,
    /// The `initialize` that it began with, unless it is the first: smaller ids are older.
    begun_by: i64,
    /// When the last reopening started.
    reopened: Option<Instant>,
    /// The calls that wait for it, in order.
    waiting: Parked,
    /// What `logging/setLevel` was last granted, as our user said it.
    pub(super) log_level: Option<Payload>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Requests can be sent in it.
    #[default]
    Standing,
    /// `initialize` is out.
    Reopening,
    /// Gone, and nothing but a call is worth a new one.
    Lost,
}

impl Session {
    pub(super) fn stands(&self) -> bool {
        self.phase == Phase::Standing
    }

    pub(super) fn is_reopening(&self) -> bool {
        self.phase == Phase::Reopening
    }

    /// Was the request of this id sent in a session that is lost by now?
    pub(super) fn has_lost(&self, id: i64) -> bool {
        id < self.begun_by || self.phase == Phase::Lost
    }

    /// Does what came on this lane belong to a session that is lost by now?
    pub(super) fn has_lost_lane(&self, lane: Lane) -> bool {
        if lane == Lane::SHARED {
            !self.stands()
        } else {
            self.has_lost(lane.0.cast_signed())
        }
    }

    /// When the first of the calls that wait may have no time left.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.waiting.deadline()
    }

    pub(super) fn forget_waiting(&mut self, key: CallKey) {
        self.waiting.forget(key);
    }

    /// Is it too soon after the last reopening to start one that no call waits for?
    fn is_too_soon(&self, now: Instant, pause: Duration) -> bool {
        self.reopened
            .is_some_and(|last| now.saturating_duration_since(last) < pause)
    }
}

impl ClientMachine {
    /// Something that no call waits for was told that the session is lost.
    pub(super) fn handle_session_lost(&mut self, now: Instant, out: &mut Vec<Output>) {
        if !self.has_sessions() || !self.session.stands() {
            return;
        }
        if self.session.is_too_soon(now, self.config.open_timeout) {
            self.give_up_session(now, out);
        } else {
            self.reopen(now, out);
        }
    }

    /// The same for a request of ours that is not a call.
    pub(super) fn request_lost_session(&mut self, now: Instant, id: i64, out: &mut Vec<Output>) {
        if !self.session.has_lost(id) {
            self.handle_session_lost(now, out);
        }
    }

    /// A call was refused because its session is lost: it did not run, and is sent once more.
    pub(super) fn call_lost_session(
        &mut self,
        now: Instant,
        id: i64,
        key: CallKey,
        mut allowance: Allowance,
        out: &mut Vec<Output>,
    ) {
        let is_news = !self.session.has_lost(id);
        let Some(call) = self.calls.get_mut(key.0) else {
            return;
        };
        let was_sent_again = std::mem::replace(&mut call.lost_session, true);
        if was_sent_again || !self.has_sessions() {
            self.finish(key, Err(CallError::SessionLost), out);
            if is_news {
                self.handle_session_lost(now, out);
            }
            return;
        }
        // A question that it stood still for went with the session.
        allowance.go_on(now);
        self.wait_for_session(now, key, allowance, out);
        match self.session.phase {
            Phase::Standing if is_news => self.reopen(now, out),
            Phase::Standing => self.send_waiting(now, out),
            Phase::Reopening | Phase::Lost => {}
        }
    }

    /// Lets a call wait until a session stands, and opens one if nothing else does.
    pub(super) fn wait_for_session(
        &mut self,
        now: Instant,
        key: CallKey,
        allowance: Allowance,
        out: &mut Vec<Output>,
    ) {
        if let Some(call) = self.calls.get_mut(key.0) {
            call.stage = Stage::Waiting(Box::new(allowance));
            self.session.waiting.push(key, allowance.deadline());
        }
        self.reopen_if_lost(now, out);
    }

    pub(super) fn reopen_if_lost(&mut self, now: Instant, out: &mut Vec<Output>) {
        if self.session.phase == Phase::Lost {
            self.reopen(now, out);
        }
    }

    /// The new session stands: says again what the old one knew, and sends what waited.
    pub(super) fn reopened(&mut self, now: Instant, agreed: Agreed, out: &mut Vec<Output>) {
        self.opening = Opening::default();
        self.session.phase = Phase::Standing;
        let has_logging = agreed.capabilities.has_logging();
        self.state = ClientState::Ready(Box::new(agreed.clone()));
        out.push(Output::Reopened(Box::new(agreed)));
        if let Some(level) = self.session.log_level.clone().filter(|_| has_logging) {
            let allowance = Allowance::new(now, self.config.call_timeouts);
            let id = self.pending.insert(allowance, Owner::Nobody);
            out.push(Output::send(
                Lane(id.cast_unsigned()),
                Request::new(RequestId::from(id), Method::LoggingSetLevel, Some(level)),
            ));
        }
        self.subscribe_again(now, out);
        self.send_waiting(now, out);
    }

    /// Ends the calls whose time has run out while they waited.
    pub(super) fn expire_waiting(&mut self, now: Instant, out: &mut Vec<Output>) {
        let calls = &self.calls;
        let allowance = |key: CallKey| match &calls.get(key.0)?.stage {
            Stage::Waiting(allowance) => Some(allowance),
            _ => None,
        };
        let gone: Vec<_> = (self.session.waiting)
            .take_due(now, |key| allowance(key)?.deadline())
            .into_iter()
            .filter_map(|key| Some((key, allowance(key)?.expired(now)?)))
            .collect();
        for (key, expired) in gone {
            self.finish(key, Err(CallError::TimedOut(expired)), out);
        }
    }

    /// Is there such a thing as a session on this connection?
    pub(super) fn has_sessions(&self) -> bool {
        self.config.wire == Wire::Http && self.era() == Some(Era::Handshake)
    }

    fn reopen(&mut self, now: Instant, out: &mut Vec<Output>) {
        let ClientState::Ready(agreed) = &self.state else {
            return;
        };
        let offered = agreed.revision;
        self.leave_session(now, out);
        self.session.phase = Phase::Reopening;
        self.session.reopened = Some(now);
        out.push(Output::Reopening);
        self.session.begun_by = self.open_again(now, offered, out);
    }

    /// Nothing opens it anew before a call does, so nobody can be told of changes.
    fn give_up_session(&mut self, now: Instant, out: &mut Vec<Output>) {
        self.leave_session(now, out);
        self.session.phase = Phase::Lost;
        let mut listeners: Vec<CallKey> = self.listeners.drain().map(|(key, _)| key).collect();
        listeners.sort_unstable();
        for key in listeners {
            out.push(Output::Finished {
                key,
                outcome: Err(CallError::SessionLost),
            });
        }
    }

    /// What only the old session knew of means nothing any more.
    fn leave_session(&mut self, now: Instant, out: &mut Vec<Output>) {
        self.withdraw_questions(out);
        for id in self.pending.ids() {
            match self.pending.get(id).map(|entry| &entry.owner) {
                // No question is left that its clocks could stand still for.
                Some(Owner::Call(_)) => self.pending.adjust(id, |clocks| clocks.go_on(now)),
                Some(Owner::Subscribe(..) | Owner::Unwanted(_) | Owner::Unsubscribe(_)) => {
                    self.pending.reassign(id, Owner::Nobody);
                }
                _ => {}
            }
        }
    }

    fn send_waiting(&mut self, now: Instant, out: &mut Vec<Output>) {
        for key in self.session.waiting.drain() {
            let (
                Some(Call {
                    method,
                    params,
                    stage: Stage::Waiting(allowance),
                    ..
                }),
                ClientState::Ready(agreed),
            ) = (self.calls.get(key.0), &self.state)
            else {
                continue;
            };
            let allowance = **allowance;
            // The new session may offer less than the old one.
            let members = self.finder.find(params.as_ref());
            let checked = check_method(agreed, method, members);
            match (checked, allowance.expired(now)) {
                (Err(error), _) => self.finish(key, Err(error), out),
                (_, Some(expired)) => self.finish(key, Err(CallError::TimedOut(expired)), out),
                (Ok(()), None) => self.send_round(key, allowance, None, out),
            }
        }
    }
}
