//! Finding out which era a server speaks, and opening the connection in it.
//!
//! ```text
//!  Waiting ── opened ──▶ Probing ── discover result ──────────────────▶ Ready
//!     │                     │ any other error, silence                    ▲
//!     │ legacy only         ▼                                             │
//!     └────────────────▶ Greeting ── initialize result ───────────────────┤
//!                           └──────── late discover result ───────────────┘
//! ```
//!
//! Specification: 2026-07-28 basic/versioning, basic/transports (backward compatibility);
//! 2025-11-25 basic/lifecycle.

use std::time::Instant;

use serde::Deserialize;

use crate::jsonrpc::{ErrorCode, ErrorObject, Notification, Request, RequestId, Response};
use crate::machine::allowance::{Allowance, Timeouts};
use crate::machine::client::input::{
    Agreed, ClientConfig, Failure, Ignored, LaneEnd, Mode, Output, Violation,
};
use crate::machine::client::{ClientMachine, ClientState, Owner, legacy};
use crate::machine::{Lane, Wire};
use crate::method::Method;
use crate::payload::Payload;
use crate::revision::{self, Era, Revision};
use crate::types::{DiscoverResult, InitializeResult};

/// How far the opening has come.
#[derive(Debug, Default)]
pub(super) struct Opening {
    stage: Stage,
    /// The server was started anew, so it is not probed again.
    restarted: bool,
    /// The old transport was tried, so there is nothing older to try.
    old_transport: bool,
    /// A probe was sent in this life of the server; it may have been its end.
    probed: bool,
    /// A second revision was offered; there is no third try.
    offered_again: bool,
    /// The probe was sent a second time; there is no third.
    probed_again: bool,
    /// When the whole opening has taken too long.
    limit: Option<Instant>,
}

#[derive(Debug, Default)]
enum Stage {
    /// Nothing is under way.
    #[default]
    Waiting,
    /// `server/discover` is out. At the given time `initialize` goes out as well.
    Probing { id: i64, until: Option<Instant> },
    /// `initialize` is out. The probe, if one is, may still be answered.
    Greeting {
        id: i64,
        offered: Revision,
        probe: Option<i64>,
    },
}

impl Opening {
    /// As it goes on with a new life of the server, in the time that is left.
    pub(super) fn restarting(&self) -> Self {
        Self {
            restarted: true,
            limit: self.limit,
            ..Self::default()
        }
    }

    /// Is it worth starting the server anew, without the probe?
    pub(super) fn may_restart(&self, config: &ClientConfig) -> bool {
        self.probed && !self.restarted && config.mode == Mode::Auto && config.wire == Wire::Pipe
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let probe = match self.stage {
            Stage::Probing { until, .. } => until,
            Stage::Waiting | Stage::Greeting { .. } => None,
        };
        [probe, self.limit].into_iter().flatten().min()
    }
}

impl ClientMachine {
    /// The transport is up: says the first word.
    pub(super) fn open(&mut self, now: Instant, out: &mut Vec<Output>) {
        if self.state != ClientState::Created || !matches!(self.opening.stage, Stage::Waiting) {
            return;
        }
        if self.opening.limit.is_none() {
            self.opening.limit = now.checked_add(self.config.open_timeout);
        }
        match self.config.mode {
            Mode::Auto
                if self.opening.restarted
                    || self.opening.old_transport
                    || self.config.remembered == Some(Era::Handshake) =>
            {
                self.greet(now, Revision::LATEST_HANDSHAKE, None, out);
            }
            Mode::Legacy => {
                self.greet(now, Revision::LATEST_HANDSHAKE, None, out);
            }
            Mode::Pinned(revision) if revision.era() == Era::Handshake => {
                self.greet(now, revision, None, out);
            }
            Mode::Auto | Mode::Pinned(_) => self.probe(now, out),
        }
    }

    fn probe(&mut self, now: Instant, out: &mut Vec<Output>) {
        let id = self.send_opening(now, Method::ServerDiscover, Owner::Probe, out);
        self.opening.probed = true;
        // A pinned revision has nothing to fall back to: it waits as long as the opening may take.
        // Over HTTP a silent server is a slow one: the protocol has a status for every refusal.
        let falls_back = self.config.mode == Mode::Auto && self.config.wire == Wire::Pipe;
        // Half of the time at least is left for the handshake.
        let patience = self.config.probe_timeout.min(self.config.open_timeout / 2);
        self.opening.stage = Stage::Probing {
            id,
            until: now.checked_add(patience).filter(|_| falls_back),
        };
    }

    /// Says `initialize` for a lost session, and gives its id. The revision is known by now.
    pub(super) fn open_again(
        &mut self,
        now: Instant,
        offered: Revision,
        out: &mut Vec<Output>,
    ) -> i64 {
        self.opening = Opening {
            limit: now.checked_add(self.config.open_timeout),
            ..Opening::default()
        };
        self.greet(now, offered, None, out)
    }

    fn greet(
        &mut self,
        now: Instant,
        offered: Revision,
        probe: Option<i64>,
        out: &mut Vec<Output>,
    ) -> i64 {
        let allowance = Allowance::new(now, Timeouts::NONE);
        let id = self.pending.insert(allowance, Owner::Greeting);
        let params = legacy::greeting(&self.config, offered);
        out.push(Output::send(
            Lane(id.cast_unsigned()),
            Request::new(RequestId::from(id), Method::Initialize, params),
        ));
        self.opening.stage = Stage::Greeting { id, offered, probe };
        id
    }

    fn send_opening(
        &mut self,
        now: Instant,
        method: Method,
        owner: Owner,
        out: &mut Vec<Output>,
    ) -> i64 {
        let id = self
            .pending
            .insert(Allowance::new(now, Timeouts::NONE), owner);
        let params = self.modern.params(None, None, None, None);
        out.push(Output::send(
            Lane(id.cast_unsigned()),
            Request::new(RequestId::from(id), method, Some(params)),
        ));
        id
    }

    pub(super) fn opening_tick(&mut self, now: Instant, out: &mut Vec<Output>) {
        if self.opening.limit.is_some_and(|limit| limit <= now) {
            let limit = self.config.open_timeout;
            return self.fail(Failure::TimedOut(limit), out);
        }
        if let Stage::Probing {
            id,
            until: Some(until),
        } = self.opening.stage
            && until <= now
        {
            // Some servers of the handshake era swallow what they do not know.
            // The probe stays out: an answer that comes late is still the truth.
            self.greet(now, Revision::LATEST_HANDSHAKE, Some(id), out);
        }
    }

    /// The server answered `server/discover`, in time or late.
    pub(super) fn probe_answered(
        &mut self,
        now: Instant,
        outcome: Result<Payload, ErrorObject>,
        out: &mut Vec<Output>,
    ) {
        match outcome {
            Ok(result) => match result.decode::<DiscoverResult>() {
                Ok(discovered)
                    if matches!(result.result_type().as_deref(), None | Some("complete")) =>
                {
                    self.discovered(now, discovered, out);
                }
                // A server of the handshake era that answers anything with something.
                _ => self.fall_back(now, Revision::LATEST_HANDSHAKE, out),
            },
            Err(error) if error.code.is_stateless_only() => self.probe_refused(now, error, out),
            Err(error) => match self.config.mode {
                Mode::Pinned(_) => self.fail(Failure::Refused(error), out),
                // No one code means "legacy": servers answer unknown methods in many ways.
                Mode::Auto | Mode::Legacy => {
                    self.fall_back(now, Revision::LATEST_HANDSHAKE, out);
                }
            },
        }
    }

    fn discovered(&mut self, now: Instant, discovered: DiscoverResult, out: &mut Vec<Output>) {
        let theirs = &discovered.supported_versions;
        if let Some(revision) = self.choose_stateless(theirs) {
            let agreed = Agreed {
                revision,
                server: discovered
                    .meta
                    .as_ref()
                    .and_then(|meta| meta.server_info().ok()?),
                capabilities: discovered.capabilities,
                instructions: discovered.instructions,
            };
            return self.opened(agreed, out);
        }
        match (self.config.mode, revision::choose_handshake(theirs)) {
            (Mode::Auto, Some(revision)) => self.fall_back(now, revision, out),
            _ => {
                let theirs = theirs.clone();
                self.fail_without_common_revision(&Revision::ALL, theirs, out);
            }
        }
    }

    fn choose_stateless(&self, theirs: &[String]) -> Option<Revision> {
        match self.config.mode {
            Mode::Pinned(wanted) => theirs
                .iter()
                .any(|t| t == wanted.as_str())
                .then_some(wanted),
            Mode::Auto | Mode::Legacy => revision::choose_stateless(theirs),
        }
    }

    /// A server of the stateless era refused the probe. It must not be greeted,
    /// unless it says itself that it speaks nothing but revisions with a handshake.
    fn probe_refused(&mut self, now: Instant, error: ErrorObject, out: &mut Vec<Output>) {
        let theirs = supported(&error);
        let only_handshake = !theirs.is_empty()
            && theirs.iter().all(|t| {
                t.parse::<Revision>()
                    .is_ok_and(|r| r.era() == Era::Handshake)
            });
        match (self.config.mode, revision::choose_handshake(&theirs)) {
            (Mode::Auto, Some(revision)) if only_handshake => self.fall_back(now, revision, out),
            _ if error.code != ErrorCode::UNSUPPORTED_VERSION || theirs.is_empty() => {
                self.fail(Failure::Refused(error), out);
            }
            _ if self.choose_stateless(&theirs).is_none() => {
                self.fail_without_common_revision(&Revision::ALL, theirs, out);
            }
            // It lists what it has just refused, and what it lists is to be tried.
            _ if !self.opening.probed_again => self.probe_again(now, out),
            _ => self.fail(Failure::Refused(error), out),
        }
    }

    fn probe_again(&mut self, now: Instant, out: &mut Vec<Output>) {
        self.opening.probed_again = true;
        let again = self.send_opening(now, Method::ServerDiscover, Owner::Probe, out);
        match &mut self.opening.stage {
            Stage::Greeting { probe, .. } => *probe = Some(again),
            stage @ (Stage::Waiting | Stage::Probing { .. }) => {
                *stage = Stage::Probing {
                    id: again,
                    until: None,
                };
            }
        }
    }

    /// The answer to the probe could not be read at all.
    pub(super) fn probe_unreadable(&mut self, now: Instant, out: &mut Vec<Output>) {
        self.fall_back(now, Revision::LATEST_HANDSHAKE, out);
    }

    /// An answer that names no request of ours came while opening: some servers lose the id.
    pub(super) fn opening_answer_for_nobody(
        &mut self,
        now: Instant,
        response: Response,
        out: &mut Vec<Output>,
    ) {
        match (&self.opening.stage, response.outcome) {
            // Of two requests, the probe was sent first and is answered first.
            (
                &(Stage::Probing { id, .. }
                | Stage::Greeting {
                    probe: Some(id), ..
                }),
                Err(error),
            ) => {
                self.pending.remove(id);
                self.probe_answered(now, Err(error), out);
            }
            (&Stage::Greeting { id, .. }, Err(error)) => {
                self.pending.remove(id);
                self.greeting_answered(now, Err(error), out);
            }
            // A result for nobody is no discover result: a server of that era keeps the id.
            (&Stage::Probing { id, .. }, Ok(_)) => {
                self.pending.remove(id);
                self.probe_unreadable(now, out);
            }
            (Stage::Greeting { .. }, Ok(_)) | (Stage::Waiting, _) => {
                out.push(Output::Ignored(Ignored::UnknownAnswer(response.id)));
            }
        }
    }

    /// The probe led nowhere: `initialize`, unless that is out already.
    fn fall_back(&mut self, now: Instant, offered: Revision, out: &mut Vec<Output>) {
        match (self.config.mode, &mut self.opening.stage) {
            (Mode::Pinned(_), _) => self.fail(
                Failure::Violation(Violation::BadResult("not a discover result")),
                out,
            ),
            (_, Stage::Greeting { probe, .. }) => *probe = None,
            (_, Stage::Probing { .. } | Stage::Waiting) => {
                self.greet(now, offered, None, out);
            }
        }
    }

    /// The server answered `initialize`.
    pub(super) fn greeting_answered(
        &mut self,
        now: Instant,
        outcome: Result<Payload, ErrorObject>,
        out: &mut Vec<Output>,
    ) {
        let result = match outcome {
            Ok(result) => result,
            Err(error) => return self.greeting_refused(now, error, out),
        };
        let Ok(result) = result.decode::<InitializeResult>() else {
            let violation = Violation::BadResult("not an initialize result");
            return self.fail(Failure::Violation(violation), out);
        };
        let theirs = result.protocol_version.as_str();
        let revision = theirs.parse().ok().filter(|revision: &Revision| {
            revision.era() == Era::Handshake
                && match self.config.mode {
                    Mode::Pinned(wanted) => *revision == wanted,
                    Mode::Auto | Mode::Legacy => true,
                }
        });
        let Some(revision) = revision else {
            let theirs = vec![theirs.to_owned()];
            let with_handshake = |revision: &Revision| revision.era() == Era::Handshake;
            let ours: Vec<_> = Revision::ALL.into_iter().filter(with_handshake).collect();
            return self.fail_without_common_revision(&ours, theirs, out);
        };
        let agreed = Agreed {
            revision,
            server: Some(result.server_info),
            capabilities: result.capabilities,
            instructions: result.instructions,
        };
        out.push(Output::send(
            Lane::SHARED,
            Notification::new(Method::Initialized, None),
        ));
        if self.session.is_reopening() {
            self.reopened(now, agreed, out);
        } else {
            self.opened(agreed, out);
        }
    }

    fn greeting_refused(&mut self, now: Instant, error: ErrorObject, out: &mut Vec<Output>) {
        let Stage::Greeting { offered, probe, .. } = self.opening.stage else {
            return self.fail(Failure::Refused(error), out);
        };
        let theirs = supported(&error);
        let speaks_stateless = error.code == ErrorCode::UNSUPPORTED_VERSION
            || revision::choose_stateless(&theirs).is_some();
        let may_probe = !self.opening.restarted && !self.session.is_reopening();
        if speaks_stateless && self.config.mode == Mode::Auto && may_probe {
            // It was slow, not old. Its answer to the probe is on the way, or is asked for once more.
            match probe {
                Some(id) => {
                    self.opening.stage = Stage::Probing { id, until: None };
                    return;
                }
                None if !self.opening.probed_again
                    && revision::choose_stateless(&theirs).is_some() =>
                {
                    self.opening.stage = Stage::Waiting;
                    return self.probe_again(now, out);
                }
                None => {}
            }
        }
        match revision::choose_handshake(&theirs) {
            Some(revision)
                if revision != offered
                    && !self.opening.offered_again
                    && !matches!(self.config.mode, Mode::Pinned(_)) =>
            {
                self.opening.offered_again = true;
                self.greet(now, revision, probe, out);
            }
            _ => self.fail(Failure::Refused(error), out),
        }
    }

    /// The HTTP stream of the probe ended without a result.
    pub(super) fn probe_lane_ended(&mut self, now: Instant, end: LaneEnd, out: &mut Vec<Output>) {
        match end {
            // Busy, broken or closed to us says nothing about the era, whatever the body says.
            LaneEnd::Refused {
                status,
                error: Some(error),
            } if is_about_the_request(status) => self.probe_answered(now, Err(error), out),
            LaneEnd::Refused {
                status,
                error: None,
            } if is_about_the_request(status) && self.config.mode == Mode::Auto => {
                self.fall_back(now, Revision::LATEST_HANDSHAKE, out);
            }
            other => self.fail(Failure::Unreachable(other), out),
        }
    }

    /// The HTTP stream of `initialize` ended without a result.
    pub(super) fn greeting_lane_ended(
        &mut self,
        now: Instant,
        end: LaneEnd,
        out: &mut Vec<Output>,
    ) {
        let LaneEnd::Refused { status, error } = end else {
            return self.fail(Failure::Unreachable(end), out);
        };
        let is_modern = error
            .as_ref()
            .is_some_and(|error| error.code.is_stateless_only() || !supported(error).is_empty());
        let may_be_old = matches!(status, 400 | 404 | 405)
            && !is_modern
            && !self.opening.old_transport
            && !self.session.is_reopening()
            && !matches!(self.config.mode, Mode::Pinned(r) if r != Revision::V2024_11_05);
        match error {
            _ if may_be_old => {
                self.pending.drain();
                self.withdraw_questions(out);
                self.opening.stage = Stage::Waiting;
                self.opening.old_transport = true;
                out.push(Output::UseOldTransport);
            }
            Some(error) => self.greeting_refused(now, error, out),
            None => self.fail(
                Failure::Unreachable(LaneEnd::Refused { status, error }),
                out,
            ),
        }
    }

    fn fail_without_common_revision(
        &mut self,
        ours: &[Revision],
        theirs: Vec<String>,
        out: &mut Vec<Output>,
    ) {
        let ours = match self.config.mode {
            Mode::Pinned(revision) => vec![revision],
            Mode::Auto | Mode::Legacy => ours.to_vec(),
        };
        self.fail(Failure::NoCommonRevision { ours, theirs }, out);
    }

    fn opened(&mut self, agreed: Agreed, out: &mut Vec<Output>) {
        // Whatever of the opening is still out is no longer waited for.
        self.pending.drain();
        self.opening = Opening::default();
        if agreed.revision.era() == Era::Stateless {
            // Asked by request before the era was known; in this one clients never answer those.
            self.withdraw_questions(out);
        }
        self.state = ClientState::Ready(Box::new(agreed.clone()));
        out.push(Output::Opened(Box::new(agreed)));
    }
}

/// Does this status say "not like this", rather than "not now" or "not you"?
///
/// A success that holds no answer does: the server did not know what was asked.
const fn is_about_the_request(status: u16) -> bool {
    matches!(status, 200..=299 | 400..=499) && !matches!(status, 401 | 403 | 407 | 408 | 425 | 429)
}

/// The revisions that an error lists.
fn supported(error: &ErrorObject) -> Vec<String> {
    #[derive(Deserialize)]
    struct Data {
        supported: Vec<String>,
    }
    error
        .data
        .as_ref()
        .and_then(|data| data.decode::<Data>().ok())
        .map(|data| data.supported)
        .unwrap_or_default()
}
