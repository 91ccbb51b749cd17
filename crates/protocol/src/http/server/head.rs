//! What an endpoint offers, and what the headers of a request ask of it.
//!
//! Everything that can be refused before the body is read. Whether the caller is
//! foreign or unknown is asked elsewhere, before and after.
//!
//! Specification: 2025-11-25 basic/transports, listening and session management;
//! 2026-07-28 basic/transports/streamable-http, earlier revisions.

use http::Method as Verb;

use super::{Fields, Refusal, known, version_header};
use crate::http::fields::Field;
use crate::http::header;
use crate::http::negotiate::{Accepted, Format, check_content};
use crate::http::session::{SessionError, SessionId};
use crate::revision::{Era, Revision};

/// What one MCP endpoint offers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Endpoint {
    /// The revisions it serves.
    pub revisions: Vec<Revision>,
    /// Whether the handshake era needs a session id after `initialize`.
    pub requires_session: bool,
    /// Whether GET opens a stream in the handshake era.
    pub offers_stream: bool,
    /// Whether DELETE ends a session in the handshake era.
    pub ends_sessions: bool,
}

impl Endpoint {
    /// An endpoint with sessions and streams for the revisions that have them.
    pub fn new(revisions: impl Into<Vec<Revision>>) -> Self {
        Self {
            revisions: revisions.into(),
            requires_session: true,
            offers_stream: true,
            ends_sessions: true,
        }
    }

    /// Does it serve a revision of this era?
    pub fn serves(&self, era: Era) -> bool {
        self.revisions.iter().any(|served| served.era() == era)
    }

    /// The verbs it has a use for, as the value of `Allow`.
    pub fn allow(&self) -> &'static str {
        let old = self.serves(Era::Handshake);
        match (old && self.offers_stream, old && self.ends_sessions) {
            (true, true) => "GET, POST, DELETE",
            (true, false) => "GET, POST",
            (false, true) => "POST, DELETE",
            (false, false) => "POST",
        }
    }
}

/// What the headers alone show the request to be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Head {
    /// A message: read the body and [`admit`](super::admit) it.
    Post {
        /// The formats the answer may have.
        accepted: Accepted,
    },
    /// Opens a stream, or resumes one, in the handshake era.
    Get {
        /// Whose stream; none only where sessions are not required.
        session: Option<SessionId>,
        /// The last event the client has seen, as it was sent.
        last_event_id: Option<String>,
    },
    /// Ends a session of the handshake era.
    Delete {
        /// Which one.
        session: SessionId,
    },
}

/// Checks everything that can be checked before the body is read.
///
/// # Errors
/// 405 for a verb without use here, 415, 406, or what is wrong with the session.
pub fn check_head(endpoint: &Endpoint, verb: &Verb, fields: &Fields<'_>) -> Result<Head, Refusal> {
    if verb == Verb::POST {
        check_content(fields).map_err(Refusal::Content)?;
        let accepted = Accepted::of(fields);
        if accepted.choose(false).is_none() {
            return Err(Refusal::NotAcceptable {
                wanted: "application/json, text/event-stream",
            });
        }
        return Ok(Head::Post { accepted });
    }
    let old = endpoint.serves(Era::Handshake);
    let is_get = verb == Verb::GET && old && endpoint.offers_stream;
    let is_delete = verb == Verb::DELETE && old && endpoint.ends_sessions;
    if !is_get && !is_delete {
        return Err(Refusal::Verb {
            allow: endpoint.allow(),
        });
    }
    match version_header(fields)?.map(|version| known(endpoint, version)) {
        // The stateless era has neither streams to open nor sessions to end.
        Some(Ok(revision)) if revision.era() == Era::Stateless => {
            return Err(Refusal::Verb { allow: "POST" });
        }
        Some(Err(refusal)) => return Err(refusal),
        Some(Ok(_)) | None => {}
    }
    let session = SessionId::of(fields.session).map_err(Refusal::Session)?;
    if is_delete {
        let session = session.ok_or(Refusal::Session(SessionError::Missing))?;
        return Ok(Head::Delete { session });
    }
    if !Accepted::of(fields).accepts(Format::EventStream) {
        return Err(Refusal::NotAcceptable {
            wanted: Format::EventStream.media_type(),
        });
    }
    if session.is_none() && endpoint.requires_session {
        return Err(Refusal::Session(SessionError::Missing));
    }
    let last_event_id = Field::of(fields.headers, &header::LAST_EVENT_ID)
        .one(&header::LAST_EVENT_ID)
        .map_err(Refusal::Header)?
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    Ok(Head::Get {
        session,
        last_event_id,
    })
}
