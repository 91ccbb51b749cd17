//! What an incoming request is, and whether it may come in.
//!
//! A server asks in this order, and the first refusal is the answer:
//!
//! 1. Origin and Host: [`Guard::check`](super::origin::Guard::check), 403
//! 2. verb, content type and accept: [`check_head`], 405, 415, 406
//! 3. who is it? (the authorization layer), 401 or 403
//! 4. [`Body::of`] what [`Frame::read`](crate::jsonrpc::Frame::read) gave, then [`admit`]:
//!    not a message (-32700, -32600), era and session, mirrors (-32020)
//! 5. the machine that the [`Admission`] names: fields of the envelope (-32602), version
//!    (-32022), method (-32601), capabilities of the client (-32021)
//! 6. when a call of a tool is to be served:
//!    [`Parameters::check`](super::parameter::Parameters::check), -32020
//!
//! Mirrors are judged only where the envelope is whole, so that what it lacks is told first;
//! and before the machine looks at the version, so that a header that lies is told as such.
//!
//! The status must be known before an event stream begins, since it is 200 from
//! then on: [`begin_answer`], [`status_for`].
//!
//! Specification: 2025-11-25 basic/transports; 2026-07-28
//! basic/transports/streamable-http; basic/versioning.

use super::fields::Field;
use super::mirror::{self, Mismatch};
use super::session::{SessionError, SessionId};
use super::{excerpt, header};
use crate::revision::{Era, Revision};

mod answer;
mod body;
mod head;
mod refusal;

pub use super::fields::{Fields, KnownFields};
pub use answer::{Stage, answer_headers, begin_answer, status_for};
pub use body::{Body, LastMeta};
pub use head::{Endpoint, Head, check_head};
pub use refusal::Refusal;

use body::Content;

/// How a message is to be treated: which machine it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Admission {
    /// It stands alone, and a machine of its own judges it:
    /// [`ServerMachine::stateless`](crate::machine::server::ServerMachine::stateless).
    /// A session id, if one was sent, is ignored.
    Stateless,
    /// It is `initialize`: a new machine answers it, and with a result opens a conversation.
    Opening,
    /// It belongs to a conversation. If that has ended or never was, or is another
    /// user's: 404 ([`SessionError::Unknown`]).
    Session {
        /// Which one.
        id: SessionId,
        /// What the header names; what was agreed counts where it is absent.
        revision: Option<Revision>,
    },
    /// It belongs to the handshake era, but to no session:
    /// [`ServerMachine::sessionless`](crate::machine::server::ServerMachine::sessionless).
    Sessionless {
        /// What the header names; 2025-03-26 where it is absent.
        revision: Revision,
    },
}

impl Admission {
    /// The era of the message, which [`status_for`] wants to know.
    pub const fn era(&self) -> Era {
        match self {
            Self::Stateless => Era::Stateless,
            Self::Opening | Self::Session { .. } | Self::Sessionless { .. } => Era::Handshake,
        }
    }
}

/// Decides how a posted message is to be treated; the first rule that fits wins.
///
/// | | the message | is |
/// |---|---|---|
/// | 1 | is an array | of 2025-03-26, or refused |
/// | 2 | has an envelope, or a part of one | stateless |
/// | 3 | names a stateless version in the header only, or by its method | stateless, and the machine says what it lacks |
/// | 4 | is `initialize` | an opening |
/// | 5 | has a session id | of that session |
/// | 6 | names an unknown version in the header | refused |
/// | 7 | none of these | session-less, 2025-03-26 unless the header says otherwise |
///
/// Where the stateless era alone is served, 5 and 7 are stateless too.
///
/// # Errors
/// The refusal, with status, code and message.
pub fn admit(
    endpoint: &Endpoint,
    fields: &Fields<'_>,
    body: &Body<'_>,
) -> Result<Admission, Refusal> {
    match body.content {
        Content::Batch(_) => return admit_handshake(endpoint, fields, body),
        Content::Malformed(malformed) => {
            // Whoever asked must hear that the answer is broken; the rest is broken for anyone.
            return match admit_handshake(endpoint, fields, body) {
                Ok(session @ Admission::Session { .. }) if body.may_be_answer() => Ok(session),
                _ => Err(Refusal::Malformed(malformed.clone())),
            };
        }
        Content::Request(_) | Content::Notification(_) | Content::Response => {}
    }
    if body.has_envelope() {
        return admit_stateless(endpoint, fields, body);
    }
    let names_stateless = stateless_header(fields)?.is_some() || body.implies_stateless();
    if names_stateless && endpoint.serves(Era::Stateless) {
        return admit_without_envelope(fields, body);
    }
    if body.is_initialize() {
        // Where there are no handshakes the machine says so and names what is served.
        return Ok(Admission::Opening);
    }
    admit_handshake(endpoint, fields, body)
}

/// Rule 2.
fn admit_stateless(
    endpoint: &Endpoint,
    fields: &Fields<'_>,
    body: &Body<'_>,
) -> Result<Admission, Refusal> {
    // Where the era is not served, its header rules are not known; the version is refused.
    let are_mirrors_known = endpoint.serves(Era::Stateless);
    if are_mirrors_known && (!body.is_request() || body.has_whole_envelope()) {
        check_mirrors(fields, body).map_err(Refusal::Header)?;
    }
    if let Content::Notification(_) = body.content
        && let Some(version) = body.version()
    {
        // Nobody answers a notification, so only its status can say this.
        let revision = known(endpoint, version)?;
        if revision.era() != Era::Stateless {
            return Err(Refusal::Version {
                requested: excerpt(version),
            });
        }
    }
    Ok(Admission::Stateless)
}

/// Rule 3. Only a notification may do without an envelope; the machine says so to a request.
fn admit_without_envelope(fields: &Fields<'_>, body: &Body<'_>) -> Result<Admission, Refusal> {
    match body.content {
        Content::Response => return Err(Refusal::Response),
        Content::Notification(_) => check_mirrors(fields, body).map_err(Refusal::Header)?,
        _ => {}
    }
    Ok(Admission::Stateless)
}

/// Rules 1, 5, 6 and 7.
fn admit_handshake(
    endpoint: &Endpoint,
    fields: &Fields<'_>,
    body: &Body<'_>,
) -> Result<Admission, Refusal> {
    if body.is_batch() && !endpoint.revisions.iter().any(|r| r.accepts_batches()) {
        return Err(Refusal::Batch { revision: None });
    }
    let revision = match version_header(fields)? {
        Some(version) => Some(known(endpoint, version)?),
        None => None,
    };
    if let Some(revision) = revision
        && body.is_batch()
        && !revision.accepts_batches()
    {
        return Err(Refusal::Batch {
            revision: Some(revision),
        });
    }
    if !endpoint.serves(Era::Handshake) {
        return admit_without_envelope(fields, body);
    }
    if let Some(id) = SessionId::of(fields.session).map_err(Refusal::Session)? {
        return Ok(Admission::Session { id, revision });
    }
    if endpoint.requires_session {
        return Err(if body.batches_initialize() {
            Refusal::BatchedInitialize
        } else {
            Refusal::Session(SessionError::Missing)
        });
    }
    let revision = revision.unwrap_or(ASSUMED);
    if endpoint.revisions.contains(&revision) {
        Ok(Admission::Sessionless { revision })
    } else {
        Err(Refusal::Header(Mismatch::missing(
            &header::PROTOCOL_VERSION,
            Revision::LATEST_HANDSHAKE.as_str(),
        )))
    }
}

/// Checks version, method and name.
fn check_mirrors(fields: &Fields<'_>, body: &Body<'_>) -> Result<(), Mismatch> {
    // What headers a notification has is undefined, so none is missed; but one
    // that is there and lies would mislead a proxy all the same.
    let wanted = |field: Field<'_>| body.is_request() || !field.is_absent();
    if let Some(version) = body.version()
        && wanted(fields.version)
    {
        mirror::literal(fields.version, &header::PROTOCOL_VERSION, version)?;
    }
    if let Some(method) = body.method()
        && wanted(fields.method)
    {
        mirror::literal(fields.method, &header::METHOD, method.as_str())?;
    }
    match body.mirrored() {
        Some((_, Some(name))) => mirror::encoded(fields.name, &header::NAME, &name),
        Some((parameter, None)) => Err(match fields.name.one(&header::NAME)? {
            Some(_) => Mismatch::Unexpected {
                header: header::NAME,
            },
            None => Mismatch::missing(&header::NAME, &format!("params.{parameter}")),
        }),
        // A name that nothing asks for repeats nothing.
        None => Ok(()),
    }
}

/// The version that the header names, if it is one of the stateless era.
fn stateless_header(fields: &Fields<'_>) -> Result<Option<Revision>, Refusal> {
    let named = version_header(fields)?.and_then(|version| version.parse::<Revision>().ok());
    Ok(named.filter(|revision| revision.era() == Era::Stateless))
}

/// The version that the header names.
fn version_header<'a>(fields: &Fields<'a>) -> Result<Option<&'a str>, Refusal> {
    let name = &header::PROTOCOL_VERSION;
    let Some(value) = fields.version.one(name).map_err(Refusal::Header)? else {
        return Ok(None);
    };
    mirror::plain_text(value)
        .map(Some)
        .map_err(|reason| Refusal::Header(Mismatch::malformed(name, reason)))
}

/// The revision with this name, if the endpoint serves it.
fn known(endpoint: &Endpoint, version: &str) -> Result<Revision, Refusal> {
    version
        .parse()
        .ok()
        .filter(|revision| endpoint.revisions.contains(revision))
        .ok_or_else(|| Refusal::Version {
            requested: excerpt(version),
        })
}

// Handshake era: what a client speaks that says nothing; the header came later.
const ASSUMED: Revision = Revision::V2025_03_26;

#[cfg(test)]
mod tests;
